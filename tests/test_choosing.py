"""RobustSparsePCACV: what it chooses, by which rule, and what it then is."""

import itertools
import os
import pickle
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import noap
from commands import PressingTerminal
from noap import RobustSparsePCA, RobustSparsePCACV
from noap.errors import InvalidProblem, NoapWarning
from noap.estimators.choice import Choice, smallest_within_error


@parametrize_with_checks(
    [
        RobustSparsePCACV(ks=[1, 2], noises=[0.1, 0.2], cv=2),
        RobustSparsePCACV(by="permutation", ks=[1, 2], noises=[0.1], n_permutations=3),
        RobustSparsePCACV(by="k-path", ks=[1, 2]),
    ]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        # Some checks fit data of one constant column, or of no structure; both are worth a warning, not a failure.
        warnings.simplefilter("ignore", NoapWarning)
        check(estimator)


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def spiked():
    """Three features that go together among twelve."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((200, 12))
    X[:, [2, 5, 9]] += 2.0 * rng.standard_normal((200, 1))
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.filterwarnings("ignore:The choice lies at the edge")  # which is not what is tried here
def test_held_out_scores_are_those_of_fits_by_hand(wine):
    folds = KFold(4, shuffle=True, random_state=3)
    base = RobustSparsePCA(n_components=2, scale=True)
    model = RobustSparsePCACV(base, ks=[5, 2, 3], noises=[0.4, 0.1], cv=folds, at_noise=0.2).fit(wine)
    table = model.choice_
    assert table.ks.tolist() == [2, 3, 5]
    assert table.noises.tolist() == [0.1, 0.4]
    X = wine.to_numpy()
    for (i, noise), (j, k) in itertools.product(enumerate(table.noises), enumerate(table.ks)):
        scores = []
        for train, test in folds.split(X):
            fitted = clone(base).set_params(k=int(k), noise=float(noise), method="ascent").fit(X[train])
            scores.append(fitted.robust_variance(X[test], noise=0.2).sum())
        assert table.scores[i, j] == pytest.approx(np.mean(scores), rel=1e-9)
        assert table.errors[i, j] == pytest.approx(np.std(scores, ddof=1) / 2, rel=1e-9)
    best = np.unravel_index(np.argmax(table.scores), table.scores.shape)
    enough = table.scores >= table.scores[best] - table.errors[best]
    assert model.best_k_ == table.ks[enough.any(axis=0)][0]
    assert enough[table.place]


@pytest.mark.filterwarnings("ignore:The choice lies at the edge")  # which is not what is tried here
def test_the_pair_chosen_is_fitted_on_all_samples(wine):
    base = RobustSparsePCA(n_components=2, scale=True)
    model = RobustSparsePCACV(base, ks=[2, 4], noises=[0.1, 0.3], cv=3).fit(wine)
    same = clone(base).set_params(**model.best_params_).fit(wine)
    assert model.best_params_ == {"k": model.best_k_, "noise": model.best_noise_}
    assert (model.components_ == same.components_).all()
    assert (model.best_estimator_.k, model.best_estimator_.noise) == (model.best_k_, model.best_noise_)
    assert all(result.status is noap.Status.OPTIMAL for result in model.results_)
    assert model.transform(wine) == pytest.approx(same.transform(wine))
    assert model.inverse_transform(model.transform(wine)) == pytest.approx(same.inverse_transform(same.transform(wine)))
    assert model.score(wine) == same.score(wine)
    assert model.robust_variance(wine, noise=0.5) == pytest.approx(same.robust_variance(wine, noise=0.5))
    assert model.score_samples(wine) == pytest.approx(same.score_samples(wine))
    assert model.get_covariance() == pytest.approx(same.get_covariance())
    assert list(model.get_feature_names_out()) == ["robustsparsepcacv0", "robustsparsepcacv1"]
    assert list(model.feature_names_in_) == list(wine.columns)
    assert base.k == 5  # what was given is left alone
    assert pickle.loads(pickle.dumps(model)).best_params_ == model.best_params_


def test_shuffled_data_tell_how_many_features_go_together(spiked):
    model = RobustSparsePCACV(ks=range(1, 8), noises=[0.1, 0.3, 0.5], by="permutation").fit(spiked)
    assert model.best_k_ == 3
    assert np.flatnonzero(model.components_[0]).tolist() == [2, 5, 9]
    frame = model.choice_.to_frame()
    assert frame.columns == ["noise", "k", "score", "error", "chosen", "value", "null mean", "p"]
    assert frame.height == 21
    assert frame.filter("chosen")["k"].to_list() == [3]
    alone = frame.filter(frame["k"] == 1)
    # One scaled feature is worth (1 - noise)^2 in any order: no evidence of anything.
    assert alone["value"].to_numpy() == pytest.approx((1 - alone["noise"].to_numpy()) ** 2)
    assert alone["score"].to_list() == [0.0, 0.0, 0.0]
    assert alone["p"].to_list() == [1.0, 1.0, 1.0]
    assert frame["p"].min() == pytest.approx(1 / 21)


def test_data_without_structure_are_said_to_have_none():
    X = np.random.default_rng(11).standard_normal((80, 8))
    with pytest.warns(NoapWarning, match="No k and noise stand out from chance"):
        RobustSparsePCACV(RobustSparsePCA(scale=True), by="permutation", ks=[2, 3], noises=[0.1]).fit(X)


def test_the_path_over_k_chooses_the_fewest_that_keep_the_share(wine):
    base = RobustSparsePCA(scale=True)
    model = RobustSparsePCACV(base, ks=range(1, 9), noises=[0.3], by="k-path", share=0.8).fit(wine)
    by_share = RobustSparsePCA(scale=True, k=8, noise=0.3, k_share=0.8).fit(wine)
    assert model.best_k_ == by_share.k_[0]
    assert model.best_noise_ == 0.3
    assert model.choice_.scores[0] == pytest.approx(by_share.k_paths_[0].shares)
    with pytest.raises(InvalidProblem, match="noises must be one noise for by='k-path'"):
        RobustSparsePCACV(base, noises=[0.1, 0.2], by="k-path").fit(wine)


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_what_is_tried_by_default(wine):
    model = RobustSparsePCACV(RobustSparsePCA(scale=True), cv=2).fit(wine)
    assert model.choice_.ks.tolist() == list(range(1, 11))
    assert model.choice_.noises == pytest.approx([0.1, 0.2, 0.4, 0.6])
    raw = RobustSparsePCACV(RobustSparsePCA(adversary="sample"), ks=[3], cv=2).fit(wine[["hue", "ash", "alcohol"]])
    Z = wine[["hue", "ash", "alcohol"]].to_numpy()
    most = noap.SampleWise(0.0).rho_max(Z - Z.mean(axis=0), 3)
    assert raw.choice_.noises == pytest.approx(np.array([0.1, 0.2, 0.4, 0.6]) * most)
    with pytest.warns(NoapWarning, match="ks goes up to 20, beyond the 13 features of X; it was cut at 13"):
        RobustSparsePCACV(ks=[1, 20], noises=[0.0], cv=2).fit(wine)
    plain = RobustSparsePCACV(RobustSparsePCA(adversary="none", scale=True), ks=[2], cv=2).fit(wine)
    assert plain.choice_.noises.tolist() == [0.0]


@pytest.mark.filterwarnings("ignore:The choice lies at the edge")  # which is not what is tried here
def test_an_adversary_object_leaves_k_to_choose(wine):
    base = RobustSparsePCA(adversary=noap.FeatureWise(4.0), scale=True)
    model = RobustSparsePCACV(base, ks=[1, 3], cv=2).fit(wine)
    assert model.best_estimator_.rho_ == pytest.approx(4.0)
    with pytest.raises(InvalidProblem, match="noises must be None where the estimator's adversary is an object"):
        RobustSparsePCACV(base, noises=[0.1]).fit(wine)


@pytest.mark.filterwarnings("ignore:The choice lies at the edge")  # which is not what is tried here
def test_sparse_and_missing_data(wine):
    rng = np.random.default_rng(4)
    X = np.where(rng.random((90, 15)) < 0.2, rng.standard_normal((90, 15)), 0.0)
    X[:, :3] += np.where(rng.random((90, 1)) < 0.3, 2.0, 0.0)
    thin = RobustSparsePCACV(ks=[2, 3], noises=[0.1], cv=3).fit(sparse.csr_array(X))
    assert thin.choice_.scores == pytest.approx(RobustSparsePCACV(ks=[2, 3], noises=[0.1], cv=3).fit(X).choice_.scores)
    with pytest.raises(InvalidProblem, match="X is sparse, which by='permutation' does not take"):
        RobustSparsePCACV(by="permutation").fit(sparse.csr_array(X))
    with pytest.raises(InvalidProblem, match="noises must be given for a sparse X"):
        RobustSparsePCACV(RobustSparsePCA(adversary="sample", center=False)).fit(sparse.csr_array(X))
    holes = wine.copy()
    holes.iloc[3, 4] = np.nan
    for by in ("held-out", "permutation", "k-path"):
        filling = RobustSparsePCA(scale=True, missing="impute")
        model = RobustSparsePCACV(filling, ks=[2], noises=[0.3], by=by, cv=2, n_permutations=2).fit(holes)
        assert model.best_estimator_.missing_share_[4] == pytest.approx(1 / 178)
    with pytest.raises(InvalidProblem, match="NaN in column 'magnesium'"):
        RobustSparsePCACV().fit(holes)


@pytest.mark.filterwarnings("ignore:The choice lies at the edge")  # which is not what is tried here
def test_processes_do_not_change_the_choice(spiked):
    one, two = (RobustSparsePCACV(ks=[2, 3], noises=[0.1, 0.3], cv=2, n_jobs=jobs).fit(spiked) for jobs in (None, 2))
    assert (one.choice_.scores == two.choice_.scores).all()


@pytest.fixture
def press(monkeypatch):
    """Press Ctrl-C when a text appears on the terminal, which shows every count."""

    def at(text):
        seconds = itertools.count(0.0)  # every look at the clock is a second later
        monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
        monkeypatch.setattr(sys, "stderr", PressingTerminal(text))

    return at


def test_ctrl_c_leaves_the_best_so_far(spiked, press):
    press("fold 4 of 9")
    with pytest.warns(ConvergenceWarning, match="Interrupted: k = 3 and noise = 0.1 are the best of what was tried so"):
        model = RobustSparsePCACV(ks=[1, 2, 3], noises=[0.1, 0.2, 0.3], cv=3, verbose=1).fit(spiked)
    # The first noise has all its folds, the second not, and the third was not reached.
    assert np.isfinite(model.choice_.scores).all(axis=1).tolist() == [True, False, False]
    assert model.components_.shape == (1, 12)
    assert isinstance(model.choice_.plot(), Figure)


def test_a_real_ctrl_c_that_a_fit_answers_ends_the_search_too():
    X = np.random.default_rng(5).standard_normal((100, 60))
    base = RobustSparsePCA(method="ascent")
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.warns(ConvergenceWarning, match="the best of what was tried so far"):
            RobustSparsePCACV(base, ks=[8, 9, 10], noises=np.linspace(0.01, 0.3, 200), cv=2).fit(X)
    finally:
        timer.cancel()


def test_ctrl_c_ends_the_shuffling_with_the_copies_so_far(spiked, press):
    press("shuffled copy 5 of ")
    with pytest.warns(ConvergenceWarning, match="the best of what was tried so far"):
        model = RobustSparsePCACV(ks=[1, 3], noises=[0.1], by="permutation", verbose=1).fit(spiked)
    # The data and four copies.
    assert model.best_k_ == 3
    assert model.choice_.to_frame()["p"].min() == pytest.approx(1 / 5)
    press("shuffled copy 2 of ")
    with pytest.raises(KeyboardInterrupt):  # one copy has no standard deviation
        RobustSparsePCACV(ks=[1, 3], noises=[0.1], by="permutation", verbose=1).fit(spiked)


def test_the_smallest_within_an_error_of_the_best():
    scores = np.array([[1.0, 1.7, 1.8, 1.95], [1.0, 1.75, np.nan, 2.0]])
    errors = np.zeros_like(scores)
    assert smallest_within_error(scores, errors) == (1, 3)
    errors[1, 3] = 0.3
    assert smallest_within_error(scores, errors) == (1, 1)
    errors[1, 3] = 0.2
    assert smallest_within_error(scores, errors) == (0, 2)
    # The same number to the last digit but one: fewer features win.
    assert smallest_within_error(np.array([[1.0, 1.0 + 1e-15]]), np.zeros((1, 2))) == (0, 0)
    with pytest.raises(InvalidProblem, match="No pair of k and noise has a score"):
        smallest_within_error(np.full((1, 2), np.nan), np.zeros((1, 2)))


@pytest.mark.filterwarnings("ignore:The choice lies at the edge")  # which is not what is tried here
@pytest.mark.parametrize("by", ["held-out", "permutation", "k-path"])
def test_the_choice_can_be_drawn_and_tabled(wine, by):
    noises = [0.2] if by == "k-path" else [0.2, 0.4]
    base = RobustSparsePCA(scale=True)
    model = RobustSparsePCACV(base, ks=[1, 2, 3], noises=noises, by=by, cv=2, n_permutations=3).fit(wine)
    figure = model.choice_.plot()
    axes = figure.axes[0]
    assert f"k = {model.best_k_}, noise = {model.best_noise_:.3g}" in axes.get_title(loc="left")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [f"{noise:g}" for noise in noises]
    # The circle lies over all lines, whiskers and marks; the axis says what held-out samples meet.
    circle = axes.lines[-1]
    assert (circle.get_xdata(), circle.get_ydata()) == ([model.best_k_], [model.choice_.score])
    others = [one for one in (*axes.lines, *axes.collections) if one.get_zorder() != circle.get_zorder()]
    assert len(others) >= len(noises)
    assert all(circle.get_zorder() > one.get_zorder() for one in others)
    assert axes.get_ylabel().endswith(", at noise 0.2") == (by == "held-out")
    own = Figure().subplots()
    assert model.choice_.plot(ax=own) is own.figure
    assert model.choice_.to_frame().height == 3 * len(noises)
    assert f"k = {model.best_k_}" in repr(model.choice_)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"by": "luck"}, "by must be one of"),
        ({"ks": []}, "ks is empty"),
        ({"ks": 3}, "ks must be a list"),
        ({"ks": [0]}, "k must be at least 1"),
        ({"noises": [-1.0]}, "noises must be a finite number of at least 0"),
        ({"noises": 0.1}, "noises must be a list"),
        ({"at_noise": np.nan}, "at_noise must be a finite number"),
        ({"cv": 0}, "cv must be a positive integer"),
        ({"by": "permutation", "n_permutations": 1}, "n_permutations must be at least 2"),
        ({"by": "k-path", "share": 2.0}, "share must be a number above 0"),
        ({"estimator": KFold()}, "estimator must be a RobustSparsePCA, got KFold"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"random_state": "x"}, "random_state must be an integer"),
    ],
)
def test_what_cannot_be_used_is_named(wine, changes, sentence):
    with pytest.raises(InvalidProblem, match=sentence) as caught:
        RobustSparsePCACV(**changes).fit(wine)
    assert "\n" not in str(caught.value)


def test_a_choice_at_the_edge_says_what_to_widen(wine):
    base = RobustSparsePCA(scale=True)

    def said(**settings):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = RobustSparsePCACV(base, n_permutations=3, cv=2, **settings).fit(wine)
        return model, [str(one.message) for one in caught if "edge" in str(one.message)]

    model, edges = said(ks=[2, 4], noises=[0.2], by="k-path")
    assert model.best_k_ == 4
    assert edges == [
        "The choice lies at the edge of what was tried: k = 4 is the largest of ks; pass larger ks to look beyond."
    ]
    model, edges = said(ks=[4, 5], noises=[0.2, 0.4], by="permutation")
    assert model.best_params_ == {"k": 5, "noise": 0.2}
    assert "k = 5 is the largest of ks and noise = 0.2 is the smallest of noises; pass larger ks and" in edges[0]
    # No k lies beyond all features, one noise alone is no choice, and the noise that is met is no edge.
    assert said(ks=[4, 13], noises=[0.2], by="permutation")[1] == []
    model, edges = said(ks=[13], noises=[0.2, 0.4], by="held-out")
    assert (model.best_noise_, edges) == (0.2, [])
    # Neither at the other end: what held-out samples meet was given, not found.
    model, edges = said(ks=[13], noises=[0.1, 0.2, 0.4], at_noise=0.4, by="held-out")
    assert (model.best_noise_, model.choice_.at_noise, edges) == (0.4, 0.4, [])


def test_ends_of_a_grid():
    scores = np.zeros((3, 3))

    def edges(place, noises=(0.0, 0.2, 0.4), faced=None):
        choice = Choice("held-out", np.array(noises), np.array([1, 2, 3]), scores, scores, place, "", at_noise=faced)
        return choice.edges(9)

    assert edges((1, 1)) is None
    assert edges((0, 0)) is None  # neither fewer than one feature nor less than no noise
    assert "noise = 0.4 is the largest of noises; pass larger noises" in edges((2, 0))
    assert "noise = 0.1 is the smallest of noises; pass smaller noises" in edges((0, 1), (0.1, 0.2, 0.3))
    assert edges((0, 1), (0.1, 0.2, 0.3), faced=0.1) is None
    assert edges((2, 1), faced=0.4) is None


def test_the_chosen_pair_shows_its_own_score():
    scores = np.array([[1.25, 2.5, 2.75]])
    choice = Choice("held-out", np.array([0.2]), np.array([1, 2, 3]), scores, 0.3 + 0 * scores, (0, 1), "for a reason")
    assert choice.score == 2.5
    assert "k = 2, noise = 0.2, score 2.5" in repr(choice)
