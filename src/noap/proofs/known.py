"""The adversaries that the checker has theorems about (docs/certificate-format-4.md).

This list is the checker's own: what a search says it serves counts for nothing here. By exact type, for a subclass may
do anything, whatever its name is.
"""

import numpy as np

from noap.adversaries import FeatureWise, NoAdversary, SampleWise, SpectralNorm
from noap.adversaries.base import Adversary
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = [
    "NAMES", "budgets_of", "feature_budgets", "moves_features", "moves_samples", "moves_table", "name_of",
]  # fmt: skip

_NAMES: tuple[tuple[type[Adversary], str], ...] = (
    (NoAdversary, "NoAdversary"),
    (FeatureWise, "FeatureWise"),
    (SampleWise, "SampleWise"),
    (SpectralNorm, "SpectralNorm"),
)
NAMES = tuple(name for _, name in _NAMES)
"""What a certificate may call them."""


def name_of(adversary: Adversary) -> str:
    """Return what a certificate calls the adversary, or raise InvalidProblem if no certificate can be about it."""
    for kind, name in _NAMES:
        if type(adversary) is kind:
            return name
    kind = type(adversary)
    raise InvalidProblem(
        f"A certificate can be about the adversaries {', '.join(NAMES)}, not about {kind.__name__} of "
        f"{kind.__module__}; build the problem with one of these."
    )


def moves_features(adversary: Adversary) -> bool:
    """Return whether the adversary leaves (|Xv| - sum_j rho_j |v_j|)_+ of a vector; without one rho is 0."""
    return type(adversary) is FeatureWise or type(adversary) is NoAdversary


def feature_budgets(problem: Problem) -> FloatArray:
    """Return what each feature may be moved by; 0 where the adversary is not one that moves features."""
    if moves_features(problem.adversary):
        return problem.adversary.budgets(problem.n_features)
    return np.zeros(problem.n_features)


def budgets_of(problem: Problem) -> FloatArray:
    """Return one budget for every feature or, of an adversary that moves samples, for every sample."""
    return problem.adversary.budgets(problem.n_samples if moves_samples(problem.adversary) else problem.n_features)


def moves_samples(adversary: Adversary) -> bool:
    """Return whether the adversary leaves |(|Xv| - rho |v|)_+| of a vector, sample by sample."""
    return type(adversary) is SampleWise


def moves_table(adversary: Adversary) -> bool:
    """Return whether the adversary leaves (|Xv| - rho |v|_2)_+ of a vector."""
    return type(adversary) is SpectralNorm
