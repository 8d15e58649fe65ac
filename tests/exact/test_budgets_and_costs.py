"""Every feature its own budget and its own cost: exact answers against brute force, and their certificates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap
import older
from judge import exact_worth, feature_wise_best
from noap.errors import InvalidProblem
from noap.exact.relaxation.inequality import Inequality
from noap.exact.relaxation.multiplier import Nearby
from noap.proofs import container
from noap.proofs.certificate import Certificate
from noap.result import Status
from relaxation_only import force_relaxation

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")

BUDGETS = ["equal", "of all sizes", "many zero", "none", "some infinite", "tied", "of all orders"]
COSTS = ["none", "of all sizes", "equal", "many zero", "beyond everything", "of all orders", "next to the increments"]


def drawn(seed, budgets, costs, d=None):
    """Data, budgets and costs of these kinds, and a sparsity."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 10)), d or int(rng.integers(2, 7))
    X = rng.standard_normal((n, d)) * np.exp(rng.normal(0, rng.choice([0.0, 0.5, 1.5]), d))
    if rng.random() < 0.4:
        X[:, : d // 2] += 2 * rng.standard_normal((n, 1))
    if rng.random() < 0.2:
        X[:, -1] = X[:, 0]
    sizes = np.linalg.norm(X, axis=0)
    rho = {
        "equal": np.full(d, rng.uniform(0, 1) * sizes.max()),
        "of all sizes": rng.uniform(0, 1.2, d) * sizes,
        "many zero": rng.uniform(0, 1.0, d) * sizes * rng.choice([0, 1], d),
        "none": np.zeros(d),
        "some infinite": np.where(rng.random(d) < 0.4, np.inf, rng.uniform(0, 0.8, d) * sizes),
        "tied": rng.choice([0.25, 0.5], d) * sizes.mean(),
        "of all orders": 10.0 ** rng.uniform(-12, 0, d) * sizes,
    }[budgets]
    alone = np.maximum(sizes - rho, 0.0) ** 2 / n
    pi = {
        "none": None,
        "of all sizes": rng.uniform(0, 1.2, d) * alone,
        "equal": np.full(d, rng.uniform(0, 0.4) * alone.max()),
        "many zero": rng.uniform(0, 0.6, d) * alone * rng.choice([0, 1], d),
        "beyond everything": alone + 1e-3 + sizes**2,
        "of all orders": 10.0 ** rng.uniform(-12, 0, d) * alone,
        "next to the increments": np.full(d, alone.max()) * rng.choice([0.05, 0.1, 0.2]) * rng.uniform(0.99, 1.01, d),
    }[costs]
    return X, rho, pi, int(rng.integers(1, min(d, 4) + 1))


def check(problem, optimum, gap=1e-4):
    """What is said of a problem with this optimum is true, and its certificate is accepted."""
    result = older.solve(problem, gap=gap)
    scale = float(np.linalg.norm(problem.X, axis=0).max()) ** 2 / problem.n_samples
    assert result.bound >= optimum - 1e-9 * optimum - 1e-11 * scale
    assert result.value <= optimum + 1e-7 * optimum + 1e-9 * scale
    assert result.status is Status.OPTIMAL
    assert float(exact_worth(problem, result.v)) == pytest.approx(result.value, rel=1e-9, abs=1e-12 * scale)
    report = noap.verify(problem, Certificate.from_bytes(result.certificate.to_bytes()))
    assert report.ok, report.message
    assert report.bound >= optimum - 1e-9 * optimum - 1e-11 * scale
    assert report.value <= result.value + 1e-12 * scale
    return result


@settings(max_examples=120)
@given(st.integers(0, 10**6), st.sampled_from(BUDGETS), st.sampled_from(COSTS))
def test_the_optimum_is_that_of_brute_force(seed, budgets, costs):
    X, rho, pi, k = drawn(seed, budgets, costs)
    optimum, _ = feature_wise_best(X.T @ X, len(X), k, rho, costs=pi)
    check(noap.Problem(X, k=k, adversary=noap.FeatureWise(rho), costs=pi), optimum)


@pytest.mark.parametrize(
    ("budgets", "costs"), [("tied", "none"), ("tied", "next to the increments"), ("none", "equal")]
)
def test_searches_with_many_nodes_are_right_as_well(budgets, costs):
    """Noise, where nothing closes at the root."""
    nodes = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((14, 9))
        rho = np.zeros(9) if budgets == "none" else rng.uniform(0.5, 1.6, 9)
        pi = None if costs == "none" else rng.uniform(0.1, 0.5, 9)
        optimum, _ = feature_wise_best(X.T @ X, 14, 4, rho, grid=60, costs=pi)
        nodes += check(noap.Problem(X, k=4, adversary=noap.FeatureWise(rho), costs=pi), optimum).nodes
    assert nodes > 20


@given(st.integers(0, 10**6), st.sampled_from(["of all sizes", "many zero", "some infinite"]), st.sampled_from(COSTS))
@settings(max_examples=30)
def test_a_covariance_says_the_same(seed, budgets, costs):
    X, rho, pi, k = drawn(seed, budgets, costs)
    n, S = len(X), X.T @ X / len(X)
    optimum, _ = feature_wise_best(X.T @ X, n, k, rho, costs=pi)
    problem = noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=noap.FeatureWise(rho), costs=pi)
    result = older.solve(problem)
    scale = float(np.diag(S).max())
    assert optimum - 1e-9 * scale <= result.bound <= optimum * (1 + 2e-4) + 1e-9 * scale
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.parametrize("rho", [0.0, 0.4, 3.0])
def test_equal_budgets_are_one_budget(rho):
    """The same nodes, and the same certificate to the last byte; no cost for anything is no costs."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 12))
    one = noap.Problem(X, k=4, adversary=noap.FeatureWise(rho))
    same = noap.Problem(X, k=4, adversary=noap.FeatureWise(np.full(12, rho)), costs=np.zeros(12))
    number, array = older.solve(one), older.solve(same)
    assert number.nodes == array.nodes
    assert number.certificate.to_bytes() == array.certificate.to_bytes()
    assert noap.verify(same, number.certificate).ok
    assert noap.verify(one, array.certificate).ok


def test_no_budget_for_anything_is_no_adversary():
    X = np.random.default_rng(4).standard_normal((20, 12))
    vanilla = older.solve(noap.Problem(X, k=4, adversary=noap.NoAdversary(), costs=np.full(12, 0.2)))
    zeros = older.solve(noap.Problem(X, k=4, adversary=noap.FeatureWise(np.zeros(12)), costs=np.full(12, 0.2)))
    assert (vanilla.nodes, vanilla.value, vanilla.bound) == (zeros.nodes, zeros.value, zeros.bound)


def test_a_feature_that_is_not_trusted_is_not_there():
    """An infinite budget, and a cost that nothing is worth, are as good as leaving the feature out."""
    X = np.random.default_rng(5).standard_normal((30, 8))
    rho, out = np.full(8, 1.5), np.array([1, 4])
    rest = np.setdiff1d(np.arange(8), out)
    less = older.solve(noap.Problem(X[:, rest], k=3, adversary=noap.FeatureWise(1.5)))
    untrusted, dear = rho.copy(), np.zeros(8)
    untrusted[out], dear[out] = np.inf, 100.0
    for problem in (
        noap.Problem(X, k=3, adversary=noap.FeatureWise(untrusted)),
        noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=dear),
    ):
        result = older.solve(problem)
        assert result.value == pytest.approx(less.value, rel=1e-12)
        assert rest[less.support].tolist() == result.support.tolist()
        assert noap.verify(problem, result.certificate).ok


def test_nothing_that_is_worth_its_cost_is_an_optimum_of_zero():
    X = np.random.default_rng(6).standard_normal((30, 5))
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(np.arange(5.0)), costs=np.full(5, 50.0))
    result = older.solve(problem)
    assert (result.value, result.bound, result.status) == (0.0, 0.0, Status.OPTIMAL)
    assert noap.verify(problem, result.certificate).ok


def test_a_feature_without_data_takes_no_place():
    """It has neither budget nor cost, and there are as many places as features."""
    for seed in (68, 3, 5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((6, 3))
        X[:, 1] = 0.0
        problem = noap.Problem(X, k=3, adversary=noap.FeatureWise([0.13, 0.0, 0.0]), costs=[0.0, 0.0, 0.06])
        optimum, _ = feature_wise_best(X.T @ X, 6, 3, problem.adversary.rho, costs=problem.costs)
        check(problem, optimum)


def test_what_vanishes_beside_an_untrusted_column_is_not_called_nothing():
    X = np.array([[1e-170, 1e150, -2e-170]])
    result = older.solve(noap.Problem(X, k=2, adversary=noap.FeatureWise([0.0, np.inf, 0.0])))
    assert result.bound > 0


def test_more_places_than_features_worth_having():
    X = np.random.default_rng(7).standard_normal((30, 6))
    rho = np.where(np.arange(6) < 2, 0.5, 100.0)
    problem = noap.Problem(X, k=5, adversary=noap.FeatureWise(rho))
    optimum, _ = feature_wise_best(X.T @ X, 30, 5, rho)
    assert set(check(problem, optimum).support.tolist()) <= {0, 1}


@pytest.mark.parametrize("costs", ["none", "of all sizes", "next to the increments"])
def test_the_path_over_k_is_that_of_brute_force(costs):
    for seed in range(6):
        X, rho, pi, _ = drawn(seed, "of all sizes", costs, d=6)
        path = noap.k_path(noap.Problem(X, k=4, adversary=noap.FeatureWise(rho), costs=pi))
        scale = float(np.linalg.norm(X, axis=0).max()) ** 2 / len(X)
        for k, bound, result in zip(path.ks, path.bounds, path.results, strict=True):
            optimum, _ = feature_wise_best(X.T @ X, len(X), int(k), rho, costs=pi)
            assert optimum - 1e-9 * scale <= bound <= optimum * (1 + 2e-4) + 1e-9 * scale
            assert noap.verify(result.problem, result.certificate).ok


@pytest.mark.parametrize("costs", ["none", "of all sizes", "equal"])
def test_every_good_support_is_listed(costs):
    """Each is compared with the best on it, and none is missing that another does not hold."""
    for seed in range(8):
        X, rho, pi, k = drawn(seed, "of all sizes", costs, d=6)
        G, n = X.T @ X, len(X)
        optimum, _ = feature_wise_best(G, n, k, rho, costs=pi)
        if optimum <= 0:
            continue
        problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rho), costs=pi)
        near = noap.near_optimal(problem, within=0.1)
        assert near.complete
        listed = [set(support.tolist()) for support in near.supports]
        assert near.values.max() == pytest.approx(optimum, rel=1e-6)
        for j in range(6):
            keep = np.setdiff1d(np.arange(6), [j])
            rest = None if pi is None else pi[keep]
            without, v = feature_wise_best(G[np.ix_(keep, keep)], n, k, rho[keep], costs=rest)
            if without > 0.9001 * optimum:
                best = set(keep[np.flatnonzero(np.abs(v) > 1e-7)].tolist())
                assert any(best <= one for one in listed)


# -- certificates ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def proved():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((25, 7))
    rho, pi = rng.uniform(0.2, 1.5, 7), rng.uniform(0.05, 0.2, 7)
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=pi)
    return problem, older.solve(problem).certificate


def other(problem, rho=None, costs=None):
    rho = problem.adversary.rho if rho is None else rho
    return noap.Problem(
        problem.X, k=3, adversary=noap.FeatureWise(rho), costs=problem.costs if costs is None else costs
    )


def test_a_certificate_is_about_its_budgets_and_costs_to_the_last_bit(proved):
    problem, certificate = proved
    assert noap.verify(other(problem), certificate).ok
    rho, costs = problem.adversary.rho, problem.costs
    lower, higher = rho.copy(), rho.copy()
    lower[3], higher[3] = np.nextafter(rho[3], 0), np.nextafter(rho[3], 9)
    for budgets in (lower, higher, rho[::-1].copy(), float(rho.max())):
        assert "budget" in noap.verify(other(problem, rho=budgets), certificate).message.replace("rho", "budget")
    lower, higher = costs.copy(), costs.copy()
    lower[0], higher[0] = np.nextafter(costs[0], 0), np.nextafter(costs[0], 9)
    for changed in (lower, higher, costs[::-1].copy()):
        assert "other costs" in noap.verify(other(problem, costs=changed), certificate).message
    free = noap.Problem(problem.X, k=3, adversary=noap.FeatureWise(rho))
    assert "other costs" in noap.verify(free, certificate).message


def test_a_claim_moved_to_another_problem_is_not_proved(proved):
    """With the claim of the other problem, so that only the proof can fail: costs left out, budgets halved."""
    problem, certificate = proved
    for changed in (
        noap.Problem(problem.X, k=3, adversary=noap.FeatureWise(problem.adversary.rho)),
        other(problem, rho=0.5 * problem.adversary.rho),
        other(problem, rho=problem.adversary.rho[::-1].copy()),
        other(problem, costs=problem.costs * np.array([1, 1, 1, 1, 1, 1, 0.1])),
    ):
        mine = older.solve(changed).certificate
        claim = replace(mine.claim, value=certificate.value, bound=certificate.bound)
        moved = replace(certificate, claim=claim)
        report = noap.verify(changed, moved)
        optimum, _ = feature_wise_best(
            problem.X.T @ problem.X, problem.n_samples, 3, changed.adversary.rho, costs=changed.costs
        )
        assert not report.ok or report.bound >= optimum * (1 - 1e-9)


def test_a_file_says_in_its_version_whether_it_names_budgets_or_costs(proved):
    problem, certificate = proved
    data = certificate.to_bytes()
    assert data[8:10] == b"\x02\x00"
    header, arrays = container.unpack(data)
    proof = {"proof": header["proof"]} | ({"trees": header["trees"]} if "trees" in header else {})
    assert (
        Certificate.from_bytes(container.pack({"claim": header["claim"], **proof}, arrays, 2)).claim
        == certificate.claim
    )
    for change, version in (
        ({}, 1),
        ({"budgets": None, "costs": None}, 2),
        ({"budgets": "0" * 63}, 2),
        ({"costs": 3}, 2),
        ({"costs": ["0" * 64]}, 2),
    ):
        claim = {**header["claim"], **change}
        with pytest.raises(InvalidProblem, match="cannot be read"):
            Certificate.from_bytes(container.pack({"claim": claim, **proof}, arrays, version))
    plain = older.solve(noap.Problem(problem.X, k=2, adversary=noap.FeatureWise(1.0))).certificate
    assert plain.to_bytes()[8:10] == b"\x01\x00"


def test_a_relaxation_proof_without_costs_is_not_taken_where_features_cost_something(proved):
    """Its theorem is about budgets above 0, or none; the one with costs has a proof of its own."""
    problem, _ = proved
    plain = noap.Problem(problem.X, k=3, adversary=noap.FeatureWise(problem.adversary.rho))
    relaxed = older.solve(plain, method="relaxation").certificate
    assert noap.verify(plain, relaxed).ok
    mine = older.solve(problem).certificate
    report = noap.verify(problem, replace(relaxed, claim=replace(mine.claim, value=0.0)))
    assert not report.ok
    assert "costs" in report.message
    some = problem.adversary.rho.copy()
    some[2] = 0.0
    mixed = noap.Problem(problem.X, k=3, adversary=noap.FeatureWise(some))
    claim = replace(older.solve(mixed).certificate.claim, value=0.0, bound=100.0)
    assert "a budget for every feature" in noap.verify(mixed, replace(relaxed, claim=claim)).message
    with pytest.raises(InvalidProblem, match="budget above 0"):
        older.solve(mixed, method="relaxation")


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.booleans())
def test_the_relaxation_bounds_the_optimum_of_brute_force(seed, by_tree):
    """At its root as a method, and by its tree alone: budgets that differ by a factor of ten or more."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 10)), int(rng.integers(3, 7))
    k = int(rng.integers(2, min(d, 4) + 1))
    X = rng.standard_normal((n, d))
    rho = rng.uniform(0.05, 0.9, d) * float(np.linalg.norm(X, axis=0).mean())
    if seed % 3 == 0:
        rho[0] = np.inf
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rho))
    if problem.optimum_is_zero:
        return
    with pytest.MonkeyPatch.context() as patch:
        if by_tree:
            force_relaxation(patch)
        result = older.solve(problem, method="exact" if by_tree else "relaxation")
    optimum, _ = feature_wise_best(X.T @ X, n, k, rho)
    assert result.bound >= optimum * (1 - 1e-9)
    assert result.bound <= optimum * (1.01 if by_tree else 2.0)
    report = noap.verify(problem, Certificate.from_bytes(result.certificate.to_bytes()))
    assert report.ok, report.message
    assert report.bound >= optimum * (1 - 1e-9)


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
@settings(max_examples=60)
def test_inequalities_with_weights_hold_for_every_vector(seed, k, soft):
    """Soft thresholds, and any matrix near A with any loads: only what follows from them is claimed."""
    rng = np.random.default_rng(seed)
    d = 5
    X, weights = rng.standard_normal((6, d)), np.append(1.0, rng.uniform(0.05, 1, d - 1))
    A = X.T @ X
    if soft:
        made = Inequality.of_threshold(A, float(rng.uniform(0, 2)), weights)
    else:
        noise = rng.standard_normal((d, d))
        loads, lifts = rng.uniform(0, 2, d), rng.uniform(0.1, 2, d)
        made = Inequality.of_matrix(A, np.arange(d), Nearby(A + noise + noise.T, loads, lifts), weights)
    every, none = np.ones(d, dtype=np.bool_), np.zeros(d, dtype=np.bool_)
    line = made.line(none, every, k)
    for _ in range(20):
        v = np.zeros(d)
        v[rng.choice(d, k, replace=False)] = rng.standard_normal(k)
        v /= np.linalg.norm(v)
        assert v @ A @ v <= (line.c + line.mu * (weights @ np.abs(v)) ** 2) * (1 + 1e-12)
