r"""Rule M: matrices M whose sparse eigenvalues bound the robust variance, and the elimination of included features.

A majorant is a matrix M and a gain kappa such that every set S of a node that carries a value above T has
:math:`\lambda_{\max}((M - (1 + \kappa)\,\mathrm{diag}_F \pi)_{SS}) > (1 + \kappa)(T + \pi_I)`: docs/kernel.md,
section 3.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from noap.kernel.arithmetic import Refused, U, cholesky, gamma, need
from noap.kernel.data import Data
from noap.kernel.directions import Penalty
from noap.kernel.witness import Attack
from noap.linalg.types import FloatArray, IntArray

if TYPE_CHECKING:
    from noap.kernel.conflicts import ChordMajorant
    from noap.kernel.samples import SampleMajorant

__all__ = ["Complement", "Majorant", "eliminate", "eliminated", "schur"]

# All of M is formed once so many times its entries have been asked for.
_OFTEN = 2
# Rows and columns of a block of a complement that is never formed.
_BLOCK = 1024
# No attack spends more than this multiple of the length of the longest column.
_FARTHEST = 4.0
# An included feature takes its chord where what it has along the vector is below this part of its budget.
_AWAY = 15 / 16
# With costs all of M has twice as many rows; it is formed for fewer features than this alone.
_MOST = 1000


class Majorant:
    r"""The attack in response to a combination x of the columns; A itself without one.

    With the unit vector :math:`\hat u` along the combination and :math:`g_j = a_j^\top \hat u` column j becomes
    :math:`h_j \hat u + f_j (a_j - g_j \hat u)`: where :math:`|g_j| \ge r_j` all of the budget is taken off g (f = 1),
    else g goes and what is left of the budget shrinks the rest. Columns of the first kind with
    :math:`\kappa(|a_j| - r_j) \le r_j` gain :math:`(1 - (\hat u^\top u)^2)\kappa` times what they contribute for every
    unit u; all others are stretched by :math:`\sqrt{1 + \kappa}` instead. Eliminating :math:`\hat u` leaves
    :math:`M_{ij} = f_i f_j (A_{ij} - g_i g_j) + (1 + \kappa) h_i h_j`.

    Where v is orthogonal to directions V (rows), there is no gain. Instead of g the budget is taken off :math:`g - c`,
    :math:`c = V^\top \lambda` with the attack's multipliers, and the penalty of its deflation is taken off M.

    Attributes
    ----------
    gain, error : float
        kappa, and by how much an entry of M may be off.
    loss : float
        What is taken off the threshold for the tolerance of the directions.
    costs, paid : arrays of shape (d,)
        What a free feature counts on the diagonal, and an included one in the threshold.
    contains : bool
        Whether M contains what free features cost: where contributions add up their columns shrink, and an included
        feature that the attack turns away from u takes the chord of its contribution (docs/kernel.md, section 3).
    """

    def __init__(self, data: Data, attack: Attack) -> None:
        A, top = data.A, data.top
        self.data, self.costs, self.paid, self.gain = data, data.costs, data.costs, float(attack.gain)
        self.priced = 1.0 + self.gain  # costs of free features count so often
        self.plain = len(attack.features) == 0
        self._penalty = Penalty(data.directions, attack.deflation, top)
        self.loss, self.error = self._penalty.loss, self._penalty.error
        self._whole: FloatArray | None = None
        self._asked = 0
        self._f_included = self._f = part = np.ones(len(A))
        self.contains = data.has_costs and data.additive
        if self.contains:
            self.costs = np.zeros(len(A))
            worth = np.maximum(data.most, 0.0)
            part = np.minimum(np.sqrt(worth / np.maximum(worth + data.costs, 1e-300)) * (1 + 4 * U), 1.0)
            self._f = part
        if self.plain:
            need(self.gain == 0.0, "M: a gain without an attack")
            need(not attack.multipliers.any(), "M: multipliers without an attack")
            return
        need(data.definite, "M: an attack needs a definite matrix")
        need(attack.features[-1] < data.d, "M: a feature that is not there")
        need(0.0 <= self.gain < 1e6, "M: the gain is out of range")
        need(self.gain == 0.0 or not data.constrained, "M: no gain with directions or a metric")
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
        # Normals to what v is constrained to; in a metric, at the vector itself.
        normals = data.directions if data.metric is None else (data.metric.B[:, at] @ x)[None, :]
        m = len(normals)
        need(attack.multipliers.shape in ((0,), (m,)), "M: a multiplier for each normal")
        c = attack.multipliers @ normals if len(attack.multipliers) else np.zeros(len(g))
        need((np.abs(c) < 1e100).all(), "M: multipliers out of range")
        spent = np.minimum(data.r, _FARTHEST * math.sqrt(top))
        reach = math.sqrt(top) + (float(spent.max()) if m else 0.0)  # |h| is at most that, but for rounding
        off = share * np.maximum(data.lengths, spent)
        less = np.maximum(spent - off, 0.0)
        e = g - c
        h = np.where(np.abs(e) >= less, g - np.copysign(less, e), c)
        # (1 - f)^2 = (r^2 - (g - c)^2)/(A_jj - g^2), where that is above 0.
        rest = np.maximum((less - np.abs(e)) * (less + np.abs(e)), 0.0)
        across = np.maximum(A.diagonal() - g * g, 0.0) + 2.0 * off * data.lengths
        f = 1.0 - np.sqrt(np.divide(rest, across, out=np.ones_like(rest), where=rest < across))
        f = np.where(rest > 0, f, 1.0)
        gains = (f == 1) & (self.gain * (data.lengths - data.r) * (1 + 4 * U) <= data.r)
        stretch = np.where(gains, 1.0, math.sqrt(1.0 + self.gain))
        self._g, self._h_included, self._f_included = g, h * stretch, f * stretch
        self._h, self._f = self._h_included * part, self._f_included * part
        self.error += 4.0 * (1.0 + self.gain) * share * reach * reach
        if self.contains:
            away = np.abs(g) < _AWAY * data.r
            away[data.include] = False
            floors = (data.r + np.sqrt(data.costs)) * (1 - 4 * U)
            scale, back = chord(data.r, data.costs, floors, np.maximum(data.lengths, floors))
            scale *= math.sqrt(1.0 + self.gain)
            self._f_included = np.where(away, scale, self._f_included)
            self._h_included = np.where(away, scale * g, self._h_included)
            self.paid = np.where(away, back, data.costs)
            self.error += 2.0 * (1.0 + self.gain) ** 2 * share * reach * reach

    def covers(self, I: IntArray, F: IntArray, p: int) -> None:  # noqa: E741
        """Refuse nothing: this attack is one on every node."""

    def block(self, features: IntArray, level: float = 0.0, included: int = 0, rows: int | None = None) -> FloatArray:
        """Return M on some features, the first of them included, or so many rows of it, whatever the threshold is."""
        d, I, F = len(self.data.A), features[:included], features[included:]  # noqa: E741
        if self._whole is None and rows is None:
            self._asked += len(features) ** 2
            moved, size = not self.plain or self._penalty or self.contains, 2 * d if self.contains else d
            if moved and self._asked > _OFTEN * size**2 and len(features) < d and not (self.contains and d > _MOST):
                every = np.arange(d)
                whole = np.concatenate([every, every]) if self.contains else every
                self._whole = self.block(whole, included=size - d)
        if self._whole is not None:
            at = np.concatenate([I, F + d]) if self.contains else features
            known: FloatArray = self._whole[np.ix_(at[:rows], at)]
            return known
        M: FloatArray = self.data.A[np.ix_(features[:rows], features)]
        if self.contains or not self.plain:
            f = np.concatenate([self._f_included[I], self._f[F]])
            across: FloatArray | float = 0.0
            if not self.plain:
                g, h = self._g[features], np.concatenate([self._h_included[I], self._h[F]])
                M, across = M - np.outer(g[:rows], g), (1.0 + self.gain) * np.outer(h[:rows], h)
            M = M * np.outer(f[:rows], f) + across
        return M - self._penalty.block(features) if self._penalty else M


def chord(r: FloatArray, costs: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Return c and b with :math:`(s - r)^2 - \pi \le c^2 s^2 - b` for s between low, at least r, and high."""
    together = np.maximum(high + low, 1e-300)
    slope = np.maximum(1.0 - 2.0 * r / together, 0.0) + 8 * U
    back = 2.0 * r * low
    back = costs + back * (high / together) - r * r - 8 * U * (costs + back + r * r)
    return np.sqrt(slope) * (1 + 2 * U), back


