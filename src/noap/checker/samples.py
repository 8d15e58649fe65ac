"""The samples as the checker reads them: dense, in double precision, divided by a power of two, some rows at a time."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noap.linalg.outward import exponent_of, gamma
from noap.linalg.types import BoolArray, Data, FloatArray
from noap.problem import Problem
from noap.proofs.known import feature_budgets, moves_features, moves_samples

__all__ = [
    "Counted", "block_entries", "dense", "dense_rows", "exponent_for", "largest_variance", "may_be_worth",
    "scaled_blocks", "unit_exponent",
]  # fmt: skip

# Rows are read in multiples of these, which is what products are summed over; and about so many entries at a time.
_ROWS, _ENTRIES = 512, 1 << 21
# No problem has all its entries below this.
_SMALLEST = 1e-150


def dense_rows(X: Data) -> "list[slice]":
    """Return slices of rows, a few thousand each; fewer where they are long."""
    step = _ROWS * min(max(_ENTRIES // (_ROWS * max(X.shape[1], 1)), 1), 8)
    return [slice(start, start + step) for start in range(0, X.shape[0], step)]


def block_entries(X: Data) -> int:
    """Return how many entries one of these slices has at most."""
    rows = dense_rows(X)
    return min(rows[0].stop, X.shape[0]) * X.shape[1] if rows else 0


def dense(X: Data, rows: slice) -> FloatArray:
    """Return some rows as a dense float64 array; nothing is rounded."""
    part = X[rows]
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)


def exponent_for(X: Data, counted: "Counted") -> int:
    """Return e with the largest entry that counts over 2^e between 1/2 and 1."""
    return unit_exponent(max((float(np.abs(block).max(initial=0.0)) for block in _blocks(X, counted)), default=0.0))


def unit_exponent(largest: float) -> int:
    """Return e with the largest entry that counts over 2^e between 1/2 and 1."""
    # A problem has its largest entry between 1e-150 and 1e150. Where that one does not count the others may be smaller,
    # and are scaled as if they were not: the square of the power has to be a float.
    return exponent_of(max(largest, _SMALLEST) if largest > 0.0 else 0.0)


def scaled_blocks(X: Data, exponent: int, counted: "Counted") -> Iterator[FloatArray]:
    """Yield X/2^e block by block, with 0 for what does not count; what is 300 orders below the largest is rounded."""
    share = math.ldexp(1.0, -exponent)
    for block in _blocks(X, counted):
        yield block * share


class Counted(NamedTuple):
    """What is of any worth: masks of samples and of features, None for all of them.

    The others may be taken for 0, however large they are, and the optimum is the same. So no digit is lost to them, and
    no margin is as wide as they are long.
    """

    samples: "BoolArray | None"
    features: "BoolArray | None"

    @classmethod
    def of(cls, problem: Problem) -> "Counted":
        """Look for budgets and costs that nothing survives."""
        return cls(_trusted_samples(problem), _worthy_features(problem))


def largest_variance(problem: Problem) -> float:
    """Return the largest |a_j|^2/n, to rounding: the unit of the margins that the checker adds."""
    counted = Counted.of(problem)
    if problem.X is None:
        diagonal = problem.covariance.diagonal()
        return float(diagonal[... if counted.features is None else counted.features].max(initial=0.0))
    squares = np.zeros(problem.n_features)
    for block in _blocks(problem.X, counted):
        squares += np.einsum("ij,ij->j", block, block)
    return float(squares.max(initial=0.0)) / problem.n_samples


def _blocks(X: Data, counted: "Counted | None") -> Iterator[FloatArray]:
    """Yield some rows at a time, with 0 for what does not count."""
    samples, features = counted or (None, None)
    for rows in dense_rows(X):
        block = dense(X, rows)
        if samples is not None:
            block = np.where(samples[rows, None], block, 0.0)
        yield block if features is None else np.where(features, block, 0.0)


def _trusted_samples(problem: Problem) -> "BoolArray | None":
    """Return which samples have a finite budget; None if all have."""
    if not moves_samples(problem.adversary) or problem.adversary.has_one_budget:
        return None
    return problem.adversary.budgets(problem.n_samples) < np.inf


def _worthy_features(problem: Problem) -> "BoolArray | None":
    """Return which features may be worth something by the lengths of their columns; None if all may.

    A column no longer than rho_j + sqrt(n cost_j) is worth nothing for any u. A covariance, which may be indefinite,
    says so of an infinite budget only; and a feature without a single entry there does nothing for any direction.
    """
    rho = feature_budgets(problem)
    if problem.X is None:
        worthy: BoolArray = problem.covariance.any(axis=0) & (rho < np.inf)
        return None if worthy.all() else worthy
    if not moves_features(problem.adversary) or problem.is_plain:
        return None
    top, squares = np.zeros(problem.n_features), np.zeros(problem.n_features)
    for block in _blocks(problem.X, None):
        top = np.maximum(top, np.abs(block).max(axis=0, initial=0.0))
    exponents = np.frexp(top)[1]
    for block in _blocks(problem.X, None):
        part = np.ldexp(block, -exponents)
        squares += np.einsum("ij,ij->j", part, part)
    return may_be_worth(problem, squares, exponents)


def may_be_worth(problem: Problem, squares: FloatArray, exponents: "npt.NDArray[np.integer[Any]]") -> BoolArray:
    """Return which features of X may be worth something: those with columns longer than rho_j + sqrt(n cost_j).

    The squared norms are those of columns over 2^exponents, with entries up to 1, to the rounding of a sum.
    """
    n = problem.n_samples
    # Of numbers up to 1: what underflows is far below 1e-300.
    lengths = np.ldexp(np.sqrt(squares * (1.0 + gamma(n + 8)) + 1e-290) * (1.0 + gamma(8)), exponents) + 1e-290
    costs = np.zeros(problem.n_features) if problem.costs is None else problem.costs
    worthy: BoolArray = ~(lengths <= (feature_budgets(problem) + math.sqrt(n) * np.sqrt(costs)) * (1.0 - gamma(16)))
    return worthy
