r"""The checker's own pass over samples on a device: a product in few bits, then one in double precision.

The device multiplies and adds; what its results prove is decided here. Of columns x, y of n entries, scaled so that
none is longer than 128 and rounded to half or single precision, the computed product differs from :math:`x^\top y` by
at most `_relative(n)` times the two norms and `_absolute(n)`, in whatever order and groups products are summed, if each
of the terms costs at most 2^-22 of the sum of their magnitudes (docs/gpu.md has the proof, and this one assumption).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from noap.linalg.device.columns import DeviceColumns
from noap.linalg.types import FloatArray, IntArray

__all__ = ["GROUPS", "gram_on_device", "group_of", "largest_entry", "pairs_on_device", "squares_on_device"]

GROUPS = 256
"""Groups of features, at most, that have one threshold each with each other."""

_LONGEST, _CHUNK = 128.0, 256
# Features of a tile: so many to the left, and so many entries in all, on an accelerator and elsewhere.
_LEFT, _ENTRIES, _ENTRIES_ON_HOST = 4096, 1 << 30, 1 << 22
# Samples that one product sums over, and what of their magnitudes a term may cost.
_ROWS, _TERM = 16384, 2.0**-22
# Rounding of a factor, of a result, and the least number, for each arithmetic; with a hundredth for rounding twice.
_HALF = (1.01 * 2.0**-11, 1.01 * 2.0**-11, 2.0**-24)
_TEN_BITS = (1.01 * 2.0**-10, 1.01 * 2.0**-24, 2.0**-120)
# Entries in double precision, chunks and pairs at a time.
_PIECE, _CHUNKS, _PAIRS = 1 << 26, 1 << 16, 1 << 25


def largest_entry(X: DeviceColumns) -> float:
    """Return the largest magnitude of an entry."""
    return max(float(np.abs(one).max(initial=0.0)) for one in X.extremes())


def squares_on_device(X: DeviceColumns, share: float) -> FloatArray:
    """Return the sums of squares of the columns times `share`, each in double precision in some order."""

    def of(block: Any) -> Any:
        block = block * share
        return X.library.xp.sum(block * block, axis=0)

    return X.reduced(of)


def gram_on_device(X: DeviceColumns, features: IntArray, share: float, rows: int) -> FloatArray:
    """Return the products of a few columns times `share`, summed over so many samples at a time, then one by one."""
    return X.gram(features, share, rows)


def group_of(count: int) -> int:
    """Return how many features, one after the other, are a group."""
    return _CHUNK * max(1, -(-count // (_CHUNK * GROUPS)))


def pairs_on_device(
    X: DeviceColumns,
    share: float,
    features: IntArray,
    norms: FloatArray,
    least: FloatArray,
    spent: Callable[[int, int, int], None],
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return every pair i < j of positions with a product of at least `least` of their groups, and its product.

    Parameters
    ----------
    share : float
        A power of two that columns are multiplied by.
    features : array of int, the longest column first
    norms : at least the norms of these columns, times share
    least : array of shape (g, g), of groups of `group_of` features
    spent : callable
        Told of every tile how many features it has to each side, and how many pairs were found so far; what it raises
        passes through.
    """
    library, xp, n, m = X.library, X.library.xp, X.shape[0], len(features)
    half = library.arithmetic == "float16"
    r, o, lowest = _HALF if half else _TEN_BITS
    exponent = math.floor(math.log2(0.999 * _LONGEST / float(norms[0])))
    A = _rounded(X, features, (share, math.ldexp(1.0, exponent)), half)
    top = np.ldexp(norms[:: group_of(m)], exponent) * (1.0 + 1e-12)
    slack = _relative(n, r, o) * np.outer(top, top) + _absolute(n, r, o, lowest)
    wanted = np.clip(np.ldexp(least, 2 * exponent) - slack, -1e30, 1e30)
    table = library.put((wanted - 1e-6 * np.abs(wanted)).astype(np.float32))
    high = min(_LEFT, A.shape[0])
    wide = max(_CHUNK, (_ENTRIES if library.accelerates else _ENTRIES_ON_HOST) // high // _CHUNK * _CHUNK)
    parts, count = [xp.empty((2, 0), dtype=library.kind("int64"), device=library.device)], 0
    for above in range(0, m, high):
        for left in range(above, m, wide):
            rows, cols = slice(above, min(above + high, A.shape[0])), slice(left, min(left + wide, A.shape[0]))
            G = _product(library, A[rows, :], A[cols, :])
            for part in _reaching(library, G, above, left, table, group_of(m), m):
                parts.append(part)
                count += part.shape[1]
            spent(rows.stop - above, cols.stop - left, count)
    del A
    places = xp.concat(parts, axis=1)
    pairs = np.array(library.host(places))
    return pairs[0], pairs[1], _in_doubles(X, features, share, pairs)


def _relative(n: int, r: float, o: float) -> float:
    """Return the error of factors rounded, n terms summed in parts, and the result rounded."""
    summed = (1.0 + _TERM * min(n, _ROWS)) * (1.0 + _TERM) ** -(-n // _ROWS)
    return ((1.0 + r) ** 2 * summed * (1.0 + o) - 1.0) * 1.001


def _absolute(n: int, r: float, o: float, lowest: float) -> float:
    """Return what factors and results too small for the arithmetic lose."""
    lost, parts = lowest * math.sqrt(n), -(-n // _ROWS)
    summed = (1.0 + _TERM * min(n, _ROWS)) * (1.0 + _TERM) ** parts
    tail = (2.0 * (1.0 + r) * _LONGEST + lost) * lost * summed
    return (tail + parts * lowest + n * 2.0**-120) * (1.0 + o) * 1.001


def _rounded(X: DeviceColumns, features: IntArray, shares: tuple[float, float], half: bool) -> Any:
    """Return the columns, times both shares, one after the other; zeros fill the last chunk."""
    library, n, m = X.library, X.shape[0], len(features)
    kind = "float16" if half else "float32"
    A = library.xp.zeros((-(-m // _CHUNK) * _CHUNK, n), dtype=library.kind(kind), device=library.device)
    for first in range(0, m, step := max(1, _PIECE // n)):
        part = X[:, features[first : first + step]].entries() * shares[0] * shares[1]
        A[first : first + part.shape[1], :] = library.cast(part, kind).T
    return A


def _product(library: Any, left: Any, right: Any) -> Any:
    with library.exactly(library.arithmetic):
        if left.shape[1] <= _ROWS:
            return left @ right.T
        total = None
        for start in range(0, left.shape[1], _ROWS):
            part = slice(start, min(start + _ROWS, left.shape[1]))
            product = library.cast(left[:, part] @ right[:, part].T, "float32")
            total = product if total is None else total + product
        return total


def _reaching(library: Any, G: Any, above: int, left: int, table: Any, group: int, m: int) -> list[Any]:
    """Return where a tile reaches its thresholds, as 2 x p arrays of positions i < j < m."""
    xp, (height, width) = library.xp, G.shape
    tops = library.cast(library.largest_sizes(xp.reshape(G, (height // _CHUNK, _CHUNK, width)), 1), "float32")
    rows = (above + _CHUNK * xp.arange(height // _CHUNK, device=library.device)) // group
    cols = (left + xp.arange(width, device=library.device)) // group
    wanted = library.take(library.take(table, rows, 0), cols, 1)
    # Not "at least as large": what is no number passes.
    chunks, at = xp.nonzero(~(tops < wanted))
    inside, found = xp.arange(_CHUNK, device=library.device), []
    for first in range(0, chunks.shape[0], _CHUNKS):
        part = slice(first, min(first + _CHUNKS, chunks.shape[0]))
        chunk, col = chunks[part], at[part]
        own = chunk[:, None] * _CHUNK + inside[None, :]
        sizes = library.take(xp.reshape(G, (-1,)), xp.reshape(own * width + col[:, None], (-1,)), 0)
        sizes = library.cast(xp.abs(xp.reshape(sizes, own.shape)), "float32")
        limits = library.take(xp.reshape(wanted, (-1,)), chunk * width + col, 0)
        right = (col + left)[:, None]
        which, entry = xp.nonzero(~(sizes < limits[:, None]) & (own + above < right) & (right < m))
        i = library.take(chunk, which, 0) * _CHUNK + entry + above
        found.append(xp.stack([i, library.take(col, which, 0) + left]))
    return [xp.concat(found, axis=1)] if found else []


def _in_doubles(X: DeviceColumns, features: IntArray, share: float, pairs: IntArray) -> FloatArray:
    """Return the products of pairs in double precision: n terms summed in some order."""
    library, products = X.library, [np.empty(0)]
    for first in range(0, pairs.shape[1], step := max(1, _PAIRS // X.shape[0])):
        left, right = (X[:, features[pairs[a, first : first + step]]].entries() * share for a in (0, 1))
        products.append(np.array(library.host(library.xp.sum(left * right, axis=0))))
    return np.concatenate(products)
