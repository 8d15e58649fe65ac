"""Paths where features have budgets or costs of their own: every rho is a factor on all of them."""

import itertools
import warnings

import numpy as np
import pytest

import noap
from noap import FeatureWise, SampleWise
from noap.analysis.family import convex_bounds
from noap.data.validation import as_samples
from noap.errors import InvalidProblem, NoapWarning


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 7)) + 0.5 * rng.standard_normal((40, 7))
    return X - X.mean(axis=0)


BUDGETS = np.array([1.0, 0.2, 2.0, 0.5, 3.0, np.inf, 0.7])
SHARES = (0.0, 0.1, 0.3, 0.6, 1.2, np.inf)
COSTS = np.array([0.3, 0.0, 0.1, 0.8, 0.0, 0.0, 0.2])


def times(factor):
    return np.array([np.inf if np.isinf(budget) else factor * budget for budget in BUDGETS])


def sampled_best(X, k, budgets, costs, seed=0):
    """The largest objective of many directions on every support: below the optimum, and near it."""
    n, best = len(X), 0.0
    trusted = np.flatnonzero(np.isfinite(budgets))
    for support in itertools.combinations(trusted, k):
        W = np.random.default_rng(seed).standard_normal((4000, k))
        W /= np.linalg.norm(W, axis=1)[:, None]
        W = np.vstack([W, np.eye(k)])
        left = np.linalg.norm(X[:, support] @ W.T, axis=0) - np.abs(W) @ budgets[list(support)]
        worth = np.maximum(left, 0.0) ** 2 / n - (W != 0) @ costs[list(support)]
        best = max(best, float(worth.max()))
    return best


@pytest.mark.parametrize("costs", [None, COSTS])
def test_points_are_the_optima_at_factors_of_the_budgets(data, costs):
    problem = noap.Problem(data, k=3, adversary=noap.NoAdversary(), costs=costs)
    path = noap.path(problem, 3, FeatureWise(BUDGETS), points=9, tolerance=0.05)
    assert path.proves
    for rho, result in zip(path.rhos, path.results, strict=True):
        given = result.problem.adversary.rho
        assert given == pytest.approx(times(rho))
        assert costs is None or np.array_equal(result.problem.costs, costs)
        best = sampled_best(data, 3, given, np.zeros(7) if costs is None else costs)
        assert best <= result.bound * (1 + 1e-12)
        assert result.value >= 0.97 * best  # directions are drawn, not searched for
        assert result.status is noap.Status.OPTIMAL
    assert not path.selected[:, 5].any()
    if costs is None:
        assert path.rho_max == pytest.approx((np.linalg.norm(data, axis=0) / BUDGETS).max())
        assert path.values[-1] == 0 < path.values[-2]
    # The band between the points is proved as well.
    fine = np.linspace(path.rhos[0], path.rhos[-1], 17)
    lower, upper = path.band(fine)
    for rho, low, high in zip(fine, lower, upper, strict=True):
        best = sampled_best(data, 3, times(rho), np.zeros(7) if costs is None else costs, seed=1)
        assert best <= high * (1 + 1e-12)
        assert low <= high
        assert low >= 0.97 * best


def test_equal_budgets_give_the_path_of_the_number(data):
    by_number = noap.path(data, 3, points=9, tolerance=0.02)
    by_factor = noap.path(data, 3, FeatureWise(np.full(7, 2.0)), rhos=by_number.rhos / 2)
    assert by_factor.values == pytest.approx(by_number.values, abs=1e-9)
    assert [s.tolist() for s in by_factor.supports] == [s.tolist() for s in by_number.supports]
    assert (by_factor.essential == by_number.essential).all()
    assert 2 * by_factor.lifetimes == pytest.approx(by_number.lifetimes, nan_ok=True)
    assert 2 * by_factor.rho_max == pytest.approx(by_number.rho_max)


def test_a_scaled_column_with_a_scaled_budget_leaves_at_the_same_factor(data):
    """Alone (k = 1) a feature is gone at |a_j|/rho_j, whatever its unit."""
    units = np.array([1.0, 10.0, 0.1, 3.0, 1.0, 1.0, 0.5])
    budgets = np.where(np.isinf(BUDGETS), 1.0, BUDGETS)
    assert noap.path(data, 1, FeatureWise(budgets), rhos=[0.0, 1.0]).rho_max == pytest.approx(
        noap.path(data * units, 1, FeatureWise(budgets * units), rhos=[0.0, 1.0]).rho_max
    )


def test_an_exact_feature_outlives_every_factor(data):
    budgets = np.where(np.isinf(BUDGETS), 1.0, BUDGETS)
    budgets[2] = 0.0
    path = noap.path(data, 3, FeatureWise(budgets), points=9, tolerance=0.05)
    assert path.rho_max == np.inf
    assert path.rhos[-1] == pytest.approx(np.delete(np.linalg.norm(data, axis=0) / np.fmax(budgets, 1e-9), 2).max())
    assert path.supports[-1].tolist() == [2]
    assert path.values[-1] == pytest.approx(np.mean(data[:, 2] ** 2))
    assert path.essential[-1].tolist() == [j == 2 for j in range(7)]


