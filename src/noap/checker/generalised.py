r"""Check a proof about a problem with a metric B, by the one that it holds about a problem without one.

docs/generalised.md proves both ways.

*Any B.* If every k-sparse unit w has :math:`w^\top S w \le b` and :math:`|S - (A - TB + \tau I)| \le \eta` entry by
entry, then :math:`v^\top A v \le (T + (b + k\eta - \tau)_+/\lambda)\,v^\top B v` for every k-sparse v, :math:`\lambda`
a lower bound on the eigenvalues of B.

Against an adversary A is the matrix of the columns under a feasible attack, which bounds the optimum.

*A diagonal B.* The problem without a metric is that of the columns over :math:`\sqrt{B_{jj}}`.
"""

import math
from collections.abc import Callable

import numpy as np

from noap.adversaries import FeatureWise, NoAdversary
from noap.checker.allowance import Allowance
from noap.checker.samples import block_entries, dense, dense_rows
from noap.data.validation import Samples, Symmetric
from noap.linalg.outward import UNIT, definite_shift, exponent_of, gamma, gram_of_blocks, is_definite, up
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.certificate import Proof
from noap.proofs.known import feature_budgets, moves_features
from noap.proofs.metric import MetricProof

__all__ = ["bound_in_metric"]

BoundAbove = Callable[[Problem, Proof, float, float, float, Allowance], tuple[float, str | None]]

# How far above the claim the bound may lie that the margins of the checker leave, relatively.
_MOST_ABOVE = 1e-6
# What of the usual margins the proof without a metric is checked with, one after the other.
_SMALLER = (1e-4, 1e-2, 1.0)


def bound_in_metric(
    problem: Problem,
    proof: Proof,
    claimed: float,
    relative: float,
    absolute: float,
    allowance: Allowance,
    bound_above: BoundAbove,
) -> tuple[float, str | None]:
    """Return a proved bound, at most a little above the claimed one, and None; or inf and the reason why not."""
    if problem.metric is None or not isinstance(proof, MetricProof):
        return math.inf, "a proof without a metric says nothing about a problem with one, nor the other way round"
    if not moves_features(problem.adversary):
        return math.inf, "a proof with a metric says nothing about this adversary"
    by = _by_units if problem.metric.ndim == 1 else _by_threshold
    bound, reason = by(problem, proof, relative, absolute, allowance, bound_above)
    if reason is None and not bound <= claimed * (1.0 + _MOST_ABOVE):
        return math.inf, f"it proves a bound of {bound:.12g}, more than the claimed {claimed:.12g}"
    return bound, reason


