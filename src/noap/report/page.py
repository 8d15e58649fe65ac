"""The page: a template, a style sheet and a script from `assets`, filled in. User data are escaped here."""

import json
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
from noap.report.charts import axis, band, band_note, barcode
from noap.report.components import Component, as_csv
from noap.report.near import near
from noap.report.numbers import down, percent_up, plain, up
from noap.report.sizes import sizes
from noap.report.slider import Frame
from noap.report.words import (
    adversary_sentence,
    answer,
    bound_sentence,
    later_sentence,
    method_sentence,
    noise_sentence,
)
from noap.runtime.names import counted

if TYPE_CHECKING:
    from noap.report.content import Report

__all__ = ["render"]

# More rows cannot be read; the longest-lived are kept and the page says how many are not shown.
_MOST_ROWS = 40
_BADGES = {
    "verified": '<span class="badge good">✓ verified</span>',
    "rejected": '<span class="badge bad">✗ rejected</span>',
    "none": '<span class="badge">not made</span>',
}


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
        "loadings": "\n".join(
            f'<li><span class="name" title="{escape(report.names[j])}">{escape(report.names[j])}'
            f"{_own(report, j)}</span>"
            '<span class="track signed"><i></i></span><span class="number"></span></li>'
            for j in shown
        ),
        "sizes": sizes(report),
        "near": near(report),
        "k_path_csv": _k_path_link(report),
        "components": "\n".join(_row(number, one) for number, one in enumerate(report.components, start=1)),
        "together": _together(report),
        "bound_sentence": escape(bound_sentence(report)),
        "later_term": "Later components" if report.joint is None else "Components together",
        "later_sentence": escape(later_sentence(report)),
        "components_csv": _link(as_csv(report.components)),
        "path_csv": _link(path_csv),
        "noise_sentence": escape(noise_sentence(report)),
        "adversary_sentence": escape(adversary_sentence(report)),
        "method_sentence": escape(method_sentence(report)),
        "version": __version__,
        "data": _data(report, shown),
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


def _row(number: int, one: Component) -> str:
    result = one.result
    apart = "; " if one.noises or one.costs or any("," in name for name in one.features) else ", "
    features = apart.join(
        f"{escape(name)}&nbsp;<small>{_signed(loading)}{_beside(one, place)}</small>"
        for place, (name, loading) in enumerate(zip(one.features, one.loadings, strict=True))
    )
    cells = {
        "features": features + (f'<p class="remark">{escape(one.remark)}</p>' if one.remark else ""),
        "value": down(result.value),
        "bound": up(result.bound),
        "gap": percent_up(result.gap),
        "proved": escape(one.proof),
        "certificate": _BADGES[one.certificate],
        "explains": f"{100 * one.explained:.1f} %",
        "span": f"{100 * one.span:.1f} %",
    }
    body = "".join(f'<td data-label="{label}"><div>{cell}</div></td>' for label, cell in cells.items())
    return f'<tr><th scope="row">{number}</th>{body}</tr>'


def _together(report: "Report") -> str:
    """Return the last row of the table, where components were chosen together: what all of them are worth."""
    joint = report.joint
    if joint is None or not joint.components:
        return ""
    cells = {
        "features": f"{counted(len(joint.components), 'component')} together, no feature in two of them",
        "value": down(joint.value),
        "bound": up(joint.bound),
        "gap": percent_up(joint.gap),
        "proved": report.components[0].proof,
        "certificate": _BADGES[report.components[0].certificate],
        "explains": f"{100 * sum(one.explained for one in report.components):.1f} %",
        "span": f"{100 * report.components[-1].span:.1f} %",
    }
    body = "".join(f'<td data-label="{label}"><div>{cell}</div></td>' for label, cell in cells.items())
    return f'\n<tr class="together"><th scope="row">all</th>{body}</tr>'


def _own(report: "Report", j: int) -> str:
    """Return the noise and the cost of a feature, as they stand after its name, where features have their own."""
    said = [] if report.own_noises is None else [f"noise&nbsp;{plain(float(report.own_noises[j]), 3)}"]
    said += [] if report.costs is None else [f"cost&nbsp;{plain(float(report.costs[j]), 3)}"]
    return f" <small>{' '.join(said)}</small>" if said else ""


def _beside(one: Component, place: int) -> str:
    noise = "" if one.noises is None else f", noise {plain(one.noises[place], 3)}"
    return noise if one.costs is None else f"{noise}, cost {plain(one.costs[place], 3)}"


def _signed(loading: float) -> str:
    return f"{loading:+.2f}".replace("-", "\u2212")


def _link(text: str) -> str:
    return "data:text/csv;charset=utf-8," + quote(text)


def _k_path_link(report: "Report") -> str:
    if report.k_path is None:
        return ""
    table = report.k_path.to_frame(loadings=True).drop("features").write_csv()
    return f'\n<a download="k-path.csv" href="{_link(table)}">Download the path over k (CSV)</a>'


def _data(report: "Report", shown: list[int]) -> str:
    """Return what the script draws, as JSON that is safe inside a script element."""

    def proved(frame: Frame) -> bool:
        return bool(np.isfinite(frame.bound))

    last = float(report.path.rhos[-1]) / report.unit
    frames = [
        {
            "at": round(100 * frame.noise / last, 3),
            "noise": plain(frame.noise),
            "left": down(frame.left, 4),
            "bound": up(frame.bound, 4) + (" after its costs" if report.costs is not None and proved(frame) else ""),
            "plain": plain(frame.plain, 4),
            "ordinary": down(frame.ordinary, 4),  # as `left` is: the two are compared
            "bars": _short([frame.plain, frame.left, frame.ordinary]),
            "loadings": _short(frame.v[shown]),
            "unseen": int(np.count_nonzero(frame.v) - np.count_nonzero(frame.v[shown])),
            "before": _short(frame.before),
            "after": _short(frame.after),
        }
        for frame in report.frames
    ]
    document = json.dumps({"k": report.path.k, "frames": frames}, separators=(",", ":"))
    return document.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _short(numbers: object) -> list[float]:
    """Return the numbers with five digits, which is finer than a pixel; 0 as 0."""
    return [float(f"{number:.5g}") + 0.0 for number in np.asarray(numbers, dtype=np.float64)]
