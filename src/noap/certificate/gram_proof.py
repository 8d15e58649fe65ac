"""A proof for problems in which X'X suffices: a tree over pairs (direction, support), and what closes its leaves."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noap.linalg.types import FloatArray

__all__ = ["CLOSED", "EACH", "INTERVAL", "SIGN", "SPLIT", "GramProof"]

# What a node is. CLOSED has no children, SPLIT, SIGN and INTERVAL have two, EACH as many as it lists.
CLOSED, SPLIT, SIGN, INTERVAL, EACH = range(5)

UIntArray = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class GramProof:
    """Nodes in preorder: each is followed by its children's subtrees.

    Attributes
    ----------
    kind : array of uint8, shape (N,)
        CLOSED, SPLIT, SIGN, INTERVAL or EACH.
    test : array of uint8, shape (N,)
        The test run at the node: 0 none, 1 chords, 2 attack with the best nu, 3 attack with nu = 0.
    vector : array of uint32, shape (N,)
        Which vector the attack responds to; 0 where there is none.
    feature : array of uint32, shape (N,)
        The feature branched on; the number of children of EACH; 0 for CLOSED.
    cut : array of float64, shape (N,)
        SPLIT: the threshold. INTERVAL: where it is cut. Otherwise 0.
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
    each: UIntArray
    starts: UIntArray
    places: UIntArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.kind)

    @classmethod
    def trivial(cls) -> "GramProof":
        """Return the tree of one node, closed by the worths of single features alone."""
        zero, none = np.zeros(1, dtype=np.uint32), np.empty(0, dtype=np.uint32)
        byte = np.zeros(1, dtype=np.uint8)
        return cls(byte, byte, zero, zero, np.zeros(1), none, zero, none, np.empty(0))
