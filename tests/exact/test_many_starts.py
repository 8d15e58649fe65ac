"""Where the trees of the search for many features start: from vectors that are allowed."""

import numpy as np
import pytest

import noap
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
    result = noap.solve(problem)
    assert len(result.support) == 3
    assert noap.verify(problem, result.certificate).ok
