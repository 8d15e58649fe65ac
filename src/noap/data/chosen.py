"""Features that a user names: by position, or by name where the data have names."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray, IntArray

__all__ = ["ORTHOGONAL", "as_demands", "as_directions", "as_features"]

ORTHOGONAL = 1e-8
"""Unit vectors count as orthogonal to the directions V of a problem up to this length of Vv."""


def as_features(name: str, given: Any, d: int, names: tuple[str, ...] | None) -> IntArray:
    """Return the positions of the features, ascending, each once.

    Parameters
    ----------
    name : str
        What the user calls them: the subject of the sentence that an error is.
    given : iterable of int or str, or None
    d : int
    names : tuple of str or None

    Examples
    --------
    >>> as_features("include", ["c", 0], 3, ("a", "b", "c"))
    array([0, 2])
    >>> as_features("exclude", ["d"], 3, ("a", "b", "c"))
    Traceback (most recent call last):
    ...
    noap.errors.InvalidProblem: exclude names the feature 'd', which the data do not have; pass names of columns, or \
positions from 0 to 2.
    """
    if given is None:
        return np.empty(0, np.intp)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidProblem(f"{name} must be a list of features, by name or position, got {given!r}.")
    positions = {} if names is None else {one: j for j, one in enumerate(names)}
    found = set()
    for one in given:
        if isinstance(one, str) and one in positions:
            found.add(positions[one])
        elif isinstance(one, int | np.integer) and not isinstance(one, bool) and 0 <= one < d:
            found.add(int(one))
        else:
            raise InvalidProblem(
                f"{name} names the feature {one!r}, which the data do not have; pass names of columns, or positions "
                f"from 0 to {d - 1}."
            )
    return np.array(sorted(found), dtype=np.intp)


def as_demands(include: Any, exclude: Any, k: int, d: int, names: tuple[str, ...] | None) -> tuple[IntArray, IntArray]:
    """Return demanded and forbidden features, which must leave a choice.

    Examples
    --------
    >>> as_demands([1], [0], 1, 3, None)
    (array([1]), array([0]))
    """
    demanded, forbidden = as_features("include", include, d, names), as_features("exclude", exclude, d, names)
    both = np.intersect1d(demanded, forbidden)
    if len(both):
        which = int(both[0]) if names is None else names[both[0]]
        raise InvalidProblem(f"include and exclude both name the feature {which!r}; leave it out of one of them.")
    if len(demanded) > k:
        raise InvalidProblem(f"include names {len(demanded)} features, more than k = {k}; raise k, or demand fewer.")
    if len(forbidden) == d:
        raise InvalidProblem("exclude names all features; leave at least one.")
    return demanded, forbidden


def as_directions(given: Any, d: int) -> "FloatArray | None":
    """Return the directions that v is to be orthogonal to, as read-only rows of unit length; None where there are none.

    Examples
    --------
    >>> as_directions([0.6, 0.8], 2)
    array([[0.6, 0.8]])
    """
    if given is None:
        return None
    try:
        array = np.array(given, dtype=np.float64, ndmin=2) + 0.0
    except (TypeError, ValueError):
        raise InvalidProblem("orthogonal_to must hold vectors of numbers, one per row.") from None
    if array.shape[-1] != d or array.ndim != 2:
        raise InvalidProblem(f"orthogonal_to must hold vectors of {d} numbers, one per row, got shape {array.shape}.")
    if not (np.abs(np.linalg.norm(array, axis=1) - 1.0) <= 1e-9).all():
        raise InvalidProblem("orthogonal_to must hold vectors of unit length; normalise them.")
    array.flags.writeable = False
    return array if len(array) else None
