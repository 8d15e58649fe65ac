"""Every inequality of the Gram checker against exact rational arithmetic."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from awkward import MATRICES, hilbert, indefinite, low_rank
from rational import U, dot, exact, float_above, float_below, positive_semidefinite, root_below

import noap
from noap.certificate import _kernels_gram_semidefinite as semidefinite_kernels
from noap.certificate import _kernels_gram_test as test_kernels
from noap.certificate import _kernels_gram_tighten as kernels
from noap.certificate.gram_data import GramData, _raised
from noap.certificate.witness import value_below
from noap.linalg.outward import gram_with_error, scaled_up

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")

# -- the data of a proof ----------------------------------------------------------------------------------------------


def nasty(rng, n, d, kind):
    X = rng.standard_normal((n, d))
    if kind == 1:
        X = np.round(4 * X) / 4
    elif kind == 2:
        X *= 10.0 ** rng.uniform(-12, 0, d)
    elif kind == 3:
        X = X[:, rng.integers(0, max(d // 2, 1), d)] + 10.0 ** rng.uniform(-17, -6) * X
    elif kind == 4:
        X = X * 10.0 ** rng.uniform(-170, 0, (n, d))
        X[0, 0] = 1.0
    elif kind == 5:
        X = X[:, :1] * rng.choice([-1.0, 1.0], d) + 1e-9 * X
    return X


def test_gram_matrices_are_as_near_as_they_say():
    rng = np.random.default_rng(0)
    for trial in range(60):
        n = int(rng.choice([1, 2, 5, 40]))
        Y = nasty(rng, n, 3, trial % 6)
        Y /= np.abs(Y).max()
        G, error = gram_with_error(Y)
        columns = exact(Y.T)
        for i in range(3):
            for j in range(3):
                assert abs(Fraction(float(G[i, j])) - dot(columns[i], columns[j])) <= Fraction(error)
    Y = rng.standard_normal((1500, 2)) / 8  # several blocks
    G, error = gram_with_error(Y)
    columns = exact(Y.T)
    assert abs(Fraction(float(G[0, 1])) - dot(columns[0], columns[1])) <= Fraction(error) < 1e-10
    assert error < 1e-13 * G.max() * 1500


def test_scaled_up():
    for x, e in ((0.0, 5), (1.5, 3), (1.5, -1074), (1.0, -1080), (3.0, -1075), (1e300, 100), (1e-310, -3)):
        y = scaled_up(x, e)
        assert y == math.inf or Fraction(y) >= Fraction(x) * Fraction(2) ** e
        assert y < math.inf or x * 2.0 ** (e / 2) > 1e300


def test_the_budget_lies_between_its_bounds():
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 7, 10**6 + 3, 2**53 - 1):
        for rho in (0.0, 5e-324, 1e-300, 1e-10, float(rng.uniform()), 1.0, 1e10):
            adversary = noap.FeatureWise(rho)
            for scale in (1.0, 1e-140, 1e140):
                problem = noap.Problem.from_covariance(np.eye(2) * scale, n_samples=n, k=1, adversary=adversary)
                data = GramData.of(problem)
                square = Fraction(rho) ** 2 / n / Fraction(4) ** data.exponent
                assert Fraction(data.r_lo) ** 2 <= square <= Fraction(data.r_hi) ** 2
                assert data.r_hi <= data.r_lo * (1 + 1e-14) + 1e-299


def gram_of(data, columns):
    """The exact inner products in the units of the data."""
    return [[dot(a, b) for b in columns] for a in columns]


def known(problem):
    """GramData and the exact columns of X/sqrt(n) in its units; n is a square."""
    data = GramData.of(problem)
    root = math.isqrt(problem.n_samples)
    assert root * root == problem.n_samples
    unit = Fraction(root) * Fraction(2) ** data.exponent
    return data, [[x / unit for x in column] for column in exact(problem.X.T)]


def test_entries_norms_and_responses_of_the_data():
    rng = np.random.default_rng(2)
    responses = 0
    for trial in range(120):
        n, d = int(rng.choice([1, 4, 9])), int(rng.integers(1, 5))
        X = nasty(rng, n, d, trial % 6) * 10.0 ** rng.integers(-100, 100)
        data, columns = known(noap.Problem(X, k=1, adversary=noap.NoAdversary()))
        G = gram_of(data, columns)
        for i in range(d):
            assert G[i][i] <= Fraction(float(data.norms[i])) ** 2
            for j in range(d):
                assert abs(Fraction(float(data.A[i, j])) - G[i][j]) <= Fraction(data.eps)
        assert np.abs(data.A).max() <= data.top
        places = rng.integers(0, d, int(rng.integers(1, d + 1))).astype(np.uint32)
        weights = rng.standard_normal(len(places)) * 10.0 ** rng.integers(-300, 300)
        if trial % 4 == 0 and len(places) > 1:  # a vector that cancels almost, or altogether
            places[1] = places[0]
            weights[1] = -weights[0] * (1 + 10.0 ** rng.uniform(-17, -7))
        made = data.response(places, weights)
        if made is None:
            continue
        responses += 1
        g, g_eps, w_eps = made
        summed = [
            sum(Fraction(float(w)) * columns[p][row] for p, w in zip(places, weights, strict=True)) for row in range(n)
        ]
        # w = lam times this, for some lam that all the claims allow.
        low, high = Fraction(0), Fraction(10) ** 700
        for j in range(d):
            along = dot(columns[j], summed)
            ends = Fraction(float(g[j])) - Fraction(g_eps), Fraction(float(g[j])) + Fraction(g_eps)
            if along == 0:
                assert ends[0] <= 0 <= ends[1]
            else:
                low, high = max(low, min(x / along for x in ends)), min(high, max(x / along for x in ends))
        assert low <= high
        square = dot(summed, summed)
        assert low**2 * square <= 1
        assert high**2 * square >= 1 - Fraction(w_eps)
    assert responses > 80


def test_the_response_to_a_vector_depends_on_its_direction_only():
    X = np.random.default_rng(3).standard_normal((9, 4))
    data = GramData.of(noap.Problem(X, k=1, adversary=noap.NoAdversary()))
    places, weights = np.array([0, 2, 3]), np.array([0.3, -0.7, 0.1])
    g, g_eps, _ = data.response(places, weights)
    for scale in (2.0**-1000, 2.0**-500, 2.0**500, 2.0**1000):
        other, other_eps, _ = data.response(places, weights * scale)
        assert (other == g).all()
        assert other_eps == g_eps
    for none in (np.zeros(3), np.zeros(0), np.full(3, 5e-324) * 0):
        assert data.response(places[: len(none)], none) is None


def test_covariances_are_raised_until_they_are_positive_semidefinite():
    cases = [S / np.abs(S).max() for S in MATRICES.values()]
    cases += [indefinite(5, depth) for depth in (1e-16, 1e-15, 1e-13, 1e-10)]
    cases += [hilbert(d) for d in (1, 2, 9, 12)] + [low_rank(8, rank) / 64 for rank in (1, 3, 7)]
    for S in cases:
        S = (S + S.T) / 2
        A, raised = _raised(S.copy())
        shift = Fraction(raised) / Fraction(1.001) + Fraction(1, 10**25)
        lifted = exact(S)
        for i in range(len(S)):
            lifted[i][i] += shift
            assert 0 <= Fraction(float(A[i, i])) - Fraction(float(S[i, i])) <= Fraction(raised) + U
        assert positive_semidefinite(lifted)
        assert raised <= 1e-9 * len(S)
    assert _raised(np.zeros((3, 3)))[1] == 0.0


def test_a_vector_is_worth_what_the_checker_says_or_more():
    rng = np.random.default_rng(5)
    positive = 0
    for trial in range(150):
        n, d = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        X = nasty(rng, n, d, trial % 6) * 10.0 ** rng.choice([-120, 0, 120])
        rho = float(np.linalg.norm(X, axis=0).max() * rng.choice([0.0, 1e-300, 0.2, 0.7]))
        adversary = noap.FeatureWise(rho)
        places = rng.permutation(d)[: int(rng.integers(1, d + 1))]
        weights = rng.standard_normal(len(places)) * 10.0 ** rng.integers(-300, 300)
        if trial % 5 == 0:
            weights *= 10.0 ** rng.uniform(-170, 0, len(places))
        problem = noap.Problem(X, k=d, adversary=adversary)
        energy = square_of(exact(X), places, weights)
        check_worth(problem, places, weights, energy)
        positive += value_below(problem, places, weights) > 0
        S = np.array(problem.covariance)
        if trial % 6 != 4 and np.abs(S).max() > 1e-250:
            given = noap.Problem.from_covariance(S, n_samples=n, k=d, adversary=adversary)
            F, w = exact(S), [Fraction(float(x)) for x in weights]
            energy = n * sum(
                F[i][j] * x * y for i, x in zip(places, w, strict=True) for j, y in zip(places, w, strict=True)
            )
            check_worth(given, places, weights, max(energy, 0))
    assert positive > 60


def square_of(rows, places, weights):
    w = [Fraction(float(x)) for x in weights]
    return sum(sum(row[j] * x for j, x in zip(places, w, strict=True)) ** 2 for row in rows)


def check_worth(problem, places, weights, energy):
    """value <= (sqrt(energy) - rho |v|_1)^2/(n |v|^2), without a root."""
    value = Fraction(value_below(problem, places, weights))
    if value == 0:
        return
    w = [abs(Fraction(float(x))) for x in weights]
    paid = Fraction(float(problem.adversary.rho)) * sum(w)
    wanted = value * problem.n_samples * sum(x * x for x in w)
    spare = energy - paid**2 - wanted
    # Scaling the weights may have rounded the smallest of them away: no more than 1e-300 of the whole.
    spare += Fraction(1, 10**300) * max(x for x in w) ** 2
    assert spare >= 0
    assert spare**2 >= 4 * paid**2 * wanted


# -- tightening and tests, at a pair that is worth more ---------------------------------------------------------------


def worth_of(s, rho):
    return max(s - rho, Fraction(0)) ** 2


class Pair:
    """A problem, a rational direction u that is a local maximum to rounding, and what it is worth: exactly."""

    def __init__(self, rng, kind, share, k, d=5, n=4):
        X = nasty(rng, n, d, kind)
        rho = float(share * np.linalg.norm(X, axis=0).max())
        self.problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rho))
        self.data, self.columns = known(self.problem)
        self.k, self.d = k, d
        self.rho = Fraction(rho) / math.isqrt(n) / Fraction(2) ** self.data.exponent
        a = np.array([[float(x) for x in column] for column in self.columns])
        r = float(self.rho)
        u = rng.standard_normal(n)
        for _ in range(300):
            v = np.sign(a @ u) * np.maximum(np.abs(a @ u) - r, 0.0)
            v[np.argsort(-np.abs(v))[k:]] = 0.0
            if not v.any():
                u = a[np.argmax((a**2).sum(axis=1))]
                u = u / np.linalg.norm(u)
                continue
            u = v @ a / np.linalg.norm(v @ a)
        self.v = v
        u = [Fraction(float(x)) for x in u]
        inverse = root_below(1 / dot(u, u))
        self.u = [inverse * x for x in u]
        self.along = [dot(column, self.u) for column in self.columns]
        self.s = [abs(x) for x in self.along]
        order = sorted(range(d), key=lambda j: -self.s[j])[:k]
        self.S = [j for j in order if self.s[j] > self.rho]
        self.worth = sum((worth_of(self.s[j], self.rho) for j in self.S), Fraction(0))
        self.T = max(float_below(self.worth), 0.0)

    def node(self, rng):
        """A node that the pair lies in: arrays for the kernels."""
        n_inc = int(rng.integers(0, len(self.S) + 1))
        inc = np.array([self.S[i] for i in rng.permutation(len(self.S))[:n_inc]], dtype=np.int64)
        norms = self.data.norms
        lo, hi = np.empty(n_inc), np.empty(n_inc)
        for a, j in enumerate(inc):
            wide = rng.choice([0.0, 0.0, 1e-15, 1e-8, 1e-3, 0.3])
            lo[a] = max(float_below(self.s[j] * (1 - Fraction(float(wide)))), self.data.r_lo)
            wide = rng.choice([0.0, 0.0, 1e-15, 1e-8, 1e-3, 0.3])
            hi[a] = min(float_above(self.s[j] * (1 + Fraction(float(wide)))), norms[j])
        sign = np.array([(1 if self.along[j] > 0 else -1) if rng.random() < 0.8 else 0 for j in inc], dtype=np.int64)
        free = np.array([j for j in range(self.d) if j not in inc and norms[j] > self.data.r_lo], dtype=np.int64)
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
    closed = 0
    for rng, pair in pairs(6, 120):
        data = pair.data
        for _ in range(6):
            inc, sign, lo, hi, free, ceil = pair.node(rng)
            for T in (pair.T, 0.9 * pair.T):
                mine = sign.copy(), lo.copy(), hi.copy(), free.copy(), ceil.copy()
                shut, n_free = kernels.tighten(
                    data.A, data.eps, data.top, data.r_lo, T, pair.k - len(inc),
                    inc, mine[0], mine[1], mine[2], len(inc), mine[3], mine[4], len(free),
                )  # fmt: skip
                assert not shut
                for a, j in enumerate(inc):
                    assert mine[0][a] in (0, 1 if pair.along[j] > 0 else -1)
                    assert Fraction(mine[1][a]) <= pair.s[j] <= Fraction(mine[2][a])
                left = {int(j): Fraction(c) for j, c in zip(mine[3][:n_free], mine[4][:n_free], strict=True)}
                for j in set(pair.S) - set(inc.tolist()):
                    assert left[j] >= pair.s[j]
            # It is not just timid: a little above what the node can be worth, nodes close.
            shut, _ = kernels.tighten(
                data.A, data.eps, data.top, data.r_lo, 1.01 * pair.T + 1e-9, pair.k - len(inc),
                inc, sign, lo, hi, len(inc), free, ceil, len(free),
            )  # fmt: skip
            closed += shut
    assert closed > 100


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
        for i in range(pair.d):
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
        _, _, rest = kernels.propagate(data.r_lo, pair.T, pair.k - len(inc), lo, hi, len(inc), free, ceil, len(free))
        wedge = np.empty(len(inc))
        tau = kernels.wedge_of(
            data.A, data.eps, data.top, data.r_lo, pair.T, inc, sign, lo, hi, len(inc), rest, wedge
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
        root, beta = kernels.chord(lo, hi, rho)
        if trial % 3 == 0:
            root = float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.integers(-10, 10))
            beta = kernels.offset(lo, hi, rho, root)
        for t in (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(int(rng.integers(1000)), 1000)):
            s = Fraction(lo) + t * (Fraction(hi) - Fraction(lo))
            above = (Fraction(float(root)) * s) ** 2 + Fraction(float(beta))
            assert worth_of(s, Fraction(rho)) <= above + Fraction(10) ** -300 * (trial % 3 == 0)
        exactly = worth_of(Fraction(hi), Fraction(rho))
        assert Fraction(kernels.worth_down(hi, rho)) <= exactly <= Fraction(kernels.worth_up(hi, rho))


def nus(rng, pair, lo, hi, ceil):
    r = pair.data.r_lo
    good = [1.0 / max(x + y - 2 * r, 1e-9) for x, y in zip(lo, hi, strict=True)]
    good += [(1.0 + t) / max(float(c) - r, 1e-9) for c in ceil for t in (0.0, 0.9e-5, 1e-5, 2e-5)]
    return [0.0, 5e-324, float(rng.uniform()), *rng.permutation(good)[:4].tolist(), 1e100, 1e308, math.inf]


def test_no_test_closes_a_pair_that_is_worth_more():
    shown = np.zeros(3, dtype=int)
    for rng, pair in pairs(10, 150):
        data, k = pair.data, pair.k
        support = np.flatnonzero(pair.v)
        own = data.response(support, pair.v[support])
        other = data.response(np.arange(pair.d), rng.standard_normal(pair.d))
        for _ in range(2):
            inc, _, lo, hi, free, ceil = pair.node(rng)
            alone = sum((worth_of(pair.s[j], pair.rho) for j in inc), Fraction(0)) > Fraction(pair.T)
            S, fails = np.empty((len(free), len(free))), np.zeros(len(free), dtype=np.bool_)
            scaling = np.exp(rng.standard_normal(pair.d))
            chords = np.array([kernels.chord(x, y, data.r_lo)[0] for x, y in zip(lo, hi, strict=True)])
            tests = [(True, roots, (np.zeros(0), 0.0, 0.0), 0.0) for roots in (chords, 1.01 * chords, -1e3 * chords)]
            tests += [(False, np.empty(0), w, nu) for w in (own, other) if w for nu in nus(rng, pair, lo, hi, ceil)]
            for number, (is_chords, roots, (g, g_eps, w_eps), nu) in enumerate(tests):
                for T in (pair.T, 1.2 * pair.T + 1e-9):
                    verdict = test_kernels.schur_test(
                        data.A, data.eps, data.top, data.r_lo, data.r_hi, T, k, g, g_eps, w_eps, inc, lo, hi, len(inc),
                        free, ceil, len(free), is_chords, roots, float(nu), number % 2 == 0, S, fails, scaling,
                    )  # fmt: skip
                    if T == pair.T:
                        assert verdict != test_kernels.ALL
                        assert not (alone and verdict == test_kernels.ALONE)
                        assert all(fails[f] for f, j in enumerate(free) if j in pair.S)
                    else:
                        shown[verdict] += 1
    assert (shown > 200).all()


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
        for nu in nus(rng, pair, lo, hi, ceil)[:-2]:
            kap, dlt, alt = np.empty(n_all), np.empty(n_all), np.empty(len(free))
            threshold, tilt = test_kernels.columns(
                data.A, data.eps, data.top, data.r_lo, data.r_hi, pair.T, pair.k - len(inc), g, g_eps, inc, lo, hi,
                len(inc), free, ceil, len(free), False, np.empty(0), float(nu), kap, dlt, alt,
            )  # fmt: skip
            gained += tilt > 1e-3
            grown = Fraction(math.sqrt(1.0 + data.r_hi * nu)) * (1 + 8 * U) if nu < 1e50 else None
            for c, j in enumerate(order):
                e = [(Fraction(kap[c]) - 1) * x + Fraction(dlt[c]) * y for x, y in zip(pair.columns[j], w, strict=True)]
                if c >= len(inc) and dot(e, e) > pair.rho**2:
                    # A column that was scaled up: undo it, to rounding.
                    if grown is None:
                        continue
                    shares = Fraction(kap[c]) / grown, Fraction(dlt[c]) / grown
                    e = [(shares[0] - 1) * x + shares[1] * y for x, y in zip(pair.columns[j], w, strict=True)]
                    slack = 40 * U * max(1, dot(pair.columns[j], pair.columns[j]))
                    assert dot(e, e) <= pair.rho**2 + slack
                else:
                    assert dot(e, e) <= pair.rho**2
            # The inequality that the test rests on, at the pair itself; either kind of column for the free ones.
            tau = dot(w, pair.u)
            square = Fraction(0)
            for j in pair.S:
                c = order.index(j)
                y = Fraction(kap[c]) * pair.along[j] + Fraction(dlt[c]) * tau
                if c >= len(inc) and rng.random() < 0.3:
                    y = Fraction(alt[c - len(inc)]) * pair.along[j]
                square += y * y
            total = square + Fraction(float(tilt)) * Fraction(pair.T) * tau * tau
            size = (Fraction(float(np.abs(kap).max())) + Fraction(float(np.abs(dlt).max()))) ** 2
            assert total > Fraction(float(threshold)) - 48 * U * size * (1 + Fraction(float(tilt)))
    assert gained > 50


def exactly_definite(S, p):
    """Whether every principal block of at most p rows is positive definite."""
    for size in range(1, min(p, len(S)) + 1):
        for rows in combinations(range(len(S)), size):
            A = [[S[i][j] for j in rows] for i in rows]
            for c in range(size):
                if A[c][c] <= 0:
                    return False
                for f in range(c + 1, size):
                    x = A[f][c] / A[c][c]
                    A[f] = [y - x * z for y, z in zip(A[f], A[c], strict=True)]
    return True


def test_minors_and_dominance_are_right_to_the_last_digit():
    rng = np.random.default_rng(13)
    yes = np.zeros(2, dtype=int)
    for trial in range(600):
        m = int(rng.integers(1, 6))
        S = rng.uniform(-1, 1, (m, m))
        S = np.triu(S, 1)
        S = S + S.T
        p = int(rng.integers(2, 5))
        if trial % 2:
            p, S = 2, np.sign(S)
        # Almost exactly on the edge.
        rows = np.sort(np.abs(S), axis=1)[:, ::-1][:, : p - 1].sum(axis=1)
        edge = 1.0 if p == 2 else float(rows.max()) or 1.0
        S += np.diag(np.full(m, edge * (1 + rng.choice([-1e-15, 0.0, 2e-16, 1e-15, 4e-15, 1e-12, 0.2]))))
        d = 2.0 ** rng.integers(-400, 400) * 2.0 ** rng.integers(-9, 9, m).astype(float)
        S = S * np.outer(d, d) / 2.0 ** rng.choice([0, 60])
        fails = np.zeros(m, dtype=np.bool_)
        start = np.exp(rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal(m))
        good = test_kernels.minors(S, m, fails) if p == 2 else test_kernels.dominates(S, m, p, start)
        if good:
            yes[p > 2] += 1
            assert exactly_definite(exact(S), p)
            assert not fails.any()
    assert (yes > 30).all()
    S = np.eye(3)
    S[0, 1] = S[1, 0] = np.nan
    assert not test_kernels.dominates(S, 3, 3, np.ones(3))
    assert not test_kernels.minors(S, 3, np.zeros(3, dtype=np.bool_))


def test_the_semidefinite_test_is_right_to_the_last_digit():
    rng = np.random.default_rng(14)
    yes = np.zeros(2, dtype=int)
    for _ in range(300):
        m, p = int(rng.integers(3, 7)), int(rng.integers(3, 5))
        S = rng.standard_normal((m, m))
        S = np.triu(S, 1)
        S = S + S.T
        blocks = [list(block) for block in combinations(range(m), min(p, m))]
        edge = -min(float(np.linalg.eigvalsh(S[np.ix_(block, block)])[0]) for block in blocks)
        off = float(rng.choice([-1e-9, -1e-15, 0.0, 1e-15, 1e-12, 1e-9, 0.2, 0.5]))
        S += np.diag(np.full(m, edge * (1 + off)))
        d = 2.0 ** rng.integers(-400, 400) * 2.0 ** rng.integers(-9, 9, m).astype(float)
        S = S * np.outer(d, d) / 2.0 ** rng.choice([0, 60])
        if semidefinite_kernels.definite(S, m, p):
            yes[int(off < 1e-6)] += 1
            assert exactly_definite(exact(S), p)
    assert yes[0] > 30
    S = np.eye(3)
    S[0, 1] = S[1, 0] = np.nan
    assert not semidefinite_kernels.definite(S, 3, 3)
    many = semidefinite_kernels.MOST_FEATURES + 1
    assert not semidefinite_kernels.definite(np.eye(many), many, 3)


def test_the_semidefinite_factor_counts_what_it_leaves_out():
    # P = N + t off the diagonal: on the edge for p = 3 when N is -1/2 off it, since (-1/2 + t) 2 = (p - 1) t - 1.
    N = np.full((3, 3), -0.5) + 1.5 * np.eye(3)
    for t in (0.0, 0.125, 0.25):
        multiplier = np.full((3, 3), t)
        assert not semidefinite_kernels._factors(N, multiplier, 3, 3, t)
        N[0, 1] = N[1, 0] = -0.49
        assert semidefinite_kernels._factors(N, multiplier, 3, 3, t)
        N[0, 1] = N[1, 0] = -0.5
