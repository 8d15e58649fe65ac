"""The model behind get_covariance and score_samples, against scikit-learn's probabilistic PCA and SciPy's normal."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

from noap import RobustSparsePCA
from noap.errors import InvalidProblem


@pytest.fixture(scope="module")
def wine():
    return load_wine().data


@pytest.fixture(scope="module")
def sparse_model(wine):
    return RobustSparsePCA(n_components=3, k=4, noise=0.3, scale=True).fit(wine)


@pytest.mark.parametrize("count", [1, 3, 13])
def test_with_all_features_and_no_adversary_it_is_probabilistic_pca(wine, count):
    Z = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    ours = RobustSparsePCA(n_components=count, k=13, adversary="none", method="ascent").fit(Z)
    theirs = PCA(count).fit(Z)
    n = len(Z)
    assert ours.get_covariance() == pytest.approx(theirs.get_covariance() * (n - 1) / n, abs=1e-9)
    assert ours.singular_values_ == pytest.approx(theirs.singular_values_, rel=1e-9)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_ * (n - 1) / n, abs=1e-12)


def test_samples_are_scored_by_the_normal_distribution_with_that_covariance(wine, sparse_model):
    C = sparse_model.get_covariance()
    assert np.allclose(C, C.T)
    assert np.linalg.eigvalsh(C).min() > 0
    judge = multivariate_normal(sparse_model.mean_, C)
    assert sparse_model.score_samples(wine[:40]) == pytest.approx(judge.logpdf(wine[:40]), rel=1e-8)
    assert sparse_model.get_precision() @ C == pytest.approx(np.eye(13), abs=1e-7)


def test_the_model_has_the_variances_of_the_data_on_the_span_and_in_all(wine, sparse_model):
    Z = (wine - sparse_model.mean_) / sparse_model.scale_
    C = sparse_model.get_covariance() / np.outer(sparse_model.scale_, sparse_model.scale_)
    V = sparse_model.components_
    assert pytest.approx(V @ (Z.T @ Z / len(Z)) @ V.T, rel=1e-9) == V @ C @ V.T
    assert np.trace(C) == pytest.approx(13.0)


def test_no_other_covariance_that_is_isotropic_off_the_span_is_likelier(wine, sparse_model):
    best = sparse_model.score_samples(wine).mean()
    scale = np.outer(sparse_model.scale_, sparse_model.scale_)
    C = sparse_model.get_covariance() / scale
    Q = np.linalg.qr(sparse_model.components_.T)[0]
    inside = Q @ Q.T
    rng = np.random.default_rng(1)
    for _ in range(30):
        push = rng.standard_normal((3, 3)) * 0.1
        changed = C + Q @ (push + push.T) @ Q.T + rng.uniform(-0.1, 0.1) * (np.eye(13) - inside)
        if np.linalg.eigvalsh(changed).min() > 0:
            other = multivariate_normal(sparse_model.mean_, changed * scale).logpdf(wine).mean()
            assert other <= best + 1e-9


def test_an_odd_sample_is_unlikely(wine, sparse_model):
    odd = wine[:1].copy()
    odd[0, 6] *= 5
    assert sparse_model.score_samples(odd)[0] < sparse_model.score_samples(wine).min()


def test_singular_values_are_the_lengths_of_the_scores(wine, sparse_model):
    R = np.linalg.qr(sparse_model.transform(wine), mode="r")
    assert sparse_model.singular_values_ == pytest.approx(np.abs(np.diag(R)), rel=1e-9)
    assert sparse_model.singular_values_**2 == pytest.approx(178 * sparse_model.explained_variance_, rel=1e-12)


def test_streams_have_the_same_density(wine, sparse_model):
    stream = RobustSparsePCA(n_components=3, k=4, noise=0.3, scale=True).partial_fit(wine)
    assert stream.score_samples(wine) == pytest.approx(sparse_model.score_samples(wine), rel=1e-6)


def test_data_that_are_flat_have_no_density():
    X = np.random.default_rng(0).standard_normal((30, 2)) @ np.ones((2, 4))
    model = RobustSparsePCA(n_components=1, k=4, noise=0.0).fit(X)
    with pytest.raises(InvalidProblem, match="do not vary in every direction"):
        model.score_samples(X)
    assert model.get_covariance() == pytest.approx(np.cov(X.T, ddof=0), abs=1e-9)
    assert np.isfinite(model.get_precision()).all()
