"""A problem with a metric: what it takes, what it is worth, and who refuses it."""

import numpy as np
import pytest

import noap
from noap.errors import InvalidProblem

B = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 4.0]])
X = np.array([[3.0, 0.0, 1.0], [4.0, 1.0, -2.0], [0.5, -1.0, 0.3]])


def problem(metric=B, adversary=None, **terms):
    return noap.Problem(X, 2, adversary or noap.NoAdversary(), metric=metric, **terms)


def test_value_is_the_variance_over_the_metric():
    v = np.array([1.0, -2.0, 0.0])
    v /= np.sqrt(v @ B @ v)
    assert problem().value(v) == pytest.approx(np.sum((X @ v) ** 2) / 3, rel=1e-14)
    attacked = problem(adversary=noap.FeatureWise(0.5))
    left = np.linalg.norm(X @ v) - 0.5 * np.abs(v).sum()
    assert attacked.value(v) == pytest.approx(left**2 / 3, rel=1e-14)


def test_vector_must_have_length_one_in_the_metric():
    with pytest.raises(InvalidProblem, match="v'Bv = 1"):
        problem().value([1.0, 0.0, 0.0])


def test_unit_metric_is_none_and_a_diagonal_matrix_its_diagonal():
    assert problem(np.eye(3)).metric is None
    assert problem(np.ones(3)).metric is None
    np.testing.assert_array_equal(problem(np.diag([1.0, 2.0, 3.0])).metric, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (np.ones((2, 2)), "metric"),
        (np.ones(2), "metric has shape"),
        ([1.0, 0.0, 1.0], "positive"),
        ([1.0, np.nan, 1.0], "positive"),
        (-np.eye(3), "metric"),
        (np.ones((3, 3)), "positive definite"),
        (np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]]), "symmetric"),
        ([1.0, 1e200, 1.0], "1e100"),
        ("B", "metric"),
    ],
)
def test_other_metrics_are_refused(metric, said):
    with pytest.raises(InvalidProblem, match=said):
        problem(metric)


def test_no_metric_beside_costs_or_other_adversaries():
    with pytest.raises(InvalidProblem, match="costs or a metric"):
        problem(costs=[0.1, 0.1, 0.1])
    for adversary in (noap.SampleWise(0.1), noap.SpectralNorm(0.1), noap.EntryWise(0.1)):
        with pytest.raises(InvalidProblem, match="metric"):
            problem(adversary=adversary)


@pytest.mark.parametrize("metric", [B, [2.0, 1.0, 4.0]])
def test_what_knows_no_metric_refuses_it(metric):
    given = problem(metric, noap.FeatureWise(0.1))
    for method in ("mip", "mip-r", "ppm", "spca", "diagonal-thresholding"):
        with pytest.raises(InvalidProblem, match="metric"):
            noap.solve(given, method)
    for call in (
        lambda: noap.near_optimal(given),
        lambda: noap.k_path(given),
        lambda: noap.solve_components(given, 2),
        lambda: noap.stability(given),
        lambda: noap.path(given, 2),
    ):
        with pytest.raises(InvalidProblem, match="metric"):
            call()


def test_variants_keep_the_metric():
    given = problem()
    assert given.with_sparsity(1).metric is given.metric
    assert given.with_adversary(noap.FeatureWise(0.1)).metric is given.metric
    np.testing.assert_array_equal(given.restricted([1, 0]).metric, B[np.ix_([1, 0], [1, 0])])
    assert given.with_metric(None).metric is None
    assert given.with_metric(None).scale != given.scale
    with pytest.raises(InvalidProblem, match="costs or a metric"):
        given.with_costs([1.0, 0.0, 0.0])


def test_metric_is_its_own_copy():
    mine = B.copy()
    given = problem(mine)
    mine[0, 0] = 100.0
    assert given.metric[0, 0] == 2.0
    with pytest.raises(ValueError, match="read-only"):
        given.metric[0, 0] = 1.0


def test_metric_from_samples():
    Y = np.random.default_rng(0).standard_normal((20, 3))
    made = noap.metric_from_samples(Y, ridge=0.1)
    S = Y.T @ Y / 20
    np.testing.assert_allclose(made, S + 0.1 * np.trace(S) / 3 * np.eye(3))
    for ridge in (0.0, -1.0, np.inf, "a", True):
        with pytest.raises(InvalidProblem, match="ridge"):
            noap.metric_from_samples(Y, ridge)
    with pytest.raises(InvalidProblem, match="zero"):
        noap.metric_from_samples(np.zeros((2, 2)))


@pytest.mark.parametrize("metric", [B, [2.0, 1.0, 4.0]])
def test_nothing_is_left_at_the_same_budget_whatever_the_metric(metric):
    rho = problem().with_metric(None).with_adversary(noap.FeatureWise(1.0)).rho_max
    with pytest.warns(noap.errors.NoapWarning, match="cancel every direction"):
        result = noap.solve(problem(metric, noap.FeatureWise(rho)))
    assert result.value == result.bound == 0.0
    assert result.status is noap.Status.OPTIMAL
