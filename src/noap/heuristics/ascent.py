r"""Monotone alternating ascent from many starts at once, then swaps.

The robust distance is the maximum of one bilinear form in (u, v), and both half-steps have closed forms,

.. math:: u \leftarrow \mathrm{respond}(Xv), \qquad
          v \leftarrow \mathrm{normalise}(\mathrm{top}_k(\mathrm{shrink}(X^\top u))),

so no step can go down. All starts advance as the rows of one matrix. The search is a funnel: every start
takes one step and a few rounds within its support, the best distinct supports run to a fixed point, and the
best of those try to swap features, all of them at once and again until no better ones turn up.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from noap.heuristics.batch import Batch, choose
from noap.heuristics.oracle import Oracle, live_oracle
from noap.heuristics.starts import start_batches
from noap.heuristics.swaps import exchanges
from noap.linalg.types import FloatArray
from noap.linalg.vectors import unit
from noap.problem import Problem

__all__ = ["Funnel", "ascend", "ascent", "best_distinct", "search"]


@dataclass(frozen=True)
class Funnel:
    """How many vectors each stage of ascent passes on.

    Attributes
    ----------
    keep : int
        How many distinct supports run to a fixed point.
    polish : int
        How many fixed points try exchanges of features, and how many of the results go on to the next round.
    max_steps : int
        Limit on outer steps; the loop stops on its own when no support changes.
    """

    keep: int = 96
    polish: int = 12
    max_steps: int = 60


# Inner rounds per outer step: enough to rank supports, few enough to stay a small part of the cost.
_ROUNDS = 4
# Exchanges per leader that climb on, the best ones: on 200 random problems twice k of them found nothing better.
_CLIMBERS = 8
# Rounds for the vector that is returned; the loop inside stops at a fixed point.
_FINAL_ROUNDS = 2000
# A support counts as improved when its distance grows by more than rounding.
_IMPROVED = 1 + 1e-10


def ascent(problem: Problem, rng: np.random.Generator, funnel: Funnel | None = None) -> Iterator[FloatArray]:
    """Yield ever better k-sparse unit vectors of length d, the last one being the answer.

    Whoever consumes it may stop at any time and keep the last vector seen.
    """
    oracle, live = live_oracle(problem)
    for leaders in search(oracle, min(problem.k, len(live)), rng, funnel or Funnel()):
        v = np.zeros(problem.n_features)
        v[live[leaders.indices[0]]] = leaders.weights[0]
        yield unit(v)


def search(oracle: Oracle, k: int, rng: np.random.Generator, funnel: Funnel) -> Iterator[Batch]:
    """Run the funnel, yielding the leaders after every stage, best first."""
    leaders = _first_leader(oracle, k)
    yield leaders
    for batch in start_batches(oracle, k, rng):
        leaders = best_distinct(oracle, Batch.join([leaders, oracle.refine(batch, _ROUNDS)]), funnel.keep)
        yield leaders
    leaders = best_distinct(oracle, ascend(oracle, leaders, k, funnel.max_steps), funnel.polish)
    yield leaders
    tried: set[int] = set()
    for _ in range(k + 8):
        fresh = [i for i, key in enumerate(leaders.keys().tolist()) if key not in tried]
        if not fresh:
            break
        tried.update(leaders.keys().tolist())
        leaders = _swap(oracle, leaders, leaders[np.array(fresh)], k, funnel)
        yield leaders
    yield _settle(oracle, leaders[:1], k)


def _first_leader(oracle: Oracle, k: int) -> Batch:
    """Return the strongest single feature: a vector to fall back on before any start is made."""
    weights = np.zeros((1, k))
    indices = np.argsort(-oracle.column_norms, kind="stable")[:k]
    weights[0, 0] = 1.0
    order = np.argsort(indices)
    return Batch(indices[None, order], weights[:, order])


def ascend(oracle: Oracle, batch: Batch, k: int, max_steps: int) -> Batch:
    """Alternate until no support changes; rows that meet on one support are merged."""
    finished = []
    for _ in range(max_steps):
        moved = oracle.refine(choose(oracle.adversary, oracle.loadings(batch), k), _ROUNDS)
        alive = moved.weights.any(axis=1)
        # A vector that the adversary cancels has no direction to improve in: it is its own fixed point.
        settled = ~alive | (moved.indices == batch.indices).all(axis=1)
        finished += [batch[np.flatnonzero(~alive)], moved[np.flatnonzero(settled & alive)]]
        batch = moved[np.flatnonzero(~settled)]
        if len(batch) == 0:
            break
        batch = best_distinct(oracle, batch, len(batch))
    return oracle.refine(Batch.join([*finished, batch]).alive(), 2 * _ROUNDS)


def best_distinct(oracle: Oracle, batch: Batch, count: int) -> Batch:
    """Return the `count` best vectors, one per support, best first."""
    order = np.argsort(-oracle.distances(batch), kind="stable")
    _, first = np.unique(batch.keys()[order], return_index=True)
    return batch[order[np.sort(first)[:count]]]


def _distance(oracle: Oracle, single: Batch) -> float:
    return float(oracle.distances(single)[0])


def _swap(oracle: Oracle, leaders: Batch, fresh: Batch, k: int, funnel: Funnel) -> Batch:
    """Exchange one feature of every fresh leader for another, climb from the best of these, and rank all again."""
    candidates = exchanges(oracle, fresh, _ROUNDS)
    if len(candidates) == 0:
        return leaders
    candidates = best_distinct(oracle, oracle.refine(candidates, _ROUNDS), _CLIMBERS * len(fresh))
    found = ascend(oracle, candidates, k, funnel.max_steps)
    return best_distinct(oracle, Batch.join([leaders, found]), funnel.polish)


def _settle(oracle: Oracle, single: Batch, k: int) -> Batch:
    """Run one vector to the fixed point of both half-steps, to rounding."""
    for _ in range(8):
        if _distance(oracle, single) <= 0:
            break
        single = oracle.refine(single, _FINAL_ROUNDS)
        moved = ascend(oracle, single, k, 1)
        if _distance(oracle, moved) <= _IMPROVED * _distance(oracle, single):
            break
        single = moved
    return single
