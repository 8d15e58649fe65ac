"""What stops a fit: the time, other limits, Ctrl-C; and what a user then hears and holds."""

import inspect
import os
import signal
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

import noap
from commands import PressingTerminal
from noap import RobustSparsePCA
from noap.errors import NoapWarning


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def noise():
    """Data without structure: ten of forty features are proved in seconds."""
    return np.random.default_rng(5).standard_normal((60, 40))


@pytest.fixture(scope="module")
def large_noise():
    """Nothing can be proved about fifteen of a hundred features in any time that a test has."""
    return np.random.default_rng(5).standard_normal((60, 100))


def test_the_default_time_is_one_a_person_can_live_with():
    default = inspect.signature(RobustSparsePCA).parameters["time_limit"].default
    assert default == 60.0
    assert "Seconds for the whole fit, 60 unless you say so" in RobustSparsePCA.__doc__


def test_a_fit_that_hits_its_time_says_so_once_and_keeps_its_bounds(noise):
    with pytest.warns(ConvergenceWarning) as caught:
        model = RobustSparsePCA(n_components=2, k=10, time_limit=0.3).fit(noise)
    assert len(caught) == 1
    said = str(caught[0].message)
    assert "time limit of 0.3 s for the whole fit left 2 of 2 components unproved" in said
    assert "where 0.01 % was asked for; raise time_limit" in said
    assert caught[0].filename == __file__
    assert (model.bound_ >= model.robust_variance_).all()
    assert (model.gap_ > 1e-4).all()
    assert model.n_components_ == 2


def test_the_time_is_for_all_components_together(large_noise):
    with pytest.warns(ConvergenceWarning):
        model = RobustSparsePCA(n_components=4, k=15, time_limit=1.0).fit(large_noise)
    took = [result.seconds for result in model.results_]
    assert took[0] < 0.75  # a quarter of the time, and some steps
    assert sum(took) < 2.0
    assert all(result.limit is noap.Limit.TIME for result in model.results_)


def test_other_limits_are_named_and_features_are_called_by_their_names(noise):
    frame = pd.DataFrame(noise, columns=[f"gene {j}" for j in range(40)])
    with pytest.warns(ConvergenceWarning, match=r"limit on nodes left 1 of 1 .*component 1 \(gene \d+, gene") as caught:
        RobustSparsePCA(k=8, options={"node_limit": 2}).fit(frame)
    assert "raise that option" in str(caught[0].message)


def test_as_many_components_as_the_time_allows(noise):
    with pytest.warns(ConvergenceWarning):
        model = RobustSparsePCA(n_components=None, k=10, time_limit=0.3).fit(noise)
    # The clock, not the 40 components that there are, ended it.
    assert 1 <= model.n_components_ < 40
    assert model.n_components_ == len(model.components_) == len(model.results_)


def test_a_fit_that_is_proved_does_not_warn(wine):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobustSparsePCA(n_components=2, k=4, noise=0.3, scale=True).fit(wine)


