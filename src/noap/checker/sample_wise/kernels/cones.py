r"""Re-proving a bound on one support by simplicial cones.

Let :math:`p_1..p_k` generate a cone, and let c satisfy :math:`c^\top p_m > 0`. A unit vector :math:`v = \sum t_m p_m`,
:math:`t \ge 0`, is :math:`\sum \lambda_m \tau_m p_m` with :math:`\tau_m = |c|/c^\top p_m`, :math:`\lambda_m =
t_m/\tau_m \ge 0` and :math:`\sum \lambda_m = c^\top v/|c| \le 1`. The worth :math:`g(v) = \sum_i (|y_i^\top v| -
\rho_i)_+^2` is convex and g(0) = 0, hence :math:`g(v) \le \max_m g(\tau_m p_m)`.

Generators are exact: they start as unit vectors, and a cone is cut at the sum of two of its generators, halved now and
then, which is checked to be representable. All generators of a cone lie in one orthant, so nothing cancels. What is
proved again is Lemma 5 in Section 5, Leaves, of docs/exact-sample-wise.md.
"""

import math

import numpy as np

from noap.checker.kernels.clock import late
from noap.checker.kernels.rounding import U, gamma
from noap.runtime.kernels import kernel, part

# Why cones do not hold: one stays open; one does after as many cuts as may be made.
OPEN, DEEP = -1, -2
# Cuts for whose scores there is room from the start.
_CUTS = 16


@part
def centre(P, W, c):
    """Fill c with a vector that has nearly equal inner products with all p_m/|p_m|; W is work space, k by k + 1.

    Any c is valid. Where the equations cannot be solved it is the sum of the generators.
    """
    k = len(P)
    for a in range(k):
        square = 0.0
        for j in range(k):
            W[a, j] = P[a, j]
            square += P[a, j] * P[a, j]
        W[a, k] = math.sqrt(square)
    for j in range(k):
        pivot = j
        for a in range(j + 1, k):
            if abs(W[a, j]) > abs(W[pivot, j]):
                pivot = a
        if abs(W[pivot, j]) < 1e-13:
            for b in range(k):
                c[b] = 0.0
                for a in range(k):
                    c[b] += P[a, b]
            return
        for b in range(k + 1):
            W[j, b], W[pivot, b] = W[pivot, b], W[j, b]
        for a in range(j + 1, k):
            x = W[a, j] / W[j, j]
            for b in range(j, k + 1):
                W[a, b] -= x * W[j, b]
    for a in range(k - 1, -1, -1):
        x = W[a, k]
        for b in range(a + 1, k):
            x -= W[a, b] * c[b]
        c[a] = x / W[a, a]


@part
def reaches(P, W, c, tau):
    """Fill tau with at least |c|/c'p_m; returns False if some c'p_m is not certainly positive."""
    k = len(P)
    centre(P, W, c)
    for attempt in range(2):
        square = 0.0
        for j in range(k):
            square += c[j] * c[j]
        length = math.sqrt(square) * (1.0 + gamma(k + 4))
        good = length < np.inf
        for a in range(k):
            along, size = 0.0, 0.0
            for j in range(k):
                along += c[j] * P[a, j]
                size += abs(c[j] * P[a, j])
            along -= gamma(k + 2) * size * 1.001
            good = good and along > 0.0
            if good:
                tau[a] = length / along * (1.0 + 8.0 * U)
        if good:
            return True
        if attempt == 0:
            for j in range(k):
                c[j] = 0.0
                for a in range(k):
                    c[j] += P[a, j]
    return False


@part
def below(scores, errors, tau, r, T):
    """Whether g(tau p) is certainly at most T; scores are the computed y_i'p, each off by at most its error.

    That is gamma(k) |y_i| |p|, and three operations follow before r_i is subtracted.
    """
    limit = T * (1.0 - gamma(len(scores) + 10))
    tau *= 1.0 + 8.0 * U
    total = 0.0
    for i in range(len(scores)):
        x = tau * (abs(scores[i]) + errors[i]) - r[i]
        if not x <= 0.0:  # so written that NaN counts
            total += x * x
    return total <= limit


@part
def cone_holds(P, scores, slot, errors, r, T, W, c, tau):
    """Whether the cone's bound is at most T; slot[m] tells which row of `scores` belongs to generator m."""
    k = len(P)
    if not reaches(P, W, c, tau):
        return False
    holds = True
    for a in range(k):
        holds = holds and below(scores[slot[a]], errors, tau[a], r, T)
    return holds


@part
def widest(P):
    """Return the two generators at the largest angle."""
    k = len(P)
    first, second, least = 0, 0, 2.0
    for a in range(k):
        for b in range(a):
            dot, x, y = 0.0, 0.0, 0.0
            for j in range(k):
                dot += P[a, j] * P[b, j]
                x += P[a, j] * P[a, j]
                y += P[b, j] * P[b, j]
            cosine = dot / math.sqrt(x * y)
            if cosine < least:
                first, second, least = a, b, cosine
    return first, second


