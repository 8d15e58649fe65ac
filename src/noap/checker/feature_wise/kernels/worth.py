"""Bounds on what a feature is worth, f(s) = (s - rho)_+^2 - cost or 0, and chords that lie above it in terms of s^2.

``r_lo <= rho``; U is the unit roundoff. The worth is that of "The problem in u" of docs/exact.md, the chords are those
of Step 3, The eigenvector slab, of docs/exact.md.
"""

import math
from typing import Any, NamedTuple

from noap.checker.kernels.rounding import U
from noap.runtime.kernels import kernel, part


class Terms(NamedTuple):
    """What the features of a problem are worth, one entry for each.

    The budget of feature j lies between r_lo[j] and r_hi[j], its cost is at least cost[j], and it is worth nothing
    unless s_j exceeds entry[j].
    """

    r_lo: Any
    r_hi: Any
    cost: Any
    entry: Any


@part
def worth_up(s, r_lo, cost):
    """Return at least f(s)."""
    x = s - r_lo
    if not x > 0.0:
        return 0.0
    # The margin covers the rounding of the difference, too: that is at most an ulp of the square.
    value = x * x * (1.0 + 8.0 * U) + 1e-300 - cost
    return value if value > 0.0 else 0.0


@part
def worth_down(s, r, cost):
    """Return at most (s - r)_+^2 - cost, or 0."""
    x = s - r
    return max(x * x * (1.0 - 8.0 * U) - 1e-300 - cost, 0.0) if x > 0.0 else 0.0


@kernel
def chord(lo, hi, r_lo, cost):
    """Return (root, beta) of the chord of f, as a function of s^2, on [lo, hi]."""
    at_lo, at_hi = worth_up(lo, r_lo, cost), worth_up(hi, r_lo, cost)
    width = hi * hi - lo * lo
    slope = (at_hi - at_lo) / width if width > 1e-9 * hi * hi else (hi - r_lo) / max(hi, 1e-300)
    root = math.sqrt(max(slope, 0.0))
    return root, offset(lo, hi, r_lo, cost, root)


@part
def offset(lo, hi, r_lo, cost, root):
    """Return beta with f(s) <= (root s)^2 + beta on [lo, hi]: f is convex in s^2, so the ends decide."""
    at_lo, at_hi = worth_up(lo, r_lo, cost), worth_up(hi, r_lo, cost)
    low, high = root * lo, root * hi
    beta = max(at_lo - low * low * (1.0 - 8.0 * U), at_hi - high * high * (1.0 - 8.0 * U))
    return beta + 4.0 * U * (at_hi + high * high)


@part
def floor_of(owed, r_lo, cost):
    """Return at most rho + sqrt(owed + cost), where a feature carries so much."""
    return (r_lo + math.sqrt(owed + cost) * (1.0 - 4.0 * U)) * (1.0 - 4.0 * U)


@part
def shrunk(ceil, r_lo, cost):
    """Return at least the root of f(ceil)/ceil^2, or more: f(s)/s^2 grows with s."""
    if cost > 0.0:
        return math.sqrt(worth_up(ceil, r_lo, cost)) / ceil * (1.0 + 8.0 * U)
    return max(1.0 - r_lo / ceil * (1.0 - 4.0 * U), 0.0) * (1.0 + 4.0 * U) + 2.0 * U if r_lo > 0.0 else 1.0


@part
def tallest(terms, free, ceil, n_free):
    """Return which free feature may be worth most, -1 if there is none."""
    top, most = -1, -1.0
    for f in range(n_free):
        value = worth_up(ceil[f], terms.r_lo[free[f]], terms.cost[free[f]])
        if value > most:
            top, most = f, value
    return top
