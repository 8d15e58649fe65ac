"""An attempt at one number of features: race for the asked gap, a ladder of coarser gaps beside it.

The first refutation goes straight for the asked gap; most problems end there. If it takes long, a ladder of coarser
gaps runs beside it, so that whatever stops the attempt, the last finished rung is a proved bound for the whole problem.
"""

import contextlib
import math
from collections.abc import Iterator
from typing import TypeAlias

from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.kernels.semidefinite import MOST
from noap.exact.feature_wise.ladder import Ladder
from noap.exact.feature_wise.meter import Meter
from noap.exact.feature_wise.record import GramRecord
from noap.exact.feature_wise.refutation import LOW, PLAIN, THOROUGH, Manner, Refutation, Workspace
from noap.exact.relaxation.relaxation import MOST_FEATURES, Relaxation
from noap.proofs.levels import LevelProof
from noap.runtime.threads import one_thread

__all__ = ["Attempt", "Prover", "proof_of", "relaxation_of"]

Prover: TypeAlias = GramRecord | Relaxation
"""What can prove a bound."""

# Nodes that plain branching gets before the search starts again with thresholds; problems with a clear signal end
# there. With floors from lower levels thresholds are the better choice sooner.
_PLAIN, _PLAIN_OF_MANY, _PLAIN_WITH_FLOORS, _PLAIN_WORK = 128, 32, 8, 1e9
# Nodes before the ladder starts (or this share of the time limit, if sooner), and how long a turn is.
_HEAD_START, _HEAD_START_SHARE = 400, 0.15
TURN, TURN_WORK = 128, 1e8
# The relaxation gets so many times the work that the trees have had: mostly it closes what they leave open, and where
# it does not, it costs no more than that. With many features it is on a core of them and closes less: a quarter of what
# the trees have. A node of a tree takes time beside its tests: as much as so many entries.
_RELAXED, _RELAXED_CORE, _PER_NODE = 2.0, 0.25, 2000.0
# Roots' worth of work that the trees get before: what they close by then costs less than the relaxation would.
# With many features a threshold costs no more than a few nodes do.
_PATIENCE_FOR_TREES, _PATIENCE_FOR_LARGE_TREES = 128, 4
# And before anything else is begun, levels included: problems with a clear signal take a dozen nodes.
_HEAD_START_OF_LARGE_TREES = 16
# Beside the semidefinite test, which is nearly the same relaxation at every node of a tree, it begins far later, has a
# smaller share and no tree of its own: only where many features share the variance does it bring more.
_PATIENCE_BESIDE_TEST, _BESIDE_TEST = 16384, 0.2
# Bytes that it holds, for each entry of the Gram matrix.
_MATRICES = 24
# How many nodes with the semidefinite test the simple search may cost before it is joined by one that takes it.
_PATIENCE = 12


def proof_of(prover: Prover, instance: GramInstance) -> LevelProof:
    """Return what a prover proved about an instance, for the checker."""
    if isinstance(prover, Relaxation):
        return prover.proof(instance.features, instance.unit)
    return prover.proof(instance)


def relaxation_of(instance: GramInstance, branching: bool = True) -> Relaxation:
    """Return the relaxation of an instance, before its first step."""
    return Relaxation(
        instance.A,
        instance.largest_budget,
        instance.k,
        branching=branching,
        weights=instance.budget_shares,
        costs=instance.costs,
    )


