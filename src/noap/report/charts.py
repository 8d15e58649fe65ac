"""Draw the charts that do not move: barcode, variance, numbers of features, other sets. HTML bars, SVG curves."""

import math
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

import numpy as np

import noap
from noap.analysis.barcode import Row
from noap.linalg.types import FloatArray
from noap.report.words import down, percent_up, plain, ticks, up, where
from noap.runtime.names import counted, listed

if TYPE_CHECKING:
    from noap.report.content import Report

__all__ = ["MOST_LISTED", "SECONDS", "WITHIN", "axis", "band", "band_note", "barcode", "bars", "near", "sizes"]

# Points of the curve; a kink between two of them is at most one pixel off on a wide screen.
_FINE = 400
# A band narrower than this share of the curve cannot be seen.
_VISIBLE = 0.01
# The share of the variance whose smallest k the page names.
_SHARE = 0.9
# Other sets that keep 99 % of the best are listed. Beyond so many a reader has seen that there are many, and so long is
# what a page may take for it where the user sets no limit.
WITHIN, MOST_LISTED, SECONDS = 0.01, 64, 10.0
# More columns than this are thinner than a finger's width on a phone, more rows cannot be read.
_MOST_COLUMNS, _MOST_ROWS = 12, 25
# A wider mark, in per cent, would read as a bar.
_WIDEST = 5.0


def bars(name: str, label: str, parts: Iterable[tuple[float, float, str]], number: str) -> str:
    """Return one row: a name, bars from a to b (in per cent of the track, of a class), and a number."""
    drawn = "".join(
        f'<i{f" class={kind}" if kind else ""} style="left:{a:.3f}%;width:{b - a:.3f}%"></i>' for a, b, kind in parts
    )
    return (
        f'<li><span class="name" title="{escape(name)}">{escape(name)}</span>'
        f'<span class="track" role="img" aria-label="{escape(label)}">{drawn}</span>'
        f'<span class="number">{number}</span></li>'
    )


def barcode(report: "Report", shown: tuple[Row, ...]) -> str:
    """Return one row per feature, with a bar over every stretch of noise that selects it."""
    last = float(report.path.rhos[-1])
    rows = []
    for row in shown:
        spans = ", ".join(
            f"{plain(bar.left / report.unit)} to {plain(bar.right / report.unit)}"
            f"{'' if bar.essential else ' (not essential)'}"
            for bar in row.bars
        )
        parts = [
            (100 * bar.left / last, 100 * bar.right / last, "" if bar.essential else "replaceable") for bar in row.bars
        ]
        end = "never" if math.isnan(row.essential_to) else plain(row.essential_to / report.unit)
        if row.essential_to == last:
            end += "+"  # where the path stops short of the noise that leaves nothing
        rows.append(bars(report.names[row.feature], f"selected at noise {spans}", parts, end))
    return "\n".join(rows)


