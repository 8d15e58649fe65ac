"""Which adversaries, budgets and costs go together with which data."""

from typing import Any

from noap.adversaries import ENERGY_LESS_L1, SampleWise, require_served
from noap.adversaries.base import Adversary
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray

__all__ = ["require_covariance_suffices", "require_fit"]

# The adversaries whose optimum a covariance determines; and those for which, once u is fixed, the objective is a sum
# over the features, so that a cost is one term more.
FROM_COVARIANCE_SERVES = ENERGY_LESS_L1
COSTS_SERVES = ENERGY_LESS_L1


def _checked(adversary: Any) -> Adversary:
    if not isinstance(adversary, Adversary):
        raise InvalidProblem(f"adversary must be FeatureWise, SampleWise or NoAdversary, got {adversary!r}.")
    return adversary


def require_fit(adversary: Any, n: int, d: int, costs: "FloatArray | None") -> None:
    """Raise InvalidProblem unless the adversary fits n x d data and goes together with the costs."""
    _checked(adversary).check_shape(n, d)
    if costs is not None:
        require_served(adversary, COSTS_SERVES, "Problem with costs", "leave costs out")


def require_covariance_suffices(adversary: Any) -> None:
    """Raise InvalidProblem if the adversary needs the samples themselves, or is unknown."""
    if type(_checked(adversary)) is SampleWise:
        raise InvalidProblem(
            f"adversary {type(adversary).__name__} moves samples one by one, so a covariance S is not "
            "enough; build Problem from the samples X."
        )
    require_served(adversary, FROM_COVARIANCE_SERVES, "Problem.from_covariance", "build Problem from the samples X")
