"""Which features and samples are long enough to matter: decided by computed norms or, next to rho, exactly."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from noap.linalg.exact_norms import longer_than, smallest_budget, unsure
from noap.linalg.outward import gamma
from noap.linalg.products import column_norms, columns, row_top_k_norms
from noap.linalg.types import BoolArray, Data, FloatArray, IntArray

__all__ = [
    "longer_columns",
    "longer_samples",
    "longest_column",
    "longest_column_in_budgets",
    "longest_sample",
    "longest_sample_in_budgets",
]

# Vectors that are decided exactly are gathered in pieces of this size.
_PIECE_BYTES = 16 * 2**20


def longer_columns(X: Data, norms: FloatArray, threshold: "float | FloatArray") -> BoolArray:
    """Return which columns are longer than a threshold, from their computed norms and, where these leave it open, X.

    One threshold for all columns, or one for each.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [2.0**-27, 0.0]])
    >>> longer_columns(X, column_norms(X), 1.0)
    array([ True, False])
    """
    return _decided(norms, threshold, X.shape[0], lambda chosen: _columns(X, chosen))


def longer_samples(X: Data, k: int, norms: FloatArray, threshold: "float | FloatArray") -> BoolArray:
    """Return in which samples the k largest entries are longer than a threshold, from the norms of these and X.

    One threshold for all samples, or one for each.

    Examples
    --------
    >>> X = np.array([[0.5, 1.0, 2.0**-27], [0.5, 0.0, -1.0]])
    >>> longer_samples(X, 1, row_top_k_norms(X, 1), 1.0)
    array([False, False])
    """
    return _decided(norms, threshold, k, lambda chosen: _samples(X, k, chosen))


def longest_column(X: Data) -> float:
    """Return the smallest float that no column is longer than.

    Examples
    --------
    >>> longest_column(np.array([[1.0, 0.5], [2.0**-27, 0.5]])) == 1.0 + 2.0**-52
    True
    """
    norms = column_norms(X)
    return _longest(norms, X.shape[0], lambda chosen: _columns(X, chosen))


def longest_sample(X: Data, k: int) -> float:
    """Return the smallest float that the k largest entries of no sample are longer than.

    Examples
    --------
    >>> longest_sample(np.array([[3.0, 1.0, -4.0]]), 2)
    5.0
    """
    return _longest(row_top_k_norms(X, k), k, lambda chosen: _samples(X, k, chosen))


def longest_column_in_budgets(X: Data, budgets: FloatArray) -> float:
    """Return the smallest float c such that no column is longer than c times its budget, as that product is rounded.

    Examples
    --------
    >>> longest_column_in_budgets(np.array([[3.0, 1.0], [4.0, 0.0]]), np.array([2.0, 0.25]))
    4.0
    """
    return _smallest_factor(column_norms(X), budgets, X.shape[0], lambda chosen: _columns(X, chosen))


def longest_sample_in_budgets(X: Data, k: int, budgets: FloatArray) -> float:
    """Return the smallest float c such that the k largest entries of no sample are longer than c times its budget.

    Examples
    --------
    >>> longest_sample_in_budgets(np.array([[3.0, 1.0, -4.0], [6.0, 0.0, 0.0]]), 2, np.array([2.0, np.inf]))
    2.5
    """
    return _smallest_factor(row_top_k_norms(X, k), budgets, k, lambda chosen: _samples(X, k, chosen))


_Gather = Callable[[IntArray], Iterator[FloatArray]]


def _decided(norms: FloatArray, threshold: "float | FloatArray", terms: int, gather: _Gather) -> BoolArray:
    longer: BoolArray = norms > threshold
    open_ones = np.flatnonzero(unsure(norms, threshold, terms))
    if len(open_ones):
        longer[open_ones] = _longer_ones(open_ones, threshold, gather)
    return longer


def _longer_ones(chosen: IntArray, threshold: "float | FloatArray", gather: _Gather) -> BoolArray:
    """Return which of the chosen ones are longer than the threshold, or each than its own, exactly."""
    found, seen = [], 0
    for piece in gather(chosen):
        part = chosen[seen : seen + len(piece)]
        found.append(longer_than(piece, threshold if np.ndim(threshold) == 0 else np.asarray(threshold)[part]))
        seen += len(piece)
    return np.concatenate(found)


def _smallest_factor(norms: FloatArray, budgets: FloatArray, terms: int, gather: _Gather) -> float:
    present = _decided(norms, 0.0, terms, gather)
    if np.any(present & (budgets == 0)):
        return math.inf
    bounded = np.flatnonzero(present & np.isfinite(budgets))
    if len(bounded) == 0:
        return 0.0
    with np.errstate(over="ignore"):
        ratios = norms[bounded] / budgets[bounded]
    top = float(ratios.max())
    if math.isinf(top):
        return math.inf
    # Only those next to the largest can be it. A few roundings more than a norm alone has: quotient and product.
    chosen = bounded[ratios >= top * (1.0 - 4.0 * gamma(terms + 16))]
    return smallest_budget(lambda c: bool(_longer_ones(chosen, c * budgets, gather).any()), top)


def _longest(norms: FloatArray, terms: int, gather: _Gather) -> float:
    top = float(norms.max(initial=0.0))
    # Only those next to the largest can be it; the longest first, because one that exceeds a budget is enough.
    chosen = np.flatnonzero(unsure(norms, top, terms))
    chosen = chosen[np.argsort(-norms[chosen], kind="stable")]
    return smallest_budget(lambda rho: any(longer_than(piece, rho).any() for piece in gather(chosen)), top)


def _columns(X: Data, chosen: IntArray) -> Iterator[FloatArray]:
    for part in _pieces(chosen, X.shape[0]):
        yield np.ascontiguousarray(columns(X, part).T)


def _samples(X: Data, k: int, chosen: IntArray) -> Iterator[FloatArray]:
    for part in _pieces(chosen, X.shape[1]):
        rows = X[part]
        magnitudes = np.abs(np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64))
        if k < X.shape[1]:
            magnitudes.partition(X.shape[1] - k, axis=1)
            magnitudes = magnitudes[:, -k:]
        yield magnitudes


def _pieces(chosen: IntArray, length: int) -> Iterator[IntArray]:
    step = max(1, math.floor(_PIECE_BYTES / (8 * length)))
    for first in range(0, len(chosen), step):
        yield chosen[first : first + step]
