"""A metric: brute force over supports, and signs against an adversary, judges value, bound and certificate."""

import math
import warnings

import numpy as np
import pytest

import noap
from generalised_judge import best_ratio, random_pencil, robust_ratio

CASES = [(seed, d, k) for seed in range(6) for d, k in ((6, 2), (9, 3), (8, 4), (7, 7), (5, 1))]


@pytest.mark.parametrize(("seed", "d", "k"), CASES)
def test_brute_force_agrees(seed, d, k):
    X, B = random_pencil(np.random.default_rng(seed), d)
    problem = noap.Problem(X, k, noap.NoAdversary(), metric=B)
    optimum, _ = best_ratio(X.T @ X / len(X), B, k)
    result = noap.solve(problem, gap=1e-6)
    assert result.status is noap.Status.OPTIMAL
    assert result.value == pytest.approx(optimum, rel=2e-6)
    assert result.bound >= optimum * (1 - 1e-12)
    assert result.v @ B @ result.v == pytest.approx(1.0, abs=1e-12)
    report = noap.verify(problem, result.certificate)
    assert report.ok, report.message
    assert report.bound >= optimum * (1 - 1e-12)
    assert report.gap < 2e-6
    assert noap.solve(problem, "ascent").value <= optimum * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_an_indefinite_form_is_shifted(seed):
    rng = np.random.default_rng(seed)
    X, B = random_pencil(rng, 8)
    S = X.T @ X / len(X) - 0.8 * np.diag(rng.random(8) * 3)
    problem = noap.Problem.from_covariance(S, n_samples=30, k=3, adversary=noap.NoAdversary(), metric=B)
    optimum, _ = best_ratio(S, B, 3)
    result = noap.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    assert optimum * (1 - 1e-12) <= result.bound <= optimum * (1 + 1e-4)
    assert noap.verify(problem, result.certificate).ok
    # A + cB has the optimum + c.
    raised = noap.Problem.from_covariance(S + 2.0 * B, n_samples=30, k=3, adversary=noap.NoAdversary(), metric=B)
    assert noap.solve(raised, gap=1e-7).value == pytest.approx(noap.solve(problem, gap=1e-7).value + 2.0, rel=1e-6)


def test_units_of_features_decide_nothing():
    rng = np.random.default_rng(5)
    X, B = random_pencil(rng, 8)
    units = 2.0 ** np.array([-30, 20, 0, 7, -9, 30, 1, -1])
    plain = noap.solve(noap.Problem(X, 3, noap.NoAdversary(), metric=B))
    other = noap.solve(noap.Problem(X * units, 3, noap.NoAdversary(), metric=B * np.outer(units, units)))
    assert plain.nodes == other.nodes
    assert plain.value == pytest.approx(other.value, rel=1e-12)
    back = other.v * units
    np.testing.assert_allclose(plain.v, back * np.sign(back @ plain.v), rtol=1e-9)


def test_a_nearly_singular_metric_gives_an_honest_bound():
    rng = np.random.default_rng(2)
    X, _ = random_pencil(rng, 8)
    Y = rng.standard_normal((4, 8))
    B = noap.metric_from_samples(Y, 1e-9)
    problem = noap.Problem(X, 3, noap.NoAdversary(), metric=B)
    optimum, _ = best_ratio(X.T @ X / len(X), B, 3)
    result = noap.solve(problem)
    assert result.value <= optimum * (1 + 1e-6)
    assert result.bound >= optimum * (1 - 1e-6)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("limits", [{"node_limit": 3}, {"time_limit": 1e-9}])
def test_limits_leave_a_bound(limits):
    X, B = random_pencil(np.random.default_rng(11), 24)
    problem = noap.Problem(X, 5, noap.NoAdversary(), metric=B)
    result = noap.solve(problem, gap=1e-9, **limits)
    full = noap.solve(problem)
    assert result.bound >= full.value * (1 - 1e-12)
    assert result.value <= full.bound
    assert (result.limit is not None) == (result.status is not noap.Status.OPTIMAL)
    if result.certificate is not None:
        assert noap.verify(problem, result.certificate).ok


