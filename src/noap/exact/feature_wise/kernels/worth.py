"""What a feature is worth, and a chord above it."""

from noap.runtime.kernels import kernel, part


@part
def worth(s, rho):
    """Return f(s) = (s - rho)_+^2: "The problem in u" of docs/exact.md."""
    x = s - rho
    return x * x if x > 0.0 else 0.0


@kernel
def chord(lo, hi, rho):
    """Return alpha, beta with f(s) <= alpha s^2 + beta on [lo, hi]; f is convex in s^2.

    Step 3, The eigenvector slab, of docs/exact.md, and the chords of Step 4, The Schur test, of docs/exact.md.
    """
    if hi * hi - lo * lo <= 1e-9 * hi * hi:
        # On a short interval the secant is all rounding: take the slope at hi, raised to cover lo.
        alpha = (hi - rho) / hi if hi > 0.0 else 1.0
        beta = max(worth(hi, rho) - alpha * hi * hi, worth(lo, rho) - alpha * lo * lo)
        return alpha, beta
    at_lo, at_hi = worth(lo, rho), worth(hi, rho)
    alpha = (at_hi - at_lo) / (hi * hi - lo * lo)
    return alpha, at_lo - alpha * lo * lo
