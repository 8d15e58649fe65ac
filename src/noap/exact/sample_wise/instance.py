"""The part of the problem that matters, in units where nothing is rounded."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from noap.exact.sample_wise.costs import Costs
from noap.exact.sample_wise.portions import portions
from noap.linalg.outward import gamma, scaled_up, up
from noap.linalg.products import row_blocks, row_top_k_norms
from noap.linalg.types import BoolArray, Data, FloatArray, IntArray
from noap.linalg.vectors import keep_top_k, soft, unit
from noap.problem import Problem
from noap.runtime.controls import never

__all__ = [
    "SampleInstance", "blocks_of", "budgets_in_units", "costs_in_units", "crude", "crude_bound", "kept_rows",
    "norm_room", "sum_room",
]  # fmt: skip

# What a computed |top_k(x_i)| may have lost to squares that underflow: the root of k times the smallest float.
_LOST = 1e-155
# In units where the largest entry is about 1, a budget below this counts as none: its square might underflow, and what
# is not granted to the adversary only raises a bound.
_NO_BUDGET = 1e-140
# A cost below the first counts as none, and none counts as more than the second: nothing is worth as much.
_NO_COST, _MOST_COST = 1e-290, 1e250


@dataclass(frozen=True)
class SampleInstance:
    """Samples that can exceed their budget and features that are not zero on them, divided by a power of two.

    Values count as the sum of (|y_i'v| - rho_i)_+^2, and so do costs; `outward` converts them to the problem's units.
    """

    Y: FloatArray
    rho: FloatArray
    k: int
    rows: IntArray
    features: IntArray
    n_features: int
    exponent: int
    n_samples: int
    costs: Costs

    @classmethod
    def of(cls, problem: Problem, check: Callable[[], None] = never) -> "SampleInstance | None":
        """Screen samples and features; None if the adversary cancels every sample."""
        X, rows = problem.samples("the sample-wise search"), kept_rows(problem)
        if len(rows) == 0:
            return None
        used, top = np.zeros(problem.n_features, dtype=np.bool_), 0.0
        for block in blocks_of(X, rows):
            check()
            used |= block.any(axis=0)
            top = max(top, float(block.max()), -float(block.min()))
        # A power of two: no entry is rounded.
        exponent = math.frexp(top)[1]
        costs = costs_in_units(problem, exponent)
        if costs is not None:
            squares = np.zeros(problem.n_features)
            for block in blocks_of(X, rows):
                check()
                squares += (np.ldexp(block, -exponent) ** 2).sum(axis=0)
            used &= ~(squares * (1.0 + 1e-9) <= costs)  # they add no more than that to any value
        features = np.flatnonzero(used)
        if len(features) == 0:
            return None
        Y, at = np.empty((len(rows), len(features))), 0
        for block in blocks_of(X, rows):
            check()
            Y[at : at + len(block)] = np.ldexp(block[:, features], -exponent)
            at += len(block)
        rho = budgets_in_units(problem.adversary.budgets(problem.n_samples)[rows], exponent)
        k = min(problem.k, len(features))
        own = Costs(None if costs is None or not costs[features].any() else costs[features])
        return cls(Y, rho, k, rows, features, problem.n_features, exponent, problem.n_samples, own)

    @property
    def d(self) -> int:
        """How many features are left."""
        return int(self.Y.shape[1])

    @property
    def typical_budget(self) -> float:
        """The root of the mean square of the budgets: where all are equal, that one exactly."""
        if (self.rho == self.rho[0]).all():
            return float(self.rho[0])
        return math.sqrt(float(self.rho @ self.rho) / len(self.rho))

    @property
    def factor(self) -> float:
        """From these units to the problem's, 4^e/n, to rounding."""
        return math.ldexp(1.0 / self.n_samples, 2 * self.exponent)

    @property
    def scale(self) -> float:
        """max_j |a_j|^2 over what is left."""
        return float(np.einsum("ij,ij->j", self.Y, self.Y).max())

    def value(self, v: FloatArray) -> float:
        """Return the sum of (|y_i'v| - rho_i)_+^2."""
        x = soft(self.Y @ v, self.rho)
        return float(x @ x)

    def worth(self, v: FloatArray) -> float:
        """Return the value of v less what its features cost; using none of them is worth 0."""
        return float(self.costs.off_all(np.array([self.value(v)]), v[None, :])[0])

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
        converted = value * self.factor * (1.0 + 1e-15)
        if converted > 1e-290 or value == 0.0:
            return converted
        # Near the smallest floats a product is rounded by more than that.
        return scaled_up(up(value / self.n_samples), 2 * self.exponent)

    def crude_bound(self) -> float:
        """Return the sum over samples of (|top_k(y_i)| - rho_i)_+^2, a bound that needs no search."""
        return crude(row_top_k_norms(self.Y, self.k), self.k, self.rho)

    def ascend(self, V: FloatArray, v: FloatArray, check: Callable[[], None] = never) -> tuple[FloatArray, float]:
        """Alternate from the rows of V and from v; returns the best direction and what it is worth."""
        given = V
        V = np.vstack([V, v[None, :]])
        for _ in range(12):
            pulled, alive = self._pulled(V, check)
            if not alive.any():
                return v, self.worth(v)
            V = unit(keep_top_k(pulled[alive], self.k))
        if self.costs.each is not None:
            V = np.vstack([V, given])  # it may have fewer features than half-steps take
        values: FloatArray = np.zeros(len(V))
        for rows in portions(self.Y.shape, check):
            values += (soft(V @ self.Y[rows].T, self.rho[rows]) ** 2).sum(axis=1)
        values = self.costs.off_all(values, V)
        best = int(np.argmax(values))
        return V[best], float(values[best])

    def _pulled(self, V: FloatArray, check: Callable[[], None]) -> tuple[FloatArray, BoolArray]:
        """Return the sums of soft(y_i'v) y_i, one row per row of V, and whether any score exceeds its budget."""
        total, alive = np.zeros(V.shape), np.zeros(len(V), dtype=np.bool_)
        for rows in portions(self.Y.shape, check):
            U = soft(V @ self.Y[rows].T, self.rho[rows])
            alive |= U.any(axis=1)
            total += U @ self.Y[rows]
        return total, alive


def norm_room(k: int) -> float:
    """How far a computed |top_k(x_i)| may be below the true one, relatively; many times its rounding."""
    return max(1e-12, gamma(k + 8))


def sum_room(n: int) -> float:
    """How far a computed sum of n squares may be below the true one, relatively; at least its rounding in any order."""
    return max(1e-11, gamma(n + 16))


def budgets_in_units(rho: FloatArray, exponent: int) -> FloatArray:
    """Return rho/2^exponent, entry by entry; exactly, but what is next to nothing beside the data counts as 0."""
    with np.errstate(over="ignore", under="ignore"):  # a budget beyond all numbers drops its sample
        scaled = np.ldexp(rho, -exponent)
    return np.where(scaled > _NO_BUDGET, scaled, 0.0)


def costs_in_units(problem: Problem, exponent: int) -> FloatArray | None:
    """Return the costs as parts of a sum over samples of data over 2^exponent, rounded down; None if there are none."""
    if problem.costs is None or not problem.costs.any():
        return None
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(problem.costs, -2 * exponent) * problem.n_samples * (1.0 - 4e-16)
    return np.where(scaled > _NO_COST, np.minimum(scaled, _MOST_COST), 0.0)


def crude(norms: FloatArray, k: int, rho: FloatArray) -> float:
    """Return the sum of (|top_k(x_i)| - rho_i)_+^2, rounded up, from the computed norms."""
    excess = (norms * (1.0 + norm_room(k)) + _LOST - rho).clip(0.0)
    return float(excess @ excess) * (1.0 + sum_room(len(norms)))


def crude_bound(problem: Problem) -> float:
    """Return the crude bound in the problem's units, rounded up."""
    norms, n = problem.row_top_k_norms, problem.n_samples
    # Divided by a power of two, so that no square that matters underflows.
    exponent = math.frexp(float(norms.max()))[1]
    rho = budgets_in_units(problem.adversary.budgets(n), exponent)
    return scaled_up(up(crude(np.ldexp(norms, -exponent), problem.k, rho) / n), 2 * exponent)


def kept_rows(problem: Problem) -> IntArray:
    """Return the samples that may exceed their budget: one is left out only if it certainly cannot."""
    highest = problem.row_top_k_norms * (1.0 + norm_room(problem.k)) + _LOST
    return np.flatnonzero(~(highest <= problem.adversary.budgets(problem.n_samples)))  # so written that NaN stays


def blocks_of(X: Data, rows: IntArray) -> Iterator[FloatArray]:
    """Yield the chosen rows as dense float64 blocks of bounded size."""
    for part in portions((len(rows), X.shape[1])):
        yield from row_blocks(X[rows[part]])
