r"""The exact search with a metric and against FeatureWise.

Any feasible attack bounds the optimum by plain sparse PCA of the attacked columns in the metric. What
attacks on all features do not close at a threshold T is a list of supports; most of these are closed by an attack of
their own, and the rest cell by cell (`leaf.py`): together no k-sparse direction is worth more than T.
"""

import math
from dataclasses import replace

import numpy as np

from noap.data.pencil import Pencil, least_eigenvalue
from noap.exact.generalised.attack import Attacked, respond, shrink
from noap.exact.generalised.closing import Closing
from noap.exact.generalised.plain import PlainSearch, Prove
from noap.exact.generalised.relaxation import relaxed_bound
from noap.exact.generalised.violators import Violators, few_supports
from noap.exact.outcome import SearchOutcome, TracePoint
from noap.heuristics.generalised.supports import best_on
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.metric import MetricProof
from noap.proofs.metric_relaxation import MetricRelaxationProof
from noap.proofs.metric_supports import SupportsProof
from noap.runtime.controls import Controls
from noap.runtime.limits import Limit, Limits

__all__ = ["NEAR_SINGULAR", "RobustSearch"]

NEAR_SINGULAR = 1e-6
"""A metric with smaller eigenvalues, in units in which its diagonal is about 1, is near to a singular one."""

# Shares of the answer to the vector found in the attacks that are tried.
_SHARES = (1.0, 0.98, 0.93, 0.85, 0.7, 0.4)
# Cells for one support: what is not closed by then is not for more of them to close.
_CELLS = 50_000
# From which multiple of the value on a bound is far from it.
_FAR = 1.05
# What of the asked gap the threshold uses, for the value is known to rounding only; the shares of the time for it, and
# for each coarser one after a limit, of what is left; and how many of these.
_OF_GAP, _FIRST, _NEXT, _AFTER_LIMIT = 0.9, 0.7, 0.5, 8


