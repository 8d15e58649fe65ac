"""The adversary and its budget, as the command line says them: by name, in noise or in rho."""

import enum
import math
from collections.abc import Callable

import numpy as np

from noap.adversaries import BY_KEY, Adversary, NoAdversary
from noap.analysis.family import SERVES as PATH_SERVES
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray

__all__ = ["AdversaryName", "adversary_of", "budgets_of", "factors_of", "family_of", "noise_unit"]


class AdversaryName(enum.StrEnum):
    """Who may move what: the keys of the adversaries, written out for the help and the type checker."""

    feature = "feature"
    sample = "sample"
    spectral = "spectral"
    entry = "entry"
    none = "none"


def adversary_of(name: AdversaryName, noise: float | None, rho: float | None, n: int) -> Adversary:
    """Return the adversary of n samples that --adversary, --noise and --rho ask for."""
    if noise is not None and rho is not None:
        raise InvalidProblem("--noise and --rho both set the budget; pass one of them.")
    for option, budget in (("--noise", noise), ("--rho", rho)):
        if budget is not None and not (math.isfinite(budget) and budget >= 0):
            raise InvalidProblem(f"{option} must be a finite number of at least 0, got {budget}.")
    kind = BY_KEY[name]
    if kind is NoAdversary and (noise or rho):
        raise InvalidProblem(f"--noise and --rho need an adversary; drop them or pass --adversary {_with_budget()}.")
    return kind.with_budget(rho) if rho is not None else kind.with_noise(0.1 if noise is None else noise, n)


def family_of(name: AdversaryName) -> Callable[[float], Adversary]:
    """Return what makes an adversary from a budget; "none" has no budget to vary."""
    kind = BY_KEY[name]
    if kind not in PATH_SERVES:
        why = "has no budget to vary" if kind is NoAdversary else "has no path"
        raise InvalidProblem(f"--adversary {name} {why}; pass {_with_budget()}.")
    return kind.with_budget


def noise_unit(name: AdversaryName, n: int) -> float:
    """Return the budget rho of noise 1 on n samples."""
    return BY_KEY[name].noise_unit(n)


def _with_budget() -> str:
    return " or ".join(kind.key for kind in PATH_SERVES)


def budgets_of(name: AdversaryName, noises: str | None, rhos: str | None, n: int) -> FloatArray | None:
    """Return the budgets that a list such as "0,0.1,0.2" asks for; None if neither list is given."""
    if noises is not None and rhos is not None:
        raise InvalidProblem("--noise and --rho both set the budgets; pass one of them.")
    option, given = ("--noise", noises) if noises is not None else ("--rho", rhos)
    if given is None:
        return None
    return _listed(option, given) * (noise_unit(name, n) if noises is not None else 1.0)


def factors_of(given: str | None) -> FloatArray | None:
    """Return the factors that a list such as "0,0.5,1" asks for; None if there is no list."""
    return None if given is None else _listed("--factor", given)


def _listed(option: str, given: str) -> FloatArray:
    try:
        budgets = np.array([float(entry) for entry in given.split(",")])
    except ValueError:
        raise InvalidProblem(
            f"{option} must be numbers with commas between, such as 0,0.1,0.2, got {given!r}."
        ) from None
    if not (np.isfinite(budgets).all() and (budgets >= 0).all()):
        raise InvalidProblem(f"{option} must hold finite numbers of at least 0, got {given!r}.")
    return budgets
