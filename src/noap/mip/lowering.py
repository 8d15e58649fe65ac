"""Solve a model on a backend: rewrite what the backend cannot take, and tighten tangents in rounds.

Ordered sets are rewritten exactly, quadratic rows from outside, and every step says which it is. An "exact" step leaves
the feasible set as it is (up to new columns); an "outer" step enlarges it, so the bound of the lowered model still
holds for the original one.
"""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noap.errors import BackendNotAvailable
from noap.linalg.types import FloatArray, IntArray
from noap.mip.backends.base import Backend, Settings, SolverOutcome, Stop
from noap.mip.model import Model, Row, SquareRow

__all__ = [
    "Lowered",
    "Solved",
    "Square",
    "binaries_for_sets",
    "lower",
    "solve_model",
    "tangents_for_squares",
    "tightened_relaxation",
]

# The steepest tangent of a square whose switch is near 0.
_STEEPEST = 1e-2
# Up front: enough that the first bound is useful, few enough that the first solve is quick. Rounds do the rest.
_TANGENTS = 9
# A square is respected when its tangent would cut off less than this; model units, where the leading eigenvalue is 1.
_RESPECTED = 1e-6
# Rounds of the linear relaxation before the first integer solve: they cost milliseconds each.
_RELAXED_ROUNDS = 25
# While tangents are missing an exact solve is wasted: early rounds stop at this gap, the last ones at the asked gap.
_EARLY_GAP = 1e-3


@dataclass(frozen=True)
class Square:
    """``x_squared^2 <= x_over`` (or ``<= x_over x_switch``) of a lowered model, to be cut off by tangents."""

    squared: int
    over: int
    switch: int | None
    name: str

    def tangent(self, at: float, number: int) -> Row:
        """Return ``x_over >= 2 at x - at^2`` (times the switch): valid for every real `at`."""
        if self.switch is None:
            columns = np.array([self.over, self.squared], dtype=np.intp)
            return Row(columns, np.array([1.0, -2.0 * at]), -(at**2), np.inf, f"{self.name} tangent {number}")
        columns = np.array([self.over, self.squared, self.switch], dtype=np.intp)
        return Row(columns, np.array([1.0, -2.0 * at, at**2]), 0.0, np.inf, f"{self.name} tangent {number}")

    def best_point(self, x: FloatArray) -> float:
        """Return where the tangent cuts off x most: the square's own argument, per unit of the switch."""
        if self.switch is None:
            return float(x[self.squared])
        # A switch near 0 would put the tangent at infinity: steep enough does as well, over a few rounds.
        return float(x[self.squared] / max(x[self.switch], _STEEPEST))

    def excess(self, x: FloatArray) -> float:
        """Return how far x is outside."""
        at = self.best_point(x)
        share = 1.0 if self.switch is None else float(x[self.switch])
        return max(2.0 * at * float(x[self.squared]) - at**2 * share - float(x[self.over]), 0.0)


@dataclass(frozen=True, eq=False)
class Lowered:
    """A model that a backend can take, and the way back.

    Attributes
    ----------
    model : Model
    width : int
        The first `width` columns are those of the original model.
    steps : tuple of (str, str)
        Every step, and whether it is "exact" or "outer".
    squares : tuple of Square
        The squares that tangents replace.
    """

    model: Model
    width: int
    steps: tuple[tuple[str, str], ...]
    squares: tuple[Square, ...] = ()


def binaries_for_sets(lowered: Lowered) -> Lowered:
    r"""Replace every SOS-II set by one binary per piece, exactly.

    :math:`\sum_l \beta_l = 1`, and a weight may be positive only next to the chosen piece. In cumulative form,
    :math:`\sum_{m \le l} \eta_m \le \sum_{m \le l} \beta_m` and
    :math:`\sum_{m > l} \eta_m \le \sum_{m \ge l} \beta_m`: the sharp description when the weights sum to 1.
    """
    model = lowered.model
    if not model.sets:
        return lowered
    names, rows = list(model.names), list(model.rows)
    start = None if model.start is None else list(model.start)
    for group in model.sets:
        pieces = len(group.columns) - 1
        beta = np.arange(len(names), len(names) + pieces)
        names += [f"{group.name} piece {piece}" for piece in range(pieces)]
        if start is not None:
            weight = np.abs(np.array(start)[group.columns])
            chosen = int(np.argmax(weight[:-1] + weight[1:]))
            start += [float(piece == chosen) for piece in range(pieces)]
        rows.append(Row(beta, np.ones(pieces), 1.0, 1.0, f"{group.name} one piece"))
        for piece in range(pieces):
            after = piece + 1
            rows.append(_below(group.columns[:after], beta[:after], f"{group.name} left {piece}"))
            rows.append(_below(group.columns[after:], beta[piece:], f"{group.name} right {piece}"))
    added = len(names) - model.width
    changed = _grown(model, names, np.ones(added), rows, start, integer=True, sets=())
    return replace(lowered, model=changed, steps=(*lowered.steps, ("SOS-II sets to binaries", "exact")))


