"""Claims at the edges with budgets and costs of single features, judged in exact arithmetic."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from claims import as_text, rounding, value_is_true
from hostile_terms import terms_case

import noap
from noap.errors import InvalidProblem, NoapWarning
from rational_judge import Truth, integers

_FEW, _MANY, _LOT = 150, 10_000, 500


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
    try:
        problem = case.problem()
    except InvalidProblem:
        if not case.out_of_range():
            raise
        return
    result = noap.solve(problem, gap=case.gap, time_limit=1.0)
    judge = case.judge()
    floor = Truth(judge, case.k, extra=(result.v,)).floor
    v = result.v
    if np.count_nonzero(v) > case.k or (abs(float(v @ v) - 1.0) > 1e-9 and (v.any() or case.costs is None)):
        yield f"vector: {v}"
    (weights,), _ = integers(v)
    lower, upper = judge.robust(weights)
    # The costs are exact; their sum and the difference lose a few ulps.
    spent = sum((judge.costs[j] for j in np.flatnonzero(v)), Fraction(0))
    off = Fraction(2.0**-50) * (spent + upper) + Fraction(5e-324)
    variance = problem.robust_variance(v)
    if not value_is_true(variance, lower, upper, rounding(judge), judge.n):
        yield f"variance: {variance!r}, its vector has {as_text(upper)}"
    if not abs(Fraction(result.value) - (Fraction(variance) - spent)) <= off:
        yield f"value: {result.value!r}, its vector is worth {as_text(max(upper - spent, Fraction(0)))}"
    if not Fraction(result.bound) >= floor:
        yield f"bound: {result.bound!r}, a direction is worth {as_text(floor)}"
    if not result.bound >= result.value:
        yield f"order: bound {result.bound!r} below value {result.value!r}"
    if result.certificate is None:
        yield "certificate: none"
        return
    report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    if not report.ok:
        yield f"rejected: {report.message}"
        return
    if not Fraction(report.value) <= max(upper - spent, Fraction(0)):
        yield f"verified value: {report.value!r} of a vector worth {as_text(max(upper - spent, Fraction(0)))}"
    if not Fraction(report.bound) >= floor:
        yield f"verified bound: {report.bound!r}, a direction is worth {as_text(floor)}"


@pytest.mark.parametrize("number", [*range(_FEW), 16896, 1040, 2851, 3046, 19213])
def test_no_claim_is_untrue(number):
    hostile = terms_case(number)
    untrue = complaints(hostile)
    assert not untrue, f"{untrue}\n{hostile}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(_FEW, _FEW + _MANY, _LOT))
def test_no_claim_is_untrue_in_ten_thousand(first):
    untrue = {str(c): found for c in map(terms_case, range(first, first + _LOT)) if (found := complaints(c))}
    assert not untrue, "\n".join(f"{found}\n    {which}" for which, found in list(untrue.items())[:20])


def test_the_cases_are_what_they_promise():
    cases = [terms_case(i) for i in range(300)]
    assert any(np.isinf(c.rhos).any() for c in cases)
    assert any(c.costs is None for c in cases)
    assert any(c.X is None for c in cases)
    assert sum(Truth(c.judge(), c.k).floor > 0 for c in cases[:100] if not c.out_of_range()) > 50
    assert str(terms_case(7)) == str(terms_case(7))
    assert math.inf > max(float(c.costs.max()) for c in cases if c.costs is not None)
