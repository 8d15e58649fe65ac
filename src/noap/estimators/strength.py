"""How strong the adversary is: a word with noise or rho, or an object that has its budget."""

from typing import Any, NamedTuple

import numpy as np

from noap.adversaries import ADVERSARIES, BY_KEY, FeatureWise, NoAdversary, SampleWise, serves
from noap.adversaries.base import Adversary
from noap.data.arguments import as_strength
from noap.data.per_feature import has_one_for_each, number_or_each, per_feature
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray

__all__ = ["NOISE_UNITS", "Frame", "Strength", "costs_of", "kind_of", "strength_of", "widened"]

NOISE_UNITS = ("standardised", "data")


class Strength(NamedTuple):
    """The adversary on n samples, and its noise, which does not depend on n: a number, or one for each feature."""

    adversary: Adversary
    noise: Any


class Frame(NamedTuple):
    """What noise that is given feature by feature is read against: n samples, feature names, and the column scales."""

    n: int
    names: tuple[str, ...] | None
    scale: FloatArray


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


def strength_of(adversary: Any, noise: Any, rho: Any, frame: Frame, units: str = "standardised") -> Strength:
    """Return the adversary on n samples: that of the object, or of the word with this noise or, if given, rho."""
    kind = kind_of(adversary)
    if units not in NOISE_UNITS:
        raise InvalidProblem(f"noise_units must be one of {NOISE_UNITS}, got {units!r}.")
    if isinstance(adversary, Adversary):
        if rho is not None:
            raise InvalidProblem("rho must be None where adversary is an object with its own budget.")
        return Strength(adversary, adversary.rho / kind.noise_unit(frame.n))
    if rho is None:
        strength = _read("noise", noise, kind, frame)
        if units == "data":
            if kind is not FeatureWise:
                raise InvalidProblem(
                    f"noise_units='data' needs adversary='feature', whose noise is one of every column, got "
                    f"{adversary!r}."
                )
            if (frame.scale != 1).any():
                strength = strength / frame.scale
        return Strength(kind.with_noise(strength, frame.n), strength)
    # The budget as given, not by way of the noise: a square root there and back costs an ulp.
    budget = _read("rho", rho, kind, frame)
    return Strength(kind.with_budget(budget), budget / kind.noise_unit(frame.n))


def costs_of(costs: Any, frame: Frame) -> FloatArray | None:
    """Return one cost for each feature, None for none."""
    if costs is None:
        return None
    if not has_one_for_each(costs):
        raise InvalidProblem(
            f"costs must hold one number for each feature, got {costs!r}; pass an array, or a dict by name."
        )
    return per_feature("costs", costs, len(frame.scale), frame.names, finite=True)


def _read(name: str, given: Any, kind: type[Adversary], frame: Frame) -> Any:
    """Return a noise or budget as a number, or as an array with one for each feature, or sample."""
    if kind is FeatureWise:
        return number_or_each(name, given, len(frame.scale), frame.names)
    if not has_one_for_each(given):
        return as_strength(name, given)
    if kind is NoAdversary:
        return 0.0  # nobody attacks, whatever the noise
    if kind is not SampleWise:
        raise InvalidProblem(f"{name} must be a number for adversary {kind.key!r}.")
    if np.ndim(given) != 1:
        raise InvalidProblem(f"{name} must be a number, or one number per sample, for adversary='sample'.")
    try:
        return np.asarray(given, dtype=np.float64)  # the adversary looks at the numbers, the problem at how many
    except (TypeError, ValueError):
        raise InvalidProblem(f"{name} must be a number, or one number per sample, for adversary='sample'.") from None


def widened(strength: Strength, extra: FloatArray, n: int) -> Strength:
    r"""Return the strength with budgets :math:`\sqrt{\rho_j^2 + \mathrm{extra}_j^2}`: errors in other entries on top.

    A column whose entries are off by at most rho_j together, and whose imputed entries are off by at most extra_j
    together, is off by at most this. A feature without imputed entries keeps its budget to the last bit.
    """
    if type(strength.adversary) is not FeatureWise or not extra.any():
        return strength
    rho = strength.adversary.budgets(len(extra))
    wider = FeatureWise(np.where(extra > 0, np.hypot(rho, extra), rho))
    return Strength(wider, wider.rho / FeatureWise.noise_unit(n))
