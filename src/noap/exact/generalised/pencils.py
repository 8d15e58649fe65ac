"""The optimum of a problem with groups of features whose form was shifted by the metric."""

import numpy as np

from noap.data.pencil import Pencil
from noap.exact.generalised.robust import RobustSearch
from noap.exact.prove import prove
from noap.heuristics.generalised.ascent import metric_ascent
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.result import Result, zero_result
from noap.runtime.controls import Controls, Stopped
from noap.runtime.limits import Limit, Limits

__all__ = ["best_in_groups"]


def best_in_groups(problem: Problem, controls: Controls, *, exact: bool = True, less: float = 0.0) -> Result:
    """Ascend, then prove if asked to; the bound is infinite otherwise.

    The gap of the controls is one of the value less a number, which is what counts where the form was shifted by so
    many times the metric.
    """
    assert problem.groups is not None
    if problem.optimum_is_zero:
        return zero_result(problem, "exact", controls.gap)
    pencil = Pencil.of(problem)
    w: FloatArray = np.eye(1, len(pencil.B))[0]
    check = controls.within(0.3)
    try:
        for better in metric_ascent(pencil, controls.rng, check):
            w = better
            check()
    except Stopped:
        pass
    except KeyboardInterrupt:
        controls.limit = Limit.INTERRUPTED
    if not exact or controls.limit is Limit.INTERRUPTED:
        return Result(problem, "ascent", pencil.outside(w), limit=controls.limit, seconds=controls.seconds)
    worth = pencil.worth(w)
    if less > 0 and worth > 0:
        controls.gap *= max(worth - less, 1e-3 * worth) / worth
    found = RobustSearch(pencil, controls, Limits(keep_proof=True), w / pencil.length(w), prove).run()
    return Result(
        problem,
        "exact",
        found.v,
        bound=found.bound,
        bound_proof="rigorous" if np.isfinite(found.bound) else None,
        limit=found.limit,
        nodes=found.nodes,
        seconds=controls.seconds,
        asked_gap=controls.gap,
        trace=found.trace,
        proof=found.proof,
    )
