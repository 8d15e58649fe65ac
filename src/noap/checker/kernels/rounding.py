"""What bounds the rounding of sums and products, in both halves of the checker."""

from noap.runtime.kernels import part

# The unit roundoff.
U = 2.0**-53


@part
def gamma(n):
    """Return the bound on the relative error of a sum of n products, in any order."""
    return n * U / (1.0 - n * U)
