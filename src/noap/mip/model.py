r"""A mixed-integer convex program as data: what the formulations write and the backends read.

.. math:: \max\ c^\top x \quad \text{s.t.}\quad \ell \le A x \le u,\quad
          \textstyle\sum_i q_i x_i^2 + b^\top x \le \beta,\quad x_i^2 \le x_w x_z,\quad
          (x_i)_{i \in I} \in \text{SOS-II},\quad x_B \text{ integer}.

No solver is named here, and nothing here can change after it is made.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["ConeRow", "Model", "Row", "Sos2", "SquareRow", "Violation"]


@dataclass(frozen=True)
class Row:
    """A linear row ``lower <= sum_i coefficients_i x_columns_i <= upper``."""

    columns: IntArray
    coefficients: FloatArray
    lower: float
    upper: float
    name: str

    def excess(self, x: FloatArray) -> float:
        """How far x is outside the row."""
        activity = float(self.coefficients @ x[self.columns])
        return max(self.lower - activity, activity - self.upper, 0.0)


@dataclass(frozen=True)
class SquareRow:
    """A convex row ``sum_i weights_i x_squared_i^2 + sum_i coefficients_i x_columns_i <= upper``, weights > 0."""

    squared: IntArray
    weights: FloatArray
    columns: IntArray
    coefficients: FloatArray
    upper: float
    name: str

    def excess(self, x: FloatArray) -> float:
        """How far x is outside the row."""
        activity = self.weights @ x[self.squared] ** 2 + self.coefficients @ x[self.columns]
        return max(float(activity) - self.upper, 0.0)


@dataclass(frozen=True)
class ConeRow:
    """A rotated cone ``x_squared^2 <= x_over x_switch`` with both factors at least 0.

    With a binary switch this is the perspective of ``x_squared^2 <= x_over``: the closed convex hull of
    "everything is 0" and the square.
    """

    squared: int
    over: int
    switch: int
    name: str

    def excess(self, x: FloatArray) -> float:
        """How far x is outside the row."""
        return max(float(x[self.squared] ** 2 - x[self.over] * x[self.switch]), 0.0)


@dataclass(frozen=True)
class Sos2:
    """At most two of these columns are non-zero, and those two are neighbours."""

    columns: IntArray
    positions: FloatArray
    """Increasing: the order of the columns, and what a solver branches by."""
    name: str

    def excess(self, x: FloatArray) -> float:
        """Return the largest entry outside the best pair of neighbours."""
        weight = np.abs(x[self.columns])
        pair = int(np.argmax(weight[:-1] + weight[1:]))
        return float(np.delete(weight, [pair, pair + 1]).max(initial=0.0))


@dataclass(frozen=True)
class Violation:
    """The worst broken requirement of a point, by name."""

    name: str
    excess: float


@dataclass(frozen=True, eq=False)
class Model:
    """Maximise ``objective @ x`` subject to bounds, rows, cones, SOS-II sets and integrality.

    Attributes
    ----------
    names : tuple of str
        One per column.
    lower, upper, objective : array, shape (number of columns,)
    integer : array of bool
    rows, squares, cones, sets : tuples of Row, SquareRow, ConeRow, Sos2
    start : array or None
        A feasible point to begin from; a hint, never a requirement.
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    objective: FloatArray
    rows: tuple[Row, ...] = ()
    squares: tuple[SquareRow, ...] = ()
    cones: tuple[ConeRow, ...] = ()
    sets: tuple[Sos2, ...] = ()
    start: FloatArray | None = None

    def __post_init__(self) -> None:
        width = len(self.names)
        for array in (self.lower, self.upper, self.integer, self.objective):
            if array.shape != (width,):
                raise ValueError(f"Every column needs a bound, a type and an objective: {array.shape} for {width}.")
        if self.start is not None and self.start.shape != (width,):
            raise ValueError(f"start has shape {self.start.shape}, the model has {width} columns.")
        if (self.lower > self.upper).any():
            empty = self.names[int(np.argmax(self.lower > self.upper))]
            raise ValueError(f"Column {empty} has a lower bound above its upper bound.")
        for square in self.squares:
            if not (square.weights > 0).all():
                raise ValueError(f"Row {square.name} is not convex: its square weights must be positive.")
        for cone in self.cones:
            if self.lower[cone.over] < 0 or self.lower[cone.switch] < 0:
                raise ValueError(f"Cone {cone.name} needs factors that are not negative.")
        for group in self.sets:
            if not (np.diff(group.positions) > 0).all():
                raise ValueError(f"Set {group.name} needs increasing positions.")

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.names)

    @property
    def is_linear(self) -> bool:
        """Whether no quadratic row is left."""
        return not (self.squares or self.cones)

    def with_start(self, start: FloatArray | None) -> "Model":
        """Return the same model with another hint."""
        return replace(self, start=start)

    def value(self, x: FloatArray) -> float:
        """Return the objective at x."""
        return float(self.objective @ x)

    def violations(self, x: FloatArray) -> Iterator[Violation]:
        """Yield every requirement with how far x breaks it (0 if it holds)."""
        outside = np.maximum(np.maximum(self.lower - x, x - self.upper), 0.0)
        fractional = np.where(self.integer, np.abs(x - np.round(x)), 0.0)
        for name, excess in zip(self.names, np.maximum(outside, fractional), strict=True):
            yield Violation(f"column {name}", float(excess))
        parts: tuple[Row | SquareRow | ConeRow | Sos2, ...] = (*self.rows, *self.squares, *self.cones, *self.sets)
        for part in parts:
            yield Violation(part.name, part.excess(x))

    def worst(self, x: FloatArray) -> Violation:
        """Return the requirement that x breaks most."""
        return max(self.violations(x), key=lambda broken: broken.excess)
