"""Ascent on S = X'X/n in compiled loops: many small steps, where calls into NumPy would cost more than the work."""

import math
from collections.abc import Iterator

import numpy as np

from noap.adversaries.base import GramAdversary
from noap.heuristics.batch import Batch
from noap.heuristics.measured import MeasuredVectors
from noap.heuristics.starts import strengths, strongest_features
from noap.linalg.types import FloatArray, IntArray

__all__ = ["GramClimber"]

# Rounds within a support per step: enough to rank supports, few enough to stay a small part of the cost.
_ROUNDS = 6
# Rounds for the vector that is returned; they end at a fixed point.
_FINAL_ROUNDS = 2000
# Directions to start from: leading singular vectors of X, after so many multiplications by X'X, and random ones.
_LEADING, _POWERS, _RANDOM = 8, 3, 24
# Features tried in each place that is made free, the ones that pull hardest; and exchanges per vector that climb on.
_ADDITIONS = 4
_CLIMBERS = 8
# Places in the table of supports that have been seen.
_SEEN = 2**14
# A support counts as improved when its distance grows by more than rounding.
_IMPROVED = 1 + 1e-10
# Beyond these the squares of loadings leave the range of a float: work in other units.
_SMALL, _LARGE = 1e-100, 1e100


class GramClimber:
    """Climbs on the covariance, for the adversaries that leave (|Xv| - rho |v|_1)_+: the budget is a threshold rho.

    With costs, in units of the covariance, a distance is the root of what is left after them.
    """

    def __init__(
        self, covariance: FloatArray, adversary: GramAdversary, k: int, costs: FloatArray | None = None
    ) -> None:
        from noap.heuristics.kernels import climb  # loads Numba, which `import noap` should not

        self._kernels = climb
        self.k = k
        largest = float(np.diag(covariance).max())
        if largest > 0 and not _SMALL < largest < _LARGE:
            covariance = covariance / largest
            adversary = adversary.rescaled(1 / math.sqrt(largest))
            costs = None if costs is None else costs / largest
        self.adversary = adversary
        self.column_norms: FloatArray = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        self.strengths = strengths(adversary, self.column_norms, costs)
        # Numba compiles for writeable and for read-only arrays apart; all are passed as read-only.
        self._covariance = np.ascontiguousarray(covariance, dtype=np.float64).view()
        self._covariance.flags.writeable = False
        plain = costs is None and adversary.is_uniform
        self._rho: float | FloatArray = float(np.ravel(adversary.rho)[0]) if plain else self._terms(adversary, costs)
        self._seen = np.zeros(_SEEN, dtype=np.uint64)

    def _terms(self, adversary: GramAdversary, costs: FloatArray | None) -> FloatArray:
        """Return the budget and the cost of every feature, as kernels take them."""
        d = len(self.column_norms)
        terms = np.array([adversary.budgets(d), np.zeros(d) if costs is None else costs])
        terms.flags.writeable = False
        return terms

    def _refined(self, indices: IntArray, weights: FloatArray, rounds: int) -> MeasuredVectors:
        indices, weights, distances = indices.astype(np.int64), weights.astype(np.float64), np.empty(len(indices))
        self._kernels.refine(self._covariance, self._rho, rounds, indices, weights, distances)
        return MeasuredVectors(Batch(indices, weights), distances)

    def measured(self, batch: Batch) -> MeasuredVectors:
        """Return the vectors with their distances."""
        return self._refined(batch.indices, batch.weights, 0)

    def starts(self, rng: np.random.Generator) -> Iterator[MeasuredVectors]:
        """Yield starts from single features, then from leading and random directions."""
        features = strongest_features(self.adversary, self.column_norms, self.strengths)
        yield self._started(features, np.empty((0, len(self.column_norms))))
        directions = rng.standard_normal((_LEADING + _RANDOM, len(self.column_norms)))
        leading = directions[:_LEADING]
        for _ in range(_POWERS):  # subspace iteration
            leading[:] = leading @ self._covariance
            self._kernels.orthonormalise(leading)
        yield self._started(features[:0], directions)

    def _started(self, features: IntArray, directions: FloatArray) -> MeasuredVectors:
        m = len(features) + len(directions)
        indices, weights, distances = np.zeros((m, self.k), dtype=np.int64), np.zeros((m, self.k)), np.empty(m)
        self._kernels.start(self._covariance, self._rho, features, directions, _ROUNDS, indices, weights, distances)
        return MeasuredVectors(Batch(indices, weights), distances)

    def climb(self, candidates: MeasuredVectors, count: int, max_steps: int) -> MeasuredVectors:
        """Return the fixed points above the best candidates whose supports are new."""
        indices, weights = candidates.batch.indices.copy(), candidates.batch.weights.copy()
        distances, order = candidates.distances.copy(), np.argsort(-candidates.distances, kind="stable")
        arrived = self._kernels.climb(
            self._covariance, self._rho, indices, weights, distances, order, count, max_steps, _ROUNDS, self._seen
        )
        return MeasuredVectors(Batch(indices, weights), distances)[np.flatnonzero(arrived)]

    def exchanges(self, vectors: MeasuredVectors) -> MeasuredVectors:
        """Return the most promising exchanges of one feature of every vector."""
        additions = min(_ADDITIONS, len(self.column_norms) - self.k)
        if additions == 0:
            return vectors[:0]
        batch = vectors.batch
        indices, weights, distances = self._kernels.exchange(
            self._covariance, self._rho, batch.indices, batch.weights, additions, _ROUNDS, _CLIMBERS, self._seen
        )
        return MeasuredVectors(Batch(indices, weights), distances)

    def thinned(self, rng: np.random.Generator) -> None:
        """Return None: no work here grows with the samples."""

    def to_fixed_point(self, vector: MeasuredVectors) -> MeasuredVectors:
        """Run one vector to the fixed point of both half-steps, to rounding."""
        for _ in range(8):
            if vector.distances[0] <= 0:
                break
            vector = self._best_on_support(vector)
            self._seen[:] = 0  # climbs once more from where it has been
            moved = self.climb(vector, 1, 1)
            if len(moved) == 0 or moved.distances[0] <= _IMPROVED * vector.distances[0]:
                break
            vector = moved
        return vector

    def _best_on_support(self, vector: MeasuredVectors) -> MeasuredVectors:
        """Return the best vector near this one on its own support."""
        indices = vector.batch.indices
        if isinstance(self._rho, np.ndarray) or self._rho > 0:
            return self._refined(indices, vector.batch.weights, _FINAL_ROUNDS)
        # Without a budget it is the leading eigenvector of the block.
        block = self._covariance[np.ix_(indices[0], indices[0])]
        return self._refined(indices, np.linalg.eigh(block)[1][None, :, -1], 0)
