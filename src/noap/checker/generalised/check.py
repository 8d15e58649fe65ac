r"""Check a proof about a problem with a metric B, by the one that it holds about a problem without one.

docs/generalised.md proves both ways.

*Any B.* If every k-sparse unit w has :math:`w^\top S w \le b` and :math:`|S - (A - TB + \tau I)| \le \eta` entry by
entry, then :math:`v^\top A v \le (T + (b + k\eta - \tau)_+/\lambda)\,v^\top B v` for every k-sparse v, :math:`\lambda`
a lower bound on the eigenvalues of B.

Against an adversary A is the matrix of the columns under a feasible attack, which bounds the optimum.

*A diagonal B.* The problem without a metric is that of the columns over :math:`\sqrt{B_{jj}}`.

*Support by support* is `supports.py`, a claim of 0 `nothing.py`, and all supports at once `relaxed.py`.
"""

import math
from collections.abc import Callable

import numpy as np

from noap.adversaries import FeatureWise, NoAdversary
from noap.checker.allowance import Allowance
from noap.checker.generalised.forms import Forms, least_eigenvalue
from noap.checker.generalised.nothing import nothing_is_left
from noap.checker.generalised.relaxed import bound_by_relaxation
from noap.checker.generalised.supports import SMALLER, bound_by_supports
from noap.checker.margins import Margins
from noap.checker.samples import dense, dense_rows
from noap.data.validation import Samples, Symmetric
from noap.linalg.outward import UNIT, definite_shift, gamma, up
from noap.problem import Problem
from noap.proofs.known import feature_budgets, moves_features
from noap.proofs.metric import MetricProof
from noap.proofs.metric_relaxation import MetricRelaxationProof
from noap.proofs.metric_supports import SupportsProof
from noap.proofs.packing import Proof

__all__ = ["bound_in_metric"]

BoundAbove = Callable[[Problem, Proof, float, Margins, Allowance], tuple[float, str | None]]

# How far above the claim the bound may lie that the margins of the checker leave, relatively.
_MOST_ABOVE = 1e-6
_BEYOND = "the columns over the roots of the metric leave the range of doubles"


def bound_in_metric(
    problem: Problem,
    proof: Proof,
    claimed: float,
    margins: Margins,
    allowance: Allowance,
    bound_above: BoundAbove,
) -> tuple[float, str | None]:
    """Return a proved bound, at most a little above the claimed one, and None; or inf and the reason why not."""
    if problem.metric is None or not isinstance(proof, MetricProof | MetricRelaxationProof | SupportsProof):
        return math.inf, "a proof without a metric says nothing about a problem with one, nor the other way round"
    if not moves_features(problem.adversary):
        return math.inf, "a proof with a metric says nothing about this adversary"
    if claimed == 0.0:
        left = not nothing_is_left(problem, allowance)
        return (math.inf, "the adversary does not cancel every direction") if left else (0.0, None)
    if isinstance(proof, MetricRelaxationProof):
        bound, reason = bound_by_relaxation(problem, proof, allowance)
    elif isinstance(proof, SupportsProof):
        bound, reason = bound_by_supports(problem, proof, margins, allowance)
    else:
        by = _by_units if problem.metric.ndim == 1 else _by_threshold
        bound, reason = by(problem, proof, margins, allowance, bound_above)
    if reason is None and not bound <= claimed * (1.0 + _MOST_ABOVE):
        return math.inf, f"it proves a bound of {bound:.12g}, more than the claimed {claimed:.12g}"
    return bound, reason


def _by_threshold(
    problem: Problem,
    proof: MetricProof,
    margins: Margins,
    allowance: Allowance,
    bound_above: BoundAbove,
) -> tuple[float, str | None]:
    rho = feature_budgets(problem)
    if rho.any() and not len(proof.attack):
        return math.inf, "a proof without an attack says nothing about an adversary with a budget"
    k, T, tau = problem.k, proof.threshold, proof.shift
    forms = Forms.of(problem, allowance)
    A, B, error = forms.A, forms.B, forms.error
    if len(proof.attack):
        attacked = forms.under(proof.attack)
        if attacked is None:
            return math.inf, "its attack is beyond the budgets, or has no direction"
        A, error = attacked
    largest = float(np.abs(A).max()) + T * float(np.abs(B).max()) + tau
    if not 1e-250 < largest < 1e200:
        return math.inf, "its numbers for the metric are beyond what these data could be worth"
    S = A - T * B
    S[np.diag_indices_from(S)] += tau
    if not S.diagonal().max() > 0.0:
        return math.inf, "its shift leaves nothing to look at"
    # Four operations on each entry.
    eta = up(k * (error + 4.0 * UNIT * largest), 8)
    plain = Problem.from_covariance(S, n_samples=1, k=k, adversary=NoAdversary())
    # A margin counts as many times as B is far from a multiple of I: the smallest that rounding needs.
    for share in SMALLER:
        bound, reason = bound_above(plain, proof.inner, proof.bound, margins.times(share), allowance)
        if reason is None:
            break
    if reason is not None:
        return math.inf, reason
    excess = up(bound + eta) - tau
    if excess <= 0.0:
        return T, None
    least = least_eigenvalue(B)
    if least == 0.0:
        return math.inf, "the metric is too close to singular to be checked"
    return up(T + up(excess / least)), None


def _by_units(
    problem: Problem,
    proof: MetricProof,
    margins: Margins,
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
            return math.inf, _BEYOND
        X.flags.writeable = False
        plain = Problem(Samples(X, None), k, adversary)
    else:
        S = problem.covariance * np.outer(factors, factors)
        S = (S + S.T) / 2.0
        if not 1e-290 < float(np.abs(S).max()) < 1e300:
            return math.inf, _BEYOND
        S.flags.writeable = False
        known = Symmetric(S, None, definite_shift(S), problem.lift > 0)
        plain = Problem._of_symmetric(known, n, k, adversary, None)
    bound, reason = bound_above(plain, proof.inner, proof.bound, margins, allowance)
    if reason is not None:
        return math.inf, reason
    if problem.X is not None:
        # |X'w| is at most sqrt(k) times the longest column off by four ulps, for every unit w.
        longest = up(math.sqrt(float(np.einsum("ij,ij->j", X, X).max())), n)
        return up((up(math.sqrt(bound)) + up(gamma(4) * math.sqrt(k / n) * longest, 8)) ** 2), None
    moved = up(gamma(8) * k * float(np.abs(plain.covariance).max()), 8)
    return up(((up(math.sqrt(bound)) + up(math.sqrt(up(bound + 4.0 * moved)))) / 2.0) ** 2), None
