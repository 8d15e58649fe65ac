r"""What the slabs and worths of a node of a Gram proof imply, for the real numbers and not for their rounding.

The real problem has columns :math:`a_j`; the matrix A given here satisfies :math:`|A_{ij} - a_i^\top a_j| \le`
``eps``. No entry exceeds ``top`` in magnitude, and `terms` has what features are worth. A node is a set of pairs
(u, S), as docs/certificate-format-4.md defines it; it is closed when no pair in it is worth more than T.

Numbers that may be chosen freely (multipliers, scalings, slopes) are computed without any care; the inequality they
enter is then evaluated with an allowance for every rounding error. U is the unit roundoff. What is proved again is
Step 1, Caps, of docs/exact.md, and in `propagate` Step 2, Propagation, of docs/exact.md.
"""

import math

import numpy as np

from noap.checker.feature_wise.kernels.owed import owe
from noap.checker.feature_wise.kernels.wedge import wedge_of
from noap.checker.feature_wise.kernels.worth import Terms, floor_of, worth_down, worth_up
from noap.checker.kernels.clock import late
from noap.checker.kernels.largest import insert
from noap.checker.kernels.rounding import U, gamma
from noap.runtime.kernels import kernel, part

# Rounds of tightening; sweeps of the multipliers, for included and for free features.
_ROUNDS = 3
# To Numba a Python integer is a type of its own, for which it would compile the callee once more.
_ZERO, _SWEEPS, _FREE_SWEEPS = np.int64(0), np.int64(4), np.int64(2)
# A cosine this near to 1 has no angle to speak of: the multiplier 0 is taken instead.
_BLUNT = 1.0 - 1e-14


@part
def multipliers(cc, cb, B, low, high, m, skip, sweeps, mu, q):
    """Choose mu for `reach`, by coordinate descent on |c + sum mu_j b_j| - sum mu_j (low_j or high_j)."""
    r = cc
    for j in range(m):
        mu[j] = 0.0
        q[j] = cb[j]
    for _ in range(sweeps):
        moved = 0.0
        for j in range(m):
            if j == skip or B[j, j] <= 0.0:
                continue
            b = math.sqrt(B[j, j])
            across = math.sqrt(max(r - q[j] * q[j] / B[j, j], 0.0))
            along = q[j] / b - mu[j] * b
            new = 0.0
            cosine = low[j] / b
            if 0.0 < cosine < _BLUNT:
                new = max((across * cosine / math.sqrt(1.0 - cosine * cosine) - along) / b, 0.0)
            if new == 0.0:
                cosine = high[j] / b
                if cosine < _BLUNT:
                    new = min((across * cosine / math.sqrt(1.0 - cosine * cosine) - along) / b, 0.0)
            step = new - mu[j]
            if step != 0.0:
                moved = max(moved, abs(step) * b)
                r += step * (2.0 * q[j] + step * B[j, j])
                for i in range(m):
                    q[i] += step * B[i, j]
                mu[j] = new
        if moved <= 1e-12 * math.sqrt(cc):
            break


@part
def reach(A, eps, top, i, direction, inc, n_inc, coef, B, low, high, m, skip, sweeps, cb, mu, q, z, size):
    r"""Return at least the largest direction * a_i'u over the slabs low_j <= b_j'u <= high_j and |u| <= 1.

    b_j = sum_a coef[j, a] a_inc[a]. For any mu the value is at most |c + sum mu_j b_j| less what the slabs pay.
    """
    for j in range(m):
        total = 0.0
        for a in range(n_inc):
            if coef[j, a] != 0.0:
                total += coef[j, a] * A[i, inc[a]]
        cb[j] = direction * total
    multipliers(A[i, i], cb, B, low, high, m, skip, sweeps, mu, q)
    # z holds the coefficients of sum mu_j b_j, size those of the sum of absolute values.
    paid, bulk, spread = 0.0, 0.0, 1.0
    for a in range(n_inc):
        z[a] = 0.0
        size[a] = 0.0
    for j in range(m):
        if mu[j] != 0.0:
            side = low[j] if mu[j] > 0.0 else high[j]
            paid += mu[j] * side
            bulk += abs(mu[j] * side)
            for a in range(n_inc):
                z[a] += mu[j] * coef[j, a]
                size[a] += abs(mu[j] * coef[j, a])
    for a in range(n_inc):
        spread += size[a]
    square = A[i, i]
    for a in range(n_inc):
        if z[a] != 0.0:
            square += 2.0 * direction * z[a] * A[i, inc[a]]
            for b in range(n_inc):
                square += z[a] * z[b] * A[inc[a], inc[b]]
    # The entries are off by eps; at most (n_inc + 1)^2 + 4 roundings of terms that add up to spread^2 top at most.
    # Rounding in z moves the vector by at most m + 1 ulps of spread sqrt(top).
    square = max(square, 0.0) + (eps + gamma((n_inc + 2) * (n_inc + 2) + 6) * top) * spread * spread * 1.0001
    length = math.sqrt(square) * (1.0 + 4.0 * U) + gamma(m + 2) * spread * math.sqrt(top) * 1.0001
    most = (length - paid) + (4.0 * U * (length + abs(paid)) + gamma(m + 3) * bulk * 1.0001)
    return most if most < np.inf else np.inf  # numbers that overflowed, and NaN, say nothing


