"""What a feature is worth, and a chord above it."""

import math
from typing import Any, NamedTuple

from noap.runtime.kernels import kernel, part


class Terms(NamedTuple):
    """What the worth of each feature is made of, f_j(s) = (s - rho_j)_+^2 - cost_j, and 0 where that is negative.

    `entry` has rho_j + sqrt(cost_j), up to which a feature is worth nothing; `largest` is the largest budget, and
    `share` what each is of it (1 where there is none).
    """

    rho: Any
    cost: Any
    entry: Any
    share: Any
    largest: Any


@part
def worth(s, rho, cost):
    """Return f(s), which is (s - rho)_+^2 - cost or 0: "The problem in u" of docs/exact.md."""
    x = s - rho
    value = x * x - cost
    return value if x > 0.0 and value > 0.0 else 0.0


@kernel
def chord(lo, hi, rho, cost):
    """Return alpha, beta with f(s) <= alpha s^2 + beta on [lo, hi]; f is convex in s^2.

    Step 3, The eigenvector slab, of docs/exact.md, and the chords of Step 4, The Schur test, of docs/exact.md.
    """
    if hi * hi - lo * lo <= 1e-9 * hi * hi:
        # On a short interval the secant is all rounding: take the slope at hi, raised to cover lo.
        alpha = (hi - rho) / hi if hi > 0.0 else 1.0
        beta = max(worth(hi, rho, cost) - alpha * hi * hi, worth(lo, rho, cost) - alpha * lo * lo)
        return alpha, beta
    at_lo, at_hi = worth(lo, rho, cost), worth(hi, rho, cost)
    alpha = (at_hi - at_lo) / (hi * hi - lo * lo)
    return alpha, at_lo - alpha * lo * lo


@part
def shrunk(ceil, rho, cost):
    """Return the root of f(ceil)/ceil^2, or more: f(s)/s^2 grows with s. Step 4, The Schur test, of docs/exact.md."""
    if cost > 0.0:
        return math.sqrt(worth(ceil, rho, cost)) / ceil * (1.0 + 1e-15)
    return 1.0 - rho / ceil if rho > 0.0 else 1.0


@part
def lowest(carried, rho, cost):
    """Return at most the s at which a feature carries so much, for Step 2, Propagation, of docs/exact.md."""
    return (rho + math.sqrt(carried + cost)) * (1.0 - 1e-14)


@part
def tallest(terms, free, ceil, n_free):
    """Return which free feature may be worth most, -1 if there is none, for "Step 2b. Levels" of docs/exact.md."""
    top, most = -1, -1.0
    for f in range(n_free):
        value = worth(ceil[f], terms.rho[free[f]], terms.cost[free[f]])
        if value > most:
            top, most = f, value
    return top
