"""Define what noap asks of a solver, and what a solver answers."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from noap.linalg.types import FloatArray
from noap.mip.model import Model

__all__ = ["Backend", "Capabilities", "Progress", "Settings", "SolverOutcome", "Stop"]


class Stop(enum.Enum):
    """Why a solver returned."""

    OPTIMAL = "optimal"
    """Its own gap closed to what was asked."""
    INFEASIBLE = "infeasible"
    TIME = "time"
    NODES = "nodes"
    MEMORY = "memory"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    """Anything else: numerical trouble, an unbounded relaxation. The bound is whatever was proved before."""


@dataclass(frozen=True)
class Capabilities:
    """The parts of a model that a backend takes natively; the rest is lowered before the model reaches it.

    Attributes
    ----------
    sos2 : bool
        Ordered sets of type two.
    quadratic : bool
        Convex quadratic rows and rotated cones.
    """

    sos2: bool
    quadratic: bool


@dataclass(frozen=True)
class Progress:
    """A solver's state at some moment, in the units of its model; None while unknown."""

    incumbent: float | None
    bound: float | None
    nodes: int


@dataclass(frozen=True)
class Settings:
    """Limits of one solve.

    Attributes
    ----------
    time_limit : float or None
        Seconds.
    node_limit : int or None
    gap : float
        Relative gap of the solver's own objective at which it may stop.
    threads : int
    seed : int
    look_harder : bool
        Spend more of the time on the solver's own heuristics: for programs whose rows say little about where good
        points are.
    watch : callable or None
        Called now and then with the Progress.
    """

    time_limit: float | None = None
    node_limit: int | None = None
    gap: float = 1e-5
    threads: int = 1
    seed: int = 0
    look_harder: bool = False
    watch: Callable[[Progress], None] | None = None


@dataclass(frozen=True, eq=False)
class SolverOutcome:
    """The answer of a solver.

    Attributes
    ----------
    stop : Stop
    bound : float
        The dual bound: no feasible point has a larger objective, to the solver's tolerances. inf if unknown,
        -inf if the model is infeasible.
    x : array or None
        The best point found.
    objective : float or None
        Its objective.
    nodes : int
    """

    stop: Stop
    bound: float
    x: FloatArray | None
    objective: float | None
    nodes: int


@runtime_checkable
class Backend(Protocol):
    """A solver behind a name. `solve` takes only what `capabilities` claims; everything else is lowered first."""

    name: str
    capabilities: Capabilities

    def reject(self, model: Model) -> str | None:
        """Return why this installation cannot take the model (a licence's size limit), None if it can."""

    def solve(self, model: Model, settings: Settings) -> SolverOutcome:
        """Solve the model within the limits."""
