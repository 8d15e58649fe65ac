"""The part of the problem that matters, in units where nothing is rounded."""

import math
from dataclasses import dataclass

import numpy as np

from noap.linalg.products import row_blocks, row_top_k_norms
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import keep_top_k, soft, unit
from noap.problem import Problem

__all__ = ["Reduced", "crude_bound", "reduce"]

# Relative error of a computed |top_k(x_i)|, k up to 1000, and of a sum over up to 10^4 samples: many times their
# rounding.
_NORM, _SUM = 1e-12, 1e-11


@dataclass(frozen=True)
class Reduced:
    """Samples that can exceed the budget and features that are not zero on them, divided by a power of two.

    Values count as the sum of (|y_i'v| - rho)_+^2; `outward` converts them to the problem's units.
    """

    Y: FloatArray
    rho: float
    k: int
    rows: IntArray
    features: IntArray
    n_features: int
    exponent: int
    factor: float

    @property
    def d(self) -> int:
        """How many features are left."""
        return int(self.Y.shape[1])

    @property
    def scale(self) -> float:
        """max_j |a_j|^2 over what is left."""
        return float(np.einsum("ij,ij->j", self.Y, self.Y).max())

    def value(self, v: FloatArray) -> float:
        """Return the sum of (|y_i'v| - rho)_+^2."""
        x = soft(self.Y @ v, self.rho)
        return float(x @ x)

    def inside(self, v: FloatArray) -> FloatArray:
        """Restrict a direction of the problem to the features that are left."""
        cut = v[self.features].astype(np.float64)
        if not cut.any():
            cut[0] = 1.0
        kept: FloatArray = unit(keep_top_k(cut[None, :], self.k))[0]
        return kept

    def outside(self, v: FloatArray) -> FloatArray:
        """Return the direction in the problem's numbering."""
        full = np.zeros(self.n_features)
        full[self.features] = v
        return unit(full)

    def outward(self, value: float) -> float:
        """Convert to the problem's units, rounded up."""
        return value * self.factor * (1.0 + 1e-15)

    def crude_bound(self) -> float:
        """Return the sum over samples of (|top_k(y_i)| - rho)_+^2, a bound that needs no search."""
        return _crude(row_top_k_norms(self.Y, self.k), self.rho)

    def ascend(self, V: FloatArray, v: FloatArray) -> tuple[FloatArray, float]:
        """Alternate from the rows of V and from v; returns the best direction and its value."""
        V = np.vstack([V, v[None, :]])
        for _ in range(12):
            U = soft(V @ self.Y.T, self.rho)
            V = V[U.any(axis=1)]
            U = U[U.any(axis=1)]
            if len(V) == 0:
                return v, self.value(v)
            V = unit(keep_top_k(U @ self.Y, self.k))
        values = (soft(V @ self.Y.T, self.rho) ** 2).sum(axis=1)
        best = int(np.argmax(values))
        return V[best], float(values[best])


def _crude(norms: FloatArray, rho: float) -> float:
    excess = (norms * (1.0 + _NORM) - rho).clip(0.0)
    return float(excess @ excess) * (1.0 + _SUM)


def crude_bound(problem: Problem) -> float:
    """Return the crude bound in the problem's units."""
    return _crude(problem.row_top_k_norms, float(problem.adversary.rho)) / problem.n_samples * (1.0 + _SUM)


def reduce(problem: Problem) -> Reduced | None:
    """Screen samples and features; None if the adversary cancels every sample."""
    X, k, rho = problem.samples("the sample-wise search"), problem.k, float(problem.adversary.rho)
    # Rounded up: a sample is dropped only if it certainly cannot exceed the budget.
    rows = np.flatnonzero(problem.row_top_k_norms * (1.0 + _NORM) > rho)
    if len(rows) == 0:
        return None
    data = np.concatenate(list(row_blocks(X[rows])))
    features = np.flatnonzero(data.any(axis=0))
    if len(features) == 0:
        return None
    data = np.ascontiguousarray(data[:, features], dtype=np.float64)
    # A power of two: no entry is rounded.
    exponent = math.frexp(float(np.abs(data).max()))[1]
    Y = np.ldexp(data, -exponent)
    factor = math.ldexp(1.0 / problem.n_samples, 2 * exponent)
    rho = math.ldexp(rho, -exponent)
    return Reduced(Y, rho, min(k, len(features)), rows, features, problem.n_features, exponent, factor)
