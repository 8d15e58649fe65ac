"""Every inequality that the exact search prunes with, as a property over random data."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noap.exact.feature_wise.instance import terms_of
from noap.exact.feature_wise.kernels import attack as attack
from noap.exact.feature_wise.kernels import caps as caps
from noap.exact.feature_wise.kernels import dominance as dominance_kernels
from noap.exact.feature_wise.kernels import schur as schur_kernels
from noap.exact.feature_wise.kernels import semidefinite as semidefinite_kernels
from noap.exact.feature_wise.kernels import tighten as tighten
from opened import opened
from whole_schur import whole_schur

# Python calls kernels; the parts of them are opened for it.
attack, caps, tighten = opened(attack), opened(caps), opened(tighten)
dominance_kernels, schur_kernels = opened(dominance_kernels), opened(schur_kernels)

seeds = st.integers(0, 10**6)


def f(s, rho, cost=0.0):
    return np.maximum(np.maximum(np.abs(s) - rho, 0.0) ** 2 - cost, 0.0)


def drawn_terms(rng, rho, sizes):
    """One budget for all, or budgets and costs of their own."""
    rhos, costs = np.full(len(sizes), rho), np.zeros(len(sizes))
    if rng.random() < 0.7:
        rhos = rhos * rng.choice([0.0, 1.0, 1.0], len(sizes)) * rng.uniform(0.3, 1.5, len(sizes))
        costs = rng.choice([0.0, 0.1, 0.6], len(sizes)) * np.maximum(sizes - rhos, 0.0) ** 2
    return terms_of(rhos, costs)


def unit(rng, n):
    u = rng.standard_normal(n)
    return u / np.linalg.norm(u)


def capped(c, b, lo, hi, sweeps, left_out=-1):
    slabs = caps.room_for(len(b))
    slabs.B[:], slabs.cb[:] = b @ b.T, b @ c
    for j in range(len(b)):
        caps.ends(slabs, j, lo[j], hi[j])
    return caps.cap(c @ c, slabs, len(b), left_out, sweeps)


@given(seeds, st.integers(0, 4), st.integers(1, 5))
def test_caps_bound_every_direction_in_the_slabs(seed, m, sweeps):
    rng = np.random.default_rng(seed)
    n = 4
    u, c = unit(rng, n), rng.standard_normal(n)
    b = rng.standard_normal((m, n))
    at = b @ u
    lo, hi = at - rng.uniform(0, 0.5, m), at + rng.uniform(0, 0.5, m)
    left_out = int(rng.integers(-1, m)) if m else -1
    if left_out >= 0:
        lo[left_out], hi[left_out] = at[left_out] + 0.5, at[left_out] + 1.0  # u does not lie there
    assert capped(c, b, lo, hi, sweeps, left_out) >= c @ u


@given(seeds)
def test_caps_are_tight_for_one_slab(seed):
    # With one slab l <= b'u the maximum of c'u over the ball is known: in the plane of b and c.
    rng = np.random.default_rng(seed)
    b, c = rng.standard_normal(3), rng.standard_normal(3)
    low = 0.9 * np.linalg.norm(b)
    grid = np.linspace(0, 2 * np.pi, 20001)
    e1 = b / np.linalg.norm(b)
    e2 = c - (c @ e1) * e1
    e2 /= np.linalg.norm(e2)
    plane = np.outer(np.cos(grid), e1) + np.outer(np.sin(grid), e2)
    best = (plane @ c)[plane @ b >= low].max()
    bound = capped(c, b[None, :], [low], [1e9], 3)
    assert bound >= best
    assert bound == pytest.approx(best, abs=1e-3 * np.linalg.norm(c))


@given(
    st.floats(0, 2),
    st.floats(0, 1),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.one_of(st.floats(0, 1), st.sampled_from([1e-15, 1e-10, 4e-10, 6e-10, 1e-8])),
)
def test_chords_lie_above_f(rho, a, paid, width):
    """But for eight ulps of alpha hi^2: every use leaves far more room."""
    lo = rho + a
    hi = lo * (1 + width)
    cost = paid * a * a
    alpha, beta = (Fraction(x) for x in tighten.chord(lo, hi, rho, cost))
    assert alpha >= 0
    ulps = Fraction(1, 2**50) * (alpha * Fraction(hi) ** 2)
    for s in np.linspace(lo, hi, 20).clip(lo, hi).tolist():
        worth = max(max(Fraction(s) - Fraction(rho), Fraction(0)) ** 2 - Fraction(cost), Fraction(0))
        assert alpha * Fraction(s) ** 2 + beta >= worth - ulps
    # And it touches f at the ends, unless the interval is so short that its slope would be all rounding.
    if width > 1e-8:
        assert abs(alpha * Fraction(hi) ** 2 + beta + Fraction(cost) - (Fraction(hi) - Fraction(rho)) ** 2) <= ulps


@given(seeds, st.floats(0.05, 1.5), st.booleans())
def test_attack_columns_bound_f_for_every_direction(seed, rho, with_gain):
    # f_j(s_j) <= (y_j'u)^2, and with the gain f_j + theta_j rho_j (1 - tau^2)(s_j - rho_j) <= (y_j'u)^2 on R, where
    # theta_j is what the cost leaves of the square at the ceiling.
    rng = np.random.default_rng(seed)
    n, d = 4, 6
    X, w, u = rng.standard_normal((n, d)), unit(rng, n), unit(rng, n)
    g = X.T @ w
    free, none = np.arange(d), np.empty(0, dtype=np.int64)
    ceil = np.linalg.norm(X, axis=0)
    nu = rng.uniform(0, 2) if with_gain else 0.0
    kap, dlt, alt = np.empty(d), np.empty(d), np.empty(d)
    terms = drawn_terms(rng, rho, ceil)
    live = ceil > terms.entry
    # The search drops the others first.
    ceil = np.where(live, ceil, 2 * terms.entry + 1)
    attack.attack_columns(X.T @ X, terms, g, none, 0, free, ceil, d, nu, kap, dlt, alt)
    rho, cost, grown = terms.rho, terms.cost, 1 + terms.largest * nu
    Y = kap * X + np.outer(w, dlt)
    s, tau = np.abs(X.T @ u), w @ u
    ulps = 2.0**-47 * grown * ceil.max() ** 2  # of inner products, here and in the columns
    assert (((Y.T @ u) ** 2)[live] >= f(s, rho, cost)[live] - ulps).all()
    # The sharper statement holds for the columns a_j - rho_j sgn(g_j) w that were not scaled up.
    theta = f(ceil, rho, cost) / f(ceil, rho)
    inside = live & (np.abs(g) >= rho) & (nu * (ceil - rho) <= terms.share)
    gained = f(s, rho, cost) + theta * rho * (1 - tau**2) * (s - rho)
    sharp = inside & (s >= rho)
    assert (((Y.T @ u) ** 2)[sharp] >= gained[sharp] - ulps).all()
    # Outside R the column is long enough to pay (1 + r nu) f.
    outside = live & ~inside
    assert (((Y.T @ u) ** 2)[outside] >= (grown * f(s, rho, cost))[outside] - ulps).all()
    assert (((alt * s) ** 2)[live] >= (grown * f(s, rho, cost))[live] - ulps).all()


@given(seeds, st.floats(0.05, 0.8), st.booleans())
def test_gain_is_below_what_every_better_pair_has(seed, rho, at_best):
    rng = np.random.default_rng(seed)
    n, d, k = 4, 6, 3
    X, w, u = rng.standard_normal((n, d)), unit(rng, n), unit(rng, n)
    s, g = np.abs(X.T @ u), X.T @ w
    terms = drawn_terms(rng, rho, s)
    rho, cost = terms.rho, terms.cost
    chosen = np.argsort(-s)[:k]
    chosen = chosen[f(s, rho, cost)[chosen] > 0]
    assume(len(chosen) >= 2)
    T = 0.9 * f(s, rho, cost)[chosen].sum()
    inc, free_in = chosen[:2], chosen[2:]
    lo = terms.entry[inc] + rng.uniform(0, 1, 2) * (s - terms.entry)[inc]
    hi = s[inc] + rng.uniform(0, 0.3, 2)
    in_r = np.abs(g) >= rho
    widths = [(s - rho)[j] / terms.share[j] for j in free_in if in_r[j] and terms.share[j] > 0]
    D, nu = attack.gain(terms, T, g, inc, lo, hi, 2, max(widths, default=0.0), at_best)
    counted = in_r.copy()
    counted[free_in] &= nu * (s - rho)[free_in] <= terms.share[free_in]
    # A free feature has the column that its cost leaves at its ceiling, here at s itself.
    theta = np.where(np.isin(np.arange(d), inc), 1.0, f(s, rho, cost) / np.maximum(f(s, rho), 1e-300))
    have = (theta * rho * (s - rho))[[j for j in chosen if counted[j]]].sum()
    outside = terms.largest * nu * f(s, rho, cost)[[j for j in free_in if not counted[j]]].sum()
    assert have + outside >= D


@given(seeds, st.integers(0, 2), st.integers(0, 4), st.floats(0.6, 1.6), st.booleans())
def test_schur_closes_only_what_every_support_satisfies(seed, n_inc, p, level, tilted):
    rng = np.random.default_rng(seed)
    n, d = 6, 7
    X, w = rng.standard_normal((n, d)), unit(rng, n)
    A, g = X.T @ X, X.T @ w
    kap, dlt = rng.uniform(0.3, 1, d), rng.uniform(-0.5, 0.5, d)
    idx = rng.permutation(d)
    Y = kap * X[:, idx] + np.outer(w, dlt)
    tilt = 0.3 if tilted else 0.0
    M = Y.T @ Y + tilt * np.outer(Y.T @ w, Y.T @ w)
    inc, rest = list(range(n_inc)), range(n_inc, d)
    p = min(p, d - n_inc)
    top = max(
        np.linalg.eigvalsh(M[np.ix_(inc + list(q), inc + list(q))])[-1] if inc or q else 0.0
        for q in combinations(rest, p)
    )
    n_free = d - n_inc
    fails = np.zeros(n_free, dtype=bool)
    S, W = np.empty((n_free, n_free)), np.empty((max(n_inc, 1), n_free))
    threshold = level * max(top, 1e-3)
    verdict, worst, _ = whole_schur(
        A, g, kap, dlt, np.full(n_free, -1.0), idx, n_inc, n_free, threshold, tilt, p, 1e-12 * threshold, S, W, fails,
        np.ones(d), False, False,
    )  # fmt: skip
    if verdict == schur_kernels.CLOSED:
        assert top <= threshold
    elif verdict == schur_kernels.FREE_FAILS:
        assert 0 <= worst < n_free
        if p <= 2:
            # What is not marked takes part in no support above the threshold.
            for q in combinations(rest, p):
                block = inc + list(q)
                if np.linalg.eigvalsh(M[np.ix_(block, block)])[-1] > threshold * (1 + 1e-13):
                    assert all(fails[j - n_inc] for j in q)
    if p <= 2 and level > 1.001:
        assert verdict == schur_kernels.CLOSED


@given(seeds, st.integers(1, 60), st.integers(1, 40), st.floats(0, 2), st.sampled_from([1, 3, 12]), st.booleans())
def test_a_bound_on_the_largest_entries_is_one(seed, m, q, tau, steps, ties):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, m).astype(float) if ties else rng.exponential(size=m)
    bound, at = dominance_kernels.largest_sum(x, m, q, tau, steps)
    exact = sum((Fraction(entry) for entry in np.sort(x)[::-1][:q].tolist()), Fraction(0))
    assert Fraction(bound) >= exact * (1 - (m + 2) * Fraction(1, 2**53))  # any order of summation
    assert bound == pytest.approx(q * at + np.maximum(x - at, 0).sum())
    if steps == 12 and not ties:
        assert bound <= 1.05 * float(exact)


@pytest.mark.parametrize("stored", [0, 640])
@settings(max_examples=24)
@given(
    seed=seeds, p=st.sampled_from([3, 4]), level=st.floats(0.9, 1.6), kind=st.sampled_from(["noise", "spike", "ties"])
)
def test_dominance_closes_nothing_above_the_threshold(stored, seed, p, level, kind):
    """With all rows kept, and with only their largest entries (more than 4 (p - 1) + 40 features), from any scaling."""
    rng = np.random.default_rng(seed)
    m = 70 if p == 3 else 54
    X = rng.standard_normal((200, m)) / np.sqrt(200)
    if kind == "spike":
        X += 0.5 * np.outer(unit(rng, 200), rng.exponential(size=m))
    elif kind == "ties":
        X[:, m // 2 :] = X[:, : m - m // 2]
    A = X.T @ X
    blocks = np.array(list(combinations(range(m), p)))
    top = np.linalg.eigvalsh(A[blocks[:, :, None], blocks[:, None, :]])[:, -1].max()
    threshold = level * top
    assume(threshold > 1.001 * np.diag(A).max())
    ones, none = np.ones(m), np.zeros(m)
    root = 1 / np.sqrt(threshold - np.diag(A))
    warm = rng.uniform(1e-3, 1, m)
    verdict, worst, measure = dominance_kernels.dominance(
        A, np.arange(m), ones, none, none, none, root, 0.0, np.empty((1, m)), 0, m, p, np.empty((m, m)), warm, False,
        stored,
    )  # fmt: skip
    if verdict == schur_kernels.CLOSED:
        assert top <= threshold
        # What was left behind is a scaling that proves it.
        N = np.abs(A) * np.outer(root, root)
        np.fill_diagonal(N, 0)
        assert (np.sort(N * warm, axis=1)[:, 1 - p :].sum(axis=1) < warm * (1 + 1e-12)).all()
    else:
        assert 0 <= worst < m
        assert measure > 0.99


def extreme_blocks(N, p):
    blocks = np.array(list(combinations(range(len(N)), p)))
    return np.linalg.eigvalsh(N[blocks[:, :, None], blocks[:, None, :]])[:, 0].min()


@settings(max_examples=60)
@given(seeds, st.sampled_from([3, 4, 5]), st.floats(0.85, 1.6))
def test_the_semidefinite_test_closes_only_what_is_positive_definite(seed, p, level):
    rng = np.random.default_rng(seed)
    m = 11
    X = rng.standard_normal((30, m))
    A = X.T @ X
    np.fill_diagonal(A, 0)
    # Scaled so that the smallest eigenvalue of all blocks is 1 - 1 / level: open below 1, and near it hard to close.
    N = np.eye(m) + A / (-extreme_blocks(A, p) * level)
    weight = np.empty(m)
    if semidefinite_kernels.semidefinite(N, m, p, weight):
        assert level > 1
    assert weight.sum() == pytest.approx(1)
    assert (weight >= -1e-12).all()


def test_the_semidefinite_test_sees_signs_where_dominance_does_not():
    # Equicorrelated features: N has entries of one sign, is positive definite, and far from dominated.
    m, p = 12, 6
    N = np.full((m, m), 0.9) + 0.1 * np.eye(m)
    assert semidefinite_kernels.semidefinite(N, m, p, np.empty(m))
    assert not semidefinite_kernels.semidefinite(2.0 * np.eye(m) - N, m, p, np.empty(m))
    assert semidefinite_kernels.semidefinite(np.eye(m), m, m + 5, np.empty(m))
