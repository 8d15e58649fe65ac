r"""Covariance, metric and budgets in the units of a proof, and what attacks leave of the covariance.

Column j is multiplied by a power of two that brings :math:`B_{jj}` between 1/2 and 2, which changes no digit.
"""

import math
from dataclasses import dataclass

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.samples import block_entries, dense, dense_rows
from noap.linalg.outward import UNIT, definite_shift, exponent_of, gamma, gram_of_blocks, is_definite, up
from noap.linalg.types import BoolArray, FloatArray
from noap.problem import Problem
from noap.proofs.known import feature_budgets

__all__ = ["Forms", "attacked", "attacks_on_supports", "least_eigenvalue"]

# What an attack of a support's own leaves of the budgets, so that no rounding takes it beyond them.
_INSIDE = 1.0 - 1e-11
# No budget needs to be larger, and none may overflow when it is squared.
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class Forms:
    """What a proof with a metric is about.

    Attributes
    ----------
    A, B : arrays of shape (d, d)
    error : float
        Every entry of A is within this of the true one; those of B are exact.
    rho : array of shape (d,)
        Budgets over sqrt(n), rounded down.
    """

    A: FloatArray
    B: FloatArray
    error: float
    rho: FloatArray

    @classmethod
    def of(cls, problem: Problem, allowance: Allowance) -> "Forms":
        """Take X or the covariance, the metric and the budgets."""
        d, metric = problem.n_features, problem.metric
        assert metric is not None
        allowance.need(6 * d * d)
        B = metric if metric.ndim == 2 else np.diag(metric)
        e = -(np.frexp(B.diagonal())[1].astype(np.int64) // 2)
        A, error = _covariance(problem, e, allowance)
        rho = feature_budgets(problem)
        share = np.minimum(rho, _LARGEST) / math.sqrt(problem.n_samples) * (1.0 - gamma(4))
        return cls(A, np.ldexp(B, e[:, None] + e), error, np.minimum(np.ldexp(share, e), _LARGEST))

    def under(self, attack: FloatArray) -> "tuple[FloatArray, float] | None":
        """Return the inner products of the columns under an attack on all features; None if it is too strong."""
        return attacked(self.A, self.error, self.rho, *attack.reshape(3, len(self.A)))


def attacked(
    A: FloatArray, error: float, rho: FloatArray, w: FloatArray, c: FloatArray, alpha: FloatArray
) -> tuple[FloatArray, float] | None:
    r"""Return the inner products of the attacked columns and how far one may be off; None if the attack is too strong.

    Columns :math:`a_j - c_j u - (1 - \alpha_j)(a_j - s_j u)` with u the direction of Xw and :math:`s_j = a_j^\top u`.
    Where w = 0 nothing is taken off along u, and s counts as 0: columns are shortened as they are.
    """
    places = np.flatnonzero(w)
    top = float(np.abs(A).max(initial=0.0))
    s: FloatArray = np.zeros(len(A))
    g = 0.0
    if len(places):
        weights = np.ldexp(w[places], -exponent_of(float(np.abs(w).max())))
        length = up(float(np.abs(weights).sum()), len(weights))
        pulled = A[:, places] @ weights
        energy = float(pulled[places] @ weights)
        off = (error + gamma(2 * len(weights) + 8) * top) * length
        if not energy > 4.0 * off * length:
            return None
        norm = math.sqrt(energy)
        s = pulled / norm
        # The products are off by `off`, the energy by `off` times the length: less than a quarter of it.
        g = (1.2 * off / norm + off * length * float(np.abs(s).max()) / energy + 8.0 * UNIT * math.sqrt(top)) * 1.01
    elif c.any():
        return None
    if not ((alpha >= 0.0) & (alpha <= 1.0)).all() or not np.abs(c).max(initial=0.0) < _LARGEST:
        return None
    left = s - c
    largest = float(np.abs(s).max()) + float(np.abs(left).max())
    entries = up(error + 2.0 * g * (largest + g) + 16.0 * UNIT * (top + largest * largest), 16)
    across = np.maximum(A.diagonal() - s * s, 0.0) + entries
    spent = (c * c + (1.0 - alpha) ** 2 * across) * (1.0 + gamma(16))
    if not (spent <= rho * rho * (1.0 - gamma(4))).all():
        return None
    M: FloatArray = np.outer(alpha, alpha) * (A - np.outer(s, s)) + np.outer(left, left)
    return (M + M.T) / 2.0, entries


def attacks_on_supports(
    A: FloatArray, error: float, rho: FloatArray, w: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    r"""Return the inner products of the columns of many supports, each under an attack on a direction of its own.

    The same as `attacked`, with :math:`c_j = share\,\rho_j\,\mathrm{sgn}(w_j)` and what the budget leaves spent at
    right angles to Xw.

    Parameters
    ----------
    A : array of shape (s, m, m), the inner products of the columns
    error : float
    rho, w : arrays of shape (s, m)
    share : array of shape (s,)

    Returns
    -------
    M, error, good : the inner products, how far one may be off, and whether the attack is within the budgets
    """
    m, top = A.shape[-1], float(np.abs(A).max(initial=0.0))
    largest_weight = np.abs(w).max(axis=1)
    good = (largest_weight > 0.0) & (share >= 0.0) & (share <= 1.0)
    weights = np.ldexp(w, -np.frexp(largest_weight)[1][:, None])
    length = np.abs(weights).sum(axis=1) * (1.0 + gamma(m + 2))
    pulled = np.einsum("sij,sj->si", A, weights)
    energy = np.einsum("si,si->s", pulled, weights)
    off = (error + gamma(2 * m + 8) * top) * length
    good &= energy > 4.0 * off * length
    energy = np.where(good, energy, 1.0)
    norm = np.sqrt(energy)
    s = np.where(good[:, None], pulled / norm[:, None], 0.0)
    most = np.abs(s).max(axis=1)
    g = (1.2 * off / norm + off * length * most / energy + 8.0 * UNIT * math.sqrt(top)) * 1.01
    own = np.einsum("sii->si", A)
    budget = np.minimum(rho * _INSIDE, 2.0 * np.sqrt(np.maximum(own, 0.0)) + math.sqrt(top))
    c = np.where(good, share, 0.0)[:, None] * budget * np.sign(weights)
    left = s - c
    largest = most + np.abs(left).max(axis=1)
    entries = (error + 2.0 * g * (largest + g) + 16.0 * UNIT * (top + largest**2)) * (1.0 + gamma(18))
    across = np.maximum(own - s * s, 0.0) + entries[:, None]
    rest = np.sqrt(np.maximum(budget**2 - c**2 * (1.0 + 1e-15), 0.0)) * (1.0 - 1e-12)
    alpha = 1.0 - np.minimum(rest / np.sqrt(np.where(across > 0.0, across, 1.0)), 1.0)
    spent = (c * c + (1.0 - alpha) ** 2 * across) * (1.0 + gamma(16))
    good &= (spent <= rho * rho * (1.0 - gamma(4))).all(axis=1)
    M = alpha[:, :, None] * alpha[:, None, :] * (A - s[:, :, None] * s[:, None, :])
    M += left[:, :, None] * left[:, None, :]
    return (M + M.transpose(0, 2, 1)) / 2.0, entries, good


def least_eigenvalue(B: FloatArray) -> float:
    """Return a number above 0 that a factorisation proves to be at most the smallest eigenvalue; 0 if none is."""
    guess, top = float(np.linalg.eigvalsh(B)[0]), float(B.diagonal().max())
    for share in (1.0 - 1e-6, 0.99, 0.5, 0.1):
        least = share * guess
        if least > 0.0 and is_definite(B - (least + 2.0 * UNIT * (top + least)) * np.eye(len(B)), 0.0):
            return least
    return 0.0


def _covariance(problem: Problem, e: np.ndarray, allowance: Allowance) -> tuple[FloatArray, float]:
    """Return the covariance with column j multiplied by 2^e_j, and how far an entry of it may be off."""
    if problem.X is None:
        S = problem.covariance
        if feature_budgets(problem).any():
            # An attack moves columns: what makes the matrix one of inner products only raises the optimum.
            allowance.spent(0.05 * len(S) ** 3)
            S = S + 1.01 * definite_shift(S) * np.eye(len(S))  # the addition is rounded
        return np.ldexp(S, e[:, None] + e), 0.0
    X, n, d = problem.X, problem.n_samples, problem.n_features
    allowance.need(3 * block_entries(X))
    top = max(float(np.abs(np.ldexp(dense(X, rows), e)).max(initial=0.0)) for rows in dense_rows(X))
    exponent = exponent_of(top)
    blocks = (np.ldexp(dense(X, rows), e - exponent) for rows in dense_rows(X))
    G, error = gram_of_blocks(blocks, n, d, allowance.spent)
    A: FloatArray = np.ldexp(G / n, 2 * exponent)
    return A, math.ldexp(up(error / n) + 2.0 * UNIT * float(np.abs(G).max(initial=0.0)) / n, 2 * exponent)
