"""Numbers that users pass (how many, how much, how long), with one clear sentence when they make no sense."""

import math
import operator
from typing import Any

import numpy as np

from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray, refuse_mask

__all__ = [
    "MOST_COST", "as_costs", "as_count", "as_fraction", "as_jobs", "as_megabytes", "as_seconds", "as_share",
    "as_sparsity", "as_strength",
]  # fmt: skip

MOST_COST = 1e305
"""The largest cost of a feature: more than any is worth, and few enough of them add up to a float."""


def as_sparsity(k: Any, d: int) -> int:
    """Return k as an int between 1 and d."""
    try:
        if isinstance(k, (bool, np.bool_)):
            raise TypeError
        sparsity = operator.index(k)
    except TypeError:
        raise InvalidProblem(f"k must be an integer, got {k!r}; pass how many features to keep.") from None
    if sparsity < 1:
        raise InvalidProblem(f"k must be at least 1, got {sparsity}.")
    if sparsity > d:
        raise InvalidProblem(f"k must be at most the number of features, {d}, got {sparsity}.")
    return sparsity


def as_count(name: str, given: Any) -> int:
    """Return an option that counts something as a positive int."""
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)) or given < 1:
        raise InvalidProblem(f"{name} must be a positive integer, got {given!r}.")
    return int(given)


def as_jobs(n_jobs: Any) -> int | None:
    """Return a number of processes, -1 for all cores, as an int other than 0; None as it is."""
    if isinstance(n_jobs, bool) or not (n_jobs is None or (isinstance(n_jobs, (int, np.integer)) and n_jobs != 0)):
        raise InvalidProblem(f"n_jobs must be an integer other than 0 or None, got {n_jobs!r}.")
    return None if n_jobs is None else int(n_jobs)


def as_costs(costs: Any, d: int) -> "FloatArray | None":
    """Return one cost per feature as a read-only array; None where there are none, or all are 0."""
    if costs is None:
        return None
    refuse_mask(costs, "costs")
    try:
        given = np.asarray(costs)
        if given.dtype.kind in "cb":
            raise TypeError
        array = np.array(given, dtype=np.float64) + 0.0
    except (TypeError, ValueError):
        raise InvalidProblem("costs must be one number per feature.") from None
    if array.shape != (d,):
        raise InvalidProblem(f"costs has shape {array.shape}, but there are {d} features; pass one cost per feature.")
    wrong = np.flatnonzero(~((array >= 0) & (array <= MOST_COST)))
    if len(wrong):
        said = "finite and at least 0" if not 0 <= array[wrong[0]] < math.inf else f"at most {MOST_COST:g}"
        raise InvalidProblem(
            f"costs must be {said}, got {array[wrong[0]]} for feature {wrong[0]}; to leave a feature out give it an "
            "infinite budget."
        )
    array.flags.writeable = False
    return array if array.any() else None


def as_share(name: str, given: Any) -> float:
    """Return a share as a float above 0 and at most 1."""
    try:
        share = math.nan if isinstance(given, (bool, str)) else float(given)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 < share <= 1:
        raise InvalidProblem(f"{name} must be a number above 0 and at most 1, got {given!r}.")
    return share


def as_fraction(name: str, given: Any) -> float:
    """Return a share as a float of at least 0 and below 1."""
    try:
        share = math.nan if isinstance(given, (bool, np.bool_, str)) else float(given)
    except (TypeError, ValueError):
        share = math.nan
    if not 0 <= share < 1:
        raise InvalidProblem(f"{name} must be a number of at least 0 and below 1, got {given!r}.")
    return share


def as_strength(name: str, given: Any) -> float:
    """Return a noise or a budget as a finite float of at least 0."""
    try:
        number = math.nan if isinstance(given, (bool, np.bool_)) else float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InvalidProblem(f"{name} must be a finite number of at least 0, got {given!r}.")
    return number


def as_seconds(time_limit: Any) -> float | None:
    """Return a time limit as a positive float, or None for none."""
    try:
        yes = isinstance(time_limit, bool | np.bool_)
        seconds = None if time_limit is None else math.nan if yes else float(time_limit)
    except (TypeError, ValueError):
        seconds = math.nan
    except OverflowError:
        raise InvalidProblem(
            "time_limit must be a positive number of seconds or None, got one beyond the range of float64."
        ) from None
    if seconds is not None and not seconds > 0:
        raise InvalidProblem(f"time_limit must be a positive number of seconds or None, got {time_limit!r}.")
    return seconds


def as_megabytes(memory_limit: Any) -> float | None:
    """Return a memory limit as a positive float, or None for none."""
    try:
        yes = isinstance(memory_limit, bool | np.bool_)
        megabytes = None if memory_limit is None else math.nan if yes else float(memory_limit)
    except (TypeError, ValueError):
        megabytes = math.nan
    except OverflowError:
        raise InvalidProblem(
            "memory_limit must be a positive number of megabytes or None, got one beyond the range of float64."
        ) from None
    if megabytes is not None and not 0 < megabytes < math.inf:
        raise InvalidProblem(f"memory_limit must be a positive number of megabytes or None, got {memory_limit!r}.")
    return megabytes
