"""A judge of lists of near-optimal supports that shares no code with noap: the value of every support, one by one."""

from itertools import combinations

import numpy as np

import noap
from judge import feature_wise_best

# How far the judge's own search and rounding may be off, relatively.
NEAR = 1e-6


def values_of_all(problem):
    """What each set of at most k features is worth, by the best direction on it or a part of it, and what that uses."""
    S, n = problem.covariance, problem.n_samples
    rho = np.broadcast_to(problem.adversary.rho, problem.n_features)
    costs = np.zeros(problem.n_features) if problem.costs is None else problem.costs
    known = {frozenset(): (0.0, frozenset())}
    for size in range(1, problem.k + 1):
        for names in combinations(range(problem.n_features), size):
            whole, places = frozenset(names), list(names)
            best = max((known[whole - {j}] for j in names), key=lambda one: one[0])
            if np.isfinite(rho[places]).all():
                value = on_all_of(S[np.ix_(places, places)] * n, n, rho[places]) - costs[places].sum()
                if value > best[0] * (1 + 1e-9):
                    best = (value, whole)
            known[whole] = best
    return {S: one for S, one in known.items() if S}


def on_all_of(G, n, rho):
    """The best value of a direction on these features, found as such: parts of them are judged for themselves."""
    value, _ = feature_wise_best(G, n, len(G), rho, sizes=[len(G)])
    return value


def judge(problem, near):
    """The list is right, to what the judge can tell, and its certificate proves it."""
    values = values_of_all(problem)
    scale = problem.scale
    best = max(value for value, _ in values.values())
    listed = [frozenset(support.tolist()) for support in near.supports]
    assert near.complete
    assert len(set(listed)) == len(listed)
    assert abs(near.values[0] - best) <= NEAR * best + 1e-9 * scale
    for S, value in zip(listed, near.values, strict=True):
        # Its best direction uses all of it, and comes close to the best.
        assert abs(value - values[S][0]) <= NEAR * value + 1e-9 * scale
        assert value >= (1 - near.within) * best * (1 - NEAR) - 1e-9 * scale
        assert problem.costs is not None or not any(S < other for other in listed)  # noqa: SIM300 - a proper subset
    report = noap.verify(problem, noap.ListCertificate.from_bytes(near.certificate.to_bytes()))
    assert report.ok, report.message
    assert report.supports == len(near)
    assert report.value <= best * (1 + NEAR) + 1e-9 * scale
    assert report.bound >= best * (1 - NEAR) - 1e-9 * scale
    assert report.threshold <= near.threshold * (1 + 1e-6) + 1e-9 * scale
    judge_theorem(problem, values, listed, report.threshold)
    return report


def judge_theorem(problem, values, listed, threshold):
    """Every support is worth the threshold at most, or no more than the features it shares with one on the list."""
    for S, (value, uses) in values.items():
        if value <= threshold * (1 + NEAR) + 1e-9 * problem.scale:
            continue
        parts = [L & S for L in listed if problem.costs is None or L <= S]
        most = max((values[part][0] for part in parts if part), default=0.0)
        assert value <= most * (1 + NEAR) + 1e-9 * problem.scale, (sorted(S), sorted(uses), value, most, threshold)
