"""The search for many features where features have budgets and costs of their own: judged by brute force."""

import os

import numpy as np
import pytest

import noap
from judge import feature_wise_best
from many_only import force_many
from noap.proofs.many import ManyProof

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
# More of them where somebody asks.
CASES = int(os.environ.get("NOAP_MANY_CASES", "120"))


def some_problem(seed):
    """Few features with budgets of all kinds: none, ties, huge, infinite; costs in half of the cases."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(4, 30)), int(rng.integers(3, 9)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)) * rng.choice([1.0, 1.0, 3.0, 0.3], d)
    if seed % 3 == 0:
        X[:, : d // 2] += 1.5 * rng.standard_normal((n, 1))
    if seed % 4 == 1:
        X = np.round(2 * X)  # equal columns and equal products
        X[:, -1] = X[:, 0]
    if seed % 7 == 0:
        X[:, rng.integers(d)] = 0.0
    kinds = [0.0, 0.2, 0.2, 0.5, rng.uniform(0, 1), 3.0, np.inf]
    rho = rng.choice(kinds, d, p=[0.2, 0.2, 0.2, 0.1, 0.2, 0.05, 0.05]) * np.sqrt(n)
    costs = None
    if seed % 2:
        costs = rng.choice([0.0, 0.05, 0.05, rng.uniform(0, 0.5), 2.0], d)
    if seed % 5 == 0:
        rho = np.full(d, 0.2 * np.sqrt(n))
    return X, min(k, d), rho, costs


@pytest.mark.parametrize("part", range(6))
def test_no_bound_is_below_the_truth_and_every_certificate_is_accepted(part, monkeypatch):
    force_many(monkeypatch, whole=None if part % 2 else 0)
    with_trees = 0
    for seed in range(part, CASES, 6):
        X, k, rho, costs = some_problem(seed)
        problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rho), costs=costs)
        result = noap.solve(problem, gap=1e-6)
        best, _ = feature_wise_best(X.T @ X, len(X), k, rho, costs=costs)
        assert result.bound >= best * (1 - 1e-12), seed
        assert result.value <= best * (1 + 1e-9) + 1e-12, seed
        assert result.gap <= 1e-5, (seed, result.gap)
        report = noap.verify(problem, result.certificate)
        assert report.ok, (seed, report.message)
        assert report.bound >= best * (1 - 1e-12), seed
        if not problem.optimum_is_zero:
            assert isinstance(result.certificate.proof, ManyProof), seed
            with_trees += len(result.certificate.proof) > 0
    assert with_trees >= CASES // 60


def test_equal_budgets_are_one_number(monkeypatch):
    force_many(monkeypatch)
    X = np.random.default_rng(3).standard_normal((25, 9))
    X[:, :4] += np.random.default_rng(4).standard_normal((25, 1))
    one = noap.solve(noap.Problem(X, k=3, adversary=noap.FeatureWise(1.0)))
    many = noap.solve(noap.Problem(X, k=3, adversary=noap.FeatureWise(np.full(9, 1.0))))
    assert one.bound == many.bound
    assert one.value == many.value


def test_a_proof_with_other_budgets_is_none(monkeypatch):
    """Lower budgets or costs than those of the proof: the certificate names these, and its trees do not hold."""
    force_many(monkeypatch)
    rng = np.random.default_rng(8)
    X = rng.standard_normal((30, 10))
    X[:, :5] += 1.2 * rng.standard_normal((30, 1))
    rho, costs = rng.uniform(0.1, 0.5, 10) * np.sqrt(30), np.full(10, 0.05)
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=costs)
    certificate = noap.solve(problem).certificate
    assert noap.verify(problem, certificate).ok
    from noap.checker.allowance import Allowance
    from noap.checker.bounds import bound_above

    weaker = [
        noap.Problem(X, k=3, adversary=noap.FeatureWise(0.5 * rho), costs=costs),
        noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=0.2 * costs),
    ]
    for other in weaker:
        assert not noap.verify(other, certificate).ok
        bound, reason = bound_above(other, certificate.proof, certificate.bound, 1e-9, 1e-15, Allowance())
        assert reason is not None
        assert bound == np.inf


def test_thousands_of_features_with_their_own_noise():
    rng = np.random.default_rng(0)
    factors = np.repeat(rng.standard_normal((60, 40)), 10, axis=1)
    X = np.hstack([factors + 0.5 * rng.standard_normal((60, 400)), rng.standard_normal((60, 1800))])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    noise = rng.uniform(0.1, 0.4, X.shape[1])
    noise[3] = np.inf
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(noise * np.sqrt(60)), costs=np.full(X.shape[1], 0.01))
    result = noap.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    assert "covariance" not in problem.__dict__
    assert 3 not in result.support
    assert noap.verify(problem, result.certificate).ok
