"""The spiked Wishart model has the law it claims, is reproducible, and refuses bad arguments by name."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap.theory
from noap.errors import InvalidProblem
from noap.theory import (
    Spike,
    normalised_from_rho,
    rho_from_normalised,
    spiked_wishart,
    strong_weak_truth,
)


def test_strong_weak_truth_has_the_entries_of_assumption_3():
    model = spiked_wishart(7, 30, 5, 3.0, k1=2, c=0.8, random_state=1)
    assert model.X.shape == (7, 30)
    assert model.v[model.strong] == pytest.approx(np.full(2, math.sqrt(0.8 / 2)))
    assert model.v[model.weak] == pytest.approx(np.full(3, math.sqrt(0.2 / 3)))
    assert np.linalg.norm(model.v) == pytest.approx(1.0)
    assert np.array_equal(np.flatnonzero(model.v), model.support)
    assert np.array_equal(np.union1d(model.strong, model.weak), model.support)
    for part in (model.support, model.strong, model.weak):
        assert np.all(np.diff(part) > 0)


def test_general_truth_has_k_nonzeros_and_no_parts():
    model = spiked_wishart(3, 12, 4, 1.0, random_state=2)
    assert np.count_nonzero(model.v) == 4
    assert np.linalg.norm(model.v) == pytest.approx(1.0)
    assert np.unique(np.abs(model.v[model.support])).size == 4
    assert model.strong.size == 0
    assert model.weak.size == 0


def test_samples_have_the_spiked_covariance():
    n = 60_000
    model = spiked_wishart(n, 6, 3, 2.5, random_state=3)
    sigma = 2.5 * np.outer(model.v, model.v) + np.eye(6)
    sample = model.X.T @ model.X / n
    standard_error = np.sqrt((np.outer(np.diag(sigma), np.diag(sigma)) + sigma**2) / n)
    assert np.all(np.abs(sample - sigma) < 5 * standard_error)
    assert np.all(np.abs(model.X.mean(axis=0)) < 5 * np.sqrt(np.diag(sigma) / n))
    # One spiked coordinate's fourth moment: normal, not merely of the right covariance.
    score = model.X @ model.v / math.sqrt(1 + 2.5)
    assert abs(np.mean(score**4) - 3.0) < 5 * math.sqrt(96 / n)


def test_supports_and_strong_parts_are_uniform():
    draws = 3000
    rng = np.random.default_rng(4)
    models = [spiked_wishart(1, 6, 3, 1.0, k1=1, c=0.6, random_state=rng) for _ in range(draws)]
    for part, share in (("support", 3 / 6), ("strong", 1 / 6), ("weak", 2 / 6)):
        counts = np.bincount(np.concatenate([getattr(m, part) for m in models]), minlength=6)
        assert np.all(np.abs(counts / draws - share) < 5 * math.sqrt(share * (1 - share) / draws))


def test_general_truth_is_uniform_on_the_sphere():
    draws = 3000
    rng = np.random.default_rng(5)
    entries = np.array([(m := spiked_wishart(1, 4, 2, 1.0, random_state=rng)).v[m.support] for _ in range(draws)])
    # On the circle <v, w>^2 has mean 1/2 and variance 1/8 for every direction w, and v has mean 0.
    for w in (np.array([1.0, 0.0]), np.array([0.6, 0.8]), np.array([0.8, -0.6])):
        assert abs(np.mean((entries @ w) ** 2) - 0.5) < 5 * math.sqrt(1 / 8 / draws)
        assert abs(np.mean(entries @ w)) < 5 * math.sqrt(1 / 2 / draws)


def test_same_seed_same_draw_and_a_generator_moves_on():
    a, b = (spiked_wishart(5, 8, 3, 1.0, random_state=9) for _ in range(2))
    assert np.array_equal(a.X, b.X)
    assert np.array_equal(a.v, b.v)
    rng = np.random.default_rng(9)
    c, d = (spiked_wishart(5, 8, 3, 1.0, random_state=rng) for _ in range(2))
    assert np.array_equal(a.X, c.X)
    assert not np.array_equal(c.X, d.X)


def test_without_spike_samples_are_standard_normal():
    model = spiked_wishart(20_000, 3, 2, 0.0, random_state=0)
    assert np.abs(model.X.T @ model.X / 20_000 - np.eye(3)).max() < 5 * math.sqrt(2 / 20_000)


def test_the_truth_cannot_be_changed_but_data_can():
    model = spiked_wishart(5, 8, 3, 1.0, random_state=0)
    with pytest.raises(ValueError, match="read-only"):
        model.v[0] = 1.0
    X = model.X
    X -= X.mean(axis=0)
    assert np.abs(model.X.mean(axis=0)).max() < 1e-12


@given(
    lam=st.floats(0, 100),
    entries=st.lists(st.floats(-3, 3), min_size=4, max_size=4),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=50, derandomize=True)
def test_deviation_is_that_of_the_dense_covariance(lam, entries, seed):
    truth = np.random.default_rng(seed).standard_normal(4)
    truth /= np.linalg.norm(truth)
    v = np.array(entries)
    dense = lam * np.outer(truth, truth) + np.eye(4)
    assert Spike(truth, lam).deviation(v) ** 2 == pytest.approx(v @ dense @ v, rel=1e-10, abs=1e-12)


@given(rho_bar=st.floats(0, 10), n=st.integers(1, 10**9), k=st.integers(1, 1000))
@settings(deadline=None, max_examples=50, derandomize=True)
def test_normalised_budgets_go_there_and_back(rho_bar, n, k):
    rho = rho_from_normalised(rho_bar, n, k)
    assert rho * math.sqrt(k / n) == pytest.approx(rho_bar)
    assert normalised_from_rho(rho, n, k) == pytest.approx(rho_bar)


def test_normalised_budgets_take_arrays():
    assert rho_from_normalised(np.array([0.0, 1.0, 2.0]), n=500, k=5) == pytest.approx([0.0, 10.0, 20.0])
    assert normalised_from_rho(np.array([0.0, 10.0]), n=500, k=5) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: spiked_wishart(0, 5, 2, 1.0), "n"),
        (lambda: spiked_wishart(2.5, 5, 2, 1.0), "n"),
        (lambda: spiked_wishart(5, 0, 2, 1.0), "d"),
        (lambda: spiked_wishart(5, 5, 0, 1.0), "k"),
        (lambda: spiked_wishart(5, 5, 6, 1.0), "k"),
        (lambda: spiked_wishart(5, 5, 2, -0.1), "lam"),
        (lambda: spiked_wishart(5, 5, 2, math.nan), "lam"),
        (lambda: spiked_wishart(5, 5, 2, "much"), "lam"),
        (lambda: spiked_wishart(5, 5, 2, 1.0, k1=1), "k1 and c"),
        (lambda: spiked_wishart(5, 5, 2, 1.0, c=0.8), "k1 and c"),
        (lambda: spiked_wishart(5, 5, 2, 1.0, k1=2, c=0.8), "k1"),
        (lambda: spiked_wishart(5, 5, 2, 1.0, k1=0, c=0.8), "k1"),
        (lambda: spiked_wishart(5, 5, 2, 1.0, k1=1, c=1.0), "c"),
        (lambda: spiked_wishart(5, 5, 2, 1.0, k1=1, c=0.0), "c"),
        (lambda: spiked_wishart(5, 5, 2, 1.0, k1=1, c=math.nan), "c"),
        (lambda: spiked_wishart(5, 5, 2, 1.0, random_state=-1), "random_state"),
        (lambda: spiked_wishart(5, 5, 2, 1.0, random_state="seed"), "random_state"),
        (lambda: strong_weak_truth(3, 3, 0.8), "k1"),
        (lambda: Spike([1.0, 1.0], 1.0), "truth"),
        (lambda: Spike([1.0, math.nan], 1.0), "truth"),
        (lambda: Spike([1j, 0.0], 1.0), "truth"),
        (lambda: Spike([], 1.0), "truth"),
        (lambda: Spike([1.0], -1.0), "lam"),
        (lambda: Spike([1.0], 1.0).deviation([1.0, 0.0]), "v"),
        (lambda: rho_from_normalised(-1.0, 5, 2), "rho_bar"),
        (lambda: rho_from_normalised(1.0, 0, 2), "n"),
        (lambda: normalised_from_rho(math.nan, 5, 2), "rho"),
        (lambda: normalised_from_rho(1.0, 5, 0), "k"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(InvalidProblem, match=f"^{name} must"):
        call()


def test_facade_is_sorted_and_complete():
    assert noap.theory.__all__ == sorted(noap.theory.__all__)
    assert all(hasattr(noap.theory, name) for name in noap.theory.__all__)


def test_theory_imports_no_scipy_at_import_time_and_nothing_of_the_stack():
    for file in Path(noap.theory.__file__).parent.glob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("noap"):
                assert node.module == "noap.errors" or node.module.startswith("noap.theory"), file.name
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                assert not any(str(name).startswith("scipy") for name in names), file.name
