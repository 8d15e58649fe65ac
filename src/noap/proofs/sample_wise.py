"""A proof for the sample-wise adversary: a tree over supports, and the attacks that close its leaves."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.types import FloatArray, IntArray
from noap.proofs.parts import all_finite, parts, steps
from noap.proofs.preorder import missing_or_spare

__all__ = ["CLOSED", "CONES", "LENGTHS", "SPLIT", "SampleProof", "units_of"]

# What a node is. SPLIT has two children, the others have none.
CLOSED, SPLIT, CONES, LENGTHS = range(4)

UIntArray = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class SampleProof:
    """Nodes in preorder: each is followed by its children's subtrees; and a table of attacks.

    Attributes
    ----------
    kind : array of uint8, shape (N,)
        CLOSED: the attack in force closes the node. SPLIT: supports with the feature, then supports without it. CONES:
        one support, to be covered by cones. LENGTHS: the lengths of the samples close the node.
    attack : array of uint32, shape (N,)
        a > 0: attack number a - 1 comes into force here and stays in force below. 0: that of the parent stays.
    feature : array of uint32, shape (N,)
        SPLIT: the feature. Otherwise 0.
    row_starts, column_starts : arrays of uint32, shape (A + 1,)
        Attack number a has the entries from row_starts[a] to row_starts[a + 1] of `rows`; likewise `columns`.
    rows, columns : arrays of uint32
        Samples and features for which the attack is written down.
    values : array of float32 or float64
        The attacks one after the other, each row by row, in units of 2^e with rho_i/2^e between 1/2 and 1,
        rho_i the budget of the row's sample (`units_of`).
    """

    kind: npt.NDArray[np.uint8]
    attack: UIntArray
    feature: UIntArray
    row_starts: UIntArray
    rows: UIntArray
    column_starts: UIntArray
    columns: UIntArray
    values: FloatArray

    def __len__(self) -> int:
        return len(self.kind)

    @classmethod
    def trivial(cls) -> "SampleProof":
        """Return the tree of one node, closed by the lengths of the samples alone."""
        zero, none = np.zeros(1, dtype=np.uint32), np.empty(0, dtype=np.uint32)
        values = np.empty(0, dtype=np.float32)
        return cls(np.full(1, LENGTHS, dtype=np.uint8), zero, zero, zero, none, zero, none, values)

    def matrix(self, number: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return rows, columns and entries of one attack."""
        rows = self.rows[int(self.row_starts[number]) : int(self.row_starts[number + 1])].astype(np.int64)
        columns = self.columns[int(self.column_starts[number]) : int(self.column_starts[number + 1])].astype(np.int64)
        start = int(self._offsets[number])
        values = self.values[start : start + len(rows) * len(columns)].astype(np.float64)
        return rows, columns, values.reshape(len(rows), len(columns))

    def size_of(self, number: int) -> int:
        """Return how many entries an attack has."""
        return int(self._offsets[number + 1] - self._offsets[number])

    @cached_property
    def _offsets(self) -> IntArray:
        """Where each attack starts in `values`, and where the last ends. For arrays that are not malformed."""
        offsets = np.zeros(len(self.row_starts), dtype=np.int64)
        at = 0
        for heights, widths in zip(steps(self.row_starts), steps(self.column_starts), strict=True):
            np.cumsum(heights * widths, out=offsets[at + 1 : at + 1 + len(heights)])
            offsets[at + 1 : at + 1 + len(heights)] += offsets[at]
            at += len(heights)
        return offsets

    def malformed(self, n: int, d: int) -> str | None:
        """Return what is wrong with the arrays for n samples and d features: an index that points at nothing."""
        for name, kinds in _TYPES.items():
            array = getattr(self, name)
            if not (isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype in kinds):
                return f"array {name!r} is of the wrong type"
        if len(self.kind) == 0 or not len(self.kind) == len(self.attack) == len(self.feature):
            return "its tree is malformed"
        if int(self.kind.max()) > LENGTHS:
            return "its tree has nodes of an unknown kind"
        if int(self.feature.max()) >= d:
            return "its tree refers to features that are not there"
        attacks = len(self.row_starts) - 1
        if len(self.row_starts) != len(self.column_starts):
            return "its attacks are malformed"
        if int(self.attack.max()) > attacks:
            return "its tree refers to attacks that are not there"
        if attacks > len(self.kind):
            return "it has more attacks than nodes"
        for starts, entries, most in (
            (self.row_starts, self.rows, n),
            (self.column_starts, self.columns, d),
        ):
            if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(entries):
                return "its attacks are malformed"
            longest = 0
            for lengths in steps(starts):
                longest = max(longest, int(lengths.max()))
                if lengths.min() < 0:
                    return "its attacks are malformed"
            if len(entries) and int(entries.max()) >= most:
                return "its attacks refer to samples or features that are not there"
            if longest > most:
                return "its attacks list a sample or a feature twice"
        # No attack alone is larger than all entries there are: then no product and no sum of them wraps.
        for heights, widths in zip(steps(self.row_starts), steps(self.column_starts), strict=True):
            if ((widths > 0) & (heights > len(self.values) // np.maximum(widths, 1))).any():
                return "its attacks are not of the declared size"
        if self._offsets[-1] != len(self.values):
            return "its attacks are not of the declared size"
        if not all_finite(self.values):
            return "its attacks have entries that are not finite"
        return None

    def broken_tree(self) -> str | None:
        """Return why the records are not one tree in preorder, None if they are. Nothing is proved here."""
        return missing_or_spare(np.where(self.kind[part] == SPLIT, 2, 0) for part in parts(len(self)))


def units_of(rho: FloatArray) -> npt.NDArray[np.int32]:
    """Return for every budget the e with rho/2^e between 1/2 and 1; 0 where it is 0 or infinite.

    Examples
    --------
    >>> units_of(np.array([3.0, 0.25, 0.0, np.inf]))
    array([ 2, -1,  0,  0], dtype=int32)
    """
    # The type that ldexp takes on every platform.
    return np.where(rho < np.inf, np.frexp(rho)[1], 0).astype(np.int32)


_TYPES: dict[str, tuple[np.dtype[Any], ...]] = {
    "kind": (np.dtype("u1"),),
    **{name: (np.dtype("<u4"),) for name in ("attack", "feature", "row_starts", "rows", "column_starts", "columns")},
    "values": (np.dtype("<f4"), np.dtype("<f8")),
}
