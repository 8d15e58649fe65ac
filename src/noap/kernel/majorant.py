r"""Rule M: matrices M whose sparse eigenvalues bound the robust variance, and the elimination of included features.

A majorant is a matrix M and a gain kappa such that every set S of a node that carries a value above T has
:math:`\lambda_{\max}((M - (1 + \kappa)\,\mathrm{diag}_F \pi)_{SS}) > (1 + \kappa)(T + \pi_I)`: docs/kernel.md,
section 3.
"""

import math

import numpy as np

from noap.kernel.arithmetic import Refused, U, cholesky, gamma, need
from noap.kernel.conflicts import Demands
from noap.kernel.data import Data
from noap.kernel.witness import Chord, Response
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Majorant", "eliminate"]

# All of M is formed once so many times its entries have been asked for.
_OFTEN = 2


class Majorant:
    r"""The attack in response to a combination x of the columns; A itself without one; or chords.

    With the unit vector :math:`\hat u` along the combination and :math:`g_j = a_j^\top \hat u` column j becomes
    :math:`h_j \hat u + f_j (a_j - g_j \hat u)`: where :math:`|g_j| \ge r_j` all of the budget is taken off g (f = 1),
    else g goes and what is left of the budget shrinks the rest. Columns of the first kind with
    :math:`\kappa(|a_j| - r_j) \le r_j` gain :math:`(1 - (\hat u^\top u)^2)\kappa` times what they contribute for every
    unit u; all others are stretched by :math:`\sqrt{1 + \kappa}` instead. Eliminating :math:`\hat u` leaves
    :math:`M_{ij} = f_i f_j (A_{ij} - g_i g_j) + (1 + \kappa) h_i h_j`.

    *Chords*, where every feature of a choice is known to have :math:`|a_j^\top u| > m_j`: contributions, costs
    included, are at most :math:`c_j^2 (a_j^\top u)^2 + \beta`, so :math:`M_{ij} = c_i c_j A_{ij}` with the threshold
    :math:`T - m \beta` for the m features that a choice has at least.

    Attributes
    ----------
    gain, error : float
        kappa, and by how much an entry of M may be off.
    raised : float
        What is added to the threshold.
    costs : array of shape (d,)
        Those that M does not contain.
    """

    def __init__(self, data: Data, attack: Response, demands: Demands | None = None) -> None:
        A, top = data.A, data.top
        self.data, self.gain, self.error, self.raised = data, 0.0, 0.0, 0.0
        self.costs, self._chord = data.costs, None
        self._whole: FloatArray | None = None
        self._asked = 0
        if isinstance(attack, Chord):
            need(demands is not None, "M: chords outside a small claim")
            assert demands is not None
            self.plain, self._chord = False, demands.chord(attack.intercept)
            self.costs = np.zeros_like(data.costs)
            self.raised = -demands.size * attack.intercept * (1 - 2 * U)
            self.error = 4 * U * top * float(self._chord.max()) ** 2
            return
        self.gain = float(attack.gain)
        self.plain = len(attack.features) == 0
        if self.plain:
            need(self.gain == 0.0, "M: a gain without an attack")
            return
        need(data.definite, "M: an attack needs a definite matrix")
        need(attack.features[-1] < data.d, "M: a feature that is not there")
        need(0.0 <= self.gain < 1e6, "M: the gain is out of range")
        at, x = attack.features, attack.weights
        size, n = float(np.abs(x).sum()), len(at)
        need(size < 1e100, "M: the vector is not finite")
        y = A[:, at] @ x
        q = float(x @ y[at])
        need(q > 1e-200, "M: the vector is too short")
        g = y / math.sqrt(q)
        # So far is g from a_j'u, as a share of |a_j|, twice over: docs/kernel.md. It holds all other roundings too.
        share = gamma(5 * n + 16) * size * size * (top / q)
        need(share < 1e-2, "M: the vector is too uncertain")
        less = np.maximum(data.r - share * data.lengths, 0.0)
        h = np.sign(g) * np.maximum(np.abs(g) - less, 0.0)
        # (1 - f)^2 = (r^2 - g^2)/(A_jj - g^2), where that is above 0.
        rest = np.maximum((less - np.abs(g)) * (less + np.abs(g)), 0.0)
        across = np.where(rest > 0, A.diagonal() - g * g, 1.0)
        f = 1.0 - np.sqrt(rest / across)
        gains = (f == 1) & (self.gain * (data.lengths - data.r) * (1 + 4 * U) <= data.r)
        stretch = np.where(gains, 1.0, math.sqrt(1.0 + self.gain))
        self._g, self._h, self._f = g, h * stretch, f * stretch
        self.error = 4.0 * (1.0 + self.gain) * share * top

    def block(self, features: IntArray) -> FloatArray:
        """Return M on some features."""
        if self._whole is not None:
            return self._whole[np.ix_(features, features)]
        self._asked += len(features) ** 2
        if not self.plain and self._asked > _OFTEN * len(self.data.A) ** 2 and len(features) < len(self.data.A):
            self._whole = self.block(np.arange(len(self.data.A)))
            return self._whole[np.ix_(features, features)]
        A = self.data.A[np.ix_(features, features)]
        if self.plain:
            return A
        if self._chord is not None:
            c = self._chord[features]
            return A * np.outer(c, c)
        g, h, f = self._g[features], self._h[features], self._f[features]
        M: FloatArray = (A - np.outer(g, g)) * np.outer(f, f)
        M += (1.0 + self.gain) * np.outer(h, h)
        return M


