"""Methods that an estimator has only where sums over samples are enough."""

import functools
from collections.abc import Callable
from typing import Any

from noap.errors import InvalidProblem
from noap.estimators.strength import kind_of

__all__ = ["from_sums"]


class _NotFromSums(InvalidProblem, AttributeError):
    """Whoever calls the method reads why not; whoever asks for it, as scikit-learn does by `hasattr`, finds none."""


class from_sums:  # noqa: N801 - a decorator
    """Make a method available only where the adversary's damage follows from sums over samples.

    Parameters
    ----------
    instead : str
        What else to do: the end of the sentence that a call raises.
    """

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __call__(self, method: Callable[..., Any]) -> "from_sums":
        """Decorate a method."""
        self._method = method
        functools.update_wrapper(self, method)
        return self

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        """Return the bound method, or raise the sentence that says why there is none."""
        if estimator is None:
            return self._method
        try:
            enough = kind_of(estimator.adversary).gram_suffices
        except InvalidProblem as error:
            raise _NotFromSums(str(error)) from None
        if not enough:
            raise _NotFromSums(
                f"{self._method.__name__} keeps sums over samples, but adversary={estimator.adversary!r} moves samples "
                f"one by one; {self._instead}."
            )
        return self._method.__get__(estimator, owner)
