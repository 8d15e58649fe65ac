r"""The step of the multiplier with costs: for each row what is nearest and pays for its place in both ways.

For a row x of a matrix, with diagonal entry :math:`x_i`, the nearest row z that pays

.. math:: \mu w_i |z|_w + \tau\, |z|_w^2 / z_i + a\, |z|^2 / z_i , \qquad |z|_w = \sum_j w_j |z_j| ,

has the entries of x cut down by :math:`(\mu w_i + 2\tau g) w_j` and then shrunk by :math:`s/(s + 2a)`, where s is its
own diagonal entry and g its ratio :math:`|z|_w / s`: the root of a function that falls.
"""

from typing import NamedTuple

import numpy as np

from noap.linalg.types import FloatArray, IntArray

__all__ = ["Rows", "nearest_rows"]

# Not to the last digit: the next step begins where this one ends.
_STEPS, _NEAR = 16, 2e-3
# The diagonal entry is the root of a cubic that bends up: Newton's method from above.
_CUBIC_STEPS = 14


class Rows(NamedTuple):
    """The rows: off the diagonal z = s pulls, s on it; and the ratios that they have come to."""

    s: FloatArray
    pulls: FloatArray
    ratios: FloatArray


def nearest_rows(
    X: FloatArray, rows: IntArray, a: FloatArray, tau: FloatArray, mu: float, start: FloatArray, weights: FloatArray
) -> Rows:
    """Return the rows that are nearest to those of X; any ratio would be right, the root is the best.

    Parameters
    ----------
    X : array of shape (m, m)
    rows : which rows
    a, tau : arrays of shape (len(rows),)
        What a place costs, by itself and for each unit of t; above 0.
    mu : float
        The price of the l1 norm, at least 0.
    start : array of shape (len(rows),)
        Ratios to start from.
    weights : array of shape (m,)
    """
    own, w = X[rows, rows], weights[rows]
    sizes = np.abs(X[rows])
    sizes[np.arange(len(rows)), rows] = 0.0
    low: FloatArray = w.copy()
    # Beyond this nothing but the diagonal is left of the row.
    high = w + np.minimum((sizes / weights).max(axis=1, initial=0.0) / (2.0 * tau), (sizes @ weights) / (2.0 * a))
    high *= 1.0 + 1e-9
    g = np.where((start > low) & (start < high), start, 0.5 * (low + high))
    for _ in range(_STEPS):
        over = np.maximum(sizes - (mu * w + 2.0 * tau * g)[:, None] * weights, 0.0)
        total, squares = over @ weights, np.einsum("ij,ij->i", over, over)
        free = np.maximum(g - w, 1e-300)
        whole = np.maximum(total / free, 1e-90)  # s + 2a
        excess = whole - a - own + mu * w * w + tau * (2.0 * g * w - g * g) - a * squares / whole**2
        alive = whole > 2.0 * a
        up = alive & (excess > 0)
        low, high = np.where(up, g, low), np.where(up, high, g)
        inside = (over > 0) @ (weights * weights)
        falls = (2.0 * tau * inside + whole) / free
        fall = falls + 2.0 * tau * (g - w) + a * (2.0 * squares * falls / whole - 4.0 * tau * total) / whole**2
        newton = g + excess / np.where(fall > 0, fall, 1.0)
        # An end of the interval counts as inside: whoever has arrived stays.
        usable = alive & (fall > 0) & (newton >= low) & (newton <= high)
        moved = np.where(usable, newton, 0.5 * (low + high))
        near = bool(np.max(np.abs(moved - g) / g, initial=0.0) < _NEAR)
        g = moved
        if near:
            break
    over = np.maximum(sizes - (mu * w + 2.0 * tau * g)[:, None] * weights, 0.0)
    squares = np.einsum("ij,ij->i", over, over)
    # Whatever g is, the row is one that pays, if only s is right: s + 2a is the root of e^2 (e - b) = a squares.
    b, c = own - mu * w * w - tau * (2.0 * g * w - g * g) + a, a * squares
    e = np.maximum(b, 0.0) + np.cbrt(c) + 1e-90
    for _ in range(_CUBIC_STEPS):
        e = e - (e * e * (e - b) - c) / (e * (3.0 * e - 2.0 * b))
    s: FloatArray = np.maximum(e - 2.0 * a, 0.0)
    pulls: FloatArray = np.sign(X[rows]) * over / (s + 2.0 * a)[:, None]
    return Rows(s, pulls, g)
