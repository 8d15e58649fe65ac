"""The barcode of a path: which features, in which order, over which stretches of rho, and where others would do."""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noap.sweep.path import Path

__all__ = ["Bar", "Row", "barcode"]

_STANDINGS = ("", "needed", "shared", "open")


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
    standing : "needed", "shared" or "open"
        Whether every direction as good as the best uses the feature (`Path.needed`), one without it does as well
        (`Path.shared`), or it could not be settled. On standardised data every feature alone is worth the same, so the
        last one standing is always shared.
    """

    first: float
    last: float
    left: float
    right: float
    standing: str

    @property
    def shared(self) -> bool:
        """Whether a direction without the feature does as well."""
        return self.standing == "shared"


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
        labels = path.needed[:, j] + 2 * path.shared[:, j] + 3 * path.unsettled[:, j]
        cuts = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
        bars = tuple(
            Bar(
                float(path.rhos[a]),
                float(path.rhos[b - 1]),
                float(edges[a]),
                float(edges[b]),
                _STANDINGS[int(labels[a])],
            )
            for a, b in itertools.pairwise(cuts)
            if labels[a]
        )
        rows.append(Row(j, bars, float(path.survives[j])))
    return tuple(sorted(rows, key=_rank))


def _rank(row: Row) -> tuple[float, float, float, int]:
    needed = sum(bar.right - bar.left for bar in row.bars if bar.standing == "needed")
    length = sum(bar.right - bar.left for bar in row.bars)
    return -float(np.nan_to_num(row.survives, nan=-1.0)), -needed, -length, row.feature
