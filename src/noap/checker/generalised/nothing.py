"""Whether the adversary can cancel every direction, decided in exact arithmetic: in every metric the optimum is 0."""

import math
from fractions import Fraction

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.samples import dense, dense_rows
from noap.linalg.outward import UNIT, gamma
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.known import feature_budgets

__all__ = ["nothing_is_left"]

# What an operation on fractions costs in elementary ones.
_PRICE = 500.0


def nothing_is_left(problem: Problem, allowance: Allowance) -> bool:
    r"""Return whether no direction is worth anything, for an adversary that moves features.

    Of samples: :math:`\|a_j\| \le \rho_j` for all j, since :math:`\|Xv\| \le \sum_j |v_j|\,\|a_j\|`. Of a covariance,
    which need not be exactly semidefinite: :math:`n |S_{ij}| \le \rho_i \rho_j` for all i and j; one feature at a time
    only i = j counts. Floating point decides where rounding cannot, fractions elsewhere.
    """
    rho, n = feature_budgets(problem), problem.n_samples
    if problem.X is not None:
        return all(_is_shorter(problem, j, float(rho[j]), allowance) for j in range(problem.n_features))
    S = problem.covariance
    if problem.k == 1:
        S = np.diag(np.maximum(S.diagonal(), 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        allowed, needed = np.outer(rho, rho), n * np.abs(S)
    # A product that leaves the range of doubles, or 0 times infinity, is for fractions to judge.
    safe = (needed * (1.0 + 4.0 * UNIT) <= allowed * (1.0 - 4.0 * UNIT)) & (allowed > 1e-290) & (needed < 1e290)
    for i, j in zip(*np.nonzero(~safe & (S != 0.0)), strict=True):
        allowance.spent(_PRICE)
        if rho[i] < math.inf and rho[j] < math.inf:
            if n * abs(Fraction(float(S[i, j]))) > Fraction(float(rho[i])) * Fraction(float(rho[j])):
                return False
        elif min(rho[i], rho[j]) == 0.0:
            return False
    return True


def _is_shorter(problem: Problem, j: int, rho: float, allowance: Allowance) -> bool:
    """Return whether column j is at most as long as its budget."""
    if rho == math.inf:
        return True
    allowance.spent(4.0 * problem.n_samples)
    column = _column(problem, j)
    if 1e-140 < rho < 1e140:
        with np.errstate(over="ignore"):
            share = column / rho
            shared = float(share @ share)
        if shared * (1.0 + gamma(problem.n_samples + 8)) + 1e-300 * len(share) <= 1.0:
            return True
    allowance.spent(_PRICE * problem.n_samples)
    square = Fraction(rho) ** 2
    # In parts, so that the sum is done once it is too large.
    for start in range(0, len(column), 4096):
        square -= sum((Fraction(x) ** 2 for x in column[start : start + 4096].tolist()), Fraction(0))
        allowance.check()
        if square < 0:
            return False
    return True


def _column(problem: Problem, j: int) -> FloatArray:
    assert problem.X is not None
    column = problem.X[:, [j]]
    return np.concatenate([dense(column, rows)[:, 0] for rows in dense_rows(column)]).astype(np.float64)
