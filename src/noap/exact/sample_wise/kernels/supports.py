r"""The supports of a node that exceed a threshold, for a fixed attack.

With M the Gram matrix of the attacked data, a support S exceeds t unless :math:`tI - M_{SS}` is positive definite.
Features are eliminated one by one; below an eliminated set J stands the Schur complement C of J, scaled to unit
diagonal, and every block :math:`C_{QQ}` of p features must be positive definite. If one is not, some row j of Q
violates

.. math:: d_j > \sum_{l} |C_{jl}| d_l \quad\text{(over the p - 1 largest terms)}

for any d > 0. So only violating rows are eliminated next, each without those before it; when none is left the rest is
closed. This is Section 4, Vanilla sparse PCA of the attacked data, of docs/exact-sample-wise.md.
"""

import math

import numpy as np

from noap.heuristics.kernels.largest import ZERO, keep
from noap.runtime.kernels import kernel, part

# Room in comparisons of ratios near 1: the sums of at most 1000 products behind them are off by less than 3e-13.
MARGIN = 1e-12
# One elimination on a matrix of unit diagonal and its rescaling move an entry by at most 16 u < 2e-15, a block of q
# features by at most q times that in norm: the diagonal gives up twice as much, times q + 1.
ELIMINATION = 4e-15
# Every comparison that closes something is so written that a number that is none leaves it open.
# COMPLETE: every support that is not listed stays at or below t. INCLUDED: the included part alone exceeds it.
# TOO_MANY, TOO_LONG: the list or the work overflowed, and nothing is proved.
COMPLETE, INCLUDED, TOO_MANY, TOO_LONG = 0, 1, 2, 3


@part
def all_finite(M):
    """Whether no entry is infinite or not a number."""
    for a in range(M.shape[0]):
        for b in range(M.shape[1]):
            if not abs(M[a, b]) < np.inf:
                return False
    return True


@part
def violating_rows(C, m, p, d, sums, top, rows):
    """Fill `rows` with the positions of the rows that violate scaled dominance; returns how many.

    C has unit diagonal. A few steps d <- sqrt(d sums) look for the scaling with the fewest violating rows.
    """
    for f in range(m):
        d[f] = 1.0
    best = m + 1
    for _ in range(3):
        count = 0
        biggest = 0.0
        for f in range(m):
            row = C[f]
            for e in range(m):
                if e != f:
                    keep(abs(row[e]) * d[e], top, e if e < f else e - 1, p - 1)
            total = 0.0
            for c in range(min(m, p) - 1):
                total += top[c]
            sums[f] = total
            biggest = max(biggest, total)
            if not total < d[f] * (1.0 - MARGIN):
                count += 1
        if count < best:
            best = count
            count = 0
            for f in range(m):
                if not sums[f] < d[f] * (1.0 - MARGIN):
                    rows[count] = f
                    count += 1
        if best == 0 or biggest == 0.0:
            break
        for f in range(m):
            # A floor keeps d positive; the root keeps the steps from oscillating.
            d[f] = math.sqrt(d[f] * max(sums[f], 1e-2 * biggest))
    return best


@part
def first_complement(M, n_inc, t, room, C, diagonal):
    """Eliminate the included features; C receives the complement. Returns whether tI - M_II is positive definite."""
    size = M.shape[0]
    L = np.empty((n_inc, size))
    for a in range(n_inc):
        for j in range(a, size):
            value = -M[a, j]
            if j == a:
                value += t - room
            for c in range(a):
                value -= L[c, a] * L[c, j]
            if j == a:
                if not value > room:
                    return False
                L[a, a] = math.sqrt(value)
            else:
                L[a, j] = value / L[a, a]
    m = size - n_inc
    for f in range(m):
        for e in range(f + 1):
            C[f, e] = -M[n_inc + f, n_inc + e]
        C[f, f] += t - room
    for a in range(n_inc):
        for f in range(m):
            x = L[a, n_inc + f]
            for e in range(f + 1):
                C[f, e] -= x * L[a, n_inc + e]
    for f in range(m):
        diagonal[f] = C[f, f]
        for e in range(f):
            C[e, f] = C[f, e]
    return True


