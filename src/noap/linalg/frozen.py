"""Samples that stay what they were: a private copy where that is cheap, a fingerprint where it is not."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from noap.linalg.implicit import ImplicitColumns
from noap.linalg.types import Data

__all__ = ["MOST_COPIED", "changes", "fingerprint", "frozen", "read_only"]

# Bytes of X up to which it is copied. Beyond, a copy would be a large part of the memory that a user has planned for.
MOST_COPIED = 256 * 2**20
# The words of X are added up in so many classes by position, so many words of each class at a time.
_CLASSES, _DEPTH = 4096, 64
_ODD = np.uint64(0x9E3779B97F4A7C15)


def frozen(X: Data) -> Data:
    """Return X as what nobody can change by accident.

    Up to MOST_COPIED bytes that is a copy over immutable bytes, in the layout of X; beyond, read-only views of the
    arrays of X, which their owner can still change. What is over immutable bytes already is returned as it is.

    Examples
    --------
    >>> mine = np.ones((2, 2))
    >>> kept = frozen(mine)
    >>> mine[0, 0] = 5.0
    >>> float(kept[0, 0]), frozen(kept) is kept
    (1.0, True)
    """
    if isinstance(X, np.ndarray):
        return _held(X, X.nbytes <= MOST_COPIED)
    if isinstance(X, ImplicitColumns):
        return ImplicitColumns(frozen(X.sparse), _held(X.mean, True), _held(X.scale, True))
    if not X.has_canonical_format:
        # SciPy sorts indices and adds up duplicates in place when it needs to, which a frozen matrix does not allow.
        X = X.copy()
        X.sum_duplicates()
    arrays = (X.data, X.indices, X.indptr)
    copied = sum(one.nbytes for one in arrays) <= MOST_COPIED
    held = type(X)(tuple(_held(one, copied) for one in arrays), shape=X.shape, copy=False)
    held.has_canonical_format = True
    return held


def changes(X: Data) -> bool:
    """Return whether what `frozen` gave back may still change: large arrays, and the parts of a sparse matrix."""
    return not (isinstance(X, np.ndarray) and _is_immutable(X))


def fingerprint(X: Data) -> bytes:
    """Return a number that a change of X changes, at about the speed of reading it.

    Every 8 bytes are added, modulo 2^64, to the sum of their class by position, and the sums are mixed with their
    order. A change of one entry always shows; several hide only if they cancel in every class. Against accidents, not
    against forgers.
    """
    if isinstance(X, np.ndarray):
        return _sums(X)
    if isinstance(X, ImplicitColumns):
        return fingerprint(X.sparse) + _sums(X.mean) + _sums(X.scale)
    return b"".join(_sums(one) for one in (X.data, X.indices, X.indptr))


def _held(array: npt.NDArray[Any], copied: bool) -> npt.NDArray[Any]:
    if _is_immutable(array):
        return array
    if not copied:
        return read_only(array)
    order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return np.frombuffer(array.tobytes(order), dtype=array.dtype).reshape(array.shape, order=order)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view of an array that its owner alone can change."""
    view = array.view()
    view.flags.writeable = False
    return view


def _is_immutable(array: npt.NDArray[Any]) -> bool:
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, bytes) and not array.flags.writeable


def _sums(array: npt.NDArray[Any]) -> bytes:
    total = np.zeros(_CLASSES, dtype=np.uint64)
    for block in _blocks(array):
        data = block.reshape(-1).view(np.uint8)
        whole = len(data) // (8 * _CLASSES)
        total *= _ODD
        total += data[: whole * 8 * _CLASSES].view(np.uint64).reshape(whole, _CLASSES).sum(axis=0, dtype=np.uint64)
        rest = data[whole * 8 * _CLASSES :].tobytes()
        words = np.frombuffer(rest + bytes(-len(rest) % 8), dtype=np.uint64)
        total[: len(words)] += words
    return repr(array.shape).encode() + array.dtype.str.encode() + total.tobytes()


def _blocks(array: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Yield the entries as contiguous blocks, in the order in which they lie in memory."""
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array = array.T
    rows = max(1, 8 * _CLASSES * _DEPTH // max(array[:1].nbytes, 1))
    for first in range(0, len(array), rows):
        yield np.ascontiguousarray(array[first : first + rows])
