r"""Columns in an arithmetic of few bits, and by how much their products may be off.

Columns are scaled by one power of two so that the longest has a norm of at most 128, and rounded. For columns x, y of n
entries, with r the relative error of rounding a factor, o that of rounding a result, and a what a sum loses for each of
its terms, the computed product differs from :math:`x^\top y` by at most

.. math:: \bigl((1 + r)^2 (1 + a n)(1 + o) - 1\bigr)\,\|x\|\,\|y\| + \delta

where :math:`\delta` is what numbers below the range of the arithmetic may lose (docs/gpu.md has the proof).

=========  ==============  =================  ==============
           r               a                  o
=========  ==============  =================  ==============
float16    2^-11           2^-22              2^-11
tf32       2^-10           2^-22              0
float32    2^-24           2^-22              0
=========  ==============  =================  ==============

The one assumption about hardware is a: in whatever order and groups products are summed, and however sums are rounded
or truncated, each of the n terms costs at most four units of single precision, 2^-22, of the sum of their magnitudes.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.linalg.device.columns import DeviceColumns
from noap.linalg.types import FloatArray, IntArray

__all__ = ["CHUNK", "LONGEST", "ProductError", "Rounded", "product_error"]

LONGEST = 128.0
"""No column is longer than this after scaling: products stay below 2^14, far below the 65,504 of half precision."""
CHUNK = 256
"""Columns are filled up with columns of zeros to a multiple of this."""

# Roundings of factors and results; each is a hundredth above what it is for a rounding of a rounding. Then the least
# positive numbers of half precision, and a number below which single precision may lose everything.
_FACTORS = {"float16": 1.01 * 2.0**-11, "tf32": 1.01 * 2.0**-10, "float32": 1.01 * 2.0**-24}
_RESULTS = {"float16": 1.01 * 2.0**-11, "tf32": 1.01 * 2.0**-24, "float32": 1.01 * 2.0**-24}
_LEAST = {"float16": 2.0**-24, "tf32": 2.0**-120, "float32": 2.0**-120}
_TERM = 2.0**-22
# Samples whose products are summed by one product.
_ROWS = 16384
# Entries that are rounded at a time: 512 MB in double precision.
_PIECE = 1 << 26


@dataclass(frozen=True)
class ProductError:
    """A product of columns is off by at most relative |x||y| + absolute."""

    relative: float
    absolute: float


def product_error(arithmetic: str, n: int) -> ProductError:
    """Return the error of products of n terms, of columns of norm at most `LONGEST`.

    Examples
    --------
    >>> product_error("float16", 2048).relative < 2.1e-3
    True
    """
    r, o, least = _FACTORS[arithmetic], _RESULTS[arithmetic], _LEAST[arithmetic]
    parts = -(-n // _ROWS)
    summed = (1.0 + _TERM * min(n, _ROWS)) * (1.0 + _TERM) ** parts
    lost = least * math.sqrt(n)  # the norm of what factors below the range lose
    tail = (2.0 * (1.0 + r) * LONGEST + lost) * lost * summed + parts * least + n * 2.0**-120
    return ProductError(((1.0 + r) ** 2 * summed * (1.0 + o) - 1.0) * 1.0001, tail * (1.0 + o) * 1.0001)


class Rounded:
    """Some columns of a matrix on a device, rounded, one after the other in memory.

    Parameters
    ----------
    columns : DeviceColumns
    features : array of int
        Which columns, in which order.
    longest : float
        At least the norm of every one of them.

    Attributes
    ----------
    rows : m x n array on the device; m is a multiple of CHUNK, the last rows are 0
    exponent : int
        Entries are those of the columns times two to this.
    error : ProductError
    """

    def __init__(self, columns: DeviceColumns, features: IntArray, longest: float) -> None:
        library, n = columns.library, columns.shape[0]
        self.library, self.count, self.n = library, len(features), n
        self.arithmetic = library.arithmetic
        # Just below, because norms were rounded: no column may come to be longer.
        self.exponent = math.floor(math.log2(0.999 * LONGEST / longest)) if longest > 0 else 0
        self.error = product_error(self.arithmetic, n)
        kind = "float16" if self.arithmetic == "float16" else "float32"
        m = -(-max(self.count, 1) // CHUNK) * CHUNK
        self.rows = library.xp.zeros((m, n), dtype=library.kind(kind), device=library.device)
        # Two factors, neither of which leaves the range of doubles.
        half = self.exponent // 2
        first_share, second_share = math.ldexp(1.0, half), math.ldexp(1.0, self.exponent - half)
        step = max(1, _PIECE // n)
        for first in range(0, self.count, step):
            part = columns[:, features[first : first + step]].entries() * first_share * second_share
            self.rows[first : first + part.shape[1], :] = library.cast(part, kind).T

    def products(self, left: slice, right: slice) -> Any:
        """Return the products of some columns with others, within `error`; a result of half precision stays so."""
        with self.library.exactly(self.arithmetic):
            if self.n <= _ROWS:
                return self.rows[left, :] @ self.rows[right, :].T
            total = None
            for start in range(0, self.n, _ROWS):
                part = slice(start, min(start + _ROWS, self.n))
                product = self.library.cast(self.rows[left, part] @ self.rows[right, part].T, "float32")
                total = product if total is None else total + product
            return total

    def scaled(self, products: FloatArray) -> FloatArray:
        """Return products of columns in the units of `rows`."""
        return np.ldexp(products, 2 * self.exponent)
