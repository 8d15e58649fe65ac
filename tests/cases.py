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


def budget(rng, top):
    """A budget between nothing and everything, at the edges more often than chance."""
    return top * rng.choice([0.0, rng.uniform(0, 1), rng.uniform(0, 1), 0.5, 0.99, 1 - 1e-9])
