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

__all__ = ["covariance_exceeds", "largest_pair", "longer_than", "pairs_exceed", "smallest_budget", "unsure"]

# Products of numbers above this, relative to the largest, and the errors of those products are floats: 2^-480 squared
# is 2^-960, whose error is a multiple of 2^-1066.
_SAFE = 2.0**-480
# Splits a float in two halves of 26 bits (Dekker).
_SPLIT = 134217729.0
# What underflow may have taken from a computed norm, for each root of a term.
_LOST = 1e-160
# Sums of squares below this may have lost digits to underflow where long doubles are doubles.
_TINY_SQUARE = 1e-290


def unsure(norms: FloatArray, threshold: "float | FloatArray", terms: int) -> BoolArray:
    """Return for which computed norms of so many terms rounding may have decided whether they exceed the threshold.

    One threshold for all, or one for each; nothing exceeds infinity.

    Examples
    --------
    >>> unsure(np.array([0.9, 1.0 + 1e-16, 1.1]), 1.0, 2)
    array([False,  True, False])
    """
    near: BoolArray = np.abs(norms - threshold) <= gamma(terms + 8) * threshold + _LOST * math.sqrt(terms)
    return near if np.ndim(threshold) == 0 else near & np.isfinite(threshold)


def longer_than(vectors: FloatArray, threshold: "float | FloatArray") -> BoolArray:
    r"""Return for which rows :math:`\|x\|_2 >` threshold, in exact arithmetic.

    Parameters
    ----------
    vectors : array of shape (m, n)
    threshold : float or array of shape (m,)
        At least 0 and finite: one for all rows, or one for each.

    Examples
    --------
    >>> longer_than(np.array([[3.0, 4.0], [1.0, 2.0**-27]]), 5.0)
    array([False, False])
    >>> longer_than(np.array([[3.0, 4.0], [1.0, 2.0**-27]]), 1.0)
    array([ True,  True])
    """
    if np.ndim(threshold) == 0 and threshold == 0.0:
        present: BoolArray = np.asarray(vectors.any(axis=1))
        return present
    # Where the machine has a longer float it settles most of them at once.
    wide = vectors.astype(np.longdouble)
    square = np.asarray(threshold, dtype=np.longdouble) ** 2
    totals = np.einsum("ij,ij->i", wide, wide)
    longer = np.asarray(totals > square)
    margin = 2.0 * (vectors.shape[1] + 4) * np.finfo(np.longdouble).eps
    rounded = ~(np.abs(totals - square) > margin * (totals + square)) | (totals < _TINY_SQUARE)
    thresholds = np.broadcast_to(threshold, len(vectors))
    for i in np.flatnonzero(rounded):
        longer[i] = _exceeds(vectors[i].astype(np.float64), float(thresholds[i]))
    return longer


def covariance_exceeds(diagonal: FloatArray, n: int, threshold: "float | FloatArray") -> BoolArray:
    """Return for which entries n S_jj > threshold^2, in exact arithmetic; one threshold for all, or one for each.

    Examples
    --------
    >>> covariance_exceeds(np.array([12.5, 12.500000000000002]), 2, 5.0)
    array([False,  True])
    """
    if np.ndim(threshold) == 0 and threshold == 0.0:
        positive: BoolArray = diagonal > 0.0
        return positive
    thresholds = np.broadcast_to(threshold, len(diagonal))
    return np.array([_entry_exceeds(float(s), n, float(t)) for s, t in zip(diagonal, thresholds, strict=True)], bool)


def _entry_exceeds(entry: float, n: int, threshold: float) -> bool:
    return not math.isinf(threshold) and n * Fraction(entry) > Fraction(threshold) ** 2


def pairs_exceed(S: FloatArray, n: int, budgets: FloatArray) -> bool:
    r"""Return whether n |S_ij| > rho_i rho_j for some i and j, in exact arithmetic.

    If not, then :math:`n\,v^\top S v \le (\sum_j \rho_j |v_j|)^2` for every v, be S positive semidefinite or not.

    Examples
    --------
    >>> pairs_exceed(np.array([[4.0, 1.0], [1.0, 0.5]]), 1, np.array([2.0, 0.75]))
    False
    >>> pairs_exceed(np.array([[4.0, 1.0], [1.0, 0.5]]), 1, np.array([2.0, 0.5]))
    True
    """
    trusted = np.flatnonzero(np.isfinite(budgets))
    for i in trusted:
        entries, products = n * np.abs(S[i, trusted]), budgets[i] * budgets[trusted]
        wide = 8 * np.finfo(np.float64).eps
        if np.any(entries > products * (1 + wide) + _TINY_SQUARE):
            return True
        for j in trusted[np.flatnonzero(entries > products * (1 - wide) - _TINY_SQUARE)]:
            if n * abs(Fraction(float(S[i, j]))) > Fraction(float(budgets[i])) * Fraction(float(budgets[j])):
                return True
    return False


def largest_pair(S: FloatArray, n: int, budgets: FloatArray) -> float:
    """Return the smallest float c such that budgets c rho, as they are rounded, no pair (i, j) exceeds; inf if none.

    Examples
    --------
    >>> largest_pair(np.array([[4.0, 1.0], [1.0, 1.0]]), 4, np.array([2.0, 0.5]))
    4.0
    """
    trusted = np.flatnonzero(np.isfinite(budgets))
    entries, own = n * np.abs(S[np.ix_(trusted, trusted)]), budgets[trusted]
    products = np.outer(own, own)
    if np.any((entries > 0) & (products == 0)):
        return math.inf
    squares = np.divide(entries, products, out=np.zeros_like(entries), where=products > 0)
    top = float(squares.max(initial=0.0))
    if top == 0.0:
        return 0.0
    near = [(trusted[i], trusted[j]) for i, j in np.argwhere(squares >= top * (1 - 1e-12))]

    def exceeds(c: float) -> bool:
        raised = [Fraction(float(b)) for b in c * np.where(np.isfinite(budgets), budgets, 0.0)]
        return any(n * abs(Fraction(float(S[i, j]))) > raised[i] * raised[j] for i, j in near)

    return smallest_budget(exceeds, math.sqrt(top))


def smallest_budget(exceeds: Callable[[float], bool], near: float) -> float:
    """Return the smallest float that nothing exceeds, from one that is within a few ulps of it.

    Examples
    --------
    >>> smallest_budget(lambda rho: rho * rho < 2.0, 1.4142135623730947)
    1.4142135623730951
    """
    while near < math.inf and exceeds(near):
        near = math.nextafter(near, math.inf)
    while near > 0.0 and not exceeds(below := math.nextafter(near, 0.0)):
        near = below
    return near


def _exceeds(x: FloatArray, threshold: float) -> bool:
    """Return whether |x|^2 > threshold^2 >= 0."""
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
