"""Ascent: monotone, and as good as brute force where that can be had."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noap
from judge import feature_wise_optimum, sample_wise_optimum, vanilla_optimum
from noap.heuristics.ascent import Funnel, search
from noap.heuristics.batch import Batch, choose
from noap.heuristics.oracle import GramOracle, SampleOracle, oracle_of
from noap.heuristics.starts import start_batches

KINDS = [lambda rho: noap.NoAdversary(), noap.FeatureWise, noap.SampleWise]
everyone = pytest.mark.parametrize("kind", KINDS, ids=["none", "feature", "sample"])


def solve(X, k, adversary, **options):
    return noap.solve(noap.Problem(X, k=k, adversary=adversary), method="ascent", **options)


@everyone
@given(seed=st.integers(0, 10**6), rho=st.floats(0, 3), k=st.integers(1, 6))
def test_no_step_goes_down(kind, seed, rho, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 6))
    problem = noap.Problem(X, k=k, adversary=kind(rho))
    for oracle in [oracle_of(problem), SampleOracle(problem.X, 9, problem.adversary.rescaled(1 / 3))]:
        for batch in start_batches(oracle, k, rng):
            before = oracle.distances(batch)
            moved = choose(oracle.adversary, oracle.loadings(batch), k)
            after = oracle.distances(moved)
            # A start that the adversary cancels has distance 0 and may stay there; no other may lose.
            assert (after >= before - 1e-12).all()
            refined = oracle.refine(moved, 5)
            assert (oracle.distances(refined) >= after - 1e-12).all()


@everyone
def test_stages_never_lose_the_leader(kind):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 30))
    oracle = oracle_of(noap.Problem(X, k=4, adversary=kind(1.0)))
    values = [float(oracle.distances(leaders[:1])[0]) for leaders in search(oracle, 4, rng, Funnel(keep=8, polish=3))]
    assert len(values) > 4
    assert (np.diff(values) >= -1e-12).all()


def test_both_oracles_agree():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 8))
    batch = Batch(np.array([[0, 3, 5], [1, 2, 7]]), np.array([[0.6, 0.8, 0.0], [0.0, -1.0, 0.0]]))
    for adversary in (noap.NoAdversary(), noap.FeatureWise(0.1)):
        a, b = GramOracle(X.T @ X / 20, adversary), SampleOracle(X, 20, adversary)
        np.testing.assert_allclose(a.loadings(batch), b.loadings(batch), atol=1e-12)
        np.testing.assert_allclose(a.distances(batch), b.distances(batch), atol=1e-12)
        np.testing.assert_allclose(a.refine(batch, 7).weights, b.refine(batch, 7).weights, atol=1e-9)
        np.testing.assert_allclose(a.coordinate_loadings(np.arange(8)), b.coordinate_loadings(np.arange(8)), atol=1e-12)
        np.testing.assert_allclose(a.column_norms, b.column_norms)


@pytest.mark.parametrize("seed", range(12))
def test_brute_force_agrees_feature_wise(seed):
    rng = np.random.default_rng(seed)
    d, k, n = int(rng.integers(2, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 12))
    X = rng.standard_normal((n, d)) @ np.diag(rng.uniform(0.3, 2, d)) + rng.standard_normal((n, 1))
    k = min(k, d)
    rho = rng.uniform(0, 0.9) * np.linalg.norm(X, axis=0).max()
    best = feature_wise_optimum(X.T @ X, n, k, rho)
    found = solve(X, k, noap.FeatureWise(rho)).value
    assert found == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_brute_force_agrees_sample_wise(seed):
    rng = np.random.default_rng(seed)
    d, k, n = int(rng.integers(3, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 12))
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    rho = rng.uniform(0, 0.9) * noap.SampleWise(0).rho_max(X, k)
    best = sample_wise_optimum(X, k, rho)
    assert solve(X, k, noap.SampleWise(rho)).value == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_brute_force_agrees_vanilla(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10, 9)) @ rng.standard_normal((9, 9))
    for k in (1, 3, 5, 9):
        assert solve(X, k, noap.NoAdversary()).value == pytest.approx(vanilla_optimum(X.T @ X / 10, k), rel=1e-9)


@pytest.mark.parametrize(("k", "published"), [(5, 3.43978), (10, 4.59429)])
def test_published_optima_of_the_wine_correlations(k, published):
    from sklearn.datasets import load_wine

    result = noap.solve(
        noap.Problem.from_covariance(np.corrcoef(load_wine().data.T), n_samples=178, k=k, adversary=noap.NoAdversary()),
        method="ascent",
    )
    assert result.value == pytest.approx(published, abs=6e-6)


@everyone
def test_same_seed_same_answer_and_zero_rho_is_vanilla(kind):
    X = np.random.default_rng(8).standard_normal((30, 12))
    first, second = solve(X, 3, kind(0.4), random_state=7), solve(X, 3, kind(0.4), random_state=7)
    np.testing.assert_array_equal(first.v, second.v)
    assert solve(X, 3, kind(0.0)).value == pytest.approx(solve(X, 3, noap.NoAdversary()).value)


@everyone
def test_hard_shapes(kind):
    rng = np.random.default_rng(4)
    base = rng.standard_normal((6, 3))
    for X in (
        np.repeat(base, 2, axis=1),  # duplicated columns
        np.hstack([base, -base]),  # negated columns
        np.hstack([base, np.zeros((6, 2))]),  # zero columns
        base[:, :1] @ np.ones((1, 4)),  # rank one, all tied
        base[:1],  # one sample
        np.eye(4),  # all tied
    ):
        for k in (1, X.shape[1]):
            result = solve(X, k, kind(0.3))
            assert result.value > 0
            assert len(result.support) <= k
            assert result.value == pytest.approx(result.problem.value(result.v))


def test_never_below_the_paper_s_ppm_on_its_own_model():
    # A slice of the paper's grid; more of it is on the robust board of `noap bench`.
    for n, seed in ((100, 0), (500, 1)):
        model = noap.theory.spiked_wishart(n, 100, 5, 3.0, k1=2, c=0.8, random_state=seed)
        for normalised in (0.5, 1.5, 2.5):
            problem = noap.Problem(model.X, k=5, adversary=noap.FeatureWise(normalised * np.sqrt(n / 5)))
            ppm = noap.solve(problem, method="ppm", iterate="best").value
            assert noap.solve(problem, method="ascent").value >= ppm * (1 - 1e-9)


def test_time_limit_and_interrupt_return_the_best_so_far(monkeypatch):
    X = np.random.default_rng(1).standard_normal((50, 40))
    short = solve(X, 4, noap.FeatureWise(1.0), time_limit=1e-9)
    assert short.limit is noap.Limit.TIME
    assert short.value > 0

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("noap.heuristics.ascent._swap", interrupted)
    stopped = solve(X, 4, noap.FeatureWise(1.0))
    assert stopped.limit is noap.Limit.INTERRUPTED
    assert stopped.value >= short.value


def test_large_d_without_a_gram_matrix(monkeypatch):
    monkeypatch.setattr("noap.heuristics.oracle._GRAM_FEATURES", 10)
    X = np.random.default_rng(6).standard_normal((30, 40))
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(1.0))
    value = noap.solve(problem, method="ascent").value
    assert "covariance" not in problem.__dict__
    monkeypatch.undo()
    assert value == pytest.approx(solve(X, 3, noap.FeatureWise(1.0)).value)


@pytest.mark.parametrize("method", ["ascent", "ppm", "spca"])
def test_unknown_options_list_the_known_ones(method):
    problem = noap.Problem(np.eye(3), k=1, adversary=noap.NoAdversary())
    with pytest.raises(noap.errors.InvalidProblem, match=r"colour is not an option of method .*it takes"):
        noap.solve(problem, method=method, colour="red")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"method": "magic"}, "method must be one of"),
        ({"gap": -1}, "gap"),
        ({"gap": "small"}, "gap"),
        ({"time_limit": 0}, "time_limit"),
        ({"time_limit": "long"}, "time_limit"),
        ({"random_state": "dice"}, "random_state"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_controls_are_named(bad, words):
    problem = noap.Problem(np.eye(3), k=1, adversary=noap.NoAdversary())
    with pytest.raises(noap.errors.InvalidProblem, match=words):
        noap.solve(problem, **({"method": "ascent"} | bad))


def test_solve_wants_a_problem():
    with pytest.raises(noap.errors.InvalidProblem, match=r"problem must be a noap\.Problem"):
        noap.solve(np.eye(3))
