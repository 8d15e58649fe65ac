r"""A few hundred features in which the best supports of a large problem are likely to lie.

The pair :math:`u = a_j/\|a_j\|` and its k largest :math:`|a_i^\top u|` is worth something for every feature j: one
blocked pass over X'X scores them all. The pool holds the neighbours of features with high scores, no two of them out of
the same neighbourhood.
"""

import contextlib
import math
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noap.adversaries import FeatureWise
from noap.heuristics.scaled_terms import ScaledTerms, scaled_columns, scaled_terms
from noap.linalg.blocked import ScaledColumns, single_product
from noap.linalg.device.neighbours import nearest_columns
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.runtime.controls import never
from noap.runtime.workers import HERE, Pass, Tell, Workers, block_pairs, nobody, pairs_of_blocks

__all__ = ["Pool", "pool_of", "pooled_features"]

# Products of entries that the pass may take: some ten seconds of one core. With more features than that allows, the
# longest ones are looked at.
_WORK = 4e11
# The same on an accelerator: half a second of one.
_WORK_ON_DEVICE = 2e14
# Neighbourhoods that are taken for each size of a support, and features in all.
_NEIGHBOURHOODS, _MOST = 48, 1200
# Neighbourhoods that are looked at again, for each size of a support, where not all features were looked at.
_HOPEFUL = 192


@dataclass(frozen=True, eq=False)
class Pool:
    """The columns of a problem, budgets and costs in their units, and the features of the pool in rising order."""

    columns: ScaledColumns
    terms: ScaledTerms
    k: int
    features: IntArray

    @cached_property
    def gram(self) -> FloatArray:
        """Their inner products."""
        return self.columns.gram(self.features)

    def widened(self, features: IntArray) -> "Pool":
        """Return the pool with more features."""
        return Pool(self.columns, self.terms, self.k, np.union1d(self.features, features))

    @property
    def adversary(self) -> FeatureWise:
        """The budgets of its features: a number if all have the same."""
        return FeatureWise(self.terms.rho[0] if self.terms.is_even else self.terms.rho[self.features])

    @property
    def costs(self) -> "FloatArray | None":
        """The costs of its features."""
        return None if self.terms.costs is None else self.terms.costs[self.features]


# One pass serves all that is asked about a problem.
_KNOWN: "weakref.WeakKeyDictionary[Problem, Pool]" = weakref.WeakKeyDictionary()


def pool_of(problem: Problem, check: Callable[[], None] = never, workers: Workers = HERE, tell: Tell = nobody) -> Pool:
    """Return the pool of a problem with samples; what was made for it once is kept as long as the problem is."""
    pool = _KNOWN.get(problem)
    if pool is None:
        columns = scaled_columns(problem)
        terms = scaled_terms(problem, columns.exponent)
        pool = Pool(columns, terms, problem.k, pooled_features(columns, terms, problem.k, check, workers, tell))
        _KNOWN[problem] = pool
    return pool


def pooled_features(
    columns: ScaledColumns,
    terms: ScaledTerms,
    k: int,
    check: Callable[[], None] = never,
    workers: Workers = HERE,
    tell: Tell = nobody,
) -> IntArray:
    """Return the positions of the pool, for supports of up to k features.

    `check` is called between blocks; what it raises passes through. The blocks are shared among the workers,
    and `tell` hears how many pairs are scanned, and of how many.
    """
    order = np.argsort(-columns.squares, kind="stable")
    if not terms.is_plain:
        # The longest of those that can be worth something.
        some = terms.worths(np.sqrt(columns.squares)) > 0
        order = order[some[order]] if some.any() else order
    features = order[: max(math.isqrt(int(_WORK / columns.n)), k)]
    if len(features) <= _MOST:
        return np.sort(features)
    if columns.on_device is not None:
        features, (sizes, places) = order, _nearest_on_device(columns, order, k, check, tell)
    else:
        sizes, places = _neighbours(columns, features, min(k, len(order)), check, workers, tell)
    own = np.arange(len(sizes))
    scored, places = _scored(columns, features[own], features, sizes, places, terms)
    if len(features) < len(order):
        # Some were looked at with some. The best of them once more, with all.
        hopeful = [own[row] for q in _wanted(k, scored) for row in _apart(own, scored, places, q, _HOPEFUL)]
        own, features = np.unique(hopeful), order
        sizes, places = _all_neighbours(columns, order[own], order, sizes.shape[1], check)
        scored, places = _scored(columns, order[own], order, sizes, places, terms)
    chosen: dict[int, None] = {}
    for q in _wanted(k, scored):
        for row in _apart(own, scored, places, q, _NEIGHBOURHOODS):
            near = places[row]
            chosen.update(dict.fromkeys(near[: q + 4].tolist()))
            if len(chosen) >= _MOST:
                break
    return np.sort(features[list(chosen)[:_MOST]])


def _nearest_on_device(
    columns: ScaledColumns, order: IntArray, k: int, check: Callable[[], None], tell: Tell
) -> "tuple[FloatArray, npt.NDArray[np.int32]]":
    """Return the largest inner products of the longest features with all of them, and whose they are."""
    device, d = columns.on_device, len(order)
    assert device is not None
    work = _WORK_ON_DEVICE if device.library.accelerates else _WORK
    some = min(max(int(work / columns.n / d), _MOST), d)

    def step(done: int) -> None:
        check()
        tell(done * d, some * d)

    longest = math.sqrt(float(columns.squares.max()) * columns.n) / columns.share
    sizes, places = nearest_columns(device, order, longest * (1 + 1e-9), some, min(k + 4, d), step)
    return sizes * (columns.share**2 / columns.n), places.astype(np.int32)


