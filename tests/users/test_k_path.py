"""Paths over k: every level against brute force, certified, within its limits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k_path_cases import data, standardised_wine

import noap
from judge import exact_worth, feature_wise_best, sample_wise_optimum, vanilla_best
from noap.analysis.levels import implied_bounds
from noap.errors import InvalidProblem, NoapWarning


@pytest.fixture(scope="module")
def wine():
    return standardised_wine()


@pytest.fixture(scope="module")
def wine_path(wine):
    return noap.k_path(noap.Problem(wine, k=6, adversary=noap.FeatureWise(0.3 * np.sqrt(len(wine)))))


def judged(problem, k):
    """The optimum and a vector that attains it, without any code of noap; None for the vector where it is 0."""
    S = problem.covariance if problem.X is None else problem.X.T @ problem.X / problem.n_samples
    if problem.adversary.rho == 0:
        return vanilla_best(S, k)
    return feature_wise_best(problem.n_samples * S, problem.n_samples, k, problem.adversary.rho)


def assert_right(path):
    assert (np.diff(path.values) >= 0).all()
    assert (path.values <= path.bounds).all()
    for k, result in zip(path.ks, path, strict=True):
        optimum, v = judged(path.problem, int(k))
        assert result.problem.k == k
        assert len(result.support) <= k
        assert result.value <= optimum * (1 + 1e-7) + 1e-12
        assert result.value >= optimum * (1 - 1.01e-4) - 1e-9
        # From above the judge's vector is judge enough, in exact arithmetic.
        assert v is None or Fraction(result.bound) >= exact_worth(result.problem, v)
        assert v is None or Fraction(path.implied_bounds[list(path.ks).index(k)]) >= exact_worth(result.problem, v)
        assert result.status is noap.Status.OPTIMAL


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.8])
@pytest.mark.parametrize("seed", range(2))
def test_every_level_is_the_optimum_feature_wise(seed, share):
    X = data(seed)
    rho = share * np.linalg.norm(X, axis=0).max()
    path = noap.k_path(noap.Problem(X, k=6, adversary=noap.FeatureWise(rho)))
    assert path.ks.tolist() == [1, 2, 3, 4, 5, 6]
    assert_right(path)


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=2, max_size=5),
    st.sampled_from([0.0, 0.25, 1.0, 2.5]),
    st.booleans(),
)
@settings(max_examples=25)
def test_small_integers_every_k_every_certificate(rows, rho, from_covariance):
    X = np.array(rows, dtype=float)
    adversary = noap.FeatureWise(rho) if rho else noap.NoAdversary()
    if from_covariance and X.any():
        problem = noap.Problem.from_covariance(X.T @ X / len(X), n_samples=len(X), k=4, adversary=adversary)
    else:
        problem = noap.Problem(X, k=4, adversary=adversary)
    if problem.optimum_is_zero:
        with pytest.warns(NoapWarning, match="optimum is 0 for every k"):
            path = noap.k_path(problem)
        assert (path.bounds == 0).all()
        assert path.elbow() == path.choose(0.5) == 1
        assert all(support.size == 0 for support in path.supports)
    else:
        path = noap.k_path(problem)
        assert_right(path)
    for result, certificate in zip(path, path.certificates, strict=True):
        assert noap.verify(result.problem, certificate).ok


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_every_level_is_the_optimum_sample_wise(rho):
    X = data(3, n=12, d=5)
    path = noap.k_path(noap.Problem(X, k=3, adversary=noap.SampleWise(rho)), gap=1e-3)
    optima = np.array([sample_wise_optimum(X, k, rho) for k in (1, 2, 3)])
    assert (path.values <= optima * (1 + 1e-7)).all()
    assert (path.bounds >= optima * (1 - 1e-9)).all()
    assert (path.implied_bounds >= optima * (1 - 1e-9)).all()
    assert (path.values >= optima * (1 - 1.01e-3)).all()
    assert (np.diff(path.values) >= 0).all()
    for result in path:
        assert noap.verify(result.problem, result.certificate).ok


def test_sample_wise_small_k_may_be_cancelled_where_a_larger_one_is_not():
    X = np.ones((4, 3))
    path = noap.k_path(noap.Problem(X, k=3, adversary=noap.SampleWise(1.0)))
    # A sample's score is sqrt(k) at most.
    assert path.values == pytest.approx([0.0, (2**0.5 - 1) ** 2, (3**0.5 - 1) ** 2])
    assert path.supports[0].size == 0
    assert path.increments == pytest.approx(np.diff([0.0, *path.values]))
    # opt_2 <= 2 opt_1 is wrong here; the inequality that holds is tight.
    assert implied_bounds(path.problem, path.ks, np.array([0.0, 9.0, 9.0])) == pytest.approx(path.values, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["none", "feature", "sample", "covariance", "indefinite"]))
def test_bounds_of_one_level_hold_for_the_others(seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 4)) @ (np.eye(4) + rng.uniform(0, 1) * rng.standard_normal((4, 4)))
    rho = float(rng.uniform(0, 0.8))
    if kind == "sample":
        problem = noap.Problem(X, k=3, adversary=noap.SampleWise(rho))
        optima = [sample_wise_optimum(X, k, rho, points=400) for k in (1, 2, 3)]
    else:
        adversary = noap.FeatureWise(rho) if kind in ("feature", "covariance") else noap.NoAdversary()
        S = X.T @ X / len(X)
        if kind == "indefinite":
            S = S - 0.6 * np.diag(S).max() * np.eye(4)
            S += (0.1 - np.diag(S).max()) * np.eye(4)  # largest entry of the diagonal 0.1, others below
        if kind in ("covariance", "indefinite"):
            problem = noap.Problem.from_covariance(S, n_samples=6, k=3, adversary=adversary)
        else:
            problem = noap.Problem(X, k=3, adversary=adversary)
        optima = [judged(problem, k)[0] for k in (1, 2, 3)]
    optima = np.maximum(optima, 0.0)
    # Some levels are proved, others hardly at all.
    bounds = optima * rng.choice([1.0, 1.0, 1.05, 30.0], 3) + 1e-12
    implied = implied_bounds(problem, np.array([1, 2, 3]), bounds)
    assert (implied >= optima * (1 - 1e-9) - 1e-12).all()
    assert (implied <= bounds).all()
    assert (np.diff(implied) >= 0).all()


def test_an_open_level_is_bounded_by_its_neighbours():
    problem = noap.Problem(data(0), k=4, adversary=noap.FeatureWise(0.5))
    implied = implied_bounds(problem, np.array([2, 3, 4]), np.array([2.0, 99.0, 2.5]))
    assert implied == pytest.approx([2.0, 2.5, 2.5])
    assert implied_bounds(problem, np.array([2, 3, 4]), np.array([2.0, 99.0, 99.0])) == pytest.approx([2.0, 3.0, 4.0])


def test_levels_agree_with_single_solves(wine, wine_path):
    for result in wine_path:
        alone = noap.solve(result.problem)
        assert result.value == pytest.approx(alone.value, rel=1e-4)
        assert wine_path.at(result.problem.k) is result
        checked = noap.verify(
            noap.Problem(wine, k=result.problem.k, adversary=alone.problem.adversary), result.certificate
        )
        assert checked.ok
        assert checked.bound == pytest.approx(result.bound, rel=1e-8)


def test_the_covariance_is_computed_once():
    path = noap.k_path(noap.Problem(data(1, d=9), k=6, adversary=noap.FeatureWise(0.5)))
    assert all(result.problem.covariance is path[1].problem.covariance for result in path[2:])


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_values_rise_although_no_level_is_closed():
    problem = noap.Problem(data(2, d=12), k=5, adversary=noap.FeatureWise(0.5))
    whole, path = noap.k_path(problem), noap.k_path(problem, node_limit=1)
    assert (np.diff(path.values) >= 0).all()
    assert path.values == pytest.approx(whole.values, rel=0.05)
    assert path.values[-1] > 1.5 * path.values[0]
    assert (path.bounds >= whole.values * (1 - 1e-12)).all()


def test_given_ks_are_sorted_and_none_is_beyond_the_features():
    problem = noap.Problem(data(4), k=2, adversary=noap.NoAdversary())
    path = noap.k_path(problem, np.array([4, 2, 2]))
    assert path.ks.tolist() == [2, 4]
    assert_right(path)
    with pytest.raises(InvalidProblem, match="ks must be at most the number of features, 6, got 500"):
        noap.k_path(problem, [5, 7, 500])
    assert noap.k_path(problem).ks.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"problem": np.eye(3)}, "problem must be a noap.Problem"),
        ({"ks": []}, "ks must be a list of integers"),
        ({"ks": [0, 1]}, "ks must be a list of integers of at least 1"),
        ({"ks": [1.5]}, "ks must be a list of integers"),
        ({"ks": [True]}, "ks must be a list of integers"),
        ({"ks": 3}, "ks must be a list of integers"),
        ({"gap": -1.0}, "gap must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"random_state": "x"}, "random_state must be"),
        ({"node_limit": 0}, "node_limit must be a positive integer"),
        ({"keep": 3}, "keep is not an option of method 'exact'"),
    ],
)
def test_what_cannot_be_used_is_named(arguments, sentence):
    problem = noap.Problem(data(0), k=2, adversary=noap.FeatureWise(0.5))
    with pytest.raises(InvalidProblem, match=sentence):
        noap.k_path(**({"problem": problem} | arguments))


def test_the_same_call_gives_the_same_path():
    problem = noap.Problem(data(3, d=9), k=4, adversary=noap.FeatureWise(0.5))
    first, second = (noap.k_path(problem, random_state=np.random.default_rng(7)) for _ in range(2))
    assert (first.vectors == second.vectors).all()
    assert (first.bounds == second.bounds).all()
    unseeded, zero = noap.k_path(problem), noap.k_path(problem, random_state=0)
    assert (unseeded.vectors == zero.vectors).all()
    assert (unseeded.bounds == zero.bounds).all()


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("adversary", [noap.NoAdversary(), noap.FeatureWise(1.0), noap.SampleWise(0.4)])
def test_without_time_every_level_has_a_bound_that_holds(adversary):
    problem = noap.Problem(data(8, d=20), k=5, adversary=adversary)
    path = noap.k_path(problem, time_limit=1e-9)
    assert path.ks.tolist() == [1, 2, 3, 4, 5]
    assert (np.diff(path.values) >= 0).all()
    better = [noap.solve(result.problem, "ascent").value for result in path]
    assert np.isfinite(path.bounds).all()
    assert (path.bounds >= np.array(better) * (1 - 1e-12)).all()
    assert path[-1].limit is noap.Limit.TIME
    for result in path:
        assert noap.verify(result.problem, result.certificate).ok
    if path.shares[-1] < 0.999:
        with pytest.warns(NoapWarning, match="No k is proved to keep a share of 0.999 of the optimum at k = 5"):
            assert path.choose(0.999) == 5


def noisy():
    """60 features of noise and 60 copies of one: no quick search closes k = 11, and nothing is left to do at k = 57."""
    rng = np.random.default_rng(0)
    noise, copied = rng.standard_normal((80, 60)), rng.standard_normal((80, 1))
    X = np.hstack([noise, np.sqrt(0.2) * np.repeat(copied / np.sqrt((copied**2).mean()), 60, axis=1)])
    return noap.Problem(X, k=60, adversary=noap.NoAdversary())


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_open_levels_share_the_time_evenly():
    path = noap.k_path(noisy(), [1, 11, 12], time_limit=0.6, gap=1e-9)
    assert [result.limit for result in path] == [None, noap.Limit.TIME, noap.Limit.TIME]
    # Of 0.6 seconds the first open level has half of what the quick one left, the second the rest.
    assert path[1].seconds >= 0.5 * (0.6 - path[0].seconds) * (1 - 1e-3) - 0.1
    assert path[2].seconds >= 0.1


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_an_open_level_is_tried_again_with_the_time_that_is_left():
    path = noap.k_path(noisy(), [11, 57, 58, 59, 60], time_limit=0.8, gap=1e-9)
    assert path[0].limit is noap.Limit.TIME
    # A fifth of the time at first, and then all that the others left.
    assert sum(result.seconds for result in path) >= 0.55
