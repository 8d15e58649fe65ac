r"""Two forms on the same features: the covariance A of a problem and its metric B, in units in which both are even.

Column j is multiplied by a power of two that brings :math:`B_{jj}` between 1/2 and 2: no digit changes, and the units
in which features are measured decide nothing.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noap.data.metric import scaling_exponents
from noap.linalg.outward import UNIT, gamma, is_definite
from noap.linalg.types import FloatArray, IntArray

if TYPE_CHECKING:
    from noap.problem import Problem

__all__ = ["Pencil", "least_eigenvalue"]


@dataclass(frozen=True, eq=False)
class Pencil:
    """The covariance and the metric of a problem, in the units above.

    Attributes
    ----------
    A, B : arrays of shape (d, d)
    rho : array of shape (d,), budgets over sqrt(n)
    k : int
    exponents : array of int, shape (d,)
        A direction w here is 2^exponents w of the problem.
    error : float
        Every entry of A is within this of the true one.
    """

    A: FloatArray
    B: FloatArray
    rho: FloatArray
    k: int
    exponents: IntArray
    error: float

    @classmethod
    def of(cls, problem: "Problem") -> "Pencil":
        """Take covariance, metric and budgets of a problem whose metric is a matrix."""
        B = problem.metric
        assert B is not None
        e = scaling_exponents(B.diagonal())
        both = e[:, None] + e
        S = problem.covariance
        if not problem.adversary.is_idle and problem.diagonal_shift > 0:
            # Positive semidefinite beyond rounding, as the columns of an attack need it: the optimum is only raised.
            S = S + 1.01 * problem.diagonal_shift * np.eye(len(S))
        A = np.ldexp(S, both)
        error = 0.0
        if problem.X is not None:
            error = 1.1 * gamma(problem.n_samples + 8) * float(A.diagonal().max())
        rho = problem.adversary.budgets(problem.n_features) / np.sqrt(problem.n_samples)
        return cls(A, np.ldexp(B, both), np.ldexp(rho, e), problem.k, e, error)

    @property
    def is_idle(self) -> bool:
        """Whether nobody attacks."""
        return not self.rho.any()

    def outside(self, w: FloatArray) -> FloatArray:
        """Return a direction of the problem with v'Bv = 1."""
        v: FloatArray = np.ldexp(w / self.length(w), self.exponents)
        return v

    def inside(self, v: FloatArray) -> FloatArray:
        """Return a direction of the problem in the units here."""
        w: FloatArray = np.ldexp(v, -self.exponents)
        return w / self.length(w)

    def length(self, w: FloatArray) -> float:
        """Return sqrt(w'Bw)."""
        S = np.flatnonzero(w)
        return float(np.sqrt(w[S] @ self.B[np.ix_(S, S)] @ w[S]))

    def worth(self, w: FloatArray) -> float:
        """Return (sqrt(w'Aw) - sum rho_j |w_j|)_+^2 / w'Bw, to rounding."""
        S = np.flatnonzero(w)
        energy = float(w[S] @ self.A[np.ix_(S, S)] @ w[S])
        if self.is_idle:
            return energy / self.length(w) ** 2
        with np.errstate(invalid="ignore"):  # an infinite budget: what is left is 0
            left = np.sqrt(max(energy, 0.0)) - float(self.rho[S] @ np.abs(w[S]))
        return float((max(left, 0.0) / self.length(w)) ** 2)

    def restricted(self, features: IntArray, k: int) -> "Pencil":
        """Return the pencil of the chosen features."""
        both = np.ix_(features, features)
        return Pencil(self.A[both], self.B[both], self.rho[features], k, self.exponents[features], self.error)


def least_eigenvalue(B: FloatArray) -> float:
    """Return a positive number that a factorisation proves to be at most the smallest eigenvalue of B; 0 if none is.

    >>> 0.4 < least_eigenvalue(np.array([[2.0, 1.0], [1.0, 1.0]])) / 0.381966 < 1.0 + 1e-9
    True
    """
    guess = float(np.linalg.eigvalsh(B)[0])
    top = float(B.diagonal().max())
    for share in (1.0 - 1e-6, 0.99, 0.5, 0.1):
        candidate = share * guess
        # What rounding takes from the diagonal is less than this.
        lowered = B - (candidate + 2.0 * UNIT * (top + candidate)) * np.eye(len(B))
        if candidate > 0 and is_definite(lowered, 0.0):
            return candidate
    return 0.0
