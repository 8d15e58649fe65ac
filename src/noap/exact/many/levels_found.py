"""Good vectors of 1, 2, ..., k features of a large problem, before anything is proved."""

from collections.abc import Callable, Iterator

import numpy as np

from noap.exact.feature_wise.instance import Incumbent
from noap.exact.many.small import SmallProblems
from noap.heuristics.ascent import Funnel
from noap.heuristics.pool import Pool
from noap.heuristics.pooled import pooled_ascent
from noap.linalg.types import FloatArray
from noap.runtime.controls import never

__all__ = ["found_levels"]

# A level needs a value, not the last digit of the best one: what it misses the proof finds.
_FUNNEL = Funnel(keep=32, polish=8)


def found_levels(
    small: SmallProblems, pool: Pool, v: FloatArray, rng: np.random.Generator, check: Callable[[], None] = never
) -> Iterator[tuple[int, Incumbent]]:
    """Yield a vector for every number of features below k."""
    support = np.flatnonzero(v)
    starts = [(support, v[support])]
    for k in range(1, small.k):
        *_, (places, weights) = pooled_ascent(pool, k, rng, _FUNNEL, starts, check)
        yield k, small.measured(places, weights)
        starts = [(support, v[support]), (places, weights)]
