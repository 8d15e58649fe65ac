r"""The Schur test of a Gram proof: every support :math:`S = I + Q`, :math:`|Q| \le p`, at once.

Columns :math:`y_j` with :math:`f(s_j) \le (y_j^\top u)^2 + \beta_j` make a pair worth at most
:math:`\sum \beta_j + \lambda_{\max}(M_{SS})`, M their Gram matrix. Whatever enters (slopes, a vector w, nu) may be
chosen freely; A, eps, top and terms are as in `tighten.py` beside this file. What is proved again is
Step 4, The Schur test, of docs/exact.md, and in `gain` Step 5, What the attack gains at right angles, of docs/exact.md.
"""

import math

import numpy as np

from noap.checker.feature_wise.kernels.worth import chord, floor_of, offset, shrunk, tallest, worth_up
from noap.checker.kernels.clock import late
from noap.checker.kernels.largest import insert
from noap.checker.kernels.rounding import U, gamma
from noap.runtime.kernels import kernel, part

# What a test shows: nothing; that no pair with S = I alone is worth more than T; that no pair at all is. UNDOMINATED is
# ALONE with a Schur complement that dominance left open: the semidefinite test may show ALL. It is called for apart:
# few proofs ever need it compiled.
NOTHING, ALONE, ALL, UNDOMINATED = range(4)
# Turns of the dominance scaling.
_TURNS = 60
# How far nu (ceil - rho) may pass 1 for a feature that leans towards w and is still counted there.
_OVER = 1e-5
# How far |a_j'w| may stay below rho, relatively, for a feature that is counted as leaning towards w. Any may be, and
# where a_j'w = rho the search and the checker would otherwise decide by their last digits, and not alike.
_TIED = 1e-12
# Roundings of a share of a column, and of an entry of M; nothing. To Numba a Python integer is a type of its own.
_SHARE, _ENTRY, _ZERO = np.int64(20), np.int64(28), np.int64(0)


@part
def gain(terms, T, leans, inc, lo, hi, n_inc, nu, owed):
    """Return D, at most what the attack gains at right angles as nu counts it, and at least 0.

    leans[a] tells whether included feature a has the column a_j - rho_j sgn w. `owed` is what the free features with
    such a column may fall short of: the sum of their rho_j x - nu f_j is at least minus this.
    """
    total, bulk = nu * T - owed, nu * T + owed
    for a in range(n_inc):
        if leans[a]:
            # r_lo x - nu (x^2 - cost) is concave in x = s - rho, and x lies between these ends.
            r, x, y = terms.r_lo[inc[a]], lo[a] - terms.r_hi[inc[a]], hi[a] - terms.r_lo[inc[a]]
            refund = nu * terms.cost[inc[a]]
            total += min(r * x - nu * x * x, r * y - nu * y * y) + refund
            bulk += r * (abs(x) + abs(y)) + nu * (x * x + y * y) + refund
        else:
            outside = nu * worth_up(hi[a], terms.r_lo[inc[a]], terms.cost[inc[a]])
            total -= outside
            bulk += outside
    total -= gamma(6 * n_inc + 20) * bulk
    return max(total * (1.0 - 4.0 * U), 0.0)


