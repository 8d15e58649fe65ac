"""Problems of which nothing is left: value, bound and gap are exactly 0, with a certificate of version 5."""

import math
from fractions import Fraction

import numpy as np
import pytest

import noap
from noap.errors import GapWarning, NoapWarning
from noap.kernel.certificate import Certificate
from noap.kernel.explain import explained

X = np.array([[3.0, 1.0, 0.0, 6.0], [4.0, -1.0, 0.0, 8.0]])
LENGTHS = np.array([5.0, math.nextafter(math.sqrt(2.0), 2.0), 0.0, 10.0])
NO, FW = noap.NoAdversary(), noap.FeatureWise
CORRELATIONS = np.array([[1.0, -1.0, 0.5], [-1.0, 1.0, -0.5], [0.5, -0.5, 1.0]])


def samples(adversary, k=2, data=X, **kwargs):
    return noap.Problem(data, k, adversary, **kwargs)


def covariance(S, adversary, k=2, n=4, **kwargs):
    return noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=adversary, **kwargs)


CASES = {
    "one budget": samples(FW(10.0)),
    "budgets": samples(FW(LENGTHS)),
    "budgets without end": samples(FW([math.inf, math.inf, 0.0, 10.0])),
    "no data": samples(NO, data=np.zeros((3, 2))),
    "no data, noise": samples(FW(1.0), data=np.zeros((3, 2))),
    "one feature": samples(FW(5.0), k=1, data=X[:, :1]),
    "one sample": samples(FW([3.0, 1.0, 0.0, 6.0]), k=4, data=X[:1]),
    "a constant column is left": samples(NO, exclude=[0, 1, 3]),
    "a constant column, noise": samples(FW(0.1), exclude=[0, 1, 3]),
    "a constant column is demanded": samples(NO, k=1, include=[2]),
    "demanded": samples(FW(5.0), k=1, include=[0]),
    "the long one is forbidden": samples(FW(5.0), exclude=[3]),
    "k is larger than what is left": samples(FW(5.0), k=4, exclude=[1, 2, 3]),
    "costs": samples(FW(5.0), costs=[0.0, 0.0, 0.0, 12.5]),
    "costs alone": samples(NO, costs=[12.5, 1.0, 0.0, 50.0]),
    "singular": covariance(np.ones((3, 3)), FW(2.0), k=3),
    "correlations": covariance(CORRELATIONS, FW(2.0), k=3),
    "correlations, forbidden": covariance(CORRELATIONS * np.outer([1, 1, 2], [1, 1, 2]), FW(2.0), exclude=[2]),
    "indefinite, one feature left": covariance([[1.0, 0.5], [0.5, -2.0]], NO, k=2, exclude=[0]),
    "indefinite, demanded": covariance([[1.0, 0.5], [0.5, -2.0]], NO, k=1, include=[1]),
    "small": samples(FW(math.ldexp(10.0, -480)), data=np.ldexp(X, -480)),
    "large": samples(FW(math.ldexp(10.0, 460)), data=np.ldexp(X, 460)),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left(name):
    problem = CASES[name]
    with pytest.warns(NoapWarning, match="(cancel every direction|is worth its cost).*, so the optimum is 0; use less"):
        result = noap.solve(problem, gap=0.0)
    assert (result.method, result.status) == ("exact", noap.Status.OPTIMAL)
    assert result.value == result.bound == result.gap == 0.0
    assert result.limit is None
    certificate = Certificate.from_bytes(result.certificate.to_bytes())
    verification = noap.verify(problem, certificate)
    assert verification.ok
    assert verification.value == verification.bound == verification.gap == 0.0
    words = "\n".join(explained(certificate))
    assert "no value above 0" in words
    assert "no feature contributes more than it costs" in words or len(problem.include)


def test_what_demanded_features_cost_is_all():
    problem = samples(FW(10.0), include=[1], costs=[1.0, 0.7, 3.0, 4.0])
    with pytest.warns(NoapWarning, match=r"so the optimum is -0\.7; use less noise or lower costs"):
        result = noap.solve(problem)
    assert result.value == result.bound == -0.7
    assert result.gap == 0
    assert noap.verify(problem, result.certificate).bound == -0.7


@pytest.mark.parametrize("scale", [1e-145, 1.0, 1e135])
def test_one_ulp_apart(scale):
    """At rho_max the bound is 0; just below it, it is tiny, above the value, and above 0."""
    rng = np.random.default_rng(0)
    for _ in range(12):
        n, d = int(rng.integers(1, 30)), int(rng.integers(1, 6))
        data = rng.standard_normal((n, d)) * scale
        top = samples(FW(scale), 1, data).rho_max
        exact = max(sum(Fraction(x) ** 2 for x in column) for column in data.T.tolist())
        assert Fraction(math.nextafter(top, 0.0)) ** 2 < exact <= Fraction(top) ** 2
        for rho, nothing in ((top, True), (math.nextafter(top, math.inf), True), (math.nextafter(top, 0.0), False)):
            problem = samples(FW(rho), int(rng.integers(1, d + 1)), data)
            with pytest.warns(NoapWarning) as seen:
                result = noap.solve(problem)
            assert any(issubclass(one.category, GapWarning) for one in seen) != nothing
            assert (result.bound == 0) == nothing
            assert (result.value == 0) >= nothing
            assert result.value <= result.bound < 1e-12 * scale * scale * n
            assert noap.verify(problem, result.certificate).ok


def test_a_bound_where_nothing_can_be_shown():
    """Every vector that is left has a negative variance, of which no rule speaks: the bound is tiny, and holds."""
    problem = covariance([[1.0, 0.0, 0.0], [0.0, -2.0, 1.0], [0.0, 1.0, -3.0]], NO, exclude=[0])
    with pytest.warns(GapWarning):
        result = noap.solve(problem)
    assert result.value == 0
    assert 0 < result.bound < 1e-150
    assert noap.verify(problem, result.certificate).ok


def test_starts_where_the_longest_features_are_forbidden():
    S = np.diag([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 1.0, 0.5])
    result = noap.solve(covariance(S, FW(0.5), exclude=[0, 1, 2, 3, 4, 5]))
    assert result.support.tolist() == [6]
    assert result.status is noap.Status.OPTIMAL


@pytest.mark.parametrize("rho", [1e200, 1e308])
def test_spectral_budgets_beyond_all_data(rho):
    problem = samples(noap.SpectralNorm(rho))
    with pytest.warns(NoapWarning, match="cancel every direction"):
        result = noap.solve(problem)
    assert result.value == result.bound == 0
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(20))
def test_spectral_bounds_that_are_subnormal(seed):
    data = np.random.default_rng(seed).standard_normal((5, 2)) * 1e-150
    rho = 0.97 * math.sqrt(float((data * 1e150 * data * 1e150).sum(axis=0).max())) * 1e-150
    problem = samples(noap.SpectralNorm(rho * (1 - 1e-9)), 1, data)
    assert noap.verify(problem, noap.solve(problem).certificate).ok


@pytest.mark.filterwarnings("ignore")
def test_costs_that_are_subnormal_of_data_that_are_nothing():
    problem = samples(FW(1.0), 3, np.zeros((4, 3)), include=[1, 2], costs=[0.0, 5e-324, 5e-324])
    assert noap.verify(problem, noap.solve(problem).certificate).ok
