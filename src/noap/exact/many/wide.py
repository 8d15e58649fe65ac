"""Which search proves a problem with samples of many features: the one for many features, then perhaps that on X'X."""

from collections.abc import Callable
from dataclasses import replace

from noap.exact.feature_wise.search import solve_gram
from noap.exact.many.search import solve_many
from noap.exact.outcome import SearchOutcome
from noap.linalg.types import FloatArray
from noap.metrics import gap
from noap.problem import Problem
from noap.result import Limit
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["MOST_GRAM_FEATURES", "solve_wide"]

MOST_GRAM_FEATURES = 6000
"""Beyond this X'X is not formed: with it the search takes a gigabyte here."""

# The share of the time after which the search on X'X has its turn, where it may: what it closes it closes in seconds.
_SHARE = 0.25


def solve_wide(
    problem: Problem,
    controls: Controls,
    v: FloatArray,
    limits: Limits,
    report: Callable[..., None] | None = None,
) -> SearchOutcome:
    """Prove the optimum to the gap of the controls, or as far as the limits allow; as `solve_gram` does.

    Where the pairs that fit together are few, the search for many features is far better. Where they are not it proves
    little, and what is left of the time goes to the search on X'X, unless that is too large.
    """
    if problem.n_features > MOST_GRAM_FEATURES:
        return solve_many(problem, controls, v, limits, report)
    first = controls.time_limit if controls.time_limit is None else _SHARE * controls.time_limit
    part = replace(controls, time_limit=first)
    outcome = solve_many(problem, part, v, limits, report, rounds=1)
    proved = gap(problem.value(outcome.v), outcome.bound) <= controls.gap
    if proved or part.limit not in (None, Limit.TIME):
        controls.limit = part.limit
        return outcome
    spent = limits if limits.nodes is None else replace(limits, nodes=max(limits.nodes - outcome.nodes, 1))
    again = solve_gram(problem, controls, outcome.v, spent, report)
    best = again if again.bound <= outcome.bound else replace(outcome, v=again.v, limit=again.limit)
    return replace(best, nodes=outcome.nodes + again.nodes, trace=outcome.trace + again.trace)
