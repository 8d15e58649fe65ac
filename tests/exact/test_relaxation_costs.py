"""The relaxation where features cost something: no bound is below brute force, and every proof is accepted."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap
import older
from judge import feature_wise_best
from noap.exact.relaxation.costed import CostedMultiplier
from noap.exact.relaxation.inequality import Inequality
from noap.exact.relaxation.multiplier import Nearby
from noap.exact.relaxation.relaxation import Relaxation
from noap.exact.relaxation.rows import nearest_rows
from noap.exact.relaxation.worth import Places, worths_below
from noap.proofs.certificate import Certificate
from noap.proofs.costed_relaxation import CostedRelaxationProof
from relaxation_only import force_relaxation

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
# More of them where somebody asks.
CASES = int(os.environ.get("NOAP_RELAXATION_CASES", "60"))


def drawn(seed):
    """A small problem: budgets for all or none, costs with zeros and ties, sometimes equal columns."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 10)), int(rng.integers(2, 7))
    k = int(rng.integers(1, d + 1))
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1)) * rng.uniform(0, 2)
    if seed % 5 == 0:
        X[:, -1] = X[:, 0]
    scale = float(np.linalg.norm(X, axis=0).mean())
    rho = [np.zeros(d), np.full(d, 0.3 * scale), rng.uniform(0.05, 0.6, d) * scale][seed % 3]
    costs = rng.choice([0.0, 0.1, 0.1, 0.4, 1.0], d) * float((X * X).mean()) * rng.uniform(0.2, 1.5)
    if not costs.any():
        costs[0] = 0.1
    return X, k, rho, costs


@pytest.mark.parametrize("seed", range(CASES))
@pytest.mark.parametrize("by_tree", [False, True])
def test_the_bound_is_that_of_brute_force_or_above(seed, by_tree):
    X, k, rho, costs = drawn(seed)
    adversary = noap.FeatureWise(rho) if rho.any() else noap.NoAdversary()
    problem = noap.Problem(X, k=k, adversary=adversary, costs=costs)
    if problem.optimum_is_zero:
        return
    with pytest.MonkeyPatch.context() as patch:
        if by_tree:
            force_relaxation(patch)
        result = older.solve(problem, method="exact" if by_tree else "relaxation")
    optimum = feature_wise_best(X.T @ X, len(X), k, rho, costs=costs)[0]
    assert result.bound >= optimum * (1 - 1e-9)
    assert result.value <= optimum * (1 + 1e-9)
    if by_tree:
        assert result.bound <= optimum * 1.02 + 1e-3 * problem.scale
    if result.certificate is not None:  # nothing was so near that rounding decides
        report = noap.verify(problem, Certificate.from_bytes(result.certificate.to_bytes()))
        assert report.ok, report.message
        assert report.bound >= optimum * (1 - 1e-9)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0.0, 2.0))
