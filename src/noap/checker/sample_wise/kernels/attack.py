r"""Re-proving a node of a sample-wise proof by an attack: every function errs on the side of the larger optimum.

A node has included features I, free features F and p places: its directions have support in :math:`I \cup Q`,
:math:`|Q| \le p`, and :math:`N(e)^2 = |e_I|^2 + |\mathrm{top}_p(e_F)|^2` is the largest :math:`|e^\top v|` there. U is
the unit roundoff, r at most the budgets, one per row. What is proved again is Section 2, The attack and its ball, of
docs/exact-sample-wise.md, and from `violating` on Section 4, Vanilla sparse PCA of the attacked data, of
docs/exact-sample-wise.md; the theorems are in docs/certificate-format-sample-wise.md.
"""

import math

import numpy as np

from noap.checker.kernels.clock import late
from noap.checker.kernels.largest import insert
from noap.checker.kernels.rounding import U, gamma
from noap.runtime.kernels import kernel, part

# Turns of the dominance scaling.
_TURNS = 8
# A square below this may have lost digits to underflow.
_TINY = 1e-290
# Zero, which as a Python integer would be to Numba a type of its own, and compile the callee once more.
_ZERO = np.int64(0)


@part
def ball_square(e, n_inc, p, top):
    """Return the computed N(e)^2 of a row whose first n_inc entries are the included ones; `top` is work space.

    Relatively it is off by at most gamma(n_inc + p + 1), and by _TINY for underflow.
    """
    held = _ZERO
    for j in range(n_inc, len(e)):
        x = abs(e[j])
        if x != x:
            return x  # the largest entries might overlook it
        held = insert(x, top, held, p)
    total = 0.0
    for j in range(n_inc):
        total += e[j] * e[j]
    for c in range(held):
        total += top[c] * top[c]
    return total


@kernel
def lengths_up(Y, n_inc, p):
    """Return at least N(y_i), for every row."""
    top = np.empty(max(p, 1))
    found = np.empty(Y.shape[0])
    grow = 1.0 + gamma(n_inc + p + 6)
    for i in range(Y.shape[0]):
        found[i] = math.sqrt(ball_square(Y[i], n_inc, p, top) + _TINY) * grow
    return found


@kernel
def confine(Y, E, n_inc, p, r):
    """Change E, in place, so that N(e_i) <= r_i in every row: scaled down where it must be.

    A row with N(y_i) <= r_i is cancelled: e_i = -y_i.
    """
    top = np.empty(max(p, 1))
    terms = n_inc + p
    lengths = lengths_up(Y, n_inc, p)
    for i in range(Y.shape[0]):
        if lengths[i] <= r[i]:
            for j in range(Y.shape[1]):
                E[i, j] = -Y[i, j]
            continue
        square = ball_square(E[i], n_inc, p, top) + _TINY
        if not square < np.inf:
            for j in range(Y.shape[1]):
                E[i, j] = 0.0
        elif square * (1.0 + gamma(terms + 6)) > r[i] * r[i] * (1.0 - 4.0 * U):
            # The root of the computed square is N(e) to (terms + 1)/2 + 1 ulps; the quotient, the two products and the
            # rounding of every entry of the scaled row are four more.
            factor = r[i] / math.sqrt(square) * (1.0 - (terms + 16) * U)
            for j in range(Y.shape[1]):
                E[i, j] *= factor


@part
def violating(C, m, q, rows, clock):
    """Fill `rows` with rows that may violate d_j > the sum of the q - 1 largest C_jl d_l, for the best d found.

    C holds |S_jl|/sqrt(S_jj S_ll). Every row that is not named certainly satisfies the inequality for that d. Returns
    how many are named.
    """
    d, sums, top = np.empty(m), np.empty(m), np.empty(q - 1)
    for f in range(m):
        d[f] = 1.0
    # C is off by 5 ulps per entry, the products and sums by q more, all of one sign.
    limit = 1.0 - gamma(q + 16)
    best = m + 1
    for _ in range(_TURNS):
        count, biggest = 0, 0.0
        for f in range(m):
            held = _ZERO
            for e in range(m):
                if e != f:
                    held = insert(C[f, e] * d[e], top, held, q - 1)
            total = 0.0
            for c in range(held):
                total += top[c]
            sums[f] = total
            biggest = max(biggest, total)
            if not total < d[f] * limit:
                count += 1
        if count < best:
            best, count = count, 0
            for f in range(m):
                if not sums[f] < d[f] * limit:
                    rows[count] = f
                    count += 1
        # What was found is as good where time is up.
        if best == 0 or biggest == 0.0 or late(clock, 4.0 * m * m):
            break
        for f in range(m):
            # A floor keeps d positive; the root keeps the steps from oscillating.
            d[f] = math.sqrt(d[f] * max(sums[f], 1e-2 * biggest))
    return best


@part
def complement(S, j, keep, m):
    """Return the Schur complement of row j of S on the m rows `keep`, as computed, exactly symmetric."""
    D = np.empty((m, m))
    pivot = S[j, j]
    for f in range(m):
        row = S[keep[f]]
        x = row[j] / pivot
        for e in range(f + 1):
            value = row[keep[e]] - x * S[j, keep[e]]
            D[f, e] = value
            D[e, f] = value
    return D


