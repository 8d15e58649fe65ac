"""Which search proves a problem with samples of some hundred features and a budget: that on X'X, with a try in between.

A clear signal ends in the first nodes on X'X. Where it does not, the search for many features often needs a tenth of
the time, because a budget leaves few pairs that fit together; where they are not few, it is over soon.
"""

from collections.abc import Callable
from dataclasses import replace

from noap.exact.feature_wise.search import GramSearch
from noap.exact.many.search import solve_many
from noap.exact.outcome import SearchOutcome, merged
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.result import Limit, rounding_allowance
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["solve_middle"]

# Nodes on X'X before the try; and what the try gets: nodes, and a share of the time limit if there is one. Nothing else
# depends on the clock, so that the same problem has the same proof.
_LOOK, _NODES, _SHARE = 16, 300, 0.1
# With larger supports it would spend seconds on good vectors of every level before its first node.
_MOST_PLACES = 30


def solve_middle(
    problem: Problem,
    controls: Controls,
    v: FloatArray,
    limits: Limits,
    report: Callable[..., None] | None = None,
) -> SearchOutcome:
    """Prove the optimum to the gap of the controls, or as far as the limits allow; as `solve_gram` does."""
    gram = GramSearch(problem, controls, v, limits, report)
    if problem.k > _MOST_PLACES or limits.bytes is not None:  # two searches would hold their memory at the same time
        return gram.run()
    if gram.head_start(_LOOK):
        return gram.outcome()
    share = None if controls.time_limit is None else _SHARE * (controls.time_limit - controls.seconds)
    part = replace(controls, time_limit=None if share is None else controls.seconds + share)
    left = _NODES if limits.nodes is None else min(_NODES, max(limits.nodes - gram.meter.nodes, 1))
    try:
        many = solve_many(problem, part, gram.vector, replace(limits, nodes=left), report, rounds=1)
        gram.incumbent.offer(gram.instance.inside(many.v))
    except KeyboardInterrupt:
        controls.limit = Limit.INTERRUPTED
        return gram.outcome()
    gram.meter.nodes += many.nodes
    value = problem.value(many.v)
    closed = many.bound <= value + max(controls.gap * value, rounding_allowance(value, problem.scale))
    if part.limit is Limit.INTERRUPTED:
        controls.limit = part.limit
    again = gram.outcome() if closed or controls.limit is not None else gram.run()
    better = many if many.bound < again.bound else again
    trace = merged(many.trace, again.trace)
    return replace(better, v=again.v, nodes=again.nodes, limit=again.limit, trace=trace)
