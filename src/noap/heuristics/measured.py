"""Vectors and how far they are from being cancelled."""

from dataclasses import dataclass

import numpy as np

from noap.heuristics.batch import Batch
from noap.linalg.types import FloatArray, IntArray

__all__ = ["MeasuredVectors"]


@dataclass(frozen=True)
class MeasuredVectors:
    """m vectors with the distances that the adversary leaves of them, 0 for one that it cancels."""

    batch: Batch
    distances: FloatArray

    def __len__(self) -> int:
        return len(self.distances)

    def __getitem__(self, chosen: IntArray | slice) -> "MeasuredVectors":
        return MeasuredVectors(self.batch[chosen], self.distances[chosen])

    def best(self, count: int) -> "MeasuredVectors":
        """Return the `count` best, best first."""
        return self[np.argsort(-self.distances, kind="stable")[:count]]

    def joined(self, others: "MeasuredVectors") -> "MeasuredVectors":
        """Return these and the others."""
        return MeasuredVectors(
            Batch.join([self.batch, others.batch]), np.concatenate([self.distances, others.distances])
        )

    def merged(self, found: "MeasuredVectors", count: int) -> "tuple[MeasuredVectors, MeasuredVectors]":
        """Return the `count` best of both, best first, and those of them that are among the found."""
        order = np.argsort(-np.concatenate([self.distances, found.distances]), kind="stable")[:count]
        both = self.joined(found)
        return both[order], both[order[order >= len(self)]]
