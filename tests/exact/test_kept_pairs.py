"""No step of the search cuts off a pair that is worth more than the target: exact arithmetic, and no tolerance."""

from fractions import Fraction

import numpy as np
import pytest
from exact_pairs import exact_pairs, float_below, misread_pairs, true_bounds, two_supports
from hypothesis import given
from hypothesis import strategies as st

from noap.exact.feature_wise.instance import terms_of
from noap.exact.feature_wise.kernels import attack as attack
from noap.exact.feature_wise.kernels import node as node
from noap.exact.feature_wise.kernels import tighten as kernels
from noap.exact.feature_wise.kernels.dominance import CLOSED
from noap.exact.feature_wise.kernels.semidefinite import semidefinite
from noap.exact.feature_wise.kernels.worth import lowest
from opened import opened
from whole_schur import SCALED, whole_schur

# Python calls kernels; the parts of them are opened for it.
attack, kernels, lowest = opened(attack), opened(kernels), opened(lowest)

seeds = st.integers(0, 10**6)
NONE, TWO = np.empty(0), np.arange(2)


def free_of_cost(m):
    return terms_of(np.zeros(m), np.zeros(m))


def all_pairs(seed, count):
    """Pairs of exact data, and pairs of misread data whose matrix as a whole is indefinite."""
    yield from exact_pairs(seed, count)
    for rng, pair, _ in misread_pairs(seed, count // 2, two_supports):
        yield rng, pair


@given(seeds, st.integers(0, 4), st.integers(0, 3), st.integers(0, 4), st.sampled_from([0.0, 1e-9, 0.3, 0.9]))
def test_propagation_keeps_every_pair_that_is_worth_more(seed, n_inc, wanted, others, share):
    """Step 2 speaks of numbers only: s_j, intervals and ceilings that often end at them, and T an ulp below."""
    rng = np.random.default_rng(seed)
    m = n_inc + wanted + others
    s = np.exp(rng.uniform(-8, 1, m)) if rng.random() < 0.5 else rng.integers(1, 4, m).astype(float)
    s += 0.5
    rho = np.full(m, share * 0.5)
    costs = np.zeros(m)
    if rng.random() < 0.6:
        rho *= rng.uniform(0, 1, m)
        costs = rng.choice([0.0, 0.5, 1 - 1e-9], m) * (s - rho) ** 2
    terms = terms_of(rho, costs)
    exact = [(Fraction(x) - Fraction(r)) ** 2 - Fraction(c) for x, r, c in zip(s, rho, costs, strict=True)]
    T = float_below(sum(exact[: n_inc + wanted], Fraction(0)))
    lo = np.maximum(s[:n_inc] * (1 - rng.choice([0.0, 1e-15, 0.3], n_inc)), terms.entry[:n_inc])
    hi = s[:n_inc] * (1 + rng.choice([0.0, 1e-15, 0.3], n_inc))
    free = np.arange(n_inc, m)
    ceil = s[n_inc:] * (1 + rng.choice([0.0, 1e-15, 0.3], m - n_inc))
    order = rng.permutation(m - n_inc)
    free, ceil = free[order], ceil[order]
    p = wanted + int(rng.integers(0, 2))
    before = lo.copy()
    if n_inc + wanted == 0:
        return
    # Bounds on fewer features, too: of what these are worth, some true by an ulp only.
    below = true_bounds(rng, sorted(exact[: n_inc + wanted], reverse=True), n_inc + p) if rng.random() < 0.8 else NONE
    closed, n_free, U, carried, n_high = kernels.propagate(
        terms, T, p, below, np.arange(n_inc), lo, hi, n_inc, free, ceil, m - n_inc
    )
    assert not closed
    assert Fraction(U) >= sum(exact[: n_inc + wanted], Fraction(0))
    if carried > 0.0:
        assert n_high >= 1
        floors = [lowest(carried, rho[j], costs[j]) for j in range(n_inc, n_inc + wanted)]
        assert (s[n_inc : n_inc + wanted] >= floors).sum() >= n_high
    assert (lo <= s[:n_inc]).all()
    assert (lo >= before).all()
    left = dict(zip(free[:n_free].tolist(), ceil[:n_free], strict=True))
    assert all(left[j] >= s[j] for j in range(n_inc, n_inc + wanted))


def test_propagation_raises_intervals_drops_features_and_closes():
    # Worth at most 1 + 1 + 0.25: above 2 the first two must reach their tops, and the last feature cannot be had.
    def run(T):
        lo, free, ceil = np.zeros(2), np.array([2, 3, 4]), np.array([0.5, 1e-3, 0.0])
        closed, n_free, U, carried, _ = kernels.propagate(
            free_of_cost(5), T, 1, NONE, TWO, lo, np.ones(2), 2, free, ceil, 3
        )
        assert carried == 0.0
        assert 2.25 <= U < 2.25 * (1 + 1e-12)
        return closed, lo, free[:n_free].tolist()

    closed, lo, free = run(2.0)
    assert not closed
    assert lo == pytest.approx(np.sqrt(0.75))
    assert free == [2, 3]
    assert run(2.1)[2] == [2]
    assert run(2.26)[0]


def test_what_fewer_features_are_worth_raises_floors_drops_features_and_closes():
    # Three features, at most 1 + 1 + 0.25 in this node. Two of any support are worth 1.5 at most, one is worth 1.
    def run(T, below):
        lo, free, ceil = np.zeros(2), np.array([2, 3, 4]), np.array([0.5, 0.4, 0.1])
        closed, n_free, _, carried, _ = kernels.propagate(
            free_of_cost(5), T, 1, np.array(below), TWO, lo, np.ones(2), 2, free, ceil, 3
        )
        return closed, lo, free[:n_free].tolist(), carried

    # Every feature carries more than 1.6 - 1.5, and one of the first two more than 1.6 - 1 less the weakest: 0.25.
    closed, lo, free, carried = run(1.6, [0.0, 1.0, 1.5])
    assert not closed
    assert carried == pytest.approx(0.1)
    assert free == [2, 3]
    assert lo == pytest.approx(np.sqrt(0.35))
    # All three owe more than 0.25.
    assert run(1.76, [0.0, 1.0, 1.5])[0]
    assert not run(1.74, [0.0, 1.0, 1.5])[0]
    # Two of them owe more than T - 0.8, and the two weakest can carry 1.25.
    assert run(2.06, [0.0, 0.8, np.inf])[0]
    assert not run(2.04, [0.0, 0.8, np.inf])[0]


@given(
    seeds, st.integers(1, 4), st.sampled_from([0.0, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9]),
    st.sampled_from([1e-15, 1e-9, 1e-3, 0.3, 3.0]), st.integers(1, 3),
)  # fmt: skip
def test_chords_of_free_features_lie_above_with_one_offset(seed, m, share, width, p):
    """f(s) <= (kap_i s)^2 + beta from where a feature carries so much to its ceiling, in exact arithmetic."""
    rng = np.random.default_rng(seed)
    most = float(np.exp(rng.uniform(-3, 3)))
    rho, costs = np.full(m, share * most), np.zeros(m)
    carried = (most - rho[0]) ** 2
    if rng.random() < 0.6:
        rho *= rng.uniform(0, 1, m)
        costs = rng.choice([0.0, 0.3, 3.0], m) * carried
    terms = terms_of(rho, costs)
    floors = np.array([lowest(carried, r, c) for r, c in zip(rho, costs, strict=True)])
    ceil = floors * (1.0 + width * rng.random(m) * rng.choice([0.0, 1.0], m))
    kap, dlt, alt, free, none = np.empty(m), np.empty(m), np.empty(m), np.arange(m), np.empty(0, dtype=np.int64)
    betas = attack.chord_columns(terms, none, NONE, NONE, 0, free, ceil, m, p, carried, kap, dlt, alt)
    assert betas <= 0.0
    assert (dlt == 0.0).all()
    beta = Fraction(betas) / p
    rounding = Fraction(2.0**-52) * abs(beta)  # of p beta
    for f in range(m):
        for t in (Fraction(0), Fraction(1), Fraction(float(rng.random()))):
            floor = Fraction(float(floors[f]))
            s = floor + t * (Fraction(float(ceil[f])) - floor)
            above = (Fraction(float(kap[f])) * s) ** 2 + beta + rounding
            # The search takes costs for a little less than they are, which covers the rounding of a worth.
            cost = Fraction(float(costs[f])) * (1 + Fraction(2e-15))
            worth = max(max(s - Fraction(float(rho[f])), Fraction(0)) ** 2 - cost, Fraction(0))
            if betas < 0.0:
                assert worth <= above
            else:  # a column shrunk to its ceiling: the test leaves room for the rounding of a column
                assert worth <= above + Fraction(1e-15) * s * s
    if betas < 0.0 and share < 0.99 and width > 0.1 and (ceil > 1.1 * floors).any() and (rho == rho[0]).all():
        # Not timid: at the floor and at the highest ceiling nothing is lost.
        for f in range(m if not costs.any() else 0):
            floor = floors[f]
            assert kap[f] ** 2 * floor**2 + betas / p == pytest.approx((floor - rho[f]) ** 2, abs=1e-12 * floor**2)


def test_tightening_keeps_every_pair_that_is_worth_more():
    closed = narrowed = cut = floors = 0
    for rng, pair in all_pairs(1, 200):
        d = len(pair.A)
        for _ in range(4):
            inc, sign, lo, hi, free, ceil = pair.node(rng)
            p, n_inc, w = pair.k - len(inc), len(inc), np.empty(d)
            tau, below = 0.0, pair.below(rng)
            for _ in range(3):
                before = hi.sum() - lo.sum() + ceil.sum()
                shut, n_free, U, carried, n_high = kernels.tighten(
                    pair.A, pair.terms, pair.T, p, below, inc, sign, lo, hi, n_inc, free, ceil, len(free), w, tau
                )
                assert not shut
                pair.check_carried(inc, carried, n_high)
                floors += carried > 0
                free, ceil = free[:n_free].copy(), ceil[:n_free].copy()
                pair.check_held(inc, sign, lo, hi, free, ceil, n_free)
                narrowed += hi.sum() - lo.sum() + ceil.sum() < before
                if n_inc < 2 or (sign == 0).any():
                    break
                rho, cost = pair.terms.rho[inc], pair.terms.cost[inc]
                rest = max(U - sum(map(kernels.worth, hi, rho, cost)), 0.0)
                tau = kernels.eigen_slab(pair.A, pair.terms, pair.T, inc, sign, lo, hi, n_inc, rest, d, w)
                if not tau > 0.0:
                    break
                # u leans towards w at least so far: w'u from the combination of columns that u is.
                assert sum(c * Fraction(float(w[j])) for j, c in pair.c.items()) >= Fraction(tau)
                cut += tau > 0.5
            # It is not just timid: a little above what the pair is worth, nodes close.
            shut, _, _, _, _ = kernels.tighten(
                pair.A, pair.terms, 1.01 * pair.T, p, below, inc, sign, lo, hi, n_inc, free, ceil, len(free), w, tau
            )
            closed += shut
    assert min(closed, narrowed, cut, floors) > 100


def test_the_eigenvector_of_a_slab_is_a_unit_vector():
    used = 0
    for rng, pair in exact_pairs(2, 300):
        if len(pair.S) < 2:
            continue
        inc, sign, lo, hi, _, _ = pair.node(rng, n_inc=len(pair.S), signed=1.0)
        w = np.empty(len(pair.A))
        if kernels.eigen_slab(pair.A, pair.terms, pair.T, inc, sign, lo, hi, len(inc), 0.0, len(pair.A), w) > 0.0:
            used += 1
            # w = sum x_j a_j over the included features: x solves A_II x = w_I, and |w|^2 = x'A_II x.
            x = np.linalg.lstsq(pair.A[np.ix_(inc, inc)], w[inc], rcond=1e-10)[0]
            assert x @ w[inc] == pytest.approx(1, rel=1e-6)
            assert pair.A[:, inc] @ x == pytest.approx(w, abs=1e-6 * pair.scale)
    assert used > 50


def arrays(pair, n_inc, n_free):
    """Work space of the tests."""
    d, m = len(pair.A), n_inc + n_free
    S, W = np.empty((d, d)), np.empty((max(n_inc, 1), d))
    return np.empty(m), np.empty(m), np.empty(n_free), S, W, np.zeros(d, dtype=bool), np.ones(d), False


@pytest.mark.parametrize("strong", [False, True])
def test_chords_close_no_pair_that_is_worth_more(strong):
    closed = floors = 0
    for rng, pair in all_pairs(3, 150):
        inc, _, *node_arrays = pair.node(rng)
        n_inc, p, below = len(inc), pair.k - len(inc), pair.below(rng)
        ulps = 4.0 * pair.k * (pair.k + 3) * 1.2e-16
        for T in (pair.T, 0.9 * pair.T, 2 * pair.T):
            lo, hi, free, ceil = (array.copy() for array in node_arrays)
            # Floors from fewer features give free features chords of their own.
            shut, n_free, _, carried, n_high = kernels.propagate(
                pair.terms, T, p, below, inc, lo, hi, n_inc, free, ceil, len(free)
            )
            assert not shut or T > pair.T
            free, ceil, floors = free[:n_free], ceil[:n_free], floors + (carried > 0 and n_free > 0)
            kap, dlt, alt, S, W, fails, warm, glance = arrays(pair, n_inc, n_free)
            threshold = T - attack.chord_columns(
                pair.terms, inc, lo, hi, n_inc, free, ceil, n_free, n_high, carried, kap, dlt, alt
            )
            verdict, _, _ = whole_schur(
                pair.A, np.zeros(len(pair.A)), kap, dlt, alt, np.append(inc, free), n_inc, n_free, threshold, 0.0, p,
                ulps * (threshold + pair.scale), S, W, fails, warm, glance, strong,
            )  # fmt: skip
            if verdict == SCALED and semidefinite(S, n_free, p, np.empty(n_free)):
                verdict = CLOSED
            check_verdict(pair, T, verdict, inc, free, p, fails)
            closed += verdict == CLOSED
    assert min(closed, floors) > 50


@pytest.mark.parametrize("at_best", [False, True])
def test_attacks_close_no_pair_that_is_worth_more(at_best):
    """In response to the pair's own direction or to any other, of features outside the node as well."""
    closed = 0
    for rng, pair in all_pairs(4, 300):
        if pair.terms.largest == 0:
            continue
        inc, _, lo, hi, free, ceil = pair.node(rng)
        spent = float(pair.terms.cost[inc].sum())
        n_inc, n_free, p = len(inc), len(free), pair.k - len(inc)
        ulps = 4.0 * pair.k * (pair.k + 3) * 1.2e-16
        for T in (pair.T, 0.9 * pair.T, 1.2 * pair.T):
            g, spread = pair.lean(rng)
            if g is None:
                continue
            kap, dlt, alt, S, W, fails, warm, glance = arrays(pair, n_inc, n_free)
            D, nu = attack.respond(
                pair.A, pair.terms, T, g, inc, lo, hi, n_inc, free, ceil, n_free, at_best, kap, dlt, alt
            )
            tilt = D / (T + spent)
            grown = spread * (1.0 + pair.uneven * tilt)
            verdict, _, _ = whole_schur(
                pair.A, g, kap, dlt, alt, np.append(inc, free), n_inc, n_free, T + spent + D, tilt, p,
                ulps * (T + spent + D + (1.0 + pair.terms.largest * nu) * pair.scale * grown),
                S, W, fails, warm, glance, False,
            )  # fmt: skip
            check_verdict(pair, T, verdict, inc, free, p, fails)
            closed += verdict == CLOSED
    assert closed > 50


def check_verdict(pair, T, verdict, inc, free, p, fails):
    if T > pair.T:
        return
    assert verdict != CLOSED
    if verdict == 2 and p in (1, 2):
        # Features that take part in nothing that fails are dropped: not those of the pair.
        wanted = set(pair.S) - set(inc.tolist())
        assert wanted <= set(free[fails[: len(free)]].tolist())


def test_a_node_never_loses_a_better_pair():
    kept = closed = 0
    for rng, pair in all_pairs(5, 200):
        d = len(pair.A)
        for T in (pair.T, 0.9 * pair.T, 1.1 * pair.T):
            inc, sign, lo, hi, free, ceil = pair.node(rng)
            g, spread = pair.lean(rng)
            if g is None:
                continue
            action, argument, n_free, distance, _, _, _, _ = node.examine(
                node.Data(
                    pair.A, np.array(pair.terms[:4]), pair.terms.largest, pair.k, pair.scale, pair.below(rng),
                    pair.bent, pair.uneven,
                ),
                T, g, spread,
                node.Pairs(inc, sign, lo, hi, free, ceil),
                node.Work(
                    np.zeros(d), np.zeros(d), np.zeros(d), np.empty((d, d)), np.empty((pair.k, d)),
                    np.zeros(d, dtype=bool), np.ones((5, d)),
                ),
                node.Leaves(
                    np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64), np.zeros(d), np.zeros((d, pair.k))
                ),
                False,
            )  # fmt: skip
            if action == node.DONE and argument == node.AGAIN:
                assert distance**2 > T
            elif T > pair.T:
                closed += action == node.DONE
            else:
                assert action != node.DONE
                pair.check_held(inc, sign, lo, hi, free, ceil, n_free)
                kept += 1
    assert min(kept, closed) > 50