def test_samples_and_their_covariance_agree():
    X, B = random_pencil(np.random.default_rng(3), 7)
    one = noap.solve(noap.Problem(X, 3, noap.NoAdversary(), metric=B))
    other = noap.solve(
        noap.Problem.from_covariance(X.T @ X / len(X), n_samples=len(X), k=3, adversary=noap.NoAdversary(), metric=B)
    )
    assert one.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_array_equal(one.support, other.support)


# Against an adversary


def made(seed, d, k, rho):
    X, B = random_pencil(np.random.default_rng(seed), d)
    budgets = rho * np.linspace(0.6, 1.4, d)
    return noap.Problem(X, k, noap.FeatureWise(budgets), metric=B), budgets / math.sqrt(len(X))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("d", "k"), [(6, 2), (6, 3), (5, 4)])
@pytest.mark.parametrize("rho", [0.3, 1.5, 3.0])
def test_brute_force_agrees_against_an_adversary(seed, d, k, rho):
    problem, budgets = made(seed, d, k, rho)
    optimum = robust_ratio(problem.covariance, problem.metric, budgets, k)
    result = noap.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    assert result.value == pytest.approx(optimum, rel=1.1e-4)
    assert result.bound >= optimum * (1 - 1e-12)
    S = problem.covariance
    from_covariance = noap.Problem.from_covariance(
        S, n_samples=problem.n_samples, k=k, adversary=problem.adversary, metric=problem.metric
    )
    assert noap.solve(from_covariance).value == pytest.approx(result.value, rel=1e-4)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("limits", [{"node_limit": 2}, {"time_limit": 1e-9}])
def test_limits_leave_a_bound_against_an_adversary(limits):
    problem, _ = made(1, 12, 4, 2.0)
    full, cut = noap.solve(problem), noap.solve(problem, **limits)
    assert cut.bound >= full.value * (1 - 1e-12)
    assert (cut.limit is not None) == (cut.status is not noap.Status.OPTIMAL)


def test_zero_and_infinite_budgets():
    X, B = random_pencil(np.random.default_rng(8), 6)
    rho = np.array([0.0, 1.0, np.inf, 0.0, 2.0, 0.5])
    result = noap.solve(noap.Problem(X, 3, noap.FeatureWise(rho), metric=B))
    assert result.status is noap.Status.OPTIMAL
    assert 2 not in result.support
    others = [0, 1, 3, 4, 5]
    rest = noap.solve(noap.Problem(X, 3, noap.FeatureWise(rho), metric=B).restricted(others))
    assert result.value == pytest.approx(rest.value, rel=1e-4)


def test_attack_takes_what_the_value_says():
    problem, _ = made(2, 6, 3, 1.0)
    result = noap.solve(problem)
    E = result.attack()
    assert (np.linalg.norm(E, axis=0) <= problem.adversary.rho * (1 + 1e-12)).all()
    assert np.sum(((problem.X + E) @ result.v) ** 2) / 30 == pytest.approx(result.value, rel=1e-9)


# A diagonal metric is another choice of units; B = I is no metric at all.


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
    one, other = noap.solve(problem), noap.solve(scaled)
    assert one.value == pytest.approx(other.value, rel=1e-9)
    assert one.bound == pytest.approx(other.bound, rel=1e-4)
    back = other.v / np.sqrt(D)  # up to the sign, which the largest entry decides
    np.testing.assert_allclose(one.v, back * np.sign(back @ one.v), rtol=1e-4, atol=1e-6)
    report = noap.verify(problem, one.certificate)
    assert report.ok, report.message
    assert report.bound == pytest.approx(one.bound, rel=1e-8)


