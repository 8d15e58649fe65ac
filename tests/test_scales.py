"""Columns on different scales: an estimator that is not asked to scale says once which of them decide."""

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_wine

import noap
from commands import noap as command_line
from noap import RobustSparsePCA
from noap.errors import NoapWarning, ScaleWarning
from noap.report import build_report

RNG = np.random.default_rng(3)


def spread(*factors, n=40):
    return RNG.standard_normal((n, len(factors))) * np.array(factors)


def test_raw_wine_is_picked_by_units_and_one_warning_names_the_extremes():
    bunch = load_wine()
    wine = pl.DataFrame(bunch.data, schema=bunch.feature_names)
    with pytest.warns(NoapWarning) as caught:
        model = RobustSparsePCA(k=3, n_components=2, method="ascent").fit(wine)
    (warning,) = caught
    assert warning.category is ScaleWarning
    assert warning.filename == __file__
    spreads = bunch.data.std(axis=0)
    largest, smallest = (bunch.feature_names[place] for place in (spreads.argmax(), spreads.argmin()))
    said = f"The spread of '{largest}' is {spreads.max() / spreads.min():,.0f} times that of '{smallest}'"
    assert str(warning.message).startswith(said)
    assert "pass scale=True" in str(warning.message)
    assert model.results_[0].features[-1] == largest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobustSparsePCA(k=3, scale=True, method="ascent").fit(wine)


@pytest.mark.parametrize(("factor", "warns"), [(9.0, False), (11.0, True)])
@pytest.mark.parametrize("way", ["fit", "sparse", "stream", "covariance"])
def test_a_factor_of_ten_is_where_it_begins(factor, warns, way):
    X = noap.standardize(spread(1, 1, 1, 1)) * np.array([1.0, factor, 2.0, 3.0])
    model = RobustSparsePCA(k=2, method="ascent")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if way == "covariance":
            model.fit_covariance(X.T @ X / len(X), len(X))
        elif way == "stream":
            model.partial_fit(X[:20], solve=False).partial_fit(X[20:])
        else:
            model.fit(csr_array(X) if way == "sparse" else X)
    assert [warning.category for warning in caught] == [ScaleWarning] * warns
    if warns:
        assert "'column" not in str(caught[0].message)
        assert "spread of column 1 is 11 times that of column 0," in str(caught[0].message)


def test_a_constant_column_has_no_scale():
    X = np.column_stack([spread(1, 2), np.full(40, 1e6 + 1 / 3)])
    RobustSparsePCA(k=2, method="ascent").fit(X)  # a warning is an error here
    RobustSparsePCA(k=1, method="ascent", noise=0).fit(np.column_stack([np.full(40, 0.1), spread(1)]))


def test_choosing_k_says_it_once():
    with pytest.warns(ScaleWarning) as caught:
        noap.RobustSparsePCACV(RobustSparsePCA(method="ascent"), ks=[1, 2, 3], noises=[0.1], cv=3).fit(
            spread(1, 20, 20)
        )
    assert [warning.category for warning in caught].count(ScaleWarning) == 1


def test_who_says_not_to_scale_in_words_is_not_asked_again(tmp_path):
    X = spread(1, 20, 20)
    build_report(X - X.mean(axis=0), k=2, scale=False, method="ascent", points=3)  # a warning is an error here
    pl.DataFrame(X, schema=list("abc")).write_csv(tmp_path / "data.csv")
    done = command_line("solve", tmp_path / "data.csv", "-k", 2, "-c", 2, "--no-scale", "--method", "ascent")
    assert (done.returncode, done.stderr) == (0, "")
