"""Matrices with a core: right outside it as well, no bound below the truth, and every proof accepted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap
import older
from judge import feature_wise_best
from noap.exact.relaxation import core as core_module
from noap.exact.relaxation import relaxation as relaxation_module
from noap.exact.relaxation.inequality import Inequality
from noap.exact.relaxation.multiplier import Nearby
from noap.exact.relaxation.outer import Candidate, Outer, assembled, pairs_beyond
from noap.proofs.relaxation import CORE, RelaxationProof

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


def small_cores(patch, most=3):
    """Let the relaxation work on a core with few features."""
    patch.setattr(relaxation_module, "MOST_FEATURES", 3)
    for name, number in (("_FIRST", 3), ("_MORE", 1), ("MOST_CORE", most), ("_VECTORS", 2)):
        patch.setattr(core_module, name, number)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(0.0, 1.5), st.booleans())
def test_any_core_and_any_multipliers_give_an_inequality(seed, d, size, weighted):
    """Not only those that ADMM finds: nothing rests on where they come from."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, d))
    A = X.T @ X / 5
    weights = rng.uniform(0.1, 1.0, d) if weighted else np.ones(d)
    weights[0] = 1.0
    core = rng.permutation(d)[: int(rng.integers(1, d + 1))]
    B = A[np.ix_(core, core)] + size * rng.standard_normal((len(core), len(core)))
    nearby = Nearby((B + B.T) / 2, size * rng.exponential(1.0, len(core)), rng.exponential(1.0, len(core)))
    load = float(rng.choice([0.0, rng.exponential(1.0)]))
    outer = Outer(float(rng.uniform(-load, 1.0)), load, float(rng.exponential(1.0)))
    made = Inequality.of_core(A, Candidate(core, nearby, outer, 0.0, 0.0), weights)
    assert made is not None
    for _ in range(20):
        v = np.where(rng.random(d) < 0.6, rng.standard_normal(d), 0.0)
        if not v.any():
            continue
        v /= np.linalg.norm(v)
        used = v != 0
        line = made.line(used, np.zeros(d, dtype=bool), 0)
        t = float((weights * np.abs(v)).sum()) ** 2
        assert v @ A @ v <= made.c + (made.mu + made.prices[used].sum()) * t + 1e-12
        assert v @ A @ v <= line.c + line.mu * t + 1e-12


def test_pairs_are_the_entries_outside_the_core_that_thresholds_leave():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 300))  # more rows than are looked at together
    A = X.T @ X / 6
    core, weights, loads = rng.permutation(300)[:40], rng.uniform(0.5, 1.0, 300), rng.exponential(0.3, 300)
    pairs = pairs_beyond(A, core, weights, loads, 0.2).cut(weights, loads, 0.2)
    inner, diagonal = rng.standard_normal((40, 40)), rng.standard_normal(300)
    inner = inner + inner.T
    made = assembled(300, core, inner, diagonal, pairs).toarray()
    least = 0.2 * np.outer(weights, weights) + 0.5 * (np.outer(loads, weights) + np.outer(weights, loads))
    meant = np.sign(A) * np.maximum(np.abs(A) - least, 0.0)
    np.fill_diagonal(meant, diagonal)
    meant[np.ix_(core, core)] = inner
    np.testing.assert_allclose(made, meant, atol=1e-12)


def spiked(seed, n=30, d=9):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, : d // 2] += rng.standard_normal((n, 1)) * rng.uniform(0.5, 2.0, d // 2)
    return X


@pytest.mark.parametrize("budgets", ["none", "one", "several"])
@pytest.mark.parametrize("seed", range(12))
def test_no_bound_with_a_core_is_below_the_truth(seed, budgets, monkeypatch):
    small_cores(monkeypatch, most=3 + seed % 4)
    rng = np.random.default_rng(seed)
    X, k = spiked(seed), 2 + seed % 3
    rho = {"none": 0.0, "one": 0.25, "several": rng.uniform(0.1, 0.4, 9)}[budgets] * np.sqrt(len(X))
    adversary = noap.FeatureWise(rho) if budgets != "none" else noap.NoAdversary()
    problem = noap.Problem(X, k=k, adversary=adversary)
    result = older.solve(problem, method="relaxation", gap=1e-7)
    best, _ = feature_wise_best(X.T @ X, len(X), k, rho)
    assert result.bound >= best * (1 - 1e-12)
    proof = result.certificate.proof
    assert isinstance(proof, RelaxationProof)
    report = noap.verify(problem, result.certificate)
    assert report.ok, report.message


def test_a_core_says_more_than_thresholds(monkeypatch):
    """Thirty modules of noise beside one that counts, more features than the core has: the bound is that of the few."""
    rng = np.random.default_rng(5)
    factors = np.repeat(rng.standard_normal((80, 60)), 12, axis=1)
    X = factors * 0.5 + rng.standard_normal(factors.shape)
    X[:, :12] += 0.9 * factors[:, :12]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = noap.Problem(X, k=10, adversary=noap.FeatureWise(0.2 * np.sqrt(80)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(relaxation_module.Relaxation, "_by_core", relaxation_module.Relaxation._by_thresholds)
        thresholds = older.solve(problem, method="relaxation")
    result = older.solve(problem, method="relaxation")
    assert result.gap < 0.25 * thresholds.gap
    assert (result.certificate.proof.kinds == CORE).any()
    assert noap.verify(problem, result.certificate).ok
