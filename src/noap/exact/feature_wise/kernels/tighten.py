"""What the slabs of a node imply: lower ceilings, narrower intervals, signs, features that drop out."""

import math

import numpy as np

from noap.exact.feature_wise.kernels.caps import cap
from noap.exact.feature_wise.kernels.owed import owe
from noap.exact.feature_wise.kernels.worth import chord, lowest, worth
from noap.heuristics.kernels.largest import ZERO, keep
from noap.runtime.kernels import part

# Sweeps of the multipliers, for included and for free features. To Numba a Python integer is a type of its own, for
# which it would compile the callee once more.
SWEEPS, SWEEPS_FREE = np.int64(4), np.int64(2)


@part
def slabs(A, inc, sign, lo, hi, n_inc, skip, w, tau, B, low, high, which):
    """Collect the slabs lo <= b_j'u <= hi of the signed included features but `skip`, and w'u >= tau if tau > 0.

    Step 1, Caps, of docs/exact.md.
    """
    m = 0
    for a in range(n_inc):
        if sign[a] != 0 and a != skip:
            which[m] = a
            low[m] = lo[a]
            high[m] = hi[a]
            m += 1
    for x in range(m):
        i, si = inc[which[x]], sign[which[x]]
        for y in range(x + 1):
            j, sj = inc[which[y]], sign[which[y]]
            B[x, y] = si * sj * A[i, j]
            B[y, x] = B[x, y]
    total = m
    if tau > 0.0:
        for x in range(m):
            B[m, x] = sign[which[x]] * w[inc[which[x]]]
            B[x, m] = B[m, x]
        B[m, m] = 1.0
        low[m] = tau
        high[m] = 2.0  # no upper side
        total = m + 1
    return m, total


@part
def reach(A, i, inc, sign, w, m, total, B, low, high, which, sweeps, enough, cb, mu, q):
    """Return upper bounds on a_i'u and on -a_i'u over the slabs.

    The second is left out (0) where the first is not below `enough`, unless that is negative. Step 1, Caps, of
    docs/exact.md.
    """
    up, down = 0.0, 0.0
    for side in range(2):
        direction = 1.0 if side == 0 else -1.0
        for x in range(m):
            cb[x] = direction * sign[which[x]] * A[i, inc[which[x]]]
        if total > m:
            cb[m] = direction * w[i]
        most = cap(A[i, i], cb, B, low, high, total, sweeps, mu, q)
        if side == 1:
            down = most
        else:
            up = most
            if enough >= 0.0 and not up < enough:
                break
    return up, down


@part
def tighten(A, terms, T, p, below, inc, sign, lo, hi, n_inc, free, ceil, n_free, w, tau):
    """Lower ceilings, narrow intervals, fix signs, drop features. Returns (closed, n_free, U, carried, n_high).

    Step 1, Caps, of docs/exact.md, and then Step 2, Propagation, of docs/exact.md.
    """
    if len(below) > 1:
        # Lower levels give floors to all of S before any slab is looked at.
        closed, n_free, U, _, _ = propagate(terms, T, p, below, inc, lo, hi, n_inc, free, ceil, n_free)
        if closed:
            return True, n_free, U, 0.0, 0
    size = n_inc + 2
    B = np.empty((size, size))
    low = np.empty(size)
    high = np.empty(size)
    cb = np.empty(size)
    mu = np.empty(size)
    q = np.empty(size)
    which = np.empty(size, dtype=np.int64)
    # Every included feature by the slabs of the others, then the free ones by all of them.
    for a in range(n_inc + 1):
        m, total = slabs(A, inc, sign, lo, hi, n_inc, a, w, tau, B, low, high, which)
        if total == 0:
            continue
        if a == n_inc:
            for f in range(n_free):
                up, down = reach(
                    A, free[f], inc, sign, w, m, total, B, low, high, which, SWEEPS_FREE, ceil[f], cb, mu, q
                )
                if up < ceil[f]:
                    ceil[f] = min(ceil[f], max(up, down))
            break
        up, down = reach(A, inc[a], inc, sign, w, m, total, B, low, high, which, SWEEPS, -1.0, cb, mu, q)
        if sign[a] == 0:
            if up < lo[a] and down < lo[a]:
                return True, n_free, 0.0, 0.0, 0
            if up < lo[a]:
                sign[a] = -1
            elif down < lo[a]:
                sign[a] = 1
            else:
                hi[a] = min(hi[a], max(up, down))
                continue
        if sign[a] == -1:
            up, down = down, up
        hi[a] = min(hi[a], up)
        lo[a] = max(lo[a], -down)
        if lo[a] > hi[a]:
            return True, n_free, 0.0, 0.0, 0
    return propagate(terms, T, p, below, inc, lo, hi, n_inc, free, ceil, n_free)


