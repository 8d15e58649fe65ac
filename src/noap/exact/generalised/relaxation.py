r"""A bound for all supports at once from matrices near to A, which sees the l1 norm of v that the adversary charges.

If :math:`|A_{ij} - Z_{ij}| \le \mu \rho_i \rho_j` and :math:`cB - Z` is positive semidefinite, then
:math:`v^\top A v \le (c + \mu t)\,v^\top B v` with :math:`t = (\sum_j \rho_j |v_j|)^2/v^\top B v`. Several such lines
together bound what the adversary leaves, :math:`(\sqrt{v^\top A v/v^\top B v} - \sqrt t)_+^2`, at every t
(docs/generalised.md). The matrices come from a semidefinite program, by primal and dual steps: none of them has to be
the best one.
"""

import math
from collections.abc import Callable

import numpy as np

from noap.data.pencil import Pencil
from noap.linalg.outward import UNIT, gamma, is_definite
from noap.linalg.types import FloatArray
from noap.proofs.metric_relaxation import MetricRelaxationProof

__all__ = ["relaxed_bound"]

# Steps for one matrix, and how many matrices at most: each is made where the others are weakest.
_STEPS, _MATRICES = 1500, 24
# No more are made once one helps by less than this share of what is left.
_HELPS = 0.005


def relaxed_bound(
    pencil: Pencil, wanted: float, late: Callable[[], bool]
) -> tuple[float, MetricRelaxationProof] | None:
    """Return a bound on the optimum of a pencil and its proof; None where a feature has no budget, or an infinite one.

    Matrices are made until the bound is the one that is wanted; `late` is asked between them whether there is time.
    """
    rho = pencil.rho * (1.0 - 1e-13)
    if not (rho > 0).all() or not np.isfinite(rho).all():
        return None
    program = _Program(pencil.A, pencil.B, np.outer(rho, rho))
    least = 1.0 / float(np.abs(pencil.B / program.weights).max())
    kept: list[FloatArray] = []
    lines: list[tuple[float, float]] = []
    # Where nothing is taken for itself the line is the steepest one, and where everything is the flattest.
    for Z in (np.zeros_like(pencil.A), np.diag(pencil.A.diagonal()), pencil.A):
        kept.append(Z)
        lines.append(program.line(Z, pencil.error))
    bound, t = _lines_bound(lines, least)
    for _ in range(_MATRICES):
        if late() or bound <= 0.999999 * wanted:
            break
        Z = program.near(t)
        kept.append(Z)
        lines.append(program.line(Z, pencil.error))
        before = bound
        bound, t = _lines_bound(lines, least)
        if before - bound < _HELPS * (before - wanted) and len(kept) > 6:
            break
    if not math.isfinite(bound):
        return None
    rows = np.triu_indices(len(pencil.A))
    proof = MetricRelaxationProof(np.concatenate([Z[rows] for Z in kept]))
    return bound * (1.0 + 1e-9), proof


