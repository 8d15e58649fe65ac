"""A diagonal metric is another choice of units; B = I is no metric at all."""

import numpy as np
import pytest

import noap
import older
from generalised_judge import best_ratio, robust_ratio


def data(seed, n=25, d=8):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d), rng.uniform(0.2, 5.0, d)


@pytest.mark.parametrize("adversary", [noap.NoAdversary(), noap.FeatureWise(1.0), noap.FeatureWise(2.5)])
@pytest.mark.parametrize("metric", [np.eye(8), np.ones(8)])
def test_unit_metric_gives_the_same_nodes_and_certificates(adversary, metric):
    X, _ = data(0)
    with_it = noap.solve(noap.Problem(X, 3, adversary, metric=metric))
    without = noap.solve(noap.Problem(X, 3, adversary))
    assert with_it.nodes == without.nodes
    assert with_it.certificate.to_bytes() == without.certificate.to_bytes()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rho", [0.0, 0.8, 2.0])
@pytest.mark.parametrize("source", ["samples", "covariance"])
def test_equals_rescaled_columns_and_budgets(seed, rho, source):
    X, D = data(seed)
    n, budgets = len(X), rho * np.linspace(0.5, 1.5, 8)
    if source == "samples":
        problem = noap.Problem(X, 3, noap.FeatureWise(budgets), metric=D)
        scaled = noap.Problem(X / np.sqrt(D), 3, noap.FeatureWise(budgets / np.sqrt(D)))
    else:
        S = X.T @ X / n
        problem = noap.Problem.from_covariance(S, n_samples=n, k=3, adversary=noap.FeatureWise(budgets), metric=D)
        scaled = noap.Problem.from_covariance(
            S / np.sqrt(np.outer(D, D)), n_samples=n, k=3, adversary=noap.FeatureWise(budgets / np.sqrt(D))
        )
    one, other = noap.solve(problem), older.solve(scaled)
    assert one.nodes == other.nodes
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.bound == pytest.approx(other.bound, rel=1e-12)
    back = other.v / np.sqrt(D)  # up to the sign, which the largest entry decides
    np.testing.assert_allclose(one.v, back * np.sign(back @ one.v), rtol=1e-7, atol=1e-9)
    report = noap.verify(problem, one.certificate)
    assert report.ok, report.message
    assert report.bound == pytest.approx(one.bound, rel=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_brute_force_agrees(seed):
    X, D = data(seed, d=6)
    S = X.T @ X / len(X)
    plain = noap.solve(noap.Problem(X, 3, noap.NoAdversary(), metric=D))
    optimum = best_ratio(S, np.diag(D), 3)[0]
    assert plain.value * (1 - 1e-9) <= optimum <= plain.bound * (1 + 1e-12)
    attacked = noap.solve(noap.Problem(X, 3, noap.FeatureWise(1.5), metric=D))
    optimum = robust_ratio(S, np.diag(D), np.full(6, 1.5 / np.sqrt(len(X))), 3)
    assert attacked.value * (1 - 1e-9) <= optimum * (1 + 1e-6)
    assert optimum <= attacked.bound * (1 + 1e-9)


def test_sparse_samples_and_infinite_budgets():
    from scipy.sparse import csr_array

    X, D = data(7)
    rho = np.array([0.5, np.inf, 0.0, 1.0, 1.0, 0.1, 0.2, 0.3])
    X[np.abs(X) < 1.0] = 0.0
    dense = noap.solve(noap.Problem(X, 3, noap.FeatureWise(rho), metric=D))
    sparse = noap.solve(noap.Problem(csr_array(X), 3, noap.FeatureWise(rho), metric=D))
    assert 1 not in dense.support
    assert dense.value == pytest.approx(sparse.value, rel=1e-12)
