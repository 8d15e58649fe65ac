r"""One node of the search: tighten, test, and say how to branch.

A node is a set of pairs (u, S): a unit direction u and a support S of at most k features. Its included features lie in S, each with a
sign (of a_j'u; 0 if unknown) and an interval lo <= s_j <= hi for s_j = |a_j'u|; a free feature may lie in S, and if it does, s_j <= ceil_j.
The node is closed once no pair in it is worth more than T, where a pair is worth the sum of f(s_j) = (s_j - rho)_+^2 over S.
"""

import math

import numpy as np
from numba import njit

from noap.exact._kernels_caps import cap
from noap.exact._kernels_schur import CLOSED, FREE_FAILS, schur

# What to do with a node. DONE comes with AGAIN when a vector better than the target was found in it.
DONE, BRANCH_FEATURE, BRANCH_SIGN, BRANCH_INTERVAL, BRANCH_EACH = 0, 1, 2, 3, 4
AGAIN = -2

# Split an unknown sign before taking in more features if rho^2 exceeds this share of |a_j|^2. Signs matter to the attack, the more the
# larger rho is, and not at all at rho = 0. Measured on the strong/weak model: 0.05 took the fewest nodes of 0, 0.02, 0.05, 0.16, 0.4.
SIGN_FIRST = 0.0


@njit(cache=True)
def worth(s, rho):
    """f(s) = (s - rho)_+^2."""
    x = s - rho
    return x * x if x > 0.0 else 0.0


@njit(cache=True)
def slabs(A, inc, sign, lo, hi, n_inc, skip, w, tau, use_w, B, l, h, which):
    """Collect the slabs lo <= b_j'u <= hi of the signed included features but `skip`, and of the eigenvector w."""
    m = 0
    for a in range(n_inc):
        if sign[a] != 0 and a != skip:
            which[m] = a
            l[m] = lo[a]
            h[m] = hi[a]
            m += 1
    for x in range(m):
        i, si = inc[which[x]], sign[which[x]]
        for y in range(x + 1):
            j, sj = inc[which[y]], sign[which[y]]
            B[x, y] = si * sj * A[i, j]
            B[y, x] = B[x, y]
    total = m
    if use_w:
        for x in range(m):
            B[m, x] = sign[which[x]] * w[inc[which[x]]]
            B[x, m] = B[m, x]
        B[m, m] = 1.0
        l[m] = tau
        h[m] = 2.0  # no upper side
        total = m + 1
    return m, total


@njit(cache=True)
def reach(A, i, direction, inc, sign, w, m, total, B, l, h, which, sweeps, cb, mu, q):
    """Upper bound on direction * a_i'u over the slabs."""
    for x in range(m):
        cb[x] = direction * sign[which[x]] * A[i, inc[which[x]]]
    if total > m:
        cb[m] = direction * w[i]
    return cap(A[i, i], cb, B, l, h, total, sweeps, mu, q)


@njit(cache=True)
def tighten(A, rho, T, p, inc, sign, lo, hi, n_inc, free, ceil, n_free, w, tau, use_w):
    """Lower ceilings, narrow intervals, fix signs, drop features. Returns (closed, n_free, bound U)."""
    size = n_inc + 2
    B = np.empty((size, size))
    l = np.empty(size)
    h = np.empty(size)
    cb = np.empty(size)
    mu = np.empty(size)
    q = np.empty(size)
    which = np.empty(size, dtype=np.int64)
    for a in range(n_inc):
        m, total = slabs(A, inc, sign, lo, hi, n_inc, a, w, tau, use_w, B, l, h, which)
        if total == 0:
            continue
        i = inc[a]
        up = reach(A, i, 1.0, inc, sign, w, m, total, B, l, h, which, 4, cb, mu, q)
        down = reach(A, i, -1.0, inc, sign, w, m, total, B, l, h, which, 4, cb, mu, q)
        if sign[a] == 0:
            if up < lo[a] and down < lo[a]:
                return True, n_free, 0.0
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
            return True, n_free, 0.0
    m, total = slabs(A, inc, sign, lo, hi, n_inc, -1, w, tau, use_w, B, l, h, which)
    if total > 0:
        for f in range(n_free):
            i = free[f]
            up = reach(A, i, 1.0, inc, sign, w, m, total, B, l, h, which, 2, cb, mu, q)
            if up < ceil[f]:
                down = reach(A, i, -1.0, inc, sign, w, m, total, B, l, h, which, 2, cb, mu, q)
                ceil[f] = min(ceil[f], max(up, down))
    return propagate(rho, T, p, inc, sign, lo, hi, n_inc, free, ceil, n_free)