def test_sparse_samples_and_infinite_budgets():
    from scipy.sparse import csr_array

    X, D = data(7)
    rho = np.array([0.5, np.inf, 0.0, 1.0, 1.0, 0.1, 0.2, 0.3])
    X[np.abs(X) < 1.0] = 0.0
    dense = noap.solve(noap.Problem(X, 3, noap.FeatureWise(rho), metric=D))
    sparse = noap.solve(noap.Problem(csr_array(X), 3, noap.FeatureWise(rho), metric=D))
    assert 1 not in dense.support
    assert dense.value == pytest.approx(sparse.value, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_brute_force_agrees_over_a_diagonal(seed):
    X, D = data(seed, d=6)
    S = X.T @ X / len(X)
    plain = noap.solve(noap.Problem(X, 3, noap.NoAdversary(), metric=D))
    optimum = best_ratio(S, np.diag(D), 3)[0]
    assert plain.value * (1 - 1e-9) <= optimum <= plain.bound * (1 + 1e-12)
    attacked = noap.solve(noap.Problem(X, 3, noap.FeatureWise(1.5), metric=D))
    optimum = robust_ratio(S, np.diag(D), np.full(6, 1.5 / np.sqrt(len(X))), 3)
    assert attacked.value * (1 - 1e-9) <= optimum * (1 + 1e-6)
    assert optimum <= attacked.bound * (1 + 1e-9)


# What crashed or was refused before


def test_columns_of_extreme_size():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]) * 1e109
    problem = noap.Problem(X, 2, noap.FeatureWise(0.3e109), metric=[[2.0, 1.0], [1.0, 2.0]])
    result = noap.solve(problem)
    small = noap.Problem(X / 1e109, 2, noap.FeatureWise(0.3), metric=[[2.0, 1.0], [1.0, 2.0]])
    assert result.status is noap.Status.OPTIMAL
    assert result.value == pytest.approx(noap.solve(small).value * 1e218, rel=1e-6)
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.parametrize("scale", [1e-140, 1e-60, 1e60, 1e140])
@pytest.mark.parametrize("units", [1e-45, 1.0, 1e45])
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_scales_of_data_and_metric(scale, units, rho):
    X, B = random_pencil(np.random.default_rng(4), 5)
    optimum = robust_ratio(X.T @ X / len(X), B, np.full(5, rho / math.sqrt(len(X))), 2)
    problem = noap.Problem(X * scale, 2, noap.FeatureWise(rho * scale), metric=B * units**2)
    if not 1e-150 < scale / units < 1e150:
        with pytest.raises(noap.errors.InvalidProblem, match="rescale the metric"):
            noap.solve(problem)
        return
    result = noap.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    own = (result.value * (units / scale)) * (units / scale)
    assert own == pytest.approx(optimum, rel=1.1e-4)
    report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    assert report.ok, report.message


def test_relaxation_is_a_bound():
    X, B = random_pencil(np.random.default_rng(6), 7)
    for rho in (0.0, 1.0):
        problem = noap.Problem(X, 3, noap.FeatureWise(rho), metric=B)
        relaxed, exact = noap.solve(problem, "relaxation", gap=1.0), noap.solve(problem)
        assert relaxed.bound >= exact.value * (1 - 1e-12)
        assert noap.verify(problem, relaxed.certificate).ok


def test_no_include_in_a_metric():
    X, B = random_pencil(np.random.default_rng(6), 5)
    with pytest.raises(noap.errors.InvalidProblem, match="include"):
        noap.solve(noap.Problem(X, 2, noap.NoAdversary(), metric=B, include=[1]))


def test_where_next_to_nothing_is_left_the_search_ends():
    X = np.array([[1.0, 2.0, -1.0], [0.0, 1.0, 1.0]])
    B = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 3.0]])
    for share in (1 - 1e-15, 1 - 1e-14, 1 - 1e-12, 1.0, 1 + 1e-15):
        problem = noap.Problem(X, 3, noap.FeatureWise(share * np.linalg.norm(X, axis=0)), metric=B)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", noap.errors.NoapWarning)
            result = noap.solve(problem, time_limit=20)
        assert result.limit is None
        assert noap.verify(problem, result.certificate).ok
