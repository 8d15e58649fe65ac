"""Discriminants as a problem with a metric: class means of wines, the covariance within classes."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import noap
from generalised_judge import best_ratio, robust_ratio


def discriminant(k, noise, features=13, ridge=1e-3):
    X, y = load_wine(return_X_y=True)
    Z = (X - X.mean(axis=0))[:, :features] / X.std(axis=0)[:features]
    means = np.array([Z[y == c].mean(axis=0) for c in y])
    adversary = noap.FeatureWise(noise * np.sqrt(len(Z))) if noise else noap.NoAdversary()
    return noap.Problem(means, k, adversary, metric=noap.metric_from_samples(Z - means, ridge)), Z, y


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_wine_is_proved_and_brute_force_agrees(noise):
    problem, Z, y = discriminant(3, noise, features=8)
    between = problem.X.T @ problem.X / len(Z)
    within = sum(np.cov(Z[y == c].T, bias=True) * np.mean(y == c) for c in range(3))
    within += 1e-3 * np.trace(within) / 8 * np.eye(8)
    optimum = robust_ratio(between, within, np.full(8, noise), 3) if noise else best_ratio(between, within, 3)[0]
    result = noap.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    assert result.value == pytest.approx(optimum, rel=1.1e-4)
    assert result.bound >= optimum * (1 - 1e-9)
    assert noap.verify(problem, result.certificate).ok


def test_all_features_and_no_noise_is_fishers_discriminant():
    problem, Z, y = discriminant(13, 0.0, ridge=1e-9)
    dense = LinearDiscriminantAnalysis(solver="eigen").fit(Z, y).transform(Z)[:, 0]
    assert abs(np.corrcoef(Z @ noap.solve(problem).v, dense)[0, 1]) == pytest.approx(1.0, abs=1e-6)


def test_a_second_discriminant_of_what_the_first_one_leaves():
    problem, _, _ = discriminant(4, 0.1)
    first = noap.solve(problem)
    left = problem.X - np.outer(problem.X @ first.v, problem.metric @ first.v)
    rest = noap.Problem(left, 4, problem.adversary, metric=problem.metric)
    assert np.abs(left @ first.v).max() < 1e-12
    second = noap.solve(rest)
    assert 0 < second.value < first.value
    assert noap.verify(rest, second.certificate).ok
