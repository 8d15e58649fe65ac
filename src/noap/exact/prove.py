"""Which search proves which adversary, and the compilation of its kernels before the clock runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noap.adversaries import (
    ENERGY_LESS_L1,
    Adversary,
    FeatureWise,
    SampleWise,
    SpectralNorm,
    require_served,
    serves,
)
from noap.errors import InvalidProblem
from noap.exact.outcome import SearchOutcome
from noap.exact.reduced import spectral_outcome
from noap.linalg.blocked import MANY_FEATURES
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.result import Limit, Result, Status
from noap.runtime.compilation import compile_once
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits
from noap.runtime.progress import SearchLine

__all__ = ["SERVES", "prove", "proved_result", "require_provable"]

# What each search is proved for (docs/exact.md); against samples only without a budget, which is no adversary.
GRAM_SERVES = ENERGY_LESS_L1
SAMPLES_SERVES = (SampleWise,)
# Those whose optimum is that of another problem (exact/reduced.py).
REDUCED_SERVES = (SpectralNorm,)
SERVES: tuple[type[Adversary], ...] = (*GRAM_SERVES, *SAMPLES_SERVES, *REDUCED_SERVES)

_ALL_THAT_DOUBLES_PROVE = (
    "Rounding in double precision leaves no smaller gap here; ask for a larger gap, or a budget further from rho_max."
)
_TOO_MANY_PAIRS = (
    "Too many pairs of features may lie in one support for the search to go on; ask for a larger gap or a smaller k."
)
# With so many features nodes on X'X are dear enough for a try without it.
_HUNDREDS = 400
# Gaps above this are not those of rounding.
_OF_ROUNDING = 1e-6


@dataclass(frozen=True)
class _SearchEntry:
    """A search, its kernels (the main one first), and what compiles them all: a search for a tiny problem."""

    solve: Callable[..., SearchOutcome]
    kernels: tuple[Any, ...]
    trial: Callable[..., SearchOutcome]


def require_provable(problem: Problem) -> None:
    """Raise InvalidProblem if no search is proved for the adversary, its budgets and the costs."""
    require_served(problem.adversary, SERVES, "Method 'exact'")
    if serves(SAMPLES_SERVES, problem.adversary) and not problem.adversary.is_idle:
        raise InvalidProblem("Attacks on samples are for the tree of the kernel, without a metric.")
    if not (serves(GRAM_SERVES, problem.adversary) or serves(SAMPLES_SERVES, problem.adversary)):
        problem.require_plain("Method 'exact'")


def has_many_features(problem: Problem) -> bool:
    """Whether the search for many features comes first."""
    large = problem.X is not None and problem.n_features > MANY_FEATURES
    return large and (problem.is_plain or serves(GRAM_SERVES, problem.adversary))


def _has_hundreds(problem: Problem) -> bool:
    """Whether the search for many features is worth a try: without a budget that on X'X is as good."""
    hundreds = problem.X is not None and problem.n_features > _HUNDREDS
    # With costs it would be made anew for every pricing problem of several components.
    return (
        hundreds and problem.costs is None and serves(GRAM_SERVES, problem.adversary) and not problem.adversary.is_idle
    )


def prove(problem: Problem, controls: Controls, v: FloatArray, limits: Limits) -> SearchOutcome:
    """Prove the optimum of a problem whose optimum is positive, starting from the k-sparse unit vector v."""
    search = _search_for(problem)
    _compile(search, controls)
    if _is_idle(problem) and not problem.adversary.has_one_budget:
        problem = problem.with_adversary(problem.adversary.simplest)  # the search on X'X knows no samples to count
    with SearchLine(controls.progress, controls.label) as line:
        return search.solve(problem, controls, v, limits, line.report)


def proved_result(
    problem: Problem,
    controls: Controls,
    v: FloatArray,
    limits: Limits,
    *,
    asked_gap: float | None = None,
) -> Result:
    """Prove the optimum as `prove` does; the result counts as optimal at `asked_gap`, or the gap of the controls."""
    gap = controls.gap if asked_gap is None else asked_gap
    if type(problem.adversary) is SpectralNorm:
        outcome = spectral_outcome(problem, controls, v, limits, prove)
    else:
        outcome = prove(problem, controls, v, limits)
    v = outcome.v
    if problem.costs is not None and not problem.value(v) > 0:
        v = np.zeros(problem.n_features)  # using no feature is worth 0
    result = Result(
        problem,
        "exact",
        v,
        bound=outcome.bound,
        bound_proof="rigorous",
        limit=outcome.limit,
        nodes=outcome.nodes,
        seconds=controls.seconds,
        asked_gap=gap,
        trace=outcome.trace,
        proof=outcome.proof,
    )
    if result.status is Status.FEASIBLE and result.limit is None:
        ended = has_many_features(problem) and result.gap > _OF_ROUNDING
        return replace(result, messages=(_TOO_MANY_PAIRS if ended else _ALL_THAT_DOUBLES_PROVE,))
    return result


def _search_for(problem: Problem) -> _SearchEntry:
    # Each search brings its own kernels: they are loaded only when needed.
    require_provable(problem)
    from noap.exact.feature_wise.kernels.node import examine
    from noap.exact.feature_wise.search import solve_gram

    if has_many_features(problem) or _has_hundreds(problem):
        from noap.exact.many.kernels.graph import elimination, neighbourhood
        from noap.exact.many.kernels.pairs import pairs_above
        from noap.exact.many.middle import solve_middle
        from noap.exact.many.wide import solve_wide
        from noap.heuristics.kernels.neighbours import keep_largest, merge_largest

        kernels = (pairs_above, examine, elimination, neighbourhood, keep_largest, merge_largest)
        search = solve_wide if has_many_features(problem) else solve_middle
        return _SearchEntry(search, kernels, solve_wide)
    return _SearchEntry(solve_gram, (examine,), solve_gram)


def _is_idle(problem: Problem) -> bool:
    """Whether the sample-wise adversary has no budget for any sample: it does nothing then, and X'X is enough."""
    return serves(SAMPLES_SERVES, problem.adversary) and problem.adversary.is_idle


def _compile(search: _SearchEntry, controls: Controls) -> None:
    """Compile the kernels if this machine has not done so yet, without counting it against the time limit."""

    def trial() -> None:
        tried = Controls.checked(1e-2, None, 0, False)
        tiny = np.array([[2.0, 1.0, 0.5], [-1.0, 1.5, 0.3], [0.2, -0.4, 1.1], [0.7, 0.1, -0.9]])
        search.trial(Problem(tiny, k=2, adversary=FeatureWise(0.5)), tried, np.array([1.0, 0.0, 0.0]), Limits())
        if tried.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt

    try:
        controls.started += compile_once(search.kernels, "the exact search", trial)
    except KeyboardInterrupt:
        controls.limit = Limit.INTERRUPTED
