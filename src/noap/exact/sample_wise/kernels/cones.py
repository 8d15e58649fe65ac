r"""Simplicial cones: the last word on one support, where duality leaves a gap.

On the cone of unit generators p_1..p_k every unit v is :math:`\sum t_m p_m` with t >= 0. If a unit vector c has
:math:`c^\top p_m \ge \gamma > 0` for all m, then :math:`1 \ge c^\top v \ge \gamma \sum t_m`, so :math:`\sum t_m \le
\tau = 1/\gamma`. The value :math:`g(v) = \sum_i (|y_i^\top v| - \rho_i)_+^2` is convex with g(0) = 0, hence
:math:`g(v) \le \max_m g(\tau p_m)` on the cone. This is Lemma 5 in Section 5, Leaves, of docs/exact-sample-wise.md.
"""

import math

import numpy as np

from noap.runtime.kernels import kernel, part

# The sums of at most k <= 64 products behind an inner product of unit vectors are off by less than (k + 3) u < 1e-14.
ULPS = 1e-14
# A new generator is a rounded sum over a rounded norm, off by at most (k/2 + 4) u < 2e-15 for k <= 12 from the unit
# vector meant.
FRESH = 2e-15
# No cone is split once its generators are less certain than this.
BLURRED = 1e-7


@part
def worth(Y, lengths, rho, p, tau):
    """Upper bound on g(tau p) for the exact generator p: p[k] bounds the distance of p[:k] from it."""
    n, k = Y.shape
    total = 0.0
    for i in range(n):
        s = 0.0
        for j in range(k):
            s += Y[i, j] * p[j]
        x = tau * (abs(s) + (ULPS + p[k]) * lengths[i]) - rho[i]
        if not x <= 0.0:  # so written that NaN counts
            total += x * x
    return total


@part
def reach(P, c):
    """Return tau, rounded up, for the generators P (rows; the last column bounds their error).

    c is work space for the centre. Infinite if no centre is found. Any centre is valid; the one at equal angles to all
    generators is best.
    """
    k = P.shape[0]
    G = np.empty((k, k))
    z = np.ones(k)
    solved = True
    for a in range(k):
        for b in range(a + 1):
            x = 0.0
            for j in range(k):
                x += P[a, j] * P[b, j]
            for e in range(b):
                x -= G[a, e] * G[b, e]
            if a == b:
                if not x > 1e-13:
                    solved = False
                    break
                G[a, a] = math.sqrt(x)
            else:
                G[a, b] = x / G[b, b]
        if not solved:
            break
    if solved:
        for a in range(k):
            for e in range(a):
                z[a] -= G[a, e] * z[e]
            z[a] /= G[a, a]
        for a in range(k - 1, -1, -1):
            for e in range(a + 1, k):
                z[a] -= G[e, a] * z[e]
            z[a] /= G[a, a]
    else:
        for a in range(k):
            z[a] = 1.0
    best = 0.0
    # The equidistant centre, then the mean: whichever sees all generators under the smaller angle.
    for attempt in range(2):
        norm = 0.0
        for j in range(k):
            x = 0.0
            for a in range(k):
                x += (z[a] if attempt == 0 else 1.0) * P[a, j]
            c[j] = x
            norm += x * x
        if not norm > 0.0:
            continue
        norm = math.sqrt(norm)
        least = 2.0
        for a in range(k):
            x = 0.0
            for j in range(k):
                x += c[j] * P[a, j]
            x = x / norm - P[a, k]
            if not x >= least:
                least = x if x > -1.0 else -1.0
        if least > best:
            best = least
        if attempt == 0 and solved and least > 0.0:
            break
    best -= ULPS
    if not best > 0.0:
        return np.inf
    return (1.0 + ULPS) / best


