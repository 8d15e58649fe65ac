"""Claims at the edges with a budget for every sample, judged in exact arithmetic."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from claims import as_text
from hostile_samples import samples_case

import noap
from noap.errors import NoapWarning

_FEW, _MANY, _LOT = 120, 10_000, 500


def complaints(case):
    """One sentence per untrue claim."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoapWarning)
        try:
            return list(_complaints(case))
        except Exception as error:  # whatever it is, it is a finding
            return [f"raises: {type(error).__name__}: {error}"]


def _complaints(case):
    problem = case.problem()
    result = noap.solve(problem, gap=case.gap, time_limit=1.0)
    lower, upper = case.worth(result.v)
    # What rounding may take off every score, or add to it.
    trusted = np.isfinite(case.rhos)
    size = Fraction(float(np.abs(case.X[trusted]).max(initial=0.0))) * case.X.shape[1]
    most = size + Fraction(float(case.rhos[trusted].max(initial=0.0)))
    off = 2.0**-46 * most
    least = len(case.X) * Fraction(5e-324)  # a square of each sample underflows
    below, above = (3 * off * (_root(x) + off) + least for x in (lower, upper))
    if not lower - below <= Fraction(result.value) <= upper + above:
        yield f"value: {result.value!r}, its vector is worth {as_text(upper)}"
    floor = max(lower, *(case.worth(v)[0] for v in case.directions()))
    if not Fraction(result.bound) >= floor:
        yield f"bound: {result.bound!r}, a direction is worth {as_text(floor)}"
    if not result.bound >= result.value:
        yield f"order: bound {result.bound!r} below value {result.value!r}"
    report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    if not report.ok:
        yield f"rejected: {report.message}"
    else:
        if not Fraction(report.value) <= upper:
            yield f"verified value: {report.value!r} of a vector worth {as_text(upper)}"
        if not Fraction(report.bound) >= floor:
            yield f"verified bound: {report.bound!r}, a direction is worth {as_text(floor)}"


def _root(x):
    return Fraction(float(x) ** 0.5)


@pytest.mark.parametrize("number", [*range(_FEW), 7256])
def test_no_claim_is_untrue(number):
    hostile = samples_case(number)
    untrue = complaints(hostile)
    assert not untrue, f"{untrue}\n{hostile}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(_FEW, _FEW + _MANY, _LOT))
def test_no_claim_is_untrue_in_ten_thousand(first):
    untrue = {str(c): found for c in map(samples_case, range(first, first + _LOT)) if (found := complaints(c))}
    assert not untrue, "\n".join(f"{found}\n    {which}" for which, found in list(untrue.items())[:20])


def test_the_cases_are_what_they_promise():
    cases = [samples_case(i) for i in range(200)]
    assert any(np.isinf(c.rhos).any() for c in cases)
    assert any((c.rhos == 0).all() for c in cases)
    assert sum(max(c.worth(v)[0] for v in c.directions()) > 0 for c in cases[:60]) > 30
    assert str(samples_case(7)) == str(samples_case(7))
