"""Long arrays a part at a time: a file decides how long they are, so nothing of their size is made on the way."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.types import IntArray

__all__ = ["all_finite", "largest", "parts", "steps", "unusable_array"]

_LENGTH = 1 << 16


def parts(length: int) -> Iterator[slice]:
    """Yield slices that cover so many entries.

    Examples
    --------
    >>> list(parts(70_000))
    [slice(0, 65536, None), slice(65536, 131072, None)]
    """
    for start in range(0, length, _LENGTH):
        yield slice(start, start + _LENGTH)


def all_finite(array: npt.NDArray[Any]) -> bool:
    """Whether no entry is infinite or NaN."""
    return all(bool(np.isfinite(array[part]).all()) for part in parts(len(array)))


def largest(array: npt.NDArray[Any]) -> int:
    """Return the largest entry, -1 if there is none."""
    return int(array.max()) if len(array) else -1


def steps(starts: npt.NDArray[Any]) -> Iterator[IntArray]:
    """Yield the differences of neighbours, signed, whatever the type of the entries.

    Examples
    --------
    >>> list(steps(np.array([0, 3, 1], dtype=np.uint32)))
    [array([ 3, -2])]
    """
    for part in parts(len(starts) - 1):
        some: IntArray = starts[part.start : part.stop + 1].astype(np.int64)
        yield some[1:] - some[:-1]


def unusable_array(proof: object, types: Mapping[str, np.dtype[Any]]) -> str | None:
    """Return which array of a proof is not one-dimensional, finite and of its type; None if none is."""
    for name, kind in types.items():
        array = getattr(proof, name)
        if not (isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == kind):
            return f"array {name!r} is of the wrong type"
        if array.dtype.kind == "f" and not all_finite(array):
            return f"array {name!r} has entries that are not finite"
    return None
