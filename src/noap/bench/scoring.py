"""Score any vector on the same objective: as it was returned, and after re-solving on its own support."""

import warnings
from dataclasses import dataclass

import numpy as np

import noap
from noap.errors import NoapWarning
from noap.linalg.types import FloatArray
from noap.linalg.vectors import keep_top_k, unit
from noap.problem import Problem

__all__ = ["TOLERANCE", "Score", "loss", "score"]

# Values closer than this, relative to the best, count as the same.
TOLERANCE = 1e-6
# Limit for the small problem on one support; it has k features, but on a busy machine loading kernels takes seconds.
_RESOLVE_SECONDS = 10.0


@dataclass(frozen=True)
class Score:
    """Robust variance of a vector as returned and re-solved on its support, and how many features it used."""

    returned: float
    resolved: float
    features: int


def score(problem: Problem, v: FloatArray) -> Score:
    """Score v, cut to its k largest entries if it has more and scaled to length 1.

    Re-solving is the fairest reading of a peer that shrinks its loadings or does not know the adversary: the support is
    its answer, the loadings are the best there are on it.
    """
    features = int(np.count_nonzero(v))
    if features == 0 or not np.isfinite(v).all():
        return Score(0.0, 0.0, 0)
    direction = unit(keep_top_k(v[None, :], problem.k)[0])
    returned = problem.value(direction)
    part = problem.restricted(np.flatnonzero(direction))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)  # an optimum of 0 on this support is a value like any other
        again = noap.solve(part, gap=1e-6, time_limit=_RESOLVE_SECONDS, certificate=False).value
    return Score(returned, max(returned, again), features)


def loss(value: float, best: float) -> float:
    """Return how far a value lies below the best, relative to it; 0 if the best is 0."""
    return max(0.0, 1.0 - value / best) if best > 0 else 0.0
