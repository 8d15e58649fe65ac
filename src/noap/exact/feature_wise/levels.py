"""Induction over the number of features: 1, 2, ..., k in turn, each with what the ones before prove.

A bound on the optimum of fewer features makes every feature of a better support carry its share (docs/exact.md, "Step
2b. Levels"). A level that takes long is left with the bound that it has, and tried again, with more to spend, once
those above it have had their turn.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from noap.exact.feature_wise.attempt import Attempt
from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.meter import Meter
from noap.exact.feature_wise.record import GramRecord
from noap.exact.relaxation.relaxation import Relaxation
from noap.linalg.types import FloatArray
from noap.proofs.levels import LevelProof, LevelsProof

__all__ = ["Levels"]

# Roots' worth of work that a level gets in the first round; so many times more in every later one.
_ROOTS, _MORE = 1024.0, 4.0
# Lower levels are proved to a gap of at least this: closer they would cost more than their floors are worth.
_FINEST = 1e-6


class Levels:
    """The optima of 1 to k features, proved in rising order, again and again until that of k features is.

    Attributes
    ----------
    below : array of shape (k + 1,)
        Bounds on the optima of 0 to k features, proved so far.
    proofs : list of (k, bound, prover, instance)
        What proved them, in the order in which they may be checked: each stands on those before it.
    """

    def __init__(
        self, instance: GramInstance, incumbent: Incumbent, gap: float, meter: Meter, start: Callable[[int], FloatArray]
    ) -> None:
        self.instance, self.gap, self.meter, self.start = instance, gap, meter, start
        self.incumbents: dict[int, Incumbent] = {instance.k: incumbent}
        self.below: FloatArray = instance.largest_worths_of_each()
        self.proofs: list[tuple[int, float, GramRecord | Relaxation, GramInstance]] = []
        self.work = 0.0
        self.attempt: Attempt | None = None

    @property
    def bound(self) -> float:
        """What is proved of k features, by the attempt that goes on as well."""
        proved = float(self.below[-1])
        if self.attempt is not None and self.attempt.instance.k == self.instance.k:
            return min(proved, self.attempt.bound)
        return proved

    @property
    def bytes(self) -> int:
        """Memory of the attempt that goes on."""
        return self.attempt.bytes if self.attempt is not None else 0

    def turns(self) -> Iterator[None]:
        """Prove level after level; ends when that of k features is proved to the asked gap, or nothing more can be."""
        open_ones, allowed = list(range(1, self.instance.k + 1)), _ROOTS
        hopeful = True  # whether more work may prove more: a level was cut short, or learned something
        while hopeful and not self.meter.stopped():
            left, hopeful = [], False
            for k in open_ones:
                attempt = self._attempt(k)
                started = self.work
                for _ in attempt.turns():
                    self.work = started + attempt.work
                    yield
                    if attempt.work > allowed * attempt.root_price or self.meter.stopped():
                        hopeful = True
                        break
                self.work = started + attempt.work
                hopeful = self._take(k, attempt) or hopeful
                if not attempt.done:
                    left.append(k)
                elif k == self.instance.k:
                    return
            open_ones, allowed = left, allowed * _MORE

    def _attempt(self, k: int) -> Attempt:
        if k not in self.incumbents:
            self.incumbents[k] = Incumbent(replace(self.instance, k=k), self.start(k))
        below = self.below[:k].copy() if k > 1 else np.empty(0)
        instance = replace(self.instance, k=k, below=below)
        gap = self.gap if k == self.instance.k else max(self.gap, _FINEST)
        self.attempt = Attempt(instance, self.incumbents[k], gap, self.meter)
        return self.attempt

    def _take(self, k: int, attempt: Attempt) -> bool:
        """Take what an attempt proved, and what follows for the levels around it; returns whether anything is new."""
        if not attempt.bound < self.below[k]:
            return False
        if attempt.prover is not None:  # there is none where no proof is kept
            self.proofs.append((k, attempt.bound, attempt.prover, attempt.instance))
        self.below[k] = attempt.bound
        for q in range(k + 1, len(self.below)):
            # Leave out the weakest q - k features of a support: what stays is worth at least k/q of it.
            self.below[q] = min(self.below[q], attempt.bound * q / k * (1.0 + 1e-14))
        for q in range(1, k):
            self.below[q] = min(self.below[q], attempt.bound)
        return True

    def settle(self) -> None:
        """Take what the attempt that goes on has proved, for nobody will go on with it."""
        if self.attempt is not None:
            self._take(self.attempt.instance.k, self.attempt)

    def proof(self) -> LevelsProof:
        """Return what proves the bound on k features."""
        # What was proved after it is of no use to it.
        last = [n for n, (k, bound, *_) in enumerate(self.proofs) if k == self.instance.k and bound == self.bound]
        wanted = self.proofs[: last[0] + 1] if last else self.proofs
        trees: list[LevelProof] = []
        for _, _, prover, instance in wanted:
            if isinstance(prover, Relaxation):
                trees.append(prover.proof(instance.features, instance.unit))
            else:
                trees.append(prover.proof(instance))
        bounds = np.array([self.instance.outward(bound) for _, bound, *_ in wanted])
        return LevelsProof(np.array([k for k, *_ in wanted], dtype=np.uint32), bounds, tuple(trees))