@njit(cache=True)
def propagate(rho, T, p, inc, sign, lo, hi, n_inc, free, ceil, n_free):
    """What the ceilings alone imply. Returns (closed, n_free, U)."""
    kept = 0
    for f in range(n_free):
        if ceil[f] > rho:
            free[kept] = free[f]
            ceil[kept] = ceil[f]
            kept += 1
    n_free = kept
    top = np.zeros(max(p, 1))
    if p > 0:
        for f in range(n_free):
            value = worth(ceil[f], rho)
            if value > top[p - 1]:
                place = p - 1
                while place > 0 and top[place - 1] < value:
                    top[place] = top[place - 1]
                    place -= 1
                top[place] = value
    U = 0.0
    for a in range(n_inc):
        U += worth(hi[a], rho)
    if p > 0:
        U += top.sum()
    U *= 1.0 + 1e-14 * (n_inc + p + 2)
    if U <= T:
        return True, n_free, U
    for a in range(n_inc):
        spare = T - (U - worth(hi[a], rho))
        if spare > 0.0:
            lo[a] = max(lo[a], (rho + math.sqrt(spare)) * (1.0 - 1e-14))
            if lo[a] > hi[a]:
                return True, n_free, U
    if p > 0:
        kept = 0
        last = top[p - 1]
        for f in range(n_free):
            if U - last + worth(ceil[f], rho) > T:
                free[kept] = free[f]
                ceil[kept] = ceil[f]
                kept += 1
        n_free = kept
    return False, n_free, U


@njit(cache=True)
def chord(l, h, rho):
    """alpha, beta with f(s) <= alpha s^2 + beta on [l, h]; f is convex in s^2."""
    if h * h - l * l <= 1e-9 * h * h:
        # A short interval: the tangent-like slope through h, raised to cover l.
        alpha = (h - rho) / h if h > 0.0 else 1.0
        beta = max(worth(h, rho) - alpha * h * h, worth(l, rho) - alpha * l * l)
        return alpha, beta
    fl, fh = worth(l, rho), worth(h, rho)
    alpha = (fh - fl) / (h * h - l * l)
    return alpha, fl - alpha * l * l


@njit(cache=True)
def eigen_slab(A, rho, T, inc, sign, lo, hi, n_inc, rest, n_features, w):
    """From the chords on I: either the included part closes, or u leans towards their leading eigenvector.

    Returns (use, tau); fills w with the inner products a_i'w. The eigenvalues are raised by 1e-10 of the largest, many times the
    error of the eigensolver.
    """
    M = np.empty((n_inc, n_inc))
    root = np.empty(n_inc)
    betas = 0.0
    for a in range(n_inc):
        alpha, beta = chord(lo[a], hi[a], rho)
        root[a] = math.sqrt(alpha)
        betas += beta
    for a in range(n_inc):
        for b in range(n_inc):
            M[a, b] = root[a] * root[b] * A[inc[a], inc[b]]
    values, vectors = np.linalg.eigh(M)
    first = values[n_inc - 1] * (1.0 + 1e-10)
    second = values[n_inc - 2] + 1e-10 * values[n_inc - 1]
    target = T - betas - rest
    if target <= second or first <= second:
        return False, 0.0
    share = (target - second) / (first - second)
    if share <= 0.0 or share >= 1.0:
        return False, 0.0
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
        return False, 0.0
    for i in range(n_features):
        w[i] = 0.0
    for a in range(n_inc):
        coefficient = flip * root[a] * vectors[a, n_inc - 1] * scale
        for i in range(n_features):
            w[i] += coefficient * A[inc[a], i]
    return True, tau


