"""Solve a program, refine it where asked, and keep the smallest bound and the best direction."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noap.data.arguments import as_count
from noap.errors import InvalidProblem, NoapError
from noap.linalg.types import FloatArray
from noap.linalg.vectors import keep_top_k, unit
from noap.metrics import gap as relative_gap
from noap.mip.backends.base import Backend, Progress, Settings, SolverOutcome, Stop
from noap.mip.backends.registry import backend_named
from noap.mip.cuts import Cuts
from noap.mip.formulations.assemble import Formulation, default_points, formulate
from noap.mip.formulations.spectrum import refined
from noap.mip.instance import Instance
from noap.mip.lowering import solve_model
from noap.problem import Problem
from noap.runtime.controls import Controls, Stopped
from noap.runtime.digits import percent_up
from noap.runtime.line import Part
from noap.runtime.progress import TracePoint

__all__ = ["Options", "ProgramSearch", "progress_line", "watching"]

# Solvers respect rows to 1e-6 or better in the model's units, where the leading eigenvalue is 1. The bound is raised by
# twice that; it remains the solver's word.
_TOLERANCE = 2e-6
# The solver may stop at this share of the asked gap; the rest is for the formulation.
_SOLVER_SHARE = 0.1
_CLOSEST = 1e-6
# An entry of the solver's direction below this is what its tolerances leave of 0.
_NO_WEIGHT = 1e-5


@dataclass(frozen=True)
class Options:
    """Options of `run_mip` and `run_mip_r`; rank is None for the full program."""

    backend: Backend
    pieces: int
    rank: int | None
    reduced_dim: int | None
    adaptive: bool
    threads: int
    cuts: Cuts
    as_printed: bool
    node_limit: int | None

    @classmethod
    def checked(
        cls,
        problem: Problem,
        *,
        backend: Any = "scip",
        pieces: Any = 3,
        rank: Any = None,
        reduced_dim: Any = None,
        as_printed: Any = False,
        breakpoints: Any = "even",
        threads: Any = 1,
        cuts: Any = None,
        node_limit: Any = None,
    ) -> "Options":
        """Validate, or raise InvalidProblem (BackendNotAvailable for a solver that is not installed)."""
        if breakpoints not in ("even", "adaptive"):
            raise InvalidProblem(f"breakpoints must be 'even' or 'adaptive', got {breakpoints!r}.")
        if as_printed and breakpoints == "adaptive":
            raise InvalidProblem("breakpoints must be 'even' together with as_printed: the paper's are l/N.")
        if as_printed and cuts is not None:
            raise InvalidProblem("cuts must be None together with as_printed, which has none.")
        if cuts is not None and not isinstance(cuts, Cuts):
            raise InvalidProblem(f"cuts must be a noap.mip.Cuts or None, got {type(cuts).__name__}.")
        if reduced_dim is not None:
            reduced_dim = as_count("reduced_dim", reduced_dim)
            if reduced_dim < problem.k:
                raise InvalidProblem(f"reduced_dim must be at least k = {problem.k}, got {reduced_dim}.")
        return cls(
            backend_named(backend),
            as_count("pieces", pieces),
            None if rank is None else as_count("rank", rank),
            reduced_dim,
            breakpoints == "adaptive",
            as_count("threads", threads),
            Cuts.printed() if as_printed else (cuts or Cuts()),
            bool(as_printed),
            None if node_limit is None else as_count("node_limit", node_limit),
        )


@dataclass
class ProgramSearch:
    """The smallest bound and the best direction over all rounds.

    Attributes
    ----------
    problem : Problem
        Restricted, if it was.
    v : array of shape (d,)
        Best direction so far, and its `value`.
    bound : float
        Smallest bound so far, inf before the first.
    solver_gap, formulation_error : float or None
        Of the round that gave the bound.
    own : array of shape (d,) or None
        The direction of the last program's own solution, whether or not it beats `v`, 0 where that is v = 0; None
        before there is a solution.
    trace : list of TracePoint
        The bound whenever the solver had a better one.
    """

    problem: Problem
    controls: Controls
    options: Options
    v: FloatArray
    value: float = 0.0
    bound: float = math.inf
    solver_gap: float | None = None
    formulation_error: float | None = None
    nodes: int = 0
    rounds: int = 0
    stop: Stop = Stop.FAILED
    degenerate: bool = False
    own: FloatArray | None = None
    trace: list[TracePoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.value = self.problem.value(self.v)

    def run(self, instance: Instance) -> None:
        """Solve; with adaptive breakpoints refine and solve again while time remains and the gap is open."""
        try:
            self._run(instance)
        except Stopped:  # while a model was written
            self.stop = Stop.TIME

    def _run(self, instance: Instance) -> None:
        options, check = self.options, self.controls.within(1.0)

        def written(points: tuple[FloatArray, ...]) -> Formulation:
            return formulate(
                instance, options.cuts, pieces=options.pieces, rank=options.rank, points=points, check=check
            )

        points: tuple[FloatArray, ...] | None
        points = default_points(instance, options.cuts, options.pieces, options.rank)
        formulation = written(points)
        if options.adaptive and formulation.model.start is not None:
            # Chords that touch g^2 at the incumbent make the first bound exact there.
            points = refined(formulation.spectrum, instance.eigenvalues, formulation.model.start)
            formulation = formulation if points is None else written(points)
        while True:
            outcome = self._solve(formulation)
            if outcome is None:
                return
            self._record(formulation, outcome)
            if not options.adaptive or outcome.stop is not Stop.OPTIMAL or outcome.x is None or self._closed():
                return
            points = refined(formulation.spectrum, instance.eigenvalues, outcome.x)
            if points is None:
                return
            formulation = written(points)

    def _solve(self, formulation: Formulation) -> SolverOutcome | None:
        left = None if self.controls.time_limit is None else self.controls.time_limit - self.controls.seconds
        if left is not None and left <= 0:
            self.stop = Stop.TIME
            return None
        nodes = None if self.options.node_limit is None else self.options.node_limit - self.nodes
        if nodes is not None and nodes <= 0:
            self.stop = Stop.NODES
            return None
        name = f"{self.options.backend.name}, round {self.rounds + 1}"
        try:
            with watching(self.controls.progress, formulation.value_of, self.value, name) as show:

                def watch(state: Progress) -> None:
                    self._follow(formulation, state)
                    if show is not None:
                        show(state)

                settings = Settings(
                    time_limit=left,
                    node_limit=nodes,
                    gap=max(_SOLVER_SHARE * self.controls.gap, _CLOSEST),
                    threads=self.options.threads,
                    seed=int(self.controls.rng.integers(2**30)),
                    look_harder=self.options.as_printed,
                    watch=watch,
                )
                return solve_model(formulation.model, self.options.backend, settings).outcome
        except KeyboardInterrupt:
            self.stop = Stop.INTERRUPTED
            return None

    def _follow(self, formulation: Formulation, state: Progress) -> None:
        """Add the solver's bound to the trace, raised as the reported one, where it is the smallest so far."""
        if state.bound is None:
            return
        raised = formulation.value_of(state.bound + _TOLERANCE * max(1.0, abs(state.bound)))
        bound = max(raised, self.value)
        if bound < (self.trace[-1].bound if self.trace else math.inf):
            self.trace.append(TracePoint(self.controls.seconds, self.value, bound, self.nodes + state.nodes))

    def _record(self, formulation: Formulation, outcome: SolverOutcome) -> None:
        self.rounds += 1
        self.nodes += outcome.nodes
        self.stop = outcome.stop
        if outcome.x is not None:
            self._consider(formulation, outcome.x)
        bound = self._bound_of(formulation, outcome)
        if bound < self.bound:
            self.bound = bound
            optimal = outcome.stop in (Stop.OPTIMAL, Stop.INFEASIBLE)
            self.formulation_error = formulation.error(outcome.x if optimal else None)
            self.solver_gap = _solver_gap(formulation, outcome)
        if math.isfinite(self.bound):
            self.trace.append(TracePoint(self.controls.seconds, self.value, self.bound, self.nodes))

    def _bound_of(self, formulation: Formulation, outcome: SolverOutcome) -> float:
        if outcome.stop is Stop.INFEASIBLE:
            if not self.options.cuts.uses_value:
                raise NoapError(
                    f"{self.options.backend.name} calls a model infeasible that has solutions; try another."
                )
            # Every row but those that ask for more than the incumbent's value has a solution: nothing beats it.
            self.stop = Stop.OPTIMAL
            return self.value * (1.0 + _TOLERANCE)
        if math.isinf(outcome.bound):
            return math.inf
        raised = formulation.value_of(outcome.bound + _TOLERANCE * max(1.0, abs(outcome.bound)))
        if raised < self.value * (1.0 - 1e-9):
            raise NoapError(
                f"The bound {raised!r} of {self.options.backend.name} lies below the value {self.value!r} of a "
                "feasible direction: the solver is wrong beyond its tolerances, please report it with the data."
            )
        return max(raised, self.value)

    def _consider(self, formulation: Formulation, x: FloatArray) -> None:
        """Take the solver's direction, cut to k entries and normalised, if it is better."""
        entries = x[formulation.v]
        if float(np.abs(entries).max(initial=0.0)) < 1e-6:
            self.own, self.degenerate = np.zeros(self.problem.n_features), True
            return
        if self.problem.costs is not None:
            entries = np.where(np.abs(entries) < _NO_WEIGHT, 0.0, entries)  # it would cost as much as any
        chosen = unit(keep_top_k(entries[None, :], formulation.instance.k)[0])
        v = formulation.instance.expand(chosen, self.problem.n_features)
        self.own, self.degenerate = v, False
        value = self.problem.value(v)
        if value > self.value:
            self.v, self.value = v, value

    def _closed(self) -> bool:
        return self.bound - self.value <= self.controls.gap * self.value


