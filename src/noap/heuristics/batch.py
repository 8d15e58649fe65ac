"""Many k-sparse vectors at once."""

from dataclasses import dataclass

import numpy as np

from noap.adversaries.base import Adversary
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import top_k_indices, unit

__all__ = ["Batch", "choose", "entries", "stepped", "truncate", "worths"]


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
        rows[np.arange(len(self))[:, None], self.indices] = self.weights
        return rows

    def first(self, d: int) -> FloatArray:
        """Return the first vector, of length 1 in double precision whatever the batch was computed in; 0 if it is 0."""
        v, weights = np.zeros(d), self.weights[0]
        v[self.indices[0]] = weights
        # Single precision leaves it some 1e-8 off; what is of length 1 keeps its digits.
        exact = weights.dtype == np.float64 and abs(float(weights @ weights) - 1.0) <= 1e-12
        return v if exact else unit(v)

    def keys(self) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
        """Return a number per vector that is the same for the same support, and else differs but for a rare accident.

        A position of weight 0 is not part of the support.
        """
        codes = _mixed(self.indices)
        codes[self.weights == 0] = 0
        total: np.ndarray[tuple[int], np.dtype[np.uint64]] = codes.sum(axis=1, dtype=np.uint64)
        return total

    @staticmethod
    def join(batches: "list[Batch]") -> "Batch":
        """Stack batches of the same k."""
        return Batch(
            np.concatenate([batch.indices for batch in batches]),
            np.concatenate([batch.weights for batch in batches]),
        )


def _mixed(positions: IntArray) -> "np.ndarray[tuple[int, int], np.dtype[np.uint64]]":
    """Return well-mixed 64-bit codes of positions (the finaliser of splitmix64): sums of them rarely agree."""
    code = (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))


def choose(adversary: Adversary, loadings: FloatArray, k: int, costs: FloatArray | None = None) -> Batch:
    """Take the exact half-step in v: shrink the loadings, keep the top k of each row, normalise.

    With one budget for all shrinking keeps the order of magnitudes, so it is applied to the k chosen entries alone.
    """
    if costs is None and adversary.has_one_budget:
        indices = top_k_indices(loadings, k)
        return Batch(indices, unit(adversary.shrink(entries(loadings, indices))))
    indices = top_k_indices(np.maximum(worths(adversary, loadings, costs), 0.0), k)
    return Batch(indices, stepped(adversary, entries(loadings, indices), indices, costs))


def worths(adversary: Adversary, loadings: FloatArray, costs: FloatArray | None) -> FloatArray:
    """Return what the loadings of all features are worth, after costs; any numbers that order them alike."""
    if costs is None and adversary.has_one_budget:
        return np.abs(loadings)
    worth: FloatArray = adversary.shrink(loadings) ** 2
    return worth if costs is None else worth - costs


def stepped(adversary: Adversary, loadings: FloatArray, indices: IntArray, costs: FloatArray | None) -> FloatArray:
    """Return the best unit weights at given positions for given loadings there; what is not worth its cost is 0."""
    shrunk = adversary.restricted_to(indices).shrink(loadings)
    if costs is not None:
        shrunk = np.where(shrunk**2 > costs[indices], shrunk, 0.0)
    return unit(shrunk)


def truncate(rows: FloatArray, k: int) -> Batch:
    """Project on the k-sparse unit vectors: keep the top k entries of each row, normalise."""
    indices = top_k_indices(rows, k)
    return Batch(indices, unit(entries(rows, indices)))


def entries(rows: FloatArray, indices: IntArray) -> FloatArray:
    """Return the entries of every row at its own positions, an m x k array."""
    chosen: FloatArray = rows[np.arange(len(rows))[:, None], indices]
    return chosen