def band(report: "Report") -> str:
    """Return the curve of the robust variance and the band between what was found and what is proved."""
    x, lower, upper = _curve(report)
    proved = np.isfinite(upper)
    top = 1.05 * float(max(lower.max(), upper[proved].max(initial=0.0)))

    def points(x: FloatArray, y: FloatArray) -> list[str]:
        return [f"{1000 * a:.1f},{1000 * (1 - b / top):.1f}" for a, b in zip(x, y, strict=True)]

    corners = [*points(x[proved], upper[proved]), *points(x[proved], lower[proved])[::-1]]
    shape = f'<polygon class="band" points="{" ".join(corners)}"/>' if corners else ""
    levels = "".join(
        f'<span class="level" style="bottom:{100 * level / top:.3f}%"><b>{plain(level)}</b></span>'
        for level in ticks(top)
    )
    return (
        f'<div class="levels" aria-hidden="true">{levels}</div>'
        f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">{shape}'
        f'<polyline class="found" points="{" ".join(points(x, lower))}"/></svg>'
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


def sizes(report: "Report") -> str:
    """Return the section on the number of features: the share that each one adds, with what the bounds leave open."""
    path = report.k_path
    if path is None:
        return ""
    # What a step adds at most: from the value before to the bound; all in per cent of what the largest k keeps.
    most = path.bounds - np.concatenate([[0.0], path.values[:-1]])
    adds, open_to = (100.0 * np.maximum(steps, 0.0) / path.values[-1] for steps in (path.increments, most))
    scale = 100.0 / float(max(adds.max(), open_to.max()))
    rows, before = [], set[int]()
    for i, result in enumerate(path):
        support = set(path.supports[i].tolist())
        tied = set(path.tied[i].tolist())
        moves = [f"+{report.names[j]}{' (or another)' if j in tied else ''}" for j in sorted(support - before)]
        moves += [f"\N{MINUS SIGN}{report.names[j]}" for j in sorted(before - support)]
        before = support
        name = f"{path.ks[i]}: {listed(moves, None) or 'the same'}"
        label = f"{path.ks[i]} features: found {down(result.value)}, proved at most {up(result.bound)}"
        parts = [(0.0, scale * float(open_to[i]), "pale"), (0.0, scale * float(adds[i]), "")]
        rows.append(bars(name, label, parts, f"+{adds[i]:.1f}\N{NO-BREAK SPACE}%"))
    drawn = "\n".join(rows)
    return (
        '<section id="sizes" class="wide">\n'
        f"<h2>How many features: what each one adds at {where(report)}</h2>\n"
        f'<ul class="rows" aria-label="Variance that one more feature adds under the worst attack">\n{drawn}\n</ul>\n'
        f'<p class="caption">{escape(_enough(path))} Each bar is what one feature more adds to the variance that the '
        f"worst attack leaves, in per cent of what {path.ks[-1]} keep ({down(float(path.values[-1]))}); what is pale "
        "beyond a bar is not excluded by the proof. + and \N{MINUS SIGN} say which features come and go; where it says "
        "(or another), others are worth as much.</p>\n"
        "</section>\n"
    )


def _enough(path: noap.KPath) -> str:
    """Return how many features are enough and where the curve bends, as far as the levels looked at can tell."""
    last, shares, elbow = int(path.ks[-1]), path.shares.tolist(), path.elbow()
    # What the largest level keeps of itself, and a bend at the end of the curve, say nothing about the data.
    enough = next((i for i, share in enumerate(shares[:-1]) if share >= _SHARE), None)
    if enough is None:
        more = "" if last == path.problem.n_features else " Whether more than that pay is shown with a larger k."
        said = f"No fewer than {last} are proved to keep {100 * _SHARE:g} % of the best that {last} could keep.{more}"
    else:
        kept = math.floor(1000 * shares[enough]) / 10
        said = f"{path.ks[enough]} are proved to keep {kept:g} % of the best that {last} could keep."
    return said if elbow == last else f"{said} The curve bends most at {elbow}."


def near(report: "Report") -> str:
    """Return the section on other sets: a row per feature, a column of marks per set that comes close to the best."""
    found = report.near
    if found is None or not len(found):
        return ""
    ends = found.values[:_MOST_COLUMNS]
    shares = [f"{100 * value / ends[0]:.3g}\N{NO-BREAK SPACE}%" for value in (ends[0], ends[-1])]
    places = (50 / len(ends), 100 - 50 / len(ends))
    under = "".join(f'<span style="left:{a:.3f}%">{share}</span>' for a, share in zip(places, shares, strict=True))
    rows = (
        f'<ul class="rows" aria-label="Features by the sets that use them">\n{_marks(found, report.names)}\n</ul>\n'
        f'<div class="axis over-noise" aria-hidden="true"><span class="name"></span><div>{under}</div>'
        '<span class="number"></span></div>\n'
    )
    return (
        '<section id="near" class="wide">\n'
        f"<h2>Sets of features that do nearly as well: {_kept(found)} % of the best or more at {where(report)}</h2>\n"
        f"{rows if len(found) > 1 else ''}"
        f'<p class="caption">{escape(_sets(found, report.names))}</p>\n'
        "</section>\n"
    )


def _marks(found: noap.NearOptimal, names: tuple[str, ...]) -> str:
    shown = [set(support.tolist()) for support in found.supports[:_MOST_COLUMNS]]
    width = 100 / len(shown)
    half = min(0.7 * width, _WIDEST) / 2
    rows = []
    for j in _used(found)[:_MOST_ROWS]:
        middles = [(column + 0.5) * width for column, support in enumerate(shown) if j in support]
        count = f"{found.counts[j]} of {len(found)}"
        rows.append(bars(names[j], f"in {count} sets", [(x - half, x + half, "") for x in middles], count))
    return "\n".join(rows)


def _kept(found: noap.NearOptimal) -> str:
    return plain(100 - 100 * found.within)


def _used(found: noap.NearOptimal) -> list[int]:
    """Return the features that any set uses, those of most sets first."""
    return [int(j) for j in np.argsort(-found.counts, kind="stable") if found.counts[j]]


def _sets(found: noap.NearOptimal, names: tuple[str, ...]) -> str:
    k = found.problem.k
    best = listed([names[j] for j in found.supports[0]], None)
    if len(found) == 1:
        if found.complete:
            return f"It is proved that no other set of at most {k} features keeps {_kept(found)} % of the best: {best}."
        return f"No other set than {best} was found, but the search was stopped: there may be others."
    said = [
        f"Each column of marks is one set of at most {k} features, the best on the left; below, what the first and the "
        "last keep of it."
    ]
    if len(found) > _MOST_COLUMNS:
        said.append(f"The best {_MOST_COLUMNS} of {len(found)} are drawn; the numbers count all of them.")
    if len(_used(found)) > _MOST_ROWS:
        said.append(f"{counted(len(_used(found)) - _MOST_ROWS, 'feature')} of fewer sets are not shown.")
    core = listed([names[j] for j in found.core], None)
    said.append(f"In all of them: {core}." if core else "No feature is in all of them.")
    if found.complete:
        said.append(f"The list is complete: it is proved that no other set keeps more than {up(found.threshold, 4)}.")
    else:
        said.append("The list is not complete: the search was stopped, and there may be others.")
    return " ".join(said)
