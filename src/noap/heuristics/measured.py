"""Vectors and how far they are from being cancelled."""

from dataclasses import dataclass

import numpy as np

from noap.heuristics.batch import Batch
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Leaders"]


@dataclass(frozen=True)
class Leaders:
    """m vectors with the distances that the adversary leaves of them, 0 for one that it cancels."""

    batch: Batch
    distances: FloatArray

    def __len__(self) -> int:
        return len(self.distances)

    def __getitem__(self, chosen: IntArray | slice) -> "Leaders":
        return Leaders(self.batch[chosen], self.distances[chosen])

    def best(self, count: int) -> "Leaders":
        """Return the `count` best, best first."""
        return self[np.argsort(-self.distances, kind="stable")[:count]]

    def joined(self, others: "Leaders") -> "Leaders":
        """Return these and the others."""
        return Leaders(Batch.join([self.batch, others.batch]), np.concatenate([self.distances, others.distances]))

    def merged(self, found: "Leaders", count: int) -> "tuple[Leaders, Leaders]":
        """Return the `count` best of both, best first, and those of them that are among the found."""
        order = np.argsort(-np.concatenate([self.distances, found.distances]), kind="stable")[:count]
        both = self.joined(found)
        return both[order], both[order[order >= len(self)]]
