r"""The exact search with a metric and without an adversary.

For :math:`T > 0` and any :math:`\tau`, :math:`v^\top A v \le T\,v^\top B v` for all k-sparse v is the same as: the
optimum of plain sparse PCA of :math:`A - TB + \tau I` is at most :math:`\tau`. So the search for plain sparse PCA
decides thresholds, and its proof is the proof; docs/generalised.md has the rounding.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from noap.data.pencil import Pencil, least_eigenvalue
from noap.exact.outcome import SearchOutcome, TracePoint
from noap.heuristics.ascent import ascent
from noap.heuristics.generalised.ascent import shifted_problem
from noap.linalg.outward import UNIT, up
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.metric import MetricProof
from noap.runtime.controls import Controls, Stopped
from noap.runtime.limits import Limit, Limits

__all__ = ["PlainSearch", "Prove", "entry_error"]

Prove = Callable[[Problem, Controls, FloatArray, Limits], SearchOutcome]

# What of the asked gap a threshold uses: the rest is for the room that rounding takes.
_OF_GAP = 0.9
# Room above the worth of the vector found, in units of what rounding does to the form.
_ROOM = 200.0
# What of the room below tau the plain search uses; and from which room on the margins of the checker count.
_OF_ROOM, _CHECKED, _LITTLE = 0.9, 2e-9, 0.4
# Thresholds that are tried before the search says that rounding leaves no smaller gap; and after a limit.
_TRIES, _AFTER_LIMIT = 12, 6
# The first threshold gets this share of a limit, and each one after a limit this share of what is left.
_FIRST, _NEXT = 0.6, 0.5


@dataclass
class PlainSearch:
    """Thresholds one after the other, and what is proved so far.

    Attributes
    ----------
    pencil : Pencil
    controls, limits : as everywhere
    w : array of shape (d,)
        The best direction so far, in the units of the pencil.
    prove : callable
        The search without a metric.
    """

    pencil: Pencil
    controls: Controls
    limits: Limits
    w: FloatArray
    prove: Prove
    worth: float = field(init=False)
    bound: float = math.inf
    proof: MetricProof | None = None
    nodes: int = 0
    trace: list[TracePoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.worth = self.pencil.worth(self.w)
        self.least = least_eigenvalue(self.pencil.B)

    def run(self) -> SearchOutcome:
        """Prove the gap of the controls, or as much as the limits allow."""
        limit = self._at_the_target()
        if limit is not None:
            self._coarser()
        self._note()
        self.controls.limit = limit if self.bound > self._wanted() else None
        return SearchOutcome(
            self.pencil.outside(self.w), self.bound, self.nodes, self.controls.limit, tuple(self.trace), self.proof
        )

    def _wanted(self) -> float:
        return (1.0 + self.controls.gap) * self.worth

    def _at_the_target(self) -> Limit | None:
        """Try thresholds just above the worth of the best vector until one is proved; returns what stopped it."""
        tried = 0.0
        for _ in range(_TRIES):
            T = self._target()
            if tried * (1.0 + 1e-14) >= T:
                return None  # rounding leaves no smaller gap
            tried = T
            limit = self.attempt(T, _FIRST)
            self._note()
            if limit is not None or self.bound <= self._wanted():
                return limit
        return None

    def _target(self) -> float:
        room = _ROOM * entry_error(self.pencil, self.worth) / max(self.least, 1e-300)
        return self.worth + max(_OF_GAP * self.controls.gap * self.worth, room)

    def _coarser(self) -> None:
        """After a limit: show what is left time for, halving the logarithm of the gap after each success."""
        high = self._largest_ratio()
        if high < self.bound and self.attempt(high, _NEXT) is not None:
            return
        high = min(high, self.bound)
        low = self._target()
        for _ in range(_AFTER_LIMIT):
            T = math.sqrt(low) * math.sqrt(high)
            if high <= low * 1.001 or self._out() or self.bound <= self._wanted():
                return
            self.attempt(T, _NEXT)
            if self.bound <= T * (1.0 + 1e-9):
                high = T
            else:
                low = T

    def _largest_ratio(self) -> float:
        """Return about the largest generalised eigenvalue of all features together, from above."""
        L = np.linalg.cholesky(self.pencil.B)
        C = np.linalg.solve(L, np.linalg.solve(L, self.pencil.A).T)
        return max(float(np.linalg.eigvalsh((C + C.T) / 2)[-1]), self.worth) * (1.0 + 1e-6)

    def _out(self) -> bool:
        used = self.limits.nodes is not None and self.nodes >= self.limits.nodes
        late = self.controls.time_limit is not None and self.controls.seconds >= self.controls.time_limit
        return used or late or self.controls.limit is Limit.INTERRUPTED

    def attempt(self, T: float, share: float) -> Limit | None:
        """Try to prove that nothing is worth more than T; a bound above T is one, too. Returns what stopped it."""
        pencil = self.pencil
        problem, tau = shifted_problem(pencil.A, pencil.B, T, pencil.k)
        error = pencil.k * entry_error(pencil, T, tau)
        aim = tau - error
        start = self._start(problem)
        until = self.controls.share(1)
        seconds = None if until is None else self.controls.seconds + share * until
        while True:
            value = problem.value(start)
            if not value < aim * (1.0 - 1e-15):
                return None  # something is worth more than T, or as much to rounding: the vector was offered
            left = None if self.limits.nodes is None else max(int(share * (self.limits.nodes - self.nodes)), 1)
            own = replace(
                self.controls, gap=_aimed(aim, value, tau) / value, time_limit=seconds, limit=None, progress=False
            )
            outcome = self.prove(problem, own, start, replace(self.limits, nodes=left))
            self.nodes += outcome.nodes
            self._offer(outcome.v)
            excess = up(outcome.bound + error) - tau
            bound = T if excess <= 0 else (up(T + up(excess / self.least)) if self.least > 0 else math.inf)
            if bound < self.bound:
                # A proof that was not kept leaves none: the one before says less.
                self.bound, self.proof = bound, None
                if outcome.proof is not None:
                    self.proof = MetricProof(T, tau, float(outcome.bound), outcome.proof)  # type: ignore[arg-type]
            if outcome.limit is Limit.INTERRUPTED:
                self.controls.limit = outcome.limit
            if excess <= 0 or outcome.limit is not None or not problem.value(outcome.v) > value:
                return outcome.limit
            # A vector nearer to tau was met, which asks for a smaller gap.
            start = outcome.v

    def _start(self, problem: Problem) -> FloatArray:
        """Return the best unit vector known for the plain problem."""
        best = self.w / np.linalg.norm(self.w)
        try:
            for found in ascent(problem, self.controls.rng, check=self.controls.within(1.0)):
                self._offer(found)
                if problem.value(found) > problem.value(best):
                    best = found
        except Stopped:
            pass
        return best

    def _offer(self, w: FloatArray) -> None:
        """Take a better direction: the best one on the support of this one."""
        worth = self.pencil.worth(w)
        if worth > self.worth:
            self.w, self.worth = w / self.pencil.length(w), worth

    def _note(self) -> None:
        self.trace.append(TracePoint(self.controls.seconds, self.worth, self.bound, self.nodes))


def _aimed(aim: float, value: float, tau: float) -> float:
    """Return by how much the bound of the plain problem may exceed its value.

    A little less than aim - value: a search that meets a better vector raises its target with it, and the checker adds
    margins of its own.
    """
    room = aim - value
    # Where there is little of it, as near to a singular metric, the smallest margins of the checker are a good part.
    return _LITTLE * room if room < _CHECKED * tau else min(_OF_ROOM * room, room - 0.1 * _CHECKED * tau)


def entry_error(pencil: Pencil, T: float, tau: float = 0.0) -> float:
    """Return by how much an entry of fl(A - TB + tau I) may be off: rounding, and what A itself is off by."""
    A, B = float(np.abs(pencil.A).max()), float(np.abs(pencil.B).max())
    return 1.01 * (pencil.error + UNIT * (3.0 * (A + T * B) + (A + T * B + tau)))
