"""`noap.duplicates`: groups of near-copies among the features, by correlation.

A feature that others repeat outlasts much noise: the adversary has to move all of them. It is measured redundantly,
which does not make it true: copies of one random vector are repeated as well.
"""

import itertools
from typing import Any

import numpy as np

from noap.data.arguments import as_fraction
from noap.data.validation import as_samples
from noap.linalg import products
from noap.linalg.types import Data, FloatArray, IntArray
from noap.problem import Problem

__all__ = ["ABOVE", "POINTER", "duplicates", "note_on_copies"]

ABOVE = 0.95
"""The default for the correlation of near-copies."""

POINTER = "; noap.duplicates(X) lists such groups."
"""The end of the note on near-copies, which pages leave out."""

# Columns whose correlations are formed at a time: 100,000 features take 200 MB then.
_BLOCK = 256
# A constant column is 0 after centring, to this share of its entries.
_CONSTANT = 1e-12


def duplicates(X: Any, above: float = ABOVE) -> tuple[tuple[Any, ...], ...]:
    r"""Return the groups of features that are near-copies of one another.

    Two features are near-copies if their absolute correlation

    .. math:: |r_{ij}| = \frac{|(x_i - \bar x_i)^\top (x_j - \bar x_j)|}{\|x_i - \bar x_i\|_2\,\|x_j - \bar x_j\|_2}

    exceeds `above`. A group holds all features that such pairs connect, so that two of its members may be correlated
    less. Features of one group keep each other in a robust component whatever they measure, copies of a random vector
    too: drop or merge those of one measurement, and solve again.

    Parameters
    ----------
    X : array-like, DataFrame or SciPy sparse matrix of shape (n, d)
        As measured, or standardised: neither means nor scales matter. A constant column is no copy of any other.
    above : float
        At least 0 and below 1.

    Returns
    -------
    tuple of tuples
        Each group with at least two features, in the order of the columns: names if X is a DataFrame, else positions.

    Examples
    --------
    >>> import noap
    >>> noap.duplicates([[1.0, -2.0, 5.0], [2.0, -4.0, 1.0], [3.0, -6.1, 4.0]])
    ((0, 1),)
    """
    least = as_fraction("above", above)
    data, names = as_samples(X)
    return tuple(tuple(group if names is None else (names[j] for j in group)) for group in _groups(data, least))


def note_on_copies(problem: Problem, features: IntArray) -> str | None:
    """Return a sentence on near-copies among the given features of a problem; None if there are none."""
    if len(features) < 2:
        return None
    if problem.X is None:
        groups = _connected(_correlations_of(problem.gram_block(features)) > ABOVE)
    else:
        groups = _groups(products.columns(problem.X, features), ABOVE)
    copies = sum(map(len, groups))
    if copies == 0:
        return None
    return (
        f"{copies} of the {len(features)} features have pairwise correlations above {ABOVE:g} in absolute value: what "
        f"is measured several times outlasts errors, whatever it is{POINTER}"
    )


def _groups(X: Data, above: float) -> list[list[int]]:
    """Return the groups of two columns or more that absolute correlations above the limit connect."""
    d = int(X.shape[1])
    parts = [np.arange(first, min(first + _BLOCK, d)) for first in range(0, d, _BLOCK)]
    # The group of a column is known by its first member.
    first = np.arange(d)
    for one, other in itertools.combinations_with_replacement(parts, 2):
        left = _directions(X, one)
        right = left if other is one else _directions(X, other)
        i, j = np.nonzero(np.abs(left.T @ right) > above)
        first = _joined(first, one[i], other[j])
    return _listed(first)


def _directions(X: Data, columns: IntArray) -> FloatArray:
    """Return some columns of X, centred and of unit length; a constant one is 0."""
    part = products.columns(X, columns)
    scale = np.abs(part).max(axis=0, initial=0.0)
    part = part / np.where(scale > 0, scale, 1.0)  # so that no square leaves the range of float64
    part -= part.mean(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->j", part, part))
    varies = lengths > _CONSTANT * np.sqrt(len(part))
    directions: FloatArray = np.where(varies, part / np.where(varies, lengths, 1.0), 0.0)
    return directions


def _correlations_of(S: FloatArray) -> FloatArray:
    """Return the absolute correlations of a covariance; 0 where a feature has no variance."""
    own = np.sqrt(np.maximum(np.diag(S), 0.0))
    varies = own > _CONSTANT * own.max(initial=0.0)
    lengths = np.where(varies, own, 1.0)
    return np.where(np.outer(varies, varies), np.abs(S) / np.outer(lengths, lengths), 0.0)


def _connected(pairs: Any) -> list[list[int]]:
    return _listed(_joined(np.arange(len(pairs)), *np.nonzero(pairs)))


def _joined(first: IntArray, i: IntArray, j: IntArray) -> IntArray:
    """Return the first members of groups once the features i and j of every pair are in one."""
    apart = first[i] != first[j]
    if not apart.any():
        return first
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    d = len(first)
    rows, ends = np.concatenate([i[apart], np.arange(d)]), np.concatenate([j[apart], first])
    _, labels = connected_components(coo_array((np.ones(len(rows)), (rows, ends)), shape=(d, d)), directed=False)
    _, places = np.unique(labels, return_index=True)
    joined: IntArray = places[labels]
    return joined


def _listed(first: IntArray) -> list[list[int]]:
    order = np.argsort(first, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(first[order])) + 1)
    return [group.tolist() for group in groups if len(group) > 1]
