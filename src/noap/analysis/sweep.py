"""A family of problems solved at many budgets, each point with the help of its neighbours."""

import contextlib
import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noap.analysis.family import Family
from noap.errors import NoapWarning
from noap.heuristics.alone import strongest_alone
from noap.heuristics.batch import truncate
from noap.heuristics.screened import screened_climber
from noap.linalg.types import FloatArray
from noap.linalg.vectors import unit
from noap.methods import run_exact, unfinished
from noap.problem import Problem
from noap.result import Limit, Result, Status
from noap.runtime.controls import Controls
from noap.runtime.interrupts import Interrupts, raising_interrupts
from noap.runtime.progress import CountLine
from noap.runtime.tasks import in_order
from noap.solving import checked_options, solve
from noap.ties import break_ties

__all__ = ["Point", "Sweep", "improved"]

_BY_CONVEXITY = "The bound follows from those of neighbouring budgets, for sqrt(n optimum) is convex in rho."
_FROM_ELSEWHERE = "The vector was found at another budget of the path and is better here than the one found here."
# Another vector replaces the one found when it is better by more than rounding.
_BETTER = 1 + 1e-12
# A neighbour's vector is close to a fixed point already; a few steps bring it there.
_STEPS = 8
# Points are first asked for this share of the gap, with few nodes: the rest is room for chords to prove neighbours.
_SHARE, _FEW_NODES = 0.25, 64


def improved(problem: Problem, vectors: FloatArray) -> FloatArray:
    """Return the best k-sparse unit vector that ascent reaches from the given ones, an array of shape (m, d)."""
    climber, kept = screened_climber(problem)
    batch = truncate(vectors[:, kept], min(problem.k, len(kept))).alive()
    candidates = list(vectors)
    if len(batch):
        moved = climber.climb(climber.measured(batch), len(batch), _STEPS)
        if len(moved):
            v = np.zeros(problem.n_features)
            v[kept] = climber.to_fixed_point(moved.best(1)).batch.first(len(kept))
            candidates.append(unit(v))
    best = strongest_alone(problem)
    for v in candidates:
        if v.any() and problem.value(v) > problem.value(best):
            best = v
    return best


@dataclass(frozen=True)
class Point:
    """A point to solve, with the options of `solve` and the best start from its neighbours.

    It holds plain data, so that it can travel to another process.
    """

    problem: Problem
    method: str
    start: FloatArray | None
    options: dict[str, Any]
    rho: float = math.nan

    def solved(self) -> Result:
        """Solve the point; the exact method returns no vector that is worse than the start."""
        if self.method != "exact" or self.problem.optimum_is_zero:
            # On a path an optimum of 0 is an end point like any other, and a missed gap is reported once for all.
            with raising_interrupts(), warnings.catch_warnings():
                warnings.simplefilter("ignore", NoapWarning)
                return solve(self.problem, self.method, **self.options)
        gap, limits = float(self.options["gap"]), checked_options(self.problem, "exact", self.options)
        few = replace(limits, nodes=min(_FEW_NODES, limits.nodes or _FEW_NODES))
        first = run_exact(self.problem, self._controls(_SHARE * gap), few, self.start)
        # Whatever it proved counts, also if its own gap was not reached.
        if first.gap <= gap or first.limit is not Limit.NODES or few == limits:
            return replace(first, asked_gap=gap)
        return run_exact(self.problem, self._controls(gap), limits, first.v)

    def _controls(self, gap: float) -> Controls:
        return Controls.checked(gap, self.options["time_limit"], self.options["random_state"], self.options["progress"])


