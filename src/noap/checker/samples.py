"""The samples as the checker reads them: dense, in double precision, divided by a power of two, some rows at a time."""

import math
from collections.abc import Iterator

import numpy as np

from noap.linalg.types import BoolArray, Data, FloatArray
from noap.problem import Problem
from noap.proofs.known import moves_samples

__all__ = [
    "block_entries", "dense", "dense_rows", "largest_entry", "largest_variance", "scaled_blocks", "trusted_samples",
]  # fmt: skip

# Rows are read in multiples of these, which is what products are summed over; and about so many entries at a time.
_ROWS, _ENTRIES = 512, 1 << 21


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


def largest_entry(X: Data) -> float:
    """Return the largest magnitude."""
    return max((float(np.abs(dense(X, rows)).max(initial=0.0)) for rows in dense_rows(X)), default=0.0)


def scaled_blocks(X: Data, exponent: int) -> Iterator[FloatArray]:
    """Yield X/2^e block by block. Only entries some 300 orders below the largest of a problem are rounded."""
    # A problem has its largest entry between 1e-150 and 1e150: the power is a float.
    share = math.ldexp(1.0, -exponent)
    for rows in dense_rows(X):
        yield dense(X, rows) * share


def trusted_samples(problem: Problem) -> "BoolArray | None":
    """Return which samples have a finite budget; None if all have."""
    if not moves_samples(problem.adversary) or problem.adversary.has_one_budget:
        return None
    return problem.adversary.budgets(problem.n_samples) < np.inf


def largest_variance(problem: Problem) -> float:
    """Return the largest |a_j|^2/n, to rounding: the unit of the margins that the checker adds.

    Samples of infinite budget do not count: they are in no value, however large they are.
    """
    if problem.X is None:
        return float(problem.covariance.diagonal().max(initial=0.0))
    squares, trusted = np.zeros(problem.n_features), trusted_samples(problem)
    for rows in dense_rows(problem.X):
        block = dense(problem.X, rows)
        block = block if trusted is None else block[trusted[rows]]
        squares += np.einsum("ij,ij->j", block, block)
    return float(squares.max(initial=0.0)) / problem.n_samples
