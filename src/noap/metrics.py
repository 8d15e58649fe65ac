"""Performance measures: the gap; how far a direction, a span or a support is from the truth."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noap.errors import InvalidProblem

__all__ = ["angle", "cosine", "f1", "gap", "precision", "recall", "subspace_distance", "support_recovery"]


FloatVector = NDArray[np.float64]
Indices = NDArray[np.intp]


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
    r"""Return :math:`\arccos(|\langle v, v^*\rangle|/(\|v\|_2\,\|v^*\|_2))` in radians, between 0 and :math:`\pi/2`.

    The angle between the lines through v and through the truth, accurate also where it is tiny; arguments as for
    :func:`cosine`.

    Examples
    --------
    >>> round(angle([1.0, 0.0, 0.0], [1.0, 1.0, 0.0]), 6), angle([1.0, 1e-9], [1.0, 0.0])
    (0.785398, 1e-09)
    """
    pair = _directions(v, truth, part)
    if pair is None:
        return math.pi / 2
    one, other = pair
    if float(one @ other) < 0:
        other = -other
    return 2.0 * math.atan2(float(np.linalg.norm(one - other)), float(np.linalg.norm(one + other)))


def cosine(v: ArrayLike, truth: ArrayLike, part: ArrayLike | None = None) -> float:
    r"""Return :math:`|\langle v, v^*\rangle|/(\|v\|_2\,\|v^*\|_2)`, in [0, 1]: the paper's ``ang``.

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
    >>> round(cosine(v, truth), 6), cosine(v, truth, part=[1, 2])
    (0.6, 0.0)
    """
    pair = _directions(v, truth, part)
    return 0.0 if pair is None else min(abs(float(pair[0] @ pair[1])), 1.0)


def subspace_distance(components: ArrayLike, truth: ArrayLike) -> float:
    r"""Return the sine of the largest angle between two spans: 0 where they are equal, 1 where one leaves the other.

    Spans of the same dimension: :math:`\|(I - P)P^*\|_2` with the orthogonal projections on them. Where dimensions
    differ it is 1, for the larger span holds a vector at right angles to the smaller one.

    Parameters
    ----------
    components, truth : array of shape (r, d) and (s, d)
        Rows that span; they need neither be orthogonal nor independent.

    Examples
    --------
    >>> subspace_distance([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    0.0
    >>> round(subspace_distance([[1.0, 1.0]], [[1.0, 0.0]]), 6)
    0.707107
    """
    spans = []
    for name, given in (("components", components), ("truth", truth)):
        rows = np.atleast_2d(np.asarray(given, dtype=np.float64))
        if rows.ndim != 2 or not np.isfinite(rows).all() or not rows.any():
            raise InvalidProblem(f"{name} must hold vectors in rows, finite and not all 0.")
        rows = rows[rows.any(axis=1)]
        rows = rows / np.abs(rows).max(axis=1, keepdims=True)
        basis, singular, _ = np.linalg.svd(rows.T, full_matrices=False)
        spans.append(basis[:, singular > 1e-10 * singular[0]])
    one, other = spans
    if len(one) != len(other):
        raise InvalidProblem(f"components must have rows of the length of truth, {len(other)}, got {len(one)}.")
    if one.shape[1] != other.shape[1]:
        return 1.0
    left = float(np.linalg.norm(one - other @ (other.T @ one), 2))
    return min(left, 1.0) if left > 1e-15 * len(one) else 0.0


def _directions(v: ArrayLike, truth: ArrayLike, part: ArrayLike | None) -> tuple[FloatVector, FloatVector] | None:
    """Return both vectors, on the part, with length 1; None where the estimate is zero there."""
    estimate, target = _vector("v", v), _vector("truth", truth)
    if estimate.shape != target.shape:
        raise InvalidProblem(f"v must have the length of truth, {target.size}, got {estimate.size}.")
    if part is not None:
        where = _indices("part", part, target.size)
        estimate, target = estimate[where], target[where]
    if not target.any():
        raise InvalidProblem("truth must have a nonzero entry (within part, where part is given).")
    if not estimate.any():
        return None
    # Scaled by the largest entries first: the norms of very small or large vectors would vanish or overflow.
    estimate, target = estimate / np.abs(estimate).max(), target / np.abs(target).max()
    return estimate / np.linalg.norm(estimate), target / np.linalg.norm(target)


def support_recovery(v_or_support: ArrayLike, truth_support: ArrayLike, part: ArrayLike | None = None) -> float:
    r"""Return :math:`|\hat S \cap S^*|/|S^*|`, and for a part :math:`|\hat S \cap S_1|/|S_1|`: the paper's ``rate``.

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
    found, target = _supports(v_or_support, truth_support, part)
    return float(np.isin(target, found).sum() / target.size)


def recall(v_or_support: ArrayLike, truth_support: ArrayLike) -> float:
    r"""Return :math:`|\hat S \cap S^*|/|S^*|`, the share of the true features that are found: :func:`support_recovery`.

    Examples
    --------
    >>> recall([0.0, 0.6, 0.8], [0, 1])
    0.5
    """
    return support_recovery(v_or_support, truth_support)


def precision(v_or_support: ArrayLike, truth_support: ArrayLike) -> float:
    r"""Return :math:`|\hat S \cap S^*|/|\hat S|`, the share of the features found that are true; 0 where none is found.

    Arguments as for :func:`support_recovery`.

    Examples
    --------
    >>> precision([0.0, 0.6, 0.8], [0, 1]), precision([], [0, 1])
    (0.5, 0.0)
    """
    found, target = _supports(v_or_support, truth_support, None)
    return float(np.isin(found, target).mean()) if found.size else 0.0


def f1(v_or_support: ArrayLike, truth_support: ArrayLike) -> float:
    r"""Return :math:`2|\hat S \cap S^*|/(|\hat S| + |S^*|)`, the harmonic mean of precision and recall.

    Arguments as for :func:`support_recovery`.

    Examples
    --------
    >>> f1([0, 1, 2], [0])
    0.5
    """
    found, target = _supports(v_or_support, truth_support, None)
    return float(2 * np.isin(found, target).sum() / (found.size + target.size))


def _supports(v_or_support: ArrayLike, truth_support: ArrayLike, part: ArrayLike | None) -> tuple[Indices, Indices]:
    """Return the features found, and those of the truth or of its part."""
    given = np.asarray(v_or_support)
    if np.issubdtype(given.dtype, np.integer):
        found, size = _indices("v_or_support", given, None), None
    elif given.size == 0:
        # An empty list has no integer type to tell its meaning by.
        found, size = np.empty(0, dtype=np.intp), None
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
    return found, target


def _amount(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be a number, got {value!r}.") from None
    if math.isnan(number) or number < 0.0:
        raise InvalidProblem(f"{name} must be a number that is not negative, got {number}.")
    return number


def _vector(name: str, value: ArrayLike) -> FloatVector:
    array = np.asarray(value)
    if array.ndim != 1 or array.size == 0 or not (np.isrealobj(array) and np.issubdtype(array.dtype, np.number)):
        raise InvalidProblem(f"{name} must be a non-empty 1-d array of real numbers.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InvalidProblem(f"{name} must not contain NaN or infinity.")
    return array


def _indices(name: str, value: ArrayLike, size: int | None) -> Indices:
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
