"""Centring and scaling, done before the adversary acts: one way, to the last bit, for everybody.

A certificate is about data to the last bit. Everything here is made of additions, products, quotients and roots entry
by entry, which every machine rounds alike, in an order that is fixed: neither the layout of an array, nor whether it is
sparse, nor the width of a processor's registers changes a digit.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from noap.data.identifiers import warn_of_identifiers
from noap.data.validation import as_samples, names_of
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.mapped import empty_like
from noap.linalg.types import BoolArray, Data, FloatArray
from noap.runtime.names import listed

__all__ = ["centre_and_scale", "scale_sparse", "standardize"]

# Rows that are added side by side: so many that a block has about this many entries, and 16 at least.
_BLOCK_ENTRIES, _FEWEST_ROWS = 2**14, 16
# Entries that are centred or scaled at a time: what is in a file does not come into memory as a whole.
_PIECE_ENTRIES = 2**22
_ROW_ENTRIES = 2**10


def standardize(X: Any, center: bool = True, scale: bool = True) -> Any:
    r"""Return :math:`(X - \mathrm{mean})/\mathrm{scale}`, the data that the command line and the estimators work on.

    The command line does this to every file unless told otherwise, and :class:`noap.RobustSparsePCA` with
    ``scale=True``: to the last bit the same, so that a certificate made in one place is about the data of another. A
    formula of your own gives other last digits, which are other data.

    Parameters
    ----------
    X : array-like, DataFrame or SciPy sparse matrix of shape (n, d)
        float32 stays float32, a DataFrame a DataFrame with its names and index, and what is in a file (numpy.memmap)
        of more than 256 MB becomes a file without a name in the folder for temporary ones.
    center : bool
        Subtract the column means; needs at least two samples, and fills a sparse X.
    scale : bool
        Divide by the column standard deviations (ddof = 0; root mean squares if not centred). A constant column keeps
        scale 1, with one warning.

    Returns
    -------
    array, DataFrame or CSR array of shape (n, d)

    Examples
    --------
    >>> import noap
    >>> noap.standardize([[1.0, 2.0], [3.0, 6.0]])
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    samples = as_samples(X)
    warn_of_identifiers(X, samples.data)
    if not center and not isinstance(samples.data, np.ndarray):
        return scale_sparse(samples.data, scale=scale)[0]
    Z, _, _ = centre_and_scale(samples, center=center, scale=scale)
    if names_of(X) is None:
        return Z
    # Those of pandas have an index.
    return type(X)(Z, index=X.index, columns=X.columns) if hasattr(X, "iloc") else type(X)(Z, schema=list(X.columns))


