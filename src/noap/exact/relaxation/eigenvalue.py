"""Largest eigenvalues that are proved, not computed: a factorisation has to confirm them."""

import numpy as np

from noap.linalg.outward import UNIT, gamma, is_definite, up
from noap.linalg.types import FloatArray

__all__ = ["confirmed", "confirmed_sum"]

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


def confirmed_sum(B: FloatArray, r: int) -> float | None:
    r"""Return at least the sum of the r largest eigenvalues, those below 0 left out, proved; None if that fails.

    With :math:`B \preceq cI + LL^\top`, c >= 0, it is at most :math:`rc + |L|_F^2`.

    Examples
    --------
    >>> B = np.diag([3.0, 2.0, 1.0, -1.0])
    >>> [round(confirmed_sum(B, r), 6) for r in (1, 2, 4)]
    [3.0, 5.0, 6.0]
    """
    m = len(B)
    values, vectors = np.linalg.eigh(B)
    c = max(float(values[-r - 1]), 0.0) if m > r else 0.0
    L = vectors[:, -r:] * np.sqrt(np.maximum(values[-r:] - c, 0.0))
    energy, top = up(float((L * L).sum()), L.size + 4), float(np.abs(B).max())
    product = L @ L.T
    # The product is off by gamma(r) |L||L|', of no larger Frobenius norm than the energy; sum and difference by ulps.
    away = up(gamma(r + 4) * energy + 4.0 * UNIT * m * (top + energy))
    step = 1e-14 * m * (top + energy)
    found = confirmed(B - 0.5 * (product + product.T), c + step, step)[0]
    return None if found is None else up(r * up(found + away) + energy)
