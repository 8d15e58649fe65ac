r"""The step of the multiplier that counts places: one ratio for each feature.

For a row x of a matrix, with diagonal entry :math:`x_i`, the nearest row z that pays :math:`\mu w_i |z|_w +
\tau |z|_w^2 / z_i`, :math:`|z|_w = \sum_j w_j |z_j|`, has the entries of x cut down by
:math:`(\mu w_i + 2\tau g) w_j` and :math:`\tau g^2` added to the diagonal, where g is its own ratio
:math:`|z|_w / z_i`: the root of a function that falls.
"""

import numpy as np

from noap.linalg.types import FloatArray, IntArray

__all__ = ["ratios"]

# Not to the last digit: the next step begins where this one ends.
_STEPS, _NEAR = 12, 2e-3


def ratios(X: FloatArray, rows: IntArray, tau: float, mu: float, start: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the ratio of each of the rows; any number of at least its weight would be right, the root is the best.

    Parameters
    ----------
    X : array of shape (m, m)
    rows : which rows
    tau, mu : float
        The prices, tau > 0.
    start : array of shape (len(rows),)
    weights : array of shape (m,)
    """
    sizes, own, w = np.abs(X[rows]), X[rows, rows], weights[rows]
    sizes[np.arange(len(rows)), rows] = 0.0
    # What is cut off must not be negative.
    low: FloatArray = w * max(1.0, -0.5 * mu / tau)
    high = low + 1.0 + np.sqrt((np.abs(own) + sizes.sum(axis=1) + abs(mu)) / tau)
    g = np.clip(start, low, high)
    for _ in range(_STEPS):
        over = sizes - (mu * w + 2.0 * tau * g)[:, None] * weights
        inside = over > 0
        others = np.where(inside, over * weights, 0.0).sum(axis=1)
        diagonal = own - mu * w * w + tau * (g * g - 2.0 * g * w)
        # As long as nothing is left of the diagonal, the ratio is too small.
        excess = np.where(diagonal < 0, 1.0, others - (g - w) * diagonal)
        low, high = np.where(excess > 0, g, low), np.where(excess > 0, high, g)
        fall = 2.0 * tau * np.where(inside, weights * weights, 0.0).sum(axis=1) + diagonal + 2.0 * tau * (g - w) ** 2
        newton = g + excess / np.where(fall > 0, fall, 1.0)
        usable = (diagonal >= 0) & (fall > 0) & (newton > low) & (newton < high)
        moved = np.where(usable, newton, 0.5 * (low + high))
        near = bool(np.max(np.abs(moved - g) / g, initial=0.0) < _NEAR)
        g = moved
        if near:
            break
    return g
