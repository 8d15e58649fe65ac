"""Many k-sparse vectors at once."""

from dataclasses import dataclass

import numpy as np

from noap.adversaries.base import Adversary
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import top_k_indices, unit

__all__ = ["Batch", "choose", "truncate"]


@dataclass(frozen=True)
class Batch:
    """m vectors of at most k non-zero entries each.

    Attributes
    ----------
    indices : int array of shape (m, k)
        Positions, increasing along each row. A position may carry weight 0.
    weights : float array of shape (m, k)
    """

    indices: IntArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, chosen: IntArray | slice) -> "Batch":
        return Batch(self.indices[chosen], self.weights[chosen])

    def alive(self) -> "Batch":
        """Return the vectors that are not zero."""
        return self[np.flatnonzero(self.weights.any(axis=1))]

    def dense(self, d: int) -> FloatArray:
        """Return the m x d array of the vectors."""
        rows = np.zeros((len(self), d), dtype=self.weights.dtype)
        np.put_along_axis(rows, self.indices, self.weights, axis=1)
        return rows

    @staticmethod
    def join(batches: "list[Batch]") -> "Batch":
        """Stack batches of the same k."""
        return Batch(
            np.concatenate([batch.indices for batch in batches]),
            np.concatenate([batch.weights for batch in batches]),
        )


def choose(adversary: Adversary, loadings: FloatArray, k: int) -> Batch:
    """Take the exact half-step in v: shrink the loadings, keep the top k of each row, normalise.

    Shrinking keeps the order of magnitudes, so it is applied to the k chosen entries alone.
    """
    indices = top_k_indices(loadings, k)
    return Batch(indices, unit(adversary.shrink(np.take_along_axis(loadings, indices, axis=1))))


def truncate(rows: FloatArray, k: int) -> Batch:
    """Project on the k-sparse unit vectors: keep the top k entries of each row, normalise."""
    indices = top_k_indices(rows, k)
    return Batch(indices, unit(np.take_along_axis(rows, indices, axis=1)))
