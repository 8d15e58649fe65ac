"""Without an adversary: brute force over supports judges value, bound and certificate."""

import numpy as np
import pytest

import noap
from generalised_judge import best_ratio, random_pencil

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


def test_ascent_only_goes_up():
    from noap.data.pencil import Pencil
    from noap.heuristics.generalised.ascent import metric_ascent

    for seed in range(6):
        X, B = random_pencil(np.random.default_rng(seed), 12)
        for rho in (0.0, 0.5, 2.0):
            problem = noap.Problem(X, 4, noap.FeatureWise(rho), metric=B)
            pencil = Pencil.of(problem)
            values = [problem.value(pencil.outside(w)) for w in metric_ascent(pencil, np.random.default_rng(0))]
            assert (np.diff(values) >= -1e-12 * values[-1]).all()
