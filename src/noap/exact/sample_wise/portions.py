"""Samples in portions: bounded in memory and in time, so that limits are heard in the middle of a node."""

from collections.abc import Callable, Iterator

import numpy as np

from noap.linalg.types import FloatArray
from noap.runtime.controls import never

__all__ = ["gram", "is_long", "portions"]

# Work on more rows than this, or on more products of entries, is cut up. Below it everything is done in one go.
MOST_ROWS, _MOST_PRODUCTS = 8192, 1e9
# Entries of a portion: the slowest step, a projection, takes about a tenth of a microsecond for each.
_ENTRIES = 2**20


def is_long(shape: tuple[int, ...]) -> bool:
    """Whether one pass over so many rows and columns should look at the clock on its way."""
    rows, columns = shape
    return rows > MOST_ROWS or rows * columns * columns > _MOST_PRODUCTS


def portions(shape: tuple[int, ...], check: Callable[[], None] = never) -> Iterator[slice]:
    """Yield slices that cover the rows of an array of this shape; `check` is called before each of many."""
    rows, columns = shape
    if not is_long(shape):
        yield slice(0, rows)
        return
    wide = max(columns, 1)
    step = int(max(16, min(MOST_ROWS, _ENTRIES // wide, _MOST_PRODUCTS // wide**2)))
    for first in range(0, rows, step):
        check()
        yield slice(first, min(first + step, rows))


def gram(Y: FloatArray, E: FloatArray, check: Callable[[], None] = never) -> FloatArray:
    """Return (Y+E)'(Y+E)."""
    M: FloatArray | None = None
    for rows in portions(Y.shape, check):
        B = Y[rows] + E[rows]
        M = B.T @ B if M is None else M + B.T @ B
    return np.zeros((Y.shape[1], Y.shape[1])) if M is None else M
