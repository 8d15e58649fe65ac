"""Which features can matter to a problem, and when its optimum is 0: decided exactly."""

import math
from typing import TYPE_CHECKING

import numpy as np

from noap.adversaries import EntryWise, FeatureWise, NoAdversary, SampleWise, SpectralNorm, serves
from noap.adversaries.spectral import largest_of
from noap.linalg.exact_norms import covariance_exceeds, largest_pair, pairs_exceed, smallest_budget, unsure
from noap.linalg.screening import longer_columns
from noap.linalg.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from noap.problem import Problem

__all__ = ["feature_floor", "kept_features", "optimum_is_zero", "rho_max"]

# The adversaries whose screening is a theorem.
ZERO_SERVES = (FeatureWise, SampleWise, SpectralNorm, EntryWise, NoAdversary)


def feature_floor(problem: "Problem") -> "float | FloatArray":
    r"""Return what a column must exceed for its feature to matter: one number, or one for each feature.

    At any unit u feature j adds at most :math:`(|a_j^\top u| - \rho_j)_+^2 - n \pi_j` to n times the objective, so
    :math:`\rho_j + \sqrt{n \pi_j}` is enough. With costs it is rounded down: a feature that is dropped is worth nothing
    for certain.
    """
    floor = problem.adversary.feature_floor
    if problem.costs is None:
        return floor
    # Roots apart: n times a cost may leave the range of floats.
    raised: FloatArray = (floor + math.sqrt(problem.n_samples) * np.sqrt(problem.costs)) * (1 - 1e-15)
    return raised


def kept_features(problem: "Problem") -> BoolArray:
    """Return a mask of the features that can be non-zero in an optimum of positive value; no rounding decides it."""
    if type(problem.adversary) is EntryWise:
        return problem.adversary.kept(problem.X)
    floor = feature_floor(problem)
    if problem.X is not None:
        return longer_columns(problem.X, problem.column_norms, floor)
    kept: BoolArray = problem.column_norms > floor
    near = unsure(problem.column_norms, floor, 1)
    if near.any():
        own = floor if np.ndim(floor) == 0 else np.asarray(floor)[near]
        kept[near] = covariance_exceeds(np.diag(problem.covariance)[near], problem.n_samples, own)
    return kept


def optimum_is_zero(problem: "Problem") -> bool:
    """Return whether no direction is worth anything, in exact arithmetic; False where noap has no theorem."""
    if not serves(ZERO_SERVES, problem.adversary):
        return False
    if type(problem.adversary) is SpectralNorm:
        return bool(problem.adversary.rho >= rho_max(problem))
    if problem.X is None:
        if not problem.lift and problem.kept_features.any():
            return False  # one feature is enough; no need to look at every entry
        floor = feature_floor(problem)
        if np.ndim(floor) > 0 and problem.k > 1:
            return not pairs_exceed(problem.covariance, problem.n_samples, np.asarray(floor))
        if np.ndim(floor) > 0:
            return not covariance_exceeds(_diagonal(problem), problem.n_samples, floor).any()
        return not covariance_exceeds(_largest_entry(problem), problem.n_samples, floor)[0]
    if not problem.kept_features.any():
        return True
    return not problem.adversary.gram_suffices and not problem.kept_samples.any()


def rho_max(problem: "Problem") -> float:
    """Return the smallest budget, or factor of several budgets, at which the optimum is 0; costs do not count."""
    if problem.X is not None:
        return problem.adversary.rho_max(problem.X, problem.k)
    if isinstance(problem.adversary, NoAdversary):
        return math.inf
    n = problem.n_samples
    if type(problem.adversary) is SpectralNorm:
        # v'Sv <= v'(S + cI)v, which is at most the sum of the diagonal on the support where S + cI is semidefinite.
        return largest_of(np.sqrt(n * (_diagonal(problem) + problem.diagonal_shift)), problem.k, 1)
    if not problem.adversary.has_one_budget:
        S = np.diag(_diagonal(problem)) if problem.k == 1 else problem.covariance
        return largest_pair(S, n, problem.adversary.rho)
    entry = _largest_entry(problem)
    return smallest_budget(lambda rho: bool(covariance_exceeds(entry, n, rho)[0]), math.sqrt(n * float(entry[0])))


def _diagonal(problem: "Problem") -> FloatArray:
    return np.maximum(np.diag(problem.covariance), 0.0)


def _largest_entry(problem: "Problem") -> FloatArray:
    """Return the largest |S_ij|: v'Sv is at most that times |v|_1^2, whether S is positive semidefinite or not."""
    entries = np.diag(problem.covariance) if problem.k == 1 else np.abs(problem.covariance)
    return np.array([max(float(entries.max()), 0.0)])