class _Program:
    """The largest <A, V> over V of <B, V> = 1, positive semidefinite, and sum of R_ij |V_ij| at most t."""

    def __init__(self, A: FloatArray, B: FloatArray, weights: FloatArray) -> None:
        self.A, self.B, self.weights = A, B, weights
        self.inverse = np.linalg.inv(np.linalg.cholesky(B))
        self.form = self.inverse @ A @ self.inverse.T
        self.norm = float(weights.max()) * float(np.linalg.eigvalsh(self.inverse @ self.inverse.T)[-1])
        # What a unit of the one variable is worth in units of the other.
        self.balance = float(np.abs(A / weights).mean())

    def near(self, t: float) -> FloatArray:
        """Return a matrix near to A whose line is low at t."""
        d, up, down = len(self.A), self.balance / self.norm, 1.0 / (self.balance * self.norm)
        W: FloatArray = np.eye(d) / d
        ahead, Q, total = W, np.zeros((d, d)), np.zeros((d, d))
        for step in range(_STEPS):
            y = Q + up * self.weights * (self.inverse.T @ ahead @ self.inverse)
            Q = y - up * _in_ball(y / up, t)
            moved = W + down * (self.form - self.inverse @ (self.weights * Q) @ self.inverse.T)
            before, W = W, _in_simplex(moved)
            ahead = 2.0 * W - before
            if step >= _STEPS // 2:
                total += Q
        # The mean of the later steps is nearer to the best one than the last.
        mean = total / (_STEPS - _STEPS // 2)
        candidates = [self.A - self.weights * (M + M.T) / 2.0 for M in (Q, mean)]
        values = [c + mu * t for c, mu in (self.line(Z, 0.0) for Z in candidates)]
        return candidates[int(np.argmin(values))]

    def line(self, Z: FloatArray, error: float) -> tuple[float, float]:
        """Return c and mu of a matrix, from above."""
        mu = float(((np.abs(self.A - Z) + error) / self.weights).max()) * (1.0 + 1e-12)
        top = float(np.abs(Z).max())
        guess = float(np.linalg.eigvalsh(self.inverse @ Z @ self.inverse.T)[-1])
        wide = float(np.abs(self.B).max())
        room = gamma(len(Z) + 8) * (top + abs(guess) * wide) * len(Z)
        for share in (1e-12, 1e-10, 1e-8, 1e-6, 1e-3, 1.0):
            c = max(guess, 0.0) + share * (abs(guess) + top)
            if is_definite(c * self.B - Z - (room + 4.0 * UNIT * (top + c * wide) * len(Z)) * np.eye(len(Z)), 0.0):
                return c, mu
        return math.inf, mu


def _in_ball(y: FloatArray, t: float) -> FloatArray:
    """Return the matrix nearest to y whose entries add up to at most t in magnitude."""
    sizes = np.abs(y)
    if float(sizes.sum()) <= t:
        return y
    return np.sign(y) * np.maximum(sizes - _threshold(sizes.ravel(), t), 0.0)


def _in_simplex(M: FloatArray) -> FloatArray:
    """Return the positive semidefinite matrix of trace 1 nearest to M."""
    values, vectors = np.linalg.eigh((M + M.T) / 2.0)
    kept = np.maximum(values - _threshold(values, 1.0), 0.0)
    nearest: FloatArray = (vectors * kept) @ vectors.T
    return nearest


def _threshold(sizes: FloatArray, total: float) -> float:
    """Return what is to be taken off the sizes so that what is left above 0 adds up to the total."""
    ordered = np.sort(sizes)[::-1]
    means = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    return float(means[np.flatnonzero(ordered > means)[-1]])


def _lines_bound(lines: "list[tuple[float, float]]", least: float) -> tuple[float, float]:
    r"""Return the largest :math:`(\sqrt{\min_i (c_i + \mu_i t)} - \sqrt t)_+^2` over t at least `least`, and where.

    The lowest line changes at ends of pieces. On a piece the root is convex in t or falls, so its largest value is at
    an end; the last piece has to fall, as it does if its slope is at most 1. To rounding: a checker adds its own.

    >>> _lines_bound([(1.0, 0.5), (0.0, 9.0)], 0.04)[0] < 0.52
    True
    """
    finite = [(c, mu) for c, mu in lines if math.isfinite(c + mu)]
    places = [least]
    for i, (c, mu) in enumerate(finite):
        for other, slope in finite[:i]:
            if slope != mu:
                t = (c - other) / (slope - mu)
                places += [t] if t > least else []
    if not finite or min(mu for _, mu in finite) > 1.0:
        return math.inf, least
    worths = [(math.sqrt(max(min(c + mu * t for c, mu in finite), 0.0)) - math.sqrt(t), t) for t in places]
    root, t = max(worths)
    return max(root, 0.0) ** 2, t