@part
def emit(chosen, size, cand, m, supports, sizes, rest, rest_sizes, count):
    """Append one violating set and the features that may still join it."""
    for c in range(size):
        supports[count, c] = chosen[c]
    sizes[count] = size
    for f in range(m):
        rest[count, f] = cand[f]
    rest_sizes[count] = m


@kernel
def list_supports(M, n_inc, p, t, room, work_limit, supports, sizes, rest, rest_sizes):
    """List sets J of free features, |J| <= p, such that every support of the node above t contains some I + J.

    Positions count from 0 at the first free column. rest[c] lists what may join set c (when it has fewer than p
    features). `room` is subtracted from the diagonal, so that what passes is positive definite despite rounding.
    Returns (verdict, count, work).
    """
    limit = supports.shape[0]
    m0 = M.shape[0] - n_inc
    levels = min(p, m0)
    work = 0
    slack = ELIMINATION * (levels + 1)
    # Sums of the largest entries might overlook one that is not a number.
    if not (all_finite(M) and t - room < np.inf):
        return TOO_LONG, 0, work
    C0 = np.empty((m0, m0))
    diag0 = np.empty(m0)
    if not first_complement(M, n_inc, t, room, C0, diag0):
        return INCLUDED, 0, work
    if levels == 0:
        return COMPLETE, 0, work
    count = ZERO
    every = np.empty(m0, dtype=np.int64)
    for f in range(m0):
        every[f] = f
    Cs = [C0]
    cands = [every]
    # Each level writes its own entries before they are read.
    sizes_of = np.empty(levels + 1, dtype=np.int64)
    pending = np.empty((levels + 1, m0), dtype=np.int64)
    n_pending = np.empty(levels + 1, dtype=np.int64)
    at = np.empty(levels + 1, dtype=np.int64)
    gone = np.empty((levels + 1, m0), dtype=np.bool_)
    chosen = np.empty(levels + 1, dtype=np.int64)
    diags = [diag0]
    for _ in range(1, levels):
        Cs.append(np.empty((0, 0)))
        cands.append(np.empty(0, dtype=np.int64))
        diags.append(np.empty(0))
    d = np.empty(m0)
    sums = np.empty(m0)
    top = np.empty(max(levels, 2))
    left = np.empty(m0, dtype=np.int64)
    sizes_of[0] = m0
    level = 0
    fresh = True
    while level >= 0:
        C, cand, m, diag = Cs[level], cands[level], sizes_of[level], diags[level]
        q = levels - level  # places left
        floor = room if level == 0 else slack
        if fresh:
            # Single features that fail with what is eliminated already: violating sets of their own.
            kept = 0
            failing = 0
            for f in range(m):
                if not diag[f] > floor:
                    failing += 1
            if failing > 0:
                if count + failing > limit:
                    return TOO_MANY, count, work
                done = 0
                for f in range(m):
                    if not diag[f] > floor:
                        # What may join: every candidate but the failing ones already listed.
                        n_left = ZERO
                        seen = 0
                        for e in range(m):
                            if not diag[e] > floor:
                                seen += 1
                                if seen <= done + 1:
                                    continue
                            left[n_left] = cand[e]
                            n_left += 1
                        chosen[level] = cand[f]
                        emit(chosen, level + 1, left, n_left, supports, sizes, rest, rest_sizes, count)
                        count += 1
                        done += 1
                for f in range(m):
                    if diag[f] > floor:
                        cand[kept] = cand[f]
                        for e in range(m):
                            C[kept, e] = C[f, e]
                        diag[kept] = diag[f]
                        left[kept] = f
                        kept += 1
                for f in range(kept):
                    for e in range(kept):
                        C[f, e] = C[f, left[e]]
                m = kept
                sizes_of[level] = m
            n_pending[level] = 0
            at[level] = 0
            if q > 1 and m > 1:
                for f in range(m):
                    sums[f] = 1.0 / math.sqrt(diag[f])
                for f in range(m):
                    for e in range(m):
                        C[f, e] *= sums[f] * sums[e]
                work += m * m
                if q == 2:
                    for f in range(m):
                        for e in range(f):
                            # |C_ef| < 1 is the whole 2 x 2 test.
                            if not abs(C[f, e]) < 1.0 - MARGIN:
                                if count == limit:
                                    return TOO_MANY, count, work
                                chosen[level] = cand[f]
                                chosen[level + 1] = cand[e]
                                emit(chosen, level + 2, cand, ZERO, supports, sizes, rest, rest_sizes, count)
                                count += 1
                else:
                    n_pending[level] = violating_rows(C, m, q, d, sums, top, pending[level])
                    work += 3 * m * m
                    for f in range(m):
                        gone[level, f] = False
            fresh = False
            if work > work_limit:
                return TOO_LONG, count, work
        if at[level] == n_pending[level]:
            level -= 1
            continue
        j = pending[level, at[level]]
        at[level] += 1
        gone[level, j] = True
        chosen[level] = cand[j]
        n_left = 0
        for e in range(m):
            if not gone[level, e]:
                left[n_left] = e
                n_left += 1
        if n_left == 0:
            continue
        if Cs[level + 1].shape[0] < n_left:
            Cs[level + 1] = np.empty((m0, m0)) if level == 0 else np.empty((n_left + 8, n_left + 8))
            cands[level + 1] = np.empty(max(m0, n_left), dtype=np.int64)
            diags[level + 1] = np.empty(max(m0, n_left))
        D, next_cand, next_diag = Cs[level + 1], cands[level + 1], diags[level + 1]
        for f in range(n_left):
            x = C[j, left[f]]
            for e in range(f):
                D[f, e] = C[left[f], left[e]] - x * C[j, left[e]]
                D[e, f] = D[f, e]
            next_diag[f] = 1.0 - x * x - slack
            D[f, f] = next_diag[f]
            next_cand[f] = cand[left[f]]
        work += n_left * n_left
        sizes_of[level + 1] = n_left
        level += 1
        fresh = True
    return COMPLETE, count, work


