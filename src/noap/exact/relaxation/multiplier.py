r"""The multiplier of the l1 norm, by ADMM.

For a slope mu the best matrix B within mu of A, entry by entry, minimises the largest eigenvalue. Its dual is

.. math:: \max_{W \succeq 0,\ \mathrm{tr}\,W = 1}\ \langle A, W\rangle - \mu \sum_{ij} |W_{ij}| .

ADMM alternates between the projection on the spectahedron (one eigendecomposition) and a soft threshold. Its scaled
multiplier U always has :math:`|\varrho U_{ij}| \le \mu`, so B = A - varrho U may be used at any moment: nothing rests
on convergence.
"""

from dataclasses import dataclass

import numpy as np

from noap.linalg.types import FloatArray
from noap.linalg.vectors import soft

__all__ = ["Multiplier"]

# The penalty is doubled or halved where one residual is so many times the other.
_UNBALANCED = 5.0


@dataclass
class Multiplier:
    """The state of the iteration for one matrix; slopes may change on the way.

    Attributes
    ----------
    A : array of shape (d, d)
    Z, U : arrays of shape (d, d)
        The sparse copy of W and the scaled multiplier.
    penalty : float
    W : array of shape (d, d)
        Positive semidefinite, of trace 1.
    """

    A: FloatArray
    Z: FloatArray
    U: FloatArray
    penalty: float
    W: FloatArray

    @classmethod
    def of(cls, A: FloatArray) -> "Multiplier":
        """Start from the leading eigenvector."""
        leading = np.linalg.eigh(A)[1][:, -1]
        W = np.outer(leading, leading)
        return cls(A, W, np.zeros_like(A), float(np.abs(A).max()), W)

    def advance(self, mu: float, steps: int) -> None:
        """Take so many steps at the slope mu."""
        for _ in range(steps):
            self._step(mu)

    def _step(self, mu: float) -> None:
        target = self.Z - self.U + self.A / self.penalty
        self.W = _on_spectahedron((target + target.T) / 2)
        reached = self.W + self.U
        Z = soft(reached, mu / self.penalty)
        self.U = reached - Z
        primal = float(np.linalg.norm(self.W - Z))
        dual = float(np.linalg.norm(Z - self.Z)) / max(float(np.linalg.norm(self.U)), 1e-300)
        self.Z = Z
        if primal > _UNBALANCED * dual:
            self.penalty, self.U = 2.0 * self.penalty, self.U / 2.0
        elif dual > _UNBALANCED * primal:
            self.penalty, self.U = self.penalty / 2.0, 2.0 * self.U

    def nearby(self, mu: float) -> FloatArray:
        """Return B: symmetric, within mu of A but for rounding, of small largest eigenvalue."""
        B: FloatArray = self.A - np.clip(self.penalty * self.U, -mu, mu)
        return (B + B.T) / 2

    def value(self, mu: float) -> float:
        """Return what W is worth: no B has a smaller largest eigenvalue."""
        return float(np.sum(self.A * self.W)) - mu * self.spread

    @property
    def spread(self) -> float:
        """The sum of |W_ij|: the square of the l1 norm of v that W stands for; it falls as mu grows."""
        return float(np.abs(self.W).sum())


def _on_spectahedron(M: FloatArray) -> FloatArray:
    """Return the nearest positive semidefinite matrix of trace 1."""
    values, vectors = np.linalg.eigh(M)
    # The eigenvalues go to the simplex: shifted by one number, and cut off at 0.
    excess = (np.cumsum(values[::-1]) - 1.0) / np.arange(1, len(values) + 1)
    kept = int(np.flatnonzero(values[::-1] > excess)[-1])
    weights = np.maximum(values - excess[kept], 0.0)
    used = weights > 0
    nearest: FloatArray = (vectors[:, used] * weights[used]) @ vectors[:, used].T
    return nearest
