"""Which adversaries, budgets and costs go together with which data."""

from typing import Any

from noap.adversaries import (
    ENERGY_LESS_L1,
    EntryWise,
    FeatureWise,
    NoAdversary,
    SampleWise,
    SpectralNorm,
    require_served,
)
from noap.adversaries.base import Adversary
from noap.data.per_feature import number_or_each
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray

__all__ = ["adversary_of", "require_covariance_suffices", "require_fit"]

# The adversaries whose optimum a covariance determines; and those for which costs are part of every bound.
FROM_COVARIANCE_SERVES: tuple[type[Adversary], ...] = (*ENERGY_LESS_L1, SpectralNorm)
COSTS_SERVES: tuple[type[Adversary], ...] = (*ENERGY_LESS_L1, SampleWise, EntryWise)
# Those whose budgets do not ask for |v|_2, which a metric replaces.
METRIC_SERVES = ENERGY_LESS_L1
# Those whose value falls with |Xv| for each v, so that proofs may speak of some v alone.
ORTHOGONAL_SERVES: tuple[type[Adversary], ...] = (*ENERGY_LESS_L1, SpectralNorm)


def _checked(adversary: Any) -> Adversary:
    if not isinstance(adversary, Adversary):
        raise InvalidProblem(f"adversary must be an object such as noap.FeatureWise(2.0), got {adversary!r}.")
    return adversary


def adversary_of(adversary: Any, noise: Any, n: int, d: int, names: tuple[str, ...] | None) -> Adversary:
    """Return the adversary that a user names: an object, FeatureWise by its noise on n x d data, or none."""
    if noise is None:
        return NoAdversary() if adversary is None else _checked(adversary)
    if adversary is not None:
        raise InvalidProblem(
            "Pass either adversary or noise: noise=0.3 is FeatureWise with rho = 0.3 sqrt(n), and other adversaries "
            "bring a budget of their own."
        )
    return FeatureWise.with_noise(number_or_each("noise", noise, d, names), n)


def require_fit(
    adversary: Any,
    n: int,
    d: int,
    costs: "FloatArray | None",
    metric: "FloatArray | None" = None,
    directions: "FloatArray | None" = None,
) -> None:
    """Raise InvalidProblem unless the adversary fits n x d data and goes together with costs, metric and directions."""
    _checked(adversary).check_shape(n, d)
    if costs is not None:
        require_served(adversary, COSTS_SERVES, "Problem with costs", "leave costs out")
    if metric is not None:
        require_served(adversary, METRIC_SERVES, "Problem with a metric", "leave metric out")
        if costs is not None:
            raise InvalidProblem("Problem takes either costs or a metric; leave one of them out.")
    if directions is not None:
        require_served(adversary, ORTHOGONAL_SERVES, "Problem with orthogonal_to", "leave orthogonal_to out")
        if metric is not None:
            raise InvalidProblem("Problem takes either orthogonal_to or a metric; leave one of them out.")


def require_covariance_suffices(adversary: Any) -> None:
    """Raise InvalidProblem if the adversary needs the samples themselves, or is unknown."""
    moved = {SampleWise: "samples", EntryWise: "entries"}.get(type(_checked(adversary)))
    if moved is not None:
        raise InvalidProblem(
            f"adversary {type(adversary).__name__} moves {moved} one by one, so a covariance S is not "
            "enough; build Problem from the samples X."
        )
    require_served(adversary, FROM_COVARIANCE_SERVES, "Problem.from_covariance", "build Problem from the samples X")
