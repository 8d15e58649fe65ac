"""A ladder of coarser gaps: whatever stops the search, the last rung that was reached is proved."""

from typing import Protocol

from noap.exact.feature_wise.refutation import HIGH, LOW, Manner, Refutation

__all__ = ["Ladder", "Prover"]

# Every rung asks for this fraction of the gap of the one before.
_RUNG = 0.6
# Nodes of a turn; more while the gap of the rung is more than so many times the asked one. With the semidefinite test a
# coarse gap takes nearly as many nodes as a fine one: less.
_TURN, _TURN_FAR, _FAR = 64, 192, 5.0
_TURN_STRONG, _WORK_STRONG, _WORK = 32, 2.5e7, 1e8
# A rung tells which manner is better if the winner took the work of so many roots.
_TELLING = 64


class Prover(Protocol):
    """What the ladder needs of the search."""

    asked_gap: float
    root_price: float
    """What the root costs, in the units of a refutation's work."""

    @property
    def gap(self) -> float:
        """The relative gap that is proved so far."""

    def refutation(self, gap: float, manner: Manner) -> Refutation:
        """Return a refutation of the gap that has not begun."""

    def advance(self, refutation: Refutation, nodes: int, work: float = ...) -> None:
        """Give a refutation a turn."""

    def proved(self, refutation: Refutation) -> None:
        """Take what a refutation shows."""

    def stopped(self) -> bool:
        """Whether a limit is reached."""


class Ladder:
    """Refutes one gap after the other, each smaller than the one before.

    Where thresholds are used, the first rungs are climbed in two manners at once. The one that reaches a rung of some
    height with less work is the `favourite`, for the rungs above and for the race to the asked gap.
    """

    def __init__(self, search: Prover) -> None:
        self.search = search
        self.favourite: Manner | None = None
        self.rungs: list[Refutation] = []  # of the same gap

    def turn(self, manner: Manner, last_hope: bool) -> bool:
        """Climb for a turn; returns whether the search is over: nothing more can be proved, or all is.

        Parameters
        ----------
        manner : Manner
            That of the race.
        last_hope : bool
            Whether nothing is left of the race: rounding keeps a node open in every racer.
        """
        if not self.rungs:
            self.rungs = self._first(manner)
        elif manner.strong and not self.rungs[0].manner.strong:
            self.rungs = [self._next(manner)]
        rung = min((one for one in self.rungs if one.stack), key=lambda one: one.work, default=self.rungs[0])
        if rung.manner.strong:
            self.search.advance(rung, _TURN_STRONG, _WORK_STRONG)
        else:
            far = rung.gap > _FAR * self.search.asked_gap
            self.search.advance(rung, _TURN_FAR if far else _TURN, _WORK)
        if rung.done:
            return self._reached(rung, last_hope)
        # Where rounding keeps a node open in all of them, what is proved so far is all there is.
        return last_hope and not any(one.stack for one in self.rungs)

    def _reached(self, rung: Refutation, last_hope: bool) -> bool:
        before = self.search.gap
        self.search.proved(rung)
        if rung.gap <= self.search.asked_gap or (self.search.gap >= before and last_hope):
            return True
        manners = [one.manner for one in self.rungs]
        if len(manners) > 1 and rung.work > _TELLING * self.search.root_price:
            self.favourite, manners = rung.manner, [rung.manner]
        self.rungs = [self._next(one) for one in manners]
        return False

    def _first(self, manner: Manner) -> list[Refutation]:
        """Halve the gap for as long as the root alone closes it; the ladder goes on from there."""
        gap = self.search.gap
        while gap > self.search.asked_gap and not self.search.stopped():
            attempt = self.search.refutation(gap / 2, manner)
            self.search.advance(attempt, 1)
            if not attempt.done:
                break
            self.search.proved(attempt)
            gap /= 2
        manners = (LOW, HIGH) if manner == LOW else (manner,)
        return [self._next(one) for one in manners]

    def _next(self, manner: Manner) -> Refutation:
        return self.search.refutation(max(_RUNG * self.search.gap, self.search.asked_gap), manner)
