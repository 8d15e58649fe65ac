"""The exact search, vanilla and feature-wise, judged by brute force."""

import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import noap
import older
from cases import SHAPES, budget, small_data
from judge import exact_worth, feature_wise_best, vanilla_best
from noap import Limit, Status
from noap.exact.feature_wise.refutation import HIGH


def check(problem, optimum, v, gap=1e-4, **options):
    """Never a bound below what the judge's vector is worth; otherwise the gap asked for and the judge's rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", noap.errors.NoapWarning)
        result = older.solve(problem, gap=gap, **options)
    slack = 1e-9 * optimum + 1e-12 * problem.scale
    assert v is None or Fraction(result.bound) >= exact_worth(problem, v)
    assert result.value <= optimum + slack
    if not options:
        assert result.status is Status.OPTIMAL
        assert result.value >= optimum / (1 + gap) - slack
    return result


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(12))
def test_feature_wise_agrees_with_brute_force(shape, seed):
    rng = np.random.default_rng([seed, SHAPES.index(shape)])
    d = int(rng.integers(1, 7))
    k = int(rng.choice([1, d, rng.integers(1, d + 1)]))
    X = small_data(rng, shape, d)
    rho = budget(rng, np.linalg.norm(X, axis=0).max())
    optimum, v = feature_wise_best(X.T @ X, len(X), k, rho)
    check(noap.Problem(X, k=k, adversary=noap.FeatureWise(rho)), optimum, v)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(12, 20))
def test_thresholds_agree_with_brute_force(shape, seed, monkeypatch):
    # Small problems end before thresholds are used; here they are used from the first node, and the ladder as well,
    # with the first rung to decide between the cuts.
    for name, value in {"_PLAIN": 0, "_HEAD_START": 0, "TURN": 2}.items():
        monkeypatch.setattr(f"noap.exact.feature_wise.attempt.{name}", value)
    for name, value in {"_TURN": 3, "_TURN_FAR": 3, "_TELLING": 0}.items():
        monkeypatch.setattr(f"noap.exact.feature_wise.ladder.{name}", value)
    if seed % 2:
        monkeypatch.setattr("noap.exact.feature_wise.attempt.LOW", HIGH)
    test_feature_wise_agrees_with_brute_force(shape, seed)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(20, 32))
@pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
def test_no_bound_is_below_what_a_vector_is_worth(shape, seed):
    """With no gap to hide in and no tolerance: the judge's vector is evaluated in exact arithmetic."""
    rng = np.random.default_rng([seed, SHAPES.index(shape)])
    d = int(rng.integers(1, 7))
    k = int(rng.choice([1, d, rng.integers(1, d + 1)]))
    X = small_data(rng, shape, d)
    rho = budget(rng, np.linalg.norm(X, axis=0).max()) if seed % 2 else 0.0
    _, v = feature_wise_best(X.T @ X, len(X), k, rho)
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rho) if rho else noap.NoAdversary())
    result = older.solve(problem, gap=0.0, node_limit=5000)
    for found in (v, result.v):
        assert found is None or Fraction(result.bound) >= exact_worth(problem, found)
    assert result.bound <= result.value * (1 + 1e-9) + 2e-12 * problem.scale or result.limit is Limit.NODES


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(6))
def test_vanilla_agrees_with_brute_force(shape, seed):
    rng = np.random.default_rng([seed, SHAPES.index(shape), 1])
    d = int(rng.integers(1, 10))
    k = int(rng.choice([1, d, rng.integers(1, d + 1)]))
    X = small_data(rng, shape, d)
    check(noap.Problem(X, k=k, adversary=noap.NoAdversary()), *vanilla_best(X.T @ X / len(X), k), gap=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(6, 12))
def test_the_semidefinite_search_agrees_with_brute_force(shape, seed, monkeypatch):
    # Small problems end before it starts; here it starts at once.
    for name, value in {"_PLAIN": 0, "_HEAD_START": 0, "TURN": 4, "_PATIENCE": 0}.items():
        monkeypatch.setattr(f"noap.exact.feature_wise.attempt.{name}", value)
    test_vanilla_agrees_with_brute_force(shape, seed)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_the_semidefinite_search_closes_noise_that_dominance_does_not(monkeypatch):
    problem = noap.Problem(np.random.default_rng(1).standard_normal((200, 60)), k=20, adversary=noap.NoAdversary())
    result = older.solve(problem, certificate=True)
    assert result.status is Status.OPTIMAL
    assert noap.verify(problem, result.certificate).ok
    monkeypatch.setattr("noap.exact.feature_wise.attempt.MOST", 0)
    assert older.solve(problem, node_limit=2 * result.nodes).status is not Status.OPTIMAL