def eliminate(
    majorant: "Majorant | ChordMajorant | SampleMajorant",
    T: float,
    I: IntArray,  # noqa: E741
    F: IntArray,
    p: int,
) -> FloatArray:
    r"""Return C such that a node is closed if :math:`C_{QQ} \succeq 0` for every p features Q of F.

    With :math:`t = (1+\kappa)(T + \pi_I)` lowered by r let P be :math:`tI - M + (1 + \kappa)\mathrm{diag}_F \pi`, in a
    metric :math:`tB - M`. The
    computed factor K of the included rows and C satisfy :math:`P_{SS} = K^\top K + \mathrm{diag}(0, C_{QQ}) + E` with
    entries of E of at most r/|S|: the error of M, a few ulps of t, M and the costs, and :math:`\gamma_{2|I|+20}` times
    :math:`|K_i||K_j| \le \max P_{ii}` of the factorisation (where :math:`C_{ii} \ge 0`, which every test demands). So
    :math:`E + rI \succeq 0`: the computed C is exact data, and no condition number appears.
    """
    data, n, J = majorant.data, len(I), np.concatenate([I, F])
    level, t = _threshold(majorant, T, I, F, p)
    M = majorant.block(J, level, n)
    r = _shift(majorant, t, M.diagonal(), n, F, p)
    P = -M if data.metric is None else t * data.metric.B[np.ix_(J, J)] - M
    P.flat[:: len(P) + 1] += (t if data.metric is None else 0.0) - r
    P.flat[n * (len(P) + 1) :: len(P) + 1] += majorant.costs[F] * majorant.priced
    return schur(P, n) if p > 0 or n == 0 else schur(P[:n, :n], n)


