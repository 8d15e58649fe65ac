"""Solve a family of problems at many budgets, each point helping the others."""

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from noap.linalg.types import FloatArray
from noap.methods import unfinished
from noap.result import Limit, Result, Status
from noap.runtime.counting import CountLine
from noap.runtime.interrupts import Interrupts, raising_interrupts
from noap.sweep.between import convex_bounds
from noap.sweep.family import Family
from noap.sweep.point import Task, improved
from noap.ties import break_ties

__all__ = ["Sweep"]

_BY_CONVEXITY = "The bound follows from those of neighbouring budgets, for sqrt(n optimum) is convex in rho."
_FROM_ELSEWHERE = "The vector was found at another budget of the path and is better here than the one found here."
# Another vector replaces the one found when it is better by more than rounding.
_BETTER = 1 + 1e-12


class Sweep:
    """Results by budget, and the ways in which one helps another.

    Points are taken in levels: the ends, the middle, the middles of the halves, and so on. A level only uses what
    the levels before it found, so the answer does not depend on how many processes share the work.
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
        self._level(rhos[[0, -1]].tolist())
        segments = [(0, len(rhos) - 1)]
        while segments and not self.interrupted:
            split = [(a, (a + b) // 2, b) for a, b in segments if b - a > 1]
            self._level([float(rhos[middle]) for _, middle, _ in split])
            segments = [half for a, middle, b in split for half in ((a, middle), (middle, b))]

    def refine(self, width: float, place: Callable[[float], float] = float) -> None:
        """Halve every gap between neighbours of different support until their places are at most `width` apart."""
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
            self._level(middles)

    def finish(self) -> tuple[Result, ...]:
        """Return the results in order of rho, after every vector and every bound was offered to every point."""
        rhos = np.array(sorted(self.found))
        results = [self.found[float(rho)] for rho in rhos]
        vectors = np.array([result.v for result in results])
        worths = self.family.worths(vectors, rhos)
        limits = self._limits(rhos)
        for i, result in enumerate(results):
            best = int(np.argmax(worths[i]))
            # Where the optimum is 0, what another vector seems to be worth is rounding.
            if worths[i, best] > _BETTER * result.value and not result.problem.optimum_is_zero:
                result = self._replaced(result, vectors[best])
            if limits[i] < result.bound and not (result.proof is not None and result.status is Status.OPTIMAL):
                # A point with a proof of its own keeps it: a chord has none to hand over.
                result = self._bounded(result, float(limits[i]))
            results[i] = result
        return tuple(results)

    def _replaced(self, result: Result, v: FloatArray) -> Result:
        """Return the result with a better vector.

        A rigorous bound may be passed by rounding only: Result sees to it. A solver's bound gives way by its tolerance.
        """
        bound = result.bound
        if self.method == "exact":
            # Other methods are taken at their word: their vectors are passed on, not improved.
            v = improved(result.problem, v[None, :])
        else:
            bound = max(bound, result.problem.value(v))
        messages = (*result.messages, _FROM_ELSEWHERE)
        return break_ties(dataclasses.replace(result, v=v, bound=bound, messages=messages))[0]

    def _limits(self, at: FloatArray) -> FloatArray:
        rhos = np.array(sorted(self.found))
        bounds = np.array([self.found[float(rho)].bound for rho in rhos])
        return convex_bounds(rhos, bounds, self.family.rho_max, at, roots=self.family.base.costs is None)

    def _bounded(self, result: Result, bound: float) -> Result:
        proof = "rigorous" if self.method == "exact" else "solver"
        if proof == "solver":
            bound = max(bound, result.value)
        messages = tuple(dict.fromkeys((*result.messages, _BY_CONVEXITY)))
        return dataclasses.replace(result, bound=bound, bound_proof=proof, messages=messages, proof=None)

    def _level(self, rhos: list[float]) -> None:
        try:
            # Other processes are waited for, not asked: there Ctrl-C ends the waiting.
            with self.count, raising_interrupts() if self._shared else contextlib.nullcontext():
                self._solve(list(dict.fromkeys(rhos)))
        except KeyboardInterrupt:
            self.interrupted = True
            if not self.found:
                self.found[rhos[0]] = unfinished(self.family.at(rhos[0]), self.method, float(self.options["gap"]))

    def _solve(self, rhos: list[float]) -> None:
        """Solve one level; Ctrl-C leaves what is finished in `found`."""
        tasks = {rho: self._task(rho) for rho in rhos}
        proved = {rho: result for rho, task in tasks.items() if (result := self._by_chord(task)) is not None}
        self.found |= proved
        self.count.step(len(proved))
        left = [rho for rho in rhos if rho not in proved]
        for rho, result in zip(left, self._run([tasks[rho] for rho in left]), strict=True):
            if result.limit is not Limit.INTERRUPTED or not self.found:
                self.found[rho] = break_ties(result)[0]
                self.count.step()
            if result.limit is Limit.INTERRUPTED:
                raise KeyboardInterrupt
            self.interrupts.check()

    def _task(self, rho: float) -> Task:
        problem, start = self.family.at(rho), None
        near = self._neighbours(rho)
        if self.method == "exact" and len(near) and not problem.optimum_is_zero:
            start = improved(problem, near)
        return Task(problem, self.method, start, self.options, rho)

    def _neighbours(self, rho: float) -> FloatArray:
        """Return the vectors found just below and just above rho, and what hints there are."""
        rhos = sorted(self.found)
        place = int(np.searchsorted(rhos, rho))
        near = [self.found[r].v for r in rhos[max(place - 1, 0) : place + 1]]
        return np.array([*near, *self.hints]) if near else np.zeros((0, self.family.base.n_features))

    def _by_chord(self, task: Task) -> Result | None:
        """Return the result at this point if the neighbours prove it, without a search."""
        if task.start is None:
            return None
        limit = float(self._limits(np.array([task.rho]))[0])
        value, gap = task.problem.value(task.start), float(self.options["gap"])
        if not limit <= value * (1 + gap):
            return None
        found = Result(task.problem, self.method, task.start, asked_gap=gap)
        return break_ties(self._bounded(found, limit))[0]

    @property
    def _shared(self) -> bool:
        return self.n_jobs not in (None, 1)

    def _run(self, tasks: list[Task]) -> Iterator[Result]:
        if not self._shared or len(tasks) < 2:
            return (task.run() for task in tasks)
        # Imported where processes are wanted; it ships no types.
        from joblib import Parallel, delayed  # type: ignore[import-untyped]

        finished: Iterator[Result] = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            # Processes that share a terminal would write over each other's line.
            delayed(Task.run)(dataclasses.replace(task, options=task.options | {"progress": False}))
            for task in tasks
        )
        return finished
