"""The tree on small problems, judged by all supports; its limits, interrupts and determinism."""

import itertools
import math
import os
import signal
import threading

import numpy as np
import pytest

import noap
from noap.errors import InvalidProblem


def brute_force(problem: noap.Problem) -> float:
    """Return the best value over all supports, each by ascent from many starts in plain NumPy: a lower bound."""
    rng = np.random.default_rng(0)
    n, d = problem.n_samples, problem.n_features
    A = problem.covariance if problem.X is None else problem.X.T @ problem.X / n
    r = problem.adversary.budgets(d) / math.sqrt(n) if isinstance(problem.adversary, noap.FeatureWise) else np.zeros(d)
    costs = np.zeros(d) if problem.costs is None else problem.costs
    best = -math.inf
    for size in range(len(problem.include), problem.k + 1):
        for chosen in itertools.combinations(range(d), size):
            if not set(problem.include) <= set(chosen) or set(problem.exclude) & set(chosen):
                continue
            S = np.array(chosen, dtype=int)
            value = 0.0
            usable = S[np.isfinite(r[S])]
            if len(usable):
                B, q = A[np.ix_(usable, usable)], r[usable]
                V = np.concatenate([rng.standard_normal((8, len(B))), np.eye(len(B)), np.linalg.eigh(B)[1].T])
                V /= np.linalg.norm(V, axis=1)[:, None]
                for _ in range(80):
                    G = V @ B
                    W = G / np.sqrt(np.maximum((V * G).sum(1), 1e-300))[:, None]
                    W = np.sign(W) * np.maximum(np.abs(W) - q, 0.0)
                    norms = np.linalg.norm(W, axis=1)
                    V[norms > 0] = W[norms > 0] / norms[norms > 0, None]
                forms = np.maximum(((V @ B) * V).sum(1), 0.0)
                value = float((np.maximum(np.sqrt(forms) - np.abs(V) @ q, 0.0) ** 2).max())
            best = max(best, value - costs[S].sum())
    return best