@part
def columns(
    A, eps, top, terms, T, p, g, g_eps, inc, lo, hi, n_inc, free, ceil, n_free, carried, n_high, chords, roots, nu,
    kap, dlt, alt,
):  # fmt: skip
    """Make the columns y_j = kap_j a_j + dlt_j w of a test. Returns (threshold, tilt).

    w has |w| <= 1 and g_j = a_j'w to within g_eps. A free feature may take the column alt_j a_j instead (alt_j < 0:
    it may not).
    """
    if chords:
        threshold, bulk = T, T
        for a in range(n_inc):
            kap[a], dlt[a] = roots[a], 0.0
            beta = offset(lo[a], hi[a], terms.r_lo[inc[a]], terms.cost[inc[a]], roots[a])
            threshold -= beta
            bulk += abs(beta)
        beta = common_chords(terms, carried, free, ceil, n_free, kap[n_inc:])
        threshold -= n_high * beta
        bulk += n_high * abs(beta)
        for f in range(n_free):
            r_lo, cost = terms.r_lo[free[f]], terms.cost[free[f]]
            if beta == 0.0 or not ceil[f] >= floor_of(carried, r_lo, cost):
                kap[n_inc + f] = shrunk(ceil[f], r_lo, cost)
            dlt[n_inc + f] = 0.0
            alt[f] = -1.0
        return threshold - gamma(n_inc + 4) * bulk, 0.0
    leans = np.empty(n_inc, dtype=np.bool_)
    # What an included feature costs is taken off whatever u is.
    base = T
    for a in range(n_inc):
        leans[a] = abs(g[inc[a]]) >= terms.r_lo[inc[a]] * (1.0 - _TIED)
        base += terms.cost[inc[a]]
    base *= 1.0 - gamma(n_inc + 2)
    # rho x - nu f >= -x (nu x - rho) for x = s - rho: nothing is owed while nu x <= rho, and where that is passed by no
    # more than rounding, little. Otherwise the feature counts as outside.
    owed = 0.0
    for f in range(n_free):
        r_lo = terms.r_lo[free[f]]
        if abs(g[free[f]]) >= r_lo * (1.0 - _TIED):
            x = (ceil[f] - r_lo) * (1.0 + 4.0 * U)
            over = nu * x * (1.0 + 4.0 * U) - r_lo
            if 0.0 < over <= 2.0 * _OVER * r_lo:
                owed = max(owed, x * over * (1.0 + 8.0 * U))
    D = gain(terms, T, leans, inc, lo, hi, n_inc, nu, p * owed)
    grow = math.sqrt(1.0 + nu) * (1.0 + 4.0 * U)
    for c in range(n_inc + n_free):
        i = inc[c] if c < n_inc else free[c - n_inc]
        s, r_lo, cost = g[i], terms.r_lo[i], terms.cost[i]
        if abs(s) >= r_lo * (1.0 - _TIED):
            # e = -+rho w, within the budget because |w| <= 1.
            kap[c], dlt[c] = 1.0, -r_lo if s > 0.0 else r_lo
            inside = c < n_inc or nu * (ceil[c - n_inc] - r_lo) * (1.0 + 12.0 * U) <= r_lo * (1.0 + _OVER)
        else:
            # e = -(share) a_j - (s - share s) w: shrunk until it certainly fits the budget.
            off = math.sqrt(max(A[i, i] - s * s, 0.0))
            share = min(math.sqrt(max(r_lo * r_lo - s * s, 0.0)) / off, 1.0) if off > 0.0 else 1.0
            lean = s - share * s
            square = share * share * A[i, i] + 2.0 * share * lean * s + lean * lean
            # Rounding of the terms. None of them is negative, so a smaller share is as good.
            heft = (share * math.sqrt(top) + abs(lean)) * (math.sqrt(top) + abs(lean))
            square += share * share * eps + 2.0 * share * abs(lean) * g_eps + gamma(_SHARE) * heft * 1.0001
            if square > r_lo * r_lo * (1.0 - 4.0 * U):
                fit = r_lo / math.sqrt(square) * (1.0 - 8.0 * U)
                share *= fit
                lean *= fit
            # An ulp more of a_j: the share that is taken away must not be rounded up.
            kap[c], dlt[c] = min(1.0 - share + U, 1.0), -lean
            inside = c < n_inc
        if not inside:
            kap[c] *= grow
            dlt[c] *= grow
        if c >= n_inc:
            alt[c - n_inc] = grow * shrunk(ceil[c - n_inc], r_lo, cost) * (1.0 + 4.0 * U)
            if cost > 0.0:
                # f <= (what it leaves of the square at the ceiling) x^2, x = s - rho.
                x = ceil[c - n_inc] - r_lo
                left = math.sqrt(worth_up(ceil[c - n_inc], r_lo, cost)) / x * (1.0 + 16.0 * U) if x > 0.0 else 0.0
                kap[c] *= left
                dlt[c] *= left
    return (base + D) * (1.0 - 4.0 * U), D / base * (1.0 + 4.0 * U)


@part
def common_chords(terms, carried, free, ceil, n_free, kap):
    """Fill kap with roots of slopes such that f(s) <= (kap_j s)^2 + beta where f(s) >= carried; returns beta <= 0.

    One beta for all of them, because any of the free features may be the ones of S. A feature that carries less has
    f(s) <= (kap_j s)^2: f(s)/s^2 grows with s, and kap_j^2 is at least what it is at the floor. 0, and nothing filled,
    where carried is 0. A feature that cannot reach its floor is left out.
    """
    top = tallest(terms, free, ceil, n_free)
    if top < 0 or not carried > 0.0:
        return 0.0
    r_lo, cost = terms.r_lo[free[top]], terms.cost[free[top]]
    floor = floor_of(carried, r_lo, cost)
    if not ceil[top] > floor > r_lo:
        return 0.0
    wanted = chord(floor, ceil[top], r_lo, cost)[1]
    if not wanted < 0.0:
        return 0.0
    beta = wanted
    for f in range(n_free):
        r_lo, cost = terms.r_lo[free[f]], terms.cost[free[f]]
        floor = floor_of(carried, r_lo, cost)
        if not ceil[f] >= floor:
            continue
        low, high = worth_up(floor, r_lo, cost) - wanted, worth_up(ceil[f], r_lo, cost) - wanted
        kap[f] = math.sqrt(max(low / (floor * floor), high / (ceil[f] * ceil[f]))) * (1.0 + 8.0 * U)
        beta = max(beta, offset(floor, ceil[f], r_lo, cost, kap[f]))
    return beta if beta < 0.0 else 0.0


