"""RobustSparseCCA."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA
from sklearn.datasets import load_linnerud
from sklearn.utils.estimator_checks import parametrize_with_checks

from generalised_judge import robust_ratio
from noap import RobustSparseCCA
from noap.errors import InvalidProblem, NoapWarning
from noap.exact.generalised import violators


@parametrize_with_checks([RobustSparseCCA(), RobustSparseCCA(kx=2, ky=1, noise=0.0)])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        check(estimator)


def views(seed, dx=6, dy=5, n=40):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, dx)), rng.standard_normal((n, dy))
    Y[:, 0] += X[:, 1] - 0.7 * X[:, 2]
    Y[:, -1] += 0.5 * X[:, -1]
    return X, Y


def blocks(X, Y, ridge=1e-3):
    Zx, Zy = ((V - V.mean(axis=0)) / V.std(axis=0) for V in (X, Y))
    n = len(X)
    return (
        Zx.T @ Zx / n + ridge * np.eye(X.shape[1]),
        Zy.T @ Zy / n + ridge * np.eye(Y.shape[1]),
        Zx.T @ Zy / n,
    )


def best_correlation(X, Y, kx, ky):
    Cxx, Cyy, Cxy = blocks(X, Y)
    best = 0.0
    for P in combinations(range(len(Cxx)), kx):
        for Q in combinations(range(len(Cyy)), ky):
            Lx, Ly = np.linalg.cholesky(Cxx[np.ix_(P, P)]), np.linalg.cholesky(Cyy[np.ix_(Q, Q)])
            M = np.linalg.solve(Ly, np.linalg.solve(Lx, Cxy[np.ix_(P, Q)]).T)
            best = max(best, np.linalg.svd(M, compute_uv=False)[0])
    return best


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("kx", "ky"), [(1, 1), (2, 1), (1, 3), (2, 2), (6, 5)])
@pytest.mark.parametrize("few", [300_000, 0])
def test_brute_force_agrees(seed, kx, ky, few, monkeypatch):
    monkeypatch.setattr(violators, "_FEW", few)
    X, Y = views(seed)
    model = RobustSparseCCA(kx=kx, ky=ky, noise=0.0).fit(X, Y)
    optimum = best_correlation(X, Y, kx, ky)
    assert model.gap_[0] <= 1e-4 * (1 + 1e-6)
    assert model.robust_correlation_[0] == pytest.approx(optimum, rel=1.1e-4)
    assert model.bound_[0] >= optimum * (1 - 1e-12)
    assert (model.x_weights_ != 0).sum() <= kx
    assert (model.y_weights_ != 0).sum() <= ky
    assert abs(model.correlation_[0]) == pytest.approx(model.robust_correlation_[0], rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_against_an_adversary(seed, noise):
    X, Y = views(seed, 4, 3)
    model = RobustSparseCCA(kx=2, ky=1, noise=noise).fit(X, Y)
    Cxx, Cyy, Cxy = blocks(X, Y)
    B = np.block([[Cxx, np.zeros_like(Cxy)], [np.zeros_like(Cxy.T), Cyy]])
    A = np.block([[Cxx, Cxy], [Cxy.T, Cyy]])
    best = 0.0
    for P in combinations(range(4), 2):
        for q in range(4, 7):
            S = (*P, q)
            both = np.ix_(S, S)
            best = max(best, robust_ratio(A[both], B[both], np.full(3, noise), 3, starts=3))
    assert model.robust_correlation_[0] + 1.0 == pytest.approx(best, rel=1.1e-4)
    assert model.bound_[0] + 1.0 >= best * (1 - 1e-9)


def test_all_features_are_canonical_correlation():
    X, Y = load_linnerud(return_X_y=True)
    model = RobustSparseCCA(n_components=2, kx=3, ky=3, noise=0.0, ridge=1e-9).fit(X, Y)
    a, b = CCA(n_components=2, max_iter=10_000, tol=1e-12).fit(X, Y).transform(X, Y)
    dense = [np.corrcoef(a[:, c], b[:, c])[0, 1] for c in range(2)]
    np.testing.assert_allclose(model.correlation_, dense, rtol=1e-5)
    ours_x, ours_y = model.transform(X, Y)
    assert np.corrcoef(ours_x[:, 0], ours_y[:, 0])[0, 1] == pytest.approx(dense[0], rel=1e-6)
    assert model.score(X, Y) == pytest.approx(np.mean(dense), rel=1e-5)


def test_other_settings_are_refused():
    X, Y = views(0)
    for settings, said in (
        ({"n_components": 6}, "n_components"),
        ({"kx": 0}, "k must"),
        ({"noise": -1.0}, "noise"),
        ({"ridge": 0.0}, "ridge"),
        ({"method": "mip"}, "method"),
    ):
        with pytest.raises(InvalidProblem, match=said):
            RobustSparseCCA(**settings).fit(X, Y)
    model = RobustSparseCCA(method="ascent").fit(X, Y)
    assert np.isinf(model.bound_[0])
    with pytest.raises(InvalidProblem, match="y has 2"):
        model.transform(X, Y[:, :2])
