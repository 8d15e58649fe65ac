"""More features than a matrix is made of: found, proved, read back, and stopped at any time."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import noap
from noap.kernel.certificate import Certificate


def by_conflicts(certificate):
    return [level for level in certificate.proof.levels if level.by_conflicts]


def wide(n=16, d=2040, groups=3, size=6, seed=0):
    """Groups of features that share a factor, among noise; more features than a matrix is made of."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for g in range(groups):
        X[:, g * 50 : g * 50 + size] += (2.5 + 0.3 * g) * rng.standard_normal((n, 1))
    X -= X.mean(axis=0)
    return X / X.std(axis=0)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_more_features_than_a_matrix_is_made_of(noise):
    X = wide()
    rho = noise * np.sqrt(len(X))
    problem = noap.Problem(X, 5, noap.FeatureWise(rho) if noise else noap.NoAdversary())
    result = noap.solve(problem)
    assert result.status.value == "optimal"
    assert any(set(result.support) <= set(range(first, first + 6)) for first in (0, 50, 100))
    assert by_conflicts(result.certificate)
    certificate = Certificate.from_bytes(result.certificate.to_bytes())
    assert noap.verify(problem, certificate).ok
    # Among the features of the groups alone the tree finds the same.
    few = noap.solve(problem.restricted(np.arange(0, 200)))
    assert few.value == pytest.approx(result.value, rel=1e-9)
    # The same certificate again, and from samples that are stored in another way.
    assert noap.solve(problem).certificate.to_bytes() == result.certificate.to_bytes()
    for other in (np.asfortranarray(X), csr_array(X)):
        again = noap.Problem(other, 5, problem.adversary)
        found = noap.solve(again)
        assert found.bound == pytest.approx(result.bound, rel=1e-6)
        assert noap.verify(again, certificate).ok


def test_costs_budgets_and_forbidden_features_where_there_are_many():
    X = wide(seed=3)
    rng = np.random.default_rng(3)
    rho = rng.uniform(0.05, 0.3, X.shape[1]) * np.sqrt(len(X))
    costs = np.where(rng.random(X.shape[1]) < 0.5, 0.0, 0.02)
    problem = noap.Problem(X, 4, noap.FeatureWise(rho), costs=costs, exclude=[100, 101])
    result = noap.solve(problem)
    assert not {100, 101} & set(result.support)
    assert noap.verify(problem, result.certificate).ok
    few = noap.solve(problem.restricted(np.arange(0, 200))) if not len(problem.exclude) else result
    assert few.value <= result.value * (1 + 1e-9)


def test_limits_where_there_are_many():
    """Stopped at any time there is a vector, and a bound that holds."""
    X = wide(seed=1)
    problem = noap.Problem(X, 5, noap.FeatureWise(0.3 * np.sqrt(len(X))))
    whole = noap.solve(problem)
    assert whole.status.value == "optimal"
    for options in ({"node_limit": 1}, {"time_limit": 1e-3}, {"time_limit": 0.3}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", noap.errors.GapWarning)
            result = noap.solve(problem, **options)
        assert result.bound >= whole.value
        assert noap.verify(problem, result.certificate).ok


def test_what_stays_open_has_a_bound_that_is_not_trivial():
    """Noise: the last level has too many pairs for its settings, and is proved at a larger threshold."""
    X = wide(groups=0, seed=1)
    problem = noap.Problem(X, 4, noap.NoAdversary())
    quick = noap.Settings(direct_features=0, sparse=2, most_each=10)
    with pytest.warns(noap.errors.GapWarning):
        result = noap.solve(problem, settings=quick)
    assert "more noise, a smaller k or fewer features" in result.messages[-1]
    assert noap.verify(problem, result.certificate).ok
    assert result.value <= result.bound < 0.93 * 4
