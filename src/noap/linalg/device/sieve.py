"""Pairs of columns whose inner product is large: a product in few bits, tile by tile, and an exact look at what passes.

Only tiles on and above the diagonal are made. A tile is looked at through the largest magnitude of every 256 entries of
a column, and what reaches its threshold there is looked at entry by entry. Nothing of size d^2 is held.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noap.linalg.device.columns import DeviceColumns
from noap.linalg.device.rounded import CHUNK, Rounded
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Found", "group_size", "large_products"]

# Columns of a tile: so many to the left, and as many to the right as give so many entries (on an accelerator, or not).
_LEFT = 4096
_ENTRIES, _ENTRIES_ON_HOST = 1 << 30, 1 << 22
# Groups of columns that have one threshold each with each other, at most.
_GROUPS = 256
# Chunks, and pairs, that are looked at together.
_CHUNKS, _PAIRS = 1 << 16, 1 << 14


class Found(NamedTuple):
    """Pairs i < j of positions, and their inner products, summed in double precision."""

    rows: IntArray
    columns: IntArray
    products: FloatArray


def group_size(count: int) -> int:
    """Return how many columns, one after the other, share their thresholds.

    Examples
    --------
    >>> group_size(1000), group_size(10**6)
    (256, 4096)
    """
    return CHUNK * max(1, -(-count // (CHUNK * _GROUPS)))


def large_products(
    columns: DeviceColumns,
    features: IntArray,
    norms: FloatArray,
    least: FloatArray,
    most: int,
    step: Callable[[int], None],
) -> Found | None:
    r"""Return all pairs of columns whose inner product is at least that of their groups, and some more.

    Parameters
    ----------
    columns : DeviceColumns
    features : array of m int
        The columns to look at, the longest first.
    norms : array of shape (m,)
        At least their norms.
    least : array of shape (g, g), symmetric
        For groups of `group_size` features: the least :math:`|x_i^\top x_j|` that counts.
    most : int
        Pairs that may be found at most; None comes back where there are more.
    step : callable
        Told after every tile how many pairs are done; what it raises passes through.
    """
    m, library = len(features), columns.library
    if m < 2:
        return Found(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    rounded = Rounded(columns, features, float(norms[0]))
    size = group_size(m)
    longest = norms[::size]
    margin = rounded.error.relative * np.outer(*[rounded_up(longest, rounded)] * 2) + rounded.error.absolute
    with np.errstate(over="ignore"):
        thresholds = np.clip(rounded.scaled(least) - margin, -1e30, 1e30)
    table = library.put((thresholds - 1e-6 * np.abs(thresholds)).astype(np.float32))
    tiles, count, done = [], 0, 0
    entries = _ENTRIES if library.accelerates else _ENTRIES_ON_HOST
    high = min(_LEFT, rounded.rows.shape[0])
    wide = max(CHUNK, entries // high // CHUNK * CHUNK)
    for top in range(0, m, high):
        for left in range(top, m, wide):
            rows = slice(top, min(top + high, rounded.rows.shape[0]))
            cols = slice(left, min(left + wide, rounded.rows.shape[0]))
            found = _in_tile(rounded, rows, cols, table, size, most - count)
            if found is None:
                return None
            count += found.shape[1]
            tiles.append(found)
            height = min(rows.stop, m) - top
            width = min(cols.stop, m) - left
            done += height * width - (height * (height + 1) // 2 if left == top else 0)
            step(done)
    del rounded
    places = library.xp.concat(tiles, axis=1)
    products = _exactly(columns, features, places)
    pairs = np.array(library.host(places))
    return Found(pairs[0], pairs[1], products)


def rounded_up(norms: FloatArray, rounded: Rounded) -> FloatArray:
    """Return at least the norms of columns in the units of `rounded`."""
    return np.ldexp(norms, rounded.exponent) * (1 + 1e-12)


def _in_tile(rounded: Rounded, rows: slice, cols: slice, table: Any, size: int, most: int) -> Any:
    """Return the pairs of one tile that reach their thresholds as a 2 x p array of positions, None if too many do."""
    library, xp = rounded.library, rounded.library.xp
    G = rounded.products(rows, cols)
    height, width = G.shape
    tops = library.cast(library.largest_sizes(xp.reshape(G, (height // CHUNK, CHUNK, width)), 1), "float32")
    row_groups = (rows.start + CHUNK * xp.arange(height // CHUNK, device=library.device)) // size
    col_groups = (cols.start + xp.arange(width, device=library.device)) // size
    wanted = library.take(library.take(table, row_groups, 0), col_groups, 1)
    chunks, at = xp.nonzero(tops >= wanted)
    flat, inside = xp.reshape(G, (-1,)), xp.arange(CHUNK, device=library.device)
    parts, count = [xp.empty((2, 0), dtype=library.kind("int64"), device=library.device)], 0
    for first in range(0, chunks.shape[0], _CHUNKS):
        part = slice(first, min(first + _CHUNKS, chunks.shape[0]))
        chunk, col = chunks[part], at[part]
        own = chunk[:, None] * CHUNK + inside[None, :]
        sizes = xp.abs(library.take(flat, xp.reshape(own * width + col[:, None], (-1,)), 0))
        sizes = library.cast(xp.reshape(sizes, own.shape), "float32")
        limits = library.take(xp.reshape(wanted, (-1,)), chunk * width + col, 0)
        upper = (own + rows.start < (col + cols.start)[:, None]) & ((col + cols.start)[:, None] < rounded.count)
        which, entry = xp.nonzero((sizes >= limits[:, None]) & upper)
        count += which.shape[0]
        if count > most:
            return None
        i = library.take(chunk, which, 0) * CHUNK + entry + rows.start
        parts.append(xp.stack([i, library.take(col, which, 0) + cols.start]))
    return xp.concat(parts, axis=1)


def _exactly(columns: DeviceColumns, features: IntArray, places: Any) -> FloatArray:
    """Return the inner products of pairs in double precision: n products and n - 1 additions in some order."""
    library = columns.library
    products = [np.empty(0)]
    order = library.put(features.astype(np.int64))
    count, step = places.shape[1], max(1, _PAIRS * 2048 // columns.shape[0])
    for first in range(0, count, step):
        part = slice(first, min(first + step, count))
        left, right = (columns.at(library.take(order, places[a, part], 0)).entries() for a in (0, 1))
        products.append(np.array(library.host(library.xp.sum(left * right, axis=0))))
    return np.concatenate(products)
