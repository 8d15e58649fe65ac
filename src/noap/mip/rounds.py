"""Solve a model on a backend: lower what it lacks, and tighten tangents in rounds while time remains."""

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from noap.errors import BackendNotAvailable
from noap.linalg.types import FloatArray
from noap.mip.backends.base import Backend, Settings, SolverOutcome, Stop
from noap.mip.lowering import Lowered, binaries_for_sets, tangents_for_squares
from noap.mip.model import Model, Row

__all__ = ["Solved", "solve_model"]

# Up front: enough that the first bound is useful, few enough that the first solve is quick. Rounds do the rest.
_TANGENTS = 9
# A square is respected when its tangent would cut off less than this; model units, where the leading eigenvalue is 1.
_RESPECTED = 1e-6
# Rounds of the linear relaxation before the first integer solve: they cost milliseconds each.
_RELAXED_ROUNDS = 25
# While tangents are missing an exact solve is wasted: early rounds stop at this gap, the last ones at the asked gap.
_EARLY_GAP = 1e-3


@dataclass(frozen=True, eq=False)
class Solved:
    """The best bound of all rounds, and the last point.

    Attributes
    ----------
    outcome : SolverOutcome
        In the columns of the original model.
    lowered : Lowered
    rounds : int
        How many integer solves.
    """

    outcome: SolverOutcome
    lowered: Lowered
    rounds: int


def solve_model(model: Model, backend: Backend, settings: Settings) -> Solved:
    """Return the backend's bound for the model; valid however many rounds there was time for."""
    began = time.perf_counter()
    lowered = lower(model, backend)
    if not lowered.squares:
        outcome = backend.solve(lowered.model, settings)
        return Solved(_narrowed(outcome, lowered), lowered, 1)
    lowered = _tightened_relaxation(lowered, backend, settings)
    gap = max(settings.gap, _EARLY_GAP)
    best_bound, nodes, rounds = math.inf, 0, 0
    point: FloatArray | None = None
    objective: float | None = None
    while True:
        left = _left(settings, began)
        if left is not None and left <= 0:
            stop = Stop.TIME
            break
        try:
            outcome = backend.solve(lowered.model, replace(settings, time_limit=left, gap=gap))
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED  # between two solves: what the rounds have proved so far stands
            break
        rounds += 1
        nodes += outcome.nodes
        stop = outcome.stop
        best_bound = min(best_bound, outcome.bound)
        if outcome.x is not None:
            point, objective = outcome.x, outcome.objective
        if stop is not Stop.OPTIMAL or outcome.x is None:
            break
        tighter = _violated(lowered, outcome.x, _RESPECTED)
        if len(tighter.model.rows) > len(lowered.model.rows):
            if backend.reject(tighter.model) is not None:
                stop = Stop.MEMORY  # the licence has no room for another tangent
                break
            lowered = tighter
        elif gap > settings.gap:
            gap = settings.gap
        else:
            break  # a point that respects every square solves the original model: nothing is left to tighten
    narrow = None if point is None else point[: lowered.width]
    return Solved(SolverOutcome(stop, best_bound, narrow, objective, nodes), lowered, rounds)


def lower(model: Model, backend: Backend) -> Lowered:
    """Return the model in the terms the backend takes, or raise BackendNotAvailable when it does not fit."""
    lowered = Lowered(model, model.width, ())
    if not backend.capabilities.sos2:
        lowered = binaries_for_sets(lowered)
    native = lowered
    if backend.capabilities.quadratic and backend.reject(native.model) is None:
        return native
    lowered = tangents_for_squares(lowered, _TANGENTS)
    reason = backend.reject(lowered.model)
    if reason is not None:
        raise BackendNotAvailable(reason)
    return lowered


def _left(settings: Settings, began: float) -> float | None:
    return None if settings.time_limit is None else settings.time_limit - (time.perf_counter() - began)


def _violated(lowered: Lowered, x: FloatArray, tolerance: float) -> Lowered:
    """Return the model with two more tangents for every square that x breaks: at x and at its mirror image.

    Directions come in pairs v and -v; cutting off one of them only would cost a round for the other.
    """
    known = len(lowered.model.rows)
    extra: list[Row] = []
    for square in lowered.squares:
        if square.excess(x) > tolerance:
            at = square.best_point(x)
            extra += [square.tangent(side * at, known + len(extra)) for side in (1.0, -1.0)]
    return replace(lowered, model=replace(lowered.model, rows=(*lowered.model.rows, *extra)))


def _tightened_relaxation(lowered: Lowered, backend: Backend, settings: Settings) -> Lowered:
    """Add tangents where the continuous relaxation breaks a square."""
    began = time.perf_counter()
    for _ in range(_RELAXED_ROUNDS):
        left = _left(settings, began)
        if left is not None and left <= 0:
            break
        relaxed = replace(lowered.model, integer=np.zeros(lowered.model.width, dtype=bool), sets=(), start=None)
        outcome = backend.solve(relaxed, replace(settings, time_limit=left, watch=None))
        if outcome.stop is not Stop.OPTIMAL or outcome.x is None:
            break
        tighter = _violated(lowered, outcome.x, 1e-5)
        if len(tighter.model.rows) == len(lowered.model.rows) or backend.reject(tighter.model) is not None:
            break
        lowered = tighter
    return lowered


def _narrowed(outcome: SolverOutcome, lowered: Lowered) -> SolverOutcome:
    return outcome if outcome.x is None else replace(outcome, x=outcome.x[: lowered.width])
