"""Assumption 1's k-sparse eigengap: closed forms against enumeration, enumeration against vectors."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap
from noap.errors import InvalidProblem
from noap.theory import Spike, sparse_eigengap, sparse_eigenvalues, spiked_wishart


def sparse_unit(rng, d, k):
    v = np.zeros(d)
    v[rng.choice(d, k, replace=False)] = rng.standard_normal(k)
    return v / np.linalg.norm(v)


@given(seed=st.integers(0, 10**6), d=st.integers(2, 8), k=st.integers(1, 8), lam=st.floats(0.1, 50))
@settings(deadline=None, max_examples=80, derandomize=True)
def test_a_spike_has_closed_forms(seed, d, k, lam):
    k = min(k, d)
    rng = np.random.default_rng(seed)
    truth = sparse_unit(rng, d, int(rng.integers(1, d + 1)))
    dense = np.eye(d) + lam * np.outer(truth, truth)
    assert sparse_eigenvalues(Spike(truth, lam), k) == pytest.approx(sparse_eigenvalues(dense, k), rel=1e-9)


def test_the_gap_of_assumption_2_is_lambda():
    model = spiked_wishart(20, 50, 5, 3.0, k1=2, c=0.8, random_state=0)
    assert sparse_eigengap(model, 5) == pytest.approx(3.0)
    assert sparse_eigenvalues(model, 5) == pytest.approx((4.0, 1.0))
    # With fewer features than the truth has, the next entries of the truth take part of it.
    truth = np.array([0.8, 0.48, 0.36, 0.0])
    assert sparse_eigenvalues(Spike(truth, 3.0), 1) == pytest.approx((1 + 3 * 0.64, 1 + 3 * 0.2304))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_enumeration_against_the_exact_method_and_random_vectors(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6)) * rng.uniform(0.5, 2, 6)
    S = X.T @ X / 30
    first, second = sparse_eigenvalues(S, k)
    best = noap.solve(noap.Problem.from_covariance(S, n_samples=30, k=k, adversary=noap.NoAdversary()), gap=1e-9)
    assert first == pytest.approx(best.value, rel=1e-8)
    # The second: from below by all supports, where the constraint removes one direction; attained by none above.
    found = 0.0
    for support in combinations(range(6), k):
        w = best.v[list(support)]
        basis = np.linalg.svd(w[None, :])[2][1:] if np.linalg.norm(w) > 0 else np.eye(k)
        if len(basis):
            found = max(found, np.linalg.eigvalsh(basis @ S[np.ix_(support, support)] @ basis.T)[-1])
    assert second == pytest.approx(found, rel=1e-6)
    for _ in range(200):
        v = sparse_unit(rng, 6, k)
        support = np.flatnonzero(v)
        w = best.v[support]
        if np.linalg.norm(w) > 0:
            v[support] -= (v[support] @ w) / (w @ w) * w
        if np.linalg.norm(v) > 1e-6:
            v /= np.linalg.norm(v)
            assert abs(v @ best.v) < 1e-9
            assert v @ S @ v <= second * (1 + 1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sparse_eigengap(np.eye(3), 0), "k must"),
        (lambda: sparse_eigengap(np.eye(3), 4), "k must"),
        (lambda: sparse_eigengap(np.eye(1), 1), "covariance must be of two features"),
        (lambda: sparse_eigengap(Spike([1.0], 2.0), 1), "covariance must be of two features"),
        (lambda: sparse_eigengap([[1.0, 2.0], [0.0, 1.0]], 1), "covariance must be a symmetric"),
        (lambda: sparse_eigengap([[1.0, 2.0], [2.0, 1.0]], 1), "covariance must be positive semidefinite"),
        (lambda: sparse_eigengap(np.eye(100), 10), "covariance must have at most a million supports"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(InvalidProblem, match=f"^{words}"):
        call()