def _below(weights: IntArray, pieces: IntArray, name: str) -> Row:
    columns = np.concatenate([weights, pieces])
    coefficients = np.concatenate([np.ones(len(weights)), -np.ones(len(pieces))])
    return Row(columns, coefficients, -np.inf, 0.0, name)


def tangents_for_squares(lowered: Lowered, count: int) -> Lowered:
    """Replace quadratic rows and cones by `count` tangents per square, from outside.

    A row of several squares first gets a column per square (exact), so that every tangent lives in one dimension:
    few of them do what a hyperplane of the whole ball would need thousands for.
    """
    model = lowered.model
    if model.is_linear:
        return lowered
    names, rows, squares = list(model.names), list(model.rows), []
    upper: list[float] = []
    start = None if model.start is None else list(model.start)
    for row in model.squares:
        single = _single_column(row)
        if single is not None:
            squares.append(Square(int(row.squared[0]), single, None, row.name))
            continue
        over = np.arange(len(names), len(names) + len(row.squared))
        names += [f"{row.name} square {i}" for i in range(len(over))]
        upper += [float(x) for x in np.maximum(model.lower[row.squared] ** 2, model.upper[row.squared] ** 2)]
        if start is not None:
            start += [float(x) for x in np.array(start)[row.squared] ** 2]
        columns, coefficients = np.concatenate([over, row.columns]), np.concatenate([row.weights, row.coefficients])
        rows.append(Row(columns, coefficients, -np.inf, row.upper, row.name))
        squares += [
            Square(int(x), int(w), None, f"{row.name} {i}")
            for i, (x, w) in enumerate(zip(row.squared, over, strict=True))
        ]
    squares += [Square(cone.squared, cone.over, cone.switch, cone.name) for cone in model.cones]
    for square in squares:
        points = np.linspace(model.lower[square.squared], model.upper[square.squared], count)
        rows += [square.tangent(float(at), number) for number, at in enumerate(points)]
    changed = _grown(model, names, np.array(upper), rows, start, integer=False, squares=(), cones=())
    step = (f"quadratic rows to {count} tangents per square", "outer")
    return replace(lowered, model=changed, steps=(*lowered.steps, step), squares=tuple(squares))


def _grown(
    model: Model,
    names: list[str],
    upper: FloatArray,
    rows: list[Row],
    start: list[float] | None,
    *,
    integer: bool,
    **without: Any,
) -> Model:
    """Return the model with new columns from 0 to `upper` and these rows, `without` some of its parts."""
    nothing = np.zeros(len(upper))
    return replace(
        model,
        names=tuple(names),
        lower=np.concatenate([model.lower, nothing]),
        upper=np.concatenate([model.upper, upper]),
        integer=np.concatenate([model.integer, np.full(len(upper), integer)]),
        objective=np.concatenate([model.objective, nothing]),
        rows=tuple(rows),
        start=None if start is None else np.array(start),
        **without,
    )


def _single_column(row: SquareRow) -> int | None:
    """Return w if the row reads x^2 <= w, which needs no new column."""
    plain = len(row.squared) == 1 and len(row.columns) == 1 and row.upper == 0.0
    if plain and row.weights[0] == 1.0 and row.coefficients[0] == -1.0:
        return int(row.columns[0])
    return None


@dataclass(frozen=True, eq=False)
class Solved:
    """The best bound of all rounds, and the last point.

    Attributes
    ----------
    outcome : SolverOutcome
        In the columns of the original model.
    lowered : Lowered
    rounds : int
        Integer solves.
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
    lowered = tightened_relaxation(lowered, backend, settings)
    gap = max(settings.gap, _EARLY_GAP)
    best_bound, nodes, rounds = math.inf, 0, 0
    point: FloatArray | None = None
    objective: float | None = None
    while True:
        left = _left(settings, began)
        if left is not None and left <= 0:
            stop = Stop.TIME
            break
        remaining = None if settings.node_limit is None else settings.node_limit - nodes
        if remaining is not None and remaining <= 0:
            stop = Stop.NODES
            break
        try:
            outcome = backend.solve(lowered.model, replace(settings, time_limit=left, gap=gap, node_limit=remaining))
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


def tightened_relaxation(lowered: Lowered, backend: Backend, settings: Settings) -> Lowered:
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
