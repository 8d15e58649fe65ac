"""What heuristics ask of the data: the value of vectors and the direction in which they improve.

Two answers to the same questions. `GramOracle` works on the covariance, for adversaries that see X only
through |Xv|; `SampleOracle` works on X itself. Both count in units of X/sqrt(n), so that the value of a
vector is its distance squared.
"""

import math
from typing import Protocol

import numpy as np

from noap.adversaries.base import Adversary, GramAdversary
from noap.heuristics.batch import Batch, entries
from noap.linalg import products
from noap.linalg.types import Data, FloatArray, IntArray
from noap.linalg.vectors import unit
from noap.problem import Problem

__all__ = ["GramOracle", "Oracle", "SampleOracle", "live_oracle", "oracle_of"]

# X'X is formed up to this many features (half a gigabyte); beyond it ascent works on X.
_GRAM_FEATURES = 8192
# Dropping dead rows or columns costs a copy of what is left; worth it when this share or less is left.
_WORTH_COPYING = 0.7
# Up to this many features a dense product beats a sparse one (measured: k = 5 and 20, 12 and 96 vectors).
_DENSE_FEATURES = 80
# Rounds that cost more than the eigenvectors of the blocks.
_MANY_ROUNDS = 200


class Oracle(Protocol):
    """Answers what the vectors of a batch are worth and where they want to go."""

    column_norms: FloatArray

    @property
    def adversary(self) -> Adversary:
        """The adversary, with its budget in units of X/sqrt(n)."""

    def loadings(self, batch: Batch) -> FloatArray:
        """Return X'u for the best response u to every vector, an m x d array."""

    def coordinate_loadings(self, features: IntArray) -> FloatArray:
        """Return X'u for the best response u to e_j, one row per feature."""

    def power(self, basis: FloatArray) -> FloatArray:
        """Return X'X times a d x c array."""

    def distances(self, batch: Batch) -> FloatArray:
        """Return the distance that the adversary leaves, for every vector."""

    def refine(self, batch: Batch, rounds: int) -> Batch:
        """Alternate within the supports: monotone, and touches only k x k or n x k pieces of the data."""


class GramOracle:
    """Works on S = X'X/n: with energy e = sqrt(v'Sv), the response is X'u = Sv/e. No sample is touched."""

    def __init__(self, covariance: FloatArray, adversary: GramAdversary) -> None:
        self.covariance = covariance
        self.adversary: GramAdversary = adversary
        self.column_norms: FloatArray = np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def loadings(self, batch: Batch) -> FloatArray:
        """Return Sv/e."""
        pulled = self._pulled(batch)
        reached = entries(pulled, batch.indices)
        pulled /= _divisor(np.einsum("mk,mk->m", reached, batch.weights))[:, None]
        return pulled

    def _pulled(self, batch: Batch) -> FloatArray:
        m, k = batch.indices.shape
        d = len(self.covariance)
        if d <= _DENSE_FEATURES:
            dense: FloatArray = batch.dense(d) @ self.covariance
            return dense
        from scipy.sparse import csr_array  # loaded on first use: it would double the import time of noap

        rows = csr_array((batch.weights.ravel(), batch.indices.ravel(), np.arange(0, m * k + 1, k)), shape=(m, d))
        sparse: FloatArray = rows @ self.covariance
        return sparse

    def coordinate_loadings(self, features: IntArray) -> FloatArray:
        """Return the rows S_j/|a_j|."""
        rows: FloatArray = self.covariance[features] / _divisor(self.column_norms[features] ** 2)[:, None]
        return rows

    def power(self, basis: FloatArray) -> FloatArray:
        """Return S times the basis."""
        product: FloatArray = self.covariance @ basis
        return product

    def _blocks(self, batch: Batch) -> FloatArray:
        blocks: FloatArray = self.covariance[batch.indices[:, :, None], batch.indices[:, None, :]]
        return blocks

    def distances(self, batch: Batch) -> FloatArray:
        """Return e less the adversary's share."""
        pulled = np.matmul(self._blocks(batch), batch.weights[:, :, None])[:, :, 0]
        energy = np.sqrt(np.maximum(np.einsum("mi,mi->m", pulled, batch.weights), 0.0))
        return self.adversary.distance_from_energy(energy, batch.weights)

    def refine(self, batch: Batch, rounds: int) -> Batch:
        """Alternate on the k x k blocks of S."""
        blocks, weights = self._blocks(batch), batch.weights
        if self.adversary.rho == 0 and rounds >= _MANY_ROUNDS:
            # Without a budget the fixed point is the leading eigenvector of the block; a zero vector stays zero.
            leading: FloatArray = np.linalg.eigh(blocks)[1][:, :, -1]
            leading[~np.asarray(weights.any(axis=1))] = 0.0
            return Batch(batch.indices, leading)
        for _ in range(rounds):
            pulled = np.matmul(blocks, weights[:, :, None])[:, :, 0]
            pulled /= _divisor(np.einsum("mi,mi->m", pulled, weights))[:, None]
            moved = unit(self.adversary.shrink(pulled))
            settled = np.abs(moved - weights).max(initial=0.0) <= 1e-15
            weights = moved
            if settled:
                break
        return Batch(batch.indices, weights)


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


def oracle_of(problem: Problem) -> Oracle:
    """Return an oracle over all features and samples."""
    adversary = problem.adversary.rescaled(1.0 / math.sqrt(problem.n_samples))
    if isinstance(adversary, GramAdversary) and (problem.X is None or problem.n_features <= _GRAM_FEATURES):
        return GramOracle(problem.covariance, adversary)
    return SampleOracle(problem.samples("a problem of this size"), problem.n_samples, adversary)


def live_oracle(problem: Problem) -> tuple[Oracle, IntArray]:
    """Return an oracle over what screening leaves of the problem, and the features it is about."""
    d = problem.n_features
    live = np.flatnonzero(problem.live_features)
    rows = _live_rows(problem)
    if not problem.k <= len(live) <= _WORTH_COPYING * d:
        live = np.arange(d)
    if len(live) == d and rows is None:
        return oracle_of(problem), live
    adversary = problem.adversary.rescaled(1.0 / math.sqrt(problem.n_samples))
    if isinstance(adversary, GramAdversary) and (problem.X is None or len(live) <= _GRAM_FEATURES):
        return GramOracle(_live_covariance(problem, live), adversary), live
    X = problem.samples("a problem of this size")
    X = X if rows is None else X[rows]
    return SampleOracle(X[:, live] if len(live) < d else X, problem.n_samples, adversary), live


def _live_rows(problem: Problem) -> IntArray | None:
    """Return the samples that matter, None if (nearly) all of them do."""
    if problem.adversary.gram_suffices:
        return None
    rows = np.flatnonzero(problem.adversary.live_samples(problem.row_top_k_norms))
    return rows if len(rows) <= _WORTH_COPYING * problem.n_samples else None


def _live_covariance(problem: Problem, live: IntArray) -> FloatArray:
    if "covariance" in problem.__dict__:  # known already: cut it out instead of forming a smaller product
        cut: FloatArray = problem.covariance[np.ix_(live, live)]
        return cut
    return products.gram(problem.samples("covariance")[:, live]) / problem.n_samples


def _divisor(squares: FloatArray) -> FloatArray:
    """Return the square roots, with infinity for 0 so that dividing by them gives 0."""
    roots: FloatArray = np.sqrt(np.maximum(squares, 0.0))
    roots[roots == 0] = np.inf
    return roots