@kernel
def schur_test(
    A, eps, top, terms, T, k, g, g_eps, w_eps, inc, lo, hi, n_inc, free, ceil, n_free, carried, n_high,
    chords, roots, nu, shrink, S, fails, scaling, clock,
):  # fmt: skip
    """Run the Schur test: whether tI - M_SS is positive definite for S = I + Q, every |Q| <= p.

    |w|^2 lies between 1 - w_eps and 1. Fills fails: the free features that may take part in a failing Q. `scaling`,
    positive, has an entry for every feature of the problem: where to begin looking for a d that dominates, and left
    with the one that did. Returns NOTHING, ALONE if the empty Q does not fail, ALL if none does, or UNDOMINATED, with
    the Schur complement in S; NOTHING or UNDOMINATED if time is up.
    """
    n_all, p = n_inc + n_free, k - n_inc
    kap, dlt, alt = np.empty(n_all), np.empty(n_all), np.empty(n_free)
    for f in range(n_free):
        fails[f] = True
    t, tilt = columns(
        A, eps, top, terms, T, p, g, g_eps, inc, lo, hi, n_inc, free, ceil, n_free, carried, n_high,
        chords, roots, nu, kap, dlt, alt,
    )  # fmt: skip
    if not t > 0.0:
        return NOTHING
    most_kap, most_dlt = 0.0, 0.0
    if chords:
        g = np.empty(A.shape[0])
        for i in range(A.shape[0]):
            g[i] = 0.0
    for c in range(n_all):
        most_kap = max(most_kap, abs(kap[c]))
        most_dlt = max(most_dlt, abs(dlt[c]))
    for f in range(n_free):
        most_kap = max(most_kap, alt[f])
    # Entries of M: |y_i'y_j| <= length^2, |w'y_i| <= length. First what the data are off, then the roundings of at most
    # fourteen operations on terms of at most this size.
    root = math.sqrt(top + eps)
    length = most_kap * root + most_dlt
    off = most_kap * most_kap * eps + 2.0 * most_kap * most_dlt * g_eps + most_dlt * most_dlt * w_eps
    slip = most_kap * g_eps + most_dlt * w_eps
    off += tilt * (2.0 * length + slip) * slip * 1.0001
    size = length * length * (1.0 + tilt)
    off += gamma(_ENTRY) * size
    # A partial elimination that succeeds is exact for a matrix whose entries differ by at most gamma(k + 3) times the
    # geometric means of its diagonal, plus the entry itself: as a block of k by k, k times that.
    room = k * (off + gamma(k + 4) * (t + size)) * 1.001
    L = np.empty((n_inc, n_inc))
    for a in range(n_inc):
        if late(clock, 1.0 * a * a):
            return NOTHING
        for b in range(a + 1):
            value = -product(A, g, kap, dlt, tilt, a, inc[a], b, inc[b])
            if a == b:
                value += t - room
            for c in range(b):
                value -= L[a, c] * L[b, c]
            if a == b:
                if not value > 0.0:
                    return NOTHING
                L[a, a] = math.sqrt(value)
            else:
                L[a, b] = value / L[b, b]
    if p == 0:
        return ALL
    W = np.empty((n_inc, n_free))
    diagonal = np.empty(n_free)
    column = np.empty(n_inc)
    n_fails = 0
    for f in range(n_free):
        b = n_inc + f
        if late(clock, 2.0 * n_inc * n_inc):
            return NOTHING
        diagonal[f] = eliminate(A, g, kap, dlt, tilt, inc, n_inc, b, free[f], t - room, L, column)
        for c in range(n_inc):
            W[c, f] = column[c]
        if shrink and alt[f] >= 0.0 and n_inc > 0:
            kept_kap, kept_dlt = kap[b], dlt[b]
            kap[b], dlt[b] = alt[f], 0.0
            other = eliminate(A, g, kap, dlt, tilt, inc, n_inc, b, free[f], t - room, L, column)
            if other > diagonal[f]:
                diagonal[f] = other
                for c in range(n_inc):
                    W[c, f] = column[c]
            else:
                kap[b], dlt[b] = kept_kap, kept_dlt
        fails[f] = not diagonal[f] > 0.0
        n_fails += fails[f]
    if p == 1 or (n_fails > 0 and p >= 3):
        if p >= 3:
            for f in range(n_free):
                fails[f] = True
        return ALL if n_fails == 0 else ALONE
    for f in range(n_free):
        if late(clock, 1.0 * f * (n_inc + 8)):
            return NOTHING
        row = S[f]
        for e in range(f):
            row[e] = -product(A, g, kap, dlt, tilt, n_inc + f, free[f], n_inc + e, free[e])
        for c in range(n_inc):
            share, others = W[c, f], W[c]
            for e in range(f):
                row[e] -= share * others[e]
        for e in range(f):
            S[e, f] = row[e]
        row[f] = diagonal[f]
    if p == 2:
        return ALL if minors(S, n_free, fails) else ALONE
    d = np.empty(n_free)
    for f in range(n_free):
        d[f] = scaling[free[f]]
    for _ in range(2):
        if dominates(S, n_free, p, d, clock):
            for f in range(n_free):
                scaling[free[f]] = d[f]
                fails[f] = False
            return ALL
        for f in range(n_free):
            d[f] = 1.0
    for f in range(n_free):
        fails[f] = True
    return UNDOMINATED