@njit(cache=True)
def climb(A, rho, k, inc, n_inc, free, n_free, g, steps, v):
    """Alternate from loadings g over the features of the node; returns the distance, fills v and g.

    g holds a_i'u on entry and on return; v is a vector over all features.
    """
    n = A.shape[0]
    chosen = np.empty(k, dtype=np.int64)
    best = -1.0
    for step in range(steps):
        p = k - n_inc
        count = 0
        for a in range(n_inc):
            chosen[count] = inc[a]
            count += 1
        # The p free features that pull hardest, by insertion.
        held = 0
        for f in range(n_free):
            i = free[f]
            pull = abs(g[i])
            if pull <= rho:
                continue
            if held < p:
                place = held
                held += 1
            elif p > 0 and pull > abs(g[chosen[n_inc + p - 1]]):
                place = p - 1
            else:
                continue
            while place > 0 and abs(g[chosen[n_inc + place - 1]]) < pull:
                chosen[n_inc + place] = chosen[n_inc + place - 1]
                place -= 1
            chosen[n_inc + place] = i
        count = n_inc + held
        norm = 0.0
        for i in range(n):
            v[i] = 0.0
        for c in range(count):
            i = chosen[c]
            pull = abs(g[i]) - rho
            if pull > 0.0:
                v[i] = pull if g[i] > 0.0 else -pull
                norm += pull * pull
        if norm <= 0.0:
            return best
        norm = math.sqrt(norm)
        length = 0.0
        for c in range(count):
            v[chosen[c]] /= norm
            length += abs(v[chosen[c]])
        energy = 0.0
        for i in range(n):
            g[i] = 0.0
        for c in range(count):
            j = chosen[c]
            if v[j] != 0.0:
                for i in range(n):
                    g[i] += v[j] * A[j, i]
        for c in range(count):
            energy += v[chosen[c]] * g[chosen[c]]
        energy = math.sqrt(max(energy, 0.0))
        if energy <= 0.0:
            return best
        for i in range(n):
            g[i] /= energy
        distance = energy - rho * length
        if distance <= best * (1.0 + 1e-13):
            best = max(best, distance)
            break
        best = distance
    return best


@njit(cache=True)
def gain(rho, T, g, inc, lo, hi, n_inc, top, at_best):
    """Lower bound D on rho times the sum of s_j - rho over S and R, R = {|a_j'w| >= rho}, for a pair worth more than T.

    For any nu >= 0: D = rho [nu (T - sum_{I \\ R} f(hi)) + sum_{I, R} min(a - nu a^2, b - nu b^2)]. Returns (D, nu) for nu = 0, or for
    the nu that makes D largest; `top` is the largest ceiling of a free feature in R.
    """
    outside, floor = 0.0, 0.0
    for a in range(n_inc):
        if abs(g[inc[a]]) >= rho:
            floor += lo[a] - rho
        else:
            outside += worth(hi[a], rho)
    if not at_best:
        return rho * floor * (1.0 - 1e-13), 0.0
    best, best_nu = rho * floor, 0.0
    for c in range(n_inc + 1):
        if c == n_inc:
            width = top - rho
        elif abs(g[inc[c]]) >= rho:
            width = lo[c] + hi[c] - 2.0 * rho
        else:
            continue
        if width <= 0.0:
            continue
        nu = 1.0 / width
        total = nu * (T - outside)
        for a in range(n_inc):
            if abs(g[inc[a]]) >= rho:
                x, y = lo[a] - rho, hi[a] - rho
                total += min(x - nu * x * x, y - nu * y * y)
        if rho * total > best:
            best, best_nu = rho * total, nu
    return best * (1.0 - 1e-13), best_nu


@njit(cache=True)
def attack_columns(A, rho, g, inc, n_inc, free, ceil, n_free, nu, kap, dlt, alt):
    """Columns of the response attack to w, y_j = kap_j a_j + dlt_j w; for the free ones also alt_j a_j, shrunk to the ceiling."""
    grow = math.sqrt(1.0 + rho * nu)
    for c in range(n_inc + n_free):
        i = inc[c] if c < n_inc else free[c - n_inc]
        s = g[i]
        if abs(s) >= rho:
            kap[c] = 1.0
            dlt[c] = -rho if s > 0.0 else rho
            factor = 1.0
            if c >= n_inc and nu * (ceil[c - n_inc] - rho) > 1.0:
                factor = grow
        else:
            off = math.sqrt(max(A[i, i] - s * s, 0.0))
            share = 1.0
            if off > 0.0:
                share = min(math.sqrt(rho * rho - s * s) / off, 1.0)
            kap[c] = 1.0 - share
            dlt[c] = share * s - s
            factor = grow if c >= n_inc else 1.0
        kap[c] *= factor
        dlt[c] *= factor
        if c >= n_inc:
            alt[c - n_inc] = grow * (1.0 - rho / ceil[c - n_inc])


