"""The sample-wise search against brute force, and what it returns when it is stopped."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

import judge
import noap
from noap.exact.sample_wise import tree as module
from noap.exact.sample_wise.instance import SampleInstance, crude_bound
from noap.exact.sample_wise.search import solve_samples
from noap.result import Limit
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

KINDS = ["plain", "rounded", "negated", "zero column", "rank one", "duplicated", "one sample", "wide"]


def instance(kind, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 14)), int(rng.integers(1, 8))
    if kind == "one sample":
        n = 1
    if kind == "wide":
        n, d = 3, 8
    X = rng.standard_normal((n, d)) * np.exp(0.5 * rng.standard_normal(d))
    if kind == "rounded":
        X = np.round(X)
    if kind == "negated":
        X[:, -1] = -X[:, 0]
    if kind == "zero column":
        X[:, rng.integers(d)] = 0.0
    if kind == "rank one":
        X = np.outer(rng.standard_normal(n), rng.standard_normal(d))
    if kind == "duplicated":
        X[:, -1] = X[:, 0]
    k = int(rng.integers(1, min(3, d) + 1))
    share = rng.choice([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-6])
    rho = float(share * noap.SampleWise(1.0).rho_max(X, k))
    return rng, X, k, rho


def run(problem, v, gap=1e-4, time_limit=None, node_limit=None, memory_limit=None, report=None):
    controls = Controls.checked(gap, time_limit, 0, False)
    return solve_samples(problem, controls, v, Limits(node_limit, memory_limit), report)


def some_direction(rng, d, k):
    v = np.zeros(d)
    v[rng.permutation(d)[:k]] = rng.standard_normal(k)
    return v / np.linalg.norm(v)


@pytest.mark.parametrize("kind", KINDS)
def test_against_brute_force(kind):
    for seed in range(30):
        rng, X, k, rho = instance(kind, seed)
        problem = noap.Problem(X, k=k, adversary=noap.SampleWise(rho))
        if not X.any():
            continue
        gap = float(rng.choice([1e-2, 1e-4, 1e-6]))
        # A poor start: the search must find the optimum itself.
        outcome = run(problem, some_direction(rng, X.shape[1], k), gap)
        value = problem.value(outcome.v)
        optimum = judge.sample_wise_optimum(X, k, rho, points=1500)
        assert outcome.bound >= optimum * (1 - 1e-12)
        assert outcome.bound >= value
        assert outcome.bound - value <= gap * value + 1e-12 * problem.scale
        assert outcome.limit is None


def test_all_features_and_more_than_three():
    X = noap.theory.spiked_wishart(30, 6, 4, 3.0, random_state=3).X
    rng = np.random.default_rng(3)
    for k in (5, 6):
        problem = noap.Problem(X, k=k, adversary=noap.SampleWise(1.0))
        start = noap.solve(problem, method="ascent")
        outcome = run(problem, start.v)
        value = problem.value(outcome.v)
        assert start.value * (1 - 1e-12) <= value <= outcome.bound <= value * (1 + 1e-4) + 1e-12 * problem.scale
        V = rng.standard_normal((100_000, 6))
        V[np.arange(len(V)), rng.integers(6, size=len(V))] *= float(k == 6)
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        assert (np.maximum(np.abs(V @ X.T) - 1.0, 0.0) ** 2).sum(axis=1).max() / 30 <= outcome.bound


def test_rho_zero_is_vanilla():
    X = np.random.default_rng(4).standard_normal((40, 9))
    problem = noap.Problem(X, k=4, adversary=noap.SampleWise(0.0))
    outcome = run(problem, np.eye(9)[0], 1e-8)
    assert problem.value(outcome.v) == pytest.approx(judge.vanilla_optimum(X.T @ X / 40, 4), rel=1e-7)


def test_units_types_and_sparse_data_do_not_matter():
    X = np.round(4 * np.random.default_rng(6).standard_normal((25, 7))) / 4
    v = np.eye(7)[0]
    plain = run(noap.Problem(X, k=3, adversary=noap.SampleWise(1.0)), v)
    for data, unit in ((X.astype(np.float32), 1.0), (csr_array(X), 1.0), (X * 1e100, 1e100), (X * 1e-100, 1e-100)):
        outcome = run(noap.Problem(data, k=3, adversary=noap.SampleWise(unit)), v)
        assert outcome.bound == pytest.approx(plain.bound * unit**2, rel=1e-6)


def test_screening_keeps_what_can_matter():
    X = np.array([[3.0, 0.0, 0.0], [0.1, 0.1, 0.0], [0.0, 0.0, 0.0]])
    instance = SampleInstance.of(noap.Problem(X, k=1, adversary=noap.SampleWise(1.0)))
    assert instance.Y.shape == (1, 1)
    assert instance.outward(instance.value(np.ones(1))) == pytest.approx(4.0 / 3)
    assert SampleInstance.of(noap.Problem(X, k=1, adversary=noap.SampleWise(3.1))) is None


@pytest.fixture(scope="module")
def hard():
    """A problem whose root does not close, its incumbent and a proved bound."""
    X = noap.theory.spiked_wishart(100, 40, 4, 3.0, k1=2, c=0.8, random_state=7).X
    problem = noap.Problem(X, k=4, adversary=noap.SampleWise(2.0))
    v = noap.solve(problem, method="ascent").v
    outcome = run(problem, v)
    assert outcome.limit is None
    assert outcome.nodes > 3
    return problem, outcome, v


def test_limits_leave_a_valid_bound(hard):
    problem, solved, v = hard
    value = problem.value(solved.v)
    for limits, why in (({"node_limit": 1}, Limit.NODES), ({"memory_limit": 1e-6}, Limit.MEMORY)):
        outcome = run(problem, v, **limits)
        assert outcome.limit is why
        assert value <= outcome.bound <= crude_bound(problem) * (1 + 1e-9)
        assert problem.value(outcome.v) <= value * (1 + 1e-4)
    late = run(problem, v, time_limit=1e-6)
    assert late.limit is Limit.TIME
    assert late.bound >= value


def test_the_bound_falls_and_the_value_rises(hard):
    problem, _, _ = hard
    bad = np.zeros(40)
    bad[0] = 1.0
    bounds = []
    for nodes in (1, 3, 6, 1000):
        outcome = run(problem, bad, node_limit=nodes)
        bounds.append(outcome.bound)
        seen = [(point.value, point.bound) for point in outcome.trace]
        assert all(value <= bound for value, bound in seen)
        assert seen == sorted(seen, key=lambda pair: (pair[0], -pair[1]))
    assert bounds == sorted(bounds, reverse=True)


def test_the_same_call_gives_the_same_answer(hard):
    problem, solved, v = hard
    again = run(problem, v)
    assert (again.v == solved.v).all()
    assert (again.bound, again.nodes) == (solved.bound, solved.nodes)


@pytest.fixture
def blind(monkeypatch):
    """A search that never improves its incumbent: a node lost on the way would show as a bound below the optimum."""
    monkeypatch.setattr(module.Tree, "ascend", lambda self, V: None)
    return np.eye(40)[3]


def test_a_poor_incumbent_never_gives_a_bound_below_the_optimum(hard, blind):
    problem, solved, _ = hard
    assert problem.value(blind) < 0.5 * problem.value(solved.v)
    for nodes in (1, 2, 3, 5, 8, 13, 21):
        assert run(problem, blind, node_limit=nodes).bound >= problem.value(solved.v)


@pytest.mark.parametrize(
    "method", ["play", "certify", "branch", "examine_support", "close", "push", "examine", "ascend"]
)
def test_an_interrupt_anywhere_leaves_a_valid_bound(hard, blind, monkeypatch, method):
    problem, solved, _ = hard
    original = getattr(module.Tree, method)
    for count in (1, 2, 3, 5, 9):
        calls = iter(range(10**6))

        def stop(self, *args, calls=calls, count=count, **kwargs):
            if next(calls) == count - 1:
                raise KeyboardInterrupt
            return original(self, *args, **kwargs)

        monkeypatch.setattr(module.Tree, method, stop)
        outcome = run(problem, blind, node_limit=25)
        assert outcome.limit in (Limit.INTERRUPTED, Limit.NODES)
        assert problem.value(solved.v) <= outcome.bound < math.inf


def test_progress_is_reported(hard):
    problem, _, v = hard
    points = []
    outcome = run(problem, v, report=lambda point, left: points.append((point, left)))
    assert points[-1][0] == outcome.trace[-1]
    assert points[-1][1] == 40
