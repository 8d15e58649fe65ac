"""Costs of features: what is left of a value after them, where they travel, and what they do not go with."""

import math
import re

import numpy as np
import pytest

import noap
from budget_cases import INF, ascended, data
from noap.errors import InvalidProblem, NoapWarning
from noap.report import build_report


def test_value_is_what_is_left_after_costs():
    X = data(2)
    costs = np.linspace(0, 0.6, 7)
    problem = noap.Problem(X, 3, noap.FeatureWise(1.0), costs=costs)
    plain = problem.with_costs(None)
    v = np.array([0, 0.6, 0, 0, 0.8, 0, 0])
    assert problem.robust_variance(v) == plain.value(v) == plain.robust_variance(v)
    assert problem.value(v) == pytest.approx(plain.value(v) - costs[1] - costs[4])
    assert problem.value(np.zeros(7)) == 0.0
    with pytest.raises(InvalidProblem, match="unit length"):
        plain.value(np.zeros(7))
    result = ascended(problem)
    assert result.value == pytest.approx(result.robust_variance - result.cost)
    assert result.cost == pytest.approx(costs[result.support].sum())
    assert "costs" in repr(problem)


def test_costs_travel():
    costs = np.linspace(0, 0.6, 7)
    problem = noap.Problem(data(2), 3, noap.FeatureWise(np.arange(7.0)), costs=costs)
    part = problem.restricted(np.array([5, 2]))
    np.testing.assert_array_equal(part.costs, costs[[5, 2]])
    np.testing.assert_array_equal(part.adversary.rho, [5.0, 2.0])
    np.testing.assert_array_equal(problem.with_sparsity(2).costs, costs)
    np.testing.assert_array_equal(problem.with_adversary(noap.NoAdversary()).costs, costs)
    assert noap.Problem(data(2), 3, noap.FeatureWise(1.0), costs=np.zeros(7)).costs is None
    assert not problem.costs.flags.writeable
    # What is known of one must not be taken for the other.
    assert not problem.with_costs(np.full(7, 100.0)).kept_features.any()
    assert problem.with_costs(None).with_adversary(noap.NoAdversary()).kept_features.all()


@pytest.mark.parametrize("bad", [[1.0], np.full(7, -1.0), np.full(7, INF), np.full(7, math.nan), ["a"] * 7, 3.0])
def test_bad_costs_are_named(bad):
    with pytest.raises(InvalidProblem, match="costs"):
        noap.Problem(data(0), 2, noap.FeatureWise(1.0), costs=bad)


def test_costs_are_for_adversaries_that_move_features_or_samples():
    with pytest.raises(InvalidProblem, match="Problem with costs serves the adversaries FeatureWise, NoAdv"):
        noap.Problem(data(0), 2, noap.SpectralNorm(1.0), costs=np.ones(7))


@pytest.mark.parametrize("from_covariance", [False, True])
def test_nothing_is_worth_its_cost(from_covariance):
    X = data(4)
    single = np.maximum(np.linalg.norm(X, axis=0) - 1.0, 0.0) ** 2 / len(X)

    def problem(costs):
        if from_covariance:
            S, n = X.T @ X / len(X), len(X)
            return noap.Problem.from_covariance(S, n_samples=n, k=3, adversary=noap.FeatureWise(1.0), costs=costs)
        return noap.Problem(X, 3, noap.FeatureWise(1.0), costs=costs)

    dear = problem(single * (1 + 1e-12))
    assert dear.optimum_is_zero
    with pytest.warns(NoapWarning, match="no feature is worth its cost"):
        result = noap.solve(dear, "ascent")
    assert (result.value, result.bound, result.support.size) == (0.0, 0.0, 0)
    assert result.status is noap.Status.OPTIMAL
    cheap = problem(single * np.where(np.arange(7) == 3, 1 - 1e-9, 1.0))
    assert not cheap.optimum_is_zero
    assert ascended(cheap).value > 0


def test_a_negative_value_has_no_gap():
    problem = noap.Problem(data(0), 1, noap.FeatureWise(1.0), costs=np.full(7, 1e-3))
    v = np.eye(7)[0]
    dear = problem.with_costs(np.full(7, 50.0))
    result = noap.Result(dear, "mine", v, bound=1.0, bound_proof="rigorous")
    assert result.value < 0
    assert result.gap == INF
    assert result.status is noap.Status.FEASIBLE
    assert "worth nothing" in result.claim


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_costs_are_paid_where_samples_move():
    """By the estimator and in the report; a program takes none."""
    X, costs = data(2), np.full(7, 0.02)
    problem = noap.Problem(noap.standardize(X), 2, noap.SampleWise(0.1), costs=costs)
    model = noap.RobustSparsePCA(k=2, adversary="sample", noise=0.1, costs=costs, scale=True).fit(X)
    assert model.objective_[0] == pytest.approx(noap.solve(problem).value, rel=1e-9)
    made = build_report(X, 2, adversary="sample", noise=0.1, costs=costs, points=3, n_components=1, progress=False)
    assert re.search("after its costs|less costs", made.html())
    with pytest.raises(InvalidProblem, match="takes no costs where the adversary moves samples"):
        noap.solve(problem, method="mip")
