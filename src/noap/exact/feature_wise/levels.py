"""Induction over the number of features: 1, 2, ..., k in turn, each with what the ones before prove.

A bound on the optimum of fewer features makes every feature of a better support carry its share (docs/exact.md, "Step
2b. Levels"). A level that takes long is left with the bound that it has, and tried again, with more to spend, once
those above it have had their turn.
"""

from collections.abc import Iterator

from noap.exact.feature_wise.attempt import Attempt
from noap.exact.feature_wise.chain import Chain
from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.meter import Meter

__all__ = ["Levels"]

# Roots' worth of work that a level gets in the first round; so many times more in every later one.
_ROOTS, _MORE = 1024.0, 4.0
# Lower levels are proved to a gap of at least this: closer they would cost more than their floors are worth.
_FINEST = 1e-6


class Levels:
    """The optima of 1 to k features, proved in rising order, again and again until that of k features is.

    `work` is what it took, in entries of the tests.
    """

    def __init__(self, instance: GramInstance, incumbent: Incumbent, gap: float, meter: Meter) -> None:
        self.chain = Chain(instance)
        self.chain.incumbents[instance.k] = incumbent
        self.gap, self.meter, self.k = gap, meter, instance.k
        self.work = 0.0
        self.attempt: Attempt | None = None

    @property
    def bound(self) -> float:
        """What is proved of k features, by the attempt that goes on as well."""
        proved = float(self.chain.below[self.k])
        if self.attempt is not None and self.attempt.instance.k == self.k:
            return min(proved, self.attempt.bound)
        return proved

    @property
    def bytes(self) -> int:
        """Memory of the attempt that goes on."""
        return self.attempt.bytes if self.attempt is not None else 0

    def turns(self) -> Iterator[None]:
        """Prove level after level; ends when that of k features is proved to the asked gap, or nothing more can be."""
        open_ones, allowed = list(range(1, self.k + 1)), _ROOTS
        hopeful = True  # whether more work may prove more: a level was cut short, or learned something
        while hopeful and not self.meter.stopped():
            left, hopeful = [], False
            for k in open_ones:
                gap = self.gap if k == self.k else max(self.gap, _FINEST)
                if self.chain.instance.has_costs:
                    # Often one feature more is not worth its cost, and levels have the same optimum. Each a little
                    # nearer to it than the next, so that every feature of a better support still owes something.
                    gap *= 0.5 + 0.5 * k / self.k
                attempt = Attempt(self.chain.at(k), self.chain.incumbent(k), gap, self.meter)
                self.attempt, started = attempt, self.work
                for _ in attempt.turns():
                    self.work = started + attempt.work
                    yield
                    if attempt.work > allowed * attempt.root_price or self.meter.stopped():
                        hopeful = True
                        break
                self.work = started + attempt.work
                hopeful = self.chain.take(attempt) or hopeful
                if not attempt.done:
                    left.append(k)
                elif k == self.k:
                    return
            open_ones, allowed = left, allowed * _MORE

    def settle(self) -> None:
        """Take what the attempt that goes on has proved, for nobody will go on with it."""
        if self.attempt is not None:
            self.chain.take(self.attempt)
