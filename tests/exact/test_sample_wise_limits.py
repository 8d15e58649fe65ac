"""Limits hold inside every phase of the sample-wise method, and what comes back is valid whatever stopped it."""

import itertools
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import judge
import noap
import older
from noap.exact.sample_wise import cones as cones_module
from noap.exact.sample_wise import portions as portions_module
from noap.exact.sample_wise import tree as tree_module
from noap.exact.sample_wise.attack import Attack
from noap.exact.sample_wise.instance import SampleInstance, crude_bound, kept_rows, sum_room
from noap.exact.sample_wise.light import response_outcome
from noap.exact.sample_wise.long_game import long_contest
from noap.exact.sample_wise.search import solve_samples
from noap.exact.sample_wise.tree import root_bytes
from noap.heuristics import climber
from noap.heuristics.sample_oracle import SampleOracle
from noap.linalg.outward import gamma
from noap.result import Limit
from noap.runtime.controls import Controls, Stopped
from noap.runtime.limits import Limits


@pytest.fixture
def short_portions(monkeypatch):
    """Every pass over more than a few samples is cut up, as it would be on very many."""
    monkeypatch.setattr(portions_module, "MOST_ROWS", 7)
    monkeypatch.setattr(cones_module, "MOST_ROWS", 7)
    monkeypatch.setattr(cones_module, "_WORK", 4_000)
    monkeypatch.setattr(climber, "_MANY", 16)
    monkeypatch.setattr(climber, "_FEW", 12)
    monkeypatch.setattr(SampleOracle, "_SCORE_BYTES", 256)
    monkeypatch.setattr(SampleOracle, "_GATHER_BYTES", 256)


def spiked(n, d, k, seed):
    return noap.theory.spiked_wishart(n, d, k, 3.0, k1=2, c=0.8, random_state=seed).X


@pytest.mark.parametrize("seed", range(6))
def test_portions_prove_the_same_optimum(short_portions, seed):
    X = spiked(40, 7, 3, seed)
    for rho in (0.3, 1.0, 2.0, np.random.default_rng(seed).choice([0.0, 0.5, 1.5, np.inf], 40)):
        problem = noap.Problem(X, k=3, adversary=noap.SampleWise(rho))
        result = older.solve(problem)
        optimum = judge.sample_wise_optimum(X, 3, rho, points=1500)
        assert result.status is noap.Status.OPTIMAL
        assert optimum * (1 - 1e-9) <= result.value <= result.bound
        assert noap.verify(problem, result.certificate).ok


def test_portions_keep_the_attack_feasible_and_play_the_same_game(short_portions, monkeypatch):
    Y, v = spiked(60, 9, 3, 1), np.eye(9)[0]
    rho = np.random.default_rng(1).choice([0.0, 1.0, 1.4], 60)
    whole, cut = (Attack.at_root(Y, 3, rho, v) for _ in range(2))
    monkeypatch.setattr(portions_module, "MOST_ROWS", 10**6)
    strongest = whole.improve(0.0, 12, 12)
    monkeypatch.setattr(portions_module, "MOST_ROWS", 7)
    assert long_contest(cut, 0.0, 12, 12) == pytest.approx(strongest, rel=1e-6)
    np.testing.assert_allclose(cut.E, whole.E, atol=1e-6)
    top = np.sort(np.abs(cut.E), axis=1)[:, -3:]
    assert (np.linalg.norm(top, axis=1) <= rho).all()


def test_a_game_that_is_stopped_leaves_a_feasible_attack(short_portions):
    Y = spiked(60, 9, 3, 2)
    for allowed in range(0, 120, 7):
        calls = itertools.count()

        def check(calls=calls, allowed=allowed):
            if next(calls) >= allowed:
                raise Stopped

        attack = Attack.at_root(Y, 3, np.ones(60), np.eye(9)[0])
        long_contest(attack, 0.0, 5, 5, check)
        assert next(calls) <= allowed + 2  # it stopped at once
        assert (np.linalg.norm(np.sort(np.abs(attack.E), axis=1)[:, -3:], axis=1) <= 1.0).all()


