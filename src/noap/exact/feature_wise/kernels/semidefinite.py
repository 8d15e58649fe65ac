r"""The semidefinite test: whether every principal p x p block of a matrix N with unit diagonal is positive definite.

If R is symmetric with :math:`|R_{ij}| \le t` and a zero diagonal, and :math:`N + R - (p - 1) t I` is positive definite,
then for every v with at most p entries

.. math:: v^\top N v > (p - 1) t |v|^2 - v^\top R v \ge (p - 1) t |v|^2 - t (|v|_1^2 - |v|^2) \ge 0.

Dominance sees only the sizes of the entries of N; this test sees their signs. A step costs an eigendecomposition. It
belongs to Step 4, The Schur test, of docs/exact.md.
"""

import math

import numpy as np

from noap.runtime.kernels import kernel, part

# The most features it is worth its price for, and its steps. At p > 5 it has not been seen to need more than 30.
MOST, STEPS = 400, 40
# A factorisation is tried when the bound that the step suggests is this near.
NEAR = 0.02


@kernel
def semidefinite(N, m, p, weight):
    """Look for R and t; returns whether they were found. Fills weight with the diagonal of the X below.

    The best R is the multiplier in: minimise <N, X> over positive semidefinite X with trace 1 and sum |X_ij| <= p. The
    alternating direction method of multipliers goes to and fro between the two sets; N has unit diagonal, so a penalty
    of 1 fits. It stops when R will do, when X, made feasible, has <N, X> <= 0, so that none will, or after so many
    steps. It starts afresh at every node, so that a checker can follow.
    """
    R, Z = np.zeros((m, m)), np.eye(m) / m
    Y, P = np.empty((m, m)), np.empty((m, m))
    t = 0.0
    for f in range(m):
        weight[f] = 1.0 / m
    for _ in range(STEPS):
        for i in range(m):
            for j in range(m):
                Y[i, j] = Z[i, j] - N[i, j] - R[i, j]
        values, vectors = np.linalg.eigh(Y)
        # The nearest matrix of trace 1: what the eigenvalues have above `cut`.
        total, cut, rank = 0.0, 0.0, 0
        for e in range(m - 1, -1, -1):
            total += values[e]
            if values[e] <= (total - 1.0) / (m - e):
                break
            cut, rank = (total - 1.0) / (m - e), m - e
        V = np.empty((rank, m))
        for e in range(rank):
            root = math.sqrt(max(values[m - 1 - e] - cut, 0.0))
            for i in range(m):
                V[e, i] = root * vectors[i, m - 1 - e]
        X = V.T @ V
        length, inner = 0.0, 0.0
        for i in range(m):
            weight[i] = X[i, i]
            for j in range(m):
                length += abs(X[i, j])
                inner += X[i, j] * N[i, j]
                Y[i, j] = X[i, j] + R[i, j]
        # Feasible with its entries off the diagonal shrunk by this; those on it add up to 1.
        keep = 1.0 if length <= p else (p - 1.0) / (length - 1.0)
        if not keep * inner + (1.0 - keep) > 0.0:
            return False
        t = ball(Y, m, p, t)
        for i in range(m):
            for j in range(m):
                R[i, j] = min(max(Y[i, j], -t), t)
                Z[i, j] = Y[i, j] - R[i, j]
        if cut + p * t < NEAR and factors(N, R, m, p, t, P):
            return True
    return False


@part
def ball(Y, m, p, t):
    """Return t with sum (|Y_ij| - t)_+ = p, by Newton's method from a guess; 0 where the sum is less at 0."""
    for _ in range(30):
        count, excess = 0, 0.0
        for i in range(m):
            for j in range(m):
                over = abs(Y[i, j]) - t
                if over > 0.0:
                    count += 1
                    excess += over
        if count == 0:
            t *= 0.5
            continue
        move = (excess - p) / count
        t = max(t + move, 0.0)
        if abs(move) <= 1e-12 or (t == 0.0 and move <= 0.0):
            break
    return t


@part
def factors(N, R, m, p, t, P):
    """Whether N + R - (p - 1) t I has a Cholesky factor, R without its diagonal.

    A factorisation that succeeds is exact for a matrix within (m + 2) ulps of the trace in norm. That, and the rounding
    of the entries of N + R, is well within the room left here.
    """
    shift = (p - 1) * t * (1.0 + 1e-12) + 4e-16 * m * (m + 8.0) + 4e-12
    for i in range(m):
        for j in range(i):
            P[i, j] = N[i, j] + R[i, j]
            P[i, j] = (P[i, j] - inner_product(P[i], P[j], j)) / P[j, j]
        value = 1.0 - shift - inner_product(P[i], P[i], i)
        if not value > 0.0:  # so written that NaN fails
            return False
        P[i, i] = math.sqrt(value)
    return True


@part(fastmath={"reassoc", "contract"})
def inner_product(x, y, m):
    """Return the inner product of the first m entries, added in whatever order is fastest."""
    total = 0.0
    for e in range(m):
        total += x[e] * y[e]
    return total
