"""The features of a path as a table: up to where each survives, where it is needed and where others would do."""

import math
from typing import TYPE_CHECKING, Any

from noap.sweep.barcode import Row, barcode

if TYPE_CHECKING:
    import polars

    from noap.sweep.path import Path

__all__ = ["features_frame"]

_STANDINGS = {"needed": "needed", "shared": "shared", "open": "unsettled"}


def features_frame(path: "Path", names: tuple[str, ...]) -> "polars.DataFrame":
    """Return one row for each feature that is ever selected, those that are needed longest first.

    Parameters
    ----------
    path : Path
    names : tuple of str

    Returns
    -------
    polars.DataFrame
        Columns k, feature, and in each unit (noise and rho, or factor) survives_noise, the last that needs it, null if
        none does; needed_noise, shared_noise and unsettled_noise, lists of ranges [first, last].
    """
    import polars

    rows = barcode(path)
    spans = polars.List(polars.List(polars.Float64))
    columns: dict[str, Any] = {
        "k": polars.Series([path.k] * len(rows), dtype=polars.Int64),
        "feature": polars.Series([names[row.feature] for row in rows], dtype=polars.String),
    }
    units = {"noise": path.family.noise_unit, "rho": 1.0} if path.family.whole is None else {"factor": 1.0}
    for word, unit in units.items():
        survives = [None if math.isnan(row.survives) else row.survives / unit for row in rows]
        columns[f"survives_{word}"] = polars.Series(survives, dtype=polars.Float64)
        for standing, name in _STANDINGS.items():
            columns[f"{name}_{word}"] = polars.Series([_spans(row, standing, unit) for row in rows], dtype=spans)
    return polars.DataFrame(columns)


def _spans(row: Row, standing: str, unit: float) -> list[list[float]]:
    return [[bar.first / unit, bar.last / unit] for bar in row.bars if bar.standing == standing]
