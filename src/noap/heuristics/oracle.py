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
from noap.heuristics.batch import Batch, entries
from noap.heuristics.sample_oracle import SampleOracle
from noap.linalg.types import FloatArray
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
        adversary = self.adversary.restricted_to(batch.indices)
        assert isinstance(adversary, GramAdversary)
        return adversary.distance_from_energy(self._energies(reached, batch), batch.weights)


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
