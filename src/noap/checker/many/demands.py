r"""What a support that is worth more than T demands of its features, and of every two, rounded outwards.

Of a support of k features any e carry more than :math:`T - proved_{k-e}` together ("Many features" of docs/exact.md).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.outward import UNIT, down
from noap.linalg.types import BoolArray, FloatArray

__all__ = ["Demands", "OwnTerms"]


@dataclass(frozen=True)
class OwnTerms:
    """Budgets and costs of features, at most, and what each can carry, at least; and any feature of the problem."""

    r: FloatArray
    cost: FloatArray
    worths: FloatArray
    most: float

    def of(self, places: "npt.NDArray[np.integer[Any]] | slice") -> "OwnTerms":
        """Return those of some of the features."""
        return OwnTerms(self.r[places], self.cost[places], self.worths[places], self.most)

    def loosest(self) -> "OwnTerms":
        """Return a feature, alone in arrays, that is worth no less than any of these of the same length."""
        return OwnTerms(np.array([self.r.min()]), np.array([self.cost.min()]), np.array([self.worths.max()]), self.most)


@dataclass(frozen=True)
class Demands:
    """For one level.

    Attributes
    ----------
    r : float
        At most the smallest budget over sqrt(n): worths are counted with it, and so not too low, where nothing is said
        of a feature's own.
    floor : float
        At most the square of what every s_j exceeds.
    due : float
        At most what any two features carry together.
    size : int
        At least so many features are in the support.
    owed : float
        At most what every feature carries.
    """

    r: float
    floor: float
    due: float
    size: int
    owed: float = 0.0

    @classmethod
    def at(cls, k: int, T: float, proved: FloatArray, r_lo: float) -> "Demands":
        """Return what a support of k features worth more than T demands; `proved` bounds the optima of fewer."""
        low = down(math.sqrt(max(down(T - float(proved[k - 1])), 0.0)))
        floor = down(down(r_lo + low) ** 2)
        due = down(T - float(proved[k - 2])) if k >= 2 else down(T)
        # Places without a feature carry nothing: there are at most so many of them.
        empty = max((e for e in range(1, k + 1) if proved[k - e] > T), default=0)
        return cls(r_lo, floor, due, k - empty, max(down(T - float(proved[k - 1])), 0.0))

    def loosens(self, other: "Demands") -> bool:
        """Whether all that meets the other demands meets these."""
        lower = self.floor <= other.floor and self.owed <= other.owed
        return lower and self.due <= other.due and self.size <= other.size

    def worth_enough(self, own: OwnTerms) -> BoolArray:
        """Return which features may be in the support, by what each of them, and any at most, can carry."""
        together = (own.worths + own.most) * (1.0 + 4.0 * UNIT)
        enough: BoolArray = (own.worths > 0.0) & (own.worths >= self.owed) & (together >= self.due)
        return enough

    def long_enough(self, squares: FloatArray) -> BoolArray:
        """Return which features may be in the support, by at least the squared norms of all of them.

        It has size - 1 others. One of these is no longer than the column of that rank among all; no product is larger
        than that of the norms, and no feature carries more than f of its norm.
        """
        rank = max(self.size - 1, 1)
        if rank > len(squares):
            return np.zeros(len(squares), dtype=np.bool_)
        other = np.full(len(squares), np.sort(squares)[::-1][rank - 1])
        parallel = np.sqrt(squares * other + 1e-290) * (1.0 + 8.0 * UNIT)
        fits: BoolArray = self.least_products(squares, other) <= parallel
        carried = (self._worth(squares) + self._worth(other)) * (1.0 + 4.0 * UNIT)
        return fits & (squares > self.floor) & (carried >= self.due)

    def least_products(
        self, first: FloatArray, second: FloatArray, own: OwnTerms | None = None, own_too: OwnTerms | None = None
    ) -> FloatArray:
        """Return at most the least |a_i'a_j| of two columns in one support, whose squared norms are at most these."""
        lowest = self._by_floor(first, second, own, own_too)
        slope, offset = self._chord(first, own)
        slope_too, offset_too = self._chord(second, own_too)
        wanted = self.due - offset - offset_too
        wanted -= 8.0 * UNIT * (abs(self.due) + np.abs(offset) + np.abs(offset_too))
        short = _less(wanted, slope * first)
        short_too = _less(wanted, slope_too * second)
        both = (short > 0.0) & (short_too > 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = np.sqrt(short / slope * (short_too / slope_too)) * (1.0 - 16.0 * UNIT)
        # Without a slope the product counts for nothing: the two never carry enough.
        root = np.where((slope > 0.0) & (slope_too > 0.0), root, np.inf)
        least: FloatArray = np.maximum(lowest, np.where(both, root, 0.0))
        return least

    def _by_floor(
        self, first: FloatArray, second: FloatArray, own: OwnTerms | None, own_too: OwnTerms | None
    ) -> FloatArray:
        floor, floor_too = self._floors(own), self._floors(own_too)
        room = np.maximum(first - floor, 0.0) * (1.0 + 4.0 * UNIT)
        room_too = np.maximum(second - floor_too, 0.0) * (1.0 + 4.0 * UNIT)
        root = np.sqrt(room * room_too + 1e-290) * (1.0 + 4.0 * UNIT)
        both = self.floor if own is None and own_too is None else np.sqrt(floor * floor_too) * (1.0 - 4.0 * UNIT)
        least = both - root - 4.0 * UNIT * (both + root)
        return np.where((room > 0.0) & (room_too > 0.0), least, np.inf)

    def _floors(self, own: OwnTerms | None) -> "float | FloatArray":
        """Return at most the square of what the s_j of features of these terms exceed."""
        if own is None:
            return self.floor
        lowest = (own.r + np.sqrt(self.owed + own.cost) * (1.0 - 4.0 * UNIT)) * (1.0 - 2.0 * UNIT)
        floors: FloatArray = lowest * lowest * (1.0 - 2.0 * UNIT)
        return floors

    def _chord(self, squares: FloatArray, own: OwnTerms | None) -> tuple[FloatArray, FloatArray]:
        """Return slope and offset of a line that lies above f(s), as a function of s^2, from the floor to `squares`."""
        floor = self._floors(own)
        squares = np.maximum(squares, floor)
        low, high = self._worth(np.array(floor), own), self._worth(squares, own)
        width = squares - floor
        thin = width <= 1e-9 * squares
        slope = np.where(thin, 1.0, np.clip((high - low) / np.where(thin, 1.0, width), 0.0, 1.0))
        # f is convex in s^2: a line of any slope that is high enough at both ends will do.
        at_low = low - slope * floor + 8.0 * UNIT * (np.abs(low) + slope * floor)
        at_high = high - slope * squares + 8.0 * UNIT * (np.abs(high) + slope * squares)
        return slope, np.maximum(at_low, at_high)

    def _worth(self, squares: FloatArray, own: OwnTerms | None = None) -> FloatArray:
        """Return at least (s - r)_+^2, less the cost, for s^2 at most these."""
        s = np.sqrt(squares) * (1.0 + 2.0 * UNIT)
        worth: FloatArray = np.maximum(s - (self.r if own is None else own.r), 0.0) ** 2 * (1.0 + 8.0 * UNIT)
        return worth if own is None else worth - own.cost + 4.0 * UNIT * (worth + own.cost)


def _less(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return at most x - y, where y itself is the product of two numbers."""
    return x - y - 8.0 * UNIT * (np.abs(x) + np.abs(y))
