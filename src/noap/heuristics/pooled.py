"""Ascent where X'X is too large to form: on the inner products of a pool of features, then a look at all of them."""

from collections.abc import Callable, Iterator

import numpy as np

from noap.heuristics.ascent import Funnel, search
from noap.heuristics.batch import Batch, truncate
from noap.heuristics.climb_on_device import outside_on_device
from noap.heuristics.climber import Climber
from noap.heuristics.measured import MeasuredVectors
from noap.heuristics.oracle import GramOracle
from noap.heuristics.pool import Pool
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.controls import never

__all__ = ["pooled_ascent"]

# How often features from outside are added to the pool; by how many vectors, and how many by each, for every feature of
# a support.
_ROUNDS, _LOOKING, _ADDED = 4, 8, 2


def pooled_ascent(
    pool: Pool,
    k: int,
    rng: np.random.Generator,
    funnel: Funnel,
    starts: "list[tuple[IntArray, FloatArray]] | None" = None,
    check: Callable[[], None] = never,
) -> "Iterator[tuple[IntArray, FloatArray]]":
    """Yield ever better vectors of at most k features, as positions and weights, the last one being the answer.

    Parameters
    ----------
    pool : Pool
    starts : list of (positions, weights), optional
        Vectors to climb from as well.
    check : callable
        Called between portions of work; what it raises passes through.
    """
    given = [places for places, _ in starts or []]
    pool = pool.widened(np.concatenate([np.empty(0, dtype=np.int64), *given]))
    best: MeasuredVectors | None = None
    for number in range(_ROUNDS):
        size = min(k, len(pool.features))
        climber = Climber(GramOracle(pool.gram, pool.adversary, pool.costs), size)
        runs: list[list[MeasuredVectors] | None] = [None] if best is None else [[climber.measured(best.batch)]]
        if number == 0 and starts:
            runs.append([_seeds(climber, pool, starts, size)])
        for seeds in runs:
            for found in search(climber, size, rng, funnel, seeds):
                check()
                best = found if best is None else best.joined(found).best(funnel.polish)
                yield _whole(pool, best)
        assert best is not None
        best = _distinct(best)[:_LOOKING]
        on_device = pool.columns.on_device is not None and pool.terms.is_plain
        added = outside_on_device(pool, best.batch, check) if on_device else _outside(pool, best)
        if len(added) == 0:
            return
        wider = pool.widened(added)
        best = MeasuredVectors(_renumbered(best.batch, pool.features, wider.features), best.distances)
        pool = wider


def _distinct(vectors: MeasuredVectors) -> MeasuredVectors:
    """Return the best vector of every support, best first."""
    _, first = np.unique(vectors.batch.keys(), return_index=True)
    return vectors[np.sort(first)]


def _seeds(climber: Climber, pool: Pool, starts: "list[tuple[IntArray, FloatArray]]", k: int) -> MeasuredVectors:
    rows = np.zeros((len(starts), len(pool.features)))
    for row, (places, weights) in zip(rows, starts, strict=True):
        row[np.searchsorted(pool.features, places)] = weights
    return climber.measured(truncate(rows, k).alive())


def _whole(pool: Pool, best: MeasuredVectors) -> tuple[IntArray, FloatArray]:
    v = best.batch.first(len(pool.features))
    support = np.flatnonzero(v)
    return pool.features[support], v[support]


def _outside(pool: Pool, vectors: MeasuredVectors) -> IntArray:
    """Return the features outside the pool that pull at one of the vectors harder than the weakest of its own."""
    batch, k = vectors.batch, vectors.batch.indices.shape[1]
    used = np.unique(batch.indices)
    weights = np.zeros((len(used), len(batch)))
    for column in range(len(batch)):
        weights[np.searchsorted(used, batch.indices[column]), column] = batch.weights[column]
    pulled = _strengths(pool, pool.features[used], weights)
    within = pulled[pool.features[batch.indices].ravel(), np.repeat(np.arange(len(batch)), k)].reshape(-1, k)
    pulled[pool.features] = 0.0
    count = min(_ADDED * k, len(pulled))
    strongest = np.argpartition(-pulled, count - 1, axis=0)[:count]
    # A feature that pulls less than the weakest of the support does not enter in one step.
    enough = np.take_along_axis(pulled, strongest, axis=0) > within.min(axis=1)[None, :]
    return np.unique(strongest[enough])


def _strengths(pool: Pool, used: IntArray, weights: FloatArray) -> FloatArray:
    """Return how hard each feature pulls at each vector; with budgets or costs of its own, what it is worth there."""
    pulled = pool.columns.loadings(used, weights)
    if pool.terms.is_plain:
        return np.abs(pulled)
    energy = np.sqrt(np.maximum((pulled[used] * weights).sum(axis=0), 1e-300))
    worths = pool.terms.worths(np.abs(pulled / energy).T).T
    worths[pool.columns.squares == 0.0] = 0.0
    return worths


def _renumbered(batch: Batch, before: IntArray, after: IntArray) -> Batch:
    return Batch(np.searchsorted(after, before[batch.indices]), batch.weights)
