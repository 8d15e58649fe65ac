"""The upper side of a claim: which checker re-proves which proof, and at which threshold."""

import math

import numpy as np

from noap.adversaries import NoAdversary
from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.checker.levels import NO_LEVELS, check_level, check_levels
from noap.checker.margins import Margins
from noap.linalg.outward import scaled_up, up
from noap.problem import Problem
from noap.proofs.feature_wise import GramProof
from noap.proofs.known import moves_features, moves_samples, moves_table
from noap.proofs.levels import LevelsProof
from noap.proofs.many import ManyProof
from noap.proofs.packing import Proof
from noap.proofs.relaxation import RelaxationProof
from noap.runtime.workers import HERE, Workers

__all__ = ["bound_above", "gram_lift"]

# A covariance that has to be raised by more than this, relative to the claim, cannot be checked to useful accuracy.
_MOST_RAISED = 1e-6
# No direction is worth more than the number of features times the largest variance of one. A claim beyond some multiple
# of that is refused, so that no number in the checker overflows.
_MOST_CLAIMED = 1e6
_BEYOND = "the claimed bound is beyond all that these data could be worth"


def bound_above(
    problem: Problem,
    proof: Proof,
    claimed: float,
    margins: Margins,
    allowance: Allowance,
    workers: Workers = HERE,
) -> tuple[float, str | None]:
    """Return a bound just above the claimed one and None, or inf and the reason why it does not hold.

    The workers share the pass over many features. Raises OutOfAllowance if the allowance does not suffice.
    """
    if problem.metric is not None:
        return math.inf, "no theorem of this format is about a metric"
    if moves_table(problem.adversary):
        return _from_plain(problem, proof, claimed, margins, allowance, workers)
    if isinstance(proof, ManyProof):
        return _from_many(problem, proof, claimed, margins, allowance, workers)
    return _from_gram(problem, proof, claimed, margins, allowance)


def _from_plain(
    problem: Problem,
    proof: Proof,
    claimed: float,
    margins: Margins,
    allowance: Allowance,
    workers: Workers,
) -> tuple[float, str | None]:
    """Check a proof about SpectralNorm: (|Xv| - rho)^2 rises with |Xv|, so it is one about no adversary at all.

    The claim b says of the plain variance that it is at most (sqrt(n b) + rho)^2/n.
    """
    n, rho = problem.n_samples, float(problem.adversary.rho)
    if not 0.0 <= claimed < math.inf:
        return math.inf, _BEYOND
    root = up(up(math.sqrt(up(n * claimed))) + rho)
    plain, reason = bound_above(
        problem.with_adversary(NoAdversary()), proof, up(root * root / n), margins, allowance, workers
    )
    if reason:
        return math.inf, reason
    left = up(math.sqrt(up(n * plain))) - rho
    return (up(math.nextafter(left, math.inf) ** 2 / n) if left > 0.0 else 0.0), None


def _from_gram(
    problem: Problem,
    proof: GramProof | LevelsProof | RelaxationProof,
    claimed: float,
    margins: Margins,
    allowance: Allowance,
) -> tuple[float, str | None]:
    exactly = problem.adversary.is_idle
    if not (moves_features(problem.adversary) or (exactly and moves_samples(problem.adversary))):
        return math.inf, "a Gram proof says nothing about an adversary that moves samples one by one"
    data = GramData.of(problem, allowance)
    lift, reason = gram_lift(problem, data, claimed, margins)
    if reason is not None:
        return math.inf, reason
    # The claim, and every level of the proof below it, raised by a margin; and by wider ones.
    raised = margins.raised
    if isinstance(proof, LevelsProof):
        T, reason = check_levels(data, problem.k, proof, claimed, raised, lift, allowance)
    else:
        T, reason = check_level(data, problem.k, NO_LEVELS, proof, claimed, raised, lift, allowance)
    if reason:
        return math.inf, reason
    return scaled_up(max(up(T - data.raised), 0.0) if exactly else up(T), 2 * data.exponent), None


def gram_lift(problem: Problem, data: GramData, claimed: float, margins: Margins) -> tuple[float, str | None]:
    """Return what is added to every threshold of a Gram proof, in the units of `data`, or why none can be checked."""
    if not 0.0 <= claimed <= _MOST_CLAIMED * problem.n_features * scaled_up(data.scale, 2 * data.exponent):
        return math.inf, _BEYOND
    exactly = problem.adversary.is_idle
    if not exactly and data.raised > 0.0:
        # Rounding is that of the largest entry, even where that is of no worth.
        with np.errstate(over="ignore"):
            widest = float(np.ldexp(problem.covariance.diagonal().max(), -2 * data.exponent))
        if data.raised > _MOST_RAISED * max(math.ldexp(claimed, -2 * data.exponent), 1e-3 * widest):
            return math.inf, "the covariance is too far from positive semidefinite to be checked"
    # Without a budget the optimum is raised by just what was added to the diagonal. With one nobody knows by how much.
    return margins.absolute * data.scale + (data.raised if exactly else 2.002 * data.raised), None


def _from_many(
    problem: Problem,
    proof: ManyProof,
    claimed: float,
    margins: Margins,
    allowance: Allowance,
    workers: Workers,
) -> tuple[float, str | None]:
    idle = moves_samples(problem.adversary) and problem.adversary.is_idle
    by_features = moves_features(problem.adversary) or (idle and problem.is_plain)
    if problem.X is None or not by_features:
        return math.inf, "a proof for many features says nothing about this problem"
    # Only here are the kernels loaded.
    from noap.checker.many.check import check_many
    from noap.checker.many.data import ManyData

    data = ManyData.of(problem, allowance)
    if not 0.0 <= claimed <= _MOST_CLAIMED * problem.n_features * scaled_up(data.scale, 2 * data.exponent):
        return math.inf, _BEYOND
    T, reason = check_many(
        data, problem.k, proof, claimed, margins.raised, margins.absolute * data.scale, allowance, workers
    )
    return (math.inf, reason) if reason else (scaled_up(up(T), 2 * data.exponent), None)