@part
def bound_of(Y, lengths, rho, P, c):
    """Upper bound on g over the cone."""
    tau = reach(P, c)
    if tau == np.inf:
        return np.inf
    most = 0.0
    for a in range(P.shape[0]):
        x = worth(Y, lengths, rho, P[a], tau)
        if not x < np.inf:
            return np.inf
        most = max(most, x)
    return most * (1.0 + ULPS * (1 + Y.shape[0] // 8))


@part
def sift_up(keys, ids, at):
    """Restore the heap (largest key first) after an entry was appended."""
    while at > 0:
        up = (at - 1) // 2
        if keys[up] >= keys[at]:
            break
        keys[up], keys[at] = keys[at], keys[up]
        ids[up], ids[at] = ids[at], ids[up]
        at = up


@part
def sift_down(keys, ids, size):
    """Restore the heap after its first entry was replaced."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[at] >= keys[child]:
            break
        keys[at], keys[child] = keys[child], keys[at]
        ids[at], ids[child] = ids[child], ids[at]
        at = child


@kernel
def orthants(k, pool):
    """Write the 2^(k-1) orthants with first sign + into the pool: g is even."""
    count = 1 << (k - 1)
    for s in range(count):
        for a in range(k):
            for j in range(k):
                pool[s, a, j] = 0.0
            pool[s, a, k] = 0.0
            sign = -1.0 if a > 0 and (s >> (a - 1)) & 1 else 1.0
            pool[s, a, a] = sign
    return count


@kernel
def split_cones(Y, lengths, rho, target, pool, keys, ids, size, used, best_v):
    """Bisect the cone of largest bound along its longest edge until no bound exceeds `target` or the pool is full.

    pool[:used] are cones (k generators of k entries and an error bound), keys/ids a heap over the open ones. Returns
    (size of the heap, used, best value met); the largest open bound is keys[0]. `best_v` receives the best generator
    met.
    """
    k = Y.shape[1]
    c = np.empty(k)
    q = np.empty(k + 1)
    best = -1.0
    while size > 0 and keys[0] > target and used < pool.shape[0]:
        old = ids[0]
        P = pool[old]
        first, second, least = 0, 1, 2.0
        for a in range(k):
            for b in range(a):
                x = 0.0
                for j in range(k):
                    x += P[a, j] * P[b, j]
                if x < least:
                    first, second, least = a, b, x
        norm = 0.0
        for j in range(k):
            q[j] = P[first, j] + P[second, j]
            norm += q[j] * q[j]
        norm = math.sqrt(norm)
        if k == 1 or norm == 0.0 or least > 1.0 - 1e-12:
            break  # as fine as floating point allows
        for j in range(k):
            q[j] /= norm
        # |x/|x| - y/|y|| <= 2 |x - y|/(|x| + |y|), with |x - y| at most the sum of the parents' errors.
        q[k] = (P[first, k] + P[second, k]) / norm * (1.0 + 1e-6) + FRESH
        if q[k] > BLURRED:
            break
        here = 0.0
        for i in range(Y.shape[0]):
            s = 0.0
            for j in range(k):
                s += Y[i, j] * q[j]
            x = abs(s) - rho[i]
            if x > 0.0:
                here += x * x
        if here > best:
            best = here
            for j in range(k):
                best_v[j] = q[j]
        new = used
        used += 1
        pool[new] = P
        for j in range(k + 1):
            pool[old, first, j] = q[j]
            pool[new, second, j] = q[j]
        # A part of a cone cannot be worth more than the whole.
        whole = keys[0]
        keys[0] = min(whole, bound_of(Y, lengths, rho, pool[old], c))
        if keys[0] <= target:
            size -= 1
            keys[0] = keys[size]
            ids[0] = ids[size]
        sift_down(keys, ids, size)
        other = min(whole, bound_of(Y, lengths, rho, pool[new], c))
        if not other <= target:
            keys[size] = other
            ids[size] = new
            size += 1
            sift_up(keys, ids, size - 1)
    return size, used, best


@kernel
def open_cones(Y, lengths, rho, target, pool, keys, ids, first, last, size):
    """Bound the cones from `first` to `last` and put the open ones in the heap; returns its size."""
    c = np.empty(Y.shape[1])
    for s in range(first, last):
        bound = bound_of(Y, lengths, rho, pool[s], c)
        if not bound <= target:
            keys[size] = bound
            ids[size] = s
            size += 1
            sift_up(keys, ids, size - 1)
    return size