@part
def eliminates(S, clock):
    """Whether the elimination of all of S, in place, meets positive pivots only; False if time is up before."""
    m = len(S)
    for j in range(m):
        # So written that NaN fails.
        if not S[j, j] > 0.0 or late(clock, 0.5 * (m - j) * (m - j)):
            return False
        for f in range(j + 1, m):
            x = S[f, j] / S[j, j]
            for e in range(j + 1, f + 1):
                S[f, e] -= x * S[e, j]
    return True


@part
def blocks_hold(S, q, work, clock):
    """Whether every block S_QQ, |Q| <= q, is positive definite, up to the rounding stated in `closes`.

    Returns the work left, negative if a block may fail, or the work or the time is used up. S is overwritten.
    """
    m = len(S)
    for f in range(m):
        if not S[f, f] > 0.0:
            return -1
    if q <= 1 or m <= 1:
        return work
    work -= m * m
    if work < 0 or late(clock, 4.0 * m * m):
        return -1
    if q >= m:
        return work if eliminates(S, clock) else -1
    if q == 2:
        for f in range(m):
            for e in range(f):
                if not (S[f, e] / S[f, f]) * (S[f, e] / S[e, e]) < 1.0 - 8.0 * U:
                    return -1
        return work
    C, root = np.empty((m, m)), np.empty(m)
    for f in range(m):
        root[f] = 1.0 / math.sqrt(S[f, f])
    for f in range(m):
        for e in range(m):
            C[f, e] = abs(S[f, e]) * root[f] * root[e]
            if not C[f, e] < np.inf:  # sums of the largest entries might overlook NaN
                return -1
    rows = np.empty(m, dtype=np.int64)
    count = violating(C, m, q, rows, clock)
    # A failing Q contains one of these rows: first those with the first, then those with the second and without the
    # first, and so on.
    gone, keep = np.empty(m, dtype=np.bool_), np.empty(m, dtype=np.int64)
    for f in range(m):
        gone[f] = False
    for c in range(count):
        gone[rows[c]] = True
        left = _ZERO
        for e in range(m):
            if not gone[e]:
                keep[left] = e
                left += 1
        work = blocks_hold(complement(S, rows[c], keep, left), q - 1, work, clock)
        if work < 0:
            return -1
    return work


@part
def singles_hold(M, at, n_inc, t, clock):
    """Whether tI - M is positive definite on the first n_inc features of `at` with each one of the others.

    The eliminations are those of `closes`, of the rows of the included features and of the diagonal alone: nothing else
    reaches a block with one free feature.
    """
    total = len(at)
    A = np.empty((n_inc, total))
    diagonal = np.empty(total)
    for a in range(total):
        diagonal[a] = t - M[at[a], at[a]]
    for a in range(n_inc):
        for b in range(total):
            A[a, b] = -M[at[a], at[b]]
    for j in range(n_inc):
        # So written that NaN fails.
        if not diagonal[j] > 0.0 or late(clock, 1.0 * A.size):
            return False
        for f in range(j + 1, total):
            x = A[j, f] / diagonal[j]
            diagonal[f] -= x * A[j, f]
            if f < n_inc:
                for e in range(f + 1, total):
                    A[f, e] -= x * A[j, e]
    below = True
    for f in range(n_inc, total):
        below = below and diagonal[f] > 0.0
    return below


@kernel
def closes(M, error, inc, free, p, T, work, clock):
    r"""Whether :math:`TI - M^*_{SS}` is positive definite for S = I + Q, every Q of at most p free features.

    M is a computed matrix, each entry within `error` of that of M*; inc and free are positions in it. Returns the work
    left, negative if a support may fail, or the work or the time is used up.

    Rounding. A = (T - room)I - M, formed with 2 roundings of numbers up to T on its diagonal. An elimination of pivot j
    computes S_fe - (S_fj/S_jj) S_je with error delta_fe. What is computed is what exact elimination makes of A + (all
    delta). On a block S that passes, with G the largest diagonal entry, at most T: the computed diagonal entries only
    fall and stay positive, so |S_fj S_je/S_jj| <= (1 + 4U) G, and the block of A + (all delta) is positive definite, so
    that |S_fe| <= 1.001 G at all times; hence |delta_fe| <= 3.1 U T. There are at most s = |S| eliminations: the block
    of (all delta) has norm at most 3.1 s^2 U T, and that of M - M* at most s error. room exceeds the sum.
    """
    n_inc, m = len(inc), len(free)
    size = n_inc + min(p, m)
    room = size * (error + 8.0 * (size + 2) * U * T) * 1.001
    if not room < T:
        return -1
    total = n_inc + m if p > 0 else n_inc
    # An update of an elimination takes a twentieth of the time of an entry of the enumeration.
    updates = total * total * total // 6 if p >= m else n_inc * total * total // 2
    work -= updates // 20
    if work < 0:
        return -1
    at = np.empty(total, dtype=np.int64)
    for a in range(total):
        at[a] = inc[a] if a < n_inc else free[a - n_inc]
    if 0 < p < min(m, 2):
        return work if singles_hold(M, at, n_inc, T - room, clock) else -1
    A = np.empty((total, total))
    for a in range(total):
        for b in range(total):
            A[a, b] = -M[at[a], at[b]]
        A[a, a] += T - room
    if p >= m:
        return work if eliminates(A, clock) else -1
    rest = np.empty(total, dtype=np.int64)
    for a in range(total):
        rest[a] = a + 1
    for _ in range(n_inc):
        if not A[0, 0] > 0.0 or late(clock, 1.0 * A.size):
            return -1
        A = complement(A, _ZERO, rest, len(A) - 1)
    return blocks_hold(A, min(p, m), work, clock)