def _solver_gap(formulation: Formulation, outcome: SolverOutcome) -> float | None:
    if outcome.stop is Stop.INFEASIBLE:
        return 0.0
    if outcome.objective is None or math.isinf(outcome.bound):
        return None
    # As printed a time limit may come while the solver knows v = 0 only: its objective is 0 and the gap infinite.
    found, bound = (max(formulation.value_of(x), 0.0) for x in (outcome.objective, outcome.bound))
    return max(relative_gap(found, bound), 0.0)


def progress_line(state: Progress, value_of: Callable[[float], float], value: float) -> str:
    """Return the line for a solver's state, in the units of the problem.

    Parameters
    ----------
    state : Progress
    value_of : callable
        From the model's objective to a robust variance.
    value : float
        Robust variance of the best direction known.

    Examples
    --------
    >>> progress_line(Progress(1.0, 1.5, 7), lambda objective: 2 * objective, 2.0)
    'value 2, bound 3, gap 50 %, 7 nodes'
    """
    if state.bound is None:
        return f"value {value:.6g}, no bound yet, {state.nodes} nodes"
    bound = value_of(state.bound)
    gap = percent_up((bound - value) / value if value > 0 else math.inf)
    return f"value {value:.6g}, bound {bound:.6g}, gap {gap}, {state.nodes} nodes"


@contextmanager
def watching(
    progress: bool, value_of: Callable[[float], float], value: float, what: str
) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a callback that shows the solver's state, or None when nobody watches."""
    if not progress:
        yield None
        return
    with Part(wanted=True) as part:

        def show(state: Progress) -> None:
            if part.line is not None and part.line.due():
                part.say(f"{what}: {progress_line(state, value_of, value)}")

        yield show
