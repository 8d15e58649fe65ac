r"""Whether the adversary, or what features cost, leaves no choice a value: decided in exact arithmetic.

A claim of which that is so has the bound 0, less what demanded features cost; docs/kernel.md, section 2. Floats settle
it but for features whose length is within rounding of their budget.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from noap.kernel.arithmetic import gamma, need
from noap.linalg.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from noap.kernel.data import Terms

__all__ = ["covariance_is_cancelled", "samples_are_cancelled", "sum_of_squares"]

# Within these, relative and in units in which the largest entry of A is about 1, a comparison is made exactly. Products
# of samples that underflowed beside others are below the square of the second.
_NEAR, _TINY = 1e-9, 1e-50
_ROOT = 1200  # binary places of roots
_LIMB = 18  # bits: the sum of 2**25 products of limbs is an integer of 64


def samples_are_cancelled(
    blocks: Callable[[], Iterable[FloatArray]], diagonal: FloatArray, terms: "Terms", exponent: int
) -> bool:
    r"""Return whether :math:`\|x_j\| \le \rho_j + \sqrt{n\pi_j}` for every feature that a choice can have.

    Costs count only where no feature is demanded: a demanded one pays, whatever it contributes.

    Parameters
    ----------
    blocks : callable
        Returns the rows of X.
    diagonal : array of shape (d,)
        Of the computed X'X/n, in the units of the exponent.
    """
    budgets = _Budgets(terms, len(diagonal), exponent)
    near = budgets.near(diagonal, _NEAR + gamma(terms.n_samples))
    if near is None:
        return False
    squares = [Fraction(0)] * len(near)
    for block in blocks() if len(near) else ():
        squares = [square + sum_of_squares(block[:, j]) for square, j in zip(squares, near, strict=True)]
    return all(budgets.cancel(j, square) for j, square in zip(near, squares, strict=True))


def covariance_is_cancelled(S: FloatArray, A: FloatArray, terms: "Terms", exponent: int) -> bool:
    r"""Return whether :math:`n S_{jj} \le \phi_j^2` and :math:`n |S_{ij}| \le \phi_i \phi_j` for all such features.

    Here :math:`\phi_j = \rho_j + \sqrt{n\pi_j}`. S need not be semidefinite. With k = 1 its diagonal is enough.

    Parameters
    ----------
    S : array of shape (d, d)
    A : array of shape (d, d)
        S in the units of the exponent, where some entries may have underflowed.
    """
    n, budgets = terms.n_samples, _Budgets(terms, len(S), exponent)
    near = budgets.near(np.maximum(A.diagonal(), 0.0), _NEAR)
    if near is None or not all(budgets.cancel(j, n * Fraction(float(S[j, j]))) for j in near):
        return False
    trusted = np.flatnonzero(budgets.usable & np.isfinite(budgets.rho))
    for place, i in enumerate(trusted if terms.k > 1 else ()):
        others = trusted[place + 1 :]
        with np.errstate(over="ignore", invalid="ignore"):
            sizes, products = np.abs(A[i, others]), budgets.reach[i] * budgets.reach[others]
        if not (sizes <= products * (1 + _NEAR) + _TINY).all():
            return False
        for j in others[(sizes >= products * (1 - _NEAR) - _TINY) & (S[i, others] != 0)]:
            if n * abs(Fraction(float(S[i, j]))) > budgets.exact_reach(i) * budgets.exact_reach(j):
                return False
    return True


class _Budgets:
    """Budgets and costs of the features that a choice can have, as floats and exactly.

    Attributes
    ----------
    usable : bool array of shape (d,)
    rho, costs : arrays of shape (d,)
        As the user gave them; no costs where features are demanded.
    reach : array of shape (d,)
        rho over root n and the root of the cost together, in the units of the exponent.
    """

    def __init__(self, terms: "Terms", d: int, exponent: int) -> None:
        full = len(terms.include) == terms.k
        self.n = terms.n_samples
        self.usable: BoolArray = np.full(d, not full, dtype=np.bool_)
        self.usable[terms.include if full else terms.exclude] = full
        self.rho = np.zeros(d) if terms.rho is None else terms.rho
        self.costs = np.zeros(d) if terms.costs is None or len(terms.include) else terms.costs
        with np.errstate(over="ignore", invalid="ignore"):
            r = np.ldexp(self.rho / math.sqrt(self.n), terms.units - exponent)
            self.reach: FloatArray = r + np.sqrt(np.ldexp(self.costs, -2 * exponent))

    def near(self, diagonal: FloatArray, share: float) -> IntArray | None:
        """Return the features that floats, off by a share of a length, leave open; None if one is surely too long."""
        size = np.sqrt(diagonal)
        margin = share * size + _TINY
        with np.errstate(invalid="ignore"):
            if not (size - margin <= self.reach)[self.usable].all():  # so does NaN
                return None
        return np.flatnonzero(self.usable & (size + margin > self.reach))

    def cancel(self, j: np.intp, square: Fraction) -> bool:
        """Return whether a feature with a column of this squared length contributes no more than its cost."""
        budget, cost = Fraction(float(self.rho[j])) ** 2, self.n * Fraction(float(self.costs[j]))
        beyond = square - budget - cost
        return beyond <= 0 or beyond * beyond <= 4 * budget * cost

    def exact_reach(self, j: np.intp) -> Fraction:
        """Return rho and the root of n times the cost together, that root rounded down."""
        root = math.isqrt(int(self.n * Fraction(float(self.costs[j])) * 4**_ROOT))
        return Fraction(float(self.rho[j])) + Fraction(root, 1 << _ROOT)


def sum_of_squares(x: FloatArray) -> Fraction:
    """Return the sum of the squares of some doubles, exactly.

    Numbers of one exponent are added as integers, in limbs whose products leave room for all of them.

    Examples
    --------
    >>> sum_of_squares(np.array([1.0, 2.0**-30])) == 1 + Fraction(1, 2**60)
    True
    """
    need(len(x) < 2**25 and np.isfinite(x).all(), "samples that are too many at a time, or not finite")
    if not x.any():
        return Fraction(0)
    fraction, exponent = np.frexp(x)
    order = np.argsort(exponent.astype(np.int16), kind="stable")
    whole = np.ldexp(fraction[order], 53).astype(np.int64)
    exponents, starts = np.unique(exponent[order], return_index=True)
    low = 2**_LIMB - 1
    a, b, c = whole >> 2 * _LIMB, whole >> _LIMB & low, whole & low
    total = 0
    for place, part in enumerate((c * c, 2 * b * c, 2 * a * c + b * b, 2 * a * b, a * a)):
        for e, one in zip(exponents.tolist(), np.add.reduceat(part, starts).tolist(), strict=True):
            total += one << place * _LIMB + 2 * (e - int(exponents[0]))
    return total * Fraction(4) ** (int(exponents[0]) - 53)
