"""The samples as the checker reads them: dense, in double precision, divided by a power of two."""

import math

import numpy as np

from noap.linalg.types import Data, FloatArray

__all__ = ["dense", "dense_rows", "exponent_of", "scaled_samples"]

_ROWS = 4096


def dense_rows(X: Data) -> "list[slice]":
    """Return slices of rows, a few thousand each."""
    return [slice(start, start + _ROWS) for start in range(0, X.shape[0], _ROWS)]


def dense(X: Data, rows: slice) -> FloatArray:
    """Return some rows as a dense float64 array; nothing is rounded."""
    part = X[rows]
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)


def exponent_of(largest: float) -> int:
    """Return e with largest/2^e between 1/2 and 1."""
    return math.frexp(largest)[1] if largest > 0 else 0


def scaled_samples(X: Data) -> tuple[FloatArray, int]:
    """Return X/2^e with entries of at most 1, and e. Only entries some 300 orders below the largest are rounded."""
    parts = [dense(X, rows) for rows in dense_rows(X)]
    Y = np.concatenate(parts) if parts else np.zeros(X.shape)
    exponent = exponent_of(float(np.abs(Y).max(initial=0.0)))
    return np.ldexp(Y, -exponent), exponent
