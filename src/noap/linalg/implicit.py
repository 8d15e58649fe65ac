"""A sparse matrix whose columns are centred and scaled when they are looked at, and never before.

An entry is (x - mean_j)/scale_j, each operation rounded once: the very doubles of the dense matrix that was centred and
scaled so, only that they are not kept. Fingerprints, values and proofs are those of that matrix. Whoever needs entries
takes some rows or columns; products with all of it, for those who need no last digit, take the sparse entries and a
correction of rank one.
"""

from typing import Any

import numpy as np

from noap.linalg.types import FloatArray, IntArray

__all__ = ["ImplicitColumns"]


class ImplicitColumns:
    """An n x d matrix like a sparse one of SciPy, as far as noap uses those: slices, `toarray`, products.

    Parameters
    ----------
    sparse : CSR or CSC array of shape (n, d), in canonical format
    mean, scale : arrays of shape (d,)
        An infinite scale makes a column 0.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = ImplicitColumns(csr_array([[0.0, 3.0], [2.0, 0.0]]), np.array([1.0, 1.5]), np.array([1.0, 1.5]))
    >>> X.toarray()
    array([[-1.,  1.],
           [ 1., -1.]])
    >>> X.T @ np.array([1.0, -1.0])
    array([-2.,  2.])
    """

    ndim = 2

    def __init__(self, sparse: Any, mean: FloatArray, scale: FloatArray) -> None:
        self.sparse, self.mean, self.scale = sparse, mean, scale

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return int(self.sparse.shape[0]), int(self.sparse.shape[1])

    @property
    def dtype(self) -> Any:
        """What its entries are."""
        return np.dtype(np.float64)

    def __getitem__(self, key: Any) -> "ImplicitColumns":
        if not isinstance(key, tuple):
            return ImplicitColumns(self.sparse[key], self.mean, self.scale)
        rows, columns = key
        return ImplicitColumns(self.sparse[rows][:, columns], self.mean[columns], self.scale[columns])

    def toarray(self, order: str | None = None) -> FloatArray:
        """Return the entries, row by row in memory, or column by column if the order is "F"."""
        dense: FloatArray = self.sparse.toarray(order=order).astype(np.float64, copy=False)
        dense -= self.mean
        dense /= self.scale
        return dense

    def tocsc(self) -> "ImplicitColumns":
        """Return the same, with columns that are found quickly."""
        return ImplicitColumns(self.sparse.tocsc(), self.mean, self.scale)

    def with_columns(self, features: IntArray, entries: FloatArray) -> "ImplicitColumns":
        """Return the same with other entries, of shape (n, m), in the columns of these m features."""
        from scipy.sparse import csr_array

        n, d = self.shape
        kept = np.ones(d, dtype=np.bool_)
        kept[features] = False
        left = csr_array(self.sparse.multiply(kept))
        left.eliminate_zeros()
        rows, columns = np.repeat(np.arange(n), len(features)), np.tile(features, n)
        filled = csr_array((entries.ravel(), (rows, columns)), shape=(n, d))
        mean, scale = self.mean.copy(), self.scale.copy()
        mean[features], scale[features] = 0.0, 1.0
        return ImplicitColumns(csr_array(left + filled), mean, scale)

    @property
    def T(self) -> "_Transposed":  # noqa: N802 - as NumPy calls it
        """What multiplies vectors of n entries."""
        return _Transposed(self)

    def __matmul__(self, right: FloatArray) -> FloatArray:
        weights = (right.T / self.scale).T
        product: FloatArray = self.sparse @ weights - self.mean @ weights
        return product


class _Transposed:
    def __init__(self, whole: ImplicitColumns) -> None:
        self.whole = whole

    def __matmul__(self, right: FloatArray) -> FloatArray:
        whole = self.whole
        product = whole.sparse.T @ right - np.multiply.outer(whole.mean, right.sum(axis=0))
        product = (product.T / whole.scale).T
        return np.asarray(product)
