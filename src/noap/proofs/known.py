"""The adversaries that the checker has theorems about (docs/certificate-format.md).

This list is the checker's own: what a search says it serves counts for nothing here. By exact type, for a subclass may
do anything, whatever its name is.
"""

from noap.adversaries import FeatureWise, NoAdversary, SampleWise, SpectralNorm
from noap.adversaries.base import Adversary
from noap.errors import InvalidProblem

__all__ = ["NAMES", "moves_features", "moves_samples", "moves_table", "name_of"]

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
    """Return whether the adversary leaves (|Xv| - rho |v|_1)_+ of a vector; without one rho is 0."""
    return type(adversary) is FeatureWise or type(adversary) is NoAdversary


def moves_samples(adversary: Adversary) -> bool:
    """Return whether the adversary leaves |(|Xv| - rho |v|)_+| of a vector, sample by sample."""
    return type(adversary) is SampleWise


def moves_table(adversary: Adversary) -> bool:
    """Return whether the adversary leaves (|Xv| - rho |v|_2)_+ of a vector."""
    return type(adversary) is SpectralNorm
