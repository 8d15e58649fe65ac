"""The judge of problems with directions: every support, and on each a fine grid of its orthogonal unit vectors.

It shares no code with noap. Grid points are feasible to rounding, so what it finds is never above the optimum; a local
search from the best of them brings it close.
"""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize

__all__ = ["best_orthogonal"]


def _grid(dimensions, rng):
    if dimensions == 1:
        return np.ones((1, 1))
    if dimensions == 2:
        angles = np.linspace(0, np.pi, 721)
        return np.column_stack([np.cos(angles), np.sin(angles)])
    points = rng.standard_normal((3000, dimensions))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def best_orthogonal(A, r, V, k, costs=None):
    """Return the best value of a vector with at most k features orthogonal to the rows of V, and the vector.

    Parameters
    ----------
    A : array of shape (d, d)
        X'X/n.
    r : array of shape (d,)
        Budgets over root n.
    """
    d, rng = len(A), np.random.default_rng(0)
    best, found = 0.0, np.zeros(d)
    for size in range(1, k + 1):
        if size < k and costs is None:
            continue  # more features never hurt where they cost nothing
        for support in map(list, combinations(range(d), size)):
            _, singular, rows = np.linalg.svd(V[:, support])
            basis = rows[int((singular > 1e-9).sum()) :].T
            if basis.shape[1] == 0:
                continue
            block, budgets = A[np.ix_(support, support)], r[support]
            paid = 0.0 if costs is None else float(costs[support].sum())

            def lost(y, block=block, budgets=budgets, basis=basis):
                v = basis @ (y / np.linalg.norm(y))
                return -(np.sqrt(max(v @ block @ v, 0.0)) - budgets @ np.abs(v))

            Y = _grid(basis.shape[1], rng)
            W = Y @ basis.T
            roots = np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", W, block, W), 0.0)) - np.abs(W) @ budgets
            if max(roots.max() + 0.05, 0.0) ** 2 - paid < best:
                continue
            y = Y[int(np.argmax(roots))]
            if basis.shape[1] > 1:
                ended = minimize(lost, y, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 400})
                y = ended.x if ended.fun < lost(y) else y
            value = max(-lost(y), 0.0) ** 2 - paid
            if value > best:
                best = value
                found = np.zeros(d)
                found[support] = basis @ (y / np.linalg.norm(y))
    return best, found