class RobustSearch:
    """One attack for all supports, then the supports that it leaves, one by one."""

    def __init__(self, pencil: Pencil, controls: Controls, limits: Limits, w: FloatArray, prove: Prove) -> None:
        self.pencil, self.controls, self.limits, self.prove = pencil, controls, limits, prove
        self.w, self.worth = w, pencil.worth(w)
        self.bound, self.nodes = math.inf, 0
        self.trace: list[TracePoint] = []
        self.proof: MetricProof | MetricRelaxationProof | SupportsProof | None = None

    def run(self) -> SearchOutcome:
        """Prove the gap of the controls, or as much as the limits allow."""
        attacks = self._attacks()
        # Near to a singular metric the margins of a proof for all supports at once are a part of the gap.
        if not (few_supports(self.pencil) and least_eigenvalue(self.pencil.B) < NEAR_SINGULAR):
            self._by_one_attack(attacks[0])
        # What one attack leaves far open has a long list of supports.
        if self.bound > _FAR * self.worth and not few_supports(self.pencil):
            self._relaxed()
        limit, tried = None, 0.0
        while self.bound > self._wanted() and limit is None:
            T = self._target()
            if self.bound <= T or tried >= T:
                break  # rounding leaves no smaller gap
            tried = T
            limit = self._at(T, attacks, _FIRST)
            self._note()
        if limit is not Limit.INTERRUPTED and self.bound == math.inf:
            self._by_one_attack(attacks[0])
        if limit is not Limit.INTERRUPTED and self.bound > self._wanted():
            self._coarser(attacks)
        self._note()
        self.controls.limit = limit if self.bound > self._wanted() else None
        return SearchOutcome(
            self.pencil.outside(self.w), self.bound, self.nodes, self.controls.limit, tuple(self.trace), self.proof
        )

    def _target(self) -> float:
        room = 1e-13 * float(self.pencil.A.diagonal().max())
        return (1.0 + _OF_GAP * self.controls.gap) * self.worth + room

    def _relaxed(self) -> None:
        """Bound all supports at once by matrices near to A, which see what the adversary takes (`relaxation.py`)."""
        until = self._share(_NEXT)
        found = relaxed_bound(self.pencil, self._wanted(), lambda: until is not None and self.controls.seconds >= until)
        if found is not None and found[0] < self.bound:
            self.bound, self.proof = found[0], found[1] if self.limits.keep_proof else None
        self._note()

    def _coarser(self, attacks: list[Attacked]) -> None:
        """After a limit, or where rounding allows no less: thresholds between value and bound, while there is time."""
        low = self._target()
        for _ in range(_AFTER_LIMIT):
            T = math.sqrt(low) * math.sqrt(self.bound) if self.bound < math.inf else 16.0 * low
            if self.bound <= 1.001 * low or self._late():
                return
            self._at(T, attacks, _NEXT)
            if self.bound > T:
                low = max(T, self._target())

    def _wanted(self) -> float:
        return (1.0 + self.controls.gap) * self.worth

    def _attacks(self) -> list[Attacked]:
        """Return attacks, first the one that leaves least of the supports next to that of the vector found."""
        if self.pencil.is_idle:  # a metric near to a singular one is why this is not the search without an adversary
            return [Attacked(self.pencil.A, self.pencil.error, np.empty(0))]
        answers = [respond(self.pencil, self.w, share) for share in _SHARES]
        attacks = [one for one in answers if one is not None] + [shrink(self.pencil)]
        near = self._neighbours()
        left = [float(best_on(one.pencil(self.pencil), near)[1].max()) for one in attacks]
        return [attacks[i] for i in np.argsort(left)]

    def _neighbours(self) -> IntArray:
        d, k = len(self.pencil.B), self.pencil.k
        support = np.flatnonzero(self.w)
        support = np.concatenate([support, np.setdiff1d(np.arange(d), support)[: k - len(support)]])
        rest = np.setdiff1d(np.arange(d), support)
        swaps = np.repeat(support[None, :], k * len(rest) + 1, axis=0)
        swaps[np.arange(k * len(rest)), np.repeat(np.arange(k), len(rest))] = np.tile(rest, k)
        return swaps

    def _by_one_attack(self, attacked: Attacked) -> None:
        """Bound the optimum by what one attack leaves."""
        own = replace(self.controls, gap=max(0.5 * self.controls.gap, 1e-9), time_limit=self._share(0.3), limit=None)
        left = None if self.limits.nodes is None else max(self.limits.nodes // 3, 1)
        limits = replace(self.limits, nodes=left)
        search = PlainSearch(attacked.pencil(self.pencil), own, limits, self.w, self.prove)
        outcome = search.run()
        self.nodes += outcome.nodes
        self.bound = outcome.bound
        if search.proof is not None:
            self.proof = replace(search.proof, attack=attacked.numbers)
        self._offer(search.w)
        self._note()

    def _at(self, T: float, attacks: list[Attacked], share: float) -> Limit | None:
        """Try to show that nothing is worth more than T, and make that the bound; returns what stopped it."""
        own = replace(self.controls, time_limit=self._share(share), limit=None)
        listed = Violators([one.pencil(self.pencil) for one in attacks], T, self.w, own)
        self.nodes += listed.nodes
        closing = Closing(self.pencil, listed, T)
        if len(listed.supports):
            weights, worths = best_on(self.pencil, listed.supports)
            best = int(np.argmax(worths))
            w: FloatArray = np.zeros(len(self.w))
            w[listed.supports[best]] = weights[best]
            self._offer(w)
            if self.worth > T or self.pencil.is_idle:
                return None if listed.complete else listed.limit
            closing.by_own_attacks(weights, worths)
        if not listed.complete:
            return listed.limit
        for support in closing.left:
            if own.expired():
                return own.limit
            if self.limits.nodes is not None and self.nodes >= self.limits.nodes:
                return Limit.NODES
            if not closing.by_cells(support, _CELLS, own.expired):
                better = closing.better(support)
                if better is not None:
                    self._offer(better)
                return own.limit
            self.nodes += 1
        if self.bound > T:
            self.bound = T
            kept = self.limits.keep_proof
            self.proof = closing.proof([one.numbers for one in attacks]) if kept else None
        return None

    def _share(self, share: float) -> float | None:
        left = self.controls.share(1)
        return None if left is None else self.controls.seconds + share * left

    def _late(self) -> bool:
        used = self.limits.nodes is not None and self.nodes >= self.limits.nodes
        return used or (self.controls.time_limit is not None and self.controls.seconds >= self.controls.time_limit)

    def _offer(self, w: FloatArray) -> None:
        worth = self.pencil.worth(w)
        if worth > self.worth:
            self.w, self.worth = w / self.pencil.length(w), worth

    def _note(self) -> None:
        self.trace.append(TracePoint(self.controls.seconds, self.worth, self.bound, self.nodes))
