"""What the slabs of a node imply: lower ceilings, narrower intervals, signs, features that drop out."""

import math

import numpy as np

from noap.exact.feature_wise.kernels.caps import cap, ends, room_for
from noap.exact.feature_wise.kernels.owed import owe
from noap.exact.feature_wise.kernels.worth import chord, lowest, worth
from noap.heuristics.kernels.largest import ZERO, keep
from noap.runtime.kernels import part

# Sweeps of the multipliers, for included and for free features. To Numba a Python integer is a type of its own, for
# which it would compile the callee once more.
SWEEPS, SWEEPS_FREE = np.int64(4), np.int64(2)
# No slab is left out.
NONE = np.int64(-1)


@part
def collect(A, inc, sign, lo, hi, n_inc, w, tau, slabs, which):
    """Collect the slabs lo <= b_j'u <= hi of the signed included features, and w'u >= tau if tau > 0.

    `which` tells the included feature of each. Returns how many are of features, and how many there are. Step 1, Caps,
    of docs/exact.md.
    """
    m = ZERO
    for a in range(n_inc):
        if sign[a] != 0:
            which[m] = a
            m += 1
    B = slabs.B
    for x in range(m):
        i, si = inc[which[x]], sign[which[x]]
        for y in range(x + 1):
            j, sj = inc[which[y]], sign[which[y]]
            B[x, y] = si * sj * A[i, j]
            B[y, x] = B[x, y]
        ends(slabs, x, lo[which[x]], hi[which[x]])
    if not tau > 0.0:
        return m, m
    for x in range(m):
        B[m, x] = sign[which[x]] * w[inc[which[x]]]
        B[x, m] = B[m, x]
    B[m, m] = 1.0
    ends(slabs, m, tau, np.inf)
    return m, m + 1


@part
def reach(A, i, inc, sign, w, m, total, skip, slabs, which, sweeps, enough):
    """Return upper bounds on a_i'u and on -a_i'u over the slabs but `skip`.

    The second is left out (0) where the first is not below `enough`, unless that is negative. Step 1, Caps, of
    docs/exact.md.
    """
    for x in range(m):
        slabs.cb[x] = sign[which[x]] * A[i, inc[which[x]]]
    if total > m:
        slabs.cb[m] = w[i]
    up = cap(A[i, i], slabs, total, skip, sweeps)
    if enough >= 0.0 and not up < enough:
        return up, 0.0
    for x in range(total):
        slabs.cb[x] = -slabs.cb[x]
    return up, cap(A[i, i], slabs, total, skip, sweeps)


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
    slabs = room_for(n_inc + 1)
    which = np.empty(n_inc + 1, dtype=np.int64)
    m, total = collect(A, inc, sign, lo, hi, n_inc, w, tau, slabs, which)
    # Every included feature by the slabs of the others, then the free ones by all of them.
    own = ZERO
    for a in range(n_inc):
        skip = NONE
        if own < m and which[own] == a:
            skip = own
            own += 1
        if total == (0 if skip == NONE else 1):
            continue
        up, down = reach(A, inc[a], inc, sign, w, m, total, skip, slabs, which, SWEEPS, -1.0)
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
        if skip == NONE:  # one slab more
            m, total = collect(A, inc, sign, lo, hi, n_inc, w, tau, slabs, which)
            own += 1
        else:
            ends(slabs, skip, lo[a], hi[a])
    if total > 0:
        for f in range(n_free):
            up, down = reach(A, free[f], inc, sign, w, m, total, NONE, slabs, which, SWEEPS_FREE, ceil[f])
            if up < ceil[f]:
                ceil[f] = min(ceil[f], max(up, down))
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
