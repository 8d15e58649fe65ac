"""Groups of features, of each of which a direction may use only so many."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from noap.errors import InvalidProblem
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["Groups", "as_groups"]

_PAIRS = "groups must be pairs of features and how many of them a direction may use, such as [([0, 1], 1), ([2, 3], 2)]"


class Groups(NamedTuple):
    """Groups of features, of each of which a direction may use so many.

    Attributes
    ----------
    of : array of int, shape (d,)
        The group of each feature.
    sizes : tuple of int
        How many of each a direction may use; together k.
    """

    of: IntArray
    sizes: tuple[int, ...]

    def allowed(self, chosen: IntArray) -> BoolArray:
        """Return which features may be used beside the chosen ones."""
        used = np.bincount(self.of[chosen], minlength=len(self.sizes))
        return np.take(np.less(used, np.array(self.sizes)), self.of)

    def admit(self, supports: IntArray) -> BoolArray:
        """Return which supports use no more of any group than they may."""
        counts = np.stack([(self.of[supports] == g).sum(axis=1) for g in range(len(self.sizes))])
        admitted: BoolArray = np.logical_and.reduce(counts <= np.array(self.sizes)[:, None], axis=0)
        return admitted

    def leading(self, vectors: FloatArray) -> IntArray:
        """Return the largest entries of each vector, as many of each group as there may be."""
        order = np.argsort(-np.abs(vectors), axis=1, kind="stable")
        chosen = [[row[self.of[row] == g][:size] for g, size in enumerate(self.sizes)] for row in order]
        return np.array([np.concatenate(parts) for parts in chosen])


def as_groups(groups: Any, d: int, k: int) -> Groups | None:
    """Return the groups of d features, in the order of their first ones; None for None.

    Raises InvalidProblem unless every feature is in one group and the sizes are k together.

    Examples
    --------
    >>> as_groups([([2, 1], 1), ([0], 1)], 3, 2)
    Groups(of=array([0, 1, 1]), sizes=(1, 1))
    """
    if groups is None:
        return None
    if isinstance(groups, Groups):
        groups = [(np.flatnonzero(groups.of == g), size) for g, size in enumerate(groups.sizes)]
    try:
        pairs = [(_members(features), size) for features, size in groups]
    except (TypeError, ValueError):
        raise InvalidProblem(f"{_PAIRS}.") from None
    if not all(isinstance(size, (int, np.integer)) and not isinstance(size, bool) for _, size in pairs):
        raise InvalidProblem(f"{_PAIRS}.")
    every = sorted(j for features, _ in pairs for j in features)
    if every != list(range(d)):
        raise InvalidProblem(f"groups must have each of the {d} features in one group; name all of them once.")
    wrong = [(len(features), int(size)) for features, size in pairs if not 1 <= size <= len(features)]
    if wrong:
        many, size = wrong[0]
        raise InvalidProblem(f"groups has a group of {many} features and the size {size}; say from 1 to {many}.")
    total = sum(int(size) for _, size in pairs)
    if total != k:
        raise InvalidProblem(f"k must be {total}, what the groups allow together, got {k}.")
    pairs.sort(key=lambda pair: min(pair[0]))
    of = np.empty(d, dtype=np.intp)
    for g, (features, _) in enumerate(pairs):
        of[features] = g
    of.flags.writeable = False
    return Groups(of, tuple(int(size) for _, size in pairs))


def _members(features: Iterable[Any]) -> list[int]:
    given = list(features)
    if any(isinstance(j, bool) or not isinstance(j, (int, np.integer)) for j in given):
        raise TypeError
    return [int(j) for j in given]
