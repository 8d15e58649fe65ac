"""Every inequality behind the sample-wise engine, as a property that can fail."""

from itertools import combinations, repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noap.exact.sample_wise.attack import Attack
from noap.exact.sample_wise.cones import Cones
from noap.exact.sample_wise.kernels.ball import project, squared_norm
from noap.exact.sample_wise.kernels.cones import bound_of, reach, worth
from noap.exact.sample_wise.kernels.game import respond
from noap.exact.sample_wise.kernels.supports import COMPLETE, INCLUDED, list_supports, removable
from noap.exact.sample_wise.leaf import best_direction, hold_down
from opened import opened

# Python calls kernels; the parts of them are opened for it.
project, squared_norm, bound_of, reach, worth = map(opened, (project, squared_norm, bound_of, reach, worth))

seeds = st.integers(0, 2**32 - 1)


def robust(Y, v, rho):
    return (np.maximum(np.abs(Y @ v) - rho, 0.0) ** 2).sum()


def ball_norm(e, n_inc, p):
    """N(e), the plain way."""
    top = np.sort(np.abs(e[n_inc:]))[::-1][:p]
    return np.sqrt((e[:n_inc] ** 2).sum() + (top**2).sum())


def node_direction(rng, n_inc, d, p):
    """A unit vector on the included columns and p others."""
    v = np.zeros(d)
    v[:n_inc] = rng.standard_normal(n_inc)
    v[n_inc + rng.permutation(d - n_inc)[:p]] = rng.standard_normal(min(p, d - n_inc))
    return v / np.linalg.norm(v)


def projected(x, n_inc, p, rho):
    e = x.copy()
    project(e, n_inc, p, rho, np.empty(max(p, 1)), np.empty(max(len(x), 1)))
    return e


def draw_row(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 12))
    n_inc = int(rng.integers(0, d + 1))
    p = int(rng.integers(0, d - n_inc + 1))
    if n_inc + p == 0:
        p = 1
    x = rng.standard_normal(d) * rng.choice([0.3, 1.0, 4.0])
    return rng, (np.round(x) if rng.random() < 0.3 else x), n_inc, p, float(rng.choice([0.2, 1.0, 2.5]))


@given(seeds)
def test_the_projection_lies_in_the_ball_and_is_the_nearest_point(seed):
    rng, x, n_inc, p, rho = draw_row(seed)
    e = projected(x, n_inc, p, rho)
    assert ball_norm(e, n_inc, p) <= rho
    if p == 0:  # free columns are not used by any direction of such a node
        x, e = x[:n_inc], e[:n_inc]
    # The variational inequality (x - e)'(z - e) <= 0 for all z of the ball characterises the projection.
    for _ in range(60):
        z = rng.standard_normal(len(x)) * rng.choice([0.1, 1.0, 10.0], len(x))
        if rng.random() < 0.5:
            z = e + 0.3 * rng.standard_normal(len(x)) * rho
        size = ball_norm(z, n_inc, p)
        z = z * min(1.0, rho / size) if size > 0 else z
        assert (x - e) @ (z - e) <= 1e-9 * (1 + x @ x)


def test_the_projection_agrees_with_a_convex_solver():
    cp = pytest.importorskip("cvxpy")
    for seed in range(25):
        _, x, n_inc, p, rho = draw_row(seed)
        p = max(p, 1) if len(x) > n_inc else p
        z = cp.Variable(len(x))
        size = cp.sum_squares(z[:n_inc]) if n_inc else 0
        if len(x) > n_inc:
            size = size + cp.sum_largest(cp.square(z[n_inc:]), min(p, len(x) - n_inc))
        model = cp.Problem(cp.Minimize(cp.sum_squares(z - x)), [size <= rho**2])
        model.solve(solver="CLARABEL")
        e = projected(x, n_inc, p, rho)
        # e lies in the ball exactly, so its distance cannot be smaller; it may be larger by rounding only.
        assert ((e - x) ** 2).sum() <= model.value + 1e-5 * (1 + x @ x)


@given(seeds)
def test_squared_norm(seed):
    _, x, n_inc, p, _ = draw_row(seed)
    assert squared_norm(x, n_inc, p, np.empty(max(p, 1))) == pytest.approx(ball_norm(x, n_inc, p) ** 2)


def draw_node(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 9)), int(rng.integers(2, 9))
    n_inc = int(rng.integers(0, min(3, d)))
    p = int(rng.integers(1, d - n_inc + 1))
    Y = rng.standard_normal((n, d))
    return rng, Y, n_inc, p, draw_budgets(rng, n)


