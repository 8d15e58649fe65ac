"""A model being written: named blocks of columns, each knowing its value at a given direction v."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from noap.linalg.types import FloatArray, IntArray
from noap.mip.model import ConeRow, Model, Row, Sos2, SquareRow
from noap.runtime.controls import never

__all__ = ["Fill", "ModelWriter"]

Fill = Callable[[FloatArray], ArrayLike]
"""What a block of columns equals at a feasible direction v."""


@dataclass
class ModelWriter:
    """Collects columns and rows; `model` freezes them, `lift` extends a direction v to all columns.

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
    objective: list[tuple[ArrayLike, ArrayLike]] = field(default_factory=list)
    check: Callable[[], None] = never

    def block(
        self,
        name: str,
        count: int,
        lower: ArrayLike,
        upper: ArrayLike,
        fill: Fill,
        *,
        integer: bool = False,
    ) -> IntArray:
        """Add `count` columns and return their positions."""
        first = len(self.names)
        self.names += [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]
        self.lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), (count,)))
        self.upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (count,)))
        self.integer.append(np.full(count, integer))
        self.fills.append((count, fill))
        return np.arange(first, first + count)

    def row(
        self, name: str, terms: list[tuple[ArrayLike, ArrayLike]], lower: float = -np.inf, upper: float = np.inf
    ) -> None:
        """Add ``lower <= sum of terms <= upper``; a term is (columns, coefficients)."""
        self.check()  # there are rows for every sample
        columns, coefficients = _joined(terms)
        self.rows.append(Row(columns, coefficients, float(lower), float(upper), name))

    def square(
        self,
        name: str,
        squared: ArrayLike,
        weights: ArrayLike,
        terms: list[tuple[ArrayLike, ArrayLike]],
        upper: float,
    ) -> None:
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

    def maximise(self, terms: list[tuple[ArrayLike, ArrayLike]]) -> None:
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


def _joined(terms: list[tuple[ArrayLike, ArrayLike]]) -> tuple[IntArray, FloatArray]:
    if not terms:
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    columns = [np.atleast_1d(np.asarray(which, dtype=np.intp)) for which, _ in terms]
    coefficients = [
        np.broadcast_to(np.asarray(value, dtype=np.float64), which.shape)
        for which, (_, value) in zip(columns, terms, strict=True)
    ]
    return np.concatenate(columns), np.concatenate(coefficients)
