"""The barcode of a path: which features, in which order, over which stretches of rho, and where they tie."""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noap.linalg.types import BoolArray
from noap.ties import lowest_tie

if TYPE_CHECKING:
    from noap.sweep.path import Path

__all__ = ["Bar", "Row", "barcode"]


@dataclass(frozen=True)
class Bar:
    """A stretch of rho over which a feature is selected.

    Attributes
    ----------
    left, right : float
        A point of the path stands for the stretch up to the middle of its neighbours, so that one point can be seen.
    tied : bool
        Whether another feature of the barcode would do as well there. On standardised data every feature alone is
        worth the same, so the last one standing is always tied.
    """

    left: float
    right: float
    tied: bool


@dataclass(frozen=True)
class Row:
    """One feature of the barcode.

    Attributes
    ----------
    feature : int
    bars : tuple of Bar
    survives : float
        The last rho that selects it and no other feature in its place; nan if there is none.
    """

    feature: int
    bars: tuple[Bar, ...]
    survives: float


def barcode(path: "Path") -> tuple[Row, ...]:
    """Return the features that are ever selected, the longest-lived first.

    A stretch where another feature would do as well counts only among equals; then the feature with the longer bars
    comes first, then the lower index.
    """
    tied = _tied(path)
    # Where a bar begins and ends when its points are a to b.
    edges = np.concatenate([path.rhos[:1], (path.rhos[1:] + path.rhos[:-1]) / 2, path.rhos[-1:]])
    rows = []
    for j in np.flatnonzero(path.selected.any(axis=0)).tolist():
        labels = np.where(path.selected[:, j], 1 + tied[:, j], 0)
        cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
        bars = tuple(
            Bar(float(edges[a]), float(edges[b]), bool(labels[a] == 2))
            for a, b in itertools.pairwise(cuts)
            if labels[a]
        )
        certain = np.flatnonzero(labels == 1)
        rows.append(Row(j, bars, float(path.rhos[certain[-1]]) if certain.size else float("nan")))
    return tuple(sorted(rows, key=lambda row: _rank(path, row)))


def _rank(path: "Path", row: Row) -> tuple[float, float, float, int]:
    length = sum(bar.right - bar.left for bar in row.bars)
    return -float(np.nan_to_num(row.survives, nan=-1.0)), -float(path.lifetimes[row.feature]), -length, row.feature


def _tied(path: "Path") -> BoolArray:
    """Return the mask of shape (m, d) of selected features for which another one of the barcode would do as well."""
    seen = set(np.flatnonzero(path.selected.any(axis=0)).tolist())
    mask: BoolArray = np.zeros(path.selected.shape, dtype=np.bool_)
    for i, result in enumerate(path.results):
        if path.supports[i].size:
            for kept, other in lowest_tie(result.problem, result.v)[1]:
                mask[i, kept] |= other in seen
    return mask & path.selected
