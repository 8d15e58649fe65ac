"""Features that a path cannot do without: against brute force without the feature, and where people read it."""

import json
import signal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine

import noap
from commands import run
from judge import feature_wise_optimum, sample_wise_optimum
from noap.errors import NoapWarning
from noap.report import build_report

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
@settings(max_examples=12)
def test_without_an_essential_feature_nothing_comes_close(seed, k):
    X = _data(seed)
    path = noap.path(X, k, points=6, tolerance=0.05, gap=GAP)
    assert path.proves
    assert not (path.essential & ~path.selected).any()
    floors = path.values / (1 + GAP)
    for j in np.flatnonzero(path.selected.any(axis=0)):
        without = _optima_without(X, j, k, path.rhos, noap.FeatureWise)
        yes, no = path.essential[:, j], path.selected[:, j] & ~path.essential[:, j]
        assert (without[yes] < floors[yes] * (1 + 1e-7)).all()
        # Nothing stopped the searches, so a vector refutes what is not essential; the judge is good to 1e-7.
        assert (without[no] >= floors[no] * (1 - 1e-6)).all()


@pytest.mark.parametrize("seed", range(4))
def test_sample_wise_an_essential_feature_has_no_rival(seed):
    X = _data(seed)[:, :5]
    path = noap.path(X, 2, noap.SampleWise, points=5, tolerance=0.2, gap=GAP)
    floors = path.values / (1 + GAP)
    for j in np.flatnonzero(path.selected.any(axis=0)):
        # The judge searches from below, which is what the claim must withstand.
        without = _optima_without(X, j, 2, path.rhos, noap.SampleWise)
        assert (without[path.essential[:, j]] < floors[path.essential[:, j]] * (1 + 1e-9)).all()
    assert path.essential.any() or seed == 2


def test_of_two_copies_none_is_essential_and_their_partner_is():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 1)) + 0.3 * rng.standard_normal((40, 4))
    X[:, 3] = X[:, 0] * 1.00001  # not a tie to rounding, but one to the gap
    X[:, 1] *= 2
    path = noap.path(X, 2, rhos=[0.0, 1.0])
    assert (path.selected == [False, True, False, True]).all()
    assert (path.essential == [False, True, False, False]).all()
    assert path.lifetimes == pytest.approx([np.nan, 1.0, np.nan, 1.0], nan_ok=True)
    rows = path.features_frame().select("feature", "essential_to_rho", "essential_rho", "selected_rho").rows()
    assert rows == [("1", 1.0, [[0.0, 1.0]], [[0.0, 1.0]]), ("3", None, [], [[0.0, 1.0]])]


def test_a_search_that_finds_a_better_vector_on_its_way_is_asked_again():
    X = _data(1151)  # the first search without feature 5 at rho = 0 begins far below the best vector without it
    path = noap.path(X, 2, points=6, tolerance=0.05)
    assert path.values[0] > 1.02 * feature_wise_optimum(np.delete(X, 5, 1).T @ np.delete(X, 5, 1), 9, 2, 0.0)
    assert path.essential[0, 5]


def test_one_feature_alone_is_essential_while_something_is_left():
    path = noap.path([[3.0], [4.0]], 1, rhos=[0.0, 4.0, 6.0])
    assert path.essential[:, 0].tolist() == [True, True, False]


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("limits", [{"node_limit": 1}, {"time_limit": 1e-9}])
def test_a_question_that_a_limit_leaves_open_is_answered_no_with_a_warning(limits):
    X = np.random.default_rng(3).standard_normal((30, 14))
    whole = noap.path(X, 4, rhos=[1.0, 2.0]).essential
    path = noap.path(X, 4, rhos=[1.0, 2.0], **limits)
    with pytest.warns(NoapWarning, match="The limits ended the searches: whether the path can do without them"):
        essential = path.essential
    assert whole.any()
    assert not (essential & ~whole).any()
    assert essential.sum() < whole.sum()
    assert "hatched: not essential" in path.plot().axes[1].get_title(loc="left").replace("\n", " ")


