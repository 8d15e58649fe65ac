r"""The semidefinite test of a Gram proof: every p x p block of a Schur complement S at once, where dominance fails.

For any scaling :math:`w > 0` let N be the matrix with entries :math:`w_i S_{ij} w_j`. If P is symmetric with the
diagonal of N and :math:`|P_{ij} - N_{ij}| \le t` off it, then for every v with at most p entries

.. math:: v^\top N v \ge v^\top P v - t (|v|_1^2 - |v|^2) \ge v^\top (P - (p - 1) t I) v,

so it is enough that :math:`P - (p - 1) t I` is positive definite. P is looked for with eigenvalues, in whatever
rounding; what shows that it will do is a Cholesky factorisation, with room for all of its own. This belongs to Step 4,
The Schur test, of docs/exact.md.
"""

import math

import numpy as np

from noap.checker.kernels.clock import late
from noap.checker.kernels.rounding import U, gamma
from noap.runtime.kernels import kernel, part

# Turns of the search for P, and the largest matrix it is made for.
_TURNS = 120
MOST_FEATURES = 400
# How near to its goal the search has to be before a factorisation is tried.
_NEAR = 0.03


@kernel
def definite(S, m, p, clock):
    """Whether every p x p block of the leading m x m part of S is positive definite; False if that is not found out.

    P - N is the multiplier of the bound on the entries in: minimise <N, X> over positive semidefinite X with trace 1
    and entries that sum to at most p, in absolute value. It is found by the alternating direction method of
    multipliers.
    """
    if m > MOST_FEATURES:
        return False
    N, X = np.empty((m, m)), np.empty((m, m))
    for i in range(m):
        for j in range(i + 1):
            # The entries carry two roundings of their own and two of each root: within 8 U of what they stand for.
            N[i, j] = S[i, j] / (math.sqrt(S[i, i]) * math.sqrt(S[j, j]))
            N[j, i] = N[i, j]
            if i != j and not abs(N[i, j]) < 1.0:
                return False
    multiplier, target = np.zeros((m, m)), np.eye(m) / m
    t = 0.0
    for _ in range(_TURNS):
        # An eigendecomposition, for the most part.
        if late(clock, 10.0 * m * m * m):
            return False
        values, vectors = np.linalg.eigh(target - N - multiplier)
        # The nearest matrix with trace 1: what the eigenvalues have above some level.
        above, level, kept = 0.0, 0.0, 0
        while kept < m:
            above += values[m - 1 - kept]
            if values[m - 1 - kept] <= (above - 1.0) / (kept + 1):
                break
            kept += 1
            level = (above - 1.0) / kept
        factor = vectors[:, m - kept :] * np.sqrt(np.maximum(values[m - kept :] - level, 0.0))
        X = factor @ factor.T
        inner, length, own = 0.0, 0.0, 0.0
        for i in range(m):
            own += N[i, i] * X[i, i]
            for j in range(m):
                inner += N[i, j] * X[i, j]
                length += abs(X[i, j])
        # With its entries off the diagonal shrunk until they sum to p, X shows that there is no such P.
        share = 1.0 if length <= p else (p - 1.0) / (length - 1.0)
        if not share * inner + (1.0 - share) * own > 0.0:
            return False
        X += multiplier
        t = _clip_level(X, m, p, t)
        for i in range(m):
            for j in range(m):
                multiplier[i, j] = min(max(X[i, j], -t), t)
                target[i, j] = X[i, j] - multiplier[i, j]
        if level + p * t < _NEAR and _factors(N, multiplier, m, p, t):
            return True
    return False


@part
def _clip_level(X, m, p, t):
    """Return about the t at which the entries of X stick out by p in all, by Newton's method."""
    for _ in range(30):
        count, excess = 0, 0.0
        for i in range(m):
            for j in range(m):
                if abs(X[i, j]) > t:
                    count += 1
                    excess += abs(X[i, j]) - t
        if count == 0:
            t *= 0.5
            continue
        step = (excess - p) / count
        t = max(t + step, 0.0)
        if abs(step) < 1e-12 or (t == 0.0 and step <= 0.0):
            break
    return t


@part
def _factors(N, multiplier, m, p, t):
    """Whether P - (p - 1) t I has a Cholesky factor, P = N + multiplier off the diagonal, with |multiplier_ij| <= t.

    N is within 8 U of the scaled matrix, entry by entry, |N_ij| <= 1, and adding the multiplier rounds by at most
    U (1 + t): off the diagonal P is within t + off of it. A factorisation that succeeds is exact for a matrix within
    gamma(m + 1) of the trace in norm; the diagonal is at most 1 + 8 U.
    """
    off = (8.0 + 2.0 * (1.0 + t)) * U
    shift = ((p - 1) * (t + off) + 1.01 * gamma(m + 8) * m + 32.0 * U) * (1.0 + 16.0 * U)
    L = np.zeros((m, m))
    for i in range(m):
        for j in range(i):
            value = N[i, j] + multiplier[i, j]
            for c in range(j):
                value -= L[i, c] * L[j, c]
            L[i, j] = value / L[j, j]
        value = N[i, i] - shift
        for c in range(i):
            value -= L[i, c] * L[i, c]
        if not value > 0.0:
            return False
        L[i, i] = math.sqrt(value)
    return True