@part
def unpaired(M, n_inc, t, room, dead):
    """Mark the free features that no support above t contains where two places are left; returns how many.

    One complement shows all pairs: a feature is dead if it stays below with every other one.
    """
    m = M.shape[0] - n_inc
    for f in range(m):
        dead[f] = False
    C = np.empty((m, m))
    diagonal = np.empty(m)
    if not (all_finite(M) and t - room < np.inf and first_complement(M, n_inc, t, room, C, diagonal)):
        return 0
    scale = np.empty(m)
    for f in range(m):
        # A feature that fails alone fails with every other one.
        scale[f] = 1.0 / math.sqrt(diagonal[f]) if diagonal[f] > room else np.inf
    count = 0
    for f in range(m):
        alone = True
        if not scale[f] < np.inf:
            alone = False
        for e in range(m):
            if alone and e != f and not (scale[e] < np.inf and abs(C[f, e]) * scale[f] * scale[e] < 1.0 - MARGIN):
                alone = False
        dead[f] = alone
        if alone:
            count += 1
    return count


@kernel
def removable(M, n_inc, p, t, room, work_limit, dead):
    """Mark the free features that no support of the node above t contains; returns how many.

    Feature j is dead if the node with j included, and without the features found dead before, stays at or below t.
    """
    size = M.shape[0]
    m = size - n_inc
    if p == 2:
        return unpaired(M, n_inc, t, room, dead)
    supports = np.empty((1, max(p, 1)), dtype=np.int64)
    rest = np.empty((1, max(m, 1)), dtype=np.int64)
    sizes = np.empty(1, dtype=np.int64)
    rest_sizes = np.empty(1, dtype=np.int64)
    where = np.empty(size, dtype=np.int64)
    for j in range(n_inc):
        where[j] = j
    count = 0
    for f in range(m):
        dead[f] = False
    for f in range(m):
        where[n_inc] = n_inc + f
        width = n_inc + 1
        for e in range(m):
            if e != f and not dead[e]:
                where[width] = n_inc + e
                width += 1
        part = np.empty((width, width))
        for a in range(width):
            for b in range(width):
                part[a, b] = M[where[a], where[b]]
        verdict, found, _ = list_supports(
            part, n_inc + 1, p - 1, t, room, work_limit, supports, sizes, rest, rest_sizes
        )
        if verdict == COMPLETE and found == 0:
            dead[f] = True
            count += 1
    return count
