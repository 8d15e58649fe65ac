"""The section on other sets of features: a row per feature, a column of marks per set that comes close to the best."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

import noap
from noap.report.numbers import plain, up
from noap.report.words import where
from noap.runtime.names import counted, listed

if TYPE_CHECKING:
    from noap.report.content import Report

__all__ = ["MOST_LISTED", "SECONDS", "WITHIN", "near"]

# What is listed: sets that keep 99 % of the best. Beyond so many a reader has seen that there are many, and so long is
# what a page may take for it where the user sets no limit.
WITHIN, MOST_LISTED, SECONDS = 0.01, 64, 10.0
# More columns than this are thinner than a finger's width on a phone, more rows cannot be read.
_MOST_COLUMNS, _MOST_ROWS = 12, 25
# A wider mark, in percent, would read as a bar.
_WIDEST = 5.0


def near(report: "Report") -> str:
    """Return the section, or nothing where the report has no list."""
    found = report.near
    if found is None or not len(found):
        return ""
    rows = (
        f'<ul class="rows" aria-label="Features by the sets that use them">\n{_rows(found, report.names)}\n</ul>\n'
        f'<div class="axis over-noise" aria-hidden="true"><span class="name"></span><div>{_ends(found)}</div>'
        '<span class="number"></span></div>\n'
    )
    return (
        '<section id="near" class="wide">\n'
        f"<h2>Who could stand in: sets that keep {_share(found)} % of the best at {where(report)}"
        "</h2>\n"
        f"{rows if len(found) > 1 else ''}"
        f'<p class="caption">{escape(_sentences(found, report.names))}</p>\n'
        "</section>\n"
    )


def _rows(found: noap.NearOptimal, names: tuple[str, ...]) -> str:
    shown = [set(support.tolist()) for support in found.supports[:_MOST_COLUMNS]]
    width = 100 / len(shown)
    mark = min(0.7 * width, _WIDEST)
    rows = []
    for j in _used(found)[:_MOST_ROWS]:
        marks = "".join(
            f'<i style="left:{(column + 0.5) * width - mark / 2:.3f}%;width:{mark:.3f}%"></i>'
            for column, support in enumerate(shown)
            if j in support
        )
        name, count = escape(names[j]), f"{found.counts[j]} of {len(found)}"
        rows.append(
            f'<li><span class="name" title="{name}">{name}</span>'
            f'<span class="track" role="img" aria-label="in {count} sets">{marks}</span>'
            f'<span class="number">{count}</span></li>'
        )
    return "\n".join(rows)


def _ends(found: noap.NearOptimal) -> str:
    """Return what the first and the last set that are drawn keep of the best, under their columns."""
    drawn = found.values[:_MOST_COLUMNS]
    shares = [f"{100 * value / drawn[0]:.3g}\N{NO-BREAK SPACE}%" for value in (drawn[0], drawn[-1])]
    places = (50 / len(drawn), 100 - 50 / len(drawn))
    return "".join(
        f'<span style="left:{place:.3f}%">{share}</span>' for place, share in zip(places, shares, strict=True)
    )


def _share(found: noap.NearOptimal) -> str:
    return plain(100 - 100 * found.within)


def _used(found: noap.NearOptimal) -> list[int]:
    """Return the features that any set uses, those of most sets first."""
    return [int(j) for j in np.argsort(-found.counts, kind="stable") if found.counts[j]]


def _sentences(found: noap.NearOptimal, names: tuple[str, ...]) -> str:
    share, k = _share(found), found.problem.k
    best = listed([names[j] for j in found.supports[0]], None)
    if len(found) == 1:
        if found.complete:
            return f"It is proved that no other set of at most {k} features keeps {share} % of the best: {best}."
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
