"""Against FeatureWise with any metric: brute force over supports and signs judges value and bound."""

import math

import numpy as np
import pytest

import noap
from generalised_judge import best_ratio, random_pencil, robust_ratio
from noap.data.pencil import Pencil
from noap.exact.generalised import violators
from noap.exact.generalised.attack import respond, shrink
from noap.exact.generalised.definite import definite
from noap.exact.generalised.leaf import closes
from noap.exact.generalised.own_attack import closing_shares
from noap.heuristics.generalised.supports import best_on


def made(seed, d, k, rho):
    X, B = random_pencil(np.random.default_rng(seed), d)
    budgets = rho * np.linspace(0.6, 1.4, d)
    return noap.Problem(X, k, noap.FeatureWise(budgets), metric=B), budgets / math.sqrt(len(X))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("d", "k"), [(6, 2), (6, 3), (5, 4)])
@pytest.mark.parametrize("rho", [0.3, 1.5, 3.0])
def test_brute_force_agrees(seed, d, k, rho):
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


@pytest.mark.parametrize("seed", range(3))
def test_the_list_of_a_search_is_as_good_as_all_supports(seed, monkeypatch):
    problem, _ = made(seed, 9, 3, 1.5)
    every = noap.solve(problem)
    monkeypatch.setattr(violators, "_FEW", 0)
    listed = noap.solve(problem)
    assert listed.status is noap.Status.OPTIMAL
    assert listed.value == pytest.approx(every.value, rel=1e-6)
    assert listed.bound == pytest.approx(every.bound, rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_list_names_every_support_above_the_threshold(seed, monkeypatch):
    from itertools import combinations

    from noap.runtime.controls import Controls

    problem, _ = made(seed, 9, 3, 0.0)
    pencil = Pencil.of(problem)
    T = 0.7 * best_ratio(pencil.A, pencil.B, 3)[0]
    monkeypatch.setattr(violators, "_FEW", 0)
    controls = Controls.checked(0.0, None, 0, False)
    found = violators.Violators([pencil], T, np.eye(9)[0], controls)
    assert found.complete
    above = [S for S in combinations(range(9), 3) if best_on(pencil, np.array([S]))[1][0] > T]
    assert {tuple(S) for S in found.supports.tolist()} == set(above)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 3, 4])
def test_one_support_is_closed_above_its_optimum_and_never_below(seed, k):
    problem, budgets = made(seed, k, k, 1.0)
    pencil = Pencil.of(problem)
    optimum = robust_ratio(problem.covariance, problem.metric, budgets, k, starts=4)
    assert closes(pencil, optimum * (1 + 1e-4), 20_000)
    for share in (1e-9, 1e-3, 0.3):
        assert not closes(pencil, optimum * (1 - share), 500)


@pytest.mark.parametrize("seed", range(4))
def test_attacks_leave_at_least_what_the_adversary_leaves(seed):
    problem, _ = made(seed, 6, 3, 1.5)
    pencil, rng = Pencil.of(problem), np.random.default_rng(seed)
    w = rng.standard_normal(6) * (rng.random(6) < 0.6) + 1e-3 * np.eye(6)[0]
    for attacked in (*(respond(pencil, w, share) for share in (1.0, 0.9, 0.3)), shrink(pencil)):
        assert (np.linalg.eigvalsh(attacked.form) > -1e-12).all()
        for _ in range(200):
            v = rng.standard_normal(6)
            assert v @ attacked.form @ v >= pencil.worth(v) * (v @ pencil.B @ v) * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_own_attacks_close_no_support_that_is_worth_more(seed):
    problem, _ = made(seed, 8, 3, 1.5)
    pencil = Pencil.of(problem)
    rng = np.random.default_rng(seed)
    supports = np.array([np.sort(rng.permutation(8)[:3]) for _ in range(200)])
    weights, worths = best_on(pencil, supports)
    T = float(np.median(worths))
    closed = closing_shares(pencil, supports, weights, T) > 0
    assert closed.any()
    assert (worths[closed] <= T).all()


def test_definite_is_one_sided():
    rng = np.random.default_rng(0)
    H = rng.standard_normal((300, 4, 4))
    K = H @ H.transpose(0, 2, 1) - 0.3 * np.eye(4)
    assert (np.linalg.eigvalsh(K[definite(K)])[:, 0] > 0).all()
    assert definite(K).sum() == (np.linalg.eigvalsh(K)[:, 0] > 1e-12).sum()
    assert not definite(np.full((1, 2, 2), np.nan)).any()


@pytest.mark.parametrize("limits", [{"node_limit": 2}, {"time_limit": 1e-9}])
def test_limits_leave_a_bound(limits):
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