def centre_and_scale(
    X: Any, *, center: bool, scale: bool, names: tuple[str, ...] | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return :math:`(X - \mu)/\sigma` as a dense array, the means and the scales: `standardize`, with what it took.

    Parameters
    ----------
    X : array-like of shape (n, d)
    center, scale : bool
    names : tuple of str, optional
        Column names for the warning; those of a DataFrame by default.

    Returns
    -------
    Z : array of shape (n, d)
    mean, scales : arrays of shape (d,)

    Examples
    --------
    >>> centre_and_scale(np.array([[1.0, 2.0], [3.0, 6.0]]), center=True, scale=True)[1:]
    (array([2., 4.]), array([1., 2.]))
    """
    data, own_names = as_samples(X)
    names = names or own_names
    dense = data if isinstance(data, np.ndarray) else data.toarray()
    n, d = dense.shape
    if center and n == 1:
        raise InvalidProblem("X has one sample, which centring turns into zero; add samples or switch centring off.")
    mean = _column_sums(dense) / n if center else np.zeros(d)
    Z = empty_like(dense)
    _each_block(np.subtract, dense, mean, Z)
    scales = np.ones(d)
    if scale:
        scales, constant = _scales(np.sqrt(_column_sums(Z, squared=True) / n), mean)
        _each_block(np.divide, Z, scales, Z)
        Z[:, constant & (mean != 0)] = 0.0
        if constant.any():
            labels = [names[j] if names is not None else str(j) for j in np.flatnonzero(constant)]
            warnings.warn(f"Constant columns keep scale 1: {listed(labels, 5)}.", NoapWarning, stacklevel=2)
    return Z, mean, scales


def scale_sparse(X: Data, *, scale: bool) -> tuple[Data, FloatArray]:
    r"""Return a sparse X divided by the root mean squares of its columns, and these; zero columns keep scale 1.

    Parameters
    ----------
    X : CSR array of shape (n, d)
    scale : bool
        False leaves X as it is, with scales of 1.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> scale_sparse(csr_array([[0.0, 3.0], [2.0, 3.0]]), scale=True)[1].round(3)
    array([1.414, 3.   ])
    """
    n, d = X.shape
    if not scale:
        return X, np.ones(d)
    scaled = X.copy()
    scaled.sum_duplicates()
    scales, _ = _scales(np.sqrt(_column_sums(scaled, squared=True) / n), np.zeros(d))
    scaled.data = np.asarray(scaled.data / scales[scaled.indices], dtype=X.dtype)
    return scaled, scales


def _each_block(operation: np.ufunc, X: FloatArray, row: FloatArray, out: FloatArray) -> None:
    """Do something with every row of X and one row of doubles, rounded once more where X is in single precision."""
    n, d = X.shape
    # Several rows as one: what is done entry by entry is done faster along longer rows.
    fold = max(1, _ROW_ENTRIES // max(d, 1)) if X.flags.c_contiguous and out.flags.c_contiguous else 1
    step = fold * max(1, _PIECE_ENTRIES // max(fold * d, 1))
    for first in range(0, n, step):
        last = min(first + step, n)
        whole = last - (last - first) % fold
        for rows, times in ((slice(first, whole), fold), (slice(whole, last), 1)):
            pieces = (one[rows].reshape(-1, times * d) for one in (X, out))
            operation(next(pieces), np.tile(row, times), out=next(pieces), casting="same_kind")


def _scales(spread: FloatArray, mean: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return what columns of that spread are divided by, and which of them are constant."""
    # Rounding in the mean leaves a constant column a spread of a few ulps instead of 0.
    constant: BoolArray = spread <= 1e-12 * np.maximum(np.abs(mean), spread.max(initial=0.0))
    return np.where(constant, 1.0, spread), constant


def _column_sums(X: Data, squared: bool = False) -> FloatArray:
    """Return the sums of the columns, or of their squares, in float64.

    Row i is added to row i mod b of a block of b rows, whose lower half is then added to the upper one until one row is
    left.
    """
    n, d = X.shape
    rows = _rows_of_sums(n, d)
    if isinstance(X, np.ndarray):
        sums = np.zeros((rows, d))
        for block in _blocks(X, rows, squared):
            sums[: len(block)] += block
    else:
        entries = X.data.astype(np.float64)
        # Entries of one place are added in the order in which they are stored: row by row.
        places = (np.repeat(np.arange(n), np.diff(X.indptr)) % rows) * d + X.indices
        weights = entries * entries if squared else entries
        sums = np.bincount(places, weights=weights, minlength=rows * d).reshape(rows, d)
    while len(sums) > 1:
        half = (len(sums) + 1) // 2
        sums[: len(sums) - half] += sums[half:]
        sums = sums[:half]
    column_sums: FloatArray = sums[0]
    return column_sums


def _rows_of_sums(n: int, d: int) -> int:
    """Return how many rows are added side by side."""
    return min(max(_FEWEST_ROWS, _BLOCK_ENTRIES // d), n)


def _blocks(X: np.ndarray, rows: int, squared: bool) -> Iterator[np.ndarray]:
    for first in range(0, len(X), rows):
        block = X[first : first + rows]
        yield np.multiply(block, block, dtype=np.float64) if squared else block