@njit(cache=True)
def attack_test(A, rho, T, p, g, inc, lo, hi, n_inc, free, ceil, n_free, room, at_best, idx, kap, dlt, alt, S, W, fails):
    """Schur test of the response attack to w, with its orthogonal gain."""
    top = 0.0
    for f in range(n_free):
        if abs(g[free[f]]) >= rho:
            top = max(top, ceil[f])
    D, nu = gain(rho, T, g, inc, lo, hi, n_inc, top, at_best)
    if D <= 0.0:
        D, nu = 0.0, 0.0
    tilt = D / T
    attack_columns(A, rho, g, inc, n_inc, free, ceil, n_free, nu, kap, dlt, alt)
    return schur(A, g, kap, dlt, alt, idx, n_inc, n_free, T + D, tilt, p, room, S, W, fails)


@njit(cache=True)
def chord_test(A, rho, T, p, g, inc, lo, hi, n_inc, free, ceil, n_free, room, idx, kap, dlt, alt, S, W, fails):
    """Schur test of the chords on the included features, and of the free ones shrunk towards their ceilings."""
    betas = 0.0
    for a in range(n_inc):
        alpha, beta = chord(lo[a], hi[a], rho)
        kap[a] = math.sqrt(alpha)
        dlt[a] = 0.0
        betas += beta
    for f in range(n_free):
        kap[n_inc + f] = 1.0 - rho / ceil[f] if rho > 0.0 else 1.0
        dlt[n_inc + f] = 0.0
        alt[f] = -1.0
    return schur(A, g, kap, dlt, alt, idx, n_inc, n_free, T - betas, 0.0, p, room, S, W, fails)


@njit(cache=True)
def look(A, rho, k, T, scale, g_best, inc, sign, lo, hi, n_inc, free, ceil, n_free, v, g, S, W, fails):
    """Tighten and test one node; its arrays are narrowed in place.

    Returns (action, argument, n_free, distance): what to do, on which feature (position in inc or free), how many free
    features are left, and the distance of the vector v found on the way. For BRANCH_EACH, the first n_free entries of
    free are the ones to try.
    """
    p = k - n_inc
    n = A.shape[0]
    w = np.empty(n)
    use_w, tau = False, 0.0
    for _ in range(3):
        closed, n_free, U = tighten(A, rho, T, p, inc, sign, lo, hi, n_inc, free, ceil, n_free, w, tau, use_w)
        if closed:
            return DONE, -1, n_free, -1.0
        signed = n_inc >= 2
        rest = U
        for a in range(n_inc):
            signed = signed and sign[a] != 0
            rest -= worth(hi[a], rho)
        if not signed:
            break
        use_w, tau = eigen_slab(A, rho, T, inc, sign, lo, hi, n_inc, max(rest, 0.0), n, w)
        if not use_w:
            break

    if n_inc == 0:
        for i in range(n):
            g[i] = g_best[i]
    elif use_w:
        for i in range(n):
            g[i] = w[i]
    else:
        length = math.sqrt(A[inc[0], inc[0]])
        for i in range(n):
            g[i] = A[inc[0], i] / length
    distance = climb(A, rho, k, inc, n_inc, free, n_free, g, 8, v)
    if distance > 0.0 and distance * distance > T:
        return DONE, AGAIN, n_free, distance

    room = 1e-12 * T + 2e-13 * scale
    idx = np.empty(n_inc + n_free, dtype=np.int64)
    for a in range(n_inc):
        idx[a] = inc[a]
    for f in range(n_free):
        idx[n_inc + f] = free[f]
    kap = np.empty(n_inc + n_free)
    dlt = np.empty(n_inc + n_free)
    alt = np.empty(n_free)
    best_measure, best_worst = np.inf, -1
    best_fails = np.zeros(n_free, dtype=np.bool_)
    # The chords first: cheap, and all there is at rho = 0. Then attacks: in response to the incumbent and to this node's
    # own vector, each with the gain at its best and at nu = 0.
    for test in range(1 if rho == 0.0 else 5):
        if test == 0:
            verdict, worst, measure = chord_test(
                A, rho, T, p, g_best, inc, lo, hi, n_inc, free, ceil, n_free, room, idx, kap, dlt, alt, S, W, fails
            )
        else:
            if test >= 3 and distance < 0.0:
                break  # the adversary cancels this node's own vector
            lean = g_best if test < 3 else g
            verdict, worst, measure = attack_test(
                A, rho, T, p, lean, inc, lo, hi, n_inc, free, ceil, n_free, room, test % 2 == 1,
                idx, kap, dlt, alt, S, W, fails,
            )  # fmt: skip
        if verdict == CLOSED:
            return DONE, -1, n_free, distance
        if verdict == FREE_FAILS and measure < best_measure:
            best_measure, best_worst = measure, worst
            for f in range(n_free):
                best_fails[f] = fails[f]

    unsigned = -1
    for a in range(n_inc):
        if sign[a] == 0 and (unsigned < 0 or A[inc[a], inc[a]] < A[inc[unsigned], inc[unsigned]]):
            unsigned = a
    if unsigned >= 0 and (best_worst < 0 or rho * rho > SIGN_FIRST * A[inc[unsigned], inc[unsigned]]):
        return BRANCH_SIGN, unsigned, n_free, distance
    if best_worst >= 0:
        if p <= 2:
            kept = 0
            for f in range(n_free):
                if best_fails[f]:
                    if f == best_worst:
                        best_worst = kept
                    free[kept] = free[f]
                    ceil[kept] = ceil[f]
                    kept += 1
            n_free = kept
        return (BRANCH_EACH if p == 1 else BRANCH_FEATURE), best_worst, n_free, distance
    split, widest = -1, 0.0
    for a in range(n_inc):
        alpha, beta = chord(lo[a], hi[a], rho)
        s = min(max(abs(g[inc[a]]), lo[a]), hi[a])
        excess = alpha * s * s + beta - worth(s, rho)
        if excess > widest:
            split, widest = a, excess
    if split < 0:
        for a in range(n_inc):
            if hi[a] - lo[a] > widest:
                split, widest = a, hi[a] - lo[a]
    return BRANCH_INTERVAL, split, n_free, distance


