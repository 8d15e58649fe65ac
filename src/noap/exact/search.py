"""The exact search for adversaries that see X only through |Xv|: vanilla and feature-wise.

Two refutations share the work. The first goes straight for the asked gap; most problems end there. If it takes long, a
ladder of coarser gaps runs beside it, so that whatever stops the search, the last finished rung is a proved bound for
the whole problem.
"""

from collections.abc import Callable

import numpy as np

from noap._controls import Controls
from noap.certificate.gram_proof import GramProof
from noap.exact.instance import GramInstance, Incumbent
from noap.exact.outcome import Outcome, TracePoint
from noap.exact.record import Record
from noap.exact.refutation import Refutation, Workspace
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.result import Limit

__all__ = ["solve_gram"]

# Nodes that plain branching gets before the search starts again with thresholds; problems with a clear signal end
# there.
_PLAIN, _PLAIN_WORK = 128, 1e9
# Nodes before the ladder starts (or this share of the time limit, if sooner), and how the two take turns.
_HEAD_START, _HEAD_START_SHARE = 400, 0.15
_TURN, _LADDER_TURN, _LADDER_TURN_FAR, _TURN_WORK = 128, 64, 192, 1e8
# A rung is far from the goal while its gap is more than this many times the asked one: then the ladder gets more turns.
_FAR = 5.0
# Every rung asks for this fraction of the gap of the one before.
_RUNG = 0.6


def solve_gram(
    problem: Problem,
    controls: Controls,
    v: FloatArray,
    *,
    node_limit: int | None = None,
    memory_limit: float | None = None,
    certificate: bool = False,
    report: Callable[[TracePoint, int], None] | None = None,
) -> Outcome:
    """Prove the optimum to the gap of the controls, or as far as the limits allow.

    Parameters
    ----------
    problem : Problem
        With an adversary for which X'X suffices, and a positive optimum.
    controls : Controls
        Gap and time limit.
    v : array of shape (d,)
        A good k-sparse unit vector to start from.
    node_limit : int, optional
    memory_limit : float, optional
        Megabytes for the search beside X'X: its work space, its open nodes and the record of its proof.
    certificate : bool
        Whether to keep the tree as a proof.
    report : callable, optional
        Told now and then where the search stands, and how many features it still considers.
    """
    return _Search(problem, controls, v, node_limit, memory_limit, certificate, report).run()


class _Search:
    def __init__(
        self,
        problem: Problem,
        controls: Controls,
        v: FloatArray,
        node_limit: int | None,
        memory_limit: float | None,
        certificate: bool,
        report: Callable[[TracePoint, int], None] | None,
    ) -> None:
        self.problem, self.controls = problem, controls
        self.node_limit, self.memory_limit, self.report = node_limit, memory_limit, report
        self.certificate = certificate
        self.record: Record | None = None  # of the refutation that proved the bound
        self.instance = GramInstance.of(problem)
        self.incumbent = Incumbent(self.instance, v[self.instance.live])
        self.workspace = Workspace(self.instance)
        # What needs no search: the k largest f(|a_j|).
        worths = np.maximum(self.instance.norms - self.instance.rho, 0.0) ** 2
        self.bound = float(np.sort(worths)[-self.instance.k :].sum()) * (1 + 1e-13)
        self.nodes = 0
        self.trace: list[TracePoint] = []

    def run(self) -> Outcome:
        try:
            self._note()
            self._prove()
        except KeyboardInterrupt:
            self.controls.limit = Limit.INTERRUPTED
        v = np.zeros(self.problem.n_features)
        v[self.instance.live] = self.incumbent.v
        self._note()
        return Outcome(
            v / np.linalg.norm(v),
            self._reported_bound(),
            self.nodes,
            self.controls.limit,
            tuple(self.trace),
            self._proof(),
        )

    def _proof(self) -> GramProof | None:
        if not self.certificate:
            return None
        if self.record is None:
            return GramProof.trivial(self._reported_bound())
        return self.record.proof(self.instance)

    def _prove(self) -> None:
        final = self._refutation(self.controls.gap, thresholds=False)
        self._advance(final, _PLAIN, _PLAIN_WORK)
        if not final.done and self.instance.rho > 0:
            # Plain branching is not enough: start again with thresholds, which cope with many near-tied features.
            final = self._refutation(self.controls.gap)
        rung: Refutation | None = None
        while not (final.done or self._stopped()):
            self._advance(final, _TURN)
            if final.done or (final.stack and not self._late()):
                continue
            rung = rung or self._first_rung()
            self._advance(rung, _LADDER_TURN_FAR if rung.gap > _FAR * self.controls.gap else _LADDER_TURN)
            if rung.done:
                before = self.bound
                self._proved(rung)
                if rung.gap <= self.controls.gap or (self.bound >= before and not final.stack):
                    return
                rung = self._next_rung()
            elif not rung.stack and not final.stack:
                return  # rounding keeps a node open in both: what is proved so far is all there is
        if final.done:
            self._proved(final)

    def _refutation(self, gap: float, thresholds: bool = True) -> Refutation:
        # At rho = 0 every feature with s_j > 0 counts: there is nothing for a threshold to tell apart.
        thresholds = thresholds and self.instance.rho > 0
        record = Record() if self.certificate else None
        return Refutation(self.instance, self.incumbent, gap, self.workspace, thresholds, record)

    def _advance(self, refutation: Refutation, turn: int, work: float = _TURN_WORK) -> None:
        goal = refutation.work + work
        for _ in range(turn):
            if not refutation.stack or refutation.work >= goal or self._stopped():
                break
            before = self.incumbent.value
            self.nodes += refutation.advance()
            if self.incumbent.value > before:
                self._note()
        if self.memory_limit is not None and self.workspace.bytes + refutation.bytes > 1e6 * self.memory_limit:
            self.controls.limit = Limit.MEMORY
        if self.report is not None:
            self.report(self._point(), refutation.features_left)

    def _first_rung(self) -> Refutation:
        """Halve the gap for as long as the root alone closes it; the ladder goes on from there."""
        gap = self._gap()
        while gap > self.controls.gap and not self._stopped():
            attempt = self._refutation(gap / 2)
            self._advance(attempt, 1)
            if not attempt.done:
                break
            self._proved(attempt)
            gap /= 2
        return self._next_rung()

    def _next_rung(self) -> Refutation:
        return self._refutation(max(_RUNG * self._gap(), self.controls.gap))

    def _proved(self, refutation: Refutation) -> None:
        if refutation.target < self.bound:
            self.bound, self.record = refutation.target, refutation.record
        self._note()

    def _gap(self) -> float:
        return self.bound / self.incumbent.value - 1 if self.incumbent.value > 0 else 1.0

    def _late(self) -> bool:
        limit = self.controls.time_limit
        return self.nodes >= _HEAD_START or (limit is not None and self.controls.seconds > _HEAD_START_SHARE * limit)

    def _stopped(self) -> bool:
        if self.controls.expired():
            return True
        if self.node_limit is not None and self.nodes >= self.node_limit:
            self.controls.limit = Limit.NODES
        return self.controls.limit is not None

    def _reported_bound(self) -> float:
        """Return the bound in the units of the problem, with room for the rounding of the last few operations."""
        return self.bound * (1 + 1e-14) * self.instance.unit

    def _point(self) -> TracePoint:
        value = self.incumbent.value * self.instance.unit
        return TracePoint(self.controls.seconds, value, self._reported_bound(), self.nodes)

    def _note(self) -> None:
        self.trace.append(self._point())
