"""Where ascent starts from.

Good starts matter more than many steps: the top k entries of the rows of X'X find optima that eigenvectors
and single coordinates miss. Every start is a row of loadings X'u for some u, truncated by the exact half-step
in v; so the coordinate e_j becomes row j of X'X, and the sample x_i is itself such a row.
"""

from collections.abc import Iterator

import numpy as np

from noap.adversaries.base import Adversary
from noap.heuristics.batch import Batch, choose, truncate
from noap.heuristics.oracle import GramOracle
from noap.heuristics.sample_oracle import SampleOracle
from noap.linalg.products import row_top_k_norms
from noap.linalg.types import FloatArray, IntArray

__all__ = ["start_batches", "strengths", "strongest_features"]

# At most this many coordinates and samples are tried, those of largest norm first. Below it every one is.
_MAX_COORDINATES = 8192
_MAX_SAMPLES = 2048
_SINGULAR_VECTORS = 8
_RANDOM = 24
# Rows of loadings truncated together: bounds the m x d temporary.
_CHUNK_BYTES = 64 * 2**20


def strengths(adversary: Adversary, column_norms: FloatArray, costs: FloatArray | None) -> FloatArray:
    """Return how strong single features are, to order them: by norm, or by what budgets and costs of each leave of it.

    Where these differ, a feature that is worth nothing by itself has strength 0.
    """
    if costs is None and adversary.has_one_budget:
        return column_norms
    left: FloatArray = np.maximum(column_norms - adversary.feature_floor, 0.0)
    return left if costs is None else np.asarray(np.sqrt(np.maximum(left**2 - costs, 0.0)))


def strongest_features(adversary: Adversary, column_norms: FloatArray, strengths: FloatArray) -> IntArray:
    """Return the features to start from: those that the adversary cannot cancel, the strongest first."""
    mask = adversary.kept_features(column_norms)
    kept = np.flatnonzero(mask if strengths is column_norms else mask & (strengths > 0))
    return kept[np.argsort(-strengths[kept], kind="stable")][:_MAX_COORDINATES]


def start_batches(oracle: GramOracle | SampleOracle, k: int, rng: np.random.Generator) -> Iterator[Batch]:
    """Yield starting vectors, one half-step past their seeds, in batches of bounded size, zero ones left out."""
    for loadings in _start_loadings(oracle, k, rng):
        batch = choose(oracle.adversary, loadings, k, oracle.costs).alive()
        if len(batch):
            yield batch


def _start_loadings(oracle: GramOracle | SampleOracle, k: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    d = len(oracle.column_norms)
    step = max(1, _CHUNK_BYTES // (8 * d))
    alone = strengths(oracle.adversary, oracle.column_norms, oracle.costs)
    strongest = strongest_features(oracle.adversary, oracle.column_norms, alone)
    for first in range(0, len(strongest), step):
        yield oracle.coordinate_loadings(strongest[first : first + step])

    if isinstance(oracle, SampleOracle) and not oracle.adversary.gram_suffices:
        longest = np.argsort(-row_top_k_norms(oracle.X, k), kind="stable")[:_MAX_SAMPLES]
        for first in range(0, len(longest), step):
            yield oracle.sample_loadings(longest[first : first + step])

    directions = np.concatenate([_leading_directions(oracle, d, rng), rng.standard_normal((_RANDOM, d))])
    yield oracle.loadings(truncate(directions, k))


def _leading_directions(oracle: GramOracle | SampleOracle, d: int, rng: np.random.Generator) -> FloatArray:
    """Approximate the leading right singular vectors of X by a few rounds of subspace iteration."""
    basis = rng.standard_normal((d, min(_SINGULAR_VECTORS, d)))
    for _ in range(6):
        basis, _ = np.linalg.qr(oracle.power(basis))
    return basis.T
