"""The joint optimum by enumeration: every support by brute force, every packing by dynamic programming over subsets."""

from itertools import combinations

import numpy as np

from judge import feature_wise_best
from noap import FeatureWise, NoAdversary, Problem


def worths(problem, k):
    """What each set of at most k features is worth, itself and its parts; by a bit mask, from X'X alone."""
    S, n, d = np.asarray(problem.covariance), problem.n_samples, problem.n_features
    rho = problem.adversary.budgets(d)
    costs = np.zeros(d) if problem.costs is None else problem.costs
    worth = {0: 0.0}
    for size in range(1, k + 1):
        for c in combinations(range(d), size):
            mask = sum(1 << j for j in c)
            block = S[np.ix_(c, c)]
            parts = max(worth[mask & ~(1 << j)] for j in c)
            if not rho[list(c)].any():
                here = float(np.linalg.eigvalsh(block)[-1]) - costs[list(c)].sum()
            elif not np.isfinite(rho[list(c)]).all():
                here = 0.0
            else:
                # All of the support costs; what is worth more without some of it is among the parts.
                here = feature_wise_best(n * block, n, size, rho[list(c)], 80)[0] - costs[list(c)].sum()
            worth[mask] = max(here, parts, 0.0)
    return worth


def joint_optimum(problem, ks):
    """The largest sum over disjoint supports, the t-th of at most ks[t] features."""
    best = {0: 0.0}
    for k in ks:
        worth = worths(problem, k)
        following = dict(best)
        for taken, sum_so_far in best.items():
            for mask, value in worth.items():
                if mask & taken == 0 and sum_so_far + value > following.get(taken | mask, -1.0):
                    following[taken | mask] = sum_so_far + value
        best = following
    return max(best.values())


def small_problem(rng, shape, d, k):
    """A random problem: one budget, several, none, infinite ones; costs in half of them; samples or a covariance."""
    from cases import small_data

    X = small_data(rng, shape, d)
    top = float(np.linalg.norm(X, axis=0).max())
    kind = rng.choice(["none", "one", "several", "several"])
    if kind == "none":
        adversary = NoAdversary()
    elif kind == "one":
        adversary = FeatureWise(float(rng.uniform(0, 0.9)) * top)
    else:
        rho = rng.uniform(0, 0.8, d) * top
        rho[rng.random(d) < 0.2] = 0.0
        rho[rng.random(d) < 0.1] = np.inf
        adversary = FeatureWise(rho)
    costs = None
    if rng.random() < 0.5:
        costs = rng.uniform(0, 0.3, d) * top**2 / len(X)
        costs[rng.random(d) < 0.4] = 0.0
    if rng.random() < 0.3:
        S = X.T @ X / len(X)
        return Problem.from_covariance(S, n_samples=len(X), k=k, adversary=adversary, costs=costs)
    return Problem(X, k, adversary, costs=costs)