@part
def gather(A, inc, sign, lo, hi, n_inc, wedge, tau, coef, B, low, high, which):
    """Collect the slabs: one per signed included feature, and sum wedge_a a_inc[a]'u >= tau if tau > 0."""
    m = 0
    for a in range(n_inc):
        if sign[a] != 0:
            for b in range(n_inc):
                coef[m, b] = 0.0
            coef[m, a] = sign[a]
            low[m], high[m] = lo[a], hi[a]
            which[m] = a
            m += 1
    if tau > 0.0:
        for b in range(n_inc):
            coef[m, b] = wedge[b]
        low[m], high[m] = tau, np.inf
        which[m] = -1
        m += 1
    for x in range(m):
        for y in range(x + 1):
            # A slab of one feature has one coefficient.
            first, last = (0, n_inc) if which[x] < 0 else (which[x], which[x] + 1)
            begin, end = (0, n_inc) if which[y] < 0 else (which[y], which[y] + 1)
            total = 0.0
            for a in range(first, last):
                for b in range(begin, end):
                    total += coef[x, a] * coef[y, b] * A[inc[a], inc[b]]
            B[x, y] = total
            B[y, x] = total
    return m


@kernel
def tighten(A, eps, top, table, T, p, below, inc, sign, lo, hi, n_inc, free, ceil, n_free, clock):
    """Draw what slabs and worths imply, in place; less is drawn where time is up. The rows of `table` are the terms.

    Returns (closed, n_free, carried, n_high), as `propagate` does.
    """
    terms = Terms(table[0], table[1], table[2], table[3])
    size = n_inc + 1
    coef = np.empty((size, max(n_inc, 1)))
    B = np.empty((size, size))
    low, high, cb, mu, q = np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    z, heft, wedge = np.empty(n_inc), np.empty(n_inc), np.empty(n_inc)
    which = np.empty(size, dtype=np.int64)
    tau, carried, n_high = 0.0, 0.0, 0
    if len(below) > 1:
        closed, n_free, _, carried, n_high = propagate(terms, T, p, below, inc, lo, hi, n_inc, free, ceil, n_free)
        if closed:
            return True, n_free, 0.0, 0
    for _ in range(_ROUNDS):
        for a in range(n_inc):
            if late(clock, 40.0 * n_inc * n_inc):
                return False, n_free, carried, n_high
            m = gather(A, inc, sign, lo, hi, n_inc, wedge, tau, coef, B, low, high, which)
            skip = m  # the slab of the feature itself is left out; m stands for none
            for j in range(m):
                if which[j] == a:
                    skip = j
            if m - (1 if skip < m else 0) == 0:
                continue
            up, down = 0.0, 0.0
            for direction in (1.0, -1.0):
                most = reach(
                    A, eps, top, inc[a], direction, inc, n_inc, coef, B, low, high, m, skip, _SWEEPS, cb, mu, q, z, heft
                )
                if direction > 0.0:
                    up = most
                else:
                    down = most
            if sign[a] == 0:
                if up < lo[a] and down < lo[a]:
                    return True, n_free, 0.0, 0
                if up < lo[a]:
                    sign[a] = -1
                elif down < lo[a]:
                    sign[a] = 1
                else:
                    hi[a] = min(hi[a], max(up, down))
                    if lo[a] > hi[a]:
                        return True, n_free, 0.0, 0
                    continue
            if sign[a] == -1:
                up, down = down, up
            hi[a] = min(hi[a], up)
            lo[a] = max(lo[a], -down)
            if lo[a] > hi[a]:
                return True, n_free, 0.0, 0
        m = gather(A, inc, sign, lo, hi, n_inc, wedge, tau, coef, B, low, high, which)
        if m > 0:
            for f in range(n_free):
                if f % 16 == 0 and late(clock, 320.0 * n_inc * n_inc):
                    return False, n_free, carried, n_high
                most = 0.0
                for direction in (1.0, -1.0):
                    if most < ceil[f]:
                        up = reach(
                            A, eps, top, free[f], direction, inc, n_inc, coef, B, low, high, m, m, _FREE_SWEEPS,
                            cb, mu, q, z, heft,
                        )  # fmt: skip
                        most = max(most, up)
                ceil[f] = min(ceil[f], most)
        closed, n_free, rest, carried, n_high = propagate(terms, T, p, below, inc, lo, hi, n_inc, free, ceil, n_free)
        if closed:
            return True, n_free, 0.0, 0
        signed = n_inc >= 2
        for a in range(n_inc):
            signed = signed and sign[a] != 0
        if not signed:
            break
        tau = wedge_of(A, eps, top, terms, T, inc, sign, lo, hi, n_inc, rest, wedge, clock)
        if tau == 0.0:
            break
    return False, n_free, carried, n_high


