"""A proof for problems in which X'X suffices: a tree over pairs (direction, support), and what closes its leaves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.types import FloatArray, IntArray
from noap.proofs.parts import largest, parts, steps, unusable_array
from noap.proofs.preorder import missing_or_spare

__all__ = [
    "AGAIN", "ATTACK", "CHORDS", "CLOSED", "EACH", "INTERVAL", "NO_TEST", "ON", "SIGN", "SPLIT", "TYPES", "GramProof",
]  # fmt: skip

# What a node is. CLOSED has no children, SPLIT, SIGN and INTERVAL have two, EACH as many as it lists. AGAIN has one:
# the node itself, to be tightened once more.
# ON is SPLIT for a node that is branched on as it is, without tightening: the next of several features of its parent.
CLOSED, SPLIT, SIGN, INTERVAL, EACH, AGAIN, ON = range(7)
# The test run at a node before it is closed or branched on.
NO_TEST, CHORDS, ATTACK = range(3)

UIntArray = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class GramProof:
    """Nodes in preorder: each is followed by its children's subtrees.

    Attributes
    ----------
    kind : array of uint8, shape (N,)
        CLOSED, SPLIT, SIGN, INTERVAL, EACH, AGAIN or ON.
    test : array of uint8, shape (N,)
        NO_TEST, CHORDS or ATTACK.
    vector : array of uint32, shape (N,)
        ATTACK: which vector it responds to. CHORDS: the roots of the slopes, by feature. Otherwise 0.
    feature : array of uint32, shape (N,)
        The feature branched on; the number of children of EACH; otherwise 0.
    cut : array of float64, shape (N,)
        SPLIT and ON: the threshold. INTERVAL: where it is cut. Otherwise 0. In units of the columns of X/sqrt(n).
    nu : array of float64, shape (N,)
        ATTACK: how the gain at right angles is counted. Otherwise 0. In one over those units.
    level : array of uint32, shape (N,)
        At which of the `levels` the node is proved.
    levels : array of float64
        Thresholds, at most the claimed bound: a node proved at a lower one is proved.
    each : array of uint32
        The features of all EACH nodes, one after the other.
    starts : array of uint32, shape (V + 1,)
        Vector number v has the entries starts[v] to starts[v + 1] of `places` and `weights`.
    places, weights : arrays of uint32 and float64
    """

    kind: npt.NDArray[np.uint8]
    test: npt.NDArray[np.uint8]
    vector: UIntArray
    feature: UIntArray
    cut: FloatArray
    nu: FloatArray
    level: UIntArray
    levels: FloatArray
    each: UIntArray
    starts: UIntArray
    places: UIntArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.kind)

    def malformed(self, n: int, d: int) -> str | None:
        """Return what is wrong with the arrays for n samples and d features: a number that makes no sense."""
        reason = unusable_array(self, TYPES)
        if reason is not None:
            return reason
        nodes = (self.kind, self.test, self.vector, self.feature, self.cut, self.nu, self.level)
        if len(self.kind) == 0 or any(len(array) != len(self.kind) for array in nodes):
            return "its tree is malformed"
        if self.kind.max() > ON or self.test.max() > ATTACK:
            return "its tree has nodes of an unknown kind"
        if self.nu.min() < 0 or self.levels.min(initial=0.0) < 0:
            return "its tree has a negative nu or level"
        if int(self.level.max()) >= len(self.levels):
            return "its tree refers to levels that are not there"
        if max(self._branched_on(), largest(self.each)) >= d:
            return "its tree refers to features that are not there"
        if any(largest(self.vector[p][self.test[p] != NO_TEST]) >= len(self.starts) - 1 for p in parts(len(self))):
            return "its tree refers to vectors that are not there"
        if len(self.starts) == 0 or self.starts[0] != 0 or self.starts[-1] != len(self.places):
            return "its vectors are malformed"
        if any((lengths < 0).any() or largest(lengths) > d for lengths in steps(self.starts)):
            return "its vectors are malformed"
        if len(self.places) != len(self.weights) or largest(self.places) >= d:
            return "its vectors are malformed"
        return None

    def _branched_on(self) -> int:
        """Return the largest feature that a node of one feature branches on, -1 if there is none."""
        found = -1
        for part in parts(len(self)):
            kind = self.kind[part]
            branched = ((kind >= SPLIT) & (kind <= INTERVAL)) | (kind == ON)
            found = max(found, largest(self.feature[part][branched]))
        return found

    def broken_tree(self) -> str | None:
        """Return why the records are not one tree in preorder, None if they are. Nothing is proved here."""
        listed = sum(int(self.feature[p][self.kind[p] == EACH].sum(dtype=np.int64)) for p in parts(len(self)))
        if listed > len(self.each):
            return "nodes list features that are missing"
        if listed < len(self.each):
            return "features are listed that belong to no node"
        return missing_or_spare(self._children())

    def _children(self) -> Iterator[IntArray]:
        """Yield how many children each node has, in parts."""
        for part in parts(len(self)):
            kind = self.kind[part]
            count = np.full(len(kind), 2, dtype=np.int64)
            count[kind == CLOSED], count[kind == AGAIN] = 0, 1
            count[kind == EACH] = self.feature[part][kind == EACH]
            yield count

    @classmethod
    def trivial(cls, bound: float) -> "GramProof":
        """Return the tree of one node, closed by the worths of single features alone."""
        zero, none = np.zeros(1, dtype=np.uint32), np.empty(0, dtype=np.uint32)
        byte, nil = np.zeros(1, dtype=np.uint8), np.zeros(1)
        return cls(byte, byte, zero, zero, nil, nil, zero, np.array([bound]), none, zero, none, np.empty(0))


TYPES: dict[str, np.dtype[Any]] = {
    **{name: np.dtype("u1") for name in ("kind", "test")},
    **{name: np.dtype("<u4") for name in ("vector", "feature", "level", "each", "starts", "places")},
    **{name: np.dtype("<f8") for name in ("cut", "nu", "levels", "weights")},
}
"""What the arrays of a tree hold."""
