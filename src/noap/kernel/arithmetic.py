r"""Rounding: what the kernel assumes of the machine, and the two facts that every error term rests on.

Assumed: IEEE 754 doubles, rounded to nearest, without flush to zero; a sum of n products, in any order and with or
without fused operations, is within :math:`\gamma_n = nu/(1 - nu)`, :math:`u = 2^{-53}`, of the exact one relative to
the sum of the absolute products (no Strassen-like schemes); LAPACK's Cholesky factorisation and triangular solve are
made of such sums. Comparisons are written so that NaN refuses.
"""

import math
from collections.abc import Iterable

import numpy as np

from noap.linalg.types import FloatArray

__all__ = ["TINY", "Refused", "U", "cholesky", "gamma", "need", "proves_semidefinite", "sum_up"]

U = 2.0**-53
# More than anything that underflows can lose: all data are of size 1.
TINY = 1e-280


class Refused(Exception):
    """A condition that a proof needs does not hold, or cannot be shown in floating point.

    Attributes
    ----------
    node : int or None
        Which node of a tree it is about.
    """

    def __init__(self, why: str, node: int | None = None) -> None:
        super().__init__(why if node is None else f"node {node}: {why}")
        self.node = node


def need(condition: object, why: str) -> None:
    """Refuse unless the condition holds."""
    if not bool(condition):
        raise Refused(why)


def gamma(n: float) -> float:
    """Return the relative error of a sum of n products.

    Examples
    --------
    >>> 10 * U < gamma(10) < 10.001 * U
    True
    """
    return n * U / (1.0 - n * U)


def sum_up(numbers: Iterable[float]) -> float:
    """Return the exact sum of some numbers, or the next double above it.

    Examples
    --------
    >>> sum_up([1.0, 2.0**-60]) == 1.0 + 2.0**-52, sum_up([1.0, -(2.0**-60)])
    (True, 1.0)
    """
    parts = list(numbers)
    near = math.fsum(parts)  # rounded once, and so is the difference: its sign is right
    return near if math.fsum([*parts, -near]) <= 0 else math.nextafter(near, math.inf)


def cholesky(P: FloatArray) -> FloatArray | None:
    """Return L with L L' = P, lower triangular, up to gamma(n + 1) |L||L'| entry by entry; None if a pivot fails."""
    from scipy.linalg.lapack import dpotrf  # `import noap` stays quick

    L, info = dpotrf(P, lower=1, clean=1)
    found: FloatArray = L
    # Some factorisations take NaN for a positive pivot; an entry of P that is not finite leaves one of L so.
    return found if info == 0 and np.isfinite(L).all() else None


def proves_semidefinite(P: FloatArray, shift: float = 0.0) -> bool:
    r"""Return whether a factorisation proves P + shift I >= 0, for a symmetric matrix of doubles.

    Let Q be the matrix that is factorised: P + shift I less :math:`\delta I`, with :math:`\delta = \gamma_{n+4} s` +
    TINY, :math:`s = \sum_i |P_{ii}| + n |\mathrm{shift}|`. If that succeeds, :math:`Q + E = LL^\top` with
    :math:`\|E\| \le \gamma_{n+1} \mathrm{tr}(LL^\top)` (Higham, Theorem 10.3; rows of L have squared length at most
    :math:`Q_{ii}/(1 - \gamma_{n+1})`), and the diagonal of Q is off by at most 2u s: both together stay below
    :math:`\delta`, up to n = 10^7.

    Examples
    --------
    >>> proves_semidefinite(np.array([[2.0, 1.0], [1.0, 2.0]]), -0.9999), proves_semidefinite(np.eye(2), -1.0)
    (True, False)
    """
    n = len(P)
    size = float(np.abs(P.diagonal()).sum()) + n * abs(shift)
    Q = P.copy()
    Q.flat[:: n + 1] += shift - (gamma(n + 4) * size + TINY)
    return cholesky(Q) is not None