def draw_budgets(rng, n):
    """One for every sample: some have none, some the same, and now and then all have."""
    rho = rng.choice([0.0, 0.1, 0.7, 1.5], n)
    return np.full(n, rho[0] or 0.7) if rng.random() < 0.3 else rho


@given(seeds)
def test_an_attack_in_the_ball_bounds_every_direction_of_the_node(seed):
    rng, Y, n_inc, p, rho = draw_node(seed)
    E = np.array([projected(*pair) for pair in zip(2 * rng.standard_normal(Y.shape), repeat(n_inc), repeat(p), rho)])
    for _ in range(20):
        v = node_direction(rng, n_inc, Y.shape[1], p)
        assert (np.abs(E @ v) <= rho * (1 + 1e-12)).all()
        assert robust(Y, v, rho) <= (((Y + E) @ v) ** 2).sum() * (1 + 1e-12) + 1e-14


@given(seeds)
def test_the_response_is_feasible_and_exact_at_its_direction(seed):
    rng, Y, n_inc, p, rho = draw_node(seed)
    v = node_direction(rng, n_inc, Y.shape[1], p)
    E = np.zeros(Y.shape)
    respond(Y, v, n_inc, p, rho, E, 30)
    assert all(ball_norm(e, n_inc, p) <= budget for e, budget in zip(E, rho, strict=True))
    assert (((Y + E) @ v) ** 2).sum() == pytest.approx(robust(Y, v, rho), rel=1e-9, abs=1e-12)


def strongest(M, p):
    """The energy of the strongest direction with p entries, by enumeration."""
    return max(np.linalg.eigvalsh(M[np.ix_(s, s)])[-1] for s in combinations(range(len(M)), p))


def played(seed, equal=False):
    """An attack before and after the game: what its strongest direction has, as a ratio."""
    rng, Y, _, p, rho = draw_node(seed)
    rho = np.full(len(Y), rng.choice([0.1, 0.7, 1.5])) if equal else rho
    attack = Attack.at_root(Y, p, rho, node_direction(rng, 0, Y.shape[1], p))
    before = strongest(attack.gram(), p)
    attack.improve(0.0, 25, 25)
    assert all(ball_norm(e, 0, p) <= budget for e, budget in zip(attack.E, rho, strict=True))
    return strongest(attack.gram(), p) / before if before > 0 else 1.0


@given(seeds)
def test_the_game_keeps_the_attack_feasible_and_never_makes_it_worse(seed):
    assert played(seed) <= 1 + 1e-12


def test_the_game_makes_most_attacks_better():
    ratios = [played(seed, equal=True) for seed in range(60)]
    assert np.median(ratios) < 0.8
    assert np.mean(np.array(ratios) < 0.99) > 0.7


@given(seeds)
def test_a_narrowed_attack_is_feasible_for_the_child(seed):
    rng, Y, _, p, rho = draw_node(seed)
    d = Y.shape[1]
    attack = Attack.at_root(Y, p, rho, node_direction(rng, 0, d, p))
    attack.improve(0.0, 5, 5)
    order = rng.permutation(d)
    inc, free = order[:1], order[1 : max(2, d - 1)]
    child = attack.narrowed(inc, free, p - 1)
    assert (child.rho == rho[child.rows]).all()
    assert all(ball_norm(e, 1, child.p) <= budget for e, budget in zip(child.E, child.rho, strict=True))
    M = child.gram()
    for _ in range(10):
        w = node_direction(rng, 1, len(child.cols), child.p)
        v = np.zeros(d)
        v[child.cols] = w
        assert robust(Y, v, rho) <= w @ M @ w * (1 + 1e-12) + 1e-12


