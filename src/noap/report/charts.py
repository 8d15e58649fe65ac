"""The charts that do not move: the barcode and the variance band. HTML bars and SVG curves that fit any width."""

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from noap.analysis.barcode import Row
from noap.linalg.types import FloatArray
from noap.report.numbers import percent_up, plain, ticks

if TYPE_CHECKING:
    from noap.report.content import Report

__all__ = ["axis", "band", "band_note", "barcode"]

# Points of the curve; a kink between two of them is at most one pixel off on a wide screen.
_FINE = 400
# A band narrower than this share of the curve cannot be seen.
_VISIBLE = 0.01


def barcode(report: "Report", shown: tuple[Row, ...]) -> str:
    """Return one row per feature, with a bar over every stretch of noise that selects it."""
    last = float(report.path.rhos[-1])
    rows = []
    for row in shown:
        bars = "".join(
            f"<i{'' if bar.essential else ' class=replaceable'} "
            f'style="left:{100 * bar.left / last:.3f}%;width:{100 * (bar.right - bar.left) / last:.3f}%"></i>'
            for bar in row.bars
        )
        spans = ", ".join(
            f"{plain(bar.left / report.unit)} to {plain(bar.right / report.unit)}"
            f"{'' if bar.essential else ' (not essential)'}"
            for bar in row.bars
        )
        end = "never" if math.isnan(row.essential_to) else plain(row.essential_to / report.unit)
        if row.essential_to == last:
            end += "+"  # where the path stops short of the noise that leaves nothing
        name = escape(report.names[row.feature])
        rows.append(
            f'<li><span class="name" title="{name}">{name}</span>'
            f'<span class="track" role="img" aria-label="selected at noise {spans}">{bars}</span>'
            f'<span class="number">{end}</span></li>'
        )
    return "\n".join(rows)


def band(report: "Report") -> str:
    """Return the curve of the robust variance and the band between what was found and what is proved."""
    x, lower, upper = _curve(report)
    top = _top(report)
    proved = np.isfinite(upper)
    points = [*_points(x[proved], upper[proved], top), *_points(x[proved], lower[proved], top)[::-1]]
    shape = f'<polygon class="band" points="{" ".join(points)}"/>' if proved.any() else ""
    levels = "".join(
        f'<span class="level" style="bottom:{100 * level / top:.3f}%"><b>{plain(level)}</b></span>'
        for level in ticks(top)
    )
    return (
        f'<div class="levels" aria-hidden="true">{levels}</div>'
        f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">{shape}'
        f'<polyline class="found" points="{" ".join(_points(x, lower, top))}"/></svg>'
    )


def band_note(report: "Report") -> str:
    """Return what is proved about the whole curve, in one sentence."""
    _, lower, upper = _curve(report)
    # Next to the end of the path both are close to 0, and their ratio says nothing.
    telling = lower > 1e-3 * lower.max()
    if not np.isfinite(upper[telling]).all():
        return "Nothing is proved about part of this curve: the method found good components and no bounds."
    widest = float((upper[telling] / lower[telling] - 1).max())
    thin = ", here thinner than the line" if widest < _VISIBLE else ""
    return (
        f"The best possible curve lies in a shaded band above the line{thin}: it is proved that no component with at "
        f"most {report.path.k} features, at any noise, keeps more than {percent_up(widest)} above it."
    )


def axis(report: "Report") -> str:
    """Return the numbers under a chart over noise."""
    last = float(report.path.rhos[-1]) / report.unit
    return "".join(f'<span style="left:{100 * tick / last:.3f}%">{tick:g}</span>' for tick in ticks(last))


def _curve(report: "Report") -> tuple[FloatArray, FloatArray, FloatArray]:
    last = float(report.path.rhos[-1])
    rhos = np.unique(np.concatenate([report.path.rhos, np.linspace(0.0, last, _FINE)]))
    lower, upper = report.path.band(rhos)
    return rhos / last, lower, upper


def _top(report: "Report") -> float:
    """Return the top of the scale: a little above the largest number drawn."""
    _, lower, upper = _curve(report)
    return 1.05 * float(max(lower.max(), upper[np.isfinite(upper)].max(initial=0.0)))


def _points(x: FloatArray, y: FloatArray, top: float) -> list[str]:
    return [f"{1000 * a:.1f},{1000 * (1 - b / top):.1f}" for a, b in zip(x, y, strict=True)]
