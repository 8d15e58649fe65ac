"""Claims at the edges: every value, bound, status and certificate of hostile cases, judged in exact arithmetic."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from claims import complaints, value_is_true
from hostile_cases import BUDGETS, Case, case
from hostile_shapes import SHAPES
from known_cases import KNOWN

import judge as brute
import noap
from noap.result import Status
from rational_judge import Judge, Truth

_FEW, _MANY, _LOT = 150, 10_000, 500


@pytest.mark.parametrize("number", range(_FEW))
def test_no_claim_is_untrue(number):
    hostile = case(number)
    untrue = complaints(hostile)
    assert not untrue, f"{untrue}\n{hostile}"


@pytest.mark.parametrize("name", KNOWN)
def test_no_claim_is_untrue_any_more(name):
    assert not complaints(KNOWN[name])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(_FEW, _FEW + _MANY, _LOT))
def test_no_claim_is_untrue_in_ten_thousand(first):
    untrue = {str(c): found for c in map(case, range(first, first + _LOT)) if (found := complaints(c))}
    assert not untrue, "\n".join(f"{found}\n    {which}" for which, found in list(untrue.items())[:20])


# -- the generator ----------------------------------------------------------------------------------------------------


def test_the_cases_are_what_they_promise():
    cases = [case(i) for i in range(1500)]
    assert {c.shape for c in cases} == {*SHAPES, "no variance"}
    assert {c.budget for c in cases} == {*BUDGETS, "none"}
    assert {c.adversary for c in cases} == {"none", "feature", "sample"}
    assert {c.source for c in cases} == {
        "samples", "float32", "sparse", "sparse in pieces", "covariance", "integers", "fortran", "strided", "backwards",
    }  # fmt: skip
    tops = np.array([np.abs(c.X).max() for c in cases if c.X is not None])
    for c in cases:
        if c.X is not None:
            given = c.given()
            assert np.array_equal(given if isinstance(given, np.ndarray) else given.toarray(), c.X)
    assert tops.max() == 1e150
    assert tops[tops > 0].min() == 1e-150
    assert (tops == 0).any()
    assert any(c.n == 1 for c in cases)
    assert any(c.k == len(c.judge().rows[0]) > 3 for c in cases)
    assert any(0 < c.rho <= 1e-300 for c in cases)
    # The same number is the same case.
    assert str(case(7)) == str(case(7))


@pytest.mark.parametrize("adversary", ["feature", "sample"])
def test_budgets_come_within_an_ulp_of_the_largest_that_matters(adversary):
    beside = {"below": 0, "above": 0}
    for c in (case(i) for i in range(600)):
        if c.adversary == adversary and c.budget in ("at the top", "beside the top"):
            above = Truth(c.judge(), c.k).floor == 0
            near = Truth(c.judge(c.rho * (1 - 1e-15)), c.k).floor > 0
            beside["above" if above else "below"] += near
    assert min(beside.values()) >= 5, beside


# -- the judge --------------------------------------------------------------------------------------------------------


def test_the_judge_sees_what_rounding_hides():
    judge = Judge("feature", 1.0, 2, X=np.array([[1.0], [2.0**-27]]))
    lower, upper = judge.worth((1,))
    # (sqrt(1 + 2^-54) - 1)^2/2, by the series 2^-55 - 2^-111.
    series = (Fraction(1, 2**55) - Fraction(1, 2**111)) ** 2 / 2
    assert 0 < lower <= upper
    assert abs(upper / series - 1) < Fraction(1, 2**100)
    assert upper - lower < lower / 10**60


def test_subnormal_worths_are_not_zero():
    judge = Judge("sample", 5e-324, 1, X=np.array([[1e-323]]))
    lower, upper = judge.worth((3,))
    assert lower <= Fraction(5e-324) ** 2 <= upper
    assert upper - lower < lower / 10**60


@pytest.mark.parametrize("seed", range(12))
def test_the_floor_is_the_optimum_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n, d, k = 5, 4, int(rng.integers(1, 4))
    X = rng.standard_normal((n, d))
    rho = 0.5 * float(np.linalg.norm(X, axis=0).max())
    floors = {name: float(Truth(Judge(name, rho, n, X=X), k).floor) for name in ("none", "feature")}
    assert floors["none"] == pytest.approx(brute.vanilla_optimum(X.T @ X / n, k), rel=1e-12)
    assert floors["feature"] == pytest.approx(brute.feature_wise_optimum(X.T @ X, n, k, rho), rel=1e-9)
    assert float(Truth(Judge("feature", rho, n, S=X.T @ X / n), k).floor) == pytest.approx(floors["feature"], rel=1e-9)
    rho = 0.4 * float(np.abs(X).max())
    assert float(Truth(Judge("sample", rho, n, X=X), k).floor) == pytest.approx(
        brute.sample_wise_optimum(X, k, rho), rel=1e-9
    )


@pytest.mark.parametrize("name", ["none", "feature", "sample"])
def test_the_floor_beats_random_directions(name):
    rng = np.random.default_rng(5)
    for _ in range(5):
        X = rng.integers(-3, 4, (4, 5)).astype(float)
        judge = Judge(name, 1.25, 4, X=X)
        truth = Truth(judge, 2)
        for c in combinations(range(5), 2):
            for w in rng.integers(-50, 51, (40, 2)):
                v = [0] * 5
                v[c[0]], v[c[1]] = (int(x) for x in w)
                assert judge.worth(v)[0] <= truth.floor * (1 + Fraction(1, 10**25))


def test_values_beyond_rounding_are_untrue():
    one = Fraction(1)
    assert value_is_true(1.0 + 1e-13, one, one, Fraction(1, 2**52), 1)
    assert not value_is_true(1.0 + 1e-11, one, one, Fraction(1, 2**52), 1)
    assert not value_is_true(1.0 - 1e-11, one, one, Fraction(1, 2**52), 1)
    # Where all but the last digits cancel, so does the value.
    tiny = Fraction(1, 2**104)
    assert value_is_true(2.0**-106, tiny, tiny, Fraction(1, 2**52), 1)
    assert not value_is_true(2.0**-90, tiny, tiny, Fraction(1, 2**52), 1)
    assert not value_is_true(float("nan"), one, one, Fraction(1, 2**52), 1)


class Lie:
    """A result that says something else than it knows."""

    def __init__(self, result, **said):
        self.__dict__ |= {"result": result, **said}

    def __getattr__(self, name):
        return getattr(self.result, name)


LIES = {
    "bound": lambda honest: {"bound": honest.value * (1 - 1e-14)},
    "value": lambda honest: {"value": honest.value * (1 + 1e-10)},
    "optimal": lambda honest: {"bound": honest.value * 1.5, "gap": 0.5, "status": Status.OPTIMAL},
}


@pytest.mark.parametrize("kind", LIES)
def test_lies_are_noticed(kind):
    X = np.random.default_rng(3).standard_normal((5, 4))
    honest = Case(1, "plain", "samples", "feature", "middle", 0.7, 2, 5, 1e-4, X, None)
    assert not complaints(honest)

    def lying(problem, method="exact", **options):
        result = noap.solve(problem, method, **options)
        return Lie(result, **LIES[kind](result)) if method == "exact" else result

    assert kind in {text.split(":")[0] for text in complaints(honest, lying)}