def _threshold(
    majorant: "Majorant | ChordMajorant | SampleMajorant",
    T: float,
    I: IntArray,  # noqa: E741
    F: IntArray,
    p: int,
) -> tuple[float, float]:
    """Return T with the costs of I, and the threshold of the matrix; refuse a node that the majorant is not about."""
    majorant.covers(I, F, p)
    level = T + float(majorant.paid[I].sum()) * (1 - gamma(len(I) + 4))
    t = (1.0 + majorant.gain) * level - majorant.loss
    # Without a gain it may be 0 or less: where no v is orthogonal, the penalty alone shows it.
    need(t < 1e100 and (t > 1e-200 or len(majorant.data.directions)), "M: nothing is left of the threshold")
    return level, t


def _shift(
    majorant: "Majorant | ChordMajorant | SampleMajorant", t: float, own: FloatArray, n: int, F: IntArray, p: int
) -> float:
    """Return r, by the diagonal of M."""
    costs = majorant.costs[F] * majorant.priced
    largest = float(np.abs(own).max(initial=0.0)) + float(costs.max(initial=0.0))
    return float((n + min(p, len(F))) * (majorant.error + 4.0 * gamma(2 * n + 20) * (abs(t) + largest)))


class Complement:
    """What `eliminate` returns, block by block: of so many features it is never formed."""

    def __init__(
        self,
        majorant: "SampleMajorant",
        T: float,
        I: IntArray,  # noqa: E741
        F: IntArray,
        p: int,
        block: int = _BLOCK,
    ) -> None:
        self._majorant, self._F, self._block, n = majorant, F, block, len(I)
        self._level, t = _threshold(majorant, T, I, F, p)
        own = majorant.diagonal(np.concatenate([I, F]), self._level)
        r = _shift(majorant, t, own, n, F, p)
        P = np.zeros((n, n + len(F)))
        P[:, :n] = -majorant.block(I, self._level)
        P[:, n:] = -majorant.entries(I, F, self._level)
        P.flat[:: n + len(F) + 1] += t - r
        self._W = eliminated(P)
        self._own = t - r - own[n:] + majorant.costs[F] * majorant.priced - np.einsum("ij,ij->j", self._W, self._W)

    def diagonal(self) -> FloatArray:
        """Return C_ii."""
        own: FloatArray = self._own
        return own

    def blocks(self) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield rows, columns and entries beside the diagonal; of C_ij and C_ji, which are one number, one is there."""
        F, W = self._F, self._W
        parts = [slice(at, min(at + self._block, len(F))) for at in range(0, len(F), self._block)]
        for i, a in enumerate(parts):
            for b in parts[i:]:
                C = -self._majorant.entries(F[a], F[b], self._level) - W[:, a].T @ W[:, b]
                if a == b:
                    C = 0.5 * (C + C.T)
                    np.fill_diagonal(C, 0.0)
                yield a, b, C


def schur(P: FloatArray, n: int) -> FloatArray:
    """Return the Schur complement of the first n rows, refused unless their block is positive definite."""
    if n == 0:  # of nothing to eliminate LAPACK would complain aloud
        return P
    W = eliminated(P[:n])
    C = P[n:, n:] - W.T @ W
    whole: FloatArray = 0.5 * (C + C.T)
    return whole


def eliminated(P: FloatArray) -> FloatArray:
    r"""Return W = L^{-1} P_IF for rows P_I, L the factor of P_II; refuse unless that is positive definite."""
    n = len(P)
    if n == 0:
        return P
    L = cholesky(P[:, :n])
    if L is None:
        raise Refused("M: the included features alone")
    from scipy.linalg.lapack import dtrtrs  # `import noap` stays quick

    W: FloatArray = dtrtrs(L, P[:, n:], lower=1)[0]
    return W
