r"""The metric B of a generalised problem: :math:`v^\top B v = 1` takes the place of :math:`\|v\|_2 = 1`."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from noap.data.validation import as_covariance, as_samples
from noap.errors import InvalidProblem
from noap.linalg import products
from noap.linalg.outward import gamma, is_definite
from noap.linalg.types import FloatArray, refuse_mask

__all__ = ["as_metric", "block", "length", "metric_from_samples"]


# Where rounding may take more than this share of v'Bv it is computed in fractions.
_BLURRED = 1e-11


def as_metric(metric: Any, d: int) -> "FloatArray | None":
    """Return B as a read-only array: d x d, or its diagonal where it has nothing else; None where it is I, or None.

    Raises InvalidProblem unless B is symmetric and a factorisation proves it positive definite.
    """
    if metric is None:
        return None
    refuse_mask(metric, "metric")
    given = metric if hasattr(metric, "to_numpy") or hasattr(metric, "toarray") else np.asarray(metric)
    if getattr(given, "ndim", 2) == 1:
        B = _diagonal(given, d)
    else:
        B = _matrix(given, d)
        if not np.count_nonzero(B - np.diag(B.diagonal())):
            B = np.ascontiguousarray(B.diagonal())
    if B.ndim == 1 and (B == 1.0).all():
        return None
    B.flags.writeable = False
    return B


def _diagonal(given: Any, d: int) -> FloatArray:
    try:
        if given.dtype.kind in "cb":
            raise TypeError
        B = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidProblem("metric must hold numbers: the diagonal of B, or all of it.") from None
    if B.shape != (d,):
        raise InvalidProblem(f"metric has shape {B.shape}, but there are {d} features; pass d numbers, or d x d.")
    wrong = np.flatnonzero(~((B > 0) & np.isfinite(B)))
    if len(wrong):
        raise InvalidProblem(f"metric must be positive and finite, got {B[wrong[0]]} for feature {wrong[0]}.")
    if B.max() > 1e100 or B.min() < 1e-100:
        raise InvalidProblem("metric has entries beyond 1e-100 to 1e100; rescale it.")
    return B


def _matrix(given: Any, d: int) -> FloatArray:
    try:
        B = as_covariance(given, definite=False).matrix.copy()
    except InvalidProblem as error:
        raise InvalidProblem(f"metric must be a positive definite matrix: {error}") from None
    if B.shape != (d, d):
        raise InvalidProblem(f"metric has shape {B.shape}, but there are {d} features; pass d numbers, or d x d.")
    diagonal = B.diagonal()
    if not (diagonal > 0).all() or diagonal.max() > 1e100 or diagonal.min() < 1e-100:
        raise InvalidProblem("metric must have a diagonal of positive numbers, from 1e-100 to 1e100.")
    # Powers of two on both sides change no digit, and units of features must not decide.
    shift = scaling_exponents(diagonal)
    if not is_definite(np.ldexp(B, shift[:, None] + shift), 0.0):
        raise InvalidProblem(
            "metric must be positive definite beyond rounding; add a ridge to its diagonal, as "
            "noap.metric_from_samples(Y, ridge) does."
        )
    return B


def scaling_exponents(diagonal: FloatArray) -> np.ndarray:
    """Return integers e with a diagonal from 1/2 to 2 once entry j is multiplied by 4^e_j.

    >>> scaling_exponents(np.array([1.0, 100.0, 0.01]))
    array([ 0, -3,  3])
    """
    exponents: np.ndarray = -(np.frexp(diagonal)[1].astype(np.int64) // 2)
    return exponents


def block(metric: "FloatArray | None", features: Any) -> "FloatArray | None":
    """Return the metric of the chosen features alone."""
    if metric is None:
        return None
    part: FloatArray = metric[features] if metric.ndim == 1 else metric[np.ix_(features, features)]
    part.flags.writeable = False
    return part


def length(metric: "FloatArray | None", v: FloatArray) -> float:
    """Return sqrt(v'Bv), with |v| for none.

    >>> length(np.array([4.0, 1.0]), np.array([1.0, 0.0]))
    2.0
    """
    support = np.flatnonzero(v)
    weights = v[support]
    if metric is None:
        return float(np.linalg.norm(weights))
    # Scaled, so that no square leaves the range of floats.
    top = float(np.abs(weights).max(initial=0.0))
    if top == 0.0:
        return 0.0
    weights = weights / top
    own = metric[support] if metric.ndim == 1 else metric[np.ix_(support, support)]
    square = float(weights @ (own * weights if metric.ndim == 1 else own @ weights))
    if metric.ndim == 2 and _rounding(own, np.abs(weights)) > _BLURRED * square:
        return top * math.sqrt(_exact_square(own, weights))
    return top * math.sqrt(max(square, 0.0))


def _exact_square(B: FloatArray, w: FloatArray) -> float:
    """Return w'Bw, of which nothing cancels in fractions."""
    exact = [Fraction(x) for x in w.tolist()]
    rows = (sum((Fraction(b) * x for b, x in zip(row, exact, strict=True)), Fraction(0)) for row in B.tolist())
    return float(sum((row * x for row, x in zip(rows, exact, strict=True)), Fraction(0)))


def _rounding(own: FloatArray, sizes: FloatArray) -> float:
    """Return how far the computed w'Bw may be off."""
    return 4.0 * gamma(len(sizes) + 4) * float(sizes @ (own * sizes if own.ndim == 1 else np.abs(own) @ sizes))


def rounding_of_length(metric: FloatArray, v: FloatArray) -> float:
    """Return how far rounding of v and of v'Bv may take sqrt(v'Bv) from 1: more than 1e-15 where B is near singular.

    >>> rounding_of_length(np.ones(2), np.array([1.0, 0.0])) < 1e-14
    True
    """
    support = np.flatnonzero(v)
    return _rounding(metric[support] if metric.ndim == 1 else metric[np.ix_(support, support)], np.abs(v[support]))


def metric_from_samples(Y: Any, ridge: float = 1e-3) -> FloatArray:
    r"""Return the metric of a second data set: :math:`B = Y^\top Y/m + \epsilon I`.

    Parameters
    ----------
    Y : array-like or DataFrame of shape (m, d)
        Its rows as they are: centre them where they should be.
    ridge : float
        :math:`\epsilon` as a share of the mean of the diagonal of Y'Y/m; above 0, for B has to be positive definite.

    Returns
    -------
    array of shape (d, d)

    Examples
    --------
    >>> import noap
    >>> noap.metric_from_samples([[2.0, 0.0], [0.0, 2.0]], ridge=0.5)
    array([[3., 0.],
           [0., 3.]])
    """
    try:
        share = math.nan if isinstance(ridge, (bool, str)) else float(ridge)
    except (TypeError, ValueError):
        share = math.nan
    if not 0.0 < share < math.inf:
        raise InvalidProblem(f"ridge must be a finite number above 0, got {ridge!r}.")
    data, _ = as_samples(Y)
    B: FloatArray = np.asarray(products.gram(data), dtype=np.float64) / data.shape[0]
    mean = float(B.diagonal().mean())
    if mean == 0.0:
        raise InvalidProblem("Y must not be zero; pass samples that vary.")
    B[np.diag_indices_from(B)] += share * mean
    return B
