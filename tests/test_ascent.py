"""Ascent: monotone, and as good as brute force where that can be had."""

import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noap
from judge import feature_wise_optimum, sample_wise_optimum, vanilla_optimum
from noap.heuristics.ascent import Funnel, search
from noap.heuristics.batch import Batch
from noap.heuristics.climber import Climber
from noap.heuristics.oracle import GramOracle
from noap.heuristics.sample_oracle import SampleOracle

KINDS = [lambda rho: noap.NoAdversary(), noap.FeatureWise, noap.SampleWise]
everyone = pytest.mark.parametrize("kind", KINDS, ids=["none", "feature", "sample"])


def solve(X, k, adversary, **options):
    return noap.solve(noap.Problem(X, k=k, adversary=adversary), method="ascent", **options)


def climbers(X, k, adversary):
    """Return every climber that can work on the problem, with the budget in its units."""
    problem = noap.Problem(X, k=k, adversary=adversary)
    rescaled = adversary.rescaled(1 / np.sqrt(len(X)))
    found = [Climber(SampleOracle(problem.X, len(X), rescaled), k)]
    if adversary.gram_suffices:
        found.append(Climber(GramOracle(problem.covariance, rescaled), k))
    return problem, found


def check(problem, vectors):
    """The distances are those of the vectors, by the closed form of the adversary, and the vectors are feasible."""
    for indices, weights, distance in zip(vectors.batch.indices, vectors.batch.weights, vectors.distances, strict=True):
        assert (np.diff(indices) > 0).all()
        assert np.linalg.norm(weights) == pytest.approx(1)
        v = np.zeros(problem.n_features)
        v[indices] = weights
        assert distance**2 == pytest.approx(problem.value(v), abs=1e-12)


@everyone
@given(seed=st.integers(0, 10**6), rho=st.floats(0, 3), k=st.integers(1, 6))
def test_no_step_goes_down(kind, seed, rho, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 6))
    for climber in climbers(X, k, kind(rho))[1]:
        problem = noap.Problem(X, k=k, adversary=kind(rho))
        for starts in climber.starts(rng):
            alive = starts[np.flatnonzero(starts.distances > 0)]
            check(problem, alive)
            for i in range(len(alive)):
                reached = climber.climb(alive[[i]], 1, 1)
                check(problem, reached)
                assert (reached.distances >= alive.distances[i] - 1e-12).all()
                for one in climber.to_fixed_point(reached[:1]).distances if len(reached) else ():
                    assert one >= reached.distances[0] - 1e-12


@everyone
def test_no_support_comes_back_twice_and_exchanges_change_one_feature(kind):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((40, 12))
    problem, found = climbers(X, 4, kind(1.0))
    for climber in found:
        came = []
        for starts in climber.starts(rng):
            reached = climber.climb(starts, 20, 30)
            check(problem, reached)
            came += [frozenset(np.flatnonzero(row)) for row in reached.batch.dense(12)]
        assert len(set(came)) == len(came)
        vector = reached.best(1)
        home = set(np.flatnonzero(vector.batch.dense(12)[0]))
        candidates = climber.exchanges(vector)
        candidates = candidates[np.flatnonzero(candidates.distances > 0)]
        assert len(candidates)
        check(problem, candidates)
        for row in candidates.batch.dense(12):
            assert len(set(np.flatnonzero(row)) - home) <= 1


@everyone
def test_stages_never_lose_the_leader(kind):
    rng = np.random.default_rng(5)
    for climber in climbers(rng.standard_normal((40, 30)), 4, kind(1.0))[1]:
        values = [vectors.distances[0] for vectors in search(climber, 4, rng, Funnel(keep=8, polish=3))]
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


@pytest.mark.parametrize("scale", [1e-140, 1e-60, 1e60, 1e140])
def test_units_do_not_matter(scale):
    X = np.random.default_rng(2).standard_normal((30, 10))
    here, there = solve(X, 3, noap.FeatureWise(1.0)), solve(scale * X, 3, noap.FeatureWise(scale))
    np.testing.assert_allclose(np.abs(there.v), np.abs(here.v), atol=1e-9)


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
    # A slice of the paper's grid; all of it is a board of `python -m benchmarks`.
    for n, seed in ((100, 0), (500, 1)):
        model = noap.theory.spiked_wishart(n, 100, 5, 3.0, k1=2, c=0.8, random_state=seed)
        for normalised in (0.5, 1.5, 2.5):
            problem = noap.Problem(model.X, k=5, adversary=noap.FeatureWise(normalised * np.sqrt(n / 5)))
            ppm = noap.solve(problem, method="ppm", iterate="best").value
            assert noap.solve(problem, method="ascent").value >= ppm * (1 - 1e-9)


def test_a_time_limit_returns_the_best_so_far():
    X = np.random.default_rng(1).standard_normal((50, 40))
    short = solve(X, 4, noap.FeatureWise(1.0), time_limit=1e-9)
    assert short.limit is noap.Limit.TIME
    assert short.value > 0


class Pressing(noap.FeatureWise):
    """Presses Ctrl-C when ascent asks for its answer."""

    def shrink(self, loadings):
        signal.raise_signal(signal.SIGINT)
        return super().shrink(loadings)


def test_ctrl_c_returns_the_best_so_far():
    stopped = solve(np.random.default_rng(1).standard_normal((50, 40)), 4, Pressing(1.0))
    assert stopped.limit is noap.Limit.INTERRUPTED
    assert stopped.value == stopped.problem.value(stopped.v) > 0


def test_many_features_need_no_gram_matrix():
    X = np.random.default_rng(6).standard_normal((30, 2001))
    X[:, [5, 700, 2000]] += 5 * np.random.default_rng(7).standard_normal((30, 1))
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(1.0))
    value = noap.solve(problem, method="ascent").value
    assert "covariance" not in vars(problem)
    assert value == pytest.approx(solve(X[:, 5:], 3, noap.FeatureWise(1.0)).value)  # few enough for one


@pytest.mark.parametrize("method", ["ascent", "ppm", "spca", "diagonal-thresholding", "covariance-thresholding"])
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
