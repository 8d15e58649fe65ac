"""Random small problems with the shapes that break solvers: ties, zero, duplicated and negated columns, few samples."""

import numpy as np

SHAPES = ["plain", "tied", "zero columns", "duplicated", "negated", "rank one", "few samples", "one sample", "scaled"]


def small_data(rng, shape, d):
    """A sample matrix of the given shape with d features."""
    n = int(rng.integers(2, 10))
    X = rng.standard_normal((n, d)) + rng.uniform(0, 1.5) * rng.standard_normal((n, 1))
    if shape == "tied":
        X = np.sign(X)
    elif shape == "zero columns":
        X[:, rng.random(d) < 0.4] = 0.0
    elif shape == "duplicated":
        X = X[:, rng.integers(0, max(1, d // 2), d)]
    elif shape == "negated":
        half = X[:, rng.integers(0, max(1, d // 2), d)]
        X = half * rng.choice([-1.0, 1.0], d)
    elif shape == "rank one":
        X = rng.standard_normal((n, 1)) @ rng.standard_normal((1, d))
    elif shape == "few samples":
        X = X[:2]
    elif shape == "one sample":
        X = X[:1]
    elif shape == "scaled":
        X = X * 10.0 ** rng.uniform(-2, 2, d)
    return X


def budgets(rng, tops):
    """One budget per sample or feature, `tops` of which leave nothing: 0, infinite, tied, at the edge, or all equal."""
    kinds = [0.0, 0.3, 0.3, 0.7, 1 - 1e-9, 1.0, np.inf]
    shares = np.where(rng.random(len(tops)) < 0.5, rng.choice(kinds, len(tops)), rng.uniform(0, 1, len(tops)))
    rho = np.where(np.isinf(shares), np.inf, np.where(np.isinf(shares), 0.0, shares) * tops)
    if rng.random() < 0.3:  # ties between rows of other lengths
        rho = rng.choice([0.0, 0.2, 0.6, np.inf], len(tops), p=[0.2, 0.3, 0.4, 0.1]) * (tops.max() or 1.0)
    return np.full(len(tops), rho.min()) if rng.random() < 0.1 else rho


def budget(rng, top):
    """A budget between nothing and everything, at the edges more often than chance."""
    return top * rng.choice([0.0, rng.uniform(0, 1), rng.uniform(0, 1), 0.5, 0.99, 1 - 1e-9])
