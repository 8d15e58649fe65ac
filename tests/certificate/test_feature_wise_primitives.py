"""Tightening and tests of the Gram checker, at a pair that is worth more, against exact rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from awkward import nasty
from rational import U, dot, float_above, float_below, known, root_below

import noap
from noap.checker.allowance import Allowance
from noap.checker.feature_wise.kernels import test as test_kernels
from noap.checker.feature_wise.kernels import tighten as kernels
from noap.checker.feature_wise.kernels.semidefinite import definite
from noap.checker.feature_wise.kernels.wedge import wedge_of
from noap.checker.feature_wise.kernels.worth import Terms, chord, floor_of, offset, worth_down, worth_up
from opened import opened

# Python calls kernels; the parts of them are opened for it.
kernels, test_kernels, wedge_of = opened(kernels), opened(test_kernels), opened(wedge_of)
offset, worth_down, worth_up, floor_of = opened(offset), opened(worth_down), opened(worth_up), opened(floor_of)

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
NEVER = Allowance().clock


def worth_of(s, rho, cost=Fraction(0)):
    return max(max(s - rho, Fraction(0)) ** 2 - cost, Fraction(0))


class Pair:
    """A problem, a rational direction u that is a local maximum to rounding, and what it is worth: exactly."""

    def __init__(self, rng, kind, share, k, d=5, n=4):
        X = nasty(rng, n, d, kind)
        sizes = np.linalg.norm(X, axis=0)
        rho, costs = np.full(d, float(share * sizes.max())), np.zeros(d)
        self.even = rng.random() < 0.4
        if not self.even:
            rho = rho * rng.choice([0.0, 1e-12, 0.5, 1.0, 1.0, 1.1], d) * rng.uniform(0.8, 1, d)
            costs = rng.choice([0.0, 1e-12, 0.3, 0.999], d) * np.maximum(sizes - rho, 0.0) ** 2 / n
        budgets = float(rho[0]) if self.even else rho
        self.problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(budgets), costs=costs)
        self.data, self.columns = known(self.problem)
        self.k, self.d, self.terms = k, d, self.data.terms
        unit = Fraction(2) ** self.data.exponent
        self.rho = [Fraction(float(x)) / math.isqrt(n) / unit for x in rho]
        self.cost = [Fraction(float(x)) / unit**2 for x in costs]
        a = np.array([[float(x) for x in column] for column in self.columns])
        r, c = np.array([float(x) for x in self.rho]), np.array([float(x) for x in self.cost])
        u = rng.standard_normal(n)
        for _ in range(300):
            v = np.sign(a @ u) * np.maximum(np.abs(a @ u) - r, 0.0)
            v[v**2 <= c] = 0.0
            v[np.argsort(c - v**2)[k:]] = 0.0
            if not v.any():
                lengths = np.sqrt((a**2).sum(axis=1))
                u = a[np.argmax(np.maximum(lengths - r, 0.0) ** 2 - c)]
                u = u / np.linalg.norm(u)
                continue
            u = v @ a / np.linalg.norm(v @ a)
        self.v = v
        u = [Fraction(float(x)) for x in u]
        inverse = root_below(1 / dot(u, u))
        self.u = [inverse * x for x in u]
        self.along = [dot(column, self.u) for column in self.columns]
        self.s = [abs(x) for x in self.along]
        self.worths = [worth_of(*one) for one in zip(self.s, self.rho, self.cost, strict=True)]
        order = sorted(range(d), key=lambda j: -self.worths[j])[:k]
        self.S = [j for j in order if self.worths[j] > 0]
        self.worth = sum((self.worths[j] for j in self.S), Fraction(0))
        self.T = max(float_below(self.worth), 0.0)

    def below(self, rng):
        """Bounds on what 0, 1, ..., k - 1 features of S are worth at u, often true by an ulp only; or none at all."""
        if rng.random() < 0.2:
            return np.empty(0)
        worths = sorted((self.worths[j] for j in self.S), reverse=True)
        sums = [sum(worths[:q], Fraction(0)) for q in range(self.k)]
        loose = rng.choice([0.0, 0.0, 0.0, 1e-15, 1e-9, 1e-3, 0.5, np.inf], self.k)
        below = [float_above(x * (1 + Fraction(y))) if y < np.inf else np.inf for x, y in zip(sums, loose, strict=True)]
        return np.array([0.0, *below[1:]])

    def check_carried(self, inc, carried, n_high):
        """At least so many of the free features of S carry so much."""
        if carried > 0:
            assert n_high >= 1
            assert sum(self.worths[j] >= Fraction(float(carried)) for j in set(self.S) - set(inc.tolist())) >= n_high

    def node(self, rng):
        """A node that the pair lies in: arrays for the kernels."""
        n_inc = int(rng.integers(0, len(self.S) + 1))
        inc = np.array([self.S[i] for i in rng.permutation(len(self.S))[:n_inc]], dtype=np.int64)
        norms = self.data.norms
        lo, hi = np.empty(n_inc), np.empty(n_inc)
        for a, j in enumerate(inc):
            wide = rng.choice([0.0, 0.0, 1e-15, 1e-8, 1e-3, 0.3])
            lo[a] = max(float_below(self.s[j] * (1 - Fraction(float(wide)))), self.terms.entry[j])
            wide = rng.choice([0.0, 0.0, 1e-15, 1e-8, 1e-3, 0.3])
            hi[a] = min(float_above(self.s[j] * (1 + Fraction(float(wide)))), norms[j])
        sign = np.array([(1 if self.along[j] > 0 else -1) if rng.random() < 0.8 else 0 for j in inc], dtype=np.int64)
        free = np.array([j for j in range(self.d) if j not in inc and norms[j] > self.terms.entry[j]], dtype=np.int64)
        ceil = np.array([
            float(norms[j]) if rng.random() < 0.5 or j not in self.S else
            min(float_above(self.s[j] * Fraction(float(rng.choice([1.0, 1.0, 1.0001, 1.2])))), float(norms[j]))
            for j in free
        ])  # fmt: skip
        return inc, sign, lo, hi, free, ceil


def pairs(seed, count):
    rng = np.random.default_rng(seed)
    for trial in range(count):
        share = float(rng.choice([0.0, 1e-12, 0.2, 0.5, 0.8]))
        pair = Pair(rng, (0, 1, 2, 3, 5)[trial % 5], share, int(rng.integers(1, 5)))
        if pair.T > 0:
            yield rng, pair


def test_tightening_keeps_every_pair_that_is_worth_more():
    closed = floors = 0
    for rng, pair in pairs(6, 120):
        data = pair.data
        for _ in range(6):
            inc, sign, lo, hi, free, ceil = pair.node(rng)
            below = pair.below(rng)
            for T in (pair.T, 0.9 * pair.T):
                mine = sign.copy(), lo.copy(), hi.copy(), free.copy(), ceil.copy()
                shut, n_free, carried, n_high = kernels.tighten(
                    data.A, data.eps, data.top, data.table, T, pair.k - len(inc), below,
                    inc, mine[0], mine[1], mine[2], len(inc), mine[3], mine[4], len(free), NEVER,
                )  # fmt: skip
                assert not shut
                pair.check_carried(inc, carried, n_high)
                floors += carried > 0
                for a, j in enumerate(inc):
                    assert mine[0][a] in (0, 1 if pair.along[j] > 0 else -1)
                    assert Fraction(mine[1][a]) <= pair.s[j] <= Fraction(mine[2][a])
                left = {int(j): Fraction(c) for j, c in zip(mine[3][:n_free], mine[4][:n_free], strict=True)}
                for j in set(pair.S) - set(inc.tolist()):
                    assert left[j] >= pair.s[j]
            # It is not just timid: a little above what the node can be worth, nodes close.
            shut, _, _, _ = kernels.tighten(
                data.A, data.eps, data.top, data.table, 1.01 * pair.T + 1e-9, pair.k - len(inc), below,
                inc, sign, lo, hi, len(inc), free, ceil, len(free), NEVER,
            )  # fmt: skip
            closed += shut
    assert min(closed, floors) > 100


def test_reaches_are_never_too_short():
    for rng, pair in pairs(7, 150):
        data = pair.data
        inc, sign, lo, hi, _, _ = pair.node(rng)
        m_most = len(inc) + 1
        coef, B = np.empty((m_most, max(len(inc), 1))), np.empty((m_most, m_most))
        low, high, which = np.empty(m_most), np.empty(m_most), np.empty(m_most, dtype=np.int64)
        wedge = rng.standard_normal(len(inc))
        along = sum((Fraction(float(c)) * pair.along[j] for c, j in zip(wedge, inc, strict=True)), Fraction(0))
        tau = max(float_below(along), 0.0)
        m = kernels.gather(data.A, inc, sign, lo, hi, len(inc), wedge, tau, coef, B, low, high, which)
        cb, mu, q = np.empty(m_most), np.empty(m_most), np.empty(m_most)
        z, size = np.empty(len(inc)), np.empty(len(inc))
        for i in np.flatnonzero(data.terms.entry < np.inf):  # others are worth nothing, and taken for 0
            for direction in (1.0, -1.0):
                most = kernels.reach(
                    data.A, data.eps, data.top, i, direction, inc, len(inc), coef, B, low, high, m, -1, 4,
                    cb, mu, q, z, size,
                )  # fmt: skip
                assert Fraction(float(most)) >= Fraction(direction) * pair.along[i]


def test_wedges_hold_every_pair_that_is_worth_more():
    found = 0
    for rng, pair in pairs(8, 250):
        data = pair.data
        inc, sign, lo, hi, free, ceil = pair.node(rng)
        if len(inc) < 2:
            continue
        sign = np.array([1 if pair.along[j] > 0 else -1 for j in inc])
        _, _, rest, _, _ = kernels.propagate(
            data.terms, pair.T, pair.k - len(inc), pair.below(rng), inc, lo, hi, len(inc), free, ceil, len(free)
        )
        wedge = np.empty(len(inc))
        tau = wedge_of(
            data.A, data.eps, data.top, data.terms, pair.T, inc, sign, lo, hi, len(inc), rest, wedge, NEVER
        )  # fmt: skip
        if tau > 0:
            found += 1
            along = sum(Fraction(float(c)) * pair.along[j] for c, j in zip(wedge, inc, strict=True))
            assert along >= Fraction(float(tau))
    assert found > 20


def test_chords_lie_above_and_worths_are_rounded_outwards():
    rng = np.random.default_rng(9)
    for trial in range(400):
        scale = 10.0 ** rng.choice([0, -8, -100, -155, -170])
        rho = float(rng.choice([0.0, rng.uniform()])) * scale
        lo = rho + float(rng.choice([0.0, rng.uniform(), 1e-16])) * scale
        hi = lo + float(rng.choice([0.0, 1e-16, 1e-8, rng.uniform()])) * scale
        cost = float(rng.choice([0.0, 0.3, 1.0])) * (lo - rho) ** 2 if trial % 2 else 0.0
        root, beta = chord(lo, hi, rho, cost)
        if trial % 3 == 0:
            root = float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.integers(-10, 10))
            beta = offset(lo, hi, rho, cost, root)
        for t in (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(int(rng.integers(1000)), 1000)):
            s = Fraction(lo) + t * (Fraction(hi) - Fraction(lo))
            above = (Fraction(float(root)) * s) ** 2 + Fraction(float(beta))
            assert worth_of(s, Fraction(rho), Fraction(cost)) <= above + Fraction(10) ** -300 * (trial % 3 == 0)
        exactly = worth_of(Fraction(hi), Fraction(rho), Fraction(cost))
        assert Fraction(worth_down(hi, rho, cost)) <= exactly <= Fraction(worth_up(hi, rho, cost))


def test_chords_of_free_features_lie_above_with_one_offset():
    """Whatever the ceilings: with late ones below the floor, on short intervals and next to rho."""
    rng = np.random.default_rng(13)
    used = 0
    for _ in range(600):
        scale = 10.0 ** rng.choice([0, -8, -100])
        m, rho = int(rng.integers(1, 5)), float(rng.choice([0.0, 1e-9, rng.uniform()])) * scale
        carried = (float(rng.choice([1e-9, 1e-3, rng.uniform()])) * scale) ** 2
        rhos, costs = np.full(m, rho), np.zeros(m)
        if rng.random() < 0.6:
            rhos, costs = rhos * rng.uniform(0, 1, m), rng.choice([0.0, 0.3, 3.0], m) * carried
        terms = terms_of(rhos, costs)
        floors = np.array([floor_of(carried, r, c) for r, c in zip(rhos, costs, strict=True)])
        ceil = floors * (1.0 + rng.choice([-1e-3, 0.0, 1e-16, 1e-9, 1e-3, 0.7], m) * rng.random(m))
        kap = np.full(m, np.nan)
        beta = test_kernels.common_chords(terms, carried, np.arange(m), ceil, m, kap)
        assert beta <= 0.0
        if beta == 0.0:
            continue
        used += 1
        for f in range(m):
            for t in (Fraction(0), Fraction(1), Fraction(float(rng.random()))):
                floor = Fraction(float(floors[f]))
                s = floor + t * (Fraction(float(ceil[f])) - floor)
                if ceil[f] >= floors[f]:
                    worth = worth_of(s, Fraction(float(rhos[f])), Fraction(float(costs[f])))
                    assert worth <= (Fraction(float(kap[f])) * s) ** 2 + Fraction(float(beta))
    assert used > 200
    # None without a floor, and none above all ceilings.
    half = terms_of(np.full(1, 0.5), np.zeros(1))
    assert test_kernels.common_chords(half, 0.0, np.arange(1), np.ones(1), 1, kap) == 0.0
    assert test_kernels.common_chords(half, 2.25, np.arange(1), np.ones(1), 1, kap) == 0.0


def terms_of(rho, costs):
    return Terms(rho, rho, costs, rho + np.sqrt(costs) * (1 - 1e-15))


def nus(rng, pair, inc, lo, hi, free, ceil):
    """Numbers that columns outside R are to grow by: nothing, and where the gain turns."""
    r = pair.terms.r_lo
    good = [r[j] / max(x + y - 2 * r[j], 1e-9) for j, x, y in zip(inc, lo, hi, strict=True)]
    good += [
        r[j] * (1.0 + t) / max(float(c) - r[j], 1e-9)
        for j, c in zip(free, ceil, strict=True) for t in (0.0, 0.9e-5, 1e-5, 2e-5)
    ]  # fmt: skip
    return [0.0, 5e-324, float(rng.uniform()), *rng.permutation(good)[:4].tolist(), 1e100, 1e308, math.inf]


def test_no_test_closes_a_pair_that_is_worth_more():
    shown, floors = np.zeros(3, dtype=int), 0
    for rng, pair in pairs(10, 150):
        data, k = pair.data, pair.k
        support = np.flatnonzero(pair.v)
        own = data.response(support, pair.v[support])
        other = data.response(np.arange(pair.d), rng.standard_normal(pair.d))
        for _ in range(2):
            inc, _, lo, hi, free, ceil = pair.node(rng)
            below, p = pair.below(rng), k - len(inc)
            alone = sum((pair.worths[j] for j in inc), Fraction(0)) > Fraction(pair.T)
            S, fails = np.empty((len(free), len(free))), np.zeros(len(free), dtype=np.bool_)
            scaling = np.exp(rng.standard_normal(pair.d))
            ends = zip(lo, hi, data.terms.r_lo[inc], data.terms.cost[inc], strict=True)
            chords = np.array([chord(*one)[0] for one in ends])
            tests = [(True, roots, (np.zeros(0), 0.0, 0.0), 0.0) for roots in (chords, 1.01 * chords, -1e3 * chords)]
            tests += [
                (False, np.empty(0), w, nu) for w in (own, other) if w for nu in nus(rng, pair, inc, lo, hi, free, ceil)
            ]
            for number, (is_chords, roots, (g, g_eps, w_eps), nu) in enumerate(tests):
                for T in (pair.T, 1.2 * pair.T + 1e-9):
                    # What the floors of fewer features leave, on copies: a chord of the free features needs them.
                    mine = lo.copy(), hi.copy(), free.copy(), ceil.copy()
                    _, _, _, carried, n_high = kernels.propagate(
                        data.terms, T, p, below, inc, mine[0], mine[1], len(inc), mine[2], mine[3], len(free)
                    )
                    floors += carried > 0 and is_chords
                    verdict = test_kernels.schur_test(
                        data.A, data.eps, data.top, data.table, T, k, g, g_eps, w_eps, inc, lo, hi, len(inc),
                        free, ceil, len(free), carried, n_high, is_chords, roots, float(nu), number % 2 == 0, S, fails,
                        scaling, NEVER,
                    )  # fmt: skip
                    if verdict == test_kernels.UNDOMINATED:
                        closed = definite(S, len(free), k - len(inc), NEVER)
                        verdict = test_kernels.ALL if closed else test_kernels.ALONE
                    if T == pair.T:
                        assert verdict != test_kernels.ALL
                        assert not (alone and verdict == test_kernels.ALONE)
                        assert all(fails[f] for f, j in enumerate(free) if j in pair.S)
                    else:
                        shown[verdict] += 1
    assert (shown > 200).all()
    assert floors > 200


def test_attacks_stay_within_the_budget_and_pay_for_the_gain():
    rng = np.random.default_rng(11)
    gained = 0
    for _, pair in pairs(12, 200):
        data, n_all = pair.data, pair.d
        # An exact w, by its floating-point entries; sometimes u itself, where the gain is least.
        w = [Fraction(float(x)) for x in pair.u]
        if rng.random() < 0.5:
            w = [x + Fraction(float(y)) for x, y in zip(w, 0.1 * rng.standard_normal(len(w)), strict=True)]
        w = [x * root_below(1 / dot(w, w)) for x in w]
        leaning = [dot(column, w) for column in pair.columns]
        g = np.array([float(x) for x in leaning])
        g_eps = float(2.0**-52 * np.abs(g).max())
        inc, _, lo, hi, free, ceil = pair.node(rng)
        order = [*inc.tolist(), *free.tolist()]
        for nu in nus(rng, pair, inc, lo, hi, free, ceil)[:-2]:
            kap, dlt, alt = np.empty(n_all), np.empty(n_all), np.empty(len(free))
            threshold, tilt = test_kernels.columns(
                data.A, data.eps, data.top, data.terms, pair.T, pair.k - len(inc), g, g_eps, inc, lo, hi,
                len(inc), free, ceil, len(free), 0.0, 0, False, np.empty(0), float(nu), kap, dlt, alt,
            )  # fmt: skip
            gained += tilt > 1e-3
            grown = Fraction(math.sqrt(1.0 + nu)) * (1 + 8 * U) if nu < 1e50 else None
            for c, j in enumerate(order):
                e = [(Fraction(kap[c]) - 1) * x + Fraction(dlt[c]) * y for x, y in zip(pair.columns[j], w, strict=True)]
                if c >= len(inc) and pair.cost[j] > 0:
                    continue  # shortened by what the cost leaves: the sum below is the judge
                if c >= len(inc) and dot(e, e) > pair.rho[j] ** 2:
                    # A column that was scaled up: undo it, to rounding.
                    if grown is None:
                        continue
                    shares = Fraction(kap[c]) / grown, Fraction(dlt[c]) / grown
                    e = [(shares[0] - 1) * x + shares[1] * y for x, y in zip(pair.columns[j], w, strict=True)]
                    slack = 40 * U * max(1, dot(pair.columns[j], pair.columns[j]))
                    assert dot(e, e) <= pair.rho[j] ** 2 + slack
                else:
                    assert dot(e, e) <= pair.rho[j] ** 2
            # The inequality that the test rests on, at the pair itself; either kind of column for the free ones.
            tau = dot(w, pair.u)
            square = Fraction(0)
            for j in pair.S:
                c = order.index(j)
                y = Fraction(kap[c]) * pair.along[j] + Fraction(dlt[c]) * tau
                if c >= len(inc) and rng.random() < 0.3:
                    y = Fraction(alt[c - len(inc)]) * pair.along[j]
                square += y * y
            base = Fraction(pair.T) + sum((pair.cost[j] for j in inc), Fraction(0))
            total = square + Fraction(float(tilt)) * base * tau * tau
            size = (Fraction(float(np.abs(kap).max())) + Fraction(float(np.abs(dlt).max()))) ** 2
            assert total > Fraction(float(threshold)) - 48 * U * size * (1 + Fraction(float(tilt)))
    assert gained > 50
