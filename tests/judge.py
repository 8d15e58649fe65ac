"""Judges that share no code with noap: brute force over supports, signs and directions.

Feature-wise, for a fixed support S with all entries non-zero and signs s, the optimal v is proportional to
(M_S - nu I)^-1 (rho s) for some 0 <= nu <= lambda_max(M_S): a one-dimensional search per sign pattern. Smaller
supports are enumerated too, so entries that vanish are covered. Sample-wise, directions are searched on a fine
grid of the sphere and polished.
"""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from scipy.optimize import minimize_scalar

# The exact values below come from below, and are too low by less than this, relatively or beside the scale.
_DIGITS = Fraction(1, 10**30)


def root_below(x):
    """A rational at or below the root of a rational, to 36 digits."""
    bits = 120 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    return Fraction(math.isqrt((x.numerator << (2 * bits)) // x.denominator), 1 << bits)


def exact_feature_wise(X, v, rho):
    """A rational at or below the robust variance of v / |v|, to 36 digits: no rounding of its own.

    (|Xv| - sum_j rho_j |v_j|)_+^2 / (n |v|^2), with the root from below; every float is a rational. One budget for all
    features, or one for each.
    """
    weights = [Fraction(float(x)) for x in v]
    rows = ([Fraction(float(x)) for x in row] for row in X)
    energy = sum((sum(x * w for x, w in zip(row, weights, strict=True)) ** 2 for row in rows), Fraction(0))
    return _exact_worth(energy, weights, len(X), np.broadcast_to(rho, len(weights)))


def exact_from_covariance(S, n, v, rho):
    """The same from S = X'X/n."""
    V = np.flatnonzero(v)
    weights = [Fraction(float(v[j])) for j in V]
    rows = zip(weights, np.asarray(S)[np.ix_(V, V)], strict=True)
    terms = (w * Fraction(float(s)) * y for w, row in rows for s, y in zip(row, weights, strict=True))
    energy = max(n * sum(terms, Fraction(0)), Fraction(0))
    return _exact_worth(energy, weights, n, np.broadcast_to(rho, len(v))[V])


def exact_worth(problem, v):
    """The same for a problem with samples or a covariance, feature-wise or with no adversary, less the costs."""
    rho = problem.adversary.rho
    spent = Fraction(0)
    if getattr(problem, "costs", None) is not None:
        spent = sum((Fraction(float(problem.costs[j])) for j in np.flatnonzero(v)), Fraction(0))
        if not np.any(v):
            return Fraction(0)
    if problem.X is None:
        return exact_from_covariance(problem.covariance, problem.n_samples, v, rho) - spent
    X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray()
    return exact_feature_wise(X, v, rho) - spent


def _exact_worth(energy, weights, n, rho):
    taken = (Fraction(float(r)) * abs(w) for r, w in zip(rho, weights, strict=True) if w)
    distance = root_below(energy) - sum(taken, Fraction(0))
    return max(distance, Fraction(0)) ** 2 / (n * sum(w * w for w in weights))


def vanilla_optimum(S, k):
    """max over k-sparse unit v of v'Sv, by enumeration."""
    return vanilla_best(S, k)[0]


def vanilla_best(S, k):
    """The same, and a vector that attains it."""
    supports = list(combinations(range(len(S)), k))
    tops = [np.linalg.eigvalsh(S[np.ix_(c, c)])[-1] for c in supports]
    best = list(supports[int(np.argmax(tops))])
    v = np.zeros(len(S))
    v[best] = np.linalg.eigh(S[np.ix_(best, best)])[1][:, -1]
    return max(tops), v


def feature_wise_optimum(G, n, k, rho, grid=160, costs=None):
    """The optimum from G = X'X, exact to the accuracy of a one-dimensional search."""
    return feature_wise_best(G, n, k, rho, grid, costs)[0]


def feature_wise_best(G, n, k, rho, grid=160, costs=None, sizes=None):
    """The optimum from G = X'X as above, and a k-sparse vector that attains it: None where the optimum is 0.

    One budget for all features or one for each, infinite ones included; costs are taken off once a feature is used.
    With `sizes`, only supports of so many features are looked at.
    """
    d = len(G)
    rho = np.broadcast_to(rho, d)
    costs = np.zeros(d) if costs is None else np.asarray(costs)
    best, v = 0.0, None
    for size in range(1, k + 1) if sizes is None else sizes:
        for c in combinations(np.flatnonzero(np.isfinite(rho)).tolist(), size):
            c = list(c)
            spent = costs[c].sum()
            floor = np.sqrt(n * (best + spent))
            distance, found = _on_support(G[np.ix_(c, c)], rho[c], floor, grid)
            if found is not None and distance**2 / n - spent > best:
                best, v = distance**2 / n - spent, np.zeros(d)
                v[c] = found
    return best, v


def _on_support(M, rho, floor, grid):
    size = len(M)
    lam, Q = np.linalg.eigh(M)
    lam = np.maximum(lam, 0.0)
    best, v = floor, None
    # No vector on this support beats its top eigenvalue less sum rho_j |v_j| >= the smallest rho_j.
    if np.sqrt(lam[-1]) - rho.min() <= floor:
        return best, v
    # Dense everywhere, denser near every eigenvalue (the "eigenvalue cases" are limits of the curve).
    offsets = lam[-1] * np.logspace(-9, 0, 24)
    nus = np.concatenate([np.linspace(0, lam[-1], grid), *(e + s * offsets for e in lam for s in (-1, 1))])
    nus = nus[(nus >= 0) & (nus <= lam[-1] * (1 + 1e-6))]
    leading = _curve(lam, Q, Q.T @ Q[:, -1:], np.array([0.5 * lam[-1]]), rho)[0]
    if leading > best:
        best, v = leading, Q[:, -1]
    width = 2 * lam[-1] / grid
    for tail in product((-1.0, 1.0), repeat=size - 1):
        projected = Q.T @ (rho / max(rho.max(), 1e-300) * np.array([1.0, *tail]))[:, None]
        if not projected.any():
            continue
        values = _curve(lam, Q, projected, nus, rho)
        for i in np.argsort(values)[-2:]:
            if values[i] < 0.9 * best:
                continue
            found = minimize_scalar(
                lambda nu, projected=projected: -_curve(lam, Q, projected, np.array([nu]), rho)[0],
                bounds=(max(nus[i] - width, 0), nus[i] + width),
                method="bounded",
                options={"xatol": 1e-12 * lam[-1]},
            )
            for value, nu in ((values[i], nus[i]), (-found.fun, found.x)):
                if value > best:
                    best, v = value, Q @ _along(lam, projected, np.array([nu]))[:, 0]
    return best, v


def _along(lam, projected, nus):
    """(M - nu I)^-1 s in the basis of eigenvectors, normalised, for every nu."""
    shifted = lam[:, None] - nus[None, :]
    tiny = 1e-100 * lam[-1]
    W = projected / np.where(np.abs(shifted) > tiny, shifted, tiny)
    return W / np.linalg.norm(W, axis=0)


def _curve(lam, Q, projected, nus, rho):
    """|Xv| - sum rho_j |v_j| along v(nu) = (M - nu I)^-1 (rho s), normalised, for every nu."""
    W = _along(lam, projected, nus)
    return np.sqrt(lam @ W**2) - rho @ np.abs(Q @ W)


def sample_wise_optimum(X, k, rho, points=3000, seed=0):
    """The optimum from X for k <= 3, by a fine grid on the sphere of every support and local polishing."""
    n, d = X.shape
    best = 0.0
    for c in combinations(range(d), k):
        A = X[:, c]
        V = _sphere(k, points)
        values = (np.maximum(np.abs(V @ A.T) - rho, 0.0) ** 2).sum(axis=1)
        top = np.argsort(values)[-12:]
        best = max(best, *(_polish(A, V[i], rho) for i in top))
    return best / n


def _sphere(k, points):
    if k == 1:
        return np.ones((1, 1))
    if k == 2:
        angles = np.linspace(0, np.pi, points, endpoint=False)
        return np.column_stack([np.cos(angles), np.sin(angles)])
    i = np.arange(points) + 0.5  # Fibonacci lattice
    z, phi = 1 - i / points, np.pi * (1 + 5**0.5) * i
    r = np.sqrt(1 - z**2)
    return np.column_stack([r * np.cos(phi), r * np.sin(phi), z])


def _polish(A, v, rho):
    for _ in range(300):
        s = A @ v
        w = A.T @ (np.sign(s) * np.maximum(np.abs(s) - rho, 0.0))
        length = np.linalg.norm(w)
        if length == 0:
            return 0.0
        if np.abs(w / length - v).max() < 1e-14:
            break
        v = w / length
    return (np.maximum(np.abs(A @ v) - rho, 0.0) ** 2).sum()
