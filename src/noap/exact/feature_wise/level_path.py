"""The optima of 1, 2, 3, ... features of one problem, each level proved with what those before it prove."""

from collections.abc import Callable

import numpy as np

from noap.exact.feature_wise.attempt import Attempt
from noap.exact.feature_wise.chain import Chain
from noap.exact.feature_wise.instance import GramInstance
from noap.exact.feature_wise.meter import Meter
from noap.exact.outcome import SearchOutcome, TracePoint
from noap.linalg.types import FloatArray
from noap.linalg.vectors import unit
from noap.problem import Problem
from noap.result import Limit
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["GramLevelPath"]


class GramLevelPath:
    """What is known of a problem level by level; the levels are to be proved in rising order.

    Parameters
    ----------
    problem : Problem
        With the largest number of features.
    """

    def __init__(self, problem: Problem) -> None:
        self.chain = Chain(GramInstance.of(problem))

    def prove(
        self,
        problem: Problem,
        controls: Controls,
        v: FloatArray,
        limits: Limits,
        report: Callable[[TracePoint, int], None] | None = None,
    ) -> SearchOutcome:
        """Prove the optimum of the same problem with fewer features, or as many, as far as the limits allow."""
        chain = self.chain
        k = min(problem.k, chain.instance.k)
        incumbent = chain.incumbent(k)
        incumbent.offer(chain.instance.inside(v))
        trace: list[TracePoint] = []

        def bound() -> float:
            return chain.instance.outward(min(attempt.bound, float(chain.below[k])))

        def note(features_left: int) -> None:
            trace.append(TracePoint(controls.seconds, incumbent.worth * chain.instance.unit, bound(), meter.nodes))
            if report is not None:
                report(trace[-1], features_left)

        meter = Meter(controls, limits, note)
        attempt = Attempt(chain.at(k), incumbent, controls.gap, meter)
        try:
            for _ in attempt.turns():
                if meter.stopped():
                    break
        except KeyboardInterrupt:
            controls.limit = Limit.INTERRUPTED
        chain.take(attempt)
        note(0)
        found = np.zeros(problem.n_features)
        found[chain.instance.features] = incumbent.v
        proof = chain.proof(k) if limits.keep_proof else None
        return SearchOutcome(unit(found), bound(), meter.nodes, controls.limit, tuple(trace), proof)
