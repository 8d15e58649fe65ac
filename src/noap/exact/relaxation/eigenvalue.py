"""A largest eigenvalue that is proved, not computed: a factorisation has to confirm it."""

from noap.linalg.outward import is_definite
from noap.linalg.types import FloatArray

__all__ = ["confirmed"]

# How often a guess that no factorisation confirms is raised, each time by twice as much.
_TRIES = 40


def confirmed(B: FloatArray, guess: float, step: float) -> tuple[float | None, int]:
    """Return the first number from the guess upwards that is proved to be above all eigenvalues, and the tries it took.

    None if there is none within reach. The room that a factorisation needs grows with the square of the size, so that
    the steps grow.

    Parameters
    ----------
    B : array of shape (m, m), symmetric
    guess, step : float, at least 0

    Examples
    --------
    >>> import numpy as np
    >>> c, tries = confirmed(np.array([[2.0, 1.0], [1.0, 2.0]]), 3.0, 1e-12)
    >>> 3.0 <= c <= 3.0 + 1e-9
    True
    """
    c = guess
    for tries in range(1, _TRIES + 1):
        if is_definite(-B, c):
            return c, tries
        c, step = c + step, 2.0 * step
    return None, _TRIES
