"""Products with the sample matrix that never copy it.

X may be large, float32 or sparse. What a proof or a reported value needs is accumulated in float64,
over row blocks or over the few columns that matter, so that no n x d temporary is made.
"""

from collections.abc import Iterator

import numpy as np

from noap.linalg.types import Data, FloatArray
from noap.linalg.vectors import norms

__all__ = ["column_blocks", "column_norms", "columns", "gram", "row_blocks", "row_top_k_norms", "scores"]

# Large enough for BLAS to run at full speed, small enough to stay out of the way of X itself.
_BLOCK_BYTES = 32 * 2**20
_FEW_ROWS = 8192


def row_blocks(X: Data) -> Iterator[FloatArray]:
    """Yield X as consecutive dense float64 row blocks of bounded size, row by row in memory.

    However X is stored, the blocks are the same: what is computed of them is so to the last bit.
    """
    n, d = X.shape
    step = max(1, _BLOCK_BYTES // (8 * max(d, 1)))
    for first in range(0, n, step):
        block = X[first : first + step]
        dense = block if isinstance(block, np.ndarray) else block.toarray()
        yield np.ascontiguousarray(dense, dtype=np.float64)


def columns(X: Data, chosen: np.ndarray) -> FloatArray:
    """Return the chosen columns of X, dense, in float64: an n x len(chosen) array, column by column in memory.

    However X is stored, this array is the same: what is computed of it is so to the last bit.
    """
    part = X[:, chosen]
    dense = part if isinstance(part, np.ndarray) else part.toarray(order="F")
    return np.asfortranarray(dense, dtype=np.float64)


def column_blocks(X: Data, chosen: np.ndarray) -> Iterator[FloatArray]:
    """Yield the chosen columns as consecutive dense float64 row blocks, of bounded size where samples are many."""
    n = X.shape[0]
    step = max(_FEW_ROWS, _BLOCK_BYTES // (8 * max(len(chosen), 1)))
    if n <= step:
        yield columns(X, chosen)
        return
    some = X[:, chosen] if hasattr(X, "tocsc") else X
    for first in range(0, n, step):
        part = some[first : first + step]
        yield columns(part, chosen) if some is X else columns(part, np.arange(len(chosen)))


def scores(X: Data, v: FloatArray) -> FloatArray:
    """Return Xv in float64.

    >>> scores(np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32), np.array([0.0, 1.0]))
    array([2., 4.])
    """
    support = np.flatnonzero(v)
    if 4 * support.size <= v.size:
        product: FloatArray = columns(X, support) @ v[support].astype(np.float64)
        return product
    if isinstance(X, np.ndarray) and X.dtype == np.float64:
        product = X @ v
        return product
    return np.concatenate([block @ v for block in row_blocks(X)])


def gram(X: Data) -> FloatArray:
    """Return X'X (not divided by n) in float64, a dense d x d array.

    >>> gram(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[10., 14.],
           [14., 20.]])
    """
    if isinstance(X, np.ndarray) and X.dtype == np.float64:
        product: FloatArray = X.T @ X
        return product
    d = X.shape[1]
    total = np.zeros((d, d))
    for block in row_blocks(X):
        total += block.T @ block
    return total


def column_norms(X: Data) -> FloatArray:
    """Return the Euclidean norms of the d columns of X.

    >>> column_norms(np.array([[3.0, 0.0], [4.0, 1.0]]))
    array([5., 1.])
    """
    squares = np.zeros(X.shape[1])
    for block in row_blocks(X):
        squares += np.einsum("ij,ij->j", block, block)
    return np.sqrt(squares)


def row_top_k_norms(X: Data, k: int) -> FloatArray:
    """Return the norm of the k largest entries of each row: the largest |x_i'v| over k-sparse unit v.

    >>> row_top_k_norms(np.array([[3.0, 1.0, -4.0]]), 2)
    array([5.])
    """
    parts = []
    for block in row_blocks(X):
        magnitudes = np.abs(block)
        if k < X.shape[1]:
            magnitudes.partition(X.shape[1] - k, axis=1)
            magnitudes = magnitudes[:, -k:]
        parts.append(norms(magnitudes))
    return np.concatenate(parts)
