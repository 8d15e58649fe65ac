"""Arrays that lie in a file: samples that do not fit in memory, and what is made of them on the way.

What is large and made of an array in a file becomes a file too: one without a name, in the folder for temporary files
(TMPDIR), which vanishes with the array or with the process.
"""

import math
import mmap
import tempfile
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from noap.linalg import frozen
from noap.linalg.types import Data

__all__ = ["by_columns", "empty_file", "empty_like", "in_file"]

# Bytes that are copied from file to file at a time.
_PIECE = 64 * 2**20


def in_file(X: Data) -> bool:
    """Return whether X is an array in a file, and too large to be copied into memory.

    Examples
    --------
    >>> in_file(np.zeros((2, 2)))
    False
    """
    owner: Any = X
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(X, np.ndarray) and isinstance(owner, mmap.mmap) and X.nbytes > frozen.MOST_COPIED


def empty_file(shape: tuple[int, ...], dtype: npt.DTypeLike, order: Literal["C", "F"] = "C") -> npt.NDArray[Any]:
    """Return an array of zeros in a file of its own.

    Examples
    --------
    >>> empty_file((2, 3), np.float32).sum()
    np.float32(0.0)
    """
    with tempfile.TemporaryFile(prefix="noap") as file:
        length = max(math.prod(shape) * np.dtype(dtype).itemsize, 1)
        file.truncate(length)
        # No numpy.memmap: those travel to other processes by their names.
        return np.ndarray(shape, dtype, buffer=mmap.mmap(file.fileno(), length), order=order)


def empty_like(X: npt.NDArray[Any], dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Return an array for as many entries, in a file if X is in one; else in the layout of X.

    Examples
    --------
    >>> empty_like(np.zeros((2, 3), dtype=np.float32)).dtype
    dtype('float32')
    """
    kind = X.dtype if dtype is None else np.dtype(dtype)
    return empty_file(X.shape, kind) if in_file(X) else np.empty_like(X, dtype=kind)


def by_columns(X: Data) -> Data:
    """Return X with columns that are found quickly: those of a sparse matrix, or of a file, lie together.

    Examples
    --------
    >>> X = np.zeros((2, 3))
    >>> by_columns(X) is X
    True
    """
    if hasattr(X, "tocsc"):
        return X.tocsc()
    if not in_file(X) or X.flags.f_contiguous:
        return X
    n, d = X.shape
    turned = empty_file((n, d), X.dtype, order="F")
    step = max(1, _PIECE // (X.itemsize * n))
    for first in range(0, d, step):
        turned[:, first : first + step] = X[:, first : first + step]
    turned.flags.writeable = False
    return turned