def test_any_matrix_and_any_multipliers_give_an_inequality(seed, d, size):
    """Not only those that ADMM finds: nothing rests on where they come from."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, d))
    A, rho = X.T @ X / 5, float(rng.choice([0.0, 0.3]))
    B = A + size * rng.standard_normal((d, d))
    pulls = size * rng.standard_normal((d, d)) * (rng.random((d, d)) < 0.5)
    np.fill_diagonal(pulls, 0.0)
    loads, lifts, dues = rng.exponential(1.0, (3, d)) * [[size], [1.0], [size]]
    made = Inequality.of_matrix(A, np.arange(d), Nearby((B + B.T) / 2, loads, lifts, dues, pulls))
    costs = rng.exponential(1.0, d) * (rng.random(d) < 0.7)
    included = rng.random(d) < 0.3
    count = int(rng.integers(0, d + 1))
    free = ~included
    k = int(included.sum()) + count
    if k == 0:
        return
    bound, *_ = worths_below([made], Places(included, free, count, costs), rho, (1.0, float(k)))
    for _ in range(20):
        v = np.where(included, rng.standard_normal(d), 0.0)
        chosen = rng.permutation(np.flatnonzero(free))[: int(rng.integers(0, count + 1))]
        v[chosen] = rng.standard_normal(len(chosen))
        if not v.any():
            continue
        v /= np.linalg.norm(v)
        worth = max(np.sqrt(v @ A @ v) - rho * np.abs(v).sum(), 0.0) ** 2 - costs[v != 0].sum()
        assert worth <= bound + 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8))
def test_every_matrix_of_the_iteration_is_within_its_prices(seed, d):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(1, 9)), d))
    A, costs = X.T @ X / len(X), rng.exponential(0.3, d) * (rng.random(d) < 0.7)
    free, places = rng.random(d) < 0.7, int(rng.integers(1, d + 1))
    state = CostedMultiplier.with_costs(A, costs)
    state.t = float(rng.uniform(1, d))
    for _ in range(6):
        nearby = state.advance(0.1, free, places, int(rng.integers(1, 6)))
        made = Inequality.of_matrix(A, np.arange(d), nearby)
        # What the multipliers cost together is what was asked for, but for single precision.
        gains = np.sort((made.prices * state.t + made.dues - costs)[free])[::-1][:places]
        assert max(made.mu, 0.0) * state.t + np.maximum(gains, 0.0).sum() <= state.above * (1 + 1e-6) + 1e-4


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(1e-3, 2.0), st.floats(1e-3, 2.0), st.floats(0.0, 1.0))
def test_rows_are_the_nearest_that_pay(seed, d, a, tau, mu):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((d, d)), rng.uniform(0.2, 1.0, d)
    g = np.full(d, 3.0)
    for _ in range(10):  # each goes on from the one before
        found = nearest_rows(X, np.arange(d), np.full(d, a), np.full(d, tau), mu, g, w)
        g = found.ratios
    for i in range(d):
        z = found.s[i] * found.pulls[i]
        z[i] = found.s[i]
        cost = price(X[i], z, i, a, tau, mu, w)
        for step in (1e-2, 0.1, 1.0):
            other = z + step * rng.standard_normal(d)
            other[i] = abs(other[i]) + 1e-9
            assert cost <= price(X[i], other, i, a, tau, mu, w) + 1e-3 * (1 + cost)


def price(x, z, i, a, tau, mu, w):
    size = np.abs(z) @ w
    places = 0.0 if not z.any() else (np.inf if z[i] <= 0 else (tau * size**2 + a * z @ z) / z[i])
    return 0.5 * np.sum((x - z) ** 2) + mu * w[i] * size + places


def test_costs_are_seen_where_trees_do_not_see_them():
    """Many features that are worth nearly what they cost: the bound at the root is far below that without costs."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 25)) + rng.standard_normal((200, 1)) * rng.uniform(0.3, 1.0, 25)
    A, costs = X.T @ X / 200, rng.uniform(0.2, 0.6, 25)
    bounds = []
    for given_costs in (costs, None):
        relaxation = Relaxation(A, 0.0, 8, branching=False, costs=given_costs)
        while not relaxation.done:
            relaxation.advance(0.0)
        bounds.append(relaxation.bound)
    problem = noap.Problem.from_covariance(A, n_samples=1, k=8, adversary=noap.NoAdversary(), costs=costs)
    value = older.solve(problem).value
    assert value <= bounds[0] <= value * 1.1
    assert bounds[0] < bounds[1] - 4 * costs.mean()


def test_the_exact_search_takes_it_where_there_are_costs():
    """Without a budget and with few features as well, where the semidefinite test stands for it otherwise."""
    rng = np.random.default_rng(4)
    X, costs = rng.standard_normal((60, 40)), rng.uniform(0.1, 0.5, 40)
    problem = noap.Problem(X, k=10, adversary=noap.NoAdversary(), costs=costs)
    result = older.solve(problem, gap=1e-3)
    assert result.status is noap.Status.OPTIMAL
    assert isinstance(result.certificate.proof, CostedRelaxationProof)
    assert noap.verify(problem, result.certificate).ok
