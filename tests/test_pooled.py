"""Ascent with many features: on a pool of them, with a look at all, and nothing of the size of X'X."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import noap
from noap.heuristics import ascent as ascent_module
from noap.heuristics import pool as pool_module
from noap.heuristics.ascent import Funnel
from noap.heuristics.pool import Pool, pool_of, pooled_features
from noap.heuristics.pooled import pooled_ascent
from noap.heuristics.scaled_terms import ScaledTerms
from noap.linalg.blocked import ScaledColumns
from noap.linalg.products import column_norms
from noap.runtime.controls import Stopped

NO_BUDGET = ScaledTerms(np.zeros(1), None, is_even=True)


def modules(n, d, size, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for first in range(0, d // 5, size):
        X[:, first : first + size] += np.outer(rng.standard_normal(n), rng.uniform(1, 3, size))
    X = X[:, rng.permutation(d)]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def adversary(rho):
    return noap.FeatureWise(rho) if rho else noap.NoAdversary()


@pytest.mark.parametrize("seed", range(6))
def test_as_good_as_ascent_on_all_inner_products(seed, monkeypatch):
    n, d = 40, 600
    X = modules(n, d, 10, seed) * np.random.default_rng(seed).uniform(0.5, 1.5 if seed % 2 else 0.5, d)
    for rho in (0.0, 0.3 * 0.7 * n**0.5):
        problem = noap.Problem(X, k=6, adversary=adversary(rho))
        usual = noap.solve(problem, "ascent").value
        with monkeypatch.context() as patch:
            patch.setattr(ascent_module, "MANY_FEATURES", 0)
            patch.setattr(pool_module, "_MOST", 150)
            patch.setattr(type(problem), "covariance", property(lambda self: pytest.fail("X'X was formed")))
            pooled = noap.solve(noap.Problem(X, k=6, adversary=adversary(rho)), "ascent")
        assert pooled.value >= usual * (1 - 1e-9)
        assert len(pooled.support) <= 6


def test_features_outside_the_pool_are_found():
    X = modules(40, 300, 10, 1)
    columns = ScaledColumns(X, column_norms(X))
    exact = noap.solve(noap.Problem(X, k=5, adversary=noap.NoAdversary()))
    # A pool with two features of the best support, and others that go with nothing.
    alone = np.argsort(np.sort(np.abs(X.T @ X), axis=1)[:, -2])[:30]
    pool = Pool(columns, NO_BUDGET, 5, np.union1d(exact.support[:2], alone))
    start = [(exact.support[:2], np.ones(2))]
    *_, (places, weights) = pooled_ascent(pool, 5, np.random.default_rng(0), Funnel(), start)
    v = np.zeros(300)
    v[places] = weights
    assert noap.Problem(X, k=5, adversary=noap.NoAdversary()).value(v) == pytest.approx(exact.value)


def test_the_pool_holds_the_best_neighbourhoods(monkeypatch):
    monkeypatch.setattr(pool_module, "_MOST", 60)
    X = modules(50, 400, 10, 3)
    pool = pooled_features(ScaledColumns(X, column_norms(X)), NO_BUDGET, 5)
    assert len(pool) <= 60
    assert (np.diff(pool) > 0).all()
    G = np.abs(X.T @ X) / len(X)
    strongest = int(np.argmax(np.sort(G**2, axis=1)[:, -5:].sum(axis=1)))
    assert set(np.argsort(-G[strongest])[:5]) <= set(pool.tolist())


def test_where_some_features_are_looked_at_the_best_are_looked_at_again_with_all(monkeypatch):
    """Of a module only a part is among the features of the pass; all of it is in the pool."""
    monkeypatch.setattr(pool_module, "_MOST", 60)
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 400))
    X[:, ::40] += 3 * rng.standard_normal((50, 1))  # ten features of one module
    X[:, 1::40] += 2.6 * rng.standard_normal((50, 1))  # and of a lesser one
    # Lengths that leave the pass three of the first and eight of the other.
    lengths = np.full(400, 0.9)
    lengths[[0, 40, 80]] = lengths[1:320:40] = 1.0
    lengths[2:200:2] = 0.95
    X *= lengths / np.linalg.norm(X, axis=0)
    monkeypatch.setattr(pool_module, "_WORK", 50 * 60**2)
    columns = ScaledColumns(X, column_norms(X))
    monkeypatch.setattr(pool_module, "_MOST", 50)
    pool = pooled_features(columns, NO_BUDGET, 10)
    assert len(pool) <= 50
    assert set(range(0, 400, 40)) <= set(pool.tolist())


def test_a_pool_is_made_once(monkeypatch):
    monkeypatch.setattr(pool_module, "_MOST", 20)
    problem = noap.Problem(modules(20, 50, 5, 0), k=3, adversary=noap.FeatureWise(0.5))
    assert pool_of(problem) is pool_of(problem)
    assert pool_of(problem) is not pool_of(problem.with_sparsity(2))


def test_it_can_be_stopped_within_the_pass(monkeypatch):
    monkeypatch.setattr(ascent_module, "MANY_FEATURES", 0)
    monkeypatch.setattr(pool_module, "_MOST", 20)
    problem = noap.Problem(modules(20, 50, 5, 0), k=3, adversary=noap.FeatureWise(0.5))

    def stop(*arguments):
        raise Stopped

    with pytest.raises(Stopped):
        pool_of(problem, stop)
    result = noap.solve(problem, "ascent", time_limit=1e-9)
    assert result.limit is noap.Limit.TIME
    assert result.value > 0


@pytest.mark.parametrize("make", [csr_array, noap.centred, lambda X: X.astype(np.float32).toarray()])
def test_other_kinds_of_samples(make, monkeypatch):
    monkeypatch.setattr(ascent_module, "MANY_FEATURES", 0)
    rng = np.random.default_rng(2)
    X = csr_array(rng.standard_normal((30, 40)) * (rng.random((30, 40)) < 0.4))
    X = make(X) if make is not csr_array else X
    dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    for rho in (0.0, 0.5):
        ours = noap.solve(noap.Problem(X, k=4, adversary=adversary(rho)), "ascent").value
        with monkeypatch.context() as patch:
            patch.setattr(ascent_module, "MANY_FEATURES", 10**6)
            assert ours >= noap.solve(noap.Problem(dense, k=4, adversary=adversary(rho)), "ascent").value * (1 - 1e-6)
