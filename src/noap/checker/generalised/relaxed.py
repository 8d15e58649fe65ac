r"""Check a bound by matrices near to the covariance.

If :math:`|A_{ij} - Z_{ij}| \le \mu \rho_i \rho_j` and :math:`cB - Z` is positive semidefinite, then
:math:`v^\top A v \le (c + \mu t)\,v^\top B v` for every v, with :math:`t = (\sum_j \rho_j |v_j|)^2/v^\top B v`, and
what the adversary leaves is at most the largest :math:`(\sqrt{\min_i (c_i + \mu_i t)} - \sqrt t)_+^2` over all t that
there are (docs/generalised.md, "All supports at once").
"""

import math

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.generalised.forms import Forms
from noap.linalg.outward import UNIT, down, is_definite, up
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.metric_relaxation import MetricRelaxationProof

__all__ = ["bound_by_relaxation"]


def bound_by_relaxation(
    problem: Problem, proof: MetricRelaxationProof, allowance: Allowance
) -> tuple[float, str | None]:
    """Return a proved bound and None, or inf and the reason why there is none."""
    forms = Forms.of(problem, allowance)
    if not (forms.rho > 1e-140).all() or not (forms.rho < 1e140).all():
        return math.inf, "a relaxation in a metric needs a finite budget above 0 of every feature"
    d = len(forms.A)
    weights = np.outer(forms.rho, forms.rho)
    # At v'Bv = 1 the budgets take no less than this: v'Bv is at most the largest B_ij/(rho_i rho_j) times their square.
    least = down(1.0 / float((np.abs(forms.B) / weights).max()), 8)
    rows = np.triu_indices(d)
    lines = []
    for entries in proof.entries.reshape(-1, d * (d + 1) // 2):
        allowance.need(6 * d * d)
        allowance.spent(2.0 * d**3)
        allowance.check()
        Z = np.zeros((d, d))
        Z[rows] = entries
        Z = Z + np.triu(Z, 1).T
        lines.append(_line(forms, Z, weights))
    return _largest([line for line in lines if math.isfinite(line[0] + line[1])], least)


def _line(forms: Forms, Z: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return c and mu of a matrix, rounded up; infinity where no factorisation proves a c."""
    top, wide, d = float(np.abs(Z).max()), float(np.abs(forms.B).max()), len(Z)
    if not top < 1e200:
        return math.inf, math.inf
    apart = np.abs(forms.A - Z) * (1.0 + 4.0 * UNIT) + forms.error
    mu = up(float((apart / weights).max()), 12)
    L = np.linalg.cholesky(forms.B)
    half = np.linalg.solve(L, np.linalg.solve(L, Z).T)
    guess = max(float(np.linalg.eigvalsh((half + half.T) / 2.0)[-1]), 0.0)
    for share in (4e-12, 1e-10, 1e-8, 1e-6, 1e-3, 1.0):
        c = guess + share * (guess + top)
        # Two operations on each entry.
        room = 1.01 * d * 4.0 * UNIT * (top + c * wide)
        if is_definite(c * forms.B - Z - room * np.eye(d), 0.0):
            return c, mu
    return math.inf, mu


def _largest(lines: list[tuple[float, float]], least: float) -> tuple[float, str | None]:
    r"""Return at least the largest of :math:`(\sqrt{\min_i (c_i + \mu_i t)} - \sqrt t)_+^2` over t at least `least`.

    Any places cut the axis into pieces, and any line may stand for a piece: its root less that of t falls where the
    slope is at most 1, and is otherwise largest at an end. So at each place the lines left and right of it count that
    are lowest in the middle of their pieces; which those are is for rounding to decide, not for the proof.
    """
    if not lines or min(mu for _, mu in lines) > 1.0 or not least > 0.0:
        return math.inf, "none of its lines bounds directions of which the adversary takes much"
    places = {least}
    for i, (c, mu) in enumerate(lines):
        places |= {(c - o) / (s - mu) for o, s in lines[:i] if s != mu and (c - o) / (s - mu) > least}
    ordered = sorted(t for t in places if t < math.inf)
    bound = 0.0
    for low, high in zip(ordered, [*ordered[1:], math.inf], strict=True):
        if high < math.inf:
            middle = 0.5 * (low + high)
            c, mu = min(lines, key=lambda line: line[0] + line[1] * middle)
        else:
            c, mu = min((line for line in lines if line[1] <= 1.0), key=lambda line: line[0] + line[1] * 2.0 * low)
        ends = (low,) if mu <= 1.0 else (low, high)
        bound = max(bound, *(up(math.sqrt(up(c + mu * t))) - down(math.sqrt(t)) for t in ends))
    return up(bound * bound), None
