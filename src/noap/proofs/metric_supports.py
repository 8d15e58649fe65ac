"""A proof about a problem with a metric, support by support: which ones are left, and what closes each of them."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.types import FloatArray
from noap.proofs.feature_wise import GramProof
from noap.proofs.parts import largest, unusable_array

__all__ = ["BY_CELLS", "BY_FORM", "BY_OWN", "CLOSED", "CONE", "INTERVAL", "SupportsProof"]

# What closes a support: an attack on all features, one of its own, or cells.
BY_FORM, BY_OWN, BY_CELLS = range(3)
# What a cell is: closed, or its interval or its cone is cut in two.
CLOSED, INTERVAL, CONE = range(3)


@dataclass(frozen=True, eq=False)
class SupportsProof:
    """That no direction is worth more than a threshold, on the listed supports one by one and on no other.

    docs/generalised.md has the theorem, docs/certificate-format-4.md the format. All numbers are in the units of the
    pencil.

    Attributes
    ----------
    threshold, shift, bound : float
        T, and tau and b of the tree: a support that is not listed has no direction worth more than b in plain sparse
        PCA of M - TB + tau I, M the first form. tau and b are 0 where there is no tree.
    tree : GramProof or None
        Its leaves are closed at b, or are listed supports; None where all supports are to be looked at.
    attacks : array of float64, shape (3 d f,)
        Attacks on all features, each a direction w, what is taken off every column along Xw, and the share that is left
        of the rest; empty where the only form is the covariance.
    supports : array of uint32, shape (m k,)
        The listed supports, each in rising order.
    how : array of uint8, shape (m,)
        BY_FORM, BY_OWN or BY_CELLS.
    own : array of float64
        For each support that is closed BY_OWN: a direction on it, k numbers, and the share of the budgets that is spent
        along it.
    cells, numbers : arrays of uint8 and float64
        For each support that is closed BY_CELLS and each orthant of it, a tree of cells in preorder: CLOSED with a
        slope, INTERVAL with the place of the cut, CONE with 0.
    edges : array of uint8
        For each CONE the two ends between which it is cut.
    """

    threshold: float
    shift: float
    bound: float
    tree: GramProof | None
    attacks: FloatArray
    supports: npt.NDArray[np.uint32]
    how: npt.NDArray[np.uint8]
    own: FloatArray
    cells: npt.NDArray[np.uint8]
    numbers: FloatArray
    edges: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return (1 if self.tree is None else len(self.tree)) + len(self.how) + len(self.cells)

    def malformed(self, n: int, d: int) -> str | None:
        """Return what is wrong with it for n samples and d features, None if nothing."""
        numbers = (self.threshold, self.shift, self.bound)
        if not all(isinstance(x, float) and math.isfinite(x) and x >= 0 for x in numbers):
            return "its numbers for the metric make no sense"
        reason = unusable_array(self, _TYPES)
        if reason is not None:
            return reason
        if len(self.attacks) % (3 * d):
            return "its attacks are malformed"
        m = len(self.how)
        if (m == 0 and len(self.supports)) or (m and len(self.supports) % m) or largest(self.supports) >= d:
            return "its supports are malformed"
        if largest(self.how) > BY_CELLS or largest(self.cells) > CONE or len(self.numbers) != len(self.cells):
            return "its supports are closed by unknown means"
        if len(self.edges) != 2 * int(np.count_nonzero(self.cells == CONE)):
            return "its cones are not cut between two ends each"
        width = len(self.supports) // m if m else 0
        if len(self.own) != (width + 1) * int(np.count_nonzero(self.how == BY_OWN)):
            return "its own attacks are malformed"
        if self.tree is None:
            return None
        if not isinstance(self.tree, GramProof):
            return "its supports have no tree"
        return self.tree.malformed(n, d) or self.tree.broken_tree()


_TYPES: dict[str, np.dtype[Any]] = {
    **{name: np.dtype("<f8") for name in ("attacks", "own", "numbers")},
    **{name: np.dtype("u1") for name in ("how", "cells", "edges")},
    "supports": np.dtype("<u4"),
}
