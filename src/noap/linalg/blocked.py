r"""Inner products of many columns, a block at a time: no d x d array, and single precision with a stated error.

For columns y_i, y_j of n entries rounded to single precision, and a sum of products in any order, the computed product
is off by at most :math:`\gamma\,\|y_i\|\,\|y_j\|` with :math:`\gamma = (n + 4)u/(1 - (n + 4)u)`, :math:`u = 2^{-24}`:
n - 1 additions, one product, and two roundings of each factor. Samples are summed in parts of some thousands, these in
double precision, so that n is the length of a part.
"""

import math
from collections.abc import Iterator

import numpy as np

from noap.linalg.products import columns
from noap.linalg.types import Data, FloatArray, IntArray

__all__ = ["MANY_FEATURES", "WIDTH", "ScaledColumns", "single_error"]

MANY_FEATURES = 2000
"""With samples of more features than this X'X is not formed where less will do: it takes 32 MB there."""

# Columns of a block. Its product with another takes 16 MB in single precision.
WIDTH = 2048
# Samples whose products are summed in single precision.
_ROWS = 4096
_SINGLE = 2.0**-24


def single_error(n: int) -> float:
    """Return by how much a product in single precision may be off, in units of the two norms.

    Examples
    --------
    >>> 1e-5 > single_error(100) > 100 * 2.0**-24
    True
    """
    lost = (min(n, _ROWS) + 4) * _SINGLE
    return 1.001 * lost / (1.0 - lost) + 1e-14


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
        # Columns of a sparse matrix are found quickly only where they are stored together.
        self.X = X.tocsc() if hasattr(X, "tocsc") else X
        self.n = int(X.shape[0])
        top = float(norms.max()) ** 2 / self.n
        self.exponent = round(math.log(top, 4.0)) if top > 0 else 0
        self._share = math.ldexp(1.0, -self.exponent)
        self.squares: FloatArray = (norms * self._share) ** 2 / self.n

    @property
    def unit(self) -> float:
        """What squares and products are divided by: 4^e."""
        return math.ldexp(1.0, 2 * self.exponent)

    def taken(self, features: IntArray) -> FloatArray:
        """Return the n x m columns of these features, times the root of n."""
        return columns(self.X, features) * self._share

    def gram(self, features: IntArray) -> FloatArray:
        """Return the m x m inner products of these features in double precision."""
        block = self.taken(features)
        product: FloatArray = block.T @ block
        return product / self.n

    def loadings(self, features: IntArray, weights: FloatArray) -> FloatArray:
        """Return the d x b inner products of all columns with b combinations, in the columns of weights, of a few."""
        combined = self.taken(features) @ weights
        pulled: FloatArray = (self.X.T @ combined.astype(self.X.dtype)) * (self._share / self.n)
        return pulled

    def products(self, features: IntArray, width: int = WIDTH) -> "Iterator[tuple[int, int, FloatArray]]":
        """Yield (i, j, G) that cover all pairs: G holds the products of features[i:] with features[j:], i <= j.

        In single precision, within `single_error` times the norms. On the diagonal, i = j, G has every pair twice.
        """
        for i in range(0, len(features), width):
            left = self._single(features[i : i + width])
            for j in range(i, len(features), width):
                right = left if i == j else self._single(features[j : j + width])
                yield i, j, self._product(left, right)

    def rows(self, chosen: IntArray, features: IntArray) -> FloatArray:
        """Return the products of the chosen columns with those of the features, in single precision."""
        return self._product(self._single(chosen), self._single(features))

    def _single(self, features: IntArray) -> FloatArray:
        return self.taken(features).astype(np.float32)

    def _product(self, left: FloatArray, right: FloatArray) -> FloatArray:
        share = np.float32(1.0 / self.n)
        if self.n <= _ROWS:
            product: FloatArray = left.T @ right
            product *= share
            return product
        total = np.zeros((left.shape[1], right.shape[1]))
        for start in range(0, self.n, _ROWS):
            part = slice(start, start + _ROWS)
            total += left[part].T @ right[part]
        total *= 1.0 / self.n
        return total.astype(np.float32)
