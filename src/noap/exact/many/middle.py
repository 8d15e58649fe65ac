"""Which search proves a problem with samples of some hundred features and a budget: that on X'X, with a try in between.

A clear signal ends in the first nodes on X'X. Where it does not, the search for many features often needs a tenth of
the time, because a budget leaves few pairs that fit together; where they are not few, it is over soon.
"""

from collections.abc import Callable
from dataclasses import replace

from noap.exact.feature_wise.search import GramSearch
from noap.exact.many.search import solve_many
from noap.exact.outcome import SearchOutcome, TracePoint
from noap.linalg.types import FloatArray
from noap.metrics import gap
from noap.problem import Problem
from noap.result import Limit
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["solve_middle"]

# Nodes on X'X before the try; and what the try gets: nodes, and a share of the time limit if there is one. Nothing else
# depends on the clock, so that the same problem has the same proof.
_LOOK, _NODES, _SHARE = 6, 300, 0.1
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
    if problem.k > _MOST_PLACES:
        return gram.run()
    if gram.head_start(_LOOK):
        return gram.outcome()
    share = None if controls.time_limit is None else _SHARE * (controls.time_limit - controls.seconds)
    part = replace(controls, time_limit=None if share is None else controls.seconds + share)
    left = _NODES if limits.nodes is None else min(_NODES, max(limits.nodes - gram.meter.nodes, 1))
    many = solve_many(problem, part, gram.vector, replace(limits, nodes=left), report, rounds=1)
    gram.meter.nodes += many.nodes
    gram.incumbent.offer(gram.instance.inside(many.v))
    closed = gap(problem.value(many.v), many.bound) <= controls.gap
    if closed or part.limit is Limit.INTERRUPTED:
        controls.limit = None if closed else part.limit
        again = gram.outcome()
    else:
        again = gram.run()
    better = many if many.bound < again.bound else again
    return replace(better, v=again.v, nodes=again.nodes, limit=again.limit, trace=_merged(many.trace, again.trace))


def _merged(*traces: tuple[TracePoint, ...]) -> tuple[TracePoint, ...]:
    """Return the points of all searches in the order of time, each with the best that was known by then."""
    merged: list[TracePoint] = []
    for point in sorted((one for trace in traces for one in trace), key=lambda one: one.seconds):
        last = merged[-1] if merged else point
        merged.append(
            replace(
                point,
                value=max(point.value, last.value),
                bound=min(point.bound, last.bound),
                nodes=max(point.nodes, last.nodes),
            )
        )
    return tuple(merged)
