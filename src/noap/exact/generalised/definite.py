"""Many small matrices at once: which of them a factorisation proves to be positive definite."""

import numpy as np

from noap.linalg.outward import gamma
from noap.linalg.types import BoolArray, FloatArray

__all__ = ["definite"]


def definite(K: FloatArray, room: "float | FloatArray" = 0.0) -> BoolArray:
    """Return which of the symmetric m x m matrices are positive semidefinite after `room` is taken off the diagonals.

    A floating-point factorisation that succeeds is exact for a matrix within gamma(m + 2) of the trace; that much more
    is taken off.

    >>> definite(np.array([[[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]))
    array([ True, False])
    """
    m = K.shape[-1]
    L = K.copy()
    diagonal = np.einsum("...ii->...i", L)
    trace = np.abs(diagonal).sum(axis=-1)
    diagonal -= (np.asarray(room) + 1.02 * gamma(m + 4) * trace)[..., None]
    good: BoolArray = np.isfinite(trace)
    for j in range(m):
        pivot = L[..., j, j]
        good &= pivot > 0
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            column = L[..., j + 1 :, j] / np.sqrt(np.where(pivot > 0, pivot, 1.0))[..., None]
            L[..., j + 1 :, j + 1 :] -= column[..., :, None] * column[..., None, :]
    return good
