"""One unit of noise in Python: Problem(noise=...), path(noises=...), and budgets for readers of the paper."""

import numpy as np
import pandas as pd
import pytest

import noap
from noap.errors import InvalidProblem

X = noap.standardize(np.random.default_rng(3).standard_normal((40, 6)) @ np.random.default_rng(4).random((6, 6)))
NAMES = list("abcdef")
EACH = [0.1, 0.2, 0.0, 0.4, 0.3, 0.2]


def same(problem, rho):
    np.testing.assert_allclose(problem.adversary.rho, rho, rtol=1e-15)
    assert type(problem.adversary) is noap.FeatureWise


def test_a_noise_is_the_budget_of_the_paper_over_the_root_of_n():
    same(noap.Problem(X, 3, noise=0.3), 0.3 * np.sqrt(40))
    same(noap.Problem.from_covariance(X.T @ X / 40, n_samples=40, k=3, noise=0.3), 0.3 * np.sqrt(40))
    assert noap.Problem(X, 3, noise=0.3).noise == pytest.approx(0.3)


@pytest.mark.parametrize(
    "noise", [EACH, dict(zip(reversed(NAMES), reversed(EACH), strict=True)), pd.Series(EACH, index=NAMES)]
)
def test_one_noise_for_each_feature_by_position_or_by_name(noise):
    same(noap.Problem(X, 3, noise=noise, feature_names=NAMES), np.array(EACH) * np.sqrt(40))
    S = X.T @ X / 40
    same(noap.Problem.from_covariance(S, n_samples=40, k=3, noise=noise, feature_names=NAMES), np.array(EACH) * 40**0.5)


def test_neither_is_no_adversary_and_both_are_one_sentence():
    assert type(noap.Problem(X, 3).adversary) is noap.NoAdversary
    indefinite = np.diag([1.0, -0.5])
    for terms in ({}, {"noise": 0}, {"adversary": noap.FeatureWise(0.0)}):
        assert noap.Problem.from_covariance(indefinite, n_samples=5, k=1, **terms).value([1.0, 0.0]) == pytest.approx(
            1.0
        )
    with pytest.raises(InvalidProblem, match="semidefinite"):
        noap.Problem.from_covariance(indefinite, n_samples=5, k=1, noise=[0.0, 0.1])
    for make in (
        lambda **terms: noap.Problem(X, 3, **terms),
        lambda **terms: noap.Problem.from_covariance(X.T @ X, n_samples=40, k=3, **terms),
    ):
        with pytest.raises(InvalidProblem, match="either adversary or noise"):
            make(adversary=noap.FeatureWise(1.0), noise=0.3)
        with pytest.raises(InvalidProblem, match="noise"):
            make(noise="strong")
        with pytest.raises(InvalidProblem, match="noise has 2 entries"):
            make(noise=[0.1, 0.2])
        with pytest.raises(InvalidProblem, match="noise must be"):
            make(noise=-0.1)


@pytest.mark.parametrize(("adversary", "unit"), [(noap.FeatureWise, np.sqrt(40)), (noap.SampleWise, 1.0)])
def test_a_path_over_noises(adversary, unit):
    noises = [0.4, 0.0, 0.2]
    by_noise = noap.path(X, 2, adversary, noises=noises, method="ascent")
    by_rho = noap.path(X, 2, adversary, rhos=np.array(noises) * unit, method="ascent")
    np.testing.assert_allclose(by_noise.rhos, by_rho.rhos)
    np.testing.assert_allclose(by_noise.noises, sorted(noises))
    np.testing.assert_array_equal(by_noise.values, by_rho.values)
    assert "noise from 0 to 0.4" in repr(by_noise)
    assert by_noise.to_frame()["noise"].to_list() == by_noise.noises.tolist()


def test_noises_of_a_path_that_make_no_sense_are_one_sentence():
    with pytest.raises(InvalidProblem, match="either rhos or noises"):
        noap.path(X, 2, rhos=[1.0], noises=[0.1])
    with pytest.raises(InvalidProblem, match="noises must be finite"):
        noap.path(X, 2, noises=[-0.1])
    with pytest.raises(InvalidProblem, match="pass rhos, the factors"):
        noap.path(X, 2, noap.FeatureWise(EACH), noises=[0.5])
