"""What a feature is worth."""

from noap.runtime.kernels import kernel


@kernel
def worth(s, rho):
    """Return f(s) = (s - rho)_+^2: "The problem in u" of docs/exact.md."""
    x = s - rho
    return x * x if x > 0.0 else 0.0
