"""A budget: one number, or one for every feature or sample."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray, IntArray, holds_truth, refuse_mask

__all__ = ["Budgeted", "checked_budget", "checked_budgets", "largest_ratio", "scaled", "weighed"]


def checked_budget(rho: float) -> float:
    """Return rho as a float, or raise InvalidProblem if it is not a finite number >= 0."""
    try:
        if isinstance(rho, (bool, np.bool_)):
            raise TypeError
        budget = float(rho)
    except (TypeError, ValueError):
        raise InvalidProblem(f"rho must be a number, got {rho!r}; pass the budget as a float.") from None
    if not np.isfinite(budget):
        raise InvalidProblem(f"rho must be finite, got {budget}; pass a budget of at least 0.")
    if budget < 0:
        raise InvalidProblem(f"rho must not be negative, got {budget}; pass a budget of at least 0.")
    return budget


def checked_budgets(rho: Any, of: str, most_axes: int = 1) -> "float | FloatArray":
    """Return a number as a float, a sequence as a read-only array of entries >= 0, or raise InvalidProblem.

    A number is finite; in a sequence infinity means that the feature (or sample) is not to be trusted at all.

    Parameters
    ----------
    rho : float or array-like
    of : str
        What there is one budget of each for: "feature" or "sample".
    most_axes : int
        How many axes an array of them may have.
    """
    if isinstance(rho, (float, int, str, bytes)) or np.ndim(rho) == 0:
        return checked_budget(rho)
    refuse_mask(rho, "rho")
    try:
        if np.asarray(rho).dtype.kind == "c" or holds_truth(rho):
            raise TypeError
        budgets = np.array(rho, dtype=np.float64) + 0.0  # a copy of its own; turns -0.0 into 0.0
    except (TypeError, ValueError):
        raise InvalidProblem(f"rho must be a number, or one number per {of}.") from None
    if not 1 <= budgets.ndim <= most_axes or budgets.size == 0:
        raise InvalidProblem(f"rho must be a number, or one number per {of}; it has shape {budgets.shape}.")
    wrong = np.argwhere(~(budgets >= 0))  # so written that NaN counts
    if len(wrong):
        where = ", ".join(str(i) for i in wrong[0])
        raise InvalidProblem(
            f"rho must not be negative or NaN, got {budgets[tuple(wrong[0])]} for {of} {where}; pass budgets of at "
            "least 0."
        )
    budgets.flags.writeable = False
    return budgets


def weighed(rho: Any, weights: FloatArray) -> FloatArray:
    """Return rho |w| entry by entry; a weight of 0 costs nothing, whatever the budget.

    >>> weighed(np.array([2.0, np.inf, np.inf]), np.array([-1.0, 0.0, 1.0]))
    array([ 2.,  0., inf])
    """
    magnitudes = np.abs(weights)
    if isinstance(rho, float) or np.isfinite(rho).all():
        product: FloatArray = rho * magnitudes
        return product
    spent: FloatArray = np.zeros(np.broadcast(rho, magnitudes).shape)
    np.multiply(rho, magnitudes, out=spent, where=magnitudes != 0)
    return spent


def scaled(rho: Any, factor: float) -> Any:
    """Return factor rho, a number at most the largest double; what is not trusted at all stays so.

    >>> scaled(np.array([2.0, np.inf]), 0.0)
    array([ 0., inf])
    """
    if isinstance(rho, float):
        return min(factor * rho, sys.float_info.max)
    with np.errstate(over="ignore"):  # what leaves the range is not trusted at all
        return np.multiply(rho, factor, out=np.full(np.shape(rho), np.inf), where=np.isfinite(rho))


def largest_ratio(lengths: FloatArray, rho: FloatArray) -> float:
    """Return the smallest factor c such that every length is at most c times its budget.

    >>> largest_ratio(np.array([3.0, 0.0, 5.0]), np.array([2.0, 0.0, np.inf]))
    1.5
    """
    moved = lengths > 0
    if np.any(moved & (rho == 0)):
        return math.inf
    return float(np.max(lengths[moved] / rho[moved], initial=0.0))


class Budgeted:
    """What adversaries with a number or one budget for each of several things have in common: they are compared by it.

    A class that says `of` has one for every feature or sample.
    """

    of = ""
    name = "rho"
    rho: Any

    @property
    def has_one_budget(self) -> bool:
        """Whether the budget is a number."""
        return isinstance(self.rho, float)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Budgeted)
        return np.shape(self.rho) == np.shape(other.rho) and bool(np.all(self.rho == other.rho))

    def __hash__(self) -> int:
        return hash((type(self), self.rho if self.has_one_budget else self.rho.tobytes()))

    def __repr__(self) -> str:
        if self.has_one_budget:
            return f"{type(self).__name__}({self.name}={self.rho!r})"
        return f"{type(self).__name__}({self.name}={span_in_words(self.rho)})"

    def _of_some(self, entries: IntArray) -> Any:
        """Return this with the budgets of some entries alone, in the shape in which these are given."""
        if self.has_one_budget:
            return self
        # Past the checks: a batch of vectors asks for the budgets of its features, one row for each of them.
        some = object.__new__(type(self))
        some.__dict__.update(self.__dict__)
        budgets = self.rho[entries]
        budgets.flags.writeable = False
        object.__setattr__(some, "rho", budgets)
        return some


def span_in_words(rho: ArrayLike) -> str:
    """Return how many budgets there are and in which range, in a few words.

    >>> span_in_words(np.array([0.5, 0.25, 1.0]))
    '<3 from 0.25 to 1>'
    """
    budgets = np.asarray(rho)
    return f"<{budgets.size} from {budgets.min():g} to {budgets.max():g}>"
