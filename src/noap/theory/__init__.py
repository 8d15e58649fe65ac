"""Theory beside the solvers: the spiked Wishart model, population objectives and path, thresholds."""

from noap.theory import eigengap, model, population, thresholds
from noap.theory.eigengap import *  # noqa: F403 - their __all__ is the list
from noap.theory.model import *  # noqa: F403
from noap.theory.population import *  # noqa: F403
from noap.theory.thresholds import *  # noqa: F403

__all__ = sorted([*eigengap.__all__, *model.__all__, *population.__all__, *thresholds.__all__])
