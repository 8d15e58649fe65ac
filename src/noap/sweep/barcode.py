"""The barcode of a path: which features, in which order, over which stretches of rho, and where others would do."""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noap.sweep.path import Path

__all__ = ["Bar", "Row", "barcode"]


@dataclass(frozen=True)
class Bar:
    """A stretch of rho over which a feature is selected.

    Attributes
    ----------
    first, last : float
        The first and the last budget of the path on it.
    left, right : float
        Where it is drawn: a point of the path stands for the stretch up to the middle of its neighbours, so that one
        point can be seen.
    shared : bool
        Whether the feature is not needed there (`Path.needed`): other features would do as well. On standardised data
        every feature alone is worth the same, so the last one standing is always shared.
    """

    first: float
    last: float
    left: float
    right: float
    shared: bool


@dataclass(frozen=True)
class Row:
    """One feature of the barcode.

    Attributes
    ----------
    feature : int
    bars : tuple of Bar
    survives : float
        The last rho that needs it, as in `Path.survives`; nan if none does.
    """

    feature: int
    bars: tuple[Bar, ...]
    survives: float


def barcode(path: "Path") -> tuple[Row, ...]:
    """Return the features that are ever selected, those that are needed longest first.

    A stretch where others would do as well counts only among equals; then the feature with the longer bars comes
    first, then the lower index.
    """
    # Where a bar begins and ends when its points are a to b.
    edges = np.concatenate([path.rhos[:1], (path.rhos[1:] + path.rhos[:-1]) / 2, path.rhos[-1:]])
    rows = []
    for j in np.flatnonzero(path.selected.any(axis=0)).tolist():
        labels = np.where(path.selected[:, j], 2 - path.needed[:, j], 0)
        cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
        bars = tuple(
            Bar(float(path.rhos[a]), float(path.rhos[b - 1]), float(edges[a]), float(edges[b]), bool(labels[a] == 2))
            for a, b in itertools.pairwise(cuts)
            if labels[a]
        )
        rows.append(Row(j, bars, float(path.survives[j])))
    return tuple(sorted(rows, key=_rank))


def _rank(row: Row) -> tuple[float, float, float, int]:
    needed = sum(bar.right - bar.left for bar in row.bars if not bar.shared)
    length = sum(bar.right - bar.left for bar in row.bars)
    return -float(np.nan_to_num(row.survives, nan=-1.0)), -needed, -length, row.feature
