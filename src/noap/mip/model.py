r"""Hold a mixed-integer convex program as data: the formulations write it, the backends read it.

.. math:: \max\ c^\top x \quad \text{s.t.}\quad \ell \le A x \le u,\quad
          \textstyle\sum_i q_i x_i^2 + b^\top x \le \beta,\quad x_i^2 \le x_w x_z,\quad
          (x_i)_{i \in I} \in \text{SOS-II},\quad x_B \text{ integer}.

No solver is named here. A `ModelWriter` collects columns and rows; a `Model` does not change.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.runtime.controls import never

__all__ = ["ConeRow", "Model", "ModelWriter", "Row", "Sos2", "SquareRow", "Terms"]

Terms = list[tuple[ArrayLike, ArrayLike]]
"""A linear form: columns and their coefficients, piece by piece."""


@dataclass(frozen=True)
class Row:
    """A linear row ``lower <= sum_i coefficients_i x_columns_i <= upper``."""

    columns: IntArray
    coefficients: FloatArray
    lower: float
    upper: float
    name: str


@dataclass(frozen=True)
class SquareRow:
    """A convex row ``sum_i weights_i x_squared_i^2 + sum_i coefficients_i x_columns_i <= upper``, weights > 0."""

    squared: IntArray
    weights: FloatArray
    columns: IntArray
    coefficients: FloatArray
    upper: float
    name: str


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


@dataclass(frozen=True)
class Sos2:
    """At most two of these columns are non-zero, and those two are neighbours."""

    columns: IntArray
    positions: FloatArray
    """Increasing: the order of the columns, and what a solver branches by."""
    name: str


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
        """Number of columns."""
        return len(self.names)

    @property
    def is_linear(self) -> bool:
        """True if there is no quadratic row."""
        return not (self.squares or self.cones)

    def with_start(self, start: FloatArray | None) -> "Model":
        """Return the same model with another hint."""
        return replace(self, start=start)

    def value(self, x: FloatArray) -> float:
        """Return the objective at x."""
        return float(self.objective @ x)


Fill = Callable[[FloatArray], ArrayLike]
"""From a feasible direction v to the values of a block of columns."""


@dataclass
class ModelWriter:
    """Collect columns and rows; `model` freezes them, `lift` extends a direction v to all columns.

    `check` is called with every row; what it raises passes through.
    """

    names: list[str] = field(default_factory=list)
    lower: list[FloatArray] = field(default_factory=list)
    upper: list[FloatArray] = field(default_factory=list)
    integer: list[np.ndarray] = field(default_factory=list)
    fills: list[tuple[int, Fill]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    squares: list[SquareRow] = field(default_factory=list)
    cones: list[ConeRow] = field(default_factory=list)
    sets: list[Sos2] = field(default_factory=list)
    objective: Terms = field(default_factory=list)
    check: Callable[[], None] = never

    def block(
        self, name: str, count: int, lower: ArrayLike, upper: ArrayLike, fill: Fill, *, integer: bool = False
    ) -> IntArray:
        """Add `count` columns and return their positions."""
        first = len(self.names)
        self.names += [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]
        self.lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), (count,)))
        self.upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (count,)))
        self.integer.append(np.full(count, integer))
        self.fills.append((count, fill))
        return np.arange(first, first + count)

    def row(self, name: str, terms: Terms, lower: float = -np.inf, upper: float = np.inf) -> None:
        """Add ``lower <= sum of terms <= upper``; a term is (columns, coefficients)."""
        self.check()  # there are rows for every sample
        columns, coefficients = _joined(terms)
        self.rows.append(Row(columns, coefficients, float(lower), float(upper), name))

    def square(self, name: str, squared: ArrayLike, weights: ArrayLike, terms: Terms, upper: float) -> None:
        """Add ``sum weights squared^2 + sum of terms <= upper``."""
        which = np.atleast_1d(np.asarray(squared, dtype=np.intp))
        weight = np.broadcast_to(np.asarray(weights, dtype=np.float64), which.shape)
        columns, coefficients = _joined(terms)
        self.squares.append(SquareRow(which, weight, columns, coefficients, float(upper), name))

    def cone(self, name: str, squared: int, over: int, switch: int) -> None:
        """Add ``squared^2 <= over * switch``."""
        self.cones.append(ConeRow(int(squared), int(over), int(switch), name))

    def sos2(self, name: str, columns: IntArray, positions: FloatArray) -> None:
        """Add an ordered set of type two."""
        self.sets.append(Sos2(columns, positions, name))

    def maximise(self, terms: Terms) -> None:
        """Set the objective."""
        self.objective = terms

    def lift(self, v: FloatArray) -> FloatArray:
        """Return the value of every column at the direction v."""
        parts = [np.broadcast_to(np.asarray(fill(v), dtype=np.float64), (count,)) for count, fill in self.fills]
        return np.concatenate(parts)

    def model(self) -> Model:
        """Freeze what has been written."""
        objective = np.zeros(len(self.names))
        columns, coefficients = _joined(self.objective)
        np.add.at(objective, columns, coefficients)
        return Model(
            tuple(self.names),
            np.concatenate(self.lower),
            np.concatenate(self.upper),
            np.concatenate(self.integer),
            objective,
            tuple(self.rows),
            tuple(self.squares),
            tuple(self.cones),
            tuple(self.sets),
        )


def _joined(terms: Terms) -> tuple[IntArray, FloatArray]:
    if not terms:
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    columns = [np.atleast_1d(np.asarray(which, dtype=np.intp)) for which, _ in terms]
    coefficients = [
        np.broadcast_to(np.asarray(value, dtype=np.float64), which.shape)
        for which, (_, value) in zip(columns, terms, strict=True)
    ]
    return np.concatenate(columns), np.concatenate(coefficients)
