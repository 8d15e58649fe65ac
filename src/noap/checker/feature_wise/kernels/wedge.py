"""One more slab that every pair worth more than T obeys, from the chords of the included features.

A, eps, top and terms are as in the file `tighten.py` beside this one. What is proved again is Step 3, The eigenvector
slab, of docs/exact.md.
"""

import math

import numpy as np

from noap.checker.feature_wise.kernels.worth import chord
from noap.checker.kernels.clock import late
from noap.checker.kernels.rounding import U, gamma
from noap.runtime.kernels import part


@part
def wedge_of(A, eps, top, terms, T, inc, sign, lo, hi, n_inc, rest, wedge, clock):
    r"""Find a slab that every pair worth more than T obeys: fills `wedge`, returns tau (0: none found).

    With chords f(s_j) <= (r_j s_j)^2 + beta_j and Y the columns r_j a_j, such a pair has |Y'u|^2 > t = T - sum beta -
    rest. For any q and b, R = I - b qq' has RR' = I - theta qq' with theta = 2b - b^2 |q|^2, so
    |Y'u|^2 = |R Y'u|^2 + theta (q'Y'u)^2 <= lam + theta (q'Y'u)^2, where lam >= lambda_max(R Y'Y R). So
    (q'Y'u)^2 > (t - lam)/theta.
    """
    root = np.empty(n_inc)
    G = np.empty((n_inc, n_inc))
    target, bulk, steepest = T - rest, T + rest, 0.0
    for a in range(n_inc):
        root[a], beta = chord(lo[a], hi[a], terms.r_lo[inc[a]], terms.cost[inc[a]])
        target -= beta
        bulk += abs(beta)
        steepest = max(steepest, root[a])
    target -= gamma(n_inc + 3) * bulk
    for a in range(n_inc):
        for b in range(n_inc):
            G[a, b] = root[a] * root[b] * A[inc[a], inc[b]]
    if late(clock, 10.0 * n_inc * n_inc * n_inc):
        return 0.0
    values, vectors = np.linalg.eigh(G)
    first, second = values[n_inc - 1], max(values[n_inc - 2], 0.0)
    if not (first > 0.0 and target > second):
        return 0.0
    bend = 1.0 - math.sqrt(second / first)
    q = vectors[:, n_inc - 1].copy()
    length2 = 0.0
    for a in range(n_inc):
        length2 += q[a] * q[a]
    R = np.empty((n_inc, n_inc))
    for x in range(n_inc):
        for y in range(n_inc):
            R[x, y] = (1.0 if x == y else 0.0) - bend * q[x] * q[y]
    P = product(product(R, G, n_inc, clock), R, n_inc, clock)
    if late(clock, 0.0):
        return 0.0
    # Entries of R are at most 2 and those of G at most steepest^2 top: what the entries of P are off, and, times n_inc,
    # what P is off as a matrix; the elimination adds (n_inc + 2) ulps of its diagonal per entry.
    mass = 4.0 * n_inc * n_inc * steepest * steepest
    off = n_inc * mass * (eps + gamma(n_inc * n_inc + 12) * top) * 1.0001
    lam = second * (1.0 + 1e-12) + 3.0 * (off + n_inc * gamma(n_inc + 6) * (second + off)) + 1e-300
    room = (off + n_inc * gamma(n_inc + 6) * lam) * 1.0001
    for x in range(n_inc):
        for y in range(n_inc):
            P[x, y] = -P[x, y]
        P[x, x] += lam - room
    if not cholesky_holds(P, n_inc):
        return 0.0
    theta = bend * (2.0 - bend * length2) * (1.0 + gamma(n_inc + 6)) + 8.0 * U
    share = (target - lam) * (1.0 - 4.0 * U) / theta
    if not (share > 0.0 and theta > 0.0):
        return 0.0
    tau = math.sqrt(share) * (1.0 - 4.0 * U)
    below, above, heft = 0.0, 0.0, 0.0
    for a in range(n_inc):
        wedge[a] = q[a] * root[a]
        along = wedge[a] * sign[a]
        heft += abs(wedge[a])
        if along > 0.0:
            below += along * lo[a]
            above += along * hi[a]
        else:
            below += along * hi[a]
            above += along * lo[a]
    # The stored coefficients are off by an ulp each; so are the terms of the two sums, at most sqrt(top + eps) each.
    slip = gamma(n_inc + 3) * heft * math.sqrt(top + eps) * 1.0001
    tau -= slip
    if tau <= 0.0:
        return 0.0
    if below - slip > -tau:
        return tau
    if above + slip < tau:
        for a in range(n_inc):
            wedge[a] = -wedge[a]
        return tau
    return 0.0


@part
def product(P, Q, n, clock):
    """Return PQ for n x n matrices; rows are left out where time is up."""
    found = np.empty((n, n))
    for x in range(n):
        if late(clock, 2.0 * n * n):
            break
        for y in range(n):
            total = 0.0
            for c in range(n):
                total += P[x, c] * Q[c, y]
            found[x, y] = total
    return found


@part
def cholesky_holds(P, n):
    """Whether the elimination of the symmetric matrix P, done in place, meets positive pivots only."""
    for a in range(n):
        for b in range(a + 1):
            value = P[a, b]
            for c in range(b):
                value -= P[a, c] * P[b, c]
            if a == b:
                if not value > 0.0:  # so written that NaN fails
                    return False
                P[a, a] = math.sqrt(value)
            else:
                P[a, b] = value / P[b, b]
    return True
