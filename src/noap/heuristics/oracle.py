"""What a power method asks of the data: the value of vectors and the direction in which they improve.

Two answers to the same questions. `GramOracle` works on the covariance, for adversaries that see X only
through |Xv|; `SampleOracle` works on X itself. Both count in units of X/sqrt(n), so that the value of a
vector is its distance squared.
"""

import math
from typing import Protocol

import numpy as np

from noap.adversaries.base import Adversary, GramAdversary
from noap.heuristics.batch import Batch, entries
from noap.heuristics.sample_oracle import SampleOracle
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["GRAM_FEATURES", "GramOracle", "Oracle", "oracle_of"]

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


class GramOracle:
    """Works on S = X'X/n: with energy e = sqrt(v'Sv), the response is X'u = Sv/e. No sample is touched."""

    def __init__(self, covariance: FloatArray, adversary: GramAdversary) -> None:
        self.covariance = covariance
        self.adversary: GramAdversary = adversary

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
        return self.adversary.distance_from_energy(self._energies(reached, batch), batch.weights)


def oracle_of(problem: Problem) -> Oracle:
    """Return an oracle over all features and samples."""
    adversary = problem.adversary.rescaled(1.0 / math.sqrt(problem.n_samples))
    if isinstance(adversary, GramAdversary) and (problem.X is None or problem.n_features <= GRAM_FEATURES):
        return GramOracle(problem.gram, adversary)
    return SampleOracle(problem.samples("a problem of this size"), problem.n_samples, adversary)
