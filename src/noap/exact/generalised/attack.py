r"""Attacks on all features at once, as Gram matrices of the attacked columns.

With u the direction of :math:`Xw` and :math:`s_j = a_j^\top u`, the columns :math:`E_j = -c_j u - (1 - \alpha_j)(a_j -
s_j u)` are within the budget if :math:`c_j^2 + (1 - \alpha_j)^2 (\|a_j\|^2 - s_j^2) \le \rho_j^2`, and the attacked
columns have the inner products

.. math:: M_{ij} = \alpha_i \alpha_j (A_{ij} - s_i s_j) + (s_i - c_i)(s_j - c_j) .

Every feasible E bounds the optimum: :math:`opt \le \max v^\top M v / v^\top B v` over k-sparse v.
"""

from typing import NamedTuple

import numpy as np

from noap.data.pencil import Pencil
from noap.linalg.outward import UNIT, gamma
from noap.linalg.types import FloatArray

__all__ = ["Attacked", "respond", "shrink"]

# What an attack leaves of the budgets, so that no rounding takes it beyond them.
_INSIDE = 1.0 - 1e-11


class Attacked(NamedTuple):
    """The Gram matrix of the attacked columns, how far an entry of it may be off, and w, c and alpha as one array."""

    form: FloatArray
    error: float
    numbers: FloatArray

    def pencil(self, pencil: Pencil) -> Pencil:
        """Return the attacked columns as a pencil without an adversary."""
        none = np.zeros(len(self.form))
        return Pencil(self.form, pencil.B, none, pencil.k, pencil.exponents, self.error)


def respond(pencil: Pencil, w: FloatArray, share: float = 1.0) -> Attacked | None:
    r"""Return what is left after an attack on w; None where rounding leaves w no direction.

    On the features of w :math:`c_j = \rho_j\,\mathrm{sgn}(w_j)`, on the others what makes w stationary, as far as the
    budget allows: both times `share`, and what the budget then leaves is spent at right angles to u.
    """
    A, S = pencil.A, np.flatnonzero(w)
    weights = w[S] / np.abs(w[S]).max()
    length, top = float(np.abs(weights).sum()), float(np.abs(A).max())
    pulled = A[:, S] @ weights
    energy = float(pulled[S] @ weights)
    off = (pencil.error + gamma(2 * len(S) + 8) * top) * length
    if not energy > 4.0 * off * length:
        return None
    norm = np.sqrt(energy)
    s = pulled / norm
    # How far s_j may be from its true value.
    g = (2.0 * off / norm + off * length * float(np.abs(s).max()) / energy + 8.0 * UNIT * np.sqrt(top)) * 1.01
    rho = np.minimum(pencil.rho * _INSIDE, 2.0 * np.sqrt(np.maximum(A.diagonal(), 0.0)) + np.sqrt(top))
    left = norm - float(np.minimum(pencil.rho[S], 1e150) @ np.abs(weights))
    square = float(weights @ pencil.B[np.ix_(S, S)] @ weights)
    aim = s - (pencil.B[:, S] @ weights) * (max(left, 0.0) / square)
    c = np.clip(aim, -rho, rho)
    c[S] = rho[S] * np.sign(weights)
    direction = np.zeros(len(A))
    direction[S] = weights
    return _attacked(pencil, direction, s, share * c, rho, g)


def shrink(pencil: Pencil) -> Attacked:
    """Return what is left when every column is made shorter by its budget."""
    zero = np.zeros(len(pencil.A))
    return _attacked(pencil, zero, zero, zero, np.minimum(pencil.rho, 1e150) * _INSIDE, 0.0)


def _attacked(
    pencil: Pencil, direction: FloatArray, s: FloatArray, c: FloatArray, rho: FloatArray, g: float
) -> Attacked:
    A = pencil.A
    top, largest = float(np.abs(A).max()), float(np.abs(s).max()) + float(np.abs(s - c).max())
    error = pencil.error + 2.0 * g * (largest + g) + 16.0 * UNIT * (top + largest**2)
    # At least the squared lengths at right angles to u, and at most what is left of the squared budgets.
    across = np.maximum(A.diagonal() - s * s, 0.0) + error
    rest = np.sqrt(np.maximum(rho**2 - c**2 * (1.0 + 1e-15), 0.0)) * (1.0 - 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha = 1.0 - np.where(across > 0, np.minimum(rest / np.sqrt(across), 1.0), 0.0)
    form: FloatArray = np.outer(alpha, alpha) * (A - np.outer(s, s)) + np.outer(s - c, s - c)
    return Attacked((form + form.T) / 2.0, 1.05 * error, np.concatenate([direction, c, alpha]))
