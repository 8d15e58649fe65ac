"""Judges of problems with a metric, which share no code with noap: brute force over supports.

Without an adversary generalised eigenvalues by LAPACK. Against one, for every support and sign pattern s, the best
direction in the orthant by many runs of a local method on v = s * t, t >= 0: on a few features it finds the maximum.
"""

from itertools import combinations, product

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize


def best_ratio(A, B, k):
    """The largest v'Av/v'Bv over k-sparse v, and its support."""
    best, support = -np.inf, ()
    for S in combinations(range(len(A)), k):
        both = np.ix_(S, S)
        top = eigh(A[both], B[both], eigvals_only=True)[-1]
        if top > best:
            best, support = top, S
    return best, support


def robust_ratio(A, B, rho, k, starts=1, seed=0):
    """The largest (sqrt(v'Av) - sum rho_j |v_j|)_+^2 / v'Bv over k-sparse v, as far as local methods find it."""
    rng = np.random.default_rng(seed)
    best = 0.0
    for S in combinations(range(len(A)), k):
        both = np.ix_(S, S)
        own, metric, budget = A[both], B[both], np.asarray(rho)[list(S)]
        # No direction on S is worth more than without the adversary less the least it can take.
        if eigh(own, metric, eigvals_only=True)[-1] <= best:
            continue
        for signs in product((1.0, -1.0), repeat=k - 1):
            s = np.array((1.0, *signs))
            for _ in range(starts):
                best = max(best, _local(own, metric, budget, s, rng.random(k)))
    return best


def _local(A, B, rho, s, start):
    def less(t):
        v = s * t
        if not v.any():
            return 0.0, np.zeros(len(t))
        length = np.sqrt(v @ B @ v) + 1e-300
        pulled = A @ v
        energy = np.sqrt(max(v @ pulled, 0.0)) + 1e-300
        value = (energy - rho @ t) / length
        slope = (s * pulled / energy - rho) / length - value * s * (B @ v) / length**2
        return -value, -slope

    found = minimize(less, start, jac=True, bounds=[(0.0, None)] * len(s), method="L-BFGS-B")
    return max(-found.fun, 0.0) ** 2


def random_pencil(rng, d, n=30, m=40, ridge=0.1):
    """A covariance and a metric that is not near to diagonal."""
    X = rng.standard_normal((n, d)) @ (np.eye(d) + rng.standard_normal((d, d)) / np.sqrt(d))
    Y = rng.standard_normal((m, d)) @ (np.eye(d) + rng.standard_normal((d, d)) / np.sqrt(d))
    return X, Y.T @ Y / m + ridge * np.eye(d)
