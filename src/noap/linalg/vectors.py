r"""Elementary steps on batches of vectors: one vector per row.

Every function takes an ``m x d`` array and works along its last axis, so that many starts of a
heuristic advance as one matrix.
"""

import math

import numpy as np

from noap.linalg.types import FloatArray, IntArray

__all__ = ["keep_top_k", "largest_norm", "norms", "orient", "soft", "top_k_indices", "unit"]


def norms(rows: FloatArray) -> FloatArray:
    r"""Euclidean norm :math:`\|x\|_2` of every row.

    >>> norms(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([5., 0.])
    """
    squares: FloatArray = np.sqrt(np.einsum("...j,...j->...", rows, rows))
    return squares


def largest_norm(rows: FloatArray) -> float:
    r"""Return the largest Euclidean norm of a row, whatever the size of its entries; 0 without rows.

    >>> largest_norm(np.array([[3e-170, 4e-170], [0.0, 0.0]]))
    5e-170
    """
    exponent = math.frexp(float(np.abs(rows).max(initial=0.0)))[1]
    # A power of two: the entries of the longest row keep their digits, and their squares stay in range.
    return math.ldexp(float(norms(np.ldexp(rows, -exponent)).max(initial=0.0)), exponent)


def unit(rows: FloatArray) -> FloatArray:
    r"""Divide every row by its norm, :math:`x/\|x\|_2`; a zero row stays zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    # Dividing by the largest entry first keeps the squares away from under- and overflow.
    largest = np.abs(rows).max(axis=-1, keepdims=True, initial=0.0)
    scaled: FloatArray = rows / (largest + (largest == 0))
    # The largest entry is now 1, or all are 0: the norm is 0 in the second case only.
    length = norms(scaled)[..., None]
    scaled /= length + (length == 0)
    return scaled


def soft(rows: FloatArray, threshold: "float | FloatArray") -> FloatArray:
    r"""Soft threshold :math:`\mathrm{sgn}(x)\,(|x| - t)_+` of every entry, with one t or one for every column.

    >>> soft(np.array([-3.0, 1.0, 2.0]), 1.5)
    array([-1.5,  0. ,  0.5])
    """
    # x - clip(x) is exact where |x| <= t and needs one temporary only.
    threshold = np.minimum(threshold, float(np.finfo(rows.dtype).max))  # of single precision too
    return rows - np.clip(rows, -threshold, threshold)


def top_k_indices(rows: FloatArray, k: int) -> IntArray:
    """Positions of the k entries of largest magnitude in every row, in increasing order.

    Parameters
    ----------
    rows : array of shape (m, d)
    k : int
        At most d.

    Returns
    -------
    array of int, shape (m, k)

    >>> top_k_indices(np.array([[1.0, -3.0, 2.0]]), 2)
    array([[1, 2]])
    """
    d = rows.shape[-1]
    if k >= d:
        return np.broadcast_to(np.arange(d), rows.shape).copy()
    chosen = np.argpartition(np.abs(rows), d - k, axis=-1)[..., d - k :]
    chosen.sort(axis=-1)
    return chosen


def keep_top_k(rows: FloatArray, k: int) -> FloatArray:
    """Zero all but the k entries of largest magnitude in every row.

    >>> keep_top_k(np.array([[1.0, -3.0, 2.0]]), 2)
    array([[ 0., -3.,  2.]])
    """
    chosen = top_k_indices(rows, k)
    result = np.zeros_like(rows)
    np.put_along_axis(result, chosen, np.take_along_axis(rows, chosen, -1), -1)
    return result


def orient(v: FloatArray) -> FloatArray:
    """Flip v so that its entry of largest magnitude is positive (the first one, if tied).

    The objective is even in v; this picks one of the two.

    >>> orient(np.array([0.6, -0.8]))
    array([-0.6,  0.8])
    """
    return -v if v.size and v[np.argmax(np.abs(v))] < 0 else v
