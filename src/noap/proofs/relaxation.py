"""A proof by the relaxation in the l1 norm: matrices near the Gram matrix, and a tree over who takes the places."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.types import FloatArray, IntArray
from noap.proofs.parts import largest, parts, steps, unusable_array
from noap.proofs.preorder import missing_or_spare

__all__ = ["CORE", "GIVEN", "LEAF", "SOFT", "RelaxationProof"]

# Where a matrix comes from: the soft threshold of the Gram matrix at its slope, the entries of the proof, or these on
# some features and thresholds on all others.
SOFT, GIVEN, CORE = range(3)
# A node that branches on nothing.
LEAF = 0

UIntArray = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class RelaxationProof:
    """Inequalities v'Av <= c + (mu + what its places cost) |v|_1^2, and the leaves of a tree that they close.

    Attributes
    ----------
    features : array of uint32, shape (m,), increasing
        The features that matter; all others are too short.
    kinds : array of uint8, shape (L,)
        SOFT, GIVEN or CORE, for every inequality.
    slopes : array of float64, shape (L + 2 C,)
        mu, in the units of a variance. For GIVEN the checker finds its own from the entries; for CORE it is what
        entries between two features outside the core are cut by. Then for each of the C inequalities of this kind, in
        order, lambda and q of the features outside its core.
    unit : array of float64, shape (1,)
        What entries are multiplied by.
    starts : array of uint32, shape (L + 1,)
        Inequality number l is about the features `places[starts[l]:starts[l + 1]]`; a SOFT one about all, and a CORE
        one about all with these as its core.
    places : array of uint32
        Positions in `features`, increasing within each inequality.
    loads, lifts : arrays of float64, as long as places
        lambda and q, in the units of a variance.
    entries : array of float32
        For every GIVEN matrix, and for the core of every CORE matrix, the upper triangle, row by row.
    branches : array of uint32, shape (N,)
        Nodes in preorder: LEAF, or 1 + the position in `features` of the one that takes a place in the first child and
        is left out in the second.
    counts : array of uint32, shape (N,)
        How many inequalities a leaf uses; 0 for any other node.
    used : array of uint32
        Their numbers, leaf after leaf.
    """

    features: UIntArray
    kinds: npt.NDArray[np.uint8]
    slopes: FloatArray
    unit: FloatArray
    starts: UIntArray
    places: UIntArray
    loads: FloatArray
    lifts: FloatArray
    entries: npt.NDArray[np.float32]
    branches: UIntArray
    counts: UIntArray
    used: UIntArray

    def __len__(self) -> int:
        return len(self.branches)

    def malformed(self, n: int, d: int) -> str | None:
        """Return what is wrong with the arrays for n samples and d features, None if nothing."""
        reason = unusable_array(self, _TYPES)
        if reason is not None:
            return reason
        m = len(self.features)
        if m and (int(self.features.max()) >= d or (np.diff(self.features.astype(np.int64)) <= 0).any()):
            return "its features are not an increasing list"
        cores = int((self.kinds == CORE).sum())
        if len(self.kinds) == 0 or len(self.slopes) != len(self.kinds) + 2 * cores or int(self.kinds.max()) > CORE:
            return "its lines are malformed"
        if len(self.unit) != 1 or not self.unit[0] > 0 or (self.slopes < 0).any():
            return "its unit or its slopes are malformed"
        return self._malformed_matrices(m) or self._malformed_tree(m)

    def _malformed_matrices(self, m: int) -> str | None:
        if len(self.starts) != len(self.kinds) + 1 or self.starts[0] != 0 or self.starts[-1] != len(self.places):
            return "its lines are malformed"
        starts = self.starts.astype(np.int64)
        sizes = starts[1:] - starts[:-1]
        if (sizes < 0).any() or ((sizes > 0) != (self.kinds != SOFT)).any() or largest(self.places) >= m:
            return "its lines are malformed"
        at = 1
        for step in steps(self.places):
            # Within an inequality positions rise; between two they may fall.
            if not np.isin(np.flatnonzero(step <= 0) + at, starts).all():
                return "its lines name features that are not in order"
            at += len(step)
        if not len(self.places) == len(self.loads) == len(self.lifts):
            return "its lines are malformed"
        if self.loads.min(initial=0.0) < 0 or self.lifts.min(initial=0.0) < 0:
            return "its lines have negative multipliers"
        if len(self.entries) != int((sizes * (sizes + 1) // 2).sum()):
            return "its matrices are not of the size of its features"
        return None

    def _malformed_tree(self, m: int) -> str | None:
        if len(self.branches) == 0 or len(self.counts) != len(self.branches) or largest(self.branches) > m:
            return "its tree is malformed"
        if largest(self.used) >= len(self.kinds):
            return "its tree refers to lines that are not there"
        if int(self.counts.sum(dtype=np.int64)) != len(self.used) or self.counts[self.branches != LEAF].any():
            return "its leaves have other lines than are there"
        return None

    def outside(self, number: int) -> tuple[float, float]:
        """Return lambda and q of the features outside the core of a CORE inequality."""
        at = len(self.kinds) + 2 * int((self.kinds[:number] == CORE).sum())
        return float(self.slopes[at]), float(self.slopes[at + 1])

    def broken_tree(self) -> str | None:
        """Return why the records are not one tree in preorder, None if they are. Nothing is proved here."""
        return missing_or_spare(self._children())

    def _children(self) -> Iterator[IntArray]:
        """Yield how many children each node has, in parts."""
        for part in parts(len(self)):
            yield np.where(self.branches[part] == LEAF, 0, 2).astype(np.int64)


_TYPES: dict[str, np.dtype[Any]] = {
    "kinds": np.dtype("u1"),
    **{name: np.dtype("<u4") for name in ("features", "starts", "places", "branches", "counts", "used")},
    **{name: np.dtype("<f8") for name in ("slopes", "unit", "loads", "lifts")},
    "entries": np.dtype("<f4"),
}
