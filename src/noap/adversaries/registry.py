"""The adversaries that noap ships, and how a method says which of them it serves.

A method, a bound or a proof is a theorem about certain closed forms. Which ones it says in a table named `SERVES`, by
exact type: a subclass may do anything, and "sees X only through |Xv|" is not yet "costs rho |v|_1". A new adversary is
served by nobody until it is written into a table, with the theorem that allows it.
"""

from noap.adversaries.base import Adversary
from noap.adversaries.entry_wise import EntryWise
from noap.adversaries.feature_wise import FeatureWise
from noap.adversaries.none import NoAdversary
from noap.adversaries.sample_wise import SampleWise
from noap.adversaries.spectral import SpectralNorm
from noap.errors import InvalidProblem

__all__ = ["ADVERSARIES", "BY_KEY", "BY_NAME", "ENERGY_LESS_L1", "listed", "require_served", "serves"]

ADVERSARIES: tuple[type[Adversary], ...] = (FeatureWise, SampleWise, SpectralNorm, EntryWise, NoAdversary)
"""All of them, in the order in which users see them."""

BY_KEY: dict[str, type[Adversary]] = {kind.key: kind for kind in ADVERSARIES}
"""By what the estimator and the command line call them."""

BY_NAME: dict[str, type[Adversary]] = {kind.__name__: kind for kind in ADVERSARIES}
"""By what documents call them."""

ENERGY_LESS_L1: tuple[type[Adversary], ...] = (FeatureWise, NoAdversary)
"""Those that leave (|Xv| - rho |v|_1)_+: X'X and one number rho are all there is to know."""


_ANY = "use method 'ascent' or 'ppm', which take any and prove nothing"


def serves(table: tuple[type[Adversary], ...], adversary: object) -> bool:
    """Return whether the adversary is of exactly one of the types in a table; a subclass is another type."""
    return any(type(adversary) is kind for kind in table)


def require_served(adversary: object, table: tuple[type[Adversary], ...], what: str, instead: str = _ANY) -> None:
    """Raise InvalidProblem unless the adversary is of exactly one of the types that `what` serves.

    Parameters
    ----------
    adversary : object
    table : tuple of types
        What is served.
    what : str
        Who serves them: the subject of the sentence.
    instead : str
        What else there is to do: the end of the sentence, after "pass one of these, or". By default the methods that
        work through `respond`, `shrink` and `distance` alone.

    Examples
    --------
    >>> require_served(SampleWise(1.0), ENERGY_LESS_L1, "A covariance", "build Problem from the samples X")
    Traceback (most recent call last):
    ...
    noap.errors.InvalidProblem: A covariance serves the adversaries FeatureWise and NoAdversary, not SampleWise of \
noap.adversaries.sample_wise; pass one of these, or build Problem from the samples X.
    """
    if not serves(table, adversary):
        kind = type(adversary)
        # The module, for a subclass may have the name of the class it is made from.
        raise InvalidProblem(
            f"{what} serves the adversaries {listed(table)}, not {kind.__name__} of {kind.__module__}; pass one of "
            f"these, or {instead}."
        )


def listed(table: tuple[type[Adversary], ...]) -> str:
    """Return the names of the types as they stand in a sentence."""
    names = [kind.__name__ for kind in table]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
