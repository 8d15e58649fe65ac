"""Some hundred features with a budget: the search on X'X with a try of the search for many features in between."""

import itertools

import numpy as np
import pytest

import judge
import noap
import older
from noap.exact import prove
from noap.exact.many import middle
from noap.proofs.many import ManyProof
from noap.result import Limit


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch):
    """Small problems go the way of some hundred features, and hardly anything ends before the try."""
    monkeypatch.setattr(prove, "_HUNDREDS", 2)
    monkeypatch.setattr(middle, "_LOOK", 1)


def drawn(seed, n=30, d=9):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, : d // 2] += np.outer(rng.standard_normal(n), rng.uniform(0.2, 1.5, d // 2))
    return X, rng


@pytest.mark.parametrize("seed", range(24))
def test_the_optimum_is_that_of_brute_force(seed):
    X, rng = drawn(seed)
    k, rho = int(rng.integers(2, 5)), float(rng.uniform(0.02, 0.6) * np.sqrt(len(X)))
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rho))
    result = older.solve(problem, gap=1e-6)
    best = judge.feature_wise_best(X.T @ X, len(X), k, rho)[0]
    assert result.value == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert result.bound >= best * (1 - 1e-9)
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.parametrize("seed", range(6))
def test_budgets_of_single_features(seed):
    X, rng = drawn(seed)
    d, n, k = X.shape[1], len(X), 3
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rng.uniform(0.0, 0.5, d) * np.sqrt(n)))
    result = older.solve(problem, gap=1e-6)
    # No support has a better vector than the one found, on a grid of what ascent reaches from each.
    best = max(noap.solve(problem.restricted(np.array(S)), "ascent").value for S in itertools.combinations(range(d), k))
    assert result.value >= best * (1 - 1e-6) - 1e-12
    assert noap.verify(problem, result.certificate).ok


def test_the_try_may_prove_it_and_then_its_proof_is_handed_over(monkeypatch):
    X, _ = drawn(1, n=40, d=60)
    X /= X.std(axis=0)
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(0.3 * np.sqrt(40)))
    with_try = older.solve(problem)
    assert isinstance(with_try.certificate.proof, ManyProof)
    assert noap.verify(problem, with_try.certificate).ok
    monkeypatch.setattr(prove, "_HUNDREDS", 1000)
    without = older.solve(problem)
    assert not isinstance(without.certificate.proof, ManyProof)
    assert with_try.value == pytest.approx(without.value, rel=1e-9)
    bounds = [point.bound for point in with_try.trace]
    times = [point.seconds for point in with_try.trace]
    assert bounds == sorted(bounds, reverse=True)
    assert times == sorted(times)


def test_a_try_that_leads_nowhere_is_followed_by_the_search_on_the_gram_matrix(monkeypatch):
    monkeypatch.setattr(middle, "_NODES", 1)
    X, _ = drawn(1, n=40, d=60)
    problem = noap.Problem(X / X.std(axis=0), k=4, adversary=noap.FeatureWise(0.3 * np.sqrt(40)))
    result = older.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    assert result.limit is None
    assert not isinstance(result.certificate.proof, ManyProof)
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("nodes", [2, 5, 10])
def test_a_node_limit_counts_both_searches(nodes, monkeypatch):
    tried, real = [], middle.solve_many

    def counted(*args, **kwargs):
        tried.append(real(*args, **kwargs))
        return tried[-1]

    monkeypatch.setattr(middle, "solve_many", counted)
    X, _ = drawn(2, n=40, d=60)
    problem = noap.Problem(X / X.std(axis=0), k=6, adversary=noap.FeatureWise(0.1 * np.sqrt(40)))
    result = older.solve(problem, gap=1e-9, node_limit=nodes)
    assert result.limit is Limit.NODES
    assert tried[0].nodes > 0
    # One on X'X, those of the try, and none after it where the try has used them up.
    assert result.nodes == 1 + tried[0].nodes if tried[0].nodes >= nodes - 1 else result.nodes >= nodes
    assert result.bound >= result.value
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_an_interrupt_in_the_try_returns_what_is_proved(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("noap.exact.many.search.found_levels", interrupted)
    X, _ = drawn(2, n=40, d=60)
    problem = noap.Problem(X / X.std(axis=0), k=6, adversary=noap.FeatureWise(0.1 * np.sqrt(40)))
    result = older.solve(problem, gap=1e-9)
    assert result.limit is Limit.INTERRUPTED
    assert result.bound >= result.value


def test_the_same_problem_has_the_same_proof():
    X, _ = drawn(1, n=40, d=60)
    problem = noap.Problem(X / X.std(axis=0), k=4, adversary=noap.FeatureWise(0.3 * np.sqrt(40)))
    assert older.solve(problem).certificate.to_bytes() == older.solve(problem).certificate.to_bytes()


@pytest.mark.parametrize("options", [{"adversary": noap.FeatureWise(0.0)}, {"costs": np.full(60, 0.01)}, {"k": 31}])
def test_there_is_no_try_without_a_budget_with_costs_or_for_large_supports(options, monkeypatch):
    def unwanted(*args, **kwargs):
        raise AssertionError("the search for many features was tried")

    X, _ = drawn(1, n=40, d=60)
    given = {"k": 4, "adversary": noap.FeatureWise(0.3 * np.sqrt(40))} | options
    older.solve(noap.Problem(X[:, :4], k=2, adversary=noap.FeatureWise(0.5)))  # compiles
    monkeypatch.setattr(middle, "solve_many", unwanted)
    result = older.solve(noap.Problem(X / X.std(axis=0), **given), gap=0.3, time_limit=20)
    assert result.bound >= result.value


def test_a_gap_of_nothing_is_proved_by_the_try_as_far_as_rounding_allows(monkeypatch):
    X, _ = drawn(1, n=40, d=60)
    problem = noap.Problem(X / X.std(axis=0), k=4, adversary=noap.FeatureWise(0.3 * np.sqrt(40)))
    result = older.solve(problem, gap=0)
    assert result.status is noap.Status.OPTIMAL
    assert isinstance(result.certificate.proof, ManyProof)


def test_what_is_compiled_before_the_clock_runs_includes_the_try(monkeypatch):
    monkeypatch.undo()
    X, _ = drawn(1, n=40, d=60)
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(1.0))
    monkeypatch.setattr(prove, "_HUNDREDS", 2)
    entry = prove._search_for(problem)
    assert entry.solve is middle.solve_middle
    assert entry.trial is not middle.solve_middle  # on a tiny problem that ends before the try
