"""Several components at once against brute force over all packings, and the certificate of each."""

import math
import os
import signal
import threading
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packings import joint_optimum, small_problem

import noap
from cases import SHAPES
from noap.errors import InvalidProblem, NoapWarning

TOLERANCE = 2e-6


def solved(problem, r, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)  # of problems in which nothing is left
        return noap.solve_components(problem, r, gap=1e-6, **settings)


def judged(problem, ks):
    """Solve, compare with the enumeration, verify; returns the result."""
    joint = solved(problem, len(ks), k=ks)
    best = joint_optimum(problem, ks)
    room = TOLERANCE * max(best, 1e-3 * problem.scale)
    assert abs(joint.value - best) <= room
    assert joint.bound >= best - 1e-7 * max(best, 1e-6 * problem.scale)
    # Where budgets or costs cancel all but rounding no gap can be proved, as in a single problem.
    assert joint.status is noap.Status.OPTIMAL or joint.bound - joint.value <= 1e-11 * problem.scale
    supports = [set(one.support.tolist()) for one in joint.components]
    assert sum(map(len, supports)) == len(set().union(*supports)) if supports else joint.value == 0
    assert all(len(one) <= k for one, k in zip(sorted(supports, key=len)[::-1], sorted(ks)[::-1], strict=False))
    values = [one.value for one in joint.components]
    assert values == sorted(values, reverse=True)
    assert all(value > 0 for value in values)
    assert math.fsum(values) == joint.value
    assert len(values) <= len(ks)
    report = noap.verify(problem, joint.certificate)
    assert report.ok, report.message
    assert report.value <= joint.value * (1 + 1e-12) + 1e-12 * problem.scale
    assert (
        best - 1e-7 * max(best, 1e-6 * problem.scale) <= report.bound <= joint.bound * (1 + 1e-6) + 1e-8 * problem.scale
    )
    return joint


@pytest.mark.parametrize("seed", range(90))
def test_brute_force_agrees(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    k, r = int(rng.integers(1, min(d, 3) + 1)), int(rng.integers(1, min(d, 4) + 1))
    problem = small_problem(rng, SHAPES[seed % len(SHAPES)], d, k)
    judged(problem, (k,) * r if rng.random() < 0.7 else tuple(int(one) for one in rng.integers(1, k + 1, r)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(90, 600))
def test_brute_force_agrees_on_many(seed):
    test_brute_force_agrees(seed)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 3), st.integers(1, 3))