def _scored(
    columns: ScaledColumns,
    own: IntArray,
    features: IntArray,
    sizes: FloatArray,
    places: "npt.NDArray[np.int32]",
    terms: ScaledTerms,
) -> "tuple[FloatArray, npt.NDArray[np.int32]]":
    """Return what each feature is worth with its best neighbours: alone, with one of them, two of them, ...

    And the places of these among the features: the most worthy first, which need not be the nearest.
    """
    lengths = np.sqrt(np.maximum(columns.squares[own], 1e-300))
    worths = terms.worths(sizes / lengths[:, None], features[places])
    if not terms.is_plain:
        order = np.argsort(-worths, axis=1, kind="stable")
        worths, places = np.take_along_axis(worths, order, axis=1), np.take_along_axis(places, order, axis=1)
    totals: FloatArray = np.cumsum(worths, axis=1)
    return totals, places


def _wanted(k: int, scored: FloatArray) -> list[int]:
    """Return the sizes of supports for which neighbourhoods are taken, largest first."""
    return sorted((q for q in {1, 2, 3, 5, k} | {k // 2, k // 4} - {0} if q <= scored.shape[1]), reverse=True)


def _apart(own: IntArray, scored: FloatArray, places: "npt.NDArray[np.int32]", q: int, most: int) -> Iterator[int]:
    """Yield the rows that are worth most with q features; no feature of `own` that is near one before it."""
    covered: set[int] = set()
    taken = 0
    for row in np.argsort(-scored[:, q - 1], kind="stable")[: 64 * most].tolist():
        if int(own[row]) in covered:
            continue
        covered.update(places[row, :q].tolist())
        yield row
        taken += 1
        if taken == most:
            return


def _all_neighbours(
    columns: ScaledColumns, some: IntArray, features: IntArray, count: int, check: Callable[[], None]
) -> "tuple[FloatArray, npt.NDArray[np.int32]]":
    """Return the largest inner products of some features with all, and whose they are."""
    from noap.heuristics.kernels.neighbours import keep_largest

    sizes = np.full((len(some), count), -1.0, dtype=np.float32)
    places = np.zeros((len(some), count), dtype=np.int32)
    left = columns.single(some)
    for start in range(0, len(features), columns.width):
        check()
        right = columns.single(features[start : start + columns.width])
        keep_largest(single_product(left, right), False, start, sizes, places)
    return sizes, places


def _neighbours(
    columns: ScaledColumns,
    features: IntArray,
    k: int,
    check: Callable[[], None],
    workers: Workers,
    tell: Tell = nobody,
) -> "tuple[FloatArray, npt.NDArray[np.int32]]":
    """Return the k + 4 largest inner products of each feature, itself among them, and whose they are."""
    from noap.heuristics.kernels.neighbours import merge_largest  # loads Numba, which `import noap` should not

    count, width = min(k + 4, len(features)), columns.width
    sizes = np.full((len(features), count), -1.0, dtype=np.float32)
    places = np.zeros((len(features), count), dtype=np.int32)
    pairs, done = block_pairs(-(-len(features) // width)), 0

    def given(i: int, j: int) -> "tuple[int, FloatArray, FloatArray | None]":
        # What is no larger than the least that was kept when this is handed out is not kept later either.
        least = [sizes[a * width : (a + 1) * width, -1].copy() for a in (i, j)]
        return count, least[0], None if i == j else least[1]

    task = Pass(_nearest, lambda i: columns.single(features[i * width : (i + 1) * width]), given, pairs)
    with contextlib.closing(workers.answers(task, check)) as answers:
        for (i, j), found in zip(pairs, answers, strict=True):
            check()
            for a, b, one in zip((i, j), (j, i), found, strict=False):
                here = slice(a * width, (a + 1) * width)
                one.places[one.places >= 0] += b * width
                merge_largest(one.sizes, one.places, sizes[here], places[here])
            done += pairs_of_blocks(len(features), width, i, j)
            tell(done, len(features) * (len(features) - 1) // 2)
    return sizes, places


class _Nearest(NamedTuple):
    """The largest products of some features, and whose they are; -1 for nobody's."""

    sizes: FloatArray
    places: "npt.NDArray[np.int32]"


def _nearest(left: FloatArray, right: FloatArray, given: "tuple[int, FloatArray, FloatArray | None]") -> list[_Nearest]:
    """Return what is largest for the features of the left block and, if it is another one, those of the right."""
    from noap.heuristics.kernels.neighbours import keep_largest

    count, *least = given
    G, found = single_product(left, right), []
    for transposed, own in zip((False, True), least, strict=True):
        if own is None:
            continue
        sizes = np.repeat(own[:, None], count, axis=1)
        one = _Nearest(sizes, np.full(sizes.shape, -1, dtype=np.int32))
        keep_largest(G, transposed, 0, one.sizes, one.places)
        found.append(one)
    return found
