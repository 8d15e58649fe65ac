"""The columns that go best with some of the columns on a device."""

from collections.abc import Callable

import numpy as np

from noap.linalg.device.columns import DeviceColumns
from noap.linalg.device.rounded import CHUNK, Rounded
from noap.linalg.types import FloatArray, IntArray

__all__ = ["nearest_columns"]

# Entries of a product that are held, on an accelerator and elsewhere.
_ENTRIES, _ENTRIES_ON_HOST = 1 << 30, 1 << 24


def nearest_columns(
    columns: DeviceColumns, order: IntArray, longest: float, some: int, count: int, step: Callable[[int], None]
) -> "tuple[FloatArray, IntArray]":
    """Return the largest inner products of the first `some` columns of the order with all, and whose they are.

    Parameters
    ----------
    columns : DeviceColumns
    order : array of int
    longest : float
        At least the norm of every column.
    some, count : int
        How many columns are asked about, and how many products of each are wanted, its own among them.
    step : callable
        Told how many columns are done.

    Returns
    -------
    sizes : array of shape (some, count), largest first
    places : array of shape (some, count), positions in the order
    """
    library, xp = columns.library, columns.library.xp
    rounded = Rounded(columns, order, longest)
    m = rounded.rows.shape[0]
    entries = _ENTRIES if library.accelerates else _ENTRIES_ON_HOST
    # Products of half precision are slow where their rows are of odd lengths.
    width = min(some, max(entries // m // CHUNK, 1) * CHUNK)
    sizes, places = [], []
    chunks_wanted = min(count, m // CHUNK)
    inside = xp.arange(CHUNK, device=library.device)
    for first in range(0, some, width):
        block = slice(first, min(first + width, some))
        G = rounded.products(slice(0, m), block)
        wide = G.shape[1]
        tops = library.largest_sizes(xp.reshape(G, (m // CHUNK, CHUNK, wide)), 1)
        chunks = library.top(xp.asarray(tops.T, copy=True), chunks_wanted)
        own = xp.reshape(chunks[:, :, None] * CHUNK + inside[None, None, :], (wide, -1))
        at = own * wide + xp.arange(wide, device=library.device)[:, None]
        seen = xp.reshape(xp.abs(library.take(xp.reshape(G, (-1,)), xp.reshape(at, (-1,)), 0)), own.shape)
        best = library.top(seen, count)
        places.append(np.array(library.host(xp.take_along_axis(own, best, axis=1))))
        found = library.cast(xp.take_along_axis(seen, best, axis=1), "float32")
        sizes.append(np.ldexp(library.host(found).astype(np.float64), -2 * rounded.exponent))
        step(block.stop)
    # Columns of zeros beyond the last are nobody's.
    return np.concatenate(sizes), np.minimum(np.concatenate(places), len(order) - 1)
