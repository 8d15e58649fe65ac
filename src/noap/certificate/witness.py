"""The lower side of a claim: what a vector is certainly worth."""

import math

import numpy as np

from noap.certificate.samples import dense, dense_rows, exponent_of
from noap.linalg.outward import UNIT, down, gamma, up
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["value_below"]


def value_below(problem: Problem, places: IntArray, weights: FloatArray) -> float:
    """Return at most the robust variance of the direction of v, whatever its length.

    Parameters
    ----------
    places, weights : arrays of shape (m,)
        The non-zero entries of v.
    """
    weights = weights / float(
        np.abs(weights).max()
    )  # another vector of the same direction to an ulp: as good a witness
    length = up(math.sqrt(float(weights @ weights)), len(weights))
    spread = up(float(np.abs(weights).sum()), len(weights))
    rho, n = float(problem.adversary.rho), problem.n_samples
    if problem.X is None:
        S = problem.covariance[np.ix_(places, places)]
        exponent = 2 * exponent_of(math.sqrt(float(np.abs(S).max(initial=0.0))))
        S = np.ldexp(S, -exponent)
        error = gamma(2 * len(weights) + 4) * float(np.abs(S).max(initial=0.0)) * spread * spread
        energy = n * max(float(weights @ S @ weights) - error, 0.0)
        distance = down(math.sqrt(down(energy))) - up(math.ldexp(rho, -exponent // 2) * spread)
        return math.ldexp(_per_sample(distance, length, n), exponent)
    top = max(float(np.abs(dense(problem.X[:, places], rows)).max(initial=0.0)) for rows in dense_rows(problem.X))
    exponent = exponent_of(top)
    budget = math.ldexp(rho, -exponent)
    total = 0.0
    for rows in dense_rows(problem.X):
        part = np.ldexp(dense(problem.X[:, places], rows), -exponent)
        scores = np.abs(part @ weights)
        scores -= gamma(len(weights) + 2) * (np.abs(part) @ np.abs(weights)) * 1.001
        if problem.adversary.gram_suffices:
            scores = np.maximum(scores, 0.0)
        else:
            scores = np.maximum(scores - up(budget * length), 0.0) * (1.0 - 4.0 * UNIT)
        total += float(scores @ scores) * (1.0 - gamma(len(scores) + 4))
    total = down(total, n // 1024 + 8)
    distance = down(math.sqrt(total))
    if problem.adversary.gram_suffices:
        distance -= up(budget * spread)
    return math.ldexp(_per_sample(distance, length, n), 2 * exponent)


def _per_sample(distance: float, length: float, n: int) -> float:
    """Return (distance/length)^2/n, rounded down; 0 if the adversary cancels the direction."""
    return down(down(max(distance, 0.0) / length) ** 2 / n) if distance > 0 else 0.0
