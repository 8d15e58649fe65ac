"""Good vectors of 1, 2, ..., k features of a large problem, before anything is proved."""

from collections.abc import Callable

import numpy as np

from noap.adversaries import FeatureWise
from noap.exact.feature_wise.instance import Incumbent
from noap.exact.many.small import SmallProblems
from noap.heuristics.ascent import Funnel, search
from noap.heuristics.batch import truncate
from noap.heuristics.gram_climber import GramClimber
from noap.heuristics.pool import pooled_features
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.controls import never

__all__ = ["found_levels"]

# A level needs a value, not the last digit of the best one: what it misses the proof finds.
_FUNNEL = Funnel(keep=32, polish=8)


def found_levels(
    small: SmallProblems, v: FloatArray, rng: np.random.Generator, check: Callable[[], None] = never
) -> dict[int, Incumbent]:
    """Return a vector for every number of features up to k; that of k features is at least as good as v."""
    given = np.flatnonzero(v)
    pool = np.union1d(pooled_features(small.columns, small.rho, small.k, check), given)
    A = small.columns.gram(pool)
    inside = np.zeros(len(pool))
    inside[np.searchsorted(pool, given)] = v[given]
    found: dict[int, Incumbent] = {}
    before: FloatArray | None = None
    for k in range(1, small.k + 1):
        check()
        size = min(k, len(pool))
        climber = GramClimber(A, FeatureWise(small.rho), size)
        known = [inside] if before is None else [inside, before]
        seeds = climber.measured(truncate(np.array(known), size).alive())
        best = list(search(climber, size, rng, _FUNNEL))[-1]
        reached = climber.climb(seeds, len(seeds), _FUNNEL.max_steps)
        best = best.joined(seeds).joined(reached).best(1)
        before = best.batch.first(len(pool))
        found[k] = _measured(small, pool, before)
    return found


def _measured(small: SmallProblems, pool: IntArray, v: FloatArray) -> Incumbent:
    support = np.flatnonzero(v)
    return small.measured(pool[support], v[support])