def eliminate(majorant: Majorant, T: float, I: IntArray, F: IntArray, p: int) -> FloatArray:  # noqa: E741
    r"""Return C such that a node is closed if :math:`C_{QQ} \succeq 0` for every p features Q of F.

    With :math:`t = (1+\kappa)(T + \pi_I)`, or that of chords, lowered by r let P be :math:`tI - M + (1 +
    \kappa)\mathrm{diag}_F \pi`. The computed factor K of the included rows and C satisfy :math:`P_{SS} = K^\top K +
    \mathrm{diag}(0, C_{QQ}) + E` with
    entries of E of at most r/|S|: the error of M, a few ulps of t, M and the costs, and :math:`\gamma_{2|I|+20}` times
    :math:`|K_i||K_j| \le \max P_{ii}` of the factorisation (where :math:`C_{ii} \ge 0`, which every test demands). So
    :math:`E + rI \succeq 0`: the computed C is exact data, and no condition number appears.
    """
    n = len(I)
    grown = 1.0 + majorant.gain
    t = grown * (T + majorant.raised + float(majorant.costs[I].sum()) * (1 - gamma(n + 4)))
    need(1e-200 < t < 1e100, "M: nothing is left of the threshold")
    M = majorant.block(np.concatenate([I, F]))
    costs = majorant.costs[F] * grown
    size = n + min(p, len(F))
    largest = float(np.abs(M.diagonal()).max(initial=0.0)) + float(costs.max(initial=0.0))
    r = size * (majorant.error + 4.0 * gamma(2 * n + 20) * (t + largest))
    P = -M
    P.flat[:: len(P) + 1] += t - r
    P.flat[n * (len(P) + 1) :: len(P) + 1] += costs
    if n == 0:  # of nothing to eliminate LAPACK would complain aloud
        return P
    L = cholesky(P[:n, :n])
    if L is None:
        raise Refused("M: the included features alone")
    if len(F) == 0 or p == 0:
        return np.zeros((0, 0))
    from scipy.linalg.lapack import dtrtrs  # `import noap` stays quick

    W, _ = dtrtrs(L, P[:n, n:], lower=1)
    C = P[n:, n:] - W.T @ W
    schur: FloatArray = 0.5 * (C + C.T)
    return schur
