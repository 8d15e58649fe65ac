"""Write the numbers and sentences of the page. A bound is rounded up and a value down, so that both stay true."""

import math
from typing import TYPE_CHECKING

import numpy as np

from noap.adversaries import BY_KEY
from noap.analysis.barcode import Row
from noap.runtime.digits import down, up
from noap.runtime.names import counted, listed

if TYPE_CHECKING:
    import noap
    from noap.report.content import Report

__all__ = [
    "adversary_sentence",
    "answer",
    "bound_sentence",
    "down",
    "later_sentence",
    "method_sentence",
    "noise_sentence",
    "percent_up",
    "plain",
    "ticks",
    "up",
    "where",
]

_MOST_NAMES = 5


def percent_up(share: float) -> str:
    r"""Return a share as a percentage of at most two digits, rounded up: to 0.01 % at least, unless it is 0.

    >>> percent_up(9.99e-5), percent_up(1e-12), percent_up(0.0), percent_up(float("inf"))
    ('0.01\xa0%', '0.01\xa0%', '0\xa0%', 'unknown')
    """
    if not math.isfinite(share):
        return "unknown"
    digits = "0.01" if 0 < share <= 1e-4 else up(100 * share, 2)
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits and 'e' not in digits else digits}\N{NO-BREAK SPACE}%"


def plain(number: float, digits: int = 3) -> str:
    """Return the number with so many digits, to nearest and without trailing zeros.

    >>> plain(0.25), plain(12345.6)
    ('0.25', '12346')
    """
    return f"{number:.{digits}g}" if abs(number) < 10**digits else f"{number:.0f}"


def ticks(last: float) -> list[float]:
    """Return about five round numbers from 0 to `last`.

    >>> ticks(1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = last / 5
    base = 10.0 ** math.floor(math.log10(rough))
    step = min((1.0, 2.0, 5.0, 10.0), key=lambda m: abs(m * base - rough)) * base
    # A little slack: 1.0 built from norms may come out as 1 - 1e-16.
    return [round(i * step, 12) for i in range(math.floor(last / step * (1 + 1e-9)) + 1)]


def answer(report: "Report", rows: tuple[Row, ...]) -> str:
    """Return what the page found, in two or three sentences."""
    path, d = report.path, len(report.names)
    if not rows:
        return "No feature outlasts any noise."
    given = report.own_noises is not None
    half = float(path.rhos[-1]) / 2
    robust = [row.feature for row in rows if (row.essential_to >= 1 if given else row.essential_to > half)]
    far = "at the noise given" if given else "beyond half the noise it takes to erase everything"
    named = listed([report.names[j] for j in robust], _MOST_NAMES)
    first = (
        f"Of {d} features, {len(rows)} are ever part of the best component of at most {path.k}. "
        f"Essential to it {far}: {named}."
        if robust
        else f"Of {d} features, {len(rows)} are ever part of the best component of at most {path.k}; none is essential "
        f"{far}."
    )
    result = report.components[0].result
    if result.value == 0:
        erased = "The noise given" if given else f"Noise {plain(report.noise)}"
        return (
            f"{first} {erased} {'erases every component' if report.costs is None else 'leaves nothing worth its cost'}."
        )
    if report.joint is not None:
        return f"{first} At {where(report)} {_together(report, report.joint)}"
    kept = result.robust_variance / float(np.mean((result.problem.samples("the report") @ result.v) ** 2))
    # Of the best, so that it stays below 100 % however little is proved.
    short = (result.bound - result.value) / result.bound
    proof = f", proved at most {percent_up(short)} below the best possible" if np.isfinite(result.bound) else ""
    return (
        f"{first} At {where(report)} the best component found keeps "
        f"{down(100 * kept, 3)} % of its variance under the worst attack{proof}."
    )


def _together(report: "Report", joint: "noap.JointResult") -> str:
    """Return how much of their variance components keep that were chosen together, as the end of a sentence."""
    found = [one.result for one in report.components]
    kept = sum(one.robust_variance for one in found) / sum(one.plain_variance for one in found)
    short = (joint.bound - joint.value) / joint.bound
    return (
        f"the {counted(len(found), 'component')} chosen together keep {down(100 * kept, 3)} % of their variance under "
        f"the worst attack, proved at most {percent_up(short)} below the best possible."
    )


def bound_sentence(report: "Report") -> str:
    """Return what the bound of a component is a bound on."""
    others = "" if report.joint is None else " from the features that the others leave"
    return f"no component with at most {report.path.k} features{others} keeps more."


def later_sentence(report: "Report") -> str:
    """Return how the components of the table hang together."""
    if report.joint is None:
        return (
            "The first row is the best component. Each later one is the best of what those before leave, and its value "
            "and bound are those of that remainder."
        )
    return (
        f"No feature is in two components, and all of them were chosen together so that their values add up to the "
        f"most: no {len(report.joint.ks)} such components are worth more than the bound of the last row. The largest "
        "comes first; the best component alone may be another one."
    )


def where(report: "Report") -> str:
    """Return at which noise the components of the table were found, as it stands after "at"."""
    return f"noise {plain(report.noise)}" if report.own_noises is None else "the noise given"


def noise_sentence(report: "Report") -> str:
    """Return what a noise of 0.1 means here."""
    if report.own_noises is not None:
        units = "standard deviations" if report.scale else "the units of the data"
        return (
            "Every feature has a noise of its own, which stands beside its name: the error that the adversary may put "
            f"on it, as a root mean square in {units}. The slider multiplies all of them alike; 1 is the noise as "
            f"given.{_cost_sentence(report)}"
        )
    return BY_KEY[report.adversary].noise_in_words(report.scale) + _cost_sentence(report)


def _cost_sentence(report: "Report") -> str:
    if report.costs is None:
        return ""
    return " Every feature has a cost as well: a component is worth its variance less what its features cost."


def adversary_sentence(report: "Report") -> str:
    """Return who the adversary is."""
    return (
        f"The adversary sees the component and then moves every {BY_KEY[report.adversary].moves}, within the noise, "
        "so as to destroy as much of the component's variance as possible. Real errors are kinder: what survives the "
        "adversary survives them."
    )


def method_sentence(report: "Report") -> str:
    """Return how the numbers were made."""
    done = {
        (True, True): "centred and scaled to standard deviation 1",
        (True, False): "centred, not scaled",
        (False, True): "scaled to root mean square 1, not centred",
        (False, False): "used as given",
    }[report.center, report.scale]
    first = report.path.results[0]
    if report.own_noises is not None:
        return (
            f"The data were {done}. Method {first.method}, asked for a gap of {first.asked_gap:g}; {len(report.path)} "
            f"factors from 0 to {plain(float(report.path.rhos[-1]), 3)} on the noises given."
        )
    return (
        f"The data were {done}. Method {first.method}, asked for a gap of {first.asked_gap:g}; {len(report.path)} "
        f"budgets from 0 to rho = {plain(report.path.rho_max, 6)}. Rho of noise 1 is {plain(report.unit, 6)}."
    )
