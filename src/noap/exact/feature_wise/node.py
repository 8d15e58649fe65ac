"""A node of the search over directions and supports, and its children."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from noap.linalg.types import FloatArray, IntArray

__all__ = ["Node"]

Numbers = TypeVar("Numbers", FloatArray, IntArray)


@dataclass(slots=True)
class Node:
    """A set of pairs (u, S): a unit direction and a support of at most k features.

    Attributes
    ----------
    inc : features that lie in S
    sign : sign of a_j'u for each of them, 0 if unknown
    lo, hi : s_j = |a_j'u| lies between these
    free : features that may lie in S
    ceil : if feature j does, s_j is at most this
    place : where the record of the search keeps this node
    ways : how many features to branch on at once
    """

    inc: IntArray
    sign: IntArray
    lo: FloatArray
    hi: FloatArray
    free: IntArray
    ceil: FloatArray
    place: int = 0
    ways: int = 1

    @classmethod
    def root(cls, norms: FloatArray) -> "Node":
        """Return the node of all pairs: s_j <= |a_j| is all that is known."""
        none, empty = np.empty(0, dtype=np.int64), np.empty(0)
        return cls(none, none.copy(), empty, empty.copy(), np.arange(len(norms)), norms.copy())

    def narrowed(self, n_free: int) -> "Node":
        """Return the node with only its first n_free free features."""
        return Node(
            self.inc, self.sign, self.lo, self.hi, self.free[:n_free], self.ceil[:n_free], self.place, self.ways
        )

    def include(self, f: int, lo: float, others: bool = True) -> "Node":
        """Return the child in which free feature number f lies in S; without the other free ones if so asked.

        A feature below its entry adds nothing, so S may be taken without it: the interval starts there, or at a
        threshold above it. u and -u are worth the same, so the first feature gets the sign +.
        """
        return Node(
            _longer(self.inc, self.free[f]),
            _longer(self.sign, 0 if len(self.inc) else 1),
            _longer(self.lo, lo),
            _longer(self.hi, self.ceil[f]),
            _without(self.free, f) if others else self.free[:0].copy(),
            _without(self.ceil, f) if others else self.ceil[:0].copy(),
        )

    def exclude(self, f: int) -> "Node":
        """Return the child in which free feature number f does not lie in S."""
        free, ceil = _without(self.free, f), _without(self.ceil, f)
        return Node(self.inc.copy(), self.sign.copy(), self.lo.copy(), self.hi.copy(), free, ceil)

    def lowered(self, f: int, ceil: float) -> "Node":
        """Return the child in which free feature number f, if it lies in S, has s_j at most ceil."""
        child = self.copy()
        child.ceil[f] = ceil
        return child

    def with_sign(self, a: int, sign: int) -> "Node":
        """Return the child in which included feature number a has this sign."""
        child = self.copy()
        child.sign[a] = sign
        return child

    def with_interval(self, a: int, lo: float, hi: float) -> "Node":
        """Return the child in which s_j of included feature number a lies between lo and hi."""
        child = self.copy()
        child.lo[a], child.hi[a] = lo, hi
        return child

    def copy(self) -> "Node":
        """Return a node with its own arrays."""
        return Node(
            self.inc.copy(), self.sign.copy(), self.lo.copy(), self.hi.copy(), self.free.copy(), self.ceil.copy()
        )


# Children are made by the ten thousand: np.append and masks would take longer than a small node's tests.
def _longer(values: Numbers, last: float) -> Numbers:
    longer = np.empty(len(values) + 1, dtype=values.dtype)
    longer[:-1] = values
    longer[-1] = last
    return longer


def _without(values: Numbers, f: int) -> Numbers:
    shorter = np.empty(len(values) - 1, dtype=values.dtype)
    shorter[:f] = values[:f]
    shorter[f:] = values[f + 1 :]
    return shorter