def test_brute_force_agrees_with_integers(seed, d, k, r):
    # Few different numbers: ties everywhere.
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (int(rng.integers(1, 5)), d)).astype(float)
    rho = rng.choice([0.0, 0.5, 1.0], d)
    costs = rng.choice([0.0, 0.25], d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = noap.Problem(X, min(k, d), noap.FeatureWise(rho), costs=costs)
    judged(problem, (problem.k,) * min(r, d))


def graph_problem(seed):
    """A symmetric matrix with hardly any diagonal: pairs along edges, and odd cycles that make the relaxation lie."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 9))
    S = rng.standard_normal((d, d)) if seed % 2 else rng.integers(-1, 2, (d, d)).astype(float)
    S = S + S.T
    np.fill_diagonal(S, rng.uniform(0.01, 0.5, d))
    k, r = min(int(rng.integers(2, 4)), d), int(rng.integers(2, 4))
    costs = None if rng.random() < 0.5 else rng.uniform(0, 0.3, d)
    problem = noap.Problem.from_covariance(S, n_samples=5, k=k, adversary=noap.NoAdversary(), costs=costs)
    return problem, (k,) * r if rng.random() < 0.6 else tuple(int(one) for one in rng.integers(1, k + 1, r))


@pytest.mark.parametrize("seed", range(30))
def test_brute_force_agrees_where_the_relaxation_may_lie(seed):
    judged(*graph_problem(seed))


def triangles():
    """Two triangles of strong pairs: half of every pair is worth more than any packing."""
    S = np.kron(np.eye(2), np.full((3, 3), 1.0)) + np.full((6, 6), 0.01)
    S[3:, 3:] *= 0.9
    np.fill_diagonal(S, 0.05)
    return noap.Problem.from_covariance(S, n_samples=5, k=2, adversary=noap.NoAdversary())


def test_branches_where_the_relaxation_is_not_whole():
    joint = judged(triangles(), (2, 2, 2))
    assert joint.branches > 1


def test_joint_beats_one_after_the_other():
    S = [[1.0, 0.8, 0.7, 0.0], [0.8, 1.0, 0.0, 0.6], [0.7, 0.0, 1.0, 0.0], [0.0, 0.6, 0.0, 1.0]]
    problem = noap.Problem.from_covariance(S, n_samples=10, k=2, adversary=noap.NoAdversary())
    first = noap.solve(problem)
    rest = np.setdiff1d(np.arange(4), first.support)
    assert first.value + noap.solve(problem.restricted(rest)).value == pytest.approx(2.8)
    assert judged(problem, (2, 2)).value == pytest.approx(3.3)


def test_fewer_components_where_no_more_are_worth_anything():
    X = np.diag([3.0, 2.0, 0.5, 0.1])
    problem = noap.Problem(X - X.mean(axis=0), k=2, adversary=noap.FeatureWise(1.0), costs=[0.0, 0.0, 0.0, 5.0])
    joint = judged(problem, (2, 2, 2))
    assert 1 <= len(joint.components) < 3
    assert joint.vectors.shape == (len(joint.components), 4)


def test_nothing_is_worth_anything():
    problem = noap.Problem(np.diag([1.0, -1.0]), k=1, adversary=noap.FeatureWise(2.0))
    with pytest.warns(NoapWarning, match="there is no component"):
        joint = noap.solve_components(problem, 2)
    assert joint.components == ()
    assert joint.value == joint.bound == 0.0
    assert joint.status is noap.Status.OPTIMAL
    assert noap.verify(problem, joint.certificate).ok


def test_columns_without_data_are_worth_nothing():
    problem = noap.Problem(np.zeros((8, 2)), k=1, adversary=noap.FeatureWise([0.0, 0.0]))
    joint = judged(problem, (1, 1))
    assert joint.components == ()
    assert noap.verify(problem, joint.certificate).bound == 0.0


def test_the_first_component_alone_is_the_ordinary_problem():
    rng = np.random.default_rng(3)
    problem = noap.Problem(rng.standard_normal((20, 8)), k=3, adversary=noap.FeatureWise(1.0))
    one = solved(problem, 1)
    assert one.value == pytest.approx(noap.solve(problem, gap=1e-6).value, rel=2e-6)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_a_limit_leaves_a_rigorous_bound():
    rng = np.random.default_rng(4)
    problem = noap.Problem(rng.standard_normal((30, 40)), k=6, adversary=noap.NoAdversary())
    stopped = noap.solve_components(problem, 3, time_limit=0.01)
    best = noap.solve_components(problem, 3, time_limit=1.0)
    assert stopped.limit is noap.Limit.TIME
    assert stopped.bound >= best.value
    assert noap.verify(problem, stopped.certificate).ok


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("seconds", [0.3, 1.0])
def test_an_interrupt_leaves_a_rigorous_bound(seconds):
    rng = np.random.default_rng(5)
    problem = noap.Problem(rng.standard_normal((60, 120)), k=12, adversary=noap.NoAdversary())  # minutes
    other = noap.solve_components(problem, 3, time_limit=0.5)
    clock = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    clock.start()
    stopped = noap.solve_components(problem, 3, time_limit=60.0)
    clock.join()
    assert stopped.limit is noap.Limit.INTERRUPTED
    assert stopped.bound >= other.value
    assert noap.verify(problem, stopped.certificate).ok


def test_forbidden_features():
    problem = triangles()
    without = noap.Problem.from_covariance(
        problem.covariance, n_samples=5, k=2, adversary=noap.NoAdversary(), exclude=[0]
    )
    joint = solved(without, 2)
    assert all(0 not in one.support for one in joint.components)
    smaller = problem.restricted(np.arange(1, 6))
    assert joint.value == pytest.approx(joint_optimum(smaller, (2, 2)), rel=1e-5)
    assert noap.verify(without, joint.certificate).ok
    assert not noap.verify(problem, joint.certificate).ok
    demanded = noap.Problem.from_covariance(
        problem.covariance, n_samples=5, k=2, adversary=noap.NoAdversary(), include=[0]
    )
    with pytest.raises(InvalidProblem, match="without demanded features"):
        noap.solve_components(demanded, 2)


def test_the_same_call_gives_the_same_answer():
    problem, ks = graph_problem(7)
    one, two = solved(problem, len(ks), k=ks), solved(problem, len(ks), k=ks)
    assert one.bound == two.bound
    assert np.array_equal(one.vectors, two.vectors)


@pytest.mark.parametrize(
    ("r", "settings", "said"),
    [
        (0, {}, "r must be a positive integer"),
        (9, {}, "r must be at most the number of features"),
        (2, {"k": [1]}, "k must have one entry for each of the 2 components"),
        (2, {"k": [1, 9]}, "k must be at most"),
        (2, {"gap": -1.0}, "gap must be"),
        (2, {"k": []}, "k must have one entry for each of the 2 components, got 0"),
    ],
)
def test_refuses(r, settings, said):
    problem = noap.Problem(np.eye(3) - 1 / 3, k=2, adversary=noap.NoAdversary())
    with pytest.raises(InvalidProblem, match=said):
        noap.solve_components(problem, r, **settings)


def test_refuses_what_has_no_theorem():
    problem = noap.Problem(np.eye(3) - 1 / 3, k=2, adversary=noap.SpectralNorm(0.1))
    with pytest.raises(InvalidProblem, match="serves the adversaries FeatureWise, NoAdversary and SampleWise"):
        noap.solve_components(problem, 2)
    with pytest.raises(InvalidProblem, match="problem must be"):
        noap.solve_components("nothing", 2)


def test_says_what_is_proved():
    joint = judged(triangles(), (2, 2))
    assert joint.claim.startswith("optimal: no 2 disjoint components")
    assert "proved bound" in joint._repr_html_()
    assert "joint optimum" in joint.certificate._repr_html_()
