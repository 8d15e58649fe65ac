"""One budget per sample: the search against brute force, and against the same problem said in another way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import judge
import noap
import older
from cases import SHAPES, budgets, small_data
from noap.exact.sample_wise.instance import SampleInstance
from noap.exact.sample_wise.search import solve_samples
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


def top_norms(X, k):
    return np.sqrt(np.sort(X**2, axis=1)[:, -k:].sum(axis=1))


def drawn(rng, shape):
    X = small_data(rng, shape, int(rng.integers(1, 8)))
    k = int(rng.integers(1, min(3, X.shape[1]) + 1))
    return X, k, budgets(rng, top_norms(X, k))


def spiked(n, d, k, seed):
    return noap.theory.spiked_wishart(n, d, k, 3.0, k1=2, c=0.8, random_state=seed).X


def solved(X, k, rho, **options):
    return older.solve(noap.Problem(X, k=k, adversary=noap.SampleWise(rho)), **options)


@pytest.mark.parametrize("shape", SHAPES)
def test_against_brute_force(shape):
    for seed in range(20):
        rng = np.random.default_rng([seed, SHAPES.index(shape)])
        X, k, rho = drawn(rng, shape)
        if not X.any():
            continue
        problem, gap = noap.Problem(X, k=k, adversary=noap.SampleWise(rho)), float(rng.choice([1e-2, 1e-4]))
        result = older.solve(problem, gap=gap)
        optimum = judge.sample_wise_optimum(X, k, rho, points=1500)
        assert result.bound >= optimum * (1 - 1e-12)
        assert result.value <= optimum * (1 + 1e-9) + 1e-12 * problem.scale
        assert result.status is noap.Status.OPTIMAL
        report = noap.verify(problem, result.certificate)
        assert report.ok, report.message
        assert optimum <= report.bound * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_a_poor_start_and_any_number_of_nodes_leave_a_valid_bound(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 8))
    rho = budgets(rng, top_norms(X, 3)) * 0.8
    rho[:3] = 0.0
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(rho))
    optimum = judge.sample_wise_optimum(X, 3, rho, points=1500)
    for nodes in (1, 3, None):
        outcome = solve_samples(problem, Controls.checked(1e-4, None, 0, False), np.eye(8)[seed % 8], Limits(nodes))
        assert outcome.bound >= optimum * (1 - 1e-12)
    assert outcome.bound <= optimum * (1 + 1.01e-4) + 1e-12 * problem.scale


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_permuted_rescaled_and_exploded_samples_have_the_same_optimum(seed):
    rng = np.random.default_rng(seed)
    X, k, rho = drawn(rng, str(rng.choice(SHAPES)))
    if not X.any():
        return
    first = solved(X, k, rho)
    slack = 1e-4 * first.value + 2e-12 * first.problem.scale
    order = rng.permutation(len(X))
    assert solved(X[order], k, rho[order]).value == pytest.approx(first.value, abs=slack)
    # In other units, and with a sample that nobody trusts in place of one that adds nothing.
    assert solved(8.0 * X, k, 8.0 * rho).value / 64.0 == pytest.approx(first.value, abs=slack)
    wild, none = np.where(np.isinf(rho)[:, None], 1e30, X), np.where(np.isinf(rho)[:, None], 0.0, X)
    assert solved(wild, k, rho).value == pytest.approx(first.value, abs=slack)
    if none.any():
        assert solved(none, k, np.where(np.isinf(rho), 0.0, rho)).value == pytest.approx(first.value, abs=slack)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_a_larger_budget_never_helps(seed):
    rng = np.random.default_rng(seed)
    X, k, rho = drawn(rng, str(rng.choice(SHAPES)))
    if not X.any():
        return
    more = rho.copy()
    more[rng.integers(len(rho))] *= 1.5
    assert solved(X, k, more).value <= solved(X, k, rho).bound * (1 + 1e-12)


@pytest.mark.parametrize(("n", "d", "rho"), [(60, 30, 1.0), (100, 40, 2.0), (40, 160, 1.5)])
def test_equal_budgets_are_the_number(n, d, rho):
    X = spiked(n, d, 4, 7)
    number, each = solved(X, 4, rho), solved(X, 4, np.full(n, rho))
    assert (number.v == each.v).all()
    assert (number.value, number.bound, number.nodes) == (each.value, each.bound, each.nodes)
    for name, array in vars(number.proof).items():
        assert name == "_offsets" or (array == getattr(each.proof, name)).all()


def test_exact_samples_only_are_vanilla_and_use_the_same_search():
    X = np.random.default_rng(4).standard_normal((40, 9))
    number, each = solved(X, 4, 0.0), solved(X, 4, np.zeros(40))
    assert (number.bound, number.nodes) == (each.bound, each.nodes)
    assert each.value == pytest.approx(judge.vanilla_optimum(X.T @ X / 40, 4), rel=1e-4)
    assert noap.verify(each.problem, each.certificate).ok
    # Exact ones among some that are dropped: n stays in 1/n.
    rho = np.where(np.arange(40) < 30, 0.0, np.inf)
    some = solved(X, 4, rho)
    assert some.value == pytest.approx(judge.vanilla_optimum(X[:30].T @ X[:30] / 40, 4), rel=1e-4)
    assert noap.verify(some.problem, some.certificate).ok


def test_dropped_samples_do_not_blur_the_tolerances():
    X = spiked(50, 20, 3, 1)
    X[0] = 1e9
    rho = np.full(50, 1.0)
    rho[0] = np.inf
    result = solved(X, 3, rho)
    assert result.problem.scale < 100.0
    assert result.status is noap.Status.OPTIMAL
    report = noap.verify(result.problem, result.certificate)
    assert report.ok
    assert report.bound <= result.bound * (1 + 2e-9)
    # Against another adversary the sample counts again.
    assert result.problem.with_adversary(noap.SampleWise(1.0)).scale > 1e15


def test_nothing_is_left_where_every_sample_can_be_cancelled():
    X = spiked(20, 6, 3, 1)
    for rho in (np.full(20, np.inf), top_norms(X, 2) * (1 + 1e-9)):
        with pytest.warns(noap.errors.NoapWarning, match="cancel every direction"):
            result = solved(X, 2, rho)
        assert (result.value, result.bound, result.status) == (0.0, 0.0, noap.Status.OPTIMAL)
        assert noap.verify(result.problem, result.certificate).ok


def test_screening_goes_by_each_samples_own_budget():
    X = np.array([[3.0, 0.0, 0.0], [0.1, 0.1, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
    rho = np.array([1.0, 0.0, np.inf, 0.0])
    instance = SampleInstance.of(noap.Problem(X, k=1, adversary=noap.SampleWise(rho)))
    assert instance.rows.tolist() == [0, 1, 3]  # the length of the last is rounded up
    assert instance.rho.tolist() == [0.25, 0.0, 0.0]
    assert instance.outward(instance.value(np.array([1.0, 0.0]))) == pytest.approx((2.0**2 + 0.1**2) / 4)
    # Next to nothing beside the data counts as nothing.
    tiny = SampleInstance.of(noap.Problem(X, k=1, adversary=noap.SampleWise(np.array([1e-200, 0.0, np.inf, 0.0]))))
    assert not tiny.rho.any()