@part
def product(A, g, kap, dlt, tilt, x, i, y, j):
    """Return y_x'y_y + tilt (w'y_x)(w'y_y), with |w| = 1."""
    wx, wy = kap[x] * g[i] + dlt[x], kap[y] * g[j] + dlt[y]
    return kap[x] * kap[y] * A[i, j] + kap[x] * g[i] * dlt[y] + dlt[x] * wy + tilt * wx * wy


@part
def eliminate(A, g, kap, dlt, tilt, inc, n_inc, b, j, t, L, column):
    """Return the diagonal entry of the Schur complement for column b, feature j; fills its row of the factor."""
    value = t - product(A, g, kap, dlt, tilt, b, j, b, j)
    for a in range(n_inc):
        entry = -product(A, g, kap, dlt, tilt, a, inc[a], b, j)
        for c in range(a):
            entry -= L[a, c] * column[c]
        column[a] = entry / L[a, a]
        value -= column[a] * column[a]
    return value


@part
def minors(S, m, fails):
    """Test every 2 x 2 minor; marks the features of failing ones. Returns whether none fails."""
    single = np.empty(m, dtype=np.bool_)
    for f in range(m):
        single[f] = fails[f]
    clean = True
    for f in range(m):
        for e in range(f):
            good = not (single[e] or single[f])
            if good:
                good = (S[e, f] / S[e, e]) * (S[e, f] / S[f, f]) < 1.0 - 8.0 * U
            if not good:
                fails[e] = True
                fails[f] = True
                clean = False
    if m == 1:
        clean = not single[0]
    return clean


@part
def dominates(S, m, p, d, clock):
    """Whether some d > 0 has S_ii d_i > the sum of the p - 1 largest |S_ij| d_j, for every i.

    Looks for it from the given d on; the last one stays there.
    """
    root, reach, sums = np.empty(m), np.empty(m), np.empty(m)
    best = np.empty(p - 1)
    for f in range(m):
        root[f] = 1.0 / math.sqrt(S[f, f])
    for turn in range(_TURNS):
        if late(clock, 2.0 * m * m):
            return False
        largest, biggest = 0.0, 0.0
        for e in range(m):
            reach[e] = root[e] * d[e]
        for f in range(m):
            held = _ZERO
            for e in range(m):
                if e != f:
                    held = insert(abs(S[f, e]) * reach[e], best, held, p - 1)
            total = 0.0
            for c in range(held):
                total += best[c]
            sums[f] = total * root[f]
            ratio = sums[f] / d[f]
            if not ratio < np.inf:
                return False
            largest = max(largest, ratio)
            biggest = max(biggest, sums[f])
        # root and d scale rows and columns; the sums have terms of one sign: p + 12 roundings in all.
        if largest * (1.0 + gamma(p + 16)) < 1.0:
            return True
        if biggest == 0.0 or (turn >= 12 and largest > 2.0):
            return False
        for f in range(m):
            d[f] = math.sqrt(d[f] * max(sums[f] / biggest, 1e-2))
    return False
