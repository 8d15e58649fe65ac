"""The exact search for the adversaries that leave (|Xv| - rho |v|_1)_+: vanilla and feature-wise.

Two refutations share the work. The first goes straight for the asked gap; most problems end there. If it takes long, a
ladder of coarser gaps runs beside it, so that whatever stops the search, the last finished rung is a proved bound for
the whole problem.
"""

from collections.abc import Callable

import numpy as np

from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.kernels.semidefinite import MOST
from noap.exact.feature_wise.ladder import Ladder
from noap.exact.feature_wise.record import GramRecord
from noap.exact.feature_wise.refutation import LOW, PLAIN, THOROUGH, Manner, Refutation, Workspace
from noap.exact.outcome import SearchOutcome, TracePoint
from noap.exact.relaxation.bound import is_clear_cut
from noap.exact.relaxation.relaxation import MOST_FEATURES, Relaxation
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.certificate import Proof
from noap.proofs.feature_wise import GramProof
from noap.result import Limit
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["solve_gram"]

# Nodes that plain branching gets before the search starts again with thresholds; problems with a clear signal end
# there.
_PLAIN, _PLAIN_WORK = 128, 1e9
# Nodes before the ladder starts (or this share of the time limit, if sooner), and how long a turn is.
_HEAD_START, _HEAD_START_SHARE = 400, 0.15
TURN, TURN_WORK = 128, 1e8
# The relaxation gets this much of the work that the trees have had: it closes what no tree does, and where it does not,
# it costs no more than that.
_RELAXED = 1.0
# Roots' worth of work that the trees get before: what they close by then costs less than the relaxation would.
_PATIENCE_FOR_TREES = 512
# How many nodes with the semidefinite test the simple search may cost before it is joined by one that takes it.
_PATIENCE = 12


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
    """The race for the asked gap, the ladder beside it, and what is proved so far."""

    def __init__(
        self,
        problem: Problem,
        controls: Controls,
        v: FloatArray,
        limits: Limits,
        report: Callable[[TracePoint, int], None] | None,
    ) -> None:
        self.problem, self.controls, self.asked_gap = problem, controls, controls.gap
        self.limits, self.report = limits, report
        self.prover: GramRecord | Relaxation | None = None  # what proved the bound
        self.instance = GramInstance.of(problem)
        self.incumbent = Incumbent(self.instance, self.instance.inside(v))
        self.workspace = Workspace(self.instance)
        self.root_price = PLAIN.price(len(self.instance.norms), self.instance.k)
        # What needs no search: the k largest f(|a_j|).
        worths = np.maximum(self.instance.norms - self.instance.rho, 0.0) ** 2
        self.bound = float(np.sort(worths)[-self.instance.k :].sum()) * (1 + 1e-13)
        self.nodes, self.work = 0, 0.0
        self.trace: list[TracePoint] = []
        self.racers: list[Refutation] = []  # for the asked gap
        self.ladder = Ladder(self)

    def run(self) -> SearchOutcome:
        """Prove as much as the limits allow."""
        try:
            self._note()
            self._prove()
        except KeyboardInterrupt:
            self.controls.limit = Limit.INTERRUPTED
        v = np.zeros(self.problem.n_features)
        v[self.instance.features] = self.incumbent.v
        self._note()
        return SearchOutcome(
            v / np.linalg.norm(v),
            self._reported_bound(),
            self.nodes,
            self.controls.limit,
            tuple(self.trace),
            self._proof(),
        )

    def _proof(self) -> Proof | None:
        if not self.limits.keep_proof:
            return None
        if self.prover is None:
            return GramProof.trivial(self._reported_bound())
        if isinstance(self.prover, Relaxation):
            return self.prover.proof(self.instance.features, self.instance.unit)
        return self.prover.proof(self.instance)

    def _prove(self) -> None:
        plain = self.refutation(self.asked_gap, PLAIN)
        self.racers = [plain]
        self.advance(plain, _PLAIN, _PLAIN_WORK)
        if plain.done:
            self.proved(plain)
            return
        if self.instance.rho > 0:
            # Plain branching is not enough: start again with thresholds, which cope with many near-tied features. At
            # rho = 0 every feature with s_j > 0 counts: there is nothing for a threshold to tell apart.
            self.racers = [self.refutation(self.asked_gap, LOW)]
        relaxation = self._relaxation()
        while not self.stopped():
            if relaxation is not None and self._relaxed(relaxation):
                return
            self._join()
            running = [one for one in self.racers if one.stack]
            racer = min(running, key=lambda one: one.work, default=None)
            if racer is not None:
                self.advance(racer, TURN)
                if racer.done:
                    self.proved(racer)
                    return
                if racer is not running[-1] or not self._late():
                    continue
            if self.ladder.turn(self.racers[-1].manner, last_hope=racer is None):
                return

    def _relaxation(self) -> Relaxation | None:
        """Return the relaxation in the l1 norm, None where it costs too much or cannot be handed over as a proof."""
        instance = self.instance
        m = len(instance.norms)
        # At rho = 0 the search with the semidefinite test has the same relaxation at every node.
        if instance.k < 2 or m > MOST_FEATURES or (instance.rho == 0 and m <= MOST):
            return None
        if not is_clear_cut(self.problem, instance):
            return None
        return Relaxation(instance.A, instance.rho, instance.k)

    def _relaxed(self, relaxation: Relaxation) -> bool:
        """Give the relaxation its share of the work; returns whether it proves the asked gap."""
        share = _RELAXED * (self.work - _PATIENCE_FOR_TREES * self.root_price)
        while relaxation.work <= share and not relaxation.done and not self.controls.expired():
            relaxation.advance()
            if relaxation.bound < self.bound:
                self.bound, self.prover = relaxation.bound, relaxation
                self._note()
            if self.bound <= self.incumbent.target(self.asked_gap):
                return True
        return False

    def _join(self) -> None:
        """Let another manner race for the asked gap where it is, or may be, the better one."""
        if len(self.racers) > 1:
            return
        (racer,), favourite, d, k = self.racers, self.ladder.favourite, len(self.instance.norms), self.instance.k
        if favourite is not None and favourite != racer.manner:
            self.racers = [self.refutation(self.asked_gap, favourite)]
        elif self.instance.rho == 0 and d <= MOST and racer.work > _PATIENCE * THOROUGH.price(d, k):
            # Without an attack, the dominance test is all that can be weak. The two share the work evenly, so that the
            # worse one costs no more than the better one takes.
            self.racers.append(self.refutation(self.asked_gap, THOROUGH))

    def refutation(self, gap: float, manner: Manner) -> Refutation:
        """Return a refutation of the gap that has not begun."""
        record = GramRecord() if self.limits.keep_proof else None
        return Refutation(self.instance, self.incumbent, gap, self.workspace, manner, record)

    def advance(self, refutation: Refutation, nodes: int, work: float = TURN_WORK) -> None:
        """Give a refutation a turn of so many nodes, or so much work."""
        goal = refutation.work + work
        for _ in range(nodes):
            if not refutation.stack or refutation.work >= goal or self.stopped():
                break
            before, worked = self.incumbent.value, refutation.work
            self.nodes += refutation.advance()
            self.work += refutation.work - worked
            if self.incumbent.value > before:
                self._note()
        if self.limits.bytes is not None and self._bytes() > self.limits.bytes:
            self.controls.limit = Limit.MEMORY
        if self.report is not None:
            self.report(self._point(), refutation.features_left)

    def _bytes(self) -> int:
        """Return the memory of the work space and of everything that was begun and may go on."""
        return self.workspace.bytes + sum(one.bytes for one in (*self.racers, *self.ladder.rungs))

    def proved(self, refutation: Refutation) -> None:
        """Take the target of a refutation that is done as the bound, if it is the best so far."""
        if refutation.target < self.bound:
            self.bound, self.prover = refutation.target, refutation.record
        self._note()

    @property
    def gap(self) -> float:
        """The relative gap that is proved so far."""
        worth = self.incumbent.worth
        return (self.bound - self.instance.offset) / worth - 1 if worth > 0 else 1.0

    def _late(self) -> bool:
        limit = self.controls.time_limit
        return self.nodes >= _HEAD_START or (limit is not None and self.controls.seconds > _HEAD_START_SHARE * limit)

    def stopped(self) -> bool:
        """Whether a limit is reached."""
        if self.controls.expired():
            return True
        if self.limits.nodes is not None and self.nodes >= self.limits.nodes:
            self.controls.limit = Limit.NODES
        return self.controls.limit is not None

    def _reported_bound(self) -> float:
        return self.instance.outward(self.bound)

    def _point(self) -> TracePoint:
        value = self.incumbent.worth * self.instance.unit
        return TracePoint(self.controls.seconds, value, self._reported_bound(), self.nodes)

    def _note(self) -> None:
        self.trace.append(self._point())
