"""The sentences of the page that depend on the data."""

from typing import TYPE_CHECKING

import numpy as np

from noap._path.barcode import Row
from noap.report.numbers import down, percent_up, plain

if TYPE_CHECKING:
    from noap.report.content import Report

__all__ = ["adversary_sentence", "answer", "method_sentence", "noise_sentence"]

_MOST_NAMES = 5


def answer(report: "Report", rows: tuple[Row, ...]) -> str:
    """Return what the page found, in two or three sentences."""
    path, d = report.path, len(report.names)
    if not rows:
        return "No feature survives any noise."
    half = float(path.rhos[-1]) / 2
    robust = [row.feature for row in rows if row.survives >= half]
    named = ", ".join(report.names[j] for j in robust[:_MOST_NAMES])
    more = f" and {len(robust) - _MOST_NAMES} more" if len(robust) > _MOST_NAMES else ""
    first = (
        f"Of {d} features, {len(rows)} are ever part of the best component of at most {path.k}. "
        f"Those that last beyond half the noise it takes to erase everything: {named}{more}."
        if robust
        else f"Of {d} features, {len(rows)} are ever part of the best component of at most {path.k}; none lasts "
        "beyond half the noise it takes to erase everything."
    )
    result = report.components[0].result
    if result.value == 0:
        return f"{first} Noise {plain(report.noise)} erases every component."
    kept = result.value / float(np.mean((result.problem.samples("the report") @ result.v) ** 2))
    proof = f", proved within {percent_up(result.gap)} of the best possible" if np.isfinite(result.bound) else ""
    return (
        f"{first} At noise {plain(report.noise)} the best component found keeps {down(100 * kept, 3)} % of its "
        f"variance under the worst attack{proof}."
    )


def noise_sentence(report: "Report") -> str:
    """Return what a noise of 0.1 means here."""
    if report.adversary == "sample":
        return (
            "Noise is how far the adversary may shift the score of every sample along the component: 0.1 means by "
            "at most 0.1, in the units of the standardised data."
            if report.scale
            else "Noise is how far the adversary may shift the score of every sample along the component, in the units "
            "of the data."
        )
    if report.scale:
        return (
            "Noise is the error the adversary may put on every feature, as a root mean square in standard deviations: "
            "0.1 means a tenth of a standard deviation, and 1 is enough to wipe any feature out."
        )
    return "Noise is the error the adversary may put on every feature, as a root mean square in the units of the data."


def adversary_sentence(report: "Report") -> str:
    """Return who the adversary is."""
    moved = (
        "feature (every column of the table)" if report.adversary == "feature" else "sample (every row of the table)"
    )
    return (
        f"The adversary sees the component and then moves every {moved}, within the noise, so as to destroy as much of "
        "the component's variance as possible. Real errors are kinder: what survives the adversary survives them."
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
    return (
        f"The data were {done}. Method {first.method}, asked for a gap of {first.asked_gap:g}; {len(report.path)} "
        f"budgets from 0 to rho = {plain(report.path.rho_max, 6)}. Rho of noise 1 is {plain(report.unit, 6)}."
    )