@part
def propagate(terms, T, p, below, inc, lo, hi, n_inc, free, ceil, n_free):
    """Draw what the ceilings imply, and the bounds below[q] on the optima of fewer features, in place.

    Returns (closed, n_free, what the free features add at most, carried, n_high): as `owe` does.
    """
    best = np.empty(max(p, 1))
    for c in range(p):
        best[c] = 0.0
    kept, held = _ZERO, _ZERO
    for f in range(n_free):
        if not ceil[f] > terms.entry[free[f]]:
            continue  # worth nothing
        held = insert(worth_up(ceil[f], terms.r_lo[free[f]], terms.cost[free[f]]), best, held, p)
        free[kept], ceil[kept] = free[f], ceil[f]
        kept += 1
    n_free = kept
    if p == 0:
        n_free = _ZERO
    grow = 1.0 + gamma(n_inc + p + 3)
    rest = 0.0
    for c in range(p):
        rest += best[c]
    rest *= grow
    if p < len(below):
        rest = min(rest, below[p])
    total = rest
    for a in range(n_inc):
        total += worth_up(hi[a], terms.r_lo[inc[a]], terms.cost[inc[a]])
    total *= grow
    if total <= T:
        return True, n_free, rest, 0.0, 0
    if len(below) > 1:
        closed, n_free, carried, n_high = owe(terms, T, p, below, best, inc, lo, hi, n_inc, free, ceil, n_free)
        return closed, n_free, rest, carried, n_high
    for a in range(n_inc):
        # A pair worth more than T has f(s_a) > T - (the worth of all the others). The total has f(hi_a) with r_lo for
        # rho: that is taken off again, rounded down.
        r_lo, cost = terms.r_lo[inc[a]], terms.cost[inc[a]]
        spare = (T - (total - worth_down(hi[a], r_lo, cost))) - 4.0 * U * (T + total)
        if spare > 0.0:
            lo[a] = max(lo[a], floor_of(spare, r_lo, cost))
            if lo[a] > hi[a]:
                return True, n_free, rest, 0.0, 0
    if p > 0:
        kept = 0
        last = best[p - 1] * (1.0 - 4.0 * U)
        for f in range(n_free):
            own = worth_up(ceil[f], terms.r_lo[free[f]], terms.cost[free[f]])
            if ((total - last) + own) * (1.0 + 8.0 * U) > T:
                free[kept], ceil[kept] = free[f], ceil[f]
                kept += 1
        n_free = kept
    return False, n_free, rest, 0.0, 0