def _by_threshold(
    problem: Problem,
    proof: MetricProof,
    relative: float,
    absolute: float,
    allowance: Allowance,
    bound_above: BoundAbove,
) -> tuple[float, str | None]:
    rho = feature_budgets(problem)
    if rho.any() and not len(proof.attack):
        return math.inf, "a proof without an attack says nothing about an adversary with a budget"
    d, k, T, tau = problem.n_features, problem.k, proof.threshold, proof.shift
    assert problem.metric is not None
    allowance.need(6 * d * d)
    e = -(np.frexp(problem.metric.diagonal())[1].astype(np.int64) // 2)
    A, error = _covariance(problem, e, allowance)
    B = np.ldexp(problem.metric, e[:, None] + e)
    if len(proof.attack):
        budgets = np.ldexp(np.minimum(rho, 1e150) / math.sqrt(problem.n_samples) * (1.0 - gamma(4)), e)
        attacked = _attacked(A, error, budgets, *proof.attack.reshape(3, d))
        if attacked is None:
            return math.inf, "its attack is beyond the budgets, or has no direction"
        A, error = attacked
    largest = float(np.abs(A).max()) + T * float(np.abs(B).max()) + tau
    if not 0.0 < largest < 1e200:
        return math.inf, "its numbers for the metric are beyond what these data could be worth"
    S = A - T * B
    S[np.diag_indices_from(S)] += tau
    if not S.diagonal().max() > 0.0:
        return math.inf, "its shift leaves nothing to look at"
    # Four operations on each entry.
    eta = up(k * (error + 4.0 * UNIT * largest), 8)
    plain = Problem.from_covariance(S, n_samples=1, k=k, adversary=NoAdversary())
    # A margin counts as many times as B is far from a multiple of I: the smallest that rounding needs.
    for share in _SMALLER:
        bound, reason = bound_above(plain, proof.inner, proof.bound, share * relative, share * absolute, allowance)
        if reason is None:
            break
    if reason is not None:
        return math.inf, reason
    excess = up(bound + eta) - tau
    if excess <= 0.0:
        return T, None
    least = _least_eigenvalue(B)
    if least == 0.0:
        return math.inf, "the metric is too close to singular to be checked"
    return up(T + up(excess / least)), None


def _attacked(
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
    if not ((alpha >= 0.0) & (alpha <= 1.0)).all() or not np.abs(c).max(initial=0.0) < 1e150:
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


def _least_eigenvalue(B: FloatArray) -> float:
    """Return a number above 0 that a factorisation proves to be at most the smallest eigenvalue; 0 if none is."""
    guess, top = float(np.linalg.eigvalsh(B)[0]), float(B.diagonal().max())
    for share in (1.0 - 1e-6, 0.99, 0.5, 0.1):
        least = share * guess
        if least > 0.0 and is_definite(B - (least + 2.0 * UNIT * (top + least)) * np.eye(len(B)), 0.0):
            return least
    return 0.0


def _by_units(
    problem: Problem,
    proof: MetricProof,
    relative: float,
    absolute: float,
    allowance: Allowance,
    bound_above: BoundAbove,
) -> tuple[float, str | None]:
    if proof.threshold != 0.0 or proof.shift != 0.0:
        return math.inf, "a proof by a threshold says nothing about a diagonal metric"
    k, n, d, metric = problem.k, problem.n_samples, problem.n_features, problem.metric
    assert metric is not None
    # Off by two ulps at most; and the products with them by one more.
    factors = 1.0 / np.sqrt(metric)
    rho = feature_budgets(problem) * factors * (1.0 - gamma(8))
    one = not (rho != rho[0]).any() and math.isfinite(rho[0])
    adversary = FeatureWise(float(rho[0]) if one else rho) if rho.any() else NoAdversary()
    if problem.X is not None:
        allowance.need(problem.n_samples * d)
        X = np.concatenate([dense(problem.X, rows) for rows in dense_rows(problem.X)]) * factors
        if not 1e-150 < float(np.abs(X).max()) < 1e150:
            return math.inf, "the columns over the roots of the metric leave the range of doubles"
        X.flags.writeable = False
        plain = Problem(Samples(X, None), k, adversary)
    else:
        S = problem.covariance * np.outer(factors, factors)
        S = (S + S.T) / 2.0
        S.flags.writeable = False
        known = Symmetric(S, None, definite_shift(S), problem.lift > 0)
        plain = Problem._of_symmetric(known, n, k, adversary, None)
    bound, reason = bound_above(plain, proof.inner, proof.bound, relative, absolute, allowance)
    if reason is not None:
        return math.inf, reason
    if problem.X is not None:
        # |X'w| is at most sqrt(k) times the longest column off by four ulps, for every unit w.
        longest = up(math.sqrt(float(np.einsum("ij,ij->j", X, X).max())), n)
        return up((up(math.sqrt(bound)) + up(gamma(4) * math.sqrt(k / n) * longest, 8)) ** 2), None
    moved = up(gamma(8) * k * float(np.abs(plain.covariance).max()), 8)
    return up(((up(math.sqrt(bound)) + up(math.sqrt(up(bound + 4.0 * moved)))) / 2.0) ** 2), None
