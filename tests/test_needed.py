"""Which features a path cannot do without: against brute force without the feature, and where people read it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine

import noap
from commands import document, run
from judge import feature_wise_optimum, sample_wise_optimum
from noap.errors import NoapWarning
from noap.report import build_report
from noap.report.words import answer
from noap.sweep import needed
from noap.sweep.barcode import barcode
from noap.sweep.point import Task

GAP = 1e-4


def _data(seed):
    """Six features: plain, standardised, or with a copy, a negated copy, a weaker copy."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 6)) + rng.standard_normal((9, 1))
    match seed % 4:
        case 1:
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        case 2:
            X[:, 3], X[:, 5] = X[:, 0], -X[:, 1]
        case 3:
            X[:, 4] = 0.9999 * X[:, 2]
    return X


def _optima_without(X, j, k, rhos, adversary):
    Y = np.delete(X, j, axis=1)
    if adversary is noap.FeatureWise:
        return np.array([feature_wise_optimum(Y.T @ Y, len(Y), k, rho) for rho in rhos])
    return np.array([sample_wise_optimum(Y, k, rho) for rho in rhos])


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
@settings(max_examples=16)
def test_a_needed_feature_is_one_without_which_nothing_comes_close(seed, k):
    X = _data(seed)
    path = noap.path(X, k, points=6, tolerance=0.05, gap=GAP)
    assert path.proves
    assert not (path.needed & ~path.selected).any()
    floors = path.values / (1 + GAP)
    for j in np.flatnonzero(path.selected.any(axis=0)):
        without = _optima_without(X, j, k, path.rhos, noap.FeatureWise)
        rows = path.selected[:, j]
        assert (without[rows & path.needed[:, j]] < floors[rows & path.needed[:, j]] * (1 + 1e-7)).all()
        # Nothing stopped the searches, so what is not needed is refuted by a vector; the judge is good to 1e-7.
        assert (without[rows & ~path.needed[:, j]] >= floors[rows & ~path.needed[:, j]] * (1 - 1e-6)).all()


@pytest.mark.parametrize("seed", range(4))
def test_sample_wise_a_needed_feature_has_no_rival(seed):
    X = _data(seed)[:, :5]
    path = noap.path(X, 2, noap.SampleWise, points=5, tolerance=0.2, gap=GAP)
    floors = path.values / (1 + GAP)
    for j in np.flatnonzero(path.selected.any(axis=0)):
        # The judge searches from below, which is what a claim of need must withstand.
        without = _optima_without(X, j, 2, path.rhos, noap.SampleWise)
        assert (without[path.needed[:, j]] < floors[path.needed[:, j]] * (1 + 1e-9)).all()
    assert path.needed.any() or seed == 2


def test_a_copy_is_shared_and_its_partner_needed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 1)) + 0.3 * rng.standard_normal((40, 4))
    X[:, 3] = X[:, 0] * 1.00001  # not a tie to rounding, but one to the gap
    X[:, 1] *= 2
    path = noap.path(X, 2, rhos=[0.0, 1.0])
    assert (path.selected == [False, True, False, True]).all()
    assert (path.needed == [False, True, False, False]).all()
    assert path.survives == pytest.approx([np.nan, 1.0, np.nan, np.nan], nan_ok=True)
    assert path.lifetimes == pytest.approx([np.nan, 1.0, np.nan, 1.0], nan_ok=True)
    assert [row.feature for row in barcode(path)] == [1, 3]
    assert [bar.shared for row in barcode(path) for bar in row.bars] == [False, True]


def test_one_feature_alone_is_needed_while_something_is_left():
    path = noap.path([[3.0], [4.0]], 1, rhos=[0.0, 4.0, 6.0])
    assert path.needed[:, 0].tolist() == [True, True, False]
    assert path.survives.tolist() == [4.0]


def test_what_a_limit_leaves_open_is_not_called_needed(monkeypatch):
    X = np.random.default_rng(3).standard_normal((30, 14))
    path = noap.path(X, 4, rhos=[1.0, 2.0])
    monkeypatch.setattr(Task, "run", lambda task: noap.Result(task.problem, "exact", task.start))
    assert not path.needed.any()
    assert np.isnan(path.survives).all()
    # Nor is it called shared, which takes a vector as good without it.
    assert (path.unsettled | path.shared)[path.selected].all()
    assert path.unsettled.any()
    assert {bar.standing for row in barcode(path) for bar in row.bars} >= {"open"}
    assert "pale: not settled" in path.plot().axes[1].get_title(loc="left").replace("\n", " ")


def test_all_searches_together_take_what_the_path_took_at_most(monkeypatch):
    X, tasks, run = np.random.default_rng(3).standard_normal((30, 14)), [], Task.run
    path = noap.path(X, 4, rhos=[1.0, 2.0])
    monkeypatch.setattr(needed, "_NODES", 0)
    monkeypatch.setattr(Task, "run", lambda task: tasks.append(run(task)) or tasks[-1])
    settled = path.needed
    spent = [result.nodes for result in tasks]
    assert sum(spent[:-1]) <= sum(result.nodes for result in path.results)
    monkeypatch.undo()
    whole = noap.path(X, 4, rhos=[1.0, 2.0]).needed
    assert not (settled & ~whole).any()


