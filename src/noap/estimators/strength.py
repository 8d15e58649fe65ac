"""How strong the adversary is: a word with noise or rho, or an object that has its budget."""

from typing import Any, NamedTuple

import numpy as np

from noap.adversaries import ADVERSARIES, BY_KEY, FeatureWise, serves
from noap.adversaries.base import Adversary
from noap.data.validation import as_strength
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray

__all__ = ["Strength", "as_strengths", "kind_of", "strength_of"]


class Strength(NamedTuple):
    """The adversary on n samples, and its noise, which does not depend on n: a number, or one per feature."""

    adversary: Adversary
    noise: Any


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


def strength_of(
    adversary: Any, noise: Any, rho: Any, n: int, d: int | None = None, names: tuple[str, ...] | None = None
) -> Strength:
    """Return the adversary on n samples: that of the object, or of the word with this noise or, if given, rho.

    Noise and rho are numbers or, for FeatureWise, one number for each of d features, in their order or by their names.
    """
    kind = kind_of(adversary)
    if isinstance(adversary, Adversary):
        if rho is not None:
            raise InvalidProblem(f"rho must be None where adversary is an object with its own budget, got {rho!r}.")
        return Strength(adversary, adversary.rho / kind.noise_unit(n))
    if rho is None:
        strength = as_strengths("noise", noise, kind, d, names)
        return Strength(kind.with_noise(strength, n), strength)
    # The budget as given, not by way of the noise: a square root there and back costs an ulp.
    budget = as_strengths("rho", rho, kind, d, names)
    return Strength(kind.with_budget(budget), budget / kind.noise_unit(n))


def as_strengths(
    name: str, given: Any, kind: type[Adversary], d: int | None = None, names: tuple[str, ...] | None = None
) -> "float | FloatArray":
    """Return a number, or an array of one number per feature from a sequence, a dict or a Series by feature name.

    >>> as_strengths("noise", {"b": 0.2, "a": 0.1}, FeatureWise, 2, ("a", "b"))
    array([0.1, 0.2])
    """
    keys = getattr(given, "keys", None)
    if keys is None and (isinstance(given, str) or np.ndim(given) == 0):
        return as_strength(name, given)
    if kind is not FeatureWise:
        raise InvalidProblem(
            f"{name} must be a number for adversary {kind.key!r}; only the adversary 'feature' takes one per feature."
        )
    if keys is not None:
        listed = {str(key): given[key] for key in keys()}
        if names is None:
            raise InvalidProblem(f"{name} names features, but X has no column names; pass one number per feature.")
        missing, unknown = [n for n in names if n not in listed], [n for n in listed if n not in names]
        if missing or unknown:
            wrong = f"has none for {missing[0]!r}" if missing else f"has one for {unknown[0]!r}, which X has not"
            raise InvalidProblem(f"{name} must have one number for every feature of X; it {wrong}.")
        given = [listed[n] for n in names]
    strengths: FloatArray = np.array(FeatureWise(given).rho)
    if d is not None and len(strengths) != d:
        raise InvalidProblem(f"{name} has {len(strengths)} entries, but X has {d} features; pass one per feature.")
    return strengths
