r"""Which features, and which two of them, can lie in one support that is worth more than T.

With bounds on the optima of fewer features, any e features of such a support of k together carry more than
:math:`due_e = T - below_{k-e}` ("Many features" of docs/exact.md). For e = 1 that is a floor for every one of them,
and for e = 1 and 2 a least inner product of every two.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.types import BoolArray, FloatArray

__all__ = ["Compatible", "OwnTerms"]

# What is due is lowered by this share of T. The checker raises both numbers of a difference by its margins, and what
# it lets pass must be among what passes here.
_ROOM = 3e-7


@dataclass(frozen=True)
class OwnTerms:
    """Budgets and costs of features, and at least what each can carry, where these do not follow from lengths alone.

    `most` is the largest that any feature of the problem can carry.
    """

    rho: FloatArray
    cost: FloatArray
    worths: FloatArray
    most: float

    def of(self, places: "npt.NDArray[np.integer[Any]] | slice") -> "OwnTerms":
        """Return those of some of the features."""
        return OwnTerms(self.rho[places], self.cost[places], self.worths[places], self.most)

    def loosest(self) -> "OwnTerms":
        """Return a feature, alone in arrays, that fits where one of these does, if it is as long as the longest."""
        rho, cost, worth = self.rho.min(), self.cost.min(), self.worths.max()
        return OwnTerms(np.array([rho]), np.array([cost]), np.array([worth]), self.most)


@dataclass(frozen=True)
class Compatible:
    """What a support of k features that is worth more than T demands of its features.

    Attributes
    ----------
    rho : float
        The smallest budget of a feature, which counts where nothing is said of its own.
    floor : float
        Every feature has s_j of at least this; rho where nothing more is known.
    due : float
        Any two carry at least this together.
    size : int
        A support that is worth more has at least so many features.
    owed : float
        Every feature carries at least this.
    """

    rho: float
    floor: float
    due: float
    size: int
    owed: float = 0.0

    @classmethod
    def at(cls, k: int, T: float, below: FloatArray, rho: float) -> "Compatible":
        """Return it for k features, with bounds on the optima of 0, 1, ..., k - 1 of them."""
        due = [T - float(below[k - e]) for e in range(1, k + 1)]
        room = _ROOM * T
        owed = max(due[0] - room, 0.0)
        # Places of a support without a feature carry nothing: as many as are owed less than that.
        size = k - sum(one < 0 for one in due)
        return cls(rho, rho + math.sqrt(owed), due[min(k, 2) - 1] - room, size, owed)

    def covers(self, other: "Compatible") -> bool:
        """Whether all that fits together by the other does so by this one."""
        return self.floor <= other.floor and self.due <= other.due and self.size <= other.size

    def worth_enough(self, own: OwnTerms) -> BoolArray:
        """Return which features may be in the support, by what each of them, and any at most, can carry."""
        together = own.worths + own.most
        enough: BoolArray = (own.worths >= self.owed * (1 - 1e-9)) & (together >= self.due * (1 - 1e-9))
        return enough & (own.worths > 0)

    def long_enough(self, squares: FloatArray) -> BoolArray:
        """Return which columns may be in the support at all, by the squared norms of all of them.

        Beside such a feature there are size - 1 others, one of which is no longer than the column of that rank.
        """
        rank = min(max(self.size - 1, 1), len(squares))
        other = float(-np.partition(-squares, rank - 1)[rank - 1])
        parallel = np.sqrt(squares * other) * (1 + 1e-9)
        fits: BoolArray = self.least_products(squares, np.full(len(squares), other)) <= parallel
        worths = np.maximum(np.sqrt(np.append(squares, other)) * (1 + 1e-9) - self.rho, 0.0) ** 2
        enough: BoolArray = worths[:-1] + worths[-1] >= self.due
        return fits & enough & (squares > self.floor**2)

    def least_products(
        self, first: FloatArray, second: FloatArray, own: OwnTerms | None = None, own_too: OwnTerms | None = None
    ) -> FloatArray:
        r"""Return the least :math:`|a_i^\top a_j|` for which two columns of these squared norms may fit together.

        It falls as the norms grow and budgets and costs fall; infinite where a column is too short.
        """
        floor, floor_too = self._floors(own), self._floors(own_too)
        room, room_too = first - floor**2, second - floor_too**2
        rooms = np.maximum(room, 0.0) * np.maximum(room_too, 0.0)
        by_floor = np.where((room > 0) & (room_too > 0), floor * floor_too - np.sqrt(rooms), np.inf)
        slopes, offsets = zip(self._chord(first, own), self._chord(second, own_too), strict=True)
        wanted = self.due - offsets[0] - offsets[1]
        short = [np.maximum(wanted - slope * one, 0.0) for slope, one in zip(slopes, (first, second), strict=True)]
        with np.errstate(divide="ignore", invalid="ignore"):
            by_due = np.sqrt(short[0] * short[1] / (slopes[0] * slopes[1]))
        nothing = (slopes[0] <= 0) | (slopes[1] <= 0)
        by_due = np.where(nothing, np.where((short[0] > 0) & (short[1] > 0), np.inf, 0.0), by_due)
        least: FloatArray = np.maximum(by_floor, by_due)
        return least

    def _floors(self, own: OwnTerms | None) -> "float | FloatArray":
        """Return what the s_j of features of these terms are at least."""
        if own is None:
            return self.floor
        floors: FloatArray = own.rho + np.sqrt(self.owed + own.cost)
        return floors

    def _chord(self, squares: FloatArray, own: OwnTerms | None) -> tuple[FloatArray, FloatArray]:
        """Return slope and offset of the line above f(s), as a function of s^2, from the floor to the norm."""
        floor = self._floors(own)
        rho, cost = (self.rho, 0.0) if own is None else (own.rho, own.cost)
        high = np.maximum(np.sqrt(squares), floor)
        low_worth, high_worth = (floor - rho) ** 2 - cost, (high - rho) ** 2 - cost
        width = high**2 - floor**2
        thin = width <= 1e-9 * high**2
        # Any slope will do where the offset is the larger of what both ends need.
        slopes = np.where(thin, 1.0, (high_worth - low_worth) / np.where(thin, 1.0, width))
        return slopes, np.maximum(low_worth - slopes * floor**2, high_worth - slopes * high**2)
