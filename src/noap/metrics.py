"""The paper's performance measures: primal-dual gap, angle to the truth, support recovery rate."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noap.errors import InvalidProblem

__all__ = ["angle", "gap", "support_recovery"]


def gap(value: float, bound: float) -> float:
    """``(bound - value)/value``: 0 if both are 0, infinite if only value is 0 or bound is infinite.

    `value` is a feasible objective and `bound` an upper bound, both not negative. The number is not clipped: a
    bound below the value, which only rounding may cause, gives a negative gap.

    Examples
    --------
    >>> gap(2.0, 2.5), gap(0.0, 0.0), gap(0.0, 1.0)
    (0.25, 0.0, inf)
    """
    value, bound = _amount("value", value), _amount("bound", bound)
    if math.isinf(value):
        raise InvalidProblem("value must be finite: it is the objective of a feasible vector.")
    if value == 0.0:
        return 0.0 if bound == 0.0 else math.inf
    return (bound - value) / value


def angle(v: ArrayLike, truth: ArrayLike, part: ArrayLike | None = None) -> float:
    r""":math:`|\langle v, v^*\rangle|/(\|v\|_2\,\|v^*\|_2)`, the cosine between estimate and truth, in [0, 1].

    With `part`, the indices of the strong or the weak features, both vectors are restricted to it first.
    An estimate that is zero (there) has no direction and counts as 0.0: nothing of the signal was kept. A truth
    that is zero (there) makes the question empty and raises.

    Parameters
    ----------
    v, truth : array, shape (d,)
        Any finite vectors; neither scale nor sign matters.
    part : array of int, optional
        Distinct indices below d.

    Examples
    --------
    >>> v, truth = [1.0, 0.0, 0.0], [0.6, 0.8, 0.0]
    >>> round(angle(v, truth), 6), angle(v, truth, part=[1, 2])
    (0.6, 0.0)
    """
    estimate, target = _vector("v", v), _vector("truth", truth)
    if estimate.shape != target.shape:
        raise InvalidProblem(f"v must have the length of truth, {target.size}, got {estimate.size}.")
    if part is not None:
        where = _indices("part", part, target.size)
        estimate, target = estimate[where], target[where]
    if not target.any():
        raise InvalidProblem("truth must have a nonzero entry (within part, where part is given).")
    if not estimate.any():
        return 0.0
    # Scaled by the largest entries first: the norms of very small or large vectors would vanish or overflow.
    estimate, target = estimate / np.abs(estimate).max(), target / np.abs(target).max()
    cosine = abs(float(estimate @ target)) / float(np.linalg.norm(estimate) * np.linalg.norm(target))
    return min(cosine, 1.0)


def support_recovery(v_or_support: ArrayLike, truth_support: ArrayLike, part: ArrayLike | None = None) -> float:
    r""":math:`|\hat S \cap S^*|/|S^*|`, and for a part :math:`|\hat S \cap S_1|/|S_1|`.

    The divisor is the size of the truth, as in the paper: an estimate with fewer features cannot reach 1.

    Parameters
    ----------
    v_or_support : array of float, shape (d,), or array of int
        Floating point is a vector, whose exact nonzeros are :math:`\hat S`; integers are its indices themselves.
    truth_support : array of int
        Distinct indices S*, not empty.
    part : array of int, optional
        A non-empty subset :math:`S_1` of the truth's support: its strong or its weak features.

    Examples
    --------
    >>> support_recovery([0.0, 0.6, 0.8], [0, 1]), support_recovery([1, 2], [0, 1], part=[1])
    (0.5, 1.0)
    """
    given = np.asarray(v_or_support)
    if np.issubdtype(given.dtype, np.integer):
        found, size = _indices("v_or_support", given, None), None
    elif given.size == 0:
        found, size = (
            np.empty(0, dtype=np.intp),
            None,
        )  # an empty list has no integer type to tell its meaning by
    else:
        vector = _vector("v_or_support", given)
        found, size = np.flatnonzero(vector), vector.size
    target = _indices("truth_support", truth_support, size)
    if part is not None:
        subset = _indices("part", part, size)
        if not np.isin(subset, target).all():
            raise InvalidProblem("part must be a subset of truth_support.")
        target = subset
    if target.size == 0:
        raise InvalidProblem(f"{'truth_support' if part is None else 'part'} must not be empty.")
    return float(np.isin(target, found).sum() / target.size)


def _amount(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be a number, got {value!r}.") from None
    if math.isnan(number) or number < 0.0:
        raise InvalidProblem(f"{name} must be a number that is not negative, got {number}.")
    return number


def _vector(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(value)
    if array.ndim != 1 or array.size == 0 or not (np.isrealobj(array) and np.issubdtype(array.dtype, np.number)):
        raise InvalidProblem(f"{name} must be a non-empty 1-d array of real numbers.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InvalidProblem(f"{name} must not contain NaN or infinity.")
    return array


def _indices(name: str, value: ArrayLike, size: int | None) -> NDArray[np.intp]:
    array = np.asarray(value)
    if array.ndim == 1 and array.size == 0:
        return np.empty(0, dtype=np.intp)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidProblem(f"{name} must be a 1-d array of integer indices.")
    if array.min() < 0 or (size is not None and array.max() >= size):
        raise InvalidProblem(f"{name} must hold indices from 0 to {'d' if size is None else size} - 1.")
    if np.unique(array).size != array.size:
        raise InvalidProblem(f"{name} must not repeat an index.")
    return array.astype(np.intp)