def problems(seed: int):
    """Yield small problems of all kinds, with ties, duplicates, exact features and demands."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 7)), int(rng.integers(1, 9))
    k = int(rng.integers(1, d + 1))
    X = rng.standard_normal((n, d)) if seed % 3 else rng.integers(-2, 3, (n, d)).astype(float)
    if seed % 4 == 0:
        X[:, rng.integers(d)] = X[:, rng.integers(d)]
    if not X.any():
        X[0, 0] = 1.0
    rho = math.sqrt(n) * rng.choice([0.0, 0.2, 0.6, 1.0], d) * rng.random(d)
    adversary = noap.FeatureWise(rho) if seed % 5 else noap.NoAdversary()
    costs = 0.3 * rng.random(d) if seed % 2 else None
    include = rng.permutation(d)[: rng.integers(0, k + 1)] if seed % 3 == 1 else []
    rest = np.setdiff1d(np.arange(d), include)
    exclude = rng.permutation(rest)[: rng.integers(0, max(len(rest), 1))] if seed % 6 == 1 else []
    terms = {"k": k, "adversary": adversary, "costs": costs, "include": list(include), "exclude": list(exclude)}
    yield noap.Problem(X, **terms)
    S = X.T @ X / n
    yield noap.Problem.from_covariance((S + S.T) / 2, n_samples=n, **terms)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(60))
def test_no_support_is_better_than_the_bound_and_the_certificate_is_accepted(seed: int) -> None:
    for problem in problems(seed):
        result = noap.solve(problem, gap=1e-5)
        best = brute_force(problem)
        size = max(abs(best), problem.cost_of_demands, 1e-9)
        assert result.bound >= best - 1e-9 * size
        assert result.value >= best - 2e-5 * size
        if result.certificate is not None:
            again = type(result.certificate).from_bytes(result.certificate.to_bytes())
            report = noap.verify(problem, again)
            assert report.ok, report.message
            assert report.bound == result.bound or result.nodes == 0  # an optimum of 0 has a proof of its own


@pytest.fixture(scope="module")
def hard() -> noap.Problem:
    X = np.random.default_rng(3).standard_normal((60, 40))
    return noap.Problem(X, k=10, adversary=noap.NoAdversary())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "limit", [{"node_limit": 1}, {"node_limit": 700}, {"time_limit": 1e-4}, {"memory_limit": 1e-3}]
)
def test_a_limit_leaves_a_bound_with_its_certificate(hard: noap.Problem, limit: dict[str, float]) -> None:
    result = noap.solve(hard, gap=0.0, **limit)
    assert result.bound >= result.value > 0
    report = noap.verify(hard, result.certificate)
    assert report.ok
    assert report.bound == result.bound


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
@pytest.mark.parametrize("after", [0.1, 0.2, 0.5, 1.0])
def test_ctrl_c_returns_the_best_so_far(after: float) -> None:
    X = np.random.default_rng(3).standard_normal((200, 100))
    harder = noap.Problem(X, k=30, adversary=noap.FeatureWise(0.1 * math.sqrt(200)))
    timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        result = noap.solve(harder, gap=0.0)
    finally:
        timer.join()
    assert result.limit is noap.Limit.INTERRUPTED
    assert noap.verify(harder, result.certificate).ok


@pytest.mark.filterwarnings("ignore")
def test_the_same_call_gives_the_same_certificate(hard: noap.Problem) -> None:
    first, second = (noap.solve(hard, node_limit=300).certificate.to_bytes() for _ in range(2))
    assert first == second


def test_demanded_features_take_a_place_and_may_have_no_weight() -> None:
    X = np.array([[3.0, 0.0, 1.0], [-3.0, 0.1, -1.0], [3.0, -0.1, 1.0], [-3.0, 0.0, -1.0]])
    problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(1.0), include=[1], feature_names=["a", "b", "c"])
    result = noap.solve(problem)
    assert result.support.tolist() == [0]
    assert result.messages == ("Demanded and without weight: b; each takes one of the 2 places.",)
    assert result.status is noap.Status.OPTIMAL
    without = noap.solve(
        noap.Problem(X, k=2, adversary=noap.FeatureWise(1.0), exclude=["a"], feature_names=["a", "b", "c"]),
    )
    assert without.features == ("c",)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"include": [0, 1, 2]}, "include names 3 features, more than k = 2"),
        ({"include": [0], "exclude": [0]}, "include and exclude both name the feature 0"),
        ({"include": ["x"]}, "include names the feature 'x'"),
        ({"include": "ab"}, "include must be a list of features"),
        ({"exclude": [0, 1, 2]}, "exclude names all features"),
        ({"include": [True]}, "include names the feature True"),
    ],
)
def test_wrong_demands_are_refused_in_a_sentence(terms: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidProblem, match=said):
        noap.Problem(np.eye(3), k=2, adversary=noap.NoAdversary(), **terms)


def test_other_methods_refuse_demands() -> None:
    problem = noap.Problem(np.eye(3), k=2, adversary=noap.NoAdversary(), include=[1])
    with pytest.raises(InvalidProblem, match="takes neither include nor exclude"):
        noap.solve(problem, method="ascent")


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidProblem, match=r"Settings\.cheap_nodes must be a number of at least 0"):
        noap.Settings(cheap_nodes=-1)
    problem = noap.Problem(np.eye(3), k=2, adversary=noap.NoAdversary())
    with pytest.raises(InvalidProblem, match=r"settings must be a noap\.Settings"):
        noap.solve(problem, settings={"cheap_nodes": 3})


@pytest.mark.filterwarnings("ignore")
def test_limits_of_verify_are_kept(hard: noap.Problem) -> None:
    certificate = noap.solve(hard, node_limit=200).certificate
    assert noap.verify(hard, certificate, time_limit=60.0).ok
    late = noap.verify(hard, certificate, time_limit=0.01)
    assert not late.ok
    assert late.message == "Rejected: it could not be proved within 0.01 seconds."


@pytest.mark.parametrize("megabytes", [1.0, 60.0])
def test_a_limit_of_memory_is_no_endless_wait(megabytes: float) -> None:
    """OpenBLAS allocates its work space at the first call; where it gets none it does not come back."""
    X = np.random.default_rng(0).standard_normal((60, 40))
    problem = noap.Problem(X, k=8, adversary=noap.FeatureWise(0.3 * math.sqrt(60)))
    certificate = noap.solve(problem).certificate
    assert noap.verify(problem, certificate, memory_limit=megabytes, time_limit=300.0).ok
    large = noap.Problem(np.diag(np.arange(1.0, 351.0)), 2, noap.NoAdversary())
    few = noap.verify(large, noap.solve(large).certificate, memory_limit=0.1 * megabytes, time_limit=300.0)
    assert few.ok if megabytes > 50 else few.message.endswith("within 0.1 megabytes.")


@pytest.mark.parametrize("exponent", [-150, 0, 140])
def test_values_of_any_size_are_accepted(exponent: int) -> None:
    X = np.random.default_rng(0).standard_normal((12, 6)) * 10.0 ** (exponent / 2)
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(0.3 * math.sqrt(12) * 10.0 ** (exponent / 2)))
    result = noap.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.filterwarnings("ignore")
def test_subnormal_values_are_accepted() -> None:
    problem = noap.Problem([[1e-150, 0.0]], k=1, adversary=noap.FeatureWise(1e-150 * (1 - 2.2e-10)))
    result = noap.solve(problem)
    assert 0 < result.value < 1e-318
    assert noap.verify(problem, result.certificate).ok