@njit(cache=True)
def examine(A, rho, k, T, scale, g_best, inc, sign, lo, hi, n_inc, free, ceil, n_free, v, g, S, W, fails):
    """Look at a node and, where one feature is missing, at its leaves.

    With p = 1 a node that stays open has one leaf per feature that failed. Most of them close at once, so they are looked
    at here; only the ones that stay open are left in `free`.

    Returns (action, argument, n_free, distance, nodes looked at).
    """
    action, argument, n_free, distance = look(
        A, rho, k, T, scale, g_best, inc, sign, lo, hi, n_inc, free, ceil, n_free, v, g, S, W, fails
    )
    if action != BRANCH_EACH:
        return action, argument, n_free, distance, 1
    leaf_inc = np.empty(k, dtype=np.int64)
    leaf_sign = np.empty(k, dtype=np.int64)
    leaf_lo = np.empty(k)
    leaf_hi = np.empty(k)
    leaf_v = np.empty(A.shape[0])
    nothing = np.empty(0, dtype=np.int64)
    no_ceiling = np.empty(0)
    kept = 0
    for f in range(n_free):
        for a in range(n_inc):
            leaf_inc[a], leaf_sign[a], leaf_lo[a], leaf_hi[a] = inc[a], sign[a], lo[a], hi[a]
        leaf_inc[n_inc], leaf_lo[n_inc], leaf_hi[n_inc] = free[f], rho, ceil[f]
        leaf_sign[n_inc] = 1 if n_inc == 0 else 0
        verdict, again, _, found = look(
            A, rho, k, T, scale, g_best, leaf_inc, leaf_sign, leaf_lo, leaf_hi, k, nothing, no_ceiling, 0,
            leaf_v, g, S, W, fails,
        )  # fmt: skip
        if found > distance:
            distance = found
            v[:] = leaf_v
        if verdict != DONE or again == AGAIN:
            free[kept], ceil[kept] = free[f], ceil[f]
            kept += 1
    if kept == 0:
        return DONE, -1, 0, distance, 1 + n_free
    return BRANCH_EACH, argument, kept, distance, 1 + n_free