def test_ctrl_c_between_components_keeps_those_found(wine, monkeypatch):
    monkeypatch.setattr(sys, "stderr", PressingTerminal("component 2 of 5"))
    with pytest.warns(ConvergenceWarning, match="Interrupted: the model holds the 2 components found so far of the 5"):
        model = RobustSparsePCA(n_components=5, k=3, noise=0.3, scale=True, verbose=1).fit(wine)
    assert model.n_components_ == 2
    assert model.components_.shape == (2, 13)
    assert model.transform(wine).shape == (178, 2)
    assert list(model.get_feature_names_out()) == ["robustsparsepca0", "robustsparsepca1"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_real_ctrl_c_ends_the_whole_fit(noise):
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.warns(ConvergenceWarning, match=r"Interrupted: the model holds the \d components? found so"):
            model = RobustSparsePCA(n_components=3, k=10, time_limit=120).fit(noise)
    finally:
        timer.cancel()
    assert any(result.limit is noap.Limit.INTERRUPTED for result in model.results_)
    assert np.isfinite(model.bound_).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_in_a_path_over_k_ends_the_whole_fit(noise):
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        # What a path that is not complete proves is not what was asked for, and that is said too.
        with pytest.warns((ConvergenceWarning, NoapWarning)) as caught:
            model = RobustSparsePCA(n_components=3, k=20, k_share=0.9, time_limit=120).fit(noise)
    finally:
        timer.cancel()
    assert any("Interrupted: the model holds the 1 components" in str(one.message) for one in caught)
    assert model.n_components_ == 1


def test_ctrl_c_ends_a_grid_search_with_the_best_so_far(wine, monkeypatch):
    model = RobustSparsePCA(noise=0.3, scale=True, method="ascent", verbose=1)
    terminal = PressingTerminal("component 1 of 1", 5)
    monkeypatch.setattr(sys, "stderr", terminal)
    search = GridSearchCV(model, {"k": [1, 2, 3, 4, 5]}, cv=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(wine)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).tolist() == [True, True, False, False, False]
    assert search.best_params_ == {"k": 2}
    assert search.best_estimator_.components_.shape == (1, 13)
    # Five fits until then, and the best one once more on all samples.
    assert terminal.getvalue().count("component 1 of 1") == 6
    kinds = [one.category for one in caught]
    assert ConvergenceWarning in kinds
    assert FitFailedWarning in kinds
    # The next search is another one.
    again = GridSearchCV(model, {"k": [1, 2]}, cv=2).fit(wine)
    assert np.isfinite(again.cv_results_["mean_test_score"]).all()


def test_ctrl_c_ends_a_cross_validation_with_the_folds_so_far(wine, monkeypatch):
    monkeypatch.setattr(sys, "stderr", PressingTerminal("component 1 of 1", 2))
    model = RobustSparsePCA(k=2, noise=0.3, scale=True, method="ascent", verbose=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(model, wine, cv=5)
    assert np.isfinite(scores).tolist() == [True, True, False, False, False]
    assert np.isfinite(cross_val_score(model, wine, cv=3)).all()


def test_several_processes_prove_the_same_components(wine):
    one = RobustSparsePCA(n_components=3, k=4, noise=0.3, scale=True).fit(wine)
    two = RobustSparsePCA(n_components=3, k=4, noise=0.3, scale=True, n_jobs=2, keep_data=True).fit(wine)
    assert two.components_ == pytest.approx(one.components_, abs=1e-9)
    assert two.bound_ == pytest.approx(one.bound_, rel=1e-4)
    assert all(result.status is noap.Status.OPTIMAL for result in two.results_)
    assert all(noap.verify(result.problem, result.certificate).ok for result in two.results_)
    assert two.robust_variance(wine) == pytest.approx(two.robust_variance_, rel=1e-9)


def test_ctrl_c_while_processes_prove_leaves_what_was_guessed(large_noise):
    timer = threading.Timer(3.0, lambda: os.kill(os.getpid(), signal.SIGINT))  # the guesses take a tenth of that
    timer.start()
    try:
        with pytest.warns(ConvergenceWarning, match="Interrupted: the model holds the 3 components .* nothing proved"):
            model = RobustSparsePCA(n_components=3, k=15, time_limit=120, n_jobs=2).fit(large_noise)
    finally:
        timer.cancel()
    right = RobustSparsePCA(n_components=3, k=15, method="ascent").fit(large_noise)
    assert model.components_ == pytest.approx(right.components_, abs=1e-12)


@pytest.mark.parametrize("jobs", [0, 1.5, True, "all"])
def test_n_jobs_is_checked(wine, jobs):
    with pytest.raises(noap.errors.InvalidProblem, match="n_jobs must be an integer other than 0 or None"):
        RobustSparsePCA(n_jobs=jobs).fit(wine)


def test_verbose_says_what_is_found_with_names(wine, capsys):
    RobustSparsePCA(n_components=2, k=2, noise=0.3, scale=True, verbose=1).fit(wine)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["component 1 of 2", "component 2 of 2"]
    assert "Features: total_phenols, flavanoids" in lines[0] or "Features: flavanoids" in lines[0]
    RobustSparsePCA(n_components=2, k=2, noise=0.3, scale=True).fit(wine)
    assert capsys.readouterr().err == ""