class Attempt:
    """Proves bounds on the optimum of an instance, turn by turn.

    Attributes
    ----------
    bound : float
        What is proved so far, and `prover` what proved it: None for the worths of single features alone.
    work : float
        What it took, in entries of the tests.
    """

    def __init__(self, instance: GramInstance, incumbent: Incumbent, gap: float, meter: Meter) -> None:
        self.instance, self.incumbent, self.asked_gap, self.meter = instance, incumbent, gap, meter
        self.prover: Prover | None = None
        self.workspace = Workspace(instance)
        self.root_price = PLAIN.price(len(instance.norms), instance.k)
        self.bound = instance.largest_worths()
        self.work, self.nodes = 0.0, 0
        self.first_look = 0
        """Nodes after which it pauses for the first time, in the middle of the first turn."""
        self.racers: list[Refutation] = []  # for the asked gap
        self.relaxation: Relaxation | None = None
        self.ladder = Ladder(self)

    @property
    def gap(self) -> float:
        """The relative gap that is proved so far."""
        worth = self.incumbent.worth
        return (self.bound - self.instance.offset) / worth - 1 if worth > 0 else 1.0

    @property
    def done(self) -> bool:
        """Whether the asked gap is proved."""
        return self.bound <= self.incumbent.target(self.asked_gap)

    def turns(self) -> Iterator[None]:
        """Prove as much as the limits allow; pauses after every turn."""
        plain = self.refutation(self.asked_gap, PLAIN)
        self.racers = [plain]
        if self.first_look > 0:
            self.advance(plain, self.first_look, self._head_start)
            if not plain.done:
                yield
        self.advance(plain, _PLAIN_WITH_FLOORS if len(self.instance.below) else self._plain_nodes, self._head_start)
        if plain.done:
            self.proved(plain)
            return
        yield
        if self.instance.is_bent:
            # Plain branching is not enough: start again with thresholds, which cope with many near-tied features. At
            # rho = 0 every feature with s_j > 0 counts: there is nothing for a threshold to tell apart.
            self.racers = [self.refutation(self.asked_gap, LOW)]
        while not self.stopped():
            if self._relaxed():
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
                    yield
                    continue
            if self.ladder.turn(self.racers[-1].manner, last_hope=racer is None):
                return
            yield

    @property
    def _plain_nodes(self) -> int:
        """How many nodes plain branching gets; with many features a clear signal needs no more, and nodes are dear."""
        return _PLAIN_OF_MANY if self._by_thresholds and self.instance.is_bent else _PLAIN

    @property
    def _head_start(self) -> float:
        """The work of the first turn. Without a budget it goes on later where it stopped: thresholds need not wait."""
        waiting = not self.instance.is_bent and self._by_thresholds
        return min(_HEAD_START_OF_LARGE_TREES * self.root_price, _PLAIN_WORK) if waiting else _PLAIN_WORK

    @property
    def _by_thresholds(self) -> bool:
        return len(self.instance.norms) > MOST_FEATURES

    def _is_relaxable(self) -> bool:
        """Whether the relaxation in the l1 norm costs little enough and can be handed over as a proof."""
        instance, m = self.instance, len(self.instance.norms)
        # Thresholds do not see costs.
        blind = instance.has_costs and m > MOST_FEATURES
        limit = self.meter.limits.bytes
        fits = limit is None or self.meter.held + self.bytes + _MATRICES * m * m <= limit
        return instance.k >= 2 and not blind and instance.is_relaxable and instance.clear_cut and fits

    @property
    def _has_test(self) -> bool:
        """Whether the search takes the semidefinite test, sooner or later, and that sees all; costs it does not see."""
        instance = self.instance
        return instance.largest_budget == 0 and len(instance.norms) <= MOST and not instance.has_costs

    def _relaxed(self) -> bool:
        """Give the relaxation its share of the work; returns whether it proves the asked gap."""
        patience, share = _PATIENCE_FOR_TREES, _RELAXED
        if self._has_test:
            patience, share = _PATIENCE_BESIDE_TEST, _BESIDE_TEST
        elif self._by_thresholds:
            patience, share = _PATIENCE_FOR_LARGE_TREES, _RELAXED_CORE
        had = self.work + _PER_NODE * self.nodes - patience * (self.root_price + _PER_NODE)
        return had >= 0 and self.relax(share * had)

    def relax(self, share: float = math.inf) -> bool:
        """Give the relaxation so much work, or all that it wants; returns whether it proves the asked gap."""
        if not self._is_relaxable():
            return False
        if self.relaxation is None:  # it begins with two factorisations: only now
            self.relaxation = relaxation_of(self.instance, branching=not self._has_test)
        relaxation = self.relaxation
        with one_thread(len(self.instance.norms)):
            while relaxation.work <= share and not relaxation.done and not self.meter.controls.expired():
                before = relaxation.nodes
                relaxation.advance(self.incumbent.target(self.asked_gap))
                self.meter.nodes += relaxation.nodes - before
                if relaxation.bound < self.bound:
                    self.prover, self.bound = relaxation, relaxation.bound
                if self.done:
                    return True
        return False

    def _join(self) -> None:
        """Let another manner race for the asked gap where it is, or may be, the better one."""
        if len(self.racers) > 1:
            return
        (racer,), favourite, d, k = self.racers, self.ladder.favourite, len(self.instance.norms), self.instance.k
        if favourite is not None and favourite != racer.manner:
            self.racers = [self.refutation(self.asked_gap, favourite)]
        elif self.instance.largest_budget == 0 and d <= MOST and racer.work > _PATIENCE * THOROUGH.price(d, k):
            # Without an attack, the dominance test is all that can be weak. The two share the work evenly, so that the
            # worse one costs no more than the better one takes.
            self.racers.append(self.refutation(self.asked_gap, THOROUGH))

    def refutation(self, gap: float, manner: Manner) -> Refutation:
        """Return a refutation of the gap that has not begun."""
        record = GramRecord() if self.meter.limits.keep_proof else None
        return Refutation(self.instance, self.incumbent, gap, self.workspace, manner, record)

    def advance(self, refutation: Refutation, nodes: int, work: float = TURN_WORK) -> None:
        """Give a refutation a turn of so many nodes, or so much work."""
        goal = refutation.work + work
        with one_thread(len(self.instance.norms)) if refutation.manner.strong else contextlib.nullcontext():
            for _ in range(nodes):
                if not refutation.stack or refutation.work >= goal or self.stopped():
                    break
                worked, looked_at = refutation.work, refutation.advance()
                self.nodes += looked_at
                self.meter.nodes += looked_at
                self.work += refutation.work - worked
        self.meter.tell(self, refutation.features_left)

    @property
    def bytes(self) -> int:
        """The memory of the work space and of everything that was begun and may go on."""
        relaxed = 0 if self.relaxation is None else self.relaxation.bytes
        return self.workspace.bytes + relaxed + sum(one.bytes for one in (*self.racers, *self.ladder.rungs))

    def proved(self, refutation: Refutation) -> None:
        """Take the target of a refutation that is done as the bound, if it is the best so far."""
        if refutation.target < self.bound:
            # In this order: whatever interrupts between the two, the bound is one that the prover proves.
            self.prover, self.bound = refutation.record, refutation.target

    def stopped(self) -> bool:
        """Whether a limit is reached."""
        return self.meter.stopped()

    def _late(self) -> bool:
        limit = self.meter.controls.time_limit
        return self.nodes >= _HEAD_START or (
            limit is not None and self.meter.controls.seconds > _HEAD_START_SHARE * limit
        )
