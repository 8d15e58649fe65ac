"""RobustSparseLDA."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import noap
from generalised_judge import best_ratio, robust_ratio
from noap import RobustSparseLDA
from noap.errors import InvalidProblem, NoapWarning


@parametrize_with_checks([RobustSparseLDA(), RobustSparseLDA(method="ascent", noise=0.0, k=2)])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        check(estimator)


def scatters(X, y, model):
    """Between and within, by sums over samples."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.array([Z[y == c].mean(axis=0) for c in y])
    within = (Z - means).T @ (Z - means) / len(Z)
    return means.T @ means / len(Z), within + model.ridge * np.trace(within) / len(within) * np.eye(len(within))


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_wine_is_proved_and_brute_force_agrees(noise):
    X, y = load_wine(return_X_y=True)
    X = X[:, :8]
    model = RobustSparseLDA(n_components=1, k=3, noise=noise).fit(X, y)
    between, within = scatters(X, y, model)
    np.testing.assert_allclose(model.within_, within, rtol=1e-9)
    optimum = robust_ratio(between, within, np.full(8, noise), 3) if noise else best_ratio(between, within, 3)[0]
    assert model.gap_[0] <= 1e-4
    assert model.separation_[0] == pytest.approx(optimum, rel=1.1e-4)
    assert model.bound_[0] >= optimum * (1 - 1e-9)
    v = model.components_[0]
    left = np.sqrt(v @ between @ v) - noise * np.abs(v).sum()
    assert left**2 / (v @ within @ v) == pytest.approx(model.separation_[0], rel=1e-9)


def test_all_features_and_no_noise_is_fishers_discriminant():
    X, y = load_wine(return_X_y=True)
    model = RobustSparseLDA(k=13, noise=0.0, ridge=1e-9).fit(X, y)
    dense = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    for c in range(2):
        ours, theirs = model.transform(X)[:, c], dense.transform(X)[:, c]
        assert abs(np.corrcoef(ours, theirs)[0, 1]) == pytest.approx(1.0, abs=1e-6)
    assert (model.predict(X) == dense.predict(X)).mean() > 0.99


def test_later_discriminants_share_no_score_with_earlier_ones_in_what_they_are_given():
    X, y = load_wine(return_X_y=True)
    model = RobustSparseLDA(k=4, noise=0.1).fit(X, y)
    assert model.n_components_ == 2
    left = model.results_[1].problem.X
    assert np.abs(left @ model.components_[0]).max() < 1e-12
    np.testing.assert_allclose(np.einsum("ri,ij,rj->r", model.components_, model.within_, model.components_), 1.0)


def test_breast_cancer_is_proved_and_predicts():
    X, y = load_breast_cancer(return_X_y=True)
    model = RobustSparseLDA(k=5, noise=0.1).fit(X, y)
    assert model.gap_[0] <= 1e-4
    assert (model.components_ != 0).sum() <= 5
    assert model.score(X, y) > 0.94
    assert cross_val_score(RobustSparseLDA(k=5, noise=0.1, method="ascent"), X, y, cv=3).mean() > 0.92


def test_probabilities_and_labels_of_any_kind():
    X, y = load_wine(return_X_y=True)
    names = np.array(["one", "two", "three"])[y]
    model = RobustSparseLDA(k=3).fit(pd.DataFrame(X, columns=load_wine().feature_names), names)
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    shares = model.predict_proba(frame)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(frame))
    assert model.decision_function(frame).shape == (178, 3)
    assert set(model.results_[0].features) <= set(frame.columns)
    assert list(model.get_feature_names_out()) == ["robustsparselda0", "robustsparselda1"]


def test_noise_by_name_and_too_much_of_it():
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    noise = dict.fromkeys(frame.columns, 0.1) | {"flavanoids": np.inf}
    model = RobustSparseLDA(n_components=1, k=3, noise=noise).fit(frame, y)
    assert "flavanoids" not in model.results_[0].features
    with pytest.warns(NoapWarning, match="class means"):
        nothing = RobustSparseLDA(n_components=1, k=3, noise=2.0).fit(X, y)
    assert nothing.separation_[0] == nothing.bound_[0] == 0.0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_components": 3}, "n_components"),
        ({"n_components": 0}, "n_components"),
        ({"ridge": 0.0}, "ridge"),
        ({"k": 0}, "k must be"),
        ({"noise": -1.0}, "noise"),
        ({"method": "mip"}, "metric"),
    ],
)
def test_other_settings_are_refused(settings, said):
    X, y = load_wine(return_X_y=True)
    with pytest.raises(InvalidProblem, match=said):
        RobustSparseLDA(**settings).fit(X, y)


def test_certificate_without_an_adversary():
    X, y = load_wine(return_X_y=True)
    result = RobustSparseLDA(n_components=1, k=4, noise=0.0).fit(X, y).results_[0]
    assert noap.verify(result.problem, result.certificate).ok
