"""How strong the adversary is: a word with noise or rho, or an object that has its budget."""

from typing import Any, NamedTuple

from noap.adversaries import ADVERSARIES, BY_KEY, serves
from noap.adversaries.base import Adversary
from noap.data.validation import as_strength
from noap.errors import InvalidProblem

__all__ = ["Strength", "kind_of", "strength_of"]


class Strength(NamedTuple):
    """The adversary on n samples, and its noise, which does not depend on n."""

    adversary: Adversary
    noise: float


def kind_of(adversary: Any) -> type[Adversary]:
    """Return the class that a word or an object stands for.

    >>> from noap import SampleWise
    >>> kind_of("feature").__name__, kind_of(SampleWise(2.0)).__name__
    ('FeatureWise', 'SampleWise')
    """
    if serves(ADVERSARIES, adversary):
        return type(adversary)
    if not isinstance(adversary, str) or adversary not in BY_KEY:
        raise InvalidProblem(
            f"adversary must be one of {tuple(BY_KEY)}, or an object such as noap.FeatureWise(2.0), got {adversary!r}."
        )
    return BY_KEY[adversary]


def strength_of(adversary: Any, noise: Any, rho: Any, n: int) -> Strength:
    """Return the adversary on n samples: that of the object, or of the word with this noise or, if given, rho."""
    kind = kind_of(adversary)
    if isinstance(adversary, Adversary):
        if rho is not None:
            raise InvalidProblem(f"rho must be None where adversary is an object with its own budget, got {rho!r}.")
        return Strength(adversary, adversary.rho / kind.noise_unit(n))
    if rho is None:
        strength = as_strength("noise", noise)
        return Strength(kind.with_noise(strength, n), strength)
    # The budget as given, not by way of the noise: a square root there and back costs an ulp.
    budget = as_strength("rho", rho)
    return Strength(kind.with_budget(budget), budget / kind.noise_unit(n))
