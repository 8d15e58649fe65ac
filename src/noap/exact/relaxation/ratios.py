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
    # What is cut off must not be negative, and below the second number nothing is left of the diagonal: the root is not
    # there. Where the whole row goes, that number is the root itself.
    left = np.sqrt(np.maximum(w * w - (own - mu * w * w) / tau, 0.0))
    low: FloatArray = np.maximum(w * max(1.0, -0.5 * mu / tau), w + left)
    high = low + 1.0 + np.sqrt((np.abs(own) + sizes.sum(axis=1) + abs(mu)) / tau)
    g = np.clip(start, low, high)
    # The same arrays in every step: most of its time is in going over them.
    over, inside, squares = np.empty_like(sizes), np.empty(sizes.shape, dtype=bool), weights * weights
    for _ in range(_STEPS):
        np.multiply((mu * w + 2.0 * tau * g)[:, None], weights, out=over)
        np.subtract(sizes, over, out=over)
        np.greater(over, 0.0, out=inside)
        np.maximum(over, 0.0, out=over)
        diagonal = np.maximum(own - mu * w * w + tau * (g * g - 2.0 * g * w), 0.0)
        excess = over @ weights - (g - w) * diagonal
        low, high = np.where(excess > 0, g, low), np.where(excess > 0, high, g)
        fall = 2.0 * tau * (inside @ squares) + diagonal + 2.0 * tau * (g - w) ** 2
        newton = g + excess / np.where(fall > 0, fall, 1.0)
        # An end of the interval counts as inside: whoever has arrived stays.
        usable = (fall > 0) & (newton >= low) & (newton <= high)
        moved = np.where(usable, newton, 0.5 * (low + high))
        near = bool(np.max(np.abs(moved - g) / g, initial=0.0) < _NEAR)
        g = moved
        if near:
            break
    return g
