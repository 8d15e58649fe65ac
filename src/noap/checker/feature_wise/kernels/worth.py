"""Bounds on what a feature is worth, f(s) = (s - rho)_+^2, and chords that lie above it as a function of s^2.

``r_lo <= rho``; U is the unit roundoff. The worth is that of "The problem in u" of docs/exact.md, the chords are those
of Step 3, The eigenvector slab, of docs/exact.md.
"""

import math

from noap.checker.kernels.rounding import U
from noap.runtime.kernels import kernel, part


@part
def worth_up(s, r_lo):
    """Return at least f(s) = (s - rho)_+^2."""
    x = s - r_lo
    return x * x * (1.0 + 8.0 * U) + 1e-300 if x > 0.0 else 0.0


@part
def worth_down(s, r):
    """Return at most (s - r)_+^2."""
    x = s - r
    return max(x * x * (1.0 - 8.0 * U) - 1e-300, 0.0) if x > 0.0 else 0.0


@kernel
def chord(lo, hi, r_lo):
    """Return (root, beta) of the chord of f, as a function of s^2, on [lo, hi]."""
    at_lo, at_hi = worth_up(lo, r_lo), worth_up(hi, r_lo)
    width = hi * hi - lo * lo
    slope = (at_hi - at_lo) / width if width > 1e-9 * hi * hi else (hi - r_lo) / max(hi, 1e-300)
    root = math.sqrt(max(slope, 0.0))
    return root, offset(lo, hi, r_lo, root)


@part
def offset(lo, hi, r_lo, root):
    """Return beta with f(s) <= (root s)^2 + beta on [lo, hi]: f is convex in s^2, so the ends decide."""
    at_lo, at_hi = worth_up(lo, r_lo), worth_up(hi, r_lo)
    low, high = root * lo, root * hi
    beta = max(at_lo - low * low * (1.0 - 8.0 * U), at_hi - high * high * (1.0 - 8.0 * U))
    return beta + 4.0 * U * (at_hi + high * high)