@part
def cut(a, b, q):
    """Fill q with a + b, halved if its length may reach 2; returns whether q is exact."""
    square = 0.0
    for j in range(len(a)):
        s = a[j] + b[j]
        back = s - a[j]
        if (a[j] - (s - back)) + (b[j] - back) != 0.0:
            return False
        q[j] = s
        square += s * s
    if square > 3.99:
        for j in range(len(a)):
            half = 0.5 * q[j]
            if half + half != q[j]:
                return False
            q[j] = half
    return True


@part
def facing(Y, orthant, r):
    """Return the rows of Y that may exceed r_i in an orthant, columns turned so that it is the positive one; and r.

    In the positive orthant |y'v| is at most the length of the positive part of y, or of its negative part.
    """
    n, k = Y.shape
    kept, budgets = np.empty((n, k)), np.empty(n)
    m = 0
    for i in range(n):
        above, under = 0.0, 0.0
        for j in range(k):
            x = -Y[i, j] if j > 0 and (orthant >> (j - 1)) & 1 else Y[i, j]
            kept[m, j] = x
            if x > 0.0:
                above += x * x
            else:
                under += x * x
        # So written that a row with NaN stays.
        if not (
            math.sqrt(above + 1e-290) * (1.0 + gamma(k + 4)) <= r[i]
            and math.sqrt(under + 1e-290) * (1.0 + gamma(k + 4)) <= r[i]
        ):
            budgets[m] = r[i]
            m += 1
    return kept[:m].copy(), budgets[:m].copy()


@part
def orthant_holds(Y, r, T, most, deepest, clock):
    """Whether g(v) <= T for every unit v of the positive orthant, shown with at most `most` cones.

    No cone is the result of more than `deepest` cuts. Returns the number of cones looked at; DEEP if one stays open
    after so many cuts, OPEN if one stays open for another reason.
    """
    n, k = Y.shape
    errors = np.empty(n)
    for i in range(n):
        square = 0.0
        for j in range(k):
            square += Y[i, j] * Y[i, j]
        # Generators are shorter than 2.
        errors[i] = gamma(k + 2) * 2.0 * (math.sqrt(square + 1e-290) * (1.0 + gamma(k + 4)))
    P, W, c, tau = np.zeros((k, k)), np.empty((k, k + 1)), np.empty(k), np.empty(k)
    # Rows are added as cuts are made: few cones are cut `deepest` times.
    scores = np.empty((k + min(deepest, _CUTS), n))
    slot = np.empty(k, dtype=np.int64)
    for a in range(k):
        P[a, a] = 1.0
        slot[a] = a
        for i in range(n):
            scores[a, i] = Y[i, a]
    # Per cut: the two generators, their entries and where their scores stand, and whether the second part is on.
    pairs = np.empty((deepest, 2), dtype=np.int64)
    old = np.empty((deepest, 2, k))
    old_slot = np.empty((deepest, 2), dtype=np.int64)
    second_part = np.zeros(deepest, dtype=np.bool_)
    q = np.empty((deepest, k))
    level, used = 0, 1
    holds = cone_holds(P, scores, slot, errors, r, T, W, c, tau)
    while True:
        if not holds:
            if used >= most or k == 1 or late(clock, 4.0 * (n + k) * k):
                return OPEN
            if level == deepest:
                return DEEP
            first, second = widest(P)
            if not cut(P[first], P[second], q[level]):
                return OPEN
            if k + level == len(scores):
                more = np.empty((k + min(deepest, 2 * level), n))
                more[: k + level] = scores
                scores = more
            row = scores[k + level]
            for i in range(n):
                s = 0.0
                for j in range(k):
                    s += Y[i, j] * q[level, j]
                row[i] = s
            pairs[level, 0], pairs[level, 1] = first, second
            for side in range(2):
                old_slot[level, side] = slot[pairs[level, side]]
                for j in range(k):
                    old[level, side, j] = P[pairs[level, side], j]
            second_part[level] = False
            level += 1
        else:
            # Go up past the cuts of which both parts are done.
            while level > 0 and second_part[level - 1]:
                level -= 1
                a = pairs[level, 1]
                slot[a] = old_slot[level, 1]
                for j in range(k):
                    P[a, j] = old[level, 1, j]
            if level == 0:
                return used
            a = pairs[level - 1, 0]
            slot[a] = old_slot[level - 1, 0]
            for j in range(k):
                P[a, j] = old[level - 1, 0, j]
            second_part[level - 1] = True
        # The part in which q stands in for the first generator, or for the second.
        a = pairs[level - 1, 1] if second_part[level - 1] else pairs[level - 1, 0]
        slot[a] = k + level - 1
        for j in range(k):
            P[a, j] = q[level - 1, j]
        holds = cone_holds(P, scores, slot, errors, r, T, W, c, tau)
        used += 1


@kernel
def cones_hold(Y, r, T, most, deepest, clock):
    """Whether g(v) <= T for every unit v; `most` and the result count the cones of all orthants together.

    Negative, OPEN or DEEP, if a cone stays open.
    """
    used = 0
    # Directions count up to sign: the orthants whose first sign is + suffice.
    for orthant in range(1 << (Y.shape[1] - 1)):
        if late(clock, 4.0 * Y.size):
            return OPEN
        rows, budgets = facing(Y, orthant, r)
        more = orthant_holds(rows, budgets, T, most - used, deepest, clock)
        if more < 0:
            return more
        used += more
    return used