@given(seeds)
def test_the_attack_on_one_support_is_feasible_and_no_worse_than_the_response(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    Y = rng.standard_normal((int(rng.integers(1, 12)), k))
    rho = draw_budgets(rng, len(Y))
    v = best_direction(Y, rho, rng.standard_normal((4, k)))
    E, response = hold_down(Y, rho, v, 1e-3), np.zeros(Y.shape)
    respond(Y, v, k, 0, rho, response, 30)
    assert (np.linalg.norm(E, axis=1) <= rho).all()
    reached, start = (np.linalg.norm(Y + A, 2) ** 2 for A in (E, response))
    assert robust(Y, v, rho) <= reached * (1 + 1e-12) + 1e-14
    assert reached <= max(start, 1e-3) * (1 + 1e-12)


def listed(M, n_inc, p, t, limit=2000):
    m = len(M) - n_inc
    supports, rest = np.zeros((limit, max(p, 1)), dtype=np.int64), np.zeros((limit, max(m, 1)), dtype=np.int64)
    sizes, rest_sizes = np.zeros(limit, dtype=np.int64), np.zeros(limit, dtype=np.int64)
    verdict, count, _ = list_supports(M, n_inc, p, t, 1e-13 * t, 10**9, supports, sizes, rest, rest_sizes)
    return verdict, [(supports[c, : sizes[c]], rest[c, : rest_sizes[c]]) for c in range(count)]


def above(M, n_inc, p, t):
    found = set()
    for q in combinations(range(len(M) - n_inc), p):
        s = [*range(n_inc), *(n_inc + j for j in q)]
        if np.linalg.eigvalsh(M[np.ix_(s, s)])[-1] >= t:
            found.add(frozenset(q))
    return found


def draw_gram(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 10))
    n_inc = int(rng.integers(0, min(3, d - 1) + 1))
    p = int(rng.integers(1, min(5, d - n_inc) + 1))
    B = rng.standard_normal((int(rng.integers(1, 14)), d))
    if rng.random() < 0.3:
        B[:, -1] = B[:, 0]  # ties
    M = B.T @ B
    values = [
        np.linalg.eigvalsh(M[np.ix_(s, s)])[-1]
        for s in ([*range(n_inc), *(n_inc + j for j in q)] for q in combinations(range(d - n_inc), p))
    ]
    return M, n_inc, p, float(np.quantile(values, rng.random()) * rng.choice([0.999, 1.001, 1.3]))


@given(seeds)
def test_the_listing_covers_every_support_above_the_threshold_once(seed):
    M, n_inc, p, t = draw_gram(seed)
    verdict, sets = listed(M, n_inc, p, t)
    if verdict == INCLUDED:
        assert np.linalg.eigvalsh(M[:n_inc, :n_inc])[-1] >= t * (1 - 1e-9)
        return
    assert verdict == COMPLETE
    covered = [frozenset(j) | frozenset(q) for j, rest in sets for q in combinations(rest, p - len(j))]
    assert len(covered) == len(set(covered))
    assert set(covered) == above(M, n_inc, p, t)


@given(seeds)
def test_removed_features_are_in_no_support_above_the_threshold(seed):
    M, n_inc, p, t = draw_gram(seed)
    dead = np.zeros(len(M) - n_inc, dtype=np.bool_)
    removable(M, n_inc, p, t, 1e-13 * t, 10**9, dead)
    for support in above(M, n_inc, p, t * (1 + 1e-9)):
        assert not any(dead[j] for j in support)


def draw_cone(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    centre = rng.standard_normal(k)
    P = np.zeros((k, k + 1))
    P[:, :k] = centre / np.linalg.norm(centre) + rng.choice([0.05, 0.5]) * rng.standard_normal((k, k))
    P[:, :k] /= np.linalg.norm(P[:, :k], axis=1, keepdims=True)
    return rng, np.ascontiguousarray(rng.standard_normal((7, k))), P


@given(seeds)
def test_the_cone_bound_holds_inside_the_cone(seed):
    rng, Y, P = draw_cone(seed)
    k, rho = Y.shape[1], rng.choice([0.0, 0.3, 1.0], len(Y))
    lengths = np.linalg.norm(Y, axis=1)
    tau, bound = reach(P, np.empty(k)), bound_of(Y, lengths, rho, P, np.empty(k))
    for _ in range(40):
        t = rng.random(k) ** 3
        v = t @ P[:, :k]
        length = np.linalg.norm(v)
        assert t.sum() / length <= tau
        assert robust(Y, v / length, rho) <= bound
        assert worth(Y, lengths, rho, P[0], 1.0) >= robust(Y, P[0, :k], rho)


def test_cones_find_the_maximum_of_one_support():
    rng = np.random.default_rng(5)
    for k in (1, 2, 3, 4):
        Y = rng.standard_normal((12, k))
        rho = rng.choice([0.0, 0.8, 1.2], 12)
        directions = rng.standard_normal((200_000, k))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        best = (np.maximum(np.abs(directions @ Y.T) - rho, 0.0) ** 2).sum(axis=1).max()
        cones = Cones.over(Y, rho, best * 1.05)
        cones.split(best * 1.05, 60_000)
        assert cones.size == 0  # closed 5 % above the best
        cones = Cones.over(Y, rho, best * 0.9)
        cones.split(best * 0.9, 3_000)
        assert cones.bound >= best  # and never below it
