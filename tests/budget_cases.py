"""Small data with budgets and costs of each feature or sample, for several files of tests."""

import math
import warnings

import numpy as np

import noap
from noap.errors import NoapWarning

INF = math.inf


def data(seed, n=12, d=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d)
    return X - X.mean(axis=0)


def drawn_budgets(seed, count, top=3.0):
    """Random budgets with zeros, ties and some that are infinite."""
    rng = np.random.default_rng(1000 + seed)
    rho = rng.uniform(0, top, count)
    rho[rng.random(count) < 0.2] = 0.0
    rho[rng.random(count) < 0.2] = top / 2
    rho[rng.random(count) < 0.15] = INF
    return rho


def drawn_costs(seed, d):
    rng = np.random.default_rng(2000 + seed)
    return rng.uniform(0, 1, d) * (rng.random(d) < 0.6)


def ascended(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        return noap.solve(problem, "ascent")