def test_after_ctrl_c_no_search_is_begun(monkeypatch):
    X, count, run = np.random.default_rng(3).standard_normal((30, 8)), iter(range(100)), Task.run

    def interrupted(task):
        if next(count) >= 3:
            raise KeyboardInterrupt
        return run(task)

    monkeypatch.setattr(Task, "run", interrupted)
    with pytest.warns(NoapWarning, match="Interrupted"):
        path = noap.path(X, 3, rhos=np.linspace(0, 5, 9))
    assert len(path) < 9
    assert path.needed.sum() < path.selected.sum()  # a search would raise


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, lambda X: X.astype(np.float32), pd.DataFrame])
@pytest.mark.parametrize("adversary", [noap.FeatureWise, noap.SampleWise])
def test_any_kind_of_data_has_needed_features(make, adversary):
    X = _data(2)
    X[np.abs(X) < 0.3] = 0.0
    X[:, 3] = X[:, 0]
    path = noap.path(make(X), 2, adversary, rhos=[0.0, 0.5])
    assert (path.needed == noap.path(X, 2, adversary, rhos=[0.0, 0.5]).needed).all()


def test_a_covariance_is_enough():
    X = _data(3)
    problem = noap.Problem.from_covariance(X.T @ X / len(X), n_samples=len(X), k=2, adversary=noap.NoAdversary())
    rhos = [0.0, 0.5, 1.0]
    assert (noap.path(problem, 2, rhos=rhos).needed == noap.path(X, 2, rhos=rhos).needed).all()


def test_without_proofs_the_path_says_so():
    X = _data(2)
    path = noap.path(X, 2, rhos=[0.0, 1.0], method="ascent")
    assert not path.proves
    assert not path.needed[:, [0, 3]].any()  # copies of each other
    assert path.needed.any()


@pytest.fixture(scope="module")
def digits():
    bunch = load_digits()
    varies = bunch.data.std(axis=0) > 0
    names = [str(name) for name, used in zip(bunch.feature_names, varies, strict=True) if used]
    X = bunch.data[:, varies]
    return pd.DataFrame((X - X.mean(axis=0)) / X.std(axis=0), columns=names)


@pytest.fixture(scope="module")
def digits_path(digits):
    return noap.path(digits, 5, points=9, tolerance=0.05)


def test_on_digits_no_pixel_that_ties_with_sixty_others_leads(digits_path):
    last = digits_path.selected & (digits_path.selected.sum(axis=1) == 1)[:, None]
    assert last.any()  # at the end one pixel is as good as any other
    assert not (digits_path.needed & last).any()
    rows = barcode(digits_path)
    assert not np.isnan(rows[0].survives)
    assert rows[0].survives == np.nanmax(digits_path.survives)
    assert rows[0].survives < digits_path.rhos[last.any(axis=1)].min()
    ends = [row.survives for row in rows if not np.isnan(row.survives)]
    assert ends == sorted(ends, reverse=True)


def test_messages_name_the_features(digits_path):
    told = [m for result in digits_path.results for m in result.messages if " ties with " in m]
    assert told
    assert all(m.startswith("Feature pixel_") and " ties with pixel_" in m for m in told)


def test_the_report_opens_with_features_that_are_needed():
    report = build_report(load_wine(as_frame=True).data, k=4, points=7, n_components=1)
    rows, half = barcode(report.path), report.path.rhos[-1] / 2
    sentence = answer(report, rows).split(" At noise ")[0]
    named = [name for name in report.names if name in sentence.split("everything: ")[1]]
    # Alcohol is the last one standing, for its place in the table alone.
    assert np.nanargmax(report.path.lifetimes) == report.names.index("alcohol")
    assert sorted(named) == sorted(report.names[row.feature] for row in rows if row.survives > half)
    assert "alcohol" not in named
    # Nor does it win where one feature is allowed.
    assert "1: +alcohol (or another)" in report.html()
    assert "class=shared" in report.html()
    assert "it is proved that every component as good" in report.html()


def test_the_command_line_shows_what_is_needed_and_what_is_shared(tmp_path):
    load_wine(as_frame=True).data.to_csv(tmp_path / "wine.csv", index=False)
    words = ("path", tmp_path / "wine.csv", "-k", 4, "--points", 7)
    shown = run(*words)
    alcohol = next(line for line in shown.splitlines() if "alcohol" in line)
    assert "shared" in alcohol
    assert "needs it (proved)" in shown.replace("\n", " ")
    path = document(*words)["paths"][0]
    assert "alcohol" not in path["survives"]
    assert path["survives_proved"] is True
    assert path["lifetimes"]["alcohol"] > max(path["survives"].values())
    assert set(path["points"][0]["needed"]) <= set(path["points"][0]["features"])
