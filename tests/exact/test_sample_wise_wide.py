"""The game on some of the features: what it leaves is feasible in exact arithmetic, and what it proves holds."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import judge
import noap
import older
from noap.exact.sample_wise import narrow_game
from noap.exact.sample_wise import play as play_module
from noap.exact.sample_wise import portions as portions_module
from noap.exact.sample_wise.attack import Attack
from noap.exact.sample_wise.kernels.supports import removable
from noap.exact.sample_wise.narrow_game import narrow_contest, settle
from noap.exact.sample_wise.play import play
from noap.runtime.controls import Controls, Stopped


@pytest.fixture
def always_narrow(monkeypatch):
    """The game is played on some of the features wherever there are more than a few, and lists are longer."""
    monkeypatch.setattr(narrow_game, "_WIDE", 2)
    monkeypatch.setattr(narrow_game, "_EACH", 1)


def spiked(n, d, k, seed):
    return noap.theory.spiked_wishart(n, d, k, 3.0, k1=2, c=0.8, random_state=seed).X


def in_the_ball(E, n_inc, p, rho):
    """Whether N(e_i) <= rho_i for every row, without rounding."""
    for row, budget in zip(E, rho, strict=True):
        squares = [Fraction(float(x)) ** 2 for x in row]
        if sum(squares[:n_inc]) + sum(sorted(squares[n_inc:])[::-1][:p]) > Fraction(budget) ** 2:
            return False
    return True


@pytest.mark.parametrize("seed", range(40))
def test_features_that_follow_cost_nothing_and_come_nearer_to_0(seed):
    rng = np.random.default_rng(seed)
    n_inc, p = int(rng.integers(0, 3)), int(rng.integers(1, 4))
    d, rho = n_inc + p + int(rng.integers(1, 8)), rng.choice([0.0, 0.3, 1.0, 2.5], 6)
    Y, E = rng.standard_normal((6, d)), np.zeros((6, d))
    chosen = np.zeros(d, dtype=np.bool_)
    chosen[: n_inc + p] = True
    chosen[n_inc:] = chosen[n_inc:][rng.permutation(d - n_inc)]
    E[:, chosen] = rng.standard_normal((6, int(chosen.sum())))
    E *= rng.choice([0.2, 0.9, 1.0]) * rho[:, None] / np.linalg.norm(E, axis=1, keepdims=True)
    before = E.copy()
    settle(Y, E, chosen, n_inc, p, rho)
    assert in_the_ball(E, n_inc, p, rho)
    assert np.allclose(E[:, chosen], before[:, chosen], rtol=1e-12, atol=0)
    assert (np.abs(Y + E)[:, ~chosen] <= np.abs(Y)[:, ~chosen]).all()
    # As far as the ball allows: what is left of a column is beyond a size of which p entries would not fit.
    level = np.abs(E[:, ~chosen]).max(axis=1)
    cut = (np.abs(Y + E)[:, ~chosen] > 1e-9).any(axis=1)
    top = np.sort(np.abs(before[:, n_inc:]), axis=1)[:, ::-1][:, :p]
    size = (before[:, :n_inc] ** 2).sum(axis=1) + (np.maximum(top, 1.001 * level[:, None] + 1e-9) ** 2).sum(axis=1)
    assert (size[cut] > rho[cut] ** 2 * (1 - 1e-6)).all()


@pytest.mark.parametrize("seed", range(8))
def test_the_game_stays_in_the_ball_and_is_as_strong_as_on_all_features(always_narrow, seed):
    Y, k = spiked(60, 12, 3, seed), 3
    rho = np.full(60, 1.5) if seed % 2 else np.random.default_rng(seed).choice([0.0, 1.2, 1.9], 60)
    whole, narrow = (Attack.at_root(Y, k, rho, np.eye(12)[0]) for _ in range(2))
    before = narrow.gram()
    energy = narrow_contest(narrow, 0.0, 12, 12)
    assert in_the_ball(narrow.E, 0, k, rho)
    tops = [
        max(np.linalg.eigvalsh(M[np.ix_(s, s)])[-1] for s in combinations(range(12), k))
        for M in (before, narrow.gram())
    ]
    assert tops[1] < tops[0]
    assert energy <= tops[1] * (1 + 1e-9)
    assert energy <= 1.1 * whole.improve(0.0, 120, 120)


def test_the_game_stops_when_told_and_keeps_its_best(always_narrow, monkeypatch):
    monkeypatch.setattr(portions_module, "MOST_ROWS", 7)
    Y = spiked(40, 12, 3, 1)
    for calls in range(0, 120, 3):
        attack, left = Attack.at_root(Y, 3, np.ones(40), np.eye(12)[0]), [calls]

        def check(left=left):
            left[0] -= 1
            if left[0] < 0:
                raise Stopped

        energy = narrow_contest(attack, 0.0, 20, 20, check)
        # One look at the clock, and three portions of samples, before anything is measured.
        assert (energy == np.inf) == (calls < 4)
        assert in_the_ball(attack.E, 0, 3, np.ones(40))


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("portions", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_against_brute_force(always_narrow, monkeypatch, seed, portions):
    if portions:
        monkeypatch.setattr(portions_module, "MOST_ROWS", 7)
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(5, 40)), int(rng.integers(7, 10)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d)) * np.exp(0.4 * rng.standard_normal(d))
    rho = float(rng.choice([0.1, 0.3, 0.6, 0.9]) * noap.SampleWise(1.0).rho_max(X, k))
    if seed % 3 == 0:  # one budget per sample
        rho = rho * rng.choice([0.0, 0.5, 1.0, np.inf], n, p=[0.2, 0.3, 0.45, 0.05])
    problem = noap.Problem(X, k=k, adversary=noap.SampleWise(rho))
    optimum = judge.sample_wise_optimum(X, k, rho, points=1500)
    for nodes in (1, 2, 5, None):
        result = older.solve(problem, node_limit=nodes)
        assert result.bound >= optimum * (1 - 1e-9)
        assert noap.verify(problem, result.certificate).ok
    assert result.status is noap.Status.OPTIMAL


@pytest.mark.parametrize("seed", range(60))
def test_with_two_places_dead_features_are_those_without_a_partner(seed):
    rng = np.random.default_rng(seed)
    n_inc, m = int(rng.integers(0, 3)), int(rng.integers(2, 9))
    B = rng.standard_normal((12, n_inc + m)) * np.exp(0.5 * rng.standard_normal(n_inc + m))
    M = B.T @ B
    t = float(rng.uniform(0.4, 1.1)) * float(np.linalg.eigvalsh(M)[-1])
    dead = np.zeros(m, dtype=np.bool_)
    count = removable(M, n_inc, 2, t, 1e-13 * t, 10**9, dead)
    inc = list(range(n_inc))

    def above(places):
        s = inc + [n_inc + f for f in places]
        return np.linalg.eigvalsh(M[np.ix_(s, s)])[-1] >= t

    expected = [not any(above({f, e}) for e in range(m) if e != f) for f in range(m)]
    assert dead.tolist() == expected
    assert count == sum(expected)
    M[-1, 0] = M[0, -1] = np.nan
    assert removable(M, n_inc, 2, t, 1e-13 * t, 10**9, dead) == 0
    assert not dead.any()


def test_many_features_are_closed_at_the_root():
    # On all features at once the game leaves 4 % here, in twenty times the time.
    X = spiked(300, 400, 5, 0)
    problem = noap.Problem(X, k=5, adversary=noap.SampleWise(1.5))
    result = older.solve(problem, node_limit=1)
    assert result.status is noap.Status.OPTIMAL
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_families_do_not_inherit_the_lengths_of_the_samples():
    # The list of the root is short and its families are not examined: the root's attack proves their bound.
    X = spiked(300, 500, 10, 0)
    problem = noap.Problem(X, k=10, adversary=noap.SampleWise(0.5))
    result = older.solve(problem, node_limit=1)
    assert result.bound < 1.01 * result.value
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.parametrize("room", [False, True])
def test_where_memory_is_short_the_game_is_played_on_all_features(always_narrow, monkeypatch, room):
    played = []
    monkeypatch.setattr(play_module, "narrow_contest", lambda *args: played.append(args) or 1.0)
    attack = Attack.at_root(spiked(60, 12, 3, 0), 3, np.ones(60), np.eye(12)[0])
    energy = play(attack, 60, 0.0, Controls.checked(1e-4, None, 0, False), room)
    assert bool(played) == room
    assert 0.0 < energy < np.inf
