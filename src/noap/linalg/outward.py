r"""Rounding outwards: numbers that are certainly not below, or not above, what they stand for.

With unit roundoff :math:`u = 2^{-53}` every operation is off by a factor within :math:`1 \pm u`, and a sum of n
products, in whatever order, by at most :math:`\gamma_n = nu/(1-nu)` times the sum of absolute values. ``up`` moves a
result by a few ulps more than its operations may have lost.
"""

import math
from collections.abc import Callable

import numpy as np

from noap.linalg.types import FloatArray

__all__ = [
    "UNIT",
    "definite_shift",
    "gamma",
    "is_definite",
    "least_shift",
    "up",
]

UNIT = 2.0**-53
# From here on LAPACK is called without the copies of NumPy's way to it, which cost as much as the factorisation.
_LARGE = 512
# Entries below two to this, and above its inverse, are far from overflow and underflow in a factorisation.
_MODERATE = 100


def gamma(n: float) -> float:
    """Return the relative error of a sum of n products.

    Examples
    --------
    >>> 10 * UNIT < gamma(10) < 10.001 * UNIT
    True
    """
    return n * UNIT / (1.0 - n * UNIT)


def up(x: float, operations: int = 4) -> float:
    """Return a float at or above the real number of which x is the result of so many operations of one sign."""
    return x + abs(x) * gamma(operations + 2)


def least_shift(S: FloatArray) -> float:
    """Return the least that `definite_shift` adds to a matrix that is not 0: about d ulps of the trace."""
    return 2.0 * _room(_trace(S), len(S))


def definite_shift(S: FloatArray, before: Callable[[], object] = lambda: None) -> float:
    r"""Return c >= 0 such that :math:`S + cI` is positive semidefinite, in exact arithmetic.

    A floating-point Cholesky factorisation of a d x d matrix that succeeds is exact for one that differs from it by at
    most gamma(d + 2) times the trace in norm. So c is what such a factorisation of S + cI less that much room proves:
    `least_shift` if S is positive semidefinite to rounding, otherwise a power of two, at most about twice as large as
    need be. It is a power of two so that the same S gives the same c wherever it is computed.

    Parameters
    ----------
    S : array of shape (d, d), symmetric and finite
    before : callable
        Called before every factorisation; what it raises passes through.

    Examples
    --------
    >>> definite_shift(np.array([[1.0, 2.0], [2.0, 1.0]])), definite_shift(np.eye(2)) < 1e-14
    (2.0, True)
    """
    top = float(np.abs(S).max(initial=0.0))
    if top == 0.0:
        return 0.0
    A, exponent = _in_range(S, top)
    trace = _trace(A)
    least = 2.0 * _room(trace, len(A))

    def definite(shift: float) -> bool:
        before()
        return _definite(A, trace, shift)

    if definite(least):
        return math.ldexp(least, exponent)
    # By exponents: up in large steps, then the smallest power of two between the last two. Most factorisations that
    # fail do so after a few columns.
    low, step = math.floor(math.log2(least)), 8
    high = low + step
    while not definite(2.0**high):
        low, high = high, high + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if definite(2.0**middle) else (middle, high)
    return math.ldexp(1.0, high + exponent)


def is_definite(S: FloatArray, shift: float) -> bool:
    """Return whether a factorisation proves S + shift I to be positive semidefinite, in exact arithmetic.

    Parameters
    ----------
    S : array of shape (d, d), symmetric and finite
    shift : float, at least 0

    Examples
    --------
    >>> S = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> is_definite(S, 1.001), is_definite(S, 0.999)
    (True, False)
    """
    # Some factorisations take NaN for positive.
    if not math.isfinite(shift):
        return False
    top = max(float(np.abs(S).max(initial=0.0)), shift)
    if top == 0.0:
        return True
    A, exponent = _in_range(S, top)
    return _definite(A, _trace(A), math.ldexp(shift, -exponent))


def _in_range(S: FloatArray, top: float) -> tuple[FloatArray, int]:
    """Return S, divided by two to some exponent where products of its entries, the largest of them top, need it."""
    exponent = math.frexp(top)[1]
    return (S, 0) if abs(exponent) < _MODERATE else (np.ldexp(S, -exponent), exponent)


def _definite(A: FloatArray, trace: float, shift: float) -> bool:
    """Return whether a factorisation proves A + shift I to be positive semidefinite."""
    lifted = A.copy()
    # The additions, too, are within the room: they change each diagonal entry by an ulp.
    lifted.flat[:: len(A) + 1] += shift - _room(trace + len(A) * shift, len(A))
    if len(A) > _LARGE:
        from scipy.linalg.lapack import dpotrf  # takes the time of `import noap` to load

        return int(dpotrf(lifted.T, lower=1, overwrite_a=1, clean=0)[1]) == 0
    try:
        np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError:
        return False
    return True


def _trace(A: FloatArray) -> float:
    # Of a positive semidefinite matrix no entry exceeds the trace; of any other the trace says nothing.
    return max(float(np.abs(A.diagonal()).sum()) * 1.001, float(np.abs(A).max(initial=0.0)))


def _room(trace: float, d: int) -> float:
    return gamma(d + 4) * trace * 1.01