@part
def propagate(terms, T, p, below, inc, lo, hi, n_inc, free, ceil, n_free):
    """Draw what the ceilings alone imply, and the proved bounds below[q] >= opt_q of fewer features, if any.

    Step 2, Propagation, of docs/exact.md. Returns (closed, n_free, U, carried, n_high): at least n_high free
    features of S carry so much each.
    """
    kept = ZERO
    for f in range(n_free):
        if ceil[f] > terms.entry[free[f]]:
            free[kept] = free[f]
            ceil[kept] = ceil[f]
            kept += 1
    n_free = kept
    top = np.empty(max(p, 1))
    for c in range(p):
        top[c] = 0.0
    if p > 0:
        for f in range(n_free):
            keep(worth(ceil[f], terms.rho[free[f]], terms.cost[free[f]]), top, f, p)
    U = 0.0
    for a in range(n_inc):
        U += worth(hi[a], terms.rho[inc[a]], terms.cost[inc[a]])
    if p > 0:
        added = 0.0
        for c in range(p):
            added += top[c]
        U += min(added, below[p]) if p < len(below) else added
    U *= 1.0 + 1e-14 * (n_inc + p + 2)
    if U <= T:
        return True, n_free, U, 0.0, 0
    if len(below) > 1:
        closed, n_free, carried, n_high = owe(terms, T, p, below, top, inc, lo, hi, n_inc, free, ceil, n_free)
        return closed, n_free, U, carried, n_high
    for a in range(n_inc):
        rho, cost = terms.rho[inc[a]], terms.cost[inc[a]]
        spare = T - (U - worth(hi[a], rho, cost))
        if spare > 0.0:
            lo[a] = max(lo[a], lowest(spare, rho, cost))
            if lo[a] > hi[a]:
                return True, n_free, U, 0.0, 0
    if p > 0:
        kept = 0
        last = top[p - 1]
        for f in range(n_free):
            if U - last + worth(ceil[f], terms.rho[free[f]], terms.cost[free[f]]) > T:
                free[kept] = free[f]
                ceil[kept] = ceil[f]
                kept += 1
        n_free = kept
    return False, n_free, U, 0.0, 0


@part
def eigen_slab(A, terms, T, inc, sign, lo, hi, n_inc, rest, n_features, w):
    """From the chords on I: either the included part closes, or u leans towards their leading eigenvector.

    Returns tau, 0 where nothing follows; fills w with the inner products a_i'w. The eigenvalues are raised by 1e-10 of
    the largest, many times the error of the eigensolver. Step 3, The eigenvector slab, of docs/exact.md.
    """
    M = np.empty((n_inc, n_inc))
    root = np.empty(n_inc)
    betas = 0.0
    for a in range(n_inc):
        alpha, beta = chord(lo[a], hi[a], terms.rho[inc[a]], terms.cost[inc[a]])
        root[a] = math.sqrt(alpha)
        betas += beta
    for a in range(n_inc):
        for b in range(n_inc):
            M[a, b] = root[a] * root[b] * A[inc[a], inc[b]]
    values, vectors = np.linalg.eigh(M)
    first = values[n_inc - 1] * (1.0 + 1e-10)
    second = values[n_inc - 2] + 1e-10 * values[n_inc - 1]
    target = T - betas - rest
    if target <= second or first <= second or not first > 0.0:
        return 0.0
    share = (target - second) / (first - second)
    if share <= 0.0 or share >= 1.0:
        return 0.0
    tau = math.sqrt(share) * (1.0 - 1e-12)
    scale = 1.0 / math.sqrt(values[n_inc - 1])
    low, high = 0.0, 0.0
    for a in range(n_inc):
        coefficient = root[a] * vectors[a, n_inc - 1] * scale * sign[a]
        if coefficient > 0.0:
            low += coefficient * lo[a]
            high += coefficient * hi[a]
        else:
            low += coefficient * hi[a]
            high += coefficient * lo[a]
    if low > -tau:
        flip = 1.0
    elif high < tau:
        flip = -1.0
    else:
        return 0.0
    for i in range(n_features):
        w[i] = 0.0
    for a in range(n_inc):
        coefficient = flip * root[a] * vectors[a, n_inc - 1] * scale
        for i in range(n_features):
            w[i] += coefficient * A[inc[a], i]
    return tau
