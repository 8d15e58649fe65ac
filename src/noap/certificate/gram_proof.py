"""A proof for problems in which X'X suffices: a tree over pairs (direction, support), and what closes its leaves."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noap.linalg.types import FloatArray

__all__ = ["AGAIN", "ATTACK", "CHORDS", "CLOSED", "EACH", "INTERVAL", "NO_TEST", "SIGN", "SPLIT", "GramProof"]

# What a node is. CLOSED has no children, SPLIT, SIGN and INTERVAL have two, EACH as many as it lists. AGAIN has one:
# the node itself, to be tightened once more.
CLOSED, SPLIT, SIGN, INTERVAL, EACH, AGAIN = range(6)
# The test run at a node before it is closed or branched on.
NO_TEST, CHORDS, ATTACK = range(3)

UIntArray = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class GramProof:
    """Nodes in preorder: each is followed by its children's subtrees.

    Attributes
    ----------
    kind : array of uint8, shape (N,)
        CLOSED, SPLIT, SIGN, INTERVAL, EACH or AGAIN.
    test : array of uint8, shape (N,)
        NO_TEST, CHORDS or ATTACK.
    vector : array of uint32, shape (N,)
        ATTACK: which vector it responds to. CHORDS: the roots of the slopes, by feature. Otherwise 0.
    feature : array of uint32, shape (N,)
        The feature branched on; the number of children of EACH; otherwise 0.
    cut : array of float64, shape (N,)
        SPLIT: the threshold. INTERVAL: where it is cut. Otherwise 0. In units of the columns of X/sqrt(n).
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

    @classmethod
    def trivial(cls, bound: float) -> "GramProof":
        """Return the tree of one node, closed by the worths of single features alone."""
        zero, none = np.zeros(1, dtype=np.uint32), np.empty(0, dtype=np.uint32)
        byte, nil = np.zeros(1, dtype=np.uint8), np.zeros(1)
        return cls(byte, byte, zero, zero, nil, nil, zero, np.array([bound]), none, zero, none, np.empty(0))