class Sweep:
    """Results by budget, and the ways in which one helps another.

    Points are taken in rounds: the ends, the middle, the middles of the halves, and so on. A round uses only the
    results of the rounds before, so the answer does not depend on the number of processes.
    """

    def __init__(
        self, family: Family, method: str, options: dict[str, Any], n_jobs: int | None, interrupts: Interrupts
    ) -> None:
        self.family, self.method, self.options, self.n_jobs = family, method, options, n_jobs
        self.found: dict[float, Result] = {}
        self.hints: FloatArray = np.zeros((0, family.base.n_features))
        self.interrupts, self.interrupted = interrupts, False
        self.count = CountLine("point", 0, bool(options["progress"]))

    def grid(self, rhos: FloatArray) -> None:
        """Solve at the given increasing budgets."""
        self.count.expect(len(rhos))
        self._round(rhos[[0, -1]].tolist())
        segments = [(0, len(rhos) - 1)]
        while segments and not self.interrupted:
            split = [(a, (a + b) // 2, b) for a, b in segments if b - a > 1]
            self._round([float(rhos[middle]) for _, middle, _ in split])
            segments = [half for a, middle, b in split for half in ((a, middle), (middle, b))]

    def refine(self, width: float, place: Callable[[float], float] = float) -> None:
        """Halve every interval between neighbours of different support that is wider than `width`."""
        while not self.interrupted:
            rhos = sorted(self.found)
            middles = [
                (a + b) / 2
                for a, b in itertools.pairwise(rhos)
                if place(b) - place(a) > width and not np.array_equal(self.found[a].support, self.found[b].support)
            ]
            if not middles:
                return
            self.count.expect(len(middles))
            self._round(middles)

    def finish(self) -> tuple[Result, ...]:
        """Offer every vector and every bound to every point, and return the results in order of rho."""
        rhos = np.array(sorted(self.found))
        results = [self.found[float(rho)] for rho in rhos]
        vectors = np.array([result.v for result in results])
        values, limits = self.family.values(vectors, rhos), self._limits(rhos)
        for i, result in enumerate(results):
            best = int(np.argmax(values[i]))
            # Where the optimum is 0, the value of another vector is rounding.
            if values[i, best] > _BETTER * result.value and not result.problem.optimum_is_zero:
                result = self._replaced(result, vectors[best])
            if limits[i] < result.bound and not (result.proof is not None and result.status is Status.OPTIMAL):
                # A point with a proof of its own keeps it: a chord has none to hand over.
                result = self._bounded(result, float(limits[i]))
            results[i] = result
        return tuple(results)

    def _replaced(self, result: Result, v: FloatArray) -> Result:
        """Return the result with a better vector; a solver's bound gives way by its tolerance."""
        bound = result.bound
        if self.method == "exact":
            # The vectors of other methods are passed on, not improved.
            v = improved(result.problem, v[None, :])
        else:
            bound = max(bound, result.problem.value(v))
        messages = (*result.messages, _FROM_ELSEWHERE)
        return break_ties(replace(result, v=v, bound=bound, messages=messages))[0]

    def _limits(self, at: FloatArray) -> FloatArray:
        rhos = np.array(sorted(self.found))
        return self.family.bounds(rhos, np.array([self.found[float(rho)].bound for rho in rhos]), at)

    def _bounded(self, result: Result, bound: float) -> Result:
        proof = "rigorous" if self.method == "exact" else "solver"
        if proof == "solver":
            bound = max(bound, result.value)
        messages = tuple(dict.fromkeys((*result.messages, _BY_CONVEXITY)))
        return replace(result, bound=bound, bound_proof=proof, messages=messages, proof=None)

    def _round(self, rhos: list[float]) -> None:
        # Other processes are waited for, not asked: there Ctrl-C ends the waiting.
        waiting = raising_interrupts() if self._shared else contextlib.nullcontext()
        try:
            with self.count, waiting:
                self._solve(list(dict.fromkeys(rhos)))
        except KeyboardInterrupt:
            self.interrupted = True
            if not self.found:
                self.found[rhos[0]] = unfinished(self.family.at(rhos[0]), self.method, float(self.options["gap"]))

    def _solve(self, rhos: list[float]) -> None:
        """Solve the points of a round; Ctrl-C leaves the finished ones in `found`."""
        points = {rho: self._point(rho) for rho in rhos}
        proved = {rho: result for rho, point in points.items() if (result := self._by_chord(point)) is not None}
        self.found |= proved
        self.count.step(len(proved))
        left = [point for rho, point in points.items() if rho not in proved]
        if self._shared:  # processes that share a terminal would write over each other's line
            left = [replace(point, options=point.options | {"progress": False}) for point in left]
        for point, result in zip(left, in_order(Point.solved, left, self.n_jobs), strict=True):
            if result.limit is not Limit.INTERRUPTED or not self.found:
                self.found[point.rho] = break_ties(result)[0]
                self.count.step()
            if result.limit is Limit.INTERRUPTED:
                raise KeyboardInterrupt
            self.interrupts.check()

    def _point(self, rho: float) -> Point:
        problem, start = self.family.at(rho), None
        near = self._neighbours(rho)
        if self.method == "exact" and len(near) and not problem.optimum_is_zero:
            start = improved(problem, near)
        return Point(problem, self.method, start, self.options, rho)

    def _neighbours(self, rho: float) -> FloatArray:
        """Return the vectors found just below and just above rho, and the hints."""
        rhos = sorted(self.found)
        place = int(np.searchsorted(rhos, rho))
        near = [self.found[r].v for r in rhos[max(place - 1, 0) : place + 1]]
        return np.array([*near, *self.hints]) if near else np.zeros((0, self.family.base.n_features))

    def _by_chord(self, point: Point) -> Result | None:
        """Return the result of a point that its neighbours prove without a search."""
        if point.start is None:
            return None
        limit = float(self._limits(np.array([point.rho]))[0])
        value, gap = point.problem.value(point.start), float(self.options["gap"])
        if not limit <= value * (1 + gap):
            return None
        found = Result(point.problem, self.method, point.start, asked_gap=gap)
        return break_ties(self._bounded(found, limit))[0]

    @property
    def _shared(self) -> bool:
        return self.n_jobs not in (None, 1)
