"""Which search proves a problem with samples of many features: the one for many features, then perhaps that on X'X."""

from collections.abc import Callable
from dataclasses import replace

from noap.exact.feature_wise.search import GramSearch
from noap.exact.many.search import solve_many
from noap.exact.outcome import SearchOutcome, merged
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

    Where the pairs that fit together are few, the search for many features is far better. Where it takes long, the
    relaxation on X'X has a turn in between, and what is left of the time goes to the search on X'X; unless that is too
    large.
    """
    if problem.n_features > MOST_GRAM_FEATURES:
        return solve_many(problem, controls, v, limits, report)
    first = controls.time_limit if controls.time_limit is None else _SHARE * controls.time_limit
    part = replace(controls, time_limit=first)
    begun: list[GramSearch] = []

    def relaxed(best: FloatArray) -> bool:
        begun.append(GramSearch(problem, part, best, limits, report))
        return begun[0].direct.relax()

    outcome = solve_many(problem, part, v, limits, report, rounds=1, aside=relaxed)
    bound = min([outcome.bound, *(one.reported_bound for one in begun)])
    over = gap(problem.value(outcome.v), bound) <= controls.gap or part.limit not in (None, Limit.TIME)
    if over and not begun:
        controls.limit = part.limit
        return outcome
    spent = limits if limits.nodes is None else replace(limits, nodes=max(limits.nodes - outcome.nodes, 1))
    if not begun:
        begun.append(GramSearch(problem, controls, outcome.v, spent, report))
    begun[0].renew(controls, spent, outcome.v)
    if over:
        controls.limit = part.limit
    again = begun[0].outcome() if over else begun[0].run()
    best = again if again.bound <= outcome.bound else replace(outcome, v=again.v, limit=again.limit)
    return replace(best, nodes=outcome.nodes + again.nodes, trace=merged(outcome.trace, again.trace))
