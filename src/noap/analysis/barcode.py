"""The barcode of a path: its features in order, the stretches of rho that select them, and where they are essential."""

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars

    from noap.analysis.path import Path

__all__ = ["Bar", "Row", "barcode", "features_frame"]


@dataclass(frozen=True)
class Bar:
    """A stretch of rho over which a feature is selected.

    It runs from the `first` to the `last` of its budgets; in a picture from `left` to `right`, the middles between
    points of the path, so that a single point can be seen. `essential` is that of `Path.essential`.
    """

    first: float
    last: float
    left: float
    right: float
    essential: bool


@dataclass(frozen=True)
class Row:
    """One feature of the barcode, with the last rho at which it is essential; nan if there is none."""

    feature: int
    bars: tuple[Bar, ...]
    essential_to: float


def barcode(path: "Path") -> tuple[Row, ...]:
    """Return the features that are ever selected, in order of how long they are essential.

    Of equals the feature that is essential over the longer stretch comes first, then the one with the longer bars, then
    the lower index.
    """
    # The bar of points a to b - 1 reaches from edges[a] to edges[b].
    edges = np.concatenate([path.rhos[:1], (path.rhos[1:] + path.rhos[:-1]) / 2, path.rhos[-1:]])
    rows = []
    for j in np.flatnonzero(path.selected.any(axis=0)).tolist():
        selected, essential = path.selected[:, j], path.essential[:, j]
        labels = selected.astype(np.int64) + essential
        cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
        bars = tuple(
            Bar(float(path.rhos[a]), float(path.rhos[b - 1]), float(edges[a]), float(edges[b]), bool(essential[a]))
            for a, b in itertools.pairwise(cuts)
            if selected[a]
        )
        rows.append(Row(j, bars, float(path.rhos[essential].max()) if essential.any() else math.nan))
    return tuple(sorted(rows, key=_rank))


def _rank(row: Row) -> tuple[float, float, float, int]:
    essential = sum(bar.right - bar.left for bar in row.bars if bar.essential)
    length = sum(bar.right - bar.left for bar in row.bars)
    return -float(np.nan_to_num(row.essential_to, nan=-1.0)), -essential, -length, row.feature


def features_frame(path: "Path", names: tuple[str, ...]) -> "polars.DataFrame":
    """Return the table of `Path.features_frame`, with these names for the features."""
    import polars

    rows, spans = barcode(path), polars.List(polars.List(polars.Float64))
    columns: dict[str, Any] = {
        "k": polars.Series([path.k] * len(rows), dtype=polars.Int64),
        "feature": polars.Series([names[row.feature] for row in rows], dtype=polars.String),
    }
    units = {"noise": path.family.noise_unit, "rho": 1.0} if path.family.whole is None else {"factor": 1.0}
    for word, unit in units.items():
        ends = [None if math.isnan(row.essential_to) else row.essential_to / unit for row in rows]
        essential = [[[bar.first / unit, bar.last / unit] for bar in row.bars if bar.essential] for row in rows]
        selected = [[[a / unit, b / unit] for a, b in path.intervals[row.feature]] for row in rows]
        columns[f"essential_to_{word}"] = polars.Series(ends, dtype=polars.Float64)
        columns[f"essential_{word}"] = polars.Series(essential, dtype=spans)
        columns[f"selected_{word}"] = polars.Series(selected, dtype=spans)
    return polars.DataFrame(columns)
