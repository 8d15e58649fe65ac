"""ContrastiveSparsePCA."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import noap
from noap import ContrastiveSparsePCA
from noap.errors import InvalidProblem, NoapWarning


@parametrize_with_checks([ContrastiveSparsePCA(), ContrastiveSparsePCA(k=2, noise=0.1, method="ascent", scale=True)])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        check(estimator)


def data(seed, d=6):
    rng = np.random.default_rng(seed)
    mix = np.eye(d) + 0.5 * rng.standard_normal((d, d))
    return rng.standard_normal((40, d)) @ mix, rng.standard_normal((50, d)) @ mix * rng.uniform(0.3, 1.3, d)


def covariance(X):
    Z = X - X.mean(axis=0)
    return Z.T @ Z / len(Z)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 3.0, 100.0])
def test_brute_force_agrees(seed, alpha):
    X, Y = data(seed)
    model = ContrastiveSparsePCA(k=3, alpha=alpha).fit(X, background=Y)
    form = covariance(X) - alpha * covariance(Y)
    optimum = max(np.linalg.eigvalsh(form[np.ix_(S, S)])[-1] for S in combinations(range(6), 3))
    size = np.abs(form).max()
    assert model.contrast_[0] == pytest.approx(optimum, rel=1.1e-4, abs=1e-3 * size if optimum < 0 else 0.0)
    assert model.bound_[0] >= optimum - 1e-12 * size
    v = model.components_[0]
    assert model.contrast_[0] == pytest.approx(v @ form @ v, rel=1e-9, abs=1e-12 * size)
    assert np.linalg.norm(v) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.1, 0.4])
def test_against_an_adversary(seed, noise):
    X, Y = data(seed)
    model = ContrastiveSparsePCA(k=2, alpha=0.5, noise=noise).fit(X, background=Y)
    A, S = covariance(X), 0.5 * covariance(Y)
    best = -np.inf
    for i, j in combinations(range(6), 2):
        angles = np.linspace(0.0, np.pi, 20001)
        V = np.zeros((len(angles), 6))
        V[:, i], V[:, j] = np.cos(angles), np.sin(angles)
        left = np.sqrt(np.einsum("mi,ij,mj->m", V, A, V)) - noise * np.abs(V).sum(axis=1)
        best = max(best, float((np.maximum(left, 0.0) ** 2 - np.einsum("mi,ij,mj->m", V, S, V)).max()))
    assert best > 0
    assert model.contrast_[0] == pytest.approx(best, rel=1.2e-4)
    assert model.bound_[0] >= best * (1 - 1e-9)
    assert model.gap_[0] <= 1.01e-4
    v = model.components_[0]
    left = np.sqrt(v @ A @ v) - noise * np.abs(v).sum()
    assert model.contrast_[0] == pytest.approx(left**2 - v @ S @ v, rel=1e-9)


def test_nothing_stands_out_of_a_strong_background():
    X, Y = data(0)
    model = ContrastiveSparsePCA(k=2, alpha=100.0, noise=0.1).fit(X, background=Y)
    assert model.contrast_[0] < 0
    assert model.bound_[0] <= 1.01e-6 * covariance(X).diagonal().max()


def test_without_a_background_it_is_sparse_pca():
    X, _ = data(1)
    ours = ContrastiveSparsePCA(n_components=2, k=3, noise=0.1).fit(X)
    theirs = noap.RobustSparsePCA(n_components=2, k=3, noise=0.1).fit(X)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-6)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-6)


def test_later_directions_and_certificates():
    X, Y = data(2)
    model = ContrastiveSparsePCA(n_components=3, k=2).fit(X, background=Y)
    assert model.components_.shape == (3, 6)
    for result in model.results_:
        assert noap.verify(result.problem, result.certificate).ok


def test_other_settings_are_refused():
    X, Y = data(3)
    for settings, said in (({"alpha": -1.0}, "alpha"), ({"n_components": 7}, "n_components"), ({"k": 0}, "k must")):
        with pytest.raises(InvalidProblem, match=said):
            ContrastiveSparsePCA(**settings).fit(X, background=Y)
    with pytest.raises(ValueError, match="features"):
        ContrastiveSparsePCA().fit(X, background=Y[:, :3])
