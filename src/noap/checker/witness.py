"""The lower side of a claim: what a vector is certainly worth."""

import math

import numpy as np

from noap.checker.samples import dense, dense_rows
from noap.errors import InvalidProblem
from noap.linalg.outward import UNIT, down, exponent_of, gamma, scaled_up, up
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.known import moves_features, moves_samples, moves_table, name_of

__all__ = ["value_below"]


def value_below(problem: Problem, places: IntArray, weights: FloatArray) -> float:
    """Return at most the robust variance of the direction of v, whatever its length.

    Parameters
    ----------
    places, weights : arrays of shape (m,)
        The non-zero entries of v.
    """
    name, whole = name_of(problem.adversary), moves_table(problem.adversary)
    # Whether |Xv| is all that counts of the samples.
    by_features = whole or moves_features(problem.adversary)
    if not (by_features or moves_samples(problem.adversary)):
        raise InvalidProblem(f"The checker cannot tell what {name} leaves of a vector; no certificate can be about it.")
    # Another vector of the same direction to an ulp: as good a witness.
    weights = np.ldexp(weights, -exponent_of(float(np.abs(weights).max())))
    length = up(math.sqrt(float(weights @ weights)), len(weights))
    spread = up(float(np.abs(weights).sum()), len(weights))
    moved = length if whole else spread
    rho, n = float(problem.adversary.rho), problem.n_samples
    if problem.X is None:
        assert by_features  # Problem.from_covariance takes no other
        S = problem.covariance[np.ix_(places, places)]
        exponent = 2 * exponent_of(math.sqrt(float(np.abs(S).max(initial=0.0))))
        S = np.ldexp(S, -exponent)
        error = gamma(2 * len(weights) + 4) * float(np.abs(S).max(initial=0.0)) * spread * spread
        energy = n * max(float(weights @ S @ weights) - error, 0.0)
        distance = down(math.sqrt(down(energy))) - up(scaled_up(rho, -exponent // 2) * moved)
        return _per_sample(distance, length, n, exponent)
    columns = problem.X[:, places]
    top = max(float(np.abs(dense(columns, rows)).max(initial=0.0)) for rows in dense_rows(columns))
    exponent = exponent_of(top)
    budget = scaled_up(rho, -exponent)
    total = 0.0
    for rows in dense_rows(columns):
        part = np.ldexp(dense(columns, rows), -exponent)
        scores = np.abs(part @ weights)
        scores -= gamma(len(weights) + 2) * (np.abs(part) @ np.abs(weights)) * 1.001
        if by_features:
            scores = np.maximum(scores, 0.0)
        else:
            scores = np.maximum(scores - up(budget * length), 0.0) * (1.0 - 4.0 * UNIT)
        total += float(scores @ scores) * (1.0 - gamma(len(scores) + 4))
    # The entries are at most 1: what underflows is far below 1e-300 for each sample.
    total = max(down(total, n // 1024 + 8) - n * 1e-300, 0.0)
    distance = down(math.sqrt(total))
    if by_features:
        distance -= up(budget * moved)
    return _per_sample(distance, length, n, 2 * exponent)


def _per_sample(distance: float, length: float, n: int, exponent: int) -> float:
    """Return 2^exponent (distance/length)^2/n, rounded down; 0 if the adversary cancels the direction."""
    if not distance > 0.0:
        return 0.0
    value = math.ldexp(max(down(down(distance / length) ** 2 / n) - 1e-300, 0.0), exponent)
    return max(value if value >= 1e-300 else math.nextafter(value, -math.inf), 0.0)
