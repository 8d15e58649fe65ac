r"""Inner products of many columns, a block at a time: no d x d array, and single precision with a stated error.

For columns y_i, y_j of n entries rounded to single precision, and a sum of products in any order, the computed product
is off by at most :math:`\gamma\,\|y_i\|\,\|y_j\|` with :math:`\gamma = (n + 4)u/(1 - (n + 4)u)`, :math:`u = 2^{-24}`:
n - 1 additions, one product, and two roundings of each factor. Samples are summed in parts of some thousands, these in
double precision, so that n is the length of a part.
"""

import math

import numpy as np

from noap.linalg.device.columns import DeviceColumns
from noap.linalg.mapped import by_columns
from noap.linalg.products import columns, row_blocks
from noap.linalg.types import Data, FloatArray, IntArray

__all__ = ["MANY_FEATURES", "WIDTH", "ScaledColumns", "single_error", "single_product"]

MANY_FEATURES = 2000
"""With samples of more features than this X'X is not formed where less will do: it takes 32 MB there."""

# Columns of a block, where samples are not so many that it would take more than 64 MB in double precision. Its product
# with another takes 16 MB in single precision.
WIDTH, _NARROWEST, _ENTRIES = 2048, 64, 1 << 23
# Samples whose products are summed in single precision, and those that are made dense together for a sum in double.
_ROWS, _DOUBLE_ROWS = 4096, 8192
_SINGLE = 2.0**-24
# Powers of two up to this are numbers of single precision, and a product with one is rounded as it is from double.
_SINGLE_EXPONENTS = 100


def single_error(n: int) -> float:
    """Return by how much a product in single precision may be off, in units of the two norms.

    Examples
    --------
    >>> 1e-5 > single_error(100) > 100 * 2.0**-24
    True
    """
    lost = (min(n, _ROWS) + 4) * _SINGLE
    return 1.001 * lost / (1.0 - lost) + 1e-14


def single_product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the inner products over n of columns in single precision, within `single_error` times the norms.

    Examples
    --------
    >>> one = np.ones((4, 2), dtype=np.float32)
    >>> single_product(one, one)
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    n = len(left)
    share = np.float32(1.0 / n)
    if n <= _ROWS:
        product: FloatArray = left.T @ right
        product *= share
        return product
    total = np.zeros((left.shape[1], right.shape[1]))
    for start in range(0, n, _ROWS):
        part = slice(start, start + _ROWS)
        total += left[part].T @ right[part]
    total *= 1.0 / n
    return total.astype(np.float32)


class ScaledColumns:
    r"""The columns :math:`a_j` of :math:`X/(\sqrt n\, 2^e)`, dense, some at a time.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    norms : array of shape (d,)
        The norms of the columns of X.

    Attributes
    ----------
    exponent : int
        The e that brings the longest column near to 1: a power of two, so that no digit changes.
    squares : array of shape (d,)
        The squared norms of the a_j, to rounding.

    Examples
    --------
    >>> data = ScaledColumns(np.array([[3.0, 0.0], [4.0, 1.0]]), np.array([5.0, 1.0]))
    >>> data.unit * data.gram(np.array([0, 1]))
    array([[12.5,  2. ],
           [ 2. ,  0.5]])
    """

    def __init__(self, X: Data, norms: FloatArray) -> None:
        self.X = by_columns(X)
        self.n = int(X.shape[0])
        top = float(norms.max()) ** 2 / self.n
        self.exponent = round(math.log(top, 4.0)) if top > 0 else 0
        self._share = math.ldexp(1.0, -self.exponent)
        self.squares: FloatArray = (norms * self._share) ** 2 / self.n

    @property
    def on_device(self) -> DeviceColumns | None:
        """The columns where they lie on a device, None where they do not."""
        return self.X if isinstance(self.X, DeviceColumns) else None

    @property
    def share(self) -> float:
        """What entries of X are multiplied by: 2^-e."""
        return self._share

    @property
    def unit(self) -> float:
        """What squares and products are divided by: 4^e."""
        return math.ldexp(1.0, 2 * self.exponent)

    @property
    def width(self) -> int:
        """How many columns make a block."""
        return WIDTH if WIDTH * self.n <= _ENTRIES else max(_NARROWEST, _ENTRIES // self.n // 16 * 16)

    def taken(self, features: IntArray) -> FloatArray:
        """Return the n x m columns of these features, times the root of n."""
        block = columns(self.X, features)  # a copy, whatever X is
        block *= self._share
        return block

    def single(self, features: IntArray) -> FloatArray:
        """Return the same in single precision."""
        if isinstance(self.X, np.ndarray) and self.X.dtype == np.float32 and abs(self.exponent) <= _SINGLE_EXPONENTS:
            block = np.asfortranarray(self.X[:, features])
            block *= np.float32(self._share)
            return block
        return self.taken(features).astype(np.float32)

    def gram(self, features: IntArray) -> FloatArray:
        """Return the m x m inner products of these features in double precision."""
        if self.on_device is not None:
            return self.on_device.gram(features, self._share) / self.n
        if self.n <= _DOUBLE_ROWS:
            block = self.taken(features)
            product: FloatArray = block.T @ block
            return product / self.n
        total = np.zeros((len(features), len(features)))
        some = self.X[:, features] if hasattr(self.X, "tocsc") else self.X
        for start in range(0, self.n, _DOUBLE_ROWS):
            part = some[start : start + _DOUBLE_ROWS]
            dense = part.toarray(order="F") if some is not self.X else part[:, features]
            block = np.asfortranarray(dense, dtype=np.float64)
            block *= self._share
            total += block.T @ block
        return total / self.n

    def loadings(self, features: IntArray, weights: FloatArray) -> FloatArray:
        """Return the d x b inner products of all columns with b combinations, in the columns of weights, of a few.

        In single precision, of products in double: the last digits of those depend on how X is stored.
        """
        combined = self.taken(features) @ weights
        if isinstance(self.X, np.ndarray) and self.X.dtype != np.float64:
            total, seen = np.zeros((self.X.shape[1], combined.shape[1])), 0
            for block in row_blocks(self.X):
                total += block.T @ combined[seen : seen + len(block)]
                seen += len(block)
        else:
            total = self.X.T @ combined
        with np.errstate(over="ignore"):  # columns that count as 0, whatever they are
            pulled: FloatArray = (total * (self._share / self.n)).astype(np.float32)
        return pulled

    def rows(self, chosen: IntArray, features: IntArray) -> FloatArray:
        """Return the products of the chosen columns with those of the features, in single precision."""
        if self.on_device is not None:
            return self.on_device.products(chosen, features, self._share / math.sqrt(self.n))
        left, starts = self.single(chosen), range(0, len(features), self.width)
        return np.hstack([single_product(left, self.single(features[i : i + self.width])) for i in starts])