def test_after_ctrl_c_no_search_is_begun():
    X, asked = np.random.default_rng(3).standard_normal((30, 8)), []

    def pressed(rho):
        asked.append(rho)
        if len(asked) == 6:
            signal.raise_signal(signal.SIGINT)
        return noap.FeatureWise(rho)

    with pytest.warns(NoapWarning, match="Interrupted: the path for k = 3 holds what was finished"):
        path = noap.path(X, 3, pressed, rhos=np.linspace(0, 5, 9))
    assert len(path) < 9
    with pytest.warns(NoapWarning, match="Interrupted: whether the path can do without them"):
        assert path.essential.sum() < path.selected.sum()


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, lambda X: X.astype(np.float32), pd.DataFrame])
@pytest.mark.parametrize("adversary", [noap.FeatureWise, noap.SampleWise])
def test_any_kind_of_data_has_essential_features(make, adversary):
    X = _data(2)
    X[np.abs(X) < 0.3] = 0.0
    X[:, 3] = X[:, 0]
    path = noap.path(make(X), 2, adversary, rhos=[0.0, 0.5])
    assert (path.essential == noap.path(X, 2, adversary, rhos=[0.0, 0.5]).essential).all()


def test_a_covariance_is_enough():
    X = _data(3)
    problem = noap.Problem.from_covariance(X.T @ X / len(X), n_samples=len(X), k=2, adversary=noap.NoAdversary())
    rhos = [0.0, 0.5, 1.0]
    assert (noap.path(problem, 2, rhos=rhos).essential == noap.path(X, 2, rhos=rhos).essential).all()


def test_without_proofs_the_path_says_so():
    X = _data(2)
    path = noap.path(X, 2, rhos=[0.0, 1.0], method="ascent")
    assert not path.proves
    assert not path.essential[:, [0, 3]].any()  # copies of each other
    assert path.essential.any()


def test_on_digits_no_pixel_that_ties_with_sixty_others_leads():
    bunch = load_digits()
    varies = bunch.data.std(axis=0) > 0
    names = [str(name) for name, used in zip(bunch.feature_names, varies, strict=True) if used]
    X = bunch.data[:, varies]
    digits = pd.DataFrame((X - X.mean(axis=0)) / X.std(axis=0), columns=names)
    path = noap.path(digits, 5, points=9, tolerance=0.05)
    last = path.selected & (path.selected.sum(axis=1) == 1)[:, None]
    assert last.any()  # at the end one pixel is as good as any other
    assert not (path.essential & last).any()
    ends = path.features_frame()["essential_to_rho"]
    assert ends.drop_nulls().is_sorted(descending=True)
    assert ends[0] == path.rhos[path.essential.any(axis=1)].max() < path.rhos[last.any(axis=1)].min()
    told = [m for result in path.results for m in result.messages if " ties with " in m]
    assert told
    assert all(m.startswith("Feature pixel_") and " ties with pixel_" in m for m in told)


def test_the_report_opens_with_essential_features():
    report = build_report(load_wine(as_frame=True).data, k=4, points=7, n_components=1)
    page, table = report.html(), report.path.features_frame()
    sentence = page.split("Essential to it beyond half the noise it takes to erase everything: ")[1].split(". ")[0]
    half = report.path.rhos[-1] / 2
    far = [row["feature"] for row in table.iter_rows(named=True) if (row["essential_to_rho"] or 0) > half]
    assert sorted(sentence.split(", ")) == sorted(far)
    # Alcohol is the last one standing, for its place in the table alone.
    assert np.nanargmax(report.path.lifetimes) == report.names.index("alcohol")
    assert "alcohol" not in far
    # Nor does it win where one feature is allowed.
    assert "1: +alcohol (or another)" in page
    assert "class=replaceable" in page
    assert "it is proved that every component as good" in page


def test_the_command_line_shows_where_features_are_essential(tmp_path):
    load_wine(as_frame=True).data.to_csv(tmp_path / "wine.csv", index=False)
    words = ("path", tmp_path / "wine.csv", "-k", 4, "--points", 7)
    shown = run(*words)
    alcohol = next(line for line in shown.splitlines() if "alcohol" in line)
    assert "never" in alcohol
    assert "best uses it (proved)" in " ".join(shown.split())
    path = json.loads(run(*words, "--json"))["paths"][0]
    assert "alcohol" not in path["essential_to"]
    assert path["essential_proved"] is True
    assert path["lifetimes"]["alcohol"] > max(path["essential_to"].values())
    assert set(path["points"][0]["essential"]) <= set(path["points"][0]["features"])
