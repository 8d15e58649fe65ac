"""Small matrices are worked on by one thread, and the setting is the old one afterwards."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import noap
import older
from noap.exact.relaxation.relaxation import Relaxation
from noap.runtime import threads
from noap.runtime.threads import one_thread


def counts():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_small_matrices_have_one_thread_and_large_ones_what_they_had():
    np.linalg.eigvalsh(np.eye(3))
    before = counts()
    with one_thread(100):
        assert set(counts()) == {1}
    assert counts() == before
    with one_thread(threads._SMALL + 1):
        assert counts() == before
    with pytest.raises(KeyboardInterrupt), one_thread(2):
        raise KeyboardInterrupt
    assert counts() == before


def test_the_older_relaxation_runs_on_one_thread(monkeypatch):
    seen, advance = [], Relaxation.advance

    def noted(self, *arguments):
        seen.extend(counts())
        advance(self, *arguments)

    monkeypatch.setattr(Relaxation, "advance", noted)
    X = np.random.default_rng(0).standard_normal((40, 12))
    older.solve(noap.Problem(X, k=6, adversary=noap.FeatureWise(1.0)), method="relaxation")
    assert set(seen) == {1}
