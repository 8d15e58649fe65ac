"""What the estimator takes: how many components, sparse data, missing values, adversaries as objects."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags

import noap
from noap import RobustSparsePCA
from noap.errors import InvalidProblem, NoapWarning


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def counts():
    """Words in texts: two topics among forty words, most entries 0."""
    rng = np.random.default_rng(2)
    topics = rng.integers(0, 3, size=150)
    rates = np.full((3, 40), 0.05)
    rates[0, :4] = 2.0
    rates[1, 4:9] = 1.5
    return rng.poisson(rates[topics]).astype(np.float64)


def fitted(X, **changes):
    settings = {"n_components": 2, "k": 4, "noise": 0.3, "scale": True} | changes
    return RobustSparsePCA(**settings).fit(X)


def test_a_share_of_the_variance_takes_as_many_components_as_it_needs(wine):
    model = fitted(wine, n_components=0.6)
    explained = model.span_variance_ratio_
    assert explained[-1] >= 0.6 > explained[-2]
    assert model.n_components_ == len(explained) == len(model.components_)
    # They are the first of those that a number asks for.
    same = fitted(wine, n_components=model.n_components_)
    assert same.components_ == pytest.approx(model.components_, abs=1e-12)


def test_none_takes_every_component_that_is_left_any_variance(wine):
    model = fitted(wine, n_components=None, noise=0.55)
    assert 1 < model.n_components_ < 13
    assert (model.robust_variance_ > 0).all()
    with pytest.warns(NoapWarning, match=f"cancels every direction for component {model.n_components_ + 1} "):
        more = fitted(wine, n_components=model.n_components_ + 1, noise=0.55)
    assert more.robust_variance_[-1] == 0
    # Without noise and with all features they are the principal components, no more than the samples allow.
    few = fitted(wine[:5], n_components=None, k=13, noise=0.0, method="ascent")
    assert few.n_components_ == 4
    assert few.explained_variance_ratio_.sum() == pytest.approx(1.0)


def test_none_with_disjoint_components_ends_where_the_features_end(wine):
    model = fitted(wine, n_components=None, deflation="disjoint", noise=0.1)
    used = (model.components_ != 0).sum(axis=0)
    assert used.max() == 1
    assert used.sum() == 13


def test_a_share_out_of_reach_says_so(wine):
    with pytest.warns(NoapWarning, match=r"n_components = 0.99 asks for more of the variance than all \d+ components"):
        fitted(wine, n_components=0.99, noise=0.5)


@pytest.mark.parametrize("asked", [0.0, 1.0, 1.5, -0.1, np.nan, True, "all", 14])
def test_what_n_components_may_be(wine, asked):
    with pytest.raises(InvalidProblem, match="a share of the variance between 0 and 1, or None, got"):
        fitted(wine, n_components=asked)


@pytest.mark.parametrize("make", [noap.FeatureWise, noap.SampleWise])
def test_an_adversary_object_brings_its_budget(wine, make):
    method = "exact" if make is noap.FeatureWise else "ascent"
    by_object = fitted(wine, adversary=make(1.5), noise=99.0, method=method)
    by_word = fitted(wine, adversary=make.key, rho=1.5, method=method)
    assert (by_object.components_ == by_word.components_).all()
    assert (by_object.rho_, by_object.noise_) == (1.5, by_word.noise_)
    assert by_object.score(wine[:50]) == by_word.score(wine[:50])
    assert by_object.results_[0].problem.adversary == make(1.5)
    again = clone(by_object)
    assert again.adversary == make(1.5)
    assert pickle.loads(pickle.dumps(by_object)).rho_ == 1.5
    with pytest.raises(InvalidProblem, match="rho must be None where adversary is an object"):
        fitted(wine, adversary=make(1.5), rho=2.0)


def test_adversaries_can_be_searched_over(wine):
    grid = {"adversary": [noap.FeatureWise(4.0), noap.FeatureWise(1.0), "sample"]}
    search = GridSearchCV(RobustSparsePCA(k=2, noise=2.0, scale=True, method="ascent"), grid, cv=2).fit(wine)
    assert search.best_params_["adversary"] == noap.FeatureWise(1.0)


def test_none_as_an_object_is_plain_sparse_pca(wine):
    assert (fitted(wine, adversary=noap.NoAdversary()).components_ == fitted(wine, adversary="none").components_).all()


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("deflation", ["projection", "disjoint"])
@pytest.mark.parametrize(("center", "scale"), [(True, True), (True, False), (False, True), (False, False)])
def test_sparse_data_give_what_dense_data_give(counts, make, deflation, center, scale):
    settings = {"n_components": 3, "k": 4, "noise": 0.2, "center": center, "scale": scale, "deflation": deflation}
    dense, thin = RobustSparsePCA(**settings).fit(counts), RobustSparsePCA(**settings).fit(make(counts))
    assert thin.components_ == pytest.approx(dense.components_, abs=1e-9)
    assert thin.mean_ == pytest.approx(dense.mean_)
    assert thin.scale_ == pytest.approx(dense.scale_)
    assert thin.bound_ == pytest.approx(dense.bound_, rel=1e-6)
    assert thin.explained_variance_ratio_ == pytest.approx(dense.explained_variance_ratio_, rel=1e-9)
    held = counts[:30]
    for method in ("transform", "robust_variance", "score_samples", "score"):
        assert getattr(thin, method)(make(held)) == pytest.approx(getattr(dense, method)(held), abs=1e-9)


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_sparse_data_are_not_filled(counts, monkeypatch):
    X = sparse.csr_array(counts)

    def filled(self, *arguments, **options):
        if self.shape == X.shape:
            raise AssertionError("a sparse X was made dense")
        return toarray(self, *arguments, **options)

    toarray = sparse.csr_array.toarray
    monkeypatch.setattr(sparse.csr_array, "toarray", filled)
    RobustSparsePCA(n_components=2, k=4, noise=0.2, scale=True).fit(X).transform(X)
    RobustSparsePCA(k=4, noise=0.2).partial_fit(X)


def test_a_sparse_matrix_of_large_numbers_keeps_its_digits():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 6)) @ rng.standard_normal((6, 6)) + 1e8
    dense, thin = RobustSparsePCA(k=3).fit(X), RobustSparsePCA(k=3).fit(sparse.csr_array(X))
    assert thin.robust_variance_ == pytest.approx(dense.robust_variance_, rel=1e-6)


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_the_sample_wise_adversary_takes_sparse_data_that_are_not_centred(counts):
    X = sparse.csr_array(counts)
    model = RobustSparsePCA(adversary="sample", noise=0.3, center=False, k=3, method="ascent", n_components=2)
    assert model.fit(X).components_ == pytest.approx(clone(model).fit(counts).components_, abs=1e-9)
    assert get_tags(model).input_tags.sparse
    with pytest.raises(InvalidProblem, match=r"X is sparse, and adversary='sample' .*; pass X.toarray\(\), or center="):
        clone(model).set_params(center=True).fit(X)
    assert not get_tags(clone(model).set_params(center=True)).input_tags.sparse


def test_entries_that_are_stored_twice_count_once_together():
    data, rows, columns = [1.0, 2.0, 4.0, 5.0, 3.0], [0, 0, 1, 2, 2], [0, 0, 1, 0, 1]
    twice = sparse.csr_matrix((3, 2))
    twice.data, twice.indices, twice.indptr = np.array(data), np.array(columns), np.array([0, 2, 3, 5])
    assert not twice.has_canonical_format
    dense = sparse.coo_array((data, (rows, columns)), shape=(3, 2)).toarray()
    by_dense = RobustSparsePCA(k=1, noise=0.1, scale=True, center=False).fit(dense)
    assert RobustSparsePCA(k=1, noise=0.1, scale=True, center=False).fit(twice).scale_ == pytest.approx(by_dense.scale_)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_missing_values_are_filled_with_means(wine, make):
    rng = np.random.default_rng(4)
    holes = wine.to_numpy().copy()
    holes[rng.random(holes.shape) < 0.1] = np.nan
    model = fitted(make(holes), missing="impute")
    imputer = SimpleImputer().fit(holes)
    # What is filled enters the budget of its feature: the standard deviation of what is there, in so many entries.
    share, filled = np.isnan(holes).mean(axis=0), imputer.transform(holes)
    wider = np.hypot(0.3, np.sqrt(share) * np.nanstd(holes, axis=0) / filled.std(axis=0))
    by_hand = fitted(filled, noise=wider)
    assert model.noise_ == pytest.approx(wider)
    assert model.fill_values_ == pytest.approx(imputer.statistics_)
    assert model.missing_share_ == pytest.approx(np.isnan(holes).mean(axis=0))
    assert model.components_ == pytest.approx(by_hand.components_, abs=1e-9)
    # What is missing later is filled with the means of fit, not with its own.
    later = holes[:20]
    assert model.transform(make(later)) == pytest.approx(by_hand.transform(imputer.transform(later)), abs=1e-9)
    off = np.hypot(0.3, np.sqrt(np.isnan(later).mean(axis=0)) * np.nanstd(holes, axis=0) / filled.std(axis=0))
    left = by_hand.robust_variance(imputer.transform(later), noise=off)
    assert model.robust_variance(make(later)) == pytest.approx(left)
    assert model.score(make(holes)) == pytest.approx(model.robust_variance_.sum())
    assert get_tags(model).input_tags.allow_nan


def test_what_cannot_be_filled_is_named(wine):
    holes = wine.copy()
    holes["hue"] = np.nan
    with pytest.raises(InvalidProblem, match="nothing but NaN in column 'hue'"):
        fitted(holes, missing="impute")
    with pytest.raises(InvalidProblem, match="missing must be one of"):
        fitted(wine, missing="drop")
    with pytest.raises(InvalidProblem, match="X contains NaN, and missing='impute' needs all samples at once"):
        RobustSparsePCA(missing="impute").partial_fit(holes)
    stream = fitted(wine, missing="impute").partial_fit(wine)
    assert not hasattr(stream, "fill_values_")
    with pytest.raises(InvalidProblem, match="NaN in column 'hue'"):
        stream.transform(holes)
    assert not hasattr(fitted(wine, missing="impute").set_params(missing="error").fit(wine), "fill_values_")


@pytest.mark.parametrize("missing", ["error", "impute"])
def test_infinity_is_named_with_its_column(wine, missing):
    odd = wine.copy()
    odd.loc[5, "proline"] = np.inf
    with pytest.raises(InvalidProblem, match="infinity in column 'proline'"):
        fitted(odd, missing=missing)
    thin = np.nan_to_num(odd.to_numpy(), posinf=0.0)
    thin[2, 3] = -np.inf
    with pytest.raises(InvalidProblem, match="infinity in column 3"):
        fitted(sparse.csr_array(thin), missing=missing)


def test_large_finite_numbers_are_not_taken_for_infinity():
    X = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
    X[0, 1] = X[1, 1] = np.float32(3e38)  # their sum leaves float32
    assert RobustSparsePCA(k=1, noise=0.0).fit(X).components_.tolist() == [[0.0, 1.0, 0.0]]
    with pytest.raises(InvalidProblem, match="magnitude 1e"):  # their sum leaves float64, they do not
        RobustSparsePCA(k=1).fit(np.full((4, 2), 1e308))


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_results_know_the_names_of_features(wine):
    names = tuple(wine.columns)
    model = fitted(wine, k=6, k_share=0.9)
    assert all(result.problem.feature_names == names for result in model.results_)
    assert all(path.feature_names == names for path in model.k_paths_)
    stream = RobustSparsePCA(k=3).partial_fit(wine)
    assert stream.results_[0].problem.feature_names == names
    frame = pd.DataFrame(np.cov(wine.to_numpy().T, ddof=0), columns=wine.columns)
    assert RobustSparsePCA(k=3).fit_covariance(frame, 178).results_[0].problem.feature_names == names


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("estimator", [RobustSparsePCA(k=1), noap.RobustSparsePCACV()])
def test_a_column_of_text_is_named(frame, estimator):
    data = frame({"a": [1.0, 2.5, 0.3], "species": ["cat", "dog", "cat"], "b": [0.1, 0.2, 0.9]})
    with pytest.raises(InvalidProblem, match="column 'species' does not; encode it as numbers or drop it"):
        estimator.fit(data)
