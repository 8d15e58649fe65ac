"""Rewrite what a backend cannot take: ordered sets exactly, quadratic rows from outside.

Every step says which it is. An "exact" step leaves the feasible set as it is (up to new columns); an "outer" step
enlarges it, so the bound of the lowered model still holds for the original one.
"""

from dataclasses import dataclass, replace

import numpy as np

from noap.linalg.types import FloatArray, IntArray
from noap.mip.model import Model, Row, SquareRow

__all__ = ["Lowered", "Square", "binaries_for_sets", "tangents_for_squares"]

_STEEPEST = 1e-2


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
        """How far x is outside."""
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
        What was done, and whether it is "exact" or "outer".
    squares : tuple of Square
        What tangents stand in for.
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
    grown = len(names) - model.width
    changed = replace(
        model,
        names=tuple(names),
        lower=np.concatenate([model.lower, np.zeros(grown)]),
        upper=np.concatenate([model.upper, np.ones(grown)]),
        integer=np.concatenate([model.integer, np.ones(grown, dtype=bool)]),
        objective=np.concatenate([model.objective, np.zeros(grown)]),
        rows=tuple(rows),
        sets=(),
        start=None if start is None else np.array(start),
    )
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
    grown = len(names) - model.width
    changed = replace(
        model,
        names=tuple(names),
        lower=np.concatenate([model.lower, np.zeros(grown)]),
        upper=np.concatenate([model.upper, np.array(upper)]),
        integer=np.concatenate([model.integer, np.zeros(grown, dtype=bool)]),
        objective=np.concatenate([model.objective, np.zeros(grown)]),
        rows=tuple(rows),
        squares=(),
        cones=(),
        start=None if start is None else np.array(start),
    )
    step = (f"quadratic rows to {count} tangents per square", "outer")
    return replace(lowered, model=changed, steps=(*lowered.steps, step), squares=tuple(squares))


def _single_column(row: SquareRow) -> int | None:
    """Return w if the row reads x^2 <= w, which needs no new column."""
    plain = len(row.squared) == 1 and len(row.columns) == 1 and row.upper == 0.0
    if plain and row.weights[0] == 1.0 and row.coefficients[0] == -1.0:
        return int(row.columns[0])
    return None
