"""Tiny problems of every kind the kernel has a theorem about, as arguments that the judge and noap both take."""

import numpy as np
from cases import SHAPES, small_data
from kernel_judge import Truth

import noap


def drawn(rng, most=7):
    """Arguments of a random problem: ties, duplicates, rank one, columns of 1e-8 to 1e8, budgets of 0 and infinity."""
    d = int(rng.integers(1, most + 1))
    shape = str(rng.choice([*SHAPES, "wide"]))
    X = small_data(rng, "plain" if shape == "wide" else shape, d)
    if shape == "wide":
        X = X * 10.0 ** rng.uniform(-8, 8, d)
    if rng.random() < 0.2:
        X = X * 10.0 ** rng.uniform(-140, 130)
    if not X.any():
        X[0, 0] = 1.0
    n, d = X.shape
    lengths = np.sqrt((X / np.abs(X).max()) ** 2).sum(axis=0) * np.abs(X).max()
    kind = rng.integers(5)
    share = rng.choice([0.0, 0.1, 0.3, 0.6, 1.0, np.inf], d, p=[0.25, 0.2, 0.2, 0.15, 0.1, 0.1])
    rho = [
        None,
        np.full(d, rng.uniform(0, 0.8) * np.median(lengths)),
        np.full(d, rng.choice([0.0, 0.9, 1.0]) * lengths.max()),
        np.where(np.isinf(share), np.inf, np.where(np.isinf(share), 0.0, share) * rng.choice(lengths, d)),
        rng.uniform(0, 0.7) * lengths,
    ][kind]
    top = float((X * X).sum(axis=0).max() / n)
    costs = None
    if rng.random() < 0.35:
        costs = np.where(rng.random(d) < 0.4, 0.0, rng.uniform(0, 0.5, d) ** 2 * top)
    of_covariance = rng.random() < 0.3
    S = X.T @ X / n
    given = {"S": 0.5 * (S + S.T), "n": n} if of_covariance and np.isfinite(S).all() and S.any() else {"X": X}
    return {"k": int(rng.integers(1, d + 1)), "rho": rho, "costs": costs, **given}


def problem_of(k, rho=None, costs=None, X=None, S=None, n=None):
    """The problem for noap."""
    adversary = noap.NoAdversary() if rho is None else noap.FeatureWise(rho)
    if X is not None:
        return noap.Problem(X, k, adversary, costs=costs)
    return noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=adversary, costs=costs)


def truth_of(problem):
    """The judge's view of what the problem really is: S may have been raised by noap, which says so."""
    rho = None if isinstance(problem.adversary, noap.NoAdversary) else problem.adversary.budgets(problem.n_features)
    data = {"X": problem.X} if problem.X is not None else {"S": problem.covariance, "n": problem.n_samples}
    return Truth(problem.k, rho=rho, costs=problem.costs, **data)