class Clock:
    """A second passes with every look at it."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        self.now += 1
        return float(self.now)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("seconds", [1, 2, 5, 11, 25, 60, 140, 300, 700, 1500, 4000])
@pytest.mark.parametrize("rho", [0.5, 2.0])
def test_time_is_heard_in_every_phase_and_the_answer_is_proved(short_portions, monkeypatch, seconds, rho):
    X = spiked(40, 8, 3, 11)
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(rho))
    best = older.solve(problem, gap=1e-6).value
    noap.verify(problem, older.solve(problem).certificate)  # compiles what a fake clock would not survive
    clock = Clock()
    monkeypatch.setattr(Controls, "seconds", property(lambda _: clock()))
    result = older.solve(problem, gap=1e-6, time_limit=seconds)
    # Between two looks at the clock lies one portion; after the last, only what turns the answer into a result.
    assert clock.now <= seconds + 60
    monkeypatch.undo()
    assert result.limit in (None, Limit.TIME)
    assert best * (1 - 1e-6) <= result.bound <= crude_bound(problem) * (1 + 1e-9)
    assert noap.verify(problem, result.certificate).ok


def test_many_samples_take_memory_in_proportion(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40_000, 12))
    X[:, :3] += rng.standard_normal((40_000, 1))
    for name in ("_SCORE_BYTES", "_GATHER_BYTES"):
        monkeypatch.setattr(SampleOracle, name, 2**20)
    monkeypatch.setattr(tree_module, "_OVERHEAD", 0.0)
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(1.0))
    older.solve(noap.Problem(X[:50], k=3, adversary=noap.SampleWise(1.0)))  # compiled
    limit = 24.0
    tracemalloc.start()
    result = older.solve(problem, memory_limit=limit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # What the user allows, blocks of X in screening, portions of a megabyte.
    assert peak <= 3 * X.nbytes + 1e6 * limit + 16e6
    assert list(result.support) == [0, 1, 2]
    assert result.value <= result.bound < crude_bound(problem)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("units", [1.0, 1e-120, 1e120])
def test_memory_that_does_not_suffice_leaves_a_proved_bound(units):
    X = units * spiked(200, 12, 3, 4)
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(1.5 * units))
    best = older.solve(problem)
    # Not enough for the root, but for one attack in single precision.
    root = root_bytes(len(kept_rows(problem)), 12)
    light = older.solve(problem, memory_limit=0.99 * root / 1e6)
    # Not enough for anything.
    none = older.solve(problem, memory_limit=0.1 * root / 1e6)
    unproved = older.solve(problem, memory_limit=0.25 * root / 1e6, certificate=False)
    assert [result.limit for result in (light, none, unproved)] == [Limit.MEMORY] * 3
    assert unproved.bound == pytest.approx(light.bound, rel=1e-6)
    assert best.value <= light.bound < none.bound == crude_bound(problem)
    assert noap.verify(problem, light.certificate).ok
    assert noap.verify(problem, none.certificate).ok


@pytest.mark.parametrize("seed", range(8))
def test_the_light_bound_is_above_every_direction(seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(1, 20)), int(rng.integers(2, 7)), int(rng.integers(1, 3))
    X = rng.standard_normal((n, d))
    rho = float(rng.uniform(0.1, 0.95)) * noap.SampleWise(1.0).rho_max(X, k)
    if seed % 2:
        rho = rng.choice([0.0, 0.3, 0.9, np.inf], n, p=[0.3, 0.3, 0.3, 0.1]) * np.linalg.norm(X, axis=1)
        rho[0] = 0.0
    problem = noap.Problem(X, k=k, adversary=noap.SampleWise(rho))
    v = noap.solve(problem, method="ascent").v
    try:
        outcome = response_outcome(problem, Controls.checked(1e-4, None, 0, False), v, 1e9, True)
    except Stopped:
        return  # no better than the crude bound
    assert judge.sample_wise_optimum(X, k, rho, points=1500) <= outcome.bound <= crude_bound(problem)
    assert outcome.proof.malformed(n, d) is None


@pytest.mark.parametrize("share", [1.2, 2.0, 3.0, 6.0])
def test_memory_is_heard_before_it_is_taken(share):
    X = spiked(150, 30, 4, 7)
    problem = noap.Problem(X, k=4, adversary=noap.SampleWise(2.0))
    v = noap.solve(problem, method="ascent").v
    best = older.solve(problem)
    limit = share * 4 * X.nbytes / 1e6
    outcome = solve_samples(problem, Controls.checked(1e-4, None, 0, False), v, Limits(megabytes=limit))
    assert best.value <= outcome.bound <= crude_bound(problem) * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("method", ["_pull", "_refine_part", "_scores"])
def test_an_interrupt_in_the_sample_oracle_returns_the_best_so_far(monkeypatch, method):
    X = spiked(40, 8, 3, 5)
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(0.5))
    original = getattr(SampleOracle, method)
    methods = ("ascent", "ppm", "exact") if method != "_refine_part" else ("ascent", "exact")
    for allowed, name in itertools.product((0, 1, 2, 5), methods):
        calls = itertools.count()

        def interrupted(*args, calls=calls, allowed=allowed):
            if next(calls) >= allowed:
                raise KeyboardInterrupt
            return original(*args)

        monkeypatch.setattr(SampleOracle, method, interrupted)
        result = noap.solve(problem, method=name)
        if next(calls) > allowed:  # or it was done before
            assert result.limit is Limit.INTERRUPTED
        assert np.linalg.norm(result.v) == pytest.approx(1)


def test_ppm_hears_the_clock(monkeypatch):
    X = spiked(40, 8, 3, 5)
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(0.5))
    clock = Clock()
    monkeypatch.setattr(Controls, "seconds", property(lambda _: clock()))
    result = noap.solve(problem, method="ppm", time_limit=20, tolerance=0.0, iterations=100_000)
    assert result.limit is Limit.TIME
    assert clock.now < 30


def test_rounding_grows_with_the_samples():
    for n in (10, 10**5, 10**6, 10**9):
        assert sum_room(n) >= gamma(n)


def exact_crude(X, k, rho):
    """Return the crude bound in rational numbers, from below by less than any float can tell."""
    total = Fraction(0)
    for row in X:
        square = sum(sorted((Fraction(float(x)) ** 2 for x in row), reverse=True)[:k])
        norm = Fraction(math.isqrt(int(square * 4**1500)), 2**1500)
        total += max(norm - Fraction(rho), Fraction(0)) ** 2
    return total / len(X)


@pytest.mark.parametrize("scale", [1e-149, 3e-140, 1e-100, 1.0, 1e140])
@pytest.mark.parametrize("share", [0.3, 1 - 1e-9, 1 - 1e-15])
def test_bounds_round_up_at_the_edges_of_the_range(scale, share):
    X = np.array([[1.0, 0.5, 0.25], [0.25, -0.75, 0.1], [0.1, 0.2, -0.3]]) * scale
    rho = share * float(np.linalg.norm(np.sort(np.abs(X), axis=1)[:, -2:] / scale, axis=1).max()) * scale
    problem = noap.Problem(X, k=2, adversary=noap.SampleWise(rho))
    true = exact_crude(X, 2, rho)
    assert crude_bound(problem) > 0
    assert Fraction(crude_bound(problem)) >= true
    instance = SampleInstance.of(problem)
    for value in (instance.crude_bound(), 1e-300, 1e-20, 1.0):
        assert Fraction(instance.outward(value)) >= Fraction(value) * Fraction(2) ** (2 * instance.exponent) / 3