def test_samples_with_budgets_of_their_own_are_scaled_too(data):
    budgets = np.linspace(0.1, 2.0, len(data))
    path = noap.path(data, 2, SampleWise(budgets), rhos=[0.0, 0.5, 1.0], method="ascent")
    for rho, result in zip(path.rhos, path.results, strict=True):
        scores = np.abs(data @ result.v)
        assert result.value == pytest.approx(np.mean(np.maximum(scores - rho * budgets, 0.0) ** 2))
    assert path.rho_max == pytest.approx((np.sort(data**2, axis=1)[:, -2:].sum(axis=1) ** 0.5 / budgets).max())


def test_tables_and_pictures_say_that_it_is_a_factor(data):
    path = noap.path(data, 2, FeatureWise(BUDGETS), rhos=[0.0, 1.0, 2.0], method="ascent")
    assert path.rhos.tolist() == [0.0, 1.0, 2.0]
    assert "factor from 0 to 2" in repr(path)
    frame = path.to_frame()
    assert frame["factor"].to_list() == [0.0, 1.0, 2.0]
    assert not {"rho", "noise"} & set(frame.columns)
    assert path.features_frame().columns[2:] == ["essential_to_factor", "essential_factor", "selected_factor"]
    assert "<th>factor</th>" in path._repr_html_()
    assert ">noise<" not in path._repr_html_()
    for unit in ("noise", "rho"):
        assert path.plot(unit=unit).axes[2].get_xlabel() == "factor on the budgets of the features"
    by_number = noap.path(data, 2, rhos=[0.0, 1.0], method="ascent")
    assert "rho" in by_number.to_frame().columns
    assert "rho from 0 to 1" in repr(by_number)


def test_an_object_with_one_budget_is_no_family(data):
    with pytest.raises(InvalidProblem, match="adversary must be a class that takes a budget"):
        noap.path(data, 2, FeatureWise(2.0))
    with pytest.raises(InvalidProblem, match="rho has 3 entries, but there are 7 features"):
        noap.path(data, 2, FeatureWise([1.0, 2.0, 3.0]))


def test_chords_with_costs_are_those_of_the_optimum():
    at = np.array([1.0])
    assert convex_bounds(np.array([0.0, 2.0]), np.array([16.0, 4.0]), np.inf, at)[0] == pytest.approx(9.0)
    assert convex_bounds(np.array([0.0, 2.0]), np.array([16.0, 4.0]), np.inf, at, roots=False)[0] == pytest.approx(10.0)


def test_a_proved_path_over_budgets_of_samples(data):
    """Judged by a fine fan of directions on every pair of features."""
    few = data[:16, :5]
    budgets = np.linspace(0.1, 1.5, 16)
    path = noap.path(few, 2, SampleWise(budgets), rhos=[0.5, 1.0, 1.5], gap=1e-4)
    assert path.proves
    angles = np.linspace(0.0, np.pi, 2001)
    fan = np.array([np.cos(angles), np.sin(angles)])
    for rho, result in zip(path.rhos, path.results, strict=True):
        best = 0.0
        for pair in itertools.combinations(range(5), 2):
            left = np.maximum(np.abs(few[:, pair] @ fan) - rho * budgets[:, None], 0.0)
            best = max(best, float((left**2).sum(axis=0).max()) / 16)
        assert result.status is noap.Status.OPTIMAL
        assert best <= result.bound * (1 + 1e-12)
        assert result.value >= best * (1 - 1e-4)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")  # 1.1e-4 where one feature is about to come in
@pytest.mark.parametrize("seed", range(12))
def test_hostile_paths_are_bounded_and_essential_features_are(seed):
    """Zeros, infinities, ties, doubled columns and costs: between the points and for every essential feature."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(3, 7)), int(rng.integers(4, 20))
    X = rng.standard_normal((n, d)).round(1)
    X[:, 1] = X[:, 0] if seed % 3 == 0 else X[:, 1]
    lengths = np.linalg.norm(X, axis=0)
    budgets = np.array([share if np.isinf(share) else share * lengths.max() for share in rng.choice(SHARES, d)])
    costs = rng.choice([0.0, 0.1, 0.5], d) * lengths.max() ** 2 / n if seed % 2 else None
    k = int(rng.integers(1, d + 1))
    base = noap.Problem(as_samples(X), k, noap.NoAdversary(), costs=costs)
    path = noap.path(base, k, FeatureWise(budgets), points=5, tolerance=0.1, end=2.0)
    fine = np.linspace(path.rhos[0], path.rhos[-1], 6)
    for rho, low, high in zip(fine, *path.band(fine), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoapWarning)
            there = noap.solve(path.family.at(float(rho)), gap=1e-6)
        assert there.value <= high * (1 + 1e-9) + 1e-12
        assert low <= there.bound * (1 + 1e-9) + 1e-12
    for i, j in np.argwhere(path.essential):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoapWarning)
            without = noap.solve(path.results[i].problem.restricted(np.delete(np.arange(d), j)), gap=1e-7)
        assert without.value * (1 + 1e-4) < path.values[i] * (1 + 1e-9)
