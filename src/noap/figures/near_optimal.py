"""Draw the features of the supports that come close to the best."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from noap.figures.style import PLAIN as _PLAIN
from noap.figures.style import ROBUST as _ROBUST
from noap.figures.style import axes_of, named_of, tidy, titled, top_of
from noap.runtime.names import counted

if TYPE_CHECKING:
    from noap.analysis.near_optimal import NearOptimal

__all__ = ["draw_near_optimal"]

# More columns are thinner than a reader can follow, more rows have no room for their names.
_MOST_COLUMNS, _MOST_ROWS = 80, 25
_FEWEST_COLUMNS = 10
_COLUMN, _ROW = 0.28, 0.26  # inches


def draw_near_optimal(near: "NearOptimal", ax: Any = None, top: int | None = None) -> Figure:
    """Draw which features each support uses, the best support on the left, and above what each keeps of the best.

    Parameters
    ----------
    near : NearOptimal
    ax : Axes or sequence of two, optional
        Where to draw; given one, what each keeps is left out. A figure of its own by default.
    top : int, optional
        At most so many features; 25 by default.

    Returns
    -------
    Figure
        Features of most supports on top; dark cells are features that all supports use. Beside each row, how many
        supports use the feature.
    """
    columns = min(len(near), _MOST_COLUMNS)
    drawn = near.vectors[:columns] != 0
    used = [int(j) for j in np.argsort(-near.counts, kind="stable") if drawn[:, j].any()]
    shown = used[: top_of(top, _MOST_ROWS)]
    width = min(12.0, max(7.0, 3.2 + _COLUMN * columns))
    panels, figure = axes_of(ax, 2, (width, 2.4 + _ROW * max(len(shown), 3)), [1.0, max(0.2 * len(shown), 1.0)])
    cells, names = panels[-1], named_of(near.problem)
    for row, j in enumerate(shown):
        mine = np.flatnonzero(drawn[:, j])
        alpha = 1.0 if near.counts[j] == len(near) else 0.55
        cells.bar(mine, 0.8, bottom=row - 0.4, width=0.8, color=_ROBUST, alpha=alpha, linewidth=0)
        beside = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": "small", "color": "0.35"}
        cells.annotate(f"{near.counts[j]}", (1.01, row), annotation_clip=False, **beside)
    cells.set_yticks(range(len(shown)), [names[j] for j in shown])
    cells.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    # Few supports keep the width of many: one is no bar across the picture.
    cells.set_xlim(-0.6, max(columns, _FEWEST_COLUMNS) - 0.4)
    cells.set_xlabel("supports, the best on the left")
    cells.set_xticks([])
    left_out = int((near.counts > 0).sum()) - len(shown)
    some = f", the best {columns} of them drawn" if columns < len(near) else ""
    fewer = f", {counted(left_out, 'rarer feature')} not shown" if left_out else ""
    titled(cells, f"Features of {counted(len(near), 'support')}{some}{fewer}; at the right, in how many")
    if len(panels) > 1:
        _draw_values(panels[0], near, columns)
    tidy(panels)
    return figure


def _draw_values(axes: Any, near: "NearOptimal", columns: int) -> None:
    """Draw what each support keeps of the best, and the threshold."""
    if len(near):
        kept = 100.0 * near.values[:columns] / near.values[0]
        least = 100.0 * (1.0 - near.within)
        axes.axhline(least, color=_PLAIN, linewidth=1.0)
        axes.plot(np.arange(columns), kept, "o", color=_ROBUST, markersize=4)
        room = max(0.08 * (100.0 - min(least, float(kept[-1]))), 1e-6)
        axes.set_ylim(min(least, float(kept[-1])) - room, 100.0 + room)
    axes.set_ylabel("% of the best")
    known = "complete" if near.complete else "not complete"
    titled(axes, f"What each keeps; down to the line the list is {known}")
