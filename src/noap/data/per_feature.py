"""One number for all features, or one for each: in order, or by name."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from noap.data.arguments import as_strength
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray
from noap.runtime.names import listed

__all__ = ["has_one_for_each", "number_or_each", "per_feature"]

# More names than this do not belong in a message.
_MOST_NAMES = 5


def has_one_for_each(given: Any) -> bool:
    """Whether there is one number for each of several features (or samples), not one for all."""
    return not isinstance(given, (str, bytes)) and (isinstance(given, Mapping) or np.ndim(given) > 0)


def number_or_each(name: str, given: Any, d: int, names: tuple[str, ...] | None) -> Any:
    """Return a finite number of at least 0 for all d features, or an array with one for each (`per_feature`)."""
    return per_feature(name, given, d, names) if has_one_for_each(given) else as_strength(name, given)


def per_feature(name: str, given: Any, d: int, names: tuple[str, ...] | None, *, finite: bool = False) -> FloatArray:
    """Return one number of at least 0 for each of d features, in the order of the features.

    Parameters
    ----------
    name : str
        What the user calls it: the subject of the sentence that an error is.
    given : array-like, Mapping, pandas Series, or polars or pandas DataFrame of one row
        By position; or by name, where it has names: one for each feature of the data, and no others. A pandas Series
        numbered 0, 1, ... goes by position.
    d : int
    names : tuple of str or None
        Those of the data.
    finite : bool
        Whether infinity is refused.

    Examples
    --------
    >>> per_feature("noise", {"b": 0.2, "a": 0.1}, 2, ("a", "b"))
    array([0.1, 0.2])
    >>> per_feature("noise", {"b": 0.2}, 2, ("a", "b"))
    Traceback (most recent call last):
    ...
    noap.errors.InvalidProblem: noise has no entry for the feature 'a' of X; add it, or pass a number for all.
    """
    by_name = _by_name(name, given)
    if by_name is None:
        numbers = _numbers(name, given)
        if numbers.shape != (d,):
            shape = f"{len(numbers)} entries" if numbers.ndim == 1 else f"shape {numbers.shape}"
            raise InvalidProblem(f"{name} has {shape}, but X has {d} features; pass one for each, or a number for all.")
    else:
        numbers = _numbers(name, _picked(name, by_name, names))
    labels = names or tuple(str(j) for j in range(d))
    wrong = np.flatnonzero(~(numbers >= 0) | (np.isinf(numbers) if finite else False))  # so written that NaN counts
    if len(wrong):
        kind = "finite and at least 0" if finite else "at least 0"
        raise InvalidProblem(f"{name} must be {kind}, got {numbers[wrong[0]]:g} for the feature {labels[wrong[0]]!r}.")
    return numbers


def _by_name(name: str, given: Any) -> dict[str, Any] | None:
    """Return what has names as a dictionary, None for what has none."""
    if isinstance(given, Mapping):
        return {str(key): entry for key, entry in given.items()}
    columns = getattr(given, "columns", None)
    if columns is not None and hasattr(given, "to_numpy"):
        rows = np.atleast_2d(given.to_numpy())
        if len(rows) != 1:
            raise InvalidProblem(f"{name} must have one row, with a column for every feature, it has {len(rows)}.")
        return dict(zip((str(column) for column in columns), rows[0], strict=True))
    index = getattr(given, "index", None)
    if index is None or not hasattr(index, "tolist"):
        return None
    keys = index.tolist()
    if keys == list(range(len(keys))):
        return None
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidProblem(f"{name} has several entries for the feature {twice!r}; keep one of them.")
    return dict(zip((str(key) for key in keys), np.asarray(given), strict=True))


def _picked(name: str, by_name: dict[str, Any], names: tuple[str, ...] | None) -> list[Any]:
    if names is None:
        raise InvalidProblem(
            f"{name} goes by feature name, but X has no names; pass X as a DataFrame, or {name} as an array in the "
            "order of the columns."
        )
    missing = [one for one in names if one not in by_name]
    if missing:
        others = f"; others are missing too: {listed(missing[1:], _MOST_NAMES)}" if len(missing) > 1 else ""
        raise InvalidProblem(
            f"{name} has no entry for the feature {missing[0]!r} of X; add it, or pass a number for all{others}."
        )
    unknown = [one for one in by_name if one not in names]
    if unknown:
        raise InvalidProblem(f"{name} has an entry for {unknown[0]!r}, which X does not have; take it out.")
    return [by_name[one] for one in names]


def _numbers(name: str, given: Any) -> FloatArray:
    try:
        array = np.asarray(given)
        if array.dtype.kind in "cbUS" or (array.dtype.kind == "O" and any(isinstance(x, (str, bool)) for x in array)):
            raise TypeError
        return np.array(array, dtype=np.float64) + 0.0  # a copy of its own; turns -0.0 into 0.0
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must hold numbers, one for each feature.") from None
