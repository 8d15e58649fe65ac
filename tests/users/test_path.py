"""Paths over the budget: certified at the points and between them."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import noap
from judge import exact_feature_wise, feature_wise_best, sample_wise_optimum
from noap.analysis.family import Family, convex_bounds
from noap.analysis.path import Path, Stage
from noap.errors import InvalidProblem


def data(seed, n=30, d=7):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))


@pytest.fixture(scope="module")
def cancer():
    bunch = load_breast_cancer()
    Z = (bunch.data - bunch.data.mean(axis=0)) / bunch.data.std(axis=0)
    return pd.DataFrame(Z, columns=bunch.feature_names)


@pytest.mark.parametrize("seed", range(3))
def test_brute_force_lies_in_the_band_at_and_between_the_points(seed):
    X = data(seed)
    path = noap.path(X, 3, rhos=np.linspace(0, 1.05, 9) * np.linalg.norm(X, axis=0).max())
    between = np.sort(np.concatenate([path.rhos, (path.rhos[1:] + path.rhos[:-1]) / 2]))
    lower, upper = path.band(between)
    judged = [feature_wise_best(X.T @ X, len(X), 3, rho) for rho in between]
    # From below the judge is exact to the accuracy of its one-dimensional searches; from above its vectors are judges
    # enough, in exact arithmetic.
    assert (lower <= np.array([optimum for optimum, _ in judged]) + 1e-7).all()
    for rho, most, (_, v) in zip(between, upper, judged, strict=True):
        assert v is None or Fraction(most) >= exact_feature_wise(X, v, rho)
    assert {result.status for result in path.results} == {noap.Status.OPTIMAL}
    at_points = np.searchsorted(between, path.rhos)
    assert lower[at_points] == pytest.approx(path.values, rel=1e-9, abs=1e-12)
    assert (upper[at_points] <= path.bounds * (1 + 1e-12)).all()


def test_every_point_is_certified_and_most_without_a_search(cancer):
    path = noap.path(cancer, 5, rhos=np.linspace(0, 0.999, 50) * np.sqrt(len(cancer)))
    assert len(path) == 50
    assert all(result.status is noap.Status.OPTIMAL and result.gap <= 1e-4 for result in path.results)
    by_chord = [i for i, result in enumerate(path.results) if "convex" in " ".join(result.messages)]
    assert sum(path.results[i].nodes == 0 and path.results[i].certificate is None for i in by_chord) >= 25
    for i in by_chord[::8]:
        cold = noap.solve(noap.Problem(cancer, k=5, adversary=noap.FeatureWise(path.rhos[i])), gap=1e-6)
        assert path.values[i] <= cold.bound
        assert path.bounds[i] >= cold.value
        assert path.values[i] == pytest.approx(cold.value, rel=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_chords_of_bounds_stay_above_a_convex_curve(seed):
    rng = np.random.default_rng(seed)
    slopes, heights = rng.uniform(1, 3, 6), rng.uniform(1, 5, 6)
    curve = lambda rho: np.maximum(heights - np.multiply.outer(rho, slopes), 0.0).max(axis=-1)  # noqa: E731
    zero = float((heights / slopes).max())
    rhos = np.sort(rng.uniform(0, zero, rng.integers(1, 8)))
    bounds = (curve(rhos) * rng.uniform(1, 1.3, len(rhos))) ** 2
    bounds[rng.random(len(rhos)) < 0.2] = np.inf
    at = np.concatenate([rhos, rng.uniform(0, 1.2 * zero, 50)])
    above = convex_bounds(rhos, bounds, zero, at)
    assert (above >= curve(at) ** 2 * (1 - 1e-12)).all()
    assert (above[: len(rhos)] <= bounds * (1 + 1e-12)).all()
    known = rhos[np.isfinite(bounds)]
    # Right of the first bound there is always a chord, for the curve is known to end.
    assert np.isfinite(above[at >= (known[0] if known.size else zero)]).all()


def by_hand(X, k, rows):
    """A path whose vectors are given: {rho: weights by feature}."""
    family = Family.of(X, k, noap.FeatureWise)
    results = []
    for rho, weights in rows.items():
        v = np.zeros(X.shape[1])
        v[list(weights)] = list(weights.values())
        results.append(noap.Result(family.at(rho), "by hand", v / np.linalg.norm(v)))
    return Path(tuple(results), family)


def test_lifetimes_intervals_and_stages_by_hand():
    X = 10 * np.eye(4)
    path = by_hand(
        X,
        3,
        {0.0: {0: 1, 1: 1, 2: 1}, 1.0: {0: 1, 1: 1}, 2.0: {0: 1, 3: 1, 1: 1}, 4.0: {1: 1}, 5.0: {1: 1}, 10.0: {2: 1}},
    )
    assert path.lifetimes == pytest.approx([2.0, 5.0, 0.0, 2.0])
    assert path.intervals == (((0.0, 2.0),), ((0.0, 5.0),), ((0.0, 0.0),), ((2.0, 2.0),))
    # At rho = 10 the adversary cancels everything: the vector there selects nothing.
    assert path.values[-1] == 0
    assert path.supports[-1].size == 0
    assert path.stages() == (
        Stage("full", 0.0, 0.0),
        Stage("partial", 1.0, 1.0),
        Stage("full", 2.0, 2.0),
        Stage("single", 4.0, 5.0),
        Stage("none", 10.0, 10.0),
    )
    returning = by_hand(X, 2, {0.0: {0: 1}, 1.0: {1: 1}, 2.0: {0: 1}})
    assert returning.intervals[0] == ((0.0, 0.0), (2.0, 2.0))
    assert np.isnan(returning.lifetimes[3])
    assert by_hand(X, 1, {0.0: {0: 1}}).stages() == (Stage("full", 0.0, 0.0),)


def test_chosen_budgets_run_from_0_to_rho_max_and_locate_the_changes():
    X = data(5)
    path = noap.path(X, 4, points=9, tolerance=2e-3)
    assert path.rhos[0] == 0
    assert path.rhos[-1] == path.rho_max == pytest.approx(np.linalg.norm(X, axis=0).max())
    assert path.values[-1] == 0
    assert (np.diff(path.values) <= 1e-9).all()
    changes = [i for i in range(len(path) - 1) if not np.array_equal(path.supports[i], path.supports[i + 1])]
    assert len(changes) >= 4  # four features come and go
    for i in changes[:-1]:
        assert path.rhos[i + 1] - path.rhos[i] <= 2e-3 * path.rho_max
    assert [stage.kind for stage in path.stages()][:1] == ["full"]
    assert path.stages()[-1].kind == "none"


def test_given_budgets_are_sorted_and_beyond_rho_max_nothing_warns():
    X = data(1)
    path = noap.path(X, 2, rhos=[1e3, 1.0, 0.0, 1.0], method="ascent")
    assert path.rhos.tolist() == [0.0, 1.0, 1e3]
    assert path.values[-1] == path.bounds[-1] == 0
    assert noap.path(X, 2, rhos=[1e3]).stages() == (Stage("none", 1e3, 1e3),)
    one = noap.path(X, 2, rhos=[1.0])
    assert one.band(1.0)[0] == pytest.approx(one.values[0])
    assert one.band([1.0])[1] == pytest.approx(one.bounds, rel=1e-12)


def test_the_number_of_processes_does_not_matter():
    X = data(2, d=12)
    alone, shared = (noap.path(X, 4, points=7, tolerance=0.05, n_jobs=jobs) for jobs in (None, 2))
    for name in ("rhos", "values", "bounds", "vectors"):
        assert (getattr(alone, name) == getattr(shared, name)).all()


def test_the_same_call_gives_the_same_path():
    X = data(3)
    first, second = (noap.path(X, 3, points=5, random_state=np.random.default_rng(7)) for _ in range(2))
    assert (first.vectors == second.vectors).all()


@pytest.mark.parametrize("adversary", [noap.FeatureWise, noap.SampleWise])
def test_no_vector_found_is_better_somewhere_else(adversary):
    X = data(4, d=10)
    top = adversary(0.0).rho_max(X, 3)
    path = noap.path(X, 3, adversary, rhos=np.linspace(0, 0.9, 8) * top, method="ppm", iterations=2)
    for rho, value in zip(path.rhos, path.values, strict=True):
        assert max(adversary(rho).value(X, v) for v in path.vectors) <= value * (1 + 1e-9)
    assert any("another budget" in message for result in path.results for message in result.messages)
    assert np.isinf(path.bounds).all()
    lower, upper = path.band(path.rhos)
    assert lower == pytest.approx(path.values)
    assert np.isinf(upper).all()


def test_sample_wise_band_below_brute_force():
    X = data(6, n=12, d=5)
    path = noap.path(X, 2, noap.SampleWise, method="ascent", points=5, tolerance=0.2)
    assert path.rho_max == noap.SampleWise(0.0).rho_max(X, 2)
    for rho in np.linspace(0, 0.9, 7) * path.rho_max:
        lower, _ = path.band(rho)
        optimum = sample_wise_optimum(X, 2, rho)
        assert lower <= optimum * (1 + 1e-9)
        assert lower >= 0.5 * optimum


def test_several_k_give_one_path_each():
    X = data(7)
    paths = noap.path(X, [3, 1, 2], rhos=[0.0, 2.0, 4.0])
    assert [path.k for path in paths] == [1, 2, 3]
    values = np.array([path.values for path in paths])
    assert (np.diff(values, axis=0) >= -1e-12).all()
    assert values[2] == pytest.approx(noap.path(X, 3, rhos=[0.0, 2.0, 4.0]).values, rel=1e-4)
    assert len(noap.path(X, [2], rhos=[0.0])) == 1
    table = pl.concat([path.to_frame() for path in paths])
    assert table["k"].to_list() == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_bounds_of_a_solver_keep_their_name():
    X = data(10, d=5)
    path = noap.path(X, 2, rhos=[0.0, 1.0, 2.0], method="mip", pieces=2)
    exact = noap.path(X, 2, rhos=[0.0, 1.0, 2.0])
    assert {result.bound_proof for result in path.results} == {"solver"}
    assert (path.bounds >= exact.values * (1 - 1e-6)).all()
    assert all(result.status is noap.Status.FEASIBLE for result in path.results)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_limits_leave_a_band_that_still_holds():
    X = data(8, d=20)
    rhos = np.linspace(0, 0.8, 5) * np.linalg.norm(X, axis=0).max()
    stopped, whole = noap.path(X, 5, rhos=rhos, node_limit=1), noap.path(X, 5, rhos=rhos)
    assert (stopped.bounds >= whole.values * (1 - 1e-12)).all()
    assert any(result.status is noap.Status.FEASIBLE for result in stopped.results)
    assert stopped.bounds.max() < np.inf


def test_names_are_kept_and_the_table_holds_the_path(cancer):
    path = noap.path(cancer, 3, rhos=[0.0, 10.0, 30.0])
    assert path.feature_names == tuple(cancer.columns)
    table = path.to_frame(loadings=True)
    assert table["features"].to_list()[0] == [cancer.columns[j] for j in path.supports[0]]
    assert table["features"].to_list()[2] == []
    assert table["status"].to_list() == ["optimal"] * 3
    assert table["value"].to_numpy() == pytest.approx(path.values)
    assert table["loading mean radius"].to_numpy()[:2] == pytest.approx(path.vectors[:2, 0])
    assert noap.path(cancer.to_numpy(), 3, rhos=[0.0]).to_frame()["features"].to_list()[0][0].isdigit()
    assert "3 of them optimal" in repr(path)
    assert table["noise"].to_numpy() == pytest.approx(path.rhos / np.sqrt(len(cancer)))


def test_the_features_are_a_table(cancer):
    path = noap.path(cancer.iloc[:, :8], 3, points=5)
    table = path.features_frame()
    unit = np.sqrt(len(cancer))
    assert set(table["feature"]) == {cancer.columns[j] for j in np.flatnonzero(path.selected.any(axis=0))}
    assert table["essential_to_rho"].drop_nulls().is_sorted(descending=True)
    told = {row["feature"]: row for row in table.iter_rows(named=True)}
    for j, name in enumerate(cancer.columns[:8]):
        if name not in told:
            continue
        row = told[name]
        assert row["k"] == 3
        ends = path.rhos[path.essential[:, j]]
        assert row["essential_to_rho"] == (ends.max() if ends.size else None)
        assert row["essential_to_noise"] == (ends.max() / unit if ends.size else None)
        for word, mask in (("essential", path.essential), ("selected", path.selected)):
            inside = [any(a <= rho <= b for a, b in row[f"{word}_rho"]) for rho in path.rhos]
            assert inside == mask[:, j].tolist()
            flat = np.ravel(row[f"{word}_rho"])
            assert np.ravel(row[f"{word}_noise"]) == pytest.approx(flat / unit)


def test_a_problem_stands_for_its_data(cancer):
    Z = cancer.to_numpy()
    by_covariance = noap.Problem.from_covariance(
        cancer.T @ cancer / len(Z), n_samples=len(Z), k=1, adversary=noap.NoAdversary()
    )
    by_samples = noap.Problem(cancer, k=1, adversary=noap.NoAdversary())
    rhos = [0.0, 8.0, 16.0]
    expected = noap.path(cancer, 4, rhos=rhos)
    for problem in (by_covariance, by_samples):
        path = noap.path(problem, 4, rhos=rhos)
        assert path.values == pytest.approx(expected.values, rel=1e-9)
        assert path.band(4.0)[0] == pytest.approx(expected.band(4.0)[0], rel=1e-9)
        assert path.rho_max == pytest.approx(expected.rho_max)
        assert path.feature_names == tuple(cancer.columns)


def test_ties_go_to_the_lowest_index(cancer):
    # Standardised features are all worth the same alone, whatever rounding says.
    path = noap.path(cancer, 1, rhos=[0.0, 10.0, 23.0])
    assert [support.tolist() for support in path.supports] == [[0], [0], [0]]
    assert all(
        "Feature mean radius ties with mean texture, mean perimeter, " in " ".join(result.messages)
        for result in path.results
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    X = np.column_stack([X, -X[:, 1], X[:, 1]])
    alone = noap.path(X, 1, noap.SampleWise, rhos=[0.1]).results[0]
    assert alone.support.tolist() in ([0], [1], [2])
    assert "Feature 1 ties with 3, 4" in " ".join(alone.messages) or alone.support.tolist() != [1]


def test_plot_draws_a_bar_per_interval(cancer, tmp_path):
    path = noap.path(cancer, 5, points=9, tolerance=0.01)
    figure = path.plot()
    variance, barcode, loadings = figure.axes
    assert len(barcode.patches) >= sum(len(runs) for runs in path.intervals)
    solid = sum(bar.get_hatch() is None for bar in barcode.patches)
    assert solid == sum(len(spans) for spans in path.features_frame()["essential_rho"])
    assert barcode.get_yticklabels()[0].get_text() == path.features_frame()["feature"][0]
    assert len(variance.collections) == 1
    assert len(loadings.get_yticklabels()) == np.isfinite(path.lifetimes).sum()
    figure.savefig(tmp_path / "path.png")
    unproved = noap.path(cancer.to_numpy(), 2, rhos=[0.0, 1.0], method="ascent").plot()
    assert "nothing is proved" in unproved.axes[0].get_title(loc="left")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"adversary": noap.FeatureWise(1.0)}, "adversary must be a class that takes a budget"),
        ({"adversary": "feature"}, "adversary must be a class"),
        ({"adversary": lambda rho: noap.NoAdversary()}, "NoAdversary has no budget to vary"),
        ({"rhos": []}, "rhos is empty"),
        ({"rhos": [-1.0]}, "rhos must be finite numbers of at least 0"),
        ({"rhos": ["much"]}, "rhos must be a list of numbers"),
        ({"rhos": [[1.0, 2.0]]}, "rhos must be a list of numbers"),
        ({"rhos": [True]}, "rhos must be a list of numbers"),
        ({"k": 9}, "k must be at most"),
        ({"k": []}, "k must hold at least one"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"points": 1}, "points must be"),
        ({"tolerance": 0.0}, "tolerance must be"),
        ({"method": "magic"}, "method must be one of"),
        ({"depth": 3}, "depth is not an option"),
        ({"gap": -1.0}, "gap must be"),
    ],
)
def test_what_cannot_be_used_is_named(arguments, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        noap.path(**({"X": data(0), "k": 2} | arguments))


def test_the_band_has_no_opinion_outside_the_path():
    path = noap.path(data(0), 2, rhos=[1.0, 2.0], method="ascent")
    for rho in (0.5, 2.5, np.nan, [1.5, 3.0]):
        with pytest.raises(InvalidProblem, match="range of the path, 1 to 2"):
            path.band(rho)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("exact", {"node_limit": 0}, "node_limit must be a positive integer"),
        ("exact", {"memory_limit": "much"}, "memory_limit must be a positive number"),
        ("ascent", {"keep": 0}, "keep must be a positive integer"),
        ("ppm", {"iterate": "first"}, "iterate must be 'last' or 'best'"),
        ("exact", {"depth": 3}, "depth is not an option of method 'exact'"),
        ("exact", {"gap": -1.0}, "gap must be a finite number"),
    ],
)
def test_options_are_checked_also_where_nothing_is_left_to_solve(method, options, words):
    with pytest.raises(InvalidProblem, match=words):
        noap.path(np.eye(3), 1, method=method, **options)
    with pytest.raises(InvalidProblem, match=words):
        noap.solve(noap.Problem(np.eye(3), k=1, adversary=noap.FeatureWise(9.0)), method, **options)
