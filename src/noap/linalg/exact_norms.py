r"""Whether a vector is longer than a number, decided exactly.

Screening rests on :math:`\|x\|_2 > \rho`. Computed norms decide it for all but the few vectors whose length is next to
the number; those are decided here in exact arithmetic, so that a feature is dropped only where it is worth nothing.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from noap.linalg.outward import gamma
from noap.linalg.types import BoolArray, FloatArray

__all__ = ["covariance_exceeds", "longer_than", "smallest_budget", "unsure"]

# Products of numbers above this, relative to the largest, and the errors of those products are floats: 2^-480 squared
# is 2^-960, whose error is a multiple of 2^-1066.
_SAFE = 2.0**-480
# Splits a float in two halves of 26 bits (Dekker).
_SPLIT = 134217729.0
# What underflow may have taken from a computed norm, for each root of a term.
_LOST = 1e-160
# Sums of squares below this may have lost digits to underflow where long doubles are doubles.
_TINY_SQUARE = 1e-290


def unsure(norms: FloatArray, threshold: float, terms: int) -> BoolArray:
    """Return for which computed norms of so many terms rounding may have decided whether they exceed the threshold.

    Examples
    --------
    >>> unsure(np.array([0.9, 1.0 + 1e-16, 1.1]), 1.0, 2)
    array([False,  True, False])
    """
    near: BoolArray = np.abs(norms - threshold) <= gamma(terms + 8) * threshold + _LOST * math.sqrt(terms)
    return near


def longer_than(vectors: FloatArray, threshold: float) -> BoolArray:
    r"""Return for which rows :math:`\|x\|_2 >` threshold, in exact arithmetic.

    Parameters
    ----------
    vectors : array of shape (m, n)
    threshold : float
        At least 0.

    Examples
    --------
    >>> longer_than(np.array([[3.0, 4.0], [1.0, 2.0**-27]]), 5.0)
    array([False, False])
    >>> longer_than(np.array([[3.0, 4.0], [1.0, 2.0**-27]]), 1.0)
    array([ True,  True])
    """
    if threshold == 0.0:
        present: BoolArray = np.asarray(vectors.any(axis=1))
        return present
    # Where the machine has a longer float it settles most of them at once.
    wide = vectors.astype(np.longdouble)
    square = np.longdouble(threshold) ** 2
    totals = np.einsum("ij,ij->i", wide, wide)
    longer = np.asarray(totals > square)
    margin = 2.0 * (vectors.shape[1] + 4) * np.finfo(np.longdouble).eps
    rounded = ~(np.abs(totals - square) > margin * (totals + square)) | (totals < _TINY_SQUARE)
    for i in np.flatnonzero(rounded):
        longer[i] = _exceeds(vectors[i].astype(np.float64), threshold)
    return longer


def covariance_exceeds(diagonal: FloatArray, n: int, threshold: float) -> BoolArray:
    """Return for which entries n S_jj > threshold^2, in exact arithmetic.

    Examples
    --------
    >>> covariance_exceeds(np.array([12.5, 12.500000000000002]), 2, 5.0)
    array([False,  True])
    """
    if threshold == 0.0:
        positive: BoolArray = diagonal > 0.0
        return positive
    square = Fraction(threshold) ** 2
    return np.array([n * Fraction(float(entry)) > square for entry in diagonal], dtype=bool)


def smallest_budget(exceeds: Callable[[float], bool], near: float) -> float:
    """Return the smallest float that nothing exceeds, from one that is within a few ulps of it.

    Examples
    --------
    >>> smallest_budget(lambda rho: rho * rho < 2.0, 1.4142135623730947)
    1.4142135623730951
    """
    while exceeds(near):
        near = math.nextafter(near, math.inf)
    while near > 0.0 and not exceeds(below := math.nextafter(near, 0.0)):
        near = below
    return near


def _exceeds(x: FloatArray, threshold: float) -> bool:
    """Return whether |x|^2 > threshold^2 > 0."""
    entries = np.append(x[x != 0.0], threshold)
    scaled = np.ldexp(entries, -math.frexp(float(np.abs(entries).max()))[1])
    if np.abs(scaled).min() < _SAFE:
        total = sum(Fraction(float(entry)) ** 2 for entry in entries[:-1]) - Fraction(threshold) ** 2
        return total > 0
    high, low = _square(scaled)
    high[-1], low[-1] = -high[-1], -low[-1]
    # fsum rounds the exact sum once, so its sign is right.
    return math.fsum(high.tolist() + low.tolist()) > 0.0


def _square(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return x^2 as an unevaluated sum of two floats, exactly (Dekker's product)."""
    square = x * x
    big = _SPLIT * x
    head = big - (big - x)
    tail = x - head
    error = tail * tail - ((square - head * head) - 2.0 * head * tail)
    return square, error
