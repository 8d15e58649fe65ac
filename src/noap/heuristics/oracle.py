"""What a power method asks of the data: the value of vectors and the direction in which they improve.

Two answers to the same questions. `GramOracle` works on the covariance, for the adversaries named in `GRAM_SERVES`;
`SampleOracle` works on X itself, for any. Both count in units of X/sqrt(n), so that the value of a vector is its
distance squared.
"""

import math
from typing import Protocol, TypeGuard

import numpy as np

from noap.adversaries import ENERGY_LESS_L1, SpectralNorm, serves
from noap.adversaries.base import Adversary, GramAdversary
from noap.errors import InvalidProblem
from noap.heuristics.batch import Batch, entries, stepped
from noap.heuristics.sample_oracle import SampleOracle
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["GRAM_FEATURES", "GramOracle", "Oracle", "in_units_of_samples", "oracle_of", "works_on_gram"]

# The adversaries for which X'X and rho stand for the samples; any other is asked for its responses to the samples.
GRAM_SERVES = ENERGY_LESS_L1
# Those whose response is Xv/|Xv| and whose distance follows from |Xv|.
ENERGY_SERVES: tuple[type[Adversary], ...] = (*ENERGY_LESS_L1, SpectralNorm)

# X'X is formed up to this many features (half a gigabyte); beyond it heuristics work on X.
GRAM_FEATURES = 8192


class Oracle(Protocol):
    """Answers what the vectors of a batch are worth and where they want to go."""

    @property
    def adversary(self) -> Adversary:
        """The adversary, with its budget in units of X/sqrt(n)."""

    def loadings(self, batch: Batch) -> FloatArray:
        """Return X'u for the best response u to every vector, an m x d array."""

    def distances(self, batch: Batch) -> FloatArray:
        """Return the distance that the adversary leaves, for every vector."""


# Beyond these the squares of loadings leave the range of a float: work in other units.
_SMALL, _LARGE = 1e-100, 1e100
# Bounds the k x k blocks of all vectors that are held together.
_BLOCK_BYTES = 64 * 2**20
# Rounds to a fixed point; they end there.
_FINAL_ROUNDS = 2000


class GramOracle:
    """Works on S = X'X/n: with norm e = sqrt(v'Sv), the response is X'u = Sv/e. No sample is touched.

    With costs, in units of the covariance, a distance is the root of what is left after them.
    """

    def __init__(self, covariance: FloatArray, adversary: GramAdversary, costs: FloatArray | None = None) -> None:
        largest = float(np.diag(covariance).max(initial=0.0))
        if largest > 0 and not _SMALL < largest < _LARGE:
            covariance, costs = covariance / largest, None if costs is None else costs / largest
            adversary = adversary.rescaled(1 / math.sqrt(largest))
        self.covariance, self.costs = np.asarray(covariance, dtype=np.float64), costs
        self.adversary: GramAdversary = adversary

    @property
    def column_norms(self) -> FloatArray:
        """The norms of the features."""
        norms: FloatArray = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return norms

    def coordinate_loadings(self, features: IntArray) -> FloatArray:
        """Return X'u with u the response to the columns a_j."""
        loadings: FloatArray = self.covariance[features] / self.column_norms[features, None]
        return loadings

    def power(self, basis: FloatArray) -> FloatArray:
        """Return S basis."""
        product: FloatArray = self.covariance @ basis
        return product

    def refine(self, batch: Batch, rounds: int) -> Batch:
        """Alternate within every support."""
        step = max(1, _BLOCK_BYTES // (8 * batch.indices.shape[1] ** 2))
        parts = [self._refined(batch[i : i + step], rounds) for i in range(0, len(batch), step)]
        return Batch.join(parts) if parts else batch

    def _refined(self, batch: Batch, rounds: int) -> Batch:
        blocks = self.covariance[batch.indices[:, :, None], batch.indices[:, None, :]]
        weights = batch.weights
        for _ in range(rounds):
            pulled = np.matmul(blocks, weights[:, :, None])[:, :, 0]
            energy = self._energies(pulled, Batch(batch.indices, weights))
            energy[energy == 0] = np.inf
            moved = stepped(self.adversary, pulled / energy[:, None], batch.indices, self.costs)
            moved = np.where(moved.any(axis=1, keepdims=True), moved, weights)  # one that is cancelled stays
            unchanged = np.abs(moved - weights).max(initial=0.0) <= 1e-15
            weights = moved
            if unchanged:
                break
        return Batch(batch.indices, weights)

    def settled(self, batch: Batch) -> Batch:
        """Return the best vectors near these on their own supports; without a budget the leading eigenvectors."""
        if self.costs is not None or np.any(self.adversary.feature_floor):
            return self.refine(batch, _FINAL_ROUNDS)
        blocks = self.covariance[batch.indices[:, :, None], batch.indices[:, None, :]]
        return Batch(batch.indices, np.linalg.eigh(blocks)[1][:, :, -1])

    def loadings(self, batch: Batch) -> FloatArray:
        """Return Sv/e."""
        pulled: FloatArray = np.matmul(batch.weights[:, None, :], self.covariance[batch.indices])[:, 0, :]
        energy = self._energies(entries(pulled, batch.indices), batch)
        energy[energy == 0] = np.inf  # dividing by it gives 0
        pulled /= energy[:, None]
        return pulled

    def _energies(self, reached: FloatArray, batch: Batch) -> FloatArray:
        energies: FloatArray = np.sqrt(np.maximum(np.einsum("mk,mk->m", reached, batch.weights), 0.0))
        return energies

    def distances(self, batch: Batch) -> FloatArray:
        """Return e less the adversary's share."""
        blocks = self.covariance[batch.indices[:, :, None], batch.indices[:, None, :]]
        reached = np.matmul(blocks, batch.weights[:, :, None])[:, :, 0]
        adversary = self.adversary.restricted_to(batch.indices)
        assert isinstance(adversary, GramAdversary)
        away = adversary.distance_from_energy(self._energies(reached, batch), batch.weights)
        if self.costs is None:
            return away
        paid = np.where(batch.weights != 0, self.costs[batch.indices], 0.0).sum(axis=1)
        after_costs: FloatArray = np.sqrt(np.maximum(away**2 - paid, 0.0))
        return after_costs


def works_on_gram(adversary: Adversary) -> TypeGuard[GramAdversary]:
    """Return whether the heuristics may work on X'X alone, by the adversary's exact type."""
    return serves(GRAM_SERVES, adversary)


def in_units_of_samples(problem: Problem) -> Adversary:
    """Return the adversary of X/sqrt(n), which must be of the same kind as that of X."""
    adversary, kind = problem.adversary.rescaled(1.0 / math.sqrt(problem.n_samples)), type(problem.adversary)
    if type(adversary) is not kind:
        raise InvalidProblem(
            f"adversary {kind.__name__} turns into {type(adversary).__name__} when it is rescaled; define rescaled in "
            f"{kind.__name__} itself."
        )
    return adversary


def oracle_of(problem: Problem) -> Oracle:
    """Return an oracle over all features and samples."""
    adversary = in_units_of_samples(problem)
    if serves(ENERGY_SERVES, adversary) and (problem.X is None or problem.n_features <= GRAM_FEATURES):
        assert isinstance(adversary, GramAdversary)
        return GramOracle(problem.gram, adversary)
    return SampleOracle(problem.samples("a problem of this size"), problem.n_samples, adversary)
