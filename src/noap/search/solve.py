"""The exact method on the tree: data, ascent, search, the kernel's check, and what the user is told meanwhile."""

import math
from dataclasses import dataclass, field

import numpy as np

from noap.kernel.arithmetic import Refused, sum_up
from noap.kernel.certificate import Proof
from noap.kernel.claim import data_of
from noap.kernel.data import Data
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.result import Limit, Result, rounding_allowance
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits
from noap.runtime.names import listed
from noap.runtime.progress import SearchLine, TracePoint
from noap.search.ascent import ascend, value_of
from noap.search.cheap import Better
from noap.search.prove import Found, Search, Stop
from noap.settings import Settings

__all__ = ["solve_by_tree"]


def solve_by_tree(
    problem: Problem, controls: Controls, limits: Limits, settings: Settings, start: FloatArray | None = None
) -> Result:
    """Return the best vector of a problem and a proof of its bound, by the tree of the kernel.

    Parameters
    ----------
    start : array of shape (d,), optional
        A vector to start ascent from, beside its own.
    """
    data, shift = data_of(problem)
    with SearchLine(controls.progress, controls.label) as line:
        run = _Run(problem, data, controls, limits, settings, line)
        v, found = run.prove(start)
    if not v.any() and problem.costs is None and not len(problem.include):
        # No direction is better than another.
        v[int(np.argmax(np.where(data.allowed, problem.column_norms, -1.0)))] = 1.0
    bound = _in_users_units(found.bound, data.exponent)
    return Result(
        problem,
        "tree",
        v,
        bound=bound,
        bound_proof="rigorous",
        limit=controls.limit,
        nodes=run.nodes,
        seconds=controls.seconds,
        asked_gap=controls.gap,
        proof=Proof(found.levels, data.exponent, shift) if limits.keep_proof else None,
        trace=tuple(run.trace),
        messages=_messages(problem, v),
    )


def _messages(problem: Problem, v: FloatArray) -> tuple[str, ...]:
    """Return what the user should know of demanded features that v does not use."""
    unused = [j for j in problem.include if v[j] == 0]
    if not unused:
        return ()
    names = [str(j) if problem.feature_names is None else problem.feature_names[j] for j in unused]
    return (f"Demanded and without weight: {listed(names, 5)}; each takes one of the {problem.k} places.",)


def _in_users_units(bound: float, exponent: int) -> float:
    """Return the least double of at least bound 4**exponent; exact but where it underflows."""
    made = math.ldexp(bound, 2 * exponent)
    return made if math.ldexp(made, -2 * exponent) >= bound else math.nextafter(made, math.inf)


@dataclass
class _Run:
    """One call: how often the search began anew with a better vector, its nodes and its trace."""

    problem: Problem
    data: Data
    controls: Controls
    limits: Limits
    settings: Settings
    line: SearchLine
    nodes: int = 0
    trace: list[TracePoint] = field(default_factory=list)
    search: Search | None = None
    value: float = 0.0

    def prove(self, start: FloatArray | None) -> tuple[FloatArray, Found]:
        """Return the best vector, and the smallest bound for which there is a proof."""
        data, controls = self.data, self.controls
        v: FloatArray = np.zeros(len(data.A))
        search = self._begun(v)
        closed = False
        try:
            if search.root.by_lengths > self.value:  # else nothing is left
                v = ascend(data, self.settings, start)
            while True:
                search = self._begun(v)
                try:
                    closed = search.run()
                    break
                except Better as better:
                    self.nodes += search.nodes
                    v = ascend(data, self.settings, better.v)
        except Stop:
            pass
        except KeyboardInterrupt:
            controls.limit = Limit.INTERRUPTED
        found = search.found()
        self.nodes += search.nodes
        if closed:
            support = np.flatnonzero(v)
            try:
                found = search.smaller(found, data.value_at_least(support, v[support]))
            except Refused:  # a vector that the kernel cannot value is none to compare with
                pass
            except KeyboardInterrupt:
                controls.limit = Limit.INTERRUPTED
        self._note(search, found.bound, self.nodes)
        return v, found

    def _begun(self, v: FloatArray) -> Search:
        """Return a search for a proof that nothing is better than v by more than the gap."""
        data = self.data
        self.value = max(value_of(data, v), sum_up(-data.costs[data.include]))
        before = max(self.value + float(data.costs[data.include].sum()), 0.0)  # the cost of demands
        short = max(self.controls.gap * before, 0.9 * rounding_allowance(before, data.top))
        target = self.value + short * (1.0 - self.settings.hair)
        self.search = Search(data, v, target, self.settings, self._check)
        self._note(self.search, self.search.bound, self.nodes)
        return self.search

    def _check(self) -> None:
        search, limits = self.search, self.limits
        assert search is not None
        nodes = self.nodes + search.nodes
        if self.controls.expired():
            raise Stop
        if limits.nodes is not None and nodes >= limits.nodes:
            self.controls.limit = Limit.NODES
            raise Stop
        if limits.bytes is not None and search.bytes > limits.bytes:
            self.controls.limit = Limit.MEMORY
            raise Stop
        self._note(search, search.bound, nodes)

    def _note(self, search: Search, bound: float, nodes: int) -> None:
        """Keep a point of the trace where value or bound moved, and show the line of progress."""
        unit = 4.0**self.data.exponent if abs(self.data.exponent) < 500 else math.nan
        point = TracePoint(self.controls.seconds, self.value * unit, bound * unit, nodes)
        last = self.trace[-1] if self.trace else None
        if last is None or (last.value, last.bound) != (point.value, point.bound):
            self.trace.append(point)
        self.line.report(point, len(search.features))
