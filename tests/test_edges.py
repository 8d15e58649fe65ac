"""Claims where doubles run out of digits: next to rho_max, next to 0, and at both ends of the range of numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap
from noap import Status
from noap.linalg.exact_norms import covariance_exceeds, longer_than
from noap.linalg.screening import longer_columns, longest_column, longest_sample

TIE = 2.0**-27  # 1 + TIE^2 rounds to 1


def feature(rho, X=((1.0,), (TIE,)), k=1):
    return noap.Problem(X, k=k, adversary=noap.FeatureWise(rho))


def sample(rho, X=((1.0, TIE),), k=2):
    return noap.Problem(X, k=k, adversary=noap.SampleWise(rho))


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("make", [feature, sample])
def test_a_bound_of_zero_means_an_optimum_of_zero(make):
    # The length is sqrt(1 + 2^-54), so the optimum is (2^-55)^2/n and a little more.
    problem = make(1.0)
    assert not problem.optimum_is_zero
    assert not math.isinf(problem.rho_max)
    result = noap.solve(problem)
    assert Fraction(result.bound) > Fraction(1, 2**110) / problem.n_samples * Fraction(999, 1000)
    assert result.status is Status.FEASIBLE
    assert result.limit is None
    assert "double precision" in result.messages[0]
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.parametrize("make", [feature, sample])
@pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
def test_rho_max_is_the_smallest_budget_that_cancels_everything(make):
    top = make(0.5).rho_max
    assert make(top).optimum_is_zero
    assert not make(math.nextafter(top, 0.0)).optimum_is_zero
    result = noap.solve(make(top))
    assert (result.value, result.bound, result.status) == (0.0, 0.0, Status.OPTIMAL)


def test_the_covariance_decides_exactly_too():
    S = np.array([[1.0 + 2.0**-52]])
    problem = noap.Problem.from_covariance(S, n_samples=3, k=1, adversary=noap.FeatureWise(math.sqrt(3.0)))
    assert problem.optimum_is_zero == (3 * Fraction(S[0, 0]) <= Fraction(math.sqrt(3.0)) ** 2)
    top = problem.rho_max
    assert not covariance_exceeds(S[0], 3, top).any()
    assert covariance_exceeds(S[0], 3, math.nextafter(top, 0.0)).all()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-4, 4), min_size=1, max_size=6),
    st.integers(-4, 4),
    st.sampled_from([1.0, 2.0**-500, 2.0**500, 1e-160]),
)
def test_lengths_are_compared_exactly(entries, ulps, scale):
    x = np.array(entries) * scale
    threshold = abs(float(np.sqrt(np.sum((x / scale) ** 2))) * scale)
    for _ in range(abs(ulps)):
        threshold = math.nextafter(threshold, math.inf if ulps > 0 else 0.0)
    truth = sum(Fraction(float(entry)) ** 2 for entry in x) > Fraction(threshold) ** 2
    assert longer_than(x[None, :], threshold)[0] == truth


def test_columns_that_vanish_when_squared_are_still_there():
    X = np.array([[1.0, 1e-170], [0.0, 0.0]])
    norms = np.array([1.0, 0.0])
    assert longer_columns(X, norms, 0.0).tolist() == [True, True]
    assert noap.Problem(X, k=1, adversary=noap.NoAdversary()).kept_features.tolist() == [True, True]


def test_the_longest_is_found_among_ties():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 40))
    X /= np.linalg.norm(X, axis=0)
    exact = max(sum(Fraction(float(x)) ** 2 for x in column) for column in X.T)
    top = longest_column(X)
    assert Fraction(top) ** 2 >= exact > Fraction(math.nextafter(top, 0.0)) ** 2
    rows = longest_sample(X.T, 50)
    assert rows == top


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("rho", [9.999999999999996e-151, 0.5e-150])
def test_bounds_that_underflow_round_up(rho):
    problem = noap.Problem([[1e-150]], k=1, adversary=noap.FeatureWise(rho))
    optimum = (Fraction(1e-150) - Fraction(rho)) ** 2
    result = noap.solve(problem)
    assert Fraction(result.bound) >= optimum > 0
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise])
@pytest.mark.parametrize("share", [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13])
def test_optimal_says_what_the_gap_says(kind, share):
    rng = np.random.default_rng(7)
    for _ in range(6):
        X = rng.standard_normal((12, 5))
        X /= np.linalg.norm(X, axis=0)
        problem = noap.Problem(X, k=3, adversary=kind(kind(0.0).rho_max(X, 3) * (1 - share)))
        for asked in (1e-2, 1e-6):
            result = noap.solve(problem, gap=asked)
            assert (result.status is Status.OPTIMAL) == (result.gap <= asked)
            assert result.limit is None
            # Down to here double precision has the digits; features are attacked to some 40 ulps of their lengths.
            if share >= (1e-5 if kind is noap.FeatureWise else 1e-7) and asked == 1e-2:
                assert result.status is Status.OPTIMAL


def test_a_gap_of_zero_gets_what_doubles_can_prove():
    X = np.random.default_rng(1).standard_normal((9, 5))
    result = noap.solve(noap.Problem(X, k=2, adversary=noap.FeatureWise(0.3)), gap=0.0)
    assert result.status is Status.OPTIMAL
    assert 0 <= result.gap <= 1e-9


@pytest.mark.parametrize("rho", [5e-324, 1e-320, 1e-305, 1e-300, 1e-22, 1e-20, 0.9e-19, 1e-18])
def test_certificates_of_negligible_budgets_are_accepted(rho):
    rng = np.random.default_rng(3)
    for _ in range(25):
        d = int(rng.integers(5, 9))
        X = rng.integers(-3, 4, size=(int(rng.integers(2, 6)), d)).astype(float)
        problem = noap.Problem(X, k=d - int(rng.integers(0, 2)), adversary=noap.FeatureWise(rho))
        report = noap.verify(problem, noap.solve(problem).certificate)
        assert report.ok, (X.tolist(), problem.k, report.message)


@pytest.mark.parametrize("rho", [0.0, 5e-324, 1.0])
@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise])
@pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
def test_certificates_of_no_data_at_all_are_accepted(kind, rho):
    problem = noap.Problem(np.zeros((3, 2)), k=1, adversary=kind(rho))
    result = noap.solve(problem)
    assert (result.value, result.bound) == (0.0, 0.0)
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_paths_end_in_an_exact_zero():
    X = [[-0.7034240014510648, -0.6643671949881427], [1.0366662268676423, 0.12748734432705752]]
    first = noap.FeatureWise(0.0).rho_max(X, 2)
    rhos = [0.63, math.nextafter(first, 0.0), first]
    path = noap.path(X, 2, noap.FeatureWise, rhos=rhos)
    squares = [sum(Fraction(row[j]) ** 2 for row in X) for j in range(2)]
    excess = max(squares) - Fraction(rhos[1]) ** 2
    lower = (excess / (2 * Fraction(first))) ** 2 / 2  # sqrt(a) - b > (a - b^2)/(2 b') for every b' >= sqrt(a)
    assert Fraction(path.bounds[1]) >= lower > 0
    assert path.bounds[2] == 0.0


def test_norms_of_tiny_attacks_do_not_vanish():
    assert noap.SampleWise(1e-170).norm([[1e-170]]) == pytest.approx(1e-170, rel=1e-15)
    assert noap.FeatureWise(1.0).norm([[3e160, 0.0], [4e160, 1.0]]) == pytest.approx(5e160, rel=1e-15)
