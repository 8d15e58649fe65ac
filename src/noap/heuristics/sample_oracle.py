"""Values and pulls of vectors, from the samples themselves."""

import math

import numpy as np

from noap.adversaries.base import Adversary
from noap.heuristics.batch import Batch
from noap.linalg import products
from noap.linalg.types import Data, FloatArray, IntArray
from noap.linalg.vectors import unit

__all__ = ["SampleOracle"]


class SampleOracle:
    """Works on X/sqrt(n) without forming it: the factor moves into the vectors."""

    # Bounds the n x k pieces of X that are gathered together while refining.
    _GATHER_BYTES = 64 * 2**20

    def __init__(self, X: Data, n_samples: int, adversary: Adversary) -> None:
        self.X = X
        self.factor = 1.0 / math.sqrt(n_samples)
        self.adversary = adversary
        self.column_norms: FloatArray = products.column_norms(X) * self.factor

    def _scores(self, rows: FloatArray) -> FloatArray:
        reached: FloatArray = (self.X @ (self.factor * rows.T).astype(self.X.dtype)).T
        return reached

    def _pull(self, scores: FloatArray) -> FloatArray:
        responses = self.factor * self.adversary.respond(scores)
        pulled: FloatArray = (self.X.T @ responses.T.astype(self.X.dtype)).T
        return pulled

    def loadings(self, batch: Batch) -> FloatArray:
        """Return X'u with u the response to Xv."""
        return self._pull(self._scores(batch.dense(self.X.shape[1])))

    def coordinate_loadings(self, features: IntArray) -> FloatArray:
        """Return X'u with u the response to the columns a_j."""
        return self._pull(self.factor * self._columns(features).T)

    def sample_loadings(self, samples: IntArray) -> FloatArray:
        """Return X'e_i, the samples themselves, one row each."""
        rows = self.X[samples]
        return self.factor * (rows if isinstance(rows, np.ndarray) else rows.toarray())

    def power(self, basis: FloatArray) -> FloatArray:
        """Return X'(X basis)/n."""
        product: FloatArray = self.factor**2 * (self.X.T @ (self.X @ basis.astype(self.X.dtype)))
        return product

    def _columns(self, features: IntArray) -> FloatArray:
        part = self.X[:, features]
        dense: FloatArray = part if isinstance(part, np.ndarray) else part.toarray()
        return dense

    def distances(self, batch: Batch) -> FloatArray:
        """Return the distance from the scores Xv."""
        return self.adversary.distance(self._scores(batch.dense(self.X.shape[1])), batch.weights)

    def refine(self, batch: Batch, rounds: int) -> Batch:
        """Alternate on the n x k columns of each support."""
        step = max(1, self._GATHER_BYTES // (8 * self.X.shape[0] * batch.indices.shape[1]))
        parts = [self._refine_part(batch[i : i + step], rounds) for i in range(0, len(batch), step)]
        return Batch.join(parts) if parts else batch

    def _refine_part(self, batch: Batch, rounds: int) -> Batch:
        m, k = batch.indices.shape
        gathered = self.factor * self._columns(batch.indices.ravel())
        pieces = np.ascontiguousarray(gathered.reshape(-1, m, k).transpose(1, 2, 0))  # m x k x n
        weights = batch.weights
        for _ in range(rounds):
            scores = np.matmul(weights[:, None, :], pieces)[:, 0, :]
            pulled = np.matmul(pieces, self.adversary.respond(scores)[:, :, None])[:, :, 0]
            moved = unit(self.adversary.shrink(pulled))
            settled = np.abs(moved - weights).max(initial=0.0) <= 1e-15
            weights = moved
            if settled:
                break
        return Batch(batch.indices, weights)
