"""Check arguments of the theory: return the value in one type, or name it in an error."""

import math
import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noap.errors import InvalidProblem

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def require_number(name: str, value: float, *, above: float = -math.inf, at_least: float = -math.inf) -> float:
    """Return `value` as a finite float with ``value > above`` and ``value >= at_least``."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be a number, got {value!r}.") from None
    if not math.isfinite(number):
        raise InvalidProblem(f"{name} must be finite, got {number}.")
    if number < at_least:
        raise InvalidProblem(f"{name} must be at least {at_least:g}, got {number:g}.")
    if number <= above:
        raise InvalidProblem(f"{name} must be above {above:g}, got {number:g}.")
    return number


def require_fraction(name: str, value: float) -> float:
    """Return `value` as a float strictly between 0 and 1."""
    number = require_number(name, value)
    if not 0.0 < number < 1.0:
        raise InvalidProblem(f"{name} must be strictly between 0 and 1, got {number:g}.")
    return number


def require_count(name: str, value: int, *, at_most: int | None = None) -> int:
    """Return `value` as an int with ``1 <= value <= at_most``."""
    try:
        count = operator.index(value)
    except TypeError:
        raise InvalidProblem(f"{name} must be an integer, got {value!r}.") from None
    if count < 1:
        raise InvalidProblem(f"{name} must be at least 1, got {count}.")
    if at_most is not None and count > at_most:
        raise InvalidProblem(f"{name} must be at most {at_most}, got {count}.")
    return count


def require_array(name: str, value: ArrayLike, *, ndim: int = 1) -> Floats:
    """Return a copy of `value` as a finite real float array with `ndim` axes and at least one entry."""
    try:
        array = np.asarray(value)
        if array.dtype.kind in "cb":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be an array of real numbers.") from None
    if array.ndim != ndim or array.size == 0:
        raise InvalidProblem(f"{name} must be a non-empty {ndim}-d array, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InvalidProblem(f"{name} must not contain NaN or infinity.")
    return array


def require_budget(name: str, value: ArrayLike) -> None:
    """Raise unless every entry of `value` is a finite number that is not negative."""
    if np.any(require_array(name, np.ravel(value)) < 0.0):
        raise InvalidProblem(f"{name} must not be negative.")
