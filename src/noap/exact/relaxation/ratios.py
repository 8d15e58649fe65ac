r"""The step of the multiplier that counts places: one ratio for each feature.

For a row x of a matrix, with diagonal entry :math:`x_i`, the nearest row z that pays :math:`\mu |z|_1 +
\tau |z|_1^2 / z_i` has the entries of x cut down by :math:`\mu + 2\tau g` and :math:`\tau g^2` added to the diagonal,
where g is its own ratio :math:`|z|_1 / z_i`: the root of a function that falls.
"""

import numpy as np

from noap.linalg.types import FloatArray, IntArray

__all__ = ["ratios"]

# Not to the last digit: the next step begins where this one ends.
_STEPS, _NEAR = 12, 2e-3


def ratios(X: FloatArray, rows: IntArray, tau: float, mu: float, start: FloatArray) -> FloatArray:
    """Return the ratio of each of the rows; any number of at least 1 would be right, the root is the best.

    Parameters
    ----------
    X : array of shape (m, m)
    rows : which rows
    tau, mu : float
        The prices, tau > 0.
    start : array of shape (len(rows),)
    """
    sizes, own = np.abs(X[rows]), X[rows, rows]
    sizes[np.arange(len(rows)), rows] = 0.0
    # What is cut off must not be negative.
    low: FloatArray = np.full(len(rows), max(1.0, -0.5 * mu / tau))
    high = low + 1.0 + np.sqrt((np.abs(own) + sizes.sum(axis=1) + abs(mu)) / tau)
    g = np.clip(start, low, high)
    for _ in range(_STEPS):
        over = sizes - (mu + 2.0 * tau * g)[:, None]
        inside = over > 0
        others = np.where(inside, over, 0.0).sum(axis=1)
        diagonal = own - mu + tau * (g * g - 2.0 * g)
        # As long as nothing is left of the diagonal, the ratio is too small.
        excess = np.where(diagonal < 0, 1.0, others - (g - 1.0) * diagonal)
        low, high = np.where(excess > 0, g, low), np.where(excess > 0, high, g)
        fall = 2.0 * tau * inside.sum(axis=1) + diagonal + 2.0 * tau * (g - 1.0) ** 2
        newton = g + excess / np.where(fall > 0, fall, 1.0)
        usable = (diagonal >= 0) & (fall > 0) & (newton > low) & (newton < high)
        moved = np.where(usable, newton, 0.5 * (low + high))
        near = bool(np.max(np.abs(moved - g) / g, initial=0.0) < _NEAR)
        g = moved
        if near:
            break
    return g
