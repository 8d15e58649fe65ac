"""The upper side of a claim: which checker re-proves which proof, and at which threshold."""

import math

from noap.certificate.gram_check import check_gram
from noap.certificate.gram_data import GramData
from noap.certificate.gram_proof import GramProof
from noap.linalg.outward import down, up
from noap.problem import Problem

__all__ = ["bound_above"]

# A covariance that has to be raised by more than this, relative to the claim, cannot be checked to useful accuracy.
_MOST_RAISED = 1e-6


def bound_above(
    problem: Problem, proof: GramProof, claimed: float, relative: float, absolute: float
) -> tuple[float, str | None]:
    """Return a bound a hair above the claimed one and None, or inf and the reason why it does not hold."""
    if not (problem.adversary.gram_suffices or problem.adversary.rho == 0):
        return math.inf, "a Gram proof says nothing about an adversary that moves samples one by one"
    try:
        data = GramData.of(problem)
    except ArithmeticError as error:
        return math.inf, str(error)
    if data.raised > _MOST_RAISED * max(math.ldexp(claimed, -2 * data.exponent), 1e-3 * data.scale):
        return math.inf, "the covariance is too far from positive semidefinite to be checked"
    T = math.ldexp(claimed, -2 * data.exponent) * (1.0 + relative) + absolute * data.scale + 2.0 * data.raised
    reason = check_gram(data, problem.k, proof, down(T))
    return (math.inf, reason) if reason else (math.ldexp(up(T), 2 * data.exponent), None)
