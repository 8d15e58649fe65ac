r"""The sparsity levels of a k-path: how each is solved from the one below, and what they prove about each other.

A direction of k features is one of k + 1, so a bound holds for every smaller k. And a direction may do without its
weakest features: :math:`\mathrm{opt}_k \le \frac kq\,\mathrm{opt}_q` for q < k, sample-wise
:math:`\sqrt{\mathrm{opt}_k} + \rho \le \sqrt{k/q}\,(\sqrt{\mathrm{opt}_q} + \rho)` (docs/k-path.md has the proofs).
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from noap.adversaries import ENERGY_LESS_L1, Adversary, SampleWise, serves
from noap.analysis.sweep import improved
from noap.linalg.types import FloatArray, IntArray
from noap.methods import run_exact, unfinished
from noap.problem import Problem
from noap.result import Limit, Result, zero_result
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits
from noap.runtime.progress import CountLine

__all__ = ["RATIO_SERVES", "implied_bounds", "solved_levels"]

# The adversaries for which one of the two inequalities is proved.
RATIO_SERVES: tuple[type[Adversary], ...] = (*ENERGY_LESS_L1, SampleWise)
# A handful of operations on numbers of one sign, each off by an ulp at most, and one difference.
_OUTWARD = 4e-15


def solved_levels(
    problem: Problem,
    ks: Sequence[int],
    controls: Controls,
    limits: Limits,
    seed: int,
    known: Mapping[int, Result],
) -> Iterator[tuple[int, Result]]:
    """Solve the problem with each number of features, in rising order, and yield k and the result.

    The remaining time of the path is shared evenly among the levels to come, so that an open level costs the others
    nothing and a quick one leaves them more. Every level starts from the vector of the level before, and from that of
    `known`, the results of earlier rounds; its value is never below that of the level before. An interrupted level is
    the last one.
    """
    starts: list[FloatArray] = []
    count = CountLine("level", len(ks), controls.progress)
    for place, k in enumerate(ks):
        # Made from the problem of the level below, which shares what it computed from the data.
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
    problem: Problem, controls: Controls, limits: Limits, seed: int, starts: list[FloatArray], left: int
) -> Result:
    if problem.optimum_is_zero:
        return zero_result(problem, "exact", controls.gap)
    own = Controls(controls.gap, controls.share(left), np.random.default_rng(seed), controls.progress)
    own.label = f"k = {problem.k}"
    begun = own.started
    # Ascent from the vector below fills the free place with the feature that pulls hardest, and goes on from there.
    start = improved(problem, np.array(starts)) if starts else None
    try:
        result = run_exact(problem, own, limits, start)
    except KeyboardInterrupt:
        result = unfinished(problem, "exact", controls.gap, start)
    controls.started += own.started - begun  # compiling counts against no limit
    return result


def implied_bounds(problem: Problem, ks: IntArray, bounds: FloatArray) -> FloatArray:
    """Return the best bounds that those of all levels, with rising k, imply: they rise, and none is above its own.

    Examples
    --------
    >>> import noap
    >>> problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary())
    >>> implied_bounds(problem, np.array([1, 2, 3]), np.array([2.0, 9.0, 5.0])).round(9)
    array([2., 4., 5.])
    """
    best: FloatArray = bounds.copy()
    if serves(RATIO_SERVES, problem.adversary) and problem.is_plain:
        for i in range(1, len(ks)):
            best[i] = min(best[i], *(_from_below(problem, int(ks[i]), int(ks[j]), float(best[j])) for j in range(i)))
    rising: FloatArray = np.minimum.accumulate(best[::-1])[::-1]
    return rising


def _from_below(problem: Problem, k: int, q: int, bound: float) -> float:
    """Return the bound for k features that one for q < k features implies."""
    rho, ratio = float(problem.adversary.rho), k / q
    if rho > 0 and not problem.adversary.gram_suffices:
        grown = math.sqrt(ratio) * (math.sqrt(bound) + rho) * (1 + _OUTWARD) - rho
        return grown**2 * (1 + _OUTWARD)
    # A given S may have negative eigenvalues, by nature or by rounding; S + cI is a Gram matrix. That raises the
    # optimum by c without a budget, and with one by what sqrt(c) adds to the distance at most.
    shift = problem.diagonal_shift
    if rho > 0:
        return ratio * (math.sqrt(bound) + math.sqrt(shift)) ** 2 * (1 + _OUTWARD)
    return ratio * (bound + shift) * (1 + _OUTWARD) - shift
