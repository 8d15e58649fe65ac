r"""A few hundred features in which the best supports of a large problem are likely to lie.

The pair :math:`u = a_j/\|a_j\|` and its k largest :math:`|a_i^\top u|` is worth something for every feature j: one
blocked pass over X'X scores them all. The pool holds the neighbours of features with high scores, no two of them out of
the same neighbourhood.
"""

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from noap.linalg.blocked import ScaledColumns
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.runtime.controls import never

__all__ = ["Pool", "pool_of", "pooled_features"]

# Products of entries that the pass may take: some ten seconds of one core. With more features than that allows, the
# longest ones are looked at.
_WORK = 4e11
# Neighbourhoods that are taken for each size of a support, and features in all.
_NEIGHBOURHOODS, _MOST = 48, 1200


@dataclass(frozen=True, eq=False)
class Pool:
    """The columns of a problem, the budget in their units, and the features of the pool in rising order."""

    columns: ScaledColumns
    rho: float
    k: int
    features: IntArray

    @cached_property
    def gram(self) -> FloatArray:
        """Their inner products."""
        return self.columns.gram(self.features)

    def widened(self, features: IntArray) -> "Pool":
        """Return the pool with more features."""
        return Pool(self.columns, self.rho, self.k, np.union1d(self.features, features))


# One pass serves all that is asked about a problem.
_KNOWN: "weakref.WeakKeyDictionary[Problem, Pool]" = weakref.WeakKeyDictionary()


def pool_of(problem: Problem, check: Callable[[], None] = never) -> Pool:
    """Return the pool of a problem with samples; what was made for it once is kept as long as the problem is."""
    pool = _KNOWN.get(problem)
    if pool is None:
        columns = ScaledColumns(problem.X, problem.column_norms)
        rho = math.ldexp(problem.adversary.rho / math.sqrt(problem.n_samples), -columns.exponent)
        pool = Pool(columns, rho, problem.k, pooled_features(columns, rho, problem.k, check))
        _KNOWN[problem] = pool
    return pool


def pooled_features(columns: ScaledColumns, rho: float, k: int, check: Callable[[], None] = never) -> IntArray:
    """Return the positions of the pool, for supports of up to k features; rho in the units of the columns.

    `check` is called between blocks; what it raises passes through.
    """
    d = len(columns.squares)
    features = np.argsort(-columns.squares, kind="stable")[: max(math.isqrt(int(_WORK / columns.n)), k)]
    if len(features) <= _MOST:
        return np.sort(features)
    sizes, places = _neighbours(columns, features, min(k, d), check)
    lengths = np.sqrt(np.maximum(columns.squares[features], 1e-300))
    worths = np.maximum(sizes / lengths[:, None] - rho, 0.0) ** 2
    totals = np.cumsum(worths, axis=1)
    chosen: dict[int, None] = {}
    wanted = {1, 2, 3, 5, k} | {k // 2, k // 4} - {0}
    for q in sorted((q for q in wanted if q <= totals.shape[1]), reverse=True):
        covered = np.zeros(len(features), dtype=np.bool_)
        taken = 0
        for row in np.argsort(-totals[:, q - 1], kind="stable")[: 64 * _NEIGHBOURHOODS]:
            if covered[row]:
                continue
            near = places[row, :q]
            covered[near] = True
            chosen.update(dict.fromkeys(places[row, : min(q + 4, places.shape[1])].tolist()))
            taken += 1
            if taken == _NEIGHBOURHOODS or len(chosen) >= _MOST:
                break
    return np.sort(features[list(chosen)[:_MOST]])


def _neighbours(
    columns: ScaledColumns, features: IntArray, k: int, check: Callable[[], None]
) -> tuple[FloatArray, IntArray]:
    """Return the k + 4 largest inner products of each feature, itself among them, and whose they are."""
    from noap.heuristics.kernels.neighbours import keep_largest  # loads Numba, which `import noap` should not

    count = min(k + 4, len(features))
    sizes = np.full((len(features), count), -1.0, dtype=np.float32)
    places = np.zeros((len(features), count), dtype=np.int64)
    for i, j, G in columns.products(features):
        check()
        keep_largest(G, False, i, j, sizes, places)
        if i != j:
            keep_largest(G, True, j, i, sizes, places)
    return sizes, places
