"""Where the trees of the search for many features start, and what they may rest on."""

import numpy as np
import pytest

import noap
import older
from many_only import force_many
from noap.exact.many.level import _start


def test_a_place_starts_from_its_feature_and_no_more_than_k():
    # Beside longer columns the feature's own entry is among the smallest of its row.
    A = np.array([[1.0, 3.0, 2.0], [3.0, 9.5, 6.0], [2.0, 6.0, 4.5]])
    assert np.flatnonzero(_start(A, 2, rooted=True)).tolist() == [0, 1]
    assert np.flatnonzero(_start(A, 1, rooted=True)).tolist() == [0]
    assert np.flatnonzero(_start(A, 2, rooted=False)).tolist() == [1, 2]


@pytest.mark.parametrize("seed", [223, 0, 1, 2])
def test_short_columns_among_long_ones(seed, monkeypatch):
    force_many(monkeypatch, whole=0)
    X = np.random.default_rng(seed).standard_normal((3, 30))
    problem = noap.Problem(X, k=3, adversary=noap.NoAdversary())
    result = older.solve(problem)
    assert len(result.support) == 3
    assert noap.verify(problem, result.certificate).ok


def test_levels_that_are_worth_the_same(monkeypatch):
    """No third feature adds anything: what each owes is a few ulps, and the checker's are others."""
    force_many(monkeypatch, whole=0)
    rng = np.random.default_rng(1531)
    d, n, k = int(rng.integers(30, 160)), int(rng.choice([1, 2, 3, 20, 60])), int(rng.integers(2, 6))
    X = np.sign(rng.standard_normal((n, d)) + rng.standard_normal((n, 5))[:, rng.integers(0, 5, d)] * rng.uniform(0, 2))
    assert (n, d, k) == (20, 30, 4)
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(0.5 * np.sqrt(n)))
    report = noap.verify(problem, older.solve(problem).certificate)
    assert report.ok, report.message
