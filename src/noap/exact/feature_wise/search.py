"""The exact search for the adversaries that leave (|Xv| - rho |v|_1)_+: vanilla and feature-wise.

Two ways share the work: straight at k features, and level by level from one feature up. The first is enough for a clear
signal; the second is better by orders of magnitude where each feature of the optimum carries a good part of it.
"""

from collections.abc import Callable, Iterator

import numpy as np

from noap.exact.feature_wise.attempt import Attempt, proof_of
from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.levels import Levels
from noap.exact.feature_wise.meter import Meter
from noap.exact.outcome import SearchOutcome, TracePoint
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.feature_wise import GramProof
from noap.proofs.packing import Proof
from noap.result import Limit
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["GramSearch", "solve_gram"]

# With fewer features there is no level between the first, which needs no search, and the last.
_FEWEST = 3
# Without a budget chords are exact as they are, and floors only help the caps: the levels get a smaller share there.
_PRICE_WITHOUT_BUDGET = 3.0
# Says that a way has come to its end.
_OVER = object()


def solve_gram(
    problem: Problem,
    controls: Controls,
    v: FloatArray,
    limits: Limits,
    report: Callable[[TracePoint, int], None] | None = None,
) -> SearchOutcome:
    """Prove the optimum to the gap of the controls, or as far as the limits allow.

    Parameters
    ----------
    problem : Problem
        With the adversary FeatureWise or NoAdversary, or SampleWise without a budget, and a positive optimum.
    controls : Controls
        Gap and time limit.
    v : array of shape (d,)
        A good k-sparse unit vector to start from.
    limits : Limits
    report : callable, optional
        Told now and then where the search stands, and how many features it still considers.
    """
    return GramSearch(problem, controls, v, limits, report).run()


class GramSearch:
    """The race of the two ways, and what is proved so far."""

    def __init__(
        self,
        problem: Problem,
        controls: Controls,
        v: FloatArray,
        limits: Limits,
        report: Callable[[TracePoint, int], None] | None,
    ) -> None:
        self.problem, self.controls, self.limits, self.report = problem, controls, limits, report
        self.meter = Meter(controls, limits, self._tell)
        self.instance = GramInstance.of(problem)
        self.incumbent = Incumbent(self.instance, self.instance.inside(v))
        self.direct = Attempt(self.instance, self.incumbent, controls.gap, self.meter)
        self.levels: Levels | None = None  # begun only where the head start of the direct attack is not enough
        self.trace: list[TracePoint] = [self._point()]
        self._straight: Iterator[None] | None = None

    def run(self) -> SearchOutcome:
        """Prove as much as the limits allow."""
        try:
            self._prove()
        except KeyboardInterrupt:
            self.controls.limit = Limit.INTERRUPTED
        return self.outcome()

    def head_start(self, nodes: int = 0) -> bool:
        """Take the first turn straight at k features, or so many nodes of it; whether the search ends there.

        It does where the signal is clear.
        """
        try:
            if self._straight is None:
                self.direct.first_look, self._straight = nodes, self.direct.turns()
                next(self._straight, None)
            if self.direct.first_look > 0 and nodes == 0 and not self.direct.done:
                self.direct.first_look = 0  # what is left of the turn
                next(self._straight, None)
        except KeyboardInterrupt:
            self.controls.limit = Limit.INTERRUPTED
        return self.direct.done or self.meter.stopped()

    def outcome(self) -> SearchOutcome:
        """Return what is found and proved so far."""
        if self.levels is not None:
            self.levels.settle()
        self._note()
        return SearchOutcome(
            self.vector,
            self.reported_bound,
            self.meter.nodes,
            self.controls.limit,
            tuple(self.trace),
            self._proof() if self.limits.keep_proof else None,
        )

    @property
    def vector(self) -> FloatArray:
        """The best unit vector so far."""
        v = np.zeros(self.problem.n_features)
        v[self.instance.features] = self.incumbent.v
        return np.asarray(v / np.linalg.norm(v))

    def renew(self, controls: Controls, limits: Limits, v: FloatArray) -> None:
        """Go on under other limits, and perhaps with a better vector."""
        self.controls = self.meter.controls = controls
        self.limits = self.meter.limits = limits
        self.incumbent.offer(self.instance.inside(v))

    def _prove(self) -> None:
        """Give the way with less work behind it a turn, until one of them proves the asked gap or none goes on."""
        if self.head_start():
            return
        assert self._straight is not None  # the head start has begun it
        ways: dict[Attempt | Levels, Iterator[None]] = {self.direct: self._straight}
        if self.instance.k >= _FEWEST:
            levels = self.begin_levels()
            ways[levels] = levels.turns()
        price = 1.0 if self.instance.is_bent else _PRICE_WITHOUT_BUDGET
        while ways and not self.meter.stopped():
            way = min(ways, key=lambda one: one.work * (price if one is self.levels else 1.0))
            self.meter.held = sum(one.bytes for one in ways if one is not way)
            if next(ways[way], _OVER) is _OVER:
                del ways[way]
            if self.bound <= self.incumbent.target(self.controls.gap):
                return

    def begin_levels(self) -> Levels:
        """Begin to go level by level."""
        self.levels = Levels(self.instance, self.incumbent, self.controls.gap, self.meter)
        return self.levels

    @property
    def bound(self) -> float:
        """What is proved so far, in the units of the instance."""
        return self.direct.bound if self.levels is None else min(self.direct.bound, self.levels.bound)

    def _proof(self) -> Proof:
        instance = self.instance
        if self.levels is not None and self.levels.bound < self.direct.bound:
            return self.levels.chain.proof(instance.k)
        prover = self.direct.prover
        return GramProof.trivial(self.reported_bound) if prover is None else proof_of(prover, instance)

    @property
    def reported_bound(self) -> float:
        """What is proved so far, in the units of the problem."""
        return self.instance.outward(self.bound)

    def _tell(self, features_left: int) -> None:
        point = self._point()
        last = self.trace[-1]
        if point.value > last.value or point.bound < last.bound:
            self.trace.append(point)
        if self.report is not None:
            self.report(point, features_left)

    def _point(self) -> TracePoint:
        value = self.incumbent.worth * self.instance.unit
        return TracePoint(self.controls.seconds, value, self.reported_bound, self.meter.nodes)

    def _note(self) -> None:
        self.trace.append(self._point())
