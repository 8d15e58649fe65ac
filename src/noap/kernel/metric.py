r"""The metric of a claim: :math:`v^\top B v = 1` takes the place of :math:`\|v\|_2 = 1`. docs/kernel.md, section 9."""

from fractions import Fraction

import numpy as np

from noap.kernel.arithmetic import need, proves_semidefinite
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Metric"]


class Metric:
    r"""B in units of features in which its diagonal lies from 1/2 to 2, and a diagonal matrix below it.

    Feature j counts in :math:`2^{e_j}`: entries of v are divided by it, columns, budgets and B are multiplied.

    Parameters
    ----------
    given : array of shape (d, d), or (d,) for a diagonal
    least : float
        Of a matrix: :math:`B - \mathrm{least}\, I \succeq 0`, in these units, is proved.

    Attributes
    ----------
    units : array of int, shape (d,)
        The exponents e.
    B : array of shape (d, d)
    below : array of shape (d,)
        :math:`v^\top B v \ge \sum \mathrm{below}_j v_j^2`.
    largest : float
        Of the entries of B; it is on the diagonal.
    is_diagonal : bool
    """

    def __init__(self, given: FloatArray, least: float) -> None:
        d = len(given)
        self.is_diagonal = given.ndim == 1
        own = given if self.is_diagonal else given.diagonal()
        need(np.isfinite(given).all() and (own > 0).all(), "B: its diagonal")
        self.units: IntArray = -(np.frexp(own)[1].astype(np.intp) // 2)
        if self.is_diagonal:
            self.below: FloatArray = np.ldexp(own, 2 * self.units)
            self.B: FloatArray = np.diag(self.below)
        else:
            need((given == given.T).all(), "B must be symmetric")
            self.B = np.ldexp(given, self.units[:, None] + self.units)
            need(least > 0 and proves_semidefinite(self.B, -least), "B is not shown to be positive definite")
            self.below = np.full(d, least)
        self.largest = float(self.B.max())

    def square(self, features: IntArray, x: FloatArray) -> float:
        """Return x'Bx, computed exactly and rounded once: near to a singular metric most of it cancels."""
        exact = [Fraction(one) for one in x.tolist()]
        rows = self.B[np.ix_(features, features)].tolist()
        total = sum(
            (a * Fraction(b) * c for a, row in zip(exact, rows, strict=True) for b, c in zip(row, exact, strict=True)),
            Fraction(0),
        )
        return float(total)