@pytest.mark.parametrize("seed", range(4))
def test_limits_keep_the_bound_valid(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 7))
    rho = 0.35 * np.linalg.norm(X, axis=0).max()
    best = feature_wise_best(X.T @ X, 9, 3, rho)
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(rho))
    for nodes in (1, 2, 5, 20):
        result = check(problem, *best, node_limit=nodes)
        assert result.limit in (Limit.NODES, None)
        assert np.isfinite(result.bound)
    assert check(problem, *best, time_limit=1e-9).limit is Limit.TIME


def noise(n=60, d=60, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_interrupts_keep_the_bound_valid(monkeypatch):
    from noap.exact.feature_wise.refutation import Refutation

    problem = noap.Problem(noise(), k=5, adversary=noap.FeatureWise(2.0))
    advance, calls = Refutation.advance, []

    def interrupted(self):
        calls.append(1)
        if len(calls) == 700:
            raise KeyboardInterrupt
        return advance(self)

    monkeypatch.setattr(Refutation, "advance", interrupted)
    stopped = older.solve(problem)
    monkeypatch.undo()
    assert stopped.limit is Limit.INTERRUPTED
    assert stopped.status is Status.FEASIBLE
    best = noap.solve(problem, method="ascent").value
    assert stopped.bound >= best
    assert stopped.value == pytest.approx(best)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_the_ladder_brings_the_bound_down_and_the_trace_shows_it(monkeypatch):
    # The relaxation would close the problem, and so would lower levels.
    monkeypatch.setattr("noap.exact.feature_wise.attempt._RELAXED", -1.0)
    monkeypatch.setattr("noap.exact.feature_wise.search._FEWEST", 99)
    problem = noap.Problem(noise(), k=5, adversary=noap.FeatureWise(2.0))
    result = older.solve(problem, node_limit=6000)
    assert result.limit is Limit.NODES
    bounds = [point.bound for point in result.trace]
    assert (np.diff(bounds) <= 1e-12).all()
    assert (np.diff([point.nodes for point in result.trace]) >= 0).all()
    assert result.bound < 0.5 * bounds[0]
    assert result.trace[-1].bound == result.bound


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_memory_limit_stops_the_search():
    result = older.solve(noap.Problem(noise(), k=5, adversary=noap.FeatureWise(2.0)), memory_limit=0.01)
    assert result.limit is Limit.MEMORY
    assert np.isfinite(result.bound)


@pytest.mark.parametrize("option", ["node_limit", "memory_limit"])
@pytest.mark.parametrize("bad", [0, -1, "many", True, float("inf"), float("nan")])
def test_bad_limits_are_named(option, bad):
    problem = noap.Problem(np.eye(3), k=1, adversary=noap.NoAdversary())
    with pytest.raises(noap.errors.InvalidProblem, match=option):
        older.solve(problem, **{option: bad})


def test_covariance_and_samples_give_the_same_proof():
    X = noise(30, 12)
    for adversary in (noap.NoAdversary(), noap.FeatureWise(1.5)):
        whole = older.solve(noap.Problem(X, k=4, adversary=adversary))
        short = older.solve(noap.Problem.from_covariance(X.T @ X / 30, n_samples=30, k=4, adversary=adversary))
        assert whole.nodes == short.nodes
        assert whole.bound == pytest.approx(short.bound, rel=1e-12)


def test_same_seed_same_answer():
    problem = noap.Problem(noise(40, 30), k=4, adversary=noap.FeatureWise(2.0))
    first, second = older.solve(problem), older.solve(problem)
    assert (first.nodes, first.bound) == (second.nodes, second.bound)
    np.testing.assert_array_equal(first.v, second.v)


@pytest.mark.parametrize(("k", "published"), [(5, 3.43978), (10, 4.59429)])
def test_published_optima_are_proved(k, published):
    from sklearn.datasets import load_wine

    S = np.corrcoef(load_wine().data.T)
    result = older.solve(noap.Problem.from_covariance(S, n_samples=178, k=k, adversary=noap.NoAdversary()), gap=1e-8)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(published, abs=6e-6)


@pytest.mark.parametrize("normalised", [0.0, 0.5, 1.5, 2.5])
def test_the_paper_s_model_at_full_size(normalised):
    model = noap.theory.spiked_wishart(500, 100, 5, 3.0, k1=2, c=0.8, random_state=0)
    problem = noap.Problem(model.X, k=5, adversary=noap.FeatureWise(normalised * np.sqrt(500 / 5)))
    result = older.solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.gap <= 1e-4
    assert result.bound_proof == "rigorous"
    assert "rigorous" in result.claim


def test_compiling_is_said_and_not_counted(tmp_path):
    # A fresh cache folder: this process must compile again, and the time limit must not notice.
    import subprocess
    import sys

    code = (
        "import numpy as np, noap, noap.runtime.compilation\n"
        "said = []\n"
        "noap.runtime.compilation.tell = said.append\n"
        "X = np.random.default_rng(0).standard_normal((30, 8))\n"
        "older = noap.Settings(most_features=0)\n"
        "problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(0.5))\n"
        "r = noap.solve(problem, time_limit=5.0, settings=older)\n"
        "print(r.status.value, len(said), r.seconds < 5)\n"
    )
    sources = str(Path(noap.__file__).parent.parent)
    environment = {"PATH": "", "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": sources}
    for said in (1, 0):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
        )
        assert done.stdout.split() == ["optimal", str(said), "True"], done.stderr


