"""The lower side of a claim: what a vector is certainly worth."""

import math

import numpy as np

from noap.checker.samples import dense, dense_rows
from noap.errors import InvalidProblem
from noap.linalg.outward import UNIT, down, exponent_of, gamma, scaled_up, up
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.known import feature_budgets, moves_features, moves_samples, moves_table, name_of

__all__ = ["value_below"]


def value_below(problem: Problem, places: IntArray, weights: FloatArray) -> float:
    """Return at most the robust variance of the direction of v, whatever its length, less what its features cost.

    At least 0: where features cost something, using none of them is worth 0.

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
    used = weights != 0
    spent = 0.0 if problem.costs is None else up(float(problem.costs[places[used]].sum()), len(places))
    # Another vector of the same direction to an ulp: as good a witness.
    weights = np.ldexp(weights, -exponent_of(float(np.abs(weights).max())))
    length = _length(weights)
    spread = up(float(np.abs(weights).sum()), len(weights))
    n = problem.n_samples
    if problem.X is None:
        assert by_features  # Problem.from_covariance takes no other
        S = problem.covariance[np.ix_(places, places)]
        top = float(np.abs(S).max(initial=0.0))
        exponent = 2 * exponent_of(math.sqrt(top))
        # An entry that underflows is far below the error.
        S = np.ldexp(S, -exponent)
        error = gamma(2 * len(weights) + 4) * math.ldexp(top, -exponent) * spread * spread
        energy = n * max(float(weights @ S @ weights) - error, 0.0)
        distance = down(math.sqrt(down(energy))) - _taken(problem, places, weights, length, -exponent // 2)
        return max(down(_per_sample(distance, length, n, exponent) - spent), 0.0)
    columns = problem.X[:, places]
    top = max(float(np.abs(dense(columns, rows)).max(initial=0.0)) for rows in dense_rows(columns))
    exponent = exponent_of(top)
    budgets = None if by_features else _scaled_up(problem.adversary.budgets(n), -exponent)
    total = 0.0
    for rows in dense_rows(columns):
        part = np.ldexp(dense(columns, rows), -exponent)
        scores = np.abs(part @ weights)
        scores -= gamma(len(weights) + 2) * (np.abs(part) @ np.abs(weights)) * 1.001
        if budgets is None:
            scores = np.maximum(scores, 0.0)
        else:
            taken = budgets[rows] * length
            scores = np.maximum(scores - (taken + taken * gamma(6)), 0.0) * (1.0 - 4.0 * UNIT)
        total += float(scores @ scores) * (1.0 - gamma(len(scores) + 4))
    # The entries are at most 1: what underflows is far below 1e-300 for each sample.
    total = max(down(total, n // 1024 + 8) - n * 1e-300, 0.0)
    distance = down(math.sqrt(total))
    if by_features:
        distance -= _taken(problem, places, weights, length, -exponent)
    return max(down(_per_sample(distance, length, n, 2 * exponent) - spent), 0.0)


def _length(weights: FloatArray) -> float:
    """Return at least |v|."""
    return up(math.sqrt(float(weights @ weights)), len(weights))


def _taken(problem: Problem, places: IntArray, weights: FloatArray, length: float, exponent: int) -> float:
    """Return at least 2^exponent times what an adversary that does not look at samples one by one takes off |Xv|.

    That is sum_j rho_j |v_j|, or rho |v|, of which `length` is an upper bound, where it moves the table as a whole.
    """
    if problem.adversary.is_idle:
        return 0.0
    if moves_table(problem.adversary):
        return up(scaled_up(float(problem.adversary.rho), exponent) * length)
    rho = feature_budgets(problem)[places]
    each = [
        up(scaled_up(float(r), exponent) * abs(float(w))) for r, w in zip(rho, weights, strict=True) if r > 0 and w != 0
    ]
    return up(sum(each), len(each))


def _scaled_up(rho: FloatArray, exponent: int) -> FloatArray:
    """Return at least rho 2^exponent, entry by entry: infinity where that is too large for a float."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(rho, exponent)
    raised: FloatArray = np.where((rho == 0.0) | (scaled >= 1e-300), scaled, np.nextafter(scaled, np.inf))
    return raised


def _per_sample(distance: float, length: float, n: int, exponent: int) -> float:
    """Return 2^exponent (distance/length)^2/n, rounded down; 0 if the adversary cancels the direction."""
    if not distance > 0.0:
        return 0.0
    value = math.ldexp(max(down(down(distance / length) ** 2 / n) - 1e-300, 0.0), exponent)
    return max(value if value >= 1e-300 else math.nextafter(value, -math.inf), 0.0)
