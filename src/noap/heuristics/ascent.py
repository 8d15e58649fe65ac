r"""Monotone alternating ascent from many starts at once, then swaps.

The robust distance is the maximum of one bilinear form in (u, v), and both half-steps have closed forms,

.. math:: u \leftarrow \mathrm{respond}(Xv), \qquad
          v \leftarrow \mathrm{normalise}(\mathrm{top}_k(\mathrm{shrink}(X^\top u))),

so no step can go down. (Where features cost something, top_k is taken by what each is worth after its cost, and what is
worth nothing is left out; a distance is then the root of the objective.) The search is a funnel: every start takes one
step and a few rounds within its support, the best distinct supports run to a fixed point, and the best of those try to
exchange features, all of them at once and again until no better ones turn up.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from noap.heuristics.batch import Batch
from noap.heuristics.climber import Climber
from noap.heuristics.measured import MeasuredVectors
from noap.heuristics.screened import screened_climber
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.runtime.controls import never

__all__ = ["Funnel", "ascent", "search"]

# Of the best vectors on a part of many samples so many climb on all of them, and so many of those exchange features.
_FEW, _FEWEST = 8, 2


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
    polish: int = 24
    max_steps: int = 60


def ascent(
    problem: Problem,
    rng: np.random.Generator,
    funnel: Funnel | None = None,
    check: Callable[[], None] = never,
) -> Iterator[FloatArray]:
    """Yield ever better k-sparse unit vectors of length d, the last one being the answer.

    Whoever consumes it may stop at any time and keep the last vector seen. `check` is called between portions of work
    on the samples; what it raises passes through. Of very many samples a part is looked at first, and the first vectors
    are the better ones for that part; then all samples judge.
    """
    climber, kept = screened_climber(problem, check)
    for best in _stages(climber, min(problem.k, len(kept)), rng, funnel or Funnel()):
        v = best.batch.first(len(kept))
        if not v.any():
            continue  # all that is left can be cancelled: the vector seen before is as good
        if len(kept) < problem.n_features:
            whole = np.zeros(problem.n_features)
            whole[kept] = v
            v = whole
        yield v


def _stages(climber: Climber, k: int, rng: np.random.Generator, funnel: Funnel) -> Iterator[MeasuredVectors]:
    """Run the funnel; where samples are many, on a part of them, and from its best vectors again on all."""
    part = climber.thinned(rng)
    if part is None:
        yield from search(climber, k, rng, funnel)
        return
    first = climber.measured(_strongest_feature(climber.strengths, k))
    yield first
    found: list[MeasuredVectors] = []
    for best in search(part, k, rng, funnel):
        found = [*found[-1:], best]  # the last is one vector; the one before holds the others
        yield best
    few = Funnel(min(funnel.keep, _FEW), min(funnel.polish, _FEWEST), funnel.max_steps)
    seeds = [climber.measured(best.batch[: few.keep]) for best in found[::-1]]
    yield from search(climber, k, rng, few, [*seeds, first])


def search(
    climber: Climber, k: int, rng: np.random.Generator, funnel: Funnel, seeds: list[MeasuredVectors] | None = None
) -> Iterator[MeasuredVectors]:
    """Run the funnel, yielding the best vectors after every stage; from `seeds` alone if they are given."""
    if seeds is None:
        best = climber.measured(_strongest_feature(climber.strengths, k))
        yield best
    else:
        best = seeds[0]
    pool = best
    for starts in climber.starts(rng) if seeds is None else seeds[1:]:
        pool = pool.joined(starts)
        best = pool.best(1)
        yield best
    best = _never_worse(climber.climb(pool, funnel.keep, funnel.max_steps).best(funnel.polish), best)
    yield best
    fresh = best
    for _ in range(k + 8):
        candidates = climber.exchanges(fresh)
        found = climber.climb(candidates, len(candidates), funnel.max_steps)
        best, fresh = best.merged(found, funnel.polish)
        yield best
        if len(fresh) == 0:
            break
    yield climber.to_fixed_point(best[:1])


def _strongest_feature(strengths: FloatArray, k: int) -> Batch:
    """Return the strongest single feature: a vector to fall back on before any start is made."""
    weights = np.zeros((1, k))
    indices = np.argsort(-strengths, kind="stable")[:k]
    weights[0, 0] = 1.0
    order = np.argsort(indices)
    return Batch(indices[None, order], weights[:, order])


def _never_worse(found: MeasuredVectors, before: MeasuredVectors) -> MeasuredVectors:
    """Return what was found, led by the best from before if a climb gave it up on the way to something lesser."""
    if len(found) and found.distances[0] >= before.distances[0]:
        return found
    return before[:1].joined(found)
