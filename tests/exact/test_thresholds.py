"""Thresholds of the Gram matrix of many features: blocks apart, each with its own proof."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noap
import older
from judge import feature_wise_best
from noap.checker.allowance import Allowance
from noap.checker.relaxation import eigenvalues as checker
from noap.exact.feature_wise import attempt
from noap.exact.relaxation import blocks, relaxation
from noap.exact.relaxation.thresholds import Threshold
from noap.linalg.vectors import soft
from noap.proofs.relaxation import RelaxationProof


def modules(seed, groups=6, size=4, n=40, noise=0.6):
    """Groups of features that share a factor each."""
    rng = np.random.default_rng(seed)
    factors = np.repeat(rng.standard_normal((n, groups)), size, axis=1) * rng.choice([-1.0, 1.0], groups * size)
    X = factors + noise * rng.standard_normal(factors.shape)
    return (X - X.mean(axis=0)) / X.std(axis=0)


@given(st.integers(0, 10**6), st.floats(0.0, 1.1), st.booleans())
def test_a_threshold_is_the_matrix_that_it_stands_for(seed, mu, lanczos):
    X = modules(seed)
    A = X.T @ X / len(X)
    with pytest.MonkeyPatch.context() as patched:
        if lanczos:
            patched.setattr(blocks, "_LANCZOS", 3)
        threshold = Threshold(A, mu)
        proved = threshold.proved()
    B = soft(A, mu)
    top = max(float(np.linalg.eigvalsh(B)[-1]), 0.0)
    assert threshold.guess == pytest.approx(top, abs=1e-7)
    assert top <= proved * (1 + 1e-15) + 1e-15
    assert proved == pytest.approx(top, abs=1e-6)
    assert np.abs(B - A).max() <= threshold.far <= mu * (1 + 1e-12) + 1e-12
    # The checker's own way comes to the same.
    c = checker.largest_eigenvalue(B, Allowance())
    assert top <= c * (1 + 1e-15) + 1e-15
    assert c == pytest.approx(top, abs=1e-6)


def test_the_spread_says_how_fast_the_eigenvalue_falls():
    X = modules(3)
    A = X.T @ X / len(X)
    for mu in (0.05, 0.2, 0.4):
        fall = (Threshold(A, mu - 1e-6).guess - Threshold(A, mu + 1e-6).guess) / 2e-6
        assert Threshold(A, mu).spread == pytest.approx(max(fall, 1.0), rel=1e-3)


def test_a_wrong_guess_costs_factorisations_but_no_proof(monkeypatch):
    A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    monkeypatch.setattr(blocks, "_leading", lambda block: (0.5, np.ones(block.shape[0])))
    assert Threshold(A, 0.0).proved() >= 3.0


def test_the_checker_takes_nobodys_word_for_the_blocks(monkeypatch):
    B = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    monkeypatch.setattr(checker, "connected_components", lambda *_, **__: (3, np.arange(3)))
    assert checker.largest_eigenvalue(B, Allowance()) >= 1.9


def test_a_hint_from_below_is_raised_until_a_factorisation_holds(monkeypatch):
    B = np.array([[2.0, 1.0], [1.0, 2.0]])
    monkeypatch.setattr(checker, "_hint", lambda *_: 2.9)
    assert 3.0 <= checker.largest_eigenvalue(B, Allowance()) < 4.5


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_no_bound_by_thresholds_is_below_the_truth(seed, noise, monkeypatch):
    monkeypatch.setattr(relaxation, "MOST_FEATURES", 3)
    monkeypatch.setattr(blocks, "_LANCZOS", 4)
    monkeypatch.setattr(checker, "_LANCZOS", 4)
    X = modules(seed, groups=3, size=3)
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(noise * np.sqrt(len(X))))
    result = older.solve(problem, method="relaxation", gap=0.0)
    best, _ = feature_wise_best(X.T @ X, len(X), 4, problem.adversary.rho)
    assert result.bound >= best
    report = noap.verify(problem, result.certificate)
    assert report.ok, report.message
    # Several thresholds were tried, and they beat the largest worths of single features.
    assert result.bound < 4 * (1 - noise) ** 2 * 0.95


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_the_exact_method_uses_thresholds_where_trees_are_large(monkeypatch):
    """With 640 features one node is a large tree: the bound of a run that is cut short comes from a threshold."""
    X = modules(1, groups=64, size=10, n=60, noise=2.0)
    problem = noap.Problem(X, k=40, adversary=noap.NoAdversary())
    monkeypatch.setattr(attempt, "_PATIENCE_FOR_LARGE_TREES", 0)
    result = older.solve(problem, gap=1e-6, node_limit=300)
    assert isinstance(result.certificate.proof, RelaxationProof)
    assert result.bound < 0.7 * 40
    assert noap.verify(problem, result.certificate).ok
    # Where its matrices are too much for the memory, it is not begun.
    begun = []
    monkeypatch.setattr(relaxation.Relaxation, "__init__", lambda *_: begun.append(1))
    older.solve(problem, gap=1e-6, node_limit=100, memory_limit=9.0)
    assert not begun
