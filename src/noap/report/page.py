"""Write the page: a template, a style sheet and a script from `assets`, filled in. User data are escaped here."""

import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from noap._version import __version__
from noap.analysis.barcode import Row
from noap.analysis.barcode import barcode as barcode_of
from noap.analysis.duplicates import POINTER
from noap.report.charts import axis, band, band_note, barcode, near, sizes
from noap.report.components import as_csv, table
from noap.report.slider import data_of
from noap.report.words import (
    adversary_sentence,
    answer,
    bound_sentence,
    later_sentence,
    method_sentence,
    noise_sentence,
    plain,
)
from noap.runtime.names import counted

if TYPE_CHECKING:
    from noap.report.content import Report

__all__ = ["render"]

# More rows cannot be read; the longest-lived are kept and the page says how many are not shown.
_MOST_ROWS = 40


def render(report: "Report") -> str:
    """Return the HTML document of a report."""
    assets = files("noap.report") / "assets"
    everyone = barcode_of(report.path)
    rows = everyone[:_MOST_ROWS]
    shown = [row.feature for row in rows]
    path_csv = report.path.to_frame(loadings=True).drop("features").write_csv()
    slots = {
        "title": escape(report.title),
        "style": assets.joinpath("style.css").read_text(encoding="utf-8"),
        "script": assets.joinpath("script.js").read_text(encoding="utf-8"),
        "answer": escape(answer(report, everyone)),
        "note": _note(report),
        "facts": _facts(report),
        "barcode": barcode(report, rows),
        "barcode_note": _barcode_note(report, rows, len(everyone) - len(rows)),
        "band": band(report),
        "band_note": escape(band_note(report)),
        "axis": axis(report),
        "steps": str(len(report.frames) - 1),
        "start": str(_start(report)),
        "k": str(report.path.k),
        "noise": plain(report.noise),
        "dial": "Noise" if report.own_noises is None else "Times the noise given",
        "before": "noise " if report.own_noises is None else "",
        "after": "" if report.own_noises is None else " times the noise given",
        "less": "" if report.costs is None else ", less costs",
        "loadings": "\n".join(_loading(report, j) for j in shown),
        "sizes": sizes(report),
        "near": near(report),
        "k_path_csv": _k_path_link(report),
        "components": table(report),
        "bound_sentence": escape(bound_sentence(report)),
        "later_term": "Later components" if report.joint is None else "Components together",
        "later_sentence": escape(later_sentence(report)),
        "components_csv": _link(as_csv(report.components)),
        "path_csv": _link(path_csv),
        "noise_sentence": escape(noise_sentence(report)),
        "adversary_sentence": escape(adversary_sentence(report)),
        "method_sentence": escape(method_sentence(report)),
        "version": __version__,
        "data": data_of(report, shown),
    }
    template = assets.joinpath("page.html").read_text(encoding="utf-8")
    # One pass: what is filled in is not looked at again, whatever it contains.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: slots[match.group(1)], template)


def _barcode_note(report: "Report", rows: tuple[Row, ...], hidden: int) -> str:
    proved = "it is proved that" if report.path.proves else "as far as the method could find,"
    notes = [
        f"The number is the last noise at which the feature is essential: {proved} every component as good as the "
        "best, within the asked gap, uses it."
    ]
    if any(not bar.essential for row in rows for bar in row.bars):
        notes.append(
            "Striped: not essential, for a component without this feature does as well, or the search could not rule "
            "one out. On standardised data the last feature standing is never essential."
        )
    if report.own_noises is not None and report.path.essential[-1].any():
        notes.append("+: the feature is essential where the picture ends, and may be essential beyond.")
    if hidden:
        verb = "is" if hidden == 1 else "are"
        notes.append(f"{counted(hidden, 'feature')} that {verb} essential over a shorter range {verb} not shown.")
    return " ".join(notes)


def _start(report: "Report") -> int:
    """Return the frame nearest to the noise of the table."""
    return int(np.argmin([abs(frame.noise - report.noise) for frame in report.frames]))


def _note(report: "Report") -> str:
    """Return what the page says of features that repeat one another."""
    if report.path.note is None:
        return ""
    return f'<p class="remark">{escape(report.path.note.removesuffix(POINTER))}.</p>\n'


def _facts(report: "Report") -> str:
    base = report.path.family.base
    facts = {
        "samples": str(base.n_samples),
        "features": str(base.n_features),
        "in a component": f"at most {report.path.k}",
        "adversary": f"moves every {report.adversary}",
    }
    return "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(fact)}</dd></div>" for term, fact in facts.items())


def _loading(report: "Report", j: int) -> str:
    """Return the row of a feature, whose bar the script draws; its noise and cost where features have their own."""
    said = [] if report.own_noises is None else [f"noise&nbsp;{plain(float(report.own_noises[j]), 3)}"]
    said += [] if report.costs is None else [f"cost&nbsp;{plain(float(report.costs[j]), 3)}"]
    name, beside = escape(report.names[j]), f" <small>{' '.join(said)}</small>" if said else ""
    return (
        f'<li><span class="name" title="{name}">{name}{beside}</span>'
        '<span class="track signed"><i></i></span><span class="number"></span></li>'
    )


def _link(text: str) -> str:
    return "data:text/csv;charset=utf-8," + quote(text)


def _k_path_link(report: "Report") -> str:
    if report.k_path is None:
        return ""
    table = report.k_path.to_frame(loadings=True).drop("features").write_csv()
    return f'\n<a download="k-path.csv" href="{_link(table)}">Download the path over k (CSV)</a>'
