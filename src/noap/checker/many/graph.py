"""The graph of one level: features that may lie in one support are neighbours, and a support is a clique."""

import numpy as np

from noap.checker.many.demands import Demands
from noap.checker.many.kernels.graph import connected, surrounding, take_out
from noap.checker.many.pairs import FittingPairs
from noap.linalg.types import IntArray

__all__ = ["SupportGraph"]


class SupportGraph:
    """What is left of the graph: every clique of `size` features that was not taken out is still in it.

    Features are named as in the problem.
    """

    def __init__(self, pairs: FittingPairs, demands: Demands) -> None:
        meet = pairs.meeting(demands)
        rows, columns = pairs.rows[meet], pairs.columns[meet]
        self.size = demands.size
        self.features = pairs.features
        n = len(pairs.features)
        ends, others = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        self._starts = np.append(0, np.cumsum(np.bincount(ends, minlength=n))).astype(np.int64)
        self._neighbours = others[np.argsort(ends, kind="stable")].astype(np.int64)
        self._here = np.ones(n, dtype=np.bool_)
        self._degree = np.diff(self._starts)
        self._among = np.zeros(n, dtype=np.bool_)
        self._position = {int(feature): at for at, feature in enumerate(pairs.features)}
        self._take_out(-1)

    @property
    def empty(self) -> bool:
        """Whether nothing is left."""
        return not self._here.any()

    def around(self, feature: int, whole: bool) -> IntArray:
        """Return where a clique with the feature may lie, or one in its component; nothing if it was taken out."""
        root = self._position.get(feature, -1)
        if root < 0 or not self._here[root]:
            return self.features[:0]
        if whole:
            found: IntArray = self.features[connected(self._starts, self._neighbours, self._here, root)]
            return found
        near = surrounding(self._starts, self._neighbours, self._here, root, self.size, self._among)
        around: IntArray = self.features[near]
        return around

    def without(self, features: IntArray) -> None:
        """Take features out, and all that are in no clique of the size any more."""
        for feature in features.tolist():
            self._take_out(self._position[feature])

    def _take_out(self, vertex: int) -> None:
        take_out(self._starts, self._neighbours, self._here, self._degree, vertex, self.size)
