"""Draw the samples along two components, and the features as arrows with names.

Arrows that point the same way share one list of names, and the lists stand in columns at the sides.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from numpy.typing import ArrayLike

from noap.errors import InvalidProblem
from noap.figures.style import PLAIN as _PLAIN
from noap.figures.style import ROBUST as _ROBUST
from noap.figures.style import axes_of, fitted, largest_first, names_of, tidy, titled, top_of
from noap.linalg.types import FloatArray

__all__ = ["draw_biplot"]

# More arrows than these cannot be read; the longest are kept and the picture says so.
_MOST_ARROWS = 20
# The font of the names, in points.
_NAMES = 8.0

# Directions that differ by less cannot be told apart once the arrows have names, in radians.
_SAME_WAY = 0.14
# From the axis' line to the names, and between two lists, in points; and the height of a line in units of its font.
_MARGIN, _APART, _LINE = 5.0, 5.0, 1.25
# The most of an axes' width that names may take; longer ones are cut.
_MOST_WIDTH = 0.6


def draw_biplot(
    model: Any, X: ArrayLike, components: tuple[int, int] = (0, 1), ax: Any = None, top: int | None = None
) -> Figure:
    """Draw the samples along two components, and the features that make these up as arrows with names.

    Parameters
    ----------
    model : fitted RobustSparsePCA with at least two components
    X : array-like of shape (n, d)
        The samples; `model.transform` gives their scores.
    components : pair of int
    ax : Axes, optional
        Where to draw; a figure of its own by default.
    top : int, optional
        At most so many features, those with the longest arrows; 20 by default.

    Returns
    -------
    Figure
        Arrows are loadings, stretched by one factor to the size of the cloud: directions and ratios can be read.
        Arrows that point the same way share one list of names, that of the longest on top.
    """
    fitted(model)
    count = len(model.components_)
    first, second = components if np.size(components) == 2 else (-1, -1)
    if not (0 <= first < count and 0 <= second < count and first != second):
        raise InvalidProblem(f"components must be two different numbers from 0 to {count - 1}, got {components!r}.")
    # Whatever container the estimator was told to give.
    scores = np.asarray(model.transform(X), dtype=np.float64)[:, [first, second]]
    arrows = np.asarray(model.components_)[[first, second]].T
    names = names_of(model)
    lengths = np.linalg.norm(arrows, axis=1)
    order = largest_first(lengths)
    shown = order[: top_of(top, _MOST_ARROWS)]
    stretch = 0.9 * float(np.abs(scores).max(initial=0.0)) / float(lengths.max(initial=0.0) or 1.0)
    tips = stretch * arrows[shown]
    told = [names[j] for j in shown]
    # A figure of our own grows with the names.
    wide, tall = _size_for(tips, told, _NAMES)
    panels, figure = axes_of(ax, 1, (4.8 + 1.3 * wide / 72, max(5.6, 0.8 + 1.3 * tall / 72)))
    axes = panels[0]
    axes.scatter(scores[:, 0], scores[:, 1], s=9, color=_PLAIN, linewidths=0)
    arrow = {"arrowstyle": "->", "color": _ROBUST, "shrinkA": 0, "shrinkB": 0}
    for tip in tips:
        axes.annotate("", tip, (0.0, 0.0), arrowprops=arrow)
    _write_names(axes, tips, told, scores, _ROBUST, _NAMES)
    axes.set_xlabel(f"component {first + 1}")
    axes.set_ylabel(f"component {second + 1}")
    hidden = f", {len(order) - len(shown)} shorter arrows not shown" if len(order) > len(shown) else ""
    titled(axes, f"Samples and features along two components{hidden}")
    tidy(panels)
    return figure


class _Column(NamedTuple):
    """The lists of names at one side of a picture.

    Attributes
    ----------
    bundles : list of lists of int
        From the bottom up, each with the features of its arrows, the longest arrow first.
    names : list of str
        One per bundle, a line per feature.
    width : float
        In points, margins included; 0 if there is no bundle.
    """

    bundles: list[list[int]]
    names: list[str]
    width: float


def _bundled(tips: FloatArray) -> list[list[int]]:
    """Return the arrows from the origin to the tips, shape (m, 2), grouped by direction, the longest of each first.

    >>> _bundled(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.1]]))
    [[2, 0], [1]]
    """
    if not len(tips):
        return []
    angles = np.arctan2(tips[:, 1], tips[:, 0])
    order = np.argsort(angles, kind="stable")
    gaps = np.diff(angles[order], append=angles[order[0]] + 2 * np.pi)
    order = np.roll(order, -1 - int(np.argmax(gaps)))  # begin behind the widest gap: no bundle reaches across it
    groups: list[list[int]] = []
    for j in order.tolist():
        if groups and (angles[j] - angles[groups[-1][0]]) % (2 * np.pi) < _SAME_WAY:
            groups[-1].append(j)
        else:
            groups.append([j])
    lengths = np.linalg.norm(tips, axis=1)
    return [sorted(group, key=lambda j: (-lengths[j], j)) for group in groups]


def _columns_of(tips: FloatArray, names: list[str], size: float, wide: float) -> tuple[_Column, _Column]:
    """Return the lists of the left and of the right side, each bundle on the side of its longest arrow.

    Parameters
    ----------
    tips : array of shape (m, 2)
    names : list of str
    size : float
        Of the font, in points.
    wide : float
        The width of the axes, in points; names that leave too little of it are cut.
    """
    groups = _bundled(tips)
    sides = [[group for group in groups if (tips[group[0], 0] < 0) == left] for left in (True, False)]
    sides = [sorted(side, key=lambda group: float(tips[group[0], 1])) for side in sides]
    longest = max((len(name) for name in names), default=0)
    while True:
        cut = [name if len(name) <= longest else f"{name[: longest - 1]}…" for name in names]
        widths = [max((_width(cut[j], size) for group in side for j in group), default=0.0) for side in sides]
        if longest <= 4 or sum(widths) + 4 * _MARGIN <= _MOST_WIDTH * wide:
            break
        longest -= 1
    left, right = (
        _Column(side, ["\n".join(cut[j] for j in group) for group in side], width + 2 * _MARGIN if side else 0.0)
        for side, width in zip(sides, widths, strict=True)
    )
    return left, right


def _width(name: str, size: float) -> float:
    # Extents are of the ink; a font's side bearings add a little.
    return 1.05 * float(TextPath((0, 0), name.replace("$", "S"), size=size).get_extents().width) + 1.0


def _room_for(low: float, high: float, before: float, after: float) -> tuple[float, float]:
    """Return limits that show low to high and leave shares of the axis free before and after.

    >>> _room_for(0.0, 6.0, 0.25, 0.15)
    (-2.5, 7.5)
    """
    span = (high - low) / (1 - before - after)
    return low - before * span, high + after * span


def _heights_of(column: _Column, wanted: FloatArray, sides: FloatArray, size: float, tall: float) -> FloatArray:
    """Return the middle of every list of a column, as a share of the axes' height; no two overlap.

    Lists that could be led to without crossing lines change places.

    Parameters
    ----------
    column : _Column
    wanted : array of shape (b,)
        Where the longest arrow of every bundle ends, as a share of the height.
    sides : array of shape (b,)
        How far from the column that is, as a share of the width.
    size, tall : float
        Font and axes, in points.
    """
    order = list(range(len(wanted)))
    parts = np.array([(name.count("\n") + 1) * _LINE * size + _APART for name in column.names]) / tall
    for _ in range(len(order) ** 2):
        middles = _stacked(wanted[order], parts[order])
        pairs = _crossings(sides[order], wanted[order], middles)
        if not pairs:
            break
        a, b = pairs[0]
        order[a], order[b] = order[b], order[a]
    places = np.empty(len(order))
    places[order] = _stacked(wanted[order], parts[order])
    return places


def _stacked(wanted: FloatArray, parts: FloatArray) -> FloatArray:
    """Return the middles of parts stacked in this order, near where they are wanted, between 0 and 1."""
    middles = wanted.astype(np.float64)
    below = 0.0
    for i, part in enumerate(parts):
        middles[i] = max(middles[i], below + part / 2)
        below = middles[i] + part / 2
    above = 1.0
    for i in range(len(parts) - 1, -1, -1):
        middles[i] = min(middles[i], above - parts[i] / 2)
        above = middles[i] - parts[i] / 2
    return middles


def _crossings(sides: FloatArray, starts: FloatArray, ends: FloatArray) -> list[tuple[int, int]]:
    """Return the pairs of lines from (sides, starts) to (0, ends) that cross.

    >>> _crossings(np.array([1.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 2.0]))
    [(0, 1)]
    """
    found = []
    for a, b in itertools.combinations(range(len(sides)), 2):
        near = min(sides[a], sides[b])
        at = [ends[i] + (starts[i] - ends[i]) * (near / sides[i] if sides[i] > 0 else 1.0) for i in (a, b)]
        if (at[0] - at[1]) * (ends[a] - ends[b]) < 0:
            found.append((a, b))
    return found


def _size_for(tips: FloatArray, names: list[str], size: float) -> tuple[float, float]:
    """Return width and height, in points, that names of this font ask for beside the arrows."""
    left, right = _columns_of(tips, names, size, np.inf)
    deepest = max(sum((name.count("\n") + 1) * _LINE * size + _APART for name in side.names) for side in (left, right))
    return left.width + right.width, deepest


def _write_names(axes: Any, tips: FloatArray, names: list[str], cloud: FloatArray, color: str, size: float) -> None:
    """Set the limits of the axes so that cloud, arrows and names have room, and write the names.

    Parameters
    ----------
    axes : Axes
    tips : array of shape (m, 2)
    names : list of str, one per tip
    cloud : array of shape (n, 2)
        What else is to be seen.
    color : str
    size : float
        Of the font, in points; smaller where the axes are too low for so many names.
    """
    figure, box = axes.figure, axes.get_position()
    wide, tall = 72 * figure.get_figwidth() * box.width, 72 * figure.get_figheight() * box.height
    needed = _size_for(tips, names, size)[1]
    if needed > tall:
        size *= tall / needed
    sides = _columns_of(tips, names, size, wide)
    seen = np.concatenate([cloud, tips, np.zeros((1, 2))])
    (x_low, y_low), (x_high, y_high) = seen.min(axis=0), seen.max(axis=0)
    # Where there are no names, a little room as always.
    free = [max(column.width / wide, 0.04) for column in sides]
    x_low, x_high = _room_for(x_low, x_high if x_high > x_low else x_low + 1.0, *free)
    y_low, y_high = _room_for(y_low, y_high if y_high > y_low else y_low + 1.0, 0.06, 0.06)
    axes.set_xlim(x_low, x_high)
    axes.set_ylim(y_low, y_high)
    for column, left in zip(sides, (True, False), strict=True):
        ends = tips[[group[0] for group in column.bundles]].reshape(-1, 2)
        edge = (column.width - _MARGIN) / wide
        along = (ends[:, 0] - x_low) / (x_high - x_low)
        away = along - edge if left else 1 - edge - along
        middles = _heights_of(column, (ends[:, 1] - y_low) / (y_high - y_low), away, size, tall)
        for name, end, middle in zip(column.names, ends, middles, strict=True):
            axes.annotate(
                name,
                end,
                (edge if left else 1 - edge, middle),
                textcoords="axes fraction",
                fontsize=size,
                color=color,
                ha="right" if left else "left",
                va="center",
                multialignment="right" if left else "left",
                linespacing=1.1,
                arrowprops={
                    "arrowstyle": "-",
                    "color": "0.5",
                    "linewidth": 0.5,
                    "relpos": (1.0, 0.5) if left else (0.0, 0.5),
                    "shrinkA": 2,
                    "shrinkB": 0,
                },
            )
