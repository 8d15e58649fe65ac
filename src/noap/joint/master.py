r"""The restricted master problem: the best packing of known supports, fractional or whole.

.. math:: \max_x \sum_{S, g} w_S x_{S g} \quad \text{so that} \quad
    \sum_{S \ni j,\, g} x_{S g} \le 1 \text{ for every feature } j, \qquad
    \sum_S x_{S g} \le r_g \text{ for every group } g \text{ of slots} ,

with x between 0 and 1. The duals of the fractional one are the prices of features and groups. HiGHS solves both, in
floating point: nothing here is a bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.joint.columns import Column
from noap.joint.slots import Group
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Fractional", "best_packing", "fractional"]

# What is nearer to a whole number than this is one.
WHOLE = 1e-6


@dataclass(frozen=True)
class Fractional:
    """A solution of the linear program.

    Attributes
    ----------
    value : float
    used : list of (column, number of the group, share)
    prices : array of shape (d,), one for each feature, at least 0
    rents : array, one for each group, at least 0
    """

    value: float
    used: list[tuple[Column, int, float]]
    prices: FloatArray
    rents: FloatArray

    @property
    def is_whole(self) -> bool:
        """Whether no support is used in part."""
        return all(share >= 1.0 - WHOLE for _, _, share in self.used)


class _Program:
    """Rows: the features that a column uses, then the groups. One variable for a column and a group that may use it."""

    def __init__(self, columns: Sequence[Column], groups: Sequence[Group], d: int) -> None:
        from scipy.sparse import csc_array  # `import noap` stays quick

        self.pairs = [
            (column, g)
            for column in columns
            if column.worth > 0
            for g, group in enumerate(groups)
            if len(column) <= group.k and group.allowed[column.support].all()
        ]
        self.features: IntArray = np.unique(
            np.concatenate([np.empty(0, dtype=np.int64), *(c.support for c, _ in self.pairs)])
        )
        row_of = np.empty(d, dtype=np.int64)
        row_of[self.features] = np.arange(len(self.features))
        rows = [np.append(row_of[c.support], len(self.features) + g) for c, g in self.pairs]
        starts = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
        entries = np.concatenate([np.empty(0, dtype=np.int64), *rows])
        shape = (len(self.features) + len(groups), len(self.pairs))
        self.matrix: Any = csc_array((np.ones(len(entries)), entries, starts), shape=shape)
        self.room = np.append(np.ones(len(self.features)), [float(len(group)) for group in groups])
        worths = np.array([c.worth for c, _ in self.pairs])
        self.unit = float(worths.max(initial=0.0)) or 1.0
        self.costs = -worths / self.unit


def fractional(columns: Sequence[Column], groups: Sequence[Group], d: int) -> Fractional:
    """Solve the linear program over the known supports."""
    from scipy.optimize import linprog

    program = _Program(columns, groups, d)
    prices, rents = np.zeros(d), np.zeros(len(groups))
    if not program.pairs:
        return Fractional(0.0, [], prices, rents)
    tight = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    solved = linprog(
        program.costs, A_ub=program.matrix, b_ub=program.room, bounds=(0, None), method="highs-ds", options=tight
    )
    if solved.status != 0:  # it is feasible and bounded: HiGHS has given up, and prices of 0 are prices, too
        return Fractional(0.0, [], prices, rents)
    duals = np.maximum(-solved.ineqlin.marginals, 0.0) * program.unit
    prices[program.features], rents[:] = duals[: len(program.features)], duals[len(program.features) :]
    used = [(*program.pairs[i], float(solved.x[i])) for i in np.flatnonzero(solved.x > WHOLE)]
    return Fractional(-float(solved.fun) * program.unit, used, prices, rents)


def best_packing(
    columns: Sequence[Column], groups: Sequence[Group], d: int, seconds: float
) -> list[tuple[Column, int]]:
    """Return a good packing of known supports, each with the number of its group: the best if HiGHS has the time."""
    from scipy.optimize import LinearConstraint, milp

    program = _Program(columns, groups, d)
    if not program.pairs or seconds <= 0:
        return []
    solved = milp(
        program.costs,
        constraints=LinearConstraint(program.matrix, ub=program.room),
        integrality=np.ones(len(program.pairs)),
        bounds=(0, 1),
        options={"time_limit": max(seconds, 0.1)},
    )
    if solved.x is None:
        return []
    return [program.pairs[i] for i in np.flatnonzero(solved.x > 0.5)]
