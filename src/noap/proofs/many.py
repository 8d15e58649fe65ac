"""A proof for many features, by induction over their number: graphs of features that fit together, and trees on them.

Docs/certificate-format-4.md, "Proofs for many features".
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.types import FloatArray
from noap.proofs.feature_wise import EACH, NO_TEST, TYPES, GramProof
from noap.proofs.parts import largest, parts, unusable_array

__all__ = ["ManyProof", "TreeSlice"]

UIntArray = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class TreeSlice:
    """Where the records of one tree lie: its nodes, and the features of its EACH nodes."""

    nodes: slice
    each: slice


@dataclass(frozen=True, eq=False)
class ManyProof:
    """Levels in the order in which they are to be proved, each with trees that take its graph apart.

    Attributes
    ----------
    ks : array of uint32, shape (L,)
        How many features a support of the level may have.
    bounds : array of float64, shape (L,)
        What its optimum is at most.
    counts : array of uint32, shape (L,)
        How many trees it has.
    roots : array of uint32, shape (R,)
        The feature that each tree takes out of the graph.
    whole : array of uint8, shape (R,)
        1 if it takes out the whole component of the feature, 0 for the feature alone.
    sizes : array of uint32, shape (R,)
        How many nodes the tree has; 0 where nothing is left to prove or, for a component, where the last one before it
        that has nodes, for a component too and of the same level, proves it as well.
    kind, test, ..., weights
        All trees one after the other, as in a GramProof.
    """

    ks: UIntArray
    bounds: FloatArray
    counts: UIntArray
    roots: UIntArray
    whole: npt.NDArray[np.uint8]
    sizes: UIntArray
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
        """Return what is wrong with the arrays for n samples and d features, None if nothing."""
        reason = unusable_array(self, _TYPES)
        if reason is not None:
            return reason
        if not len(self.ks) == len(self.bounds) == len(self.counts):
            return "its levels are malformed"
        if not ((self.bounds >= 0).all() and (self.ks >= 1).all() and (self.ks <= d).all()):
            return "its levels have numbers that make no sense"
        if not len(self.roots) == len(self.whole) == len(self.sizes) == int(self.counts.sum(dtype=np.int64)):
            return "its trees are malformed"
        if largest(self.roots) >= d or largest(self.whole) > 1:
            return "its trees are malformed"
        if int(self.sizes.sum(dtype=np.int64)) != len(self.kind):
            return "its trees are malformed"
        if len(self.feature) != len(self.kind):
            return "its trees are malformed"
        if int(self.feature[self.kind == EACH].sum(dtype=np.int64)) != len(self.each):
            return "its trees list more features than there are, or fewer"
        return self._forest().malformed(n, d) if len(self.kind) else None

    def _forest(self) -> GramProof:
        return GramProof(**{field.name: getattr(self, field.name) for field in fields(GramProof)})

    @classmethod
    def trivial(cls) -> "ManyProof":
        """Return the proof without levels: the worths of single features alone."""
        empty = {name: np.empty(0, dtype=dtype) for name, dtype in _TYPES.items()}
        return cls(**(empty | {"starts": np.zeros(1, dtype=np.uint32)}))

    def slices(self) -> "Iterator[TreeSlice]":
        """Yield where the records of each tree lie, tree after tree: a small file may have millions of them."""
        node, each = 0, 0
        for part in parts(len(self.sizes)):
            for size in self.sizes[part].tolist():
                nodes = slice(node, node + size)
                listed = int(self.feature[nodes][self.kind[nodes] == EACH].sum(dtype=np.int64)) if size else 0
                yield TreeSlice(nodes, slice(each, each + listed))
                node, each = node + size, each + listed

    def tree(self, where: TreeSlice) -> GramProof:
        """Return one tree, with the vectors that it refers to."""
        nodes = where.nodes
        test, vector = self.test[nodes], self.vector[nodes]
        used, at = np.unique(vector[test != NO_TEST], return_inverse=True)
        numbers = np.zeros(len(vector), dtype=np.uint32)
        numbers[test != NO_TEST] = at
        pieces = [slice(int(self.starts[v]), int(self.starts[v + 1])) for v in used.tolist()]
        lengths = [piece.stop - piece.start for piece in pieces]
        return GramProof(
            self.kind[nodes], test, numbers, self.feature[nodes], self.cut[nodes], self.nu[nodes], self.level[nodes],
            self.levels, self.each[where.each], np.append(0, np.cumsum(lengths, dtype=np.int64)).astype(np.uint32),
            _joined([self.places[piece] for piece in pieces], np.uint32),
            _joined([self.weights[piece] for piece in pieces], np.float64),
        )  # fmt: skip


def _joined(pieces: "list[np.ndarray]", dtype: Any) -> "np.ndarray":
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=dtype)


_TYPES: dict[str, np.dtype[Any]] = {
    **{name: np.dtype("<u4") for name in ("ks", "counts", "roots", "sizes")},
    "bounds": np.dtype("<f8"),
    "whole": np.dtype("u1"),
    **TYPES,
}
