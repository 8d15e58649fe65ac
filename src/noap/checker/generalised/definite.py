"""Many small matrices at once: which of them a factorisation proves to be positive semidefinite."""

import numpy as np

from noap.linalg.outward import gamma
from noap.linalg.types import BoolArray, FloatArray

__all__ = ["are_definite"]


def are_definite(K: FloatArray, room: FloatArray) -> BoolArray:
    r"""Return which of the symmetric matrices, shape (s, m, m), are positive semidefinite less their `room` times I.

    If all pivots of an elimination in floating point are positive, then it is exact for a matrix within
    :math:`\gamma_{m+1} \sqrt{a_{ii} a_{jj}}` of the given one, entry by entry (Demmel): in norm within that of the
    trace, which is taken off before, with the rounding of taking it off.

    >>> are_definite(np.array([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]), np.zeros(2))
    array([ True, False])
    """
    m = K.shape[-1]
    left = np.array(K)
    own = np.einsum("sii->si", left)
    trace = np.abs(own).sum(axis=1)
    good: BoolArray = np.isfinite(left).all(axis=(1, 2)) & np.isfinite(room)
    left[~good] = 0.0
    own -= (np.where(good, 1.01 * room + 1.02 * gamma(m + 4) * trace, 0.0))[:, None]
    for j in range(m):
        pivot = left[:, j, j]
        good &= pivot > 0.0
        column = left[:, j + 1 :, j] / np.sqrt(np.where(good, pivot, np.inf))[:, None]
        left[:, j + 1 :, j + 1 :] -= column[:, :, None] * column[:, None, :]
    return good
