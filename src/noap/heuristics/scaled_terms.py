"""Columns, budgets and costs of a problem with samples of many features, all in the same units."""

import math
from dataclasses import dataclass

import numpy as np

from noap.data.screening import feature_floor
from noap.linalg.blocked import ScaledColumns
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["ScaledTerms", "scaled_columns", "scaled_terms"]

# A column shorter than this beside others is not worth a unit of its own: its square may have lost digits to underflow.
_PRECISE = 1e-125
# What the checker may find a column longer than it is here, relatively; and for each sample.
_ROUNDING, _PER_SAMPLE = 1e-9, 2.3e-16
# What nothing survives.
_HUGE = 1e300


@dataclass(frozen=True)
class ScaledTerms:
    """Budgets over sqrt(n) and costs of features, in the units of scaled columns.

    Attributes
    ----------
    rho : array, one for each feature; with `is_even` one for all of them
    costs : array, or None where nothing costs anything
    is_even : bool
    """

    rho: FloatArray
    costs: "FloatArray | None"
    is_even: bool

    @property
    def is_plain(self) -> bool:
        """Whether what a feature is worth depends on no more than its length."""
        return self.is_even and self.costs is None

    def worths(self, lengths: FloatArray, features: "IntArray | slice" = slice(None)) -> FloatArray:
        """Return what each of the features is worth where it reaches these lengths."""
        rho = self.rho if self.is_even else self.rho[features]
        worths: FloatArray = np.maximum(lengths - rho, 0.0) ** 2
        return worths if self.costs is None else np.maximum(worths - self.costs[features], 0.0)


def scaled_columns(problem: Problem) -> ScaledColumns:
    """Return the columns; those that budget or cost leave nothing of count as 0, however long they are."""
    norms = problem.column_norms
    if not problem.is_plain:
        longest = norms * (1.0 + _ROUNDING + _PER_SAMPLE * problem.n_samples)
        counted = np.where(longest > feature_floor(problem), norms, 0.0)
        norms = counted if counted.max() >= _PRECISE else norms
    return ScaledColumns(problem.by_columns, norms)


def scaled_terms(problem: Problem, exponent: int) -> ScaledTerms:
    """Return budgets and costs in the units of columns divided by 2^exponent."""
    even = problem.adversary.is_uniform
    budgets = np.array(problem.adversary.rho, dtype=np.float64, ndmin=1)[: 1 if even else None]
    with np.errstate(over="ignore"):
        rho = np.ldexp(budgets / math.sqrt(problem.n_samples), -exponent)
        costs = None if problem.costs is None else np.minimum(np.ldexp(problem.costs, -2 * exponent), _HUGE)
    return ScaledTerms(rho, costs, even)