@pytest.mark.parametrize("exponent", [-490, -400, -200, 200, 260, 490])
def test_scale_does_not_matter(exponent):
    # Products of four entries leave the range of float64 long before the entries do.
    rng = np.random.default_rng(1087)
    d, n, k = int(rng.integers(20, 60)), int(rng.integers(8, 60)), int(rng.integers(4, 13))
    X = rng.standard_normal((n, d))
    for adversary in (noap.NoAdversary(), noap.FeatureWise(1.0)):
        plain = older.solve(noap.Problem(X, k=k, adversary=adversary))
        factor = 2.0**exponent
        scaled = older.solve(noap.Problem(X * factor, k=k, adversary=adversary.rescaled(factor)))
        assert scaled.status is plain.status is Status.OPTIMAL
        assert scaled.value == pytest.approx(plain.value * factor**2, rel=1e-9)
        assert scaled.bound == pytest.approx(plain.bound * factor**2, rel=1e-9)


def test_a_better_vector_in_the_tree_keeps_the_node_whole():
    # Poor starts make the search find its own incumbents; each time the node is examined again.
    from noap.exact.feature_wise.search import solve_gram
    from noap.runtime.controls import Controls
    from noap.runtime.limits import Limits

    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((24, 30))
        problem = noap.Problem(X, k=5, adversary=noap.FeatureWise(0.55 * np.linalg.norm(X, axis=0).max()))
        best = older.solve(problem)
        worst = np.zeros(30)
        worst[np.argmax(problem.column_norms)] = 1.0
        outcome = solve_gram(problem, Controls.checked(1e-4, None, 0, False), worst, Limits())
        values = [point.value for point in outcome.trace]
        assert (np.diff(values) >= 0).all()
        assert problem.value(outcome.v) == pytest.approx(best.value, rel=2e-4)
        assert outcome.bound == pytest.approx(best.bound, rel=3e-4)


@pytest.mark.parametrize("share", [0.99, 0.999, 1 - 1e-5, 1 - 1e-6])
def test_many_samples_near_rho_max_are_still_proved(share):
    X = np.random.default_rng(0).standard_normal((10_000, 10))
    top = np.linalg.norm(X, axis=0).max()
    assert older.solve(noap.Problem(X, k=5, adversary=noap.FeatureWise(share * top))).status is Status.OPTIMAL


def test_gap_zero_ends():
    X = noise(9, 7)
    for adversary in (noap.NoAdversary(), noap.FeatureWise(0.7)):
        result = older.solve(noap.Problem(X, k=3, adversary=adversary), gap=0.0, node_limit=20_000)
        assert result.limit is None
        assert result.gap <= 1e-11


def test_a_slightly_indefinite_covariance_keeps_its_bound_valid():
    S = np.array([[1.0, 0.9e-5], [0.9e-5, 0.0]])
    problem = noap.Problem.from_covariance(S, n_samples=4, k=2, adversary=noap.NoAdversary())
    result = older.solve(problem, gap=1e-9)
    assert Fraction(result.bound) >= exact_worth(problem, np.linalg.eigh(S)[1][:, -1])
