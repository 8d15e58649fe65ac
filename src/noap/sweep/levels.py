"""The levels of a k-path, one after the other: each from what the one below found, within its share of the time."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from noap.linalg.types import FloatArray
from noap.methods import is_for_the_tree, run_exact, unfinished
from noap.problem import Problem
from noap.result import Limit, Result, zero_result
from noap.runtime.controls import Controls
from noap.runtime.counting import CountLine
from noap.runtime.interrupts import raising_interrupts
from noap.runtime.limits import Limits
from noap.sweep.point import improved

__all__ = ["solved_levels"]


def solved_levels(
    problem: Problem,
    ks: Sequence[int],
    controls: Controls,
    limits: Limits,
    seed: int,
    known: Mapping[int, Result],
) -> Iterator[tuple[int, Result]]:
    """Solve the problem with each number of features, in rising order.

    Parameters
    ----------
    problem : Problem
        The data and the adversary; its own k does not matter.
    ks : sequence of int
        Rising, from 1 to the number of features.
    controls : Controls
        Of the whole path: the gap of every level, the time of all of them. What is left of it is shared evenly among
        the levels to come, so that an open level costs the others nothing and a quick one leaves them more.
    limits : Limits
        Of every level.
    seed : int
        Of the random starts of every level, as in `solve`.
    known : mapping from k to Result
        What earlier rounds found: more vectors to start from.

    Yields
    ------
    k, result
        The value is never below that of the level before. An interrupted level is the last one.
    """
    starts: list[FloatArray] = []
    count = CountLine("level", len(ks), controls.progress)
    for place, k in enumerate(ks):
        # From the problem of the level below, not from the first one: what that level computed from the data is shared.
        problem = problem.with_sparsity(k)
        if k in known:
            starts.append(known[k].v)
        with count:
            result = _level(problem, controls, limits, seed, starts, len(ks) - place)
            count.step()
        starts = [result.v]
        yield k, result
        if result.limit is Limit.INTERRUPTED:
            return


def _level(
    problem: Problem,
    controls: Controls,
    limits: Limits,
    seed: int,
    starts: list[FloatArray],
    left: int,
) -> Result:
    if problem.optimum_is_zero:
        return zero_result(problem, "exact", controls.gap)
    own = Controls(controls.gap, controls.share(left), np.random.default_rng(seed), controls.progress)
    own.label = f"k = {problem.k}"
    begun = own.started
    # Ascent from the vector below fills the free place with the feature that pulls hardest, and goes on from there.
    start = improved(problem, np.array(starts)) if starts else None
    try:
        with contextlib.nullcontext() if is_for_the_tree(problem, limits.settings) else raising_interrupts():
            result = run_exact(problem, own, limits, start)
    except KeyboardInterrupt:
        result = unfinished(problem, "exact", controls.gap, start)
    controls.started += own.started - begun  # compiling counts against no limit
    return result
