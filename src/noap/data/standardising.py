"""Centring and scaling, done before the adversary acts."""

import warnings
from typing import Any

import numpy as np

from noap.data.validation import as_samples
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.products import column_norms
from noap.linalg.types import Data, FloatArray

__all__ = ["scale_sparse", "standardise"]


def standardise(
    X: Any, *, center: bool, scale: bool, names: tuple[str, ...] | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return :math:`(X - \mu)/\sigma`, the means and the scales.

    Parameters
    ----------
    X : array-like of shape (n, d)
    center : bool
        Subtract the column means; needs at least two samples.
    scale : bool
        Divide by the column standard deviations (ddof = 0; root mean squares if not centred). A constant column
        keeps scale 1, with one warning.
    names : tuple of str, optional
        Column names for the warning; those of a DataFrame by default.

    Returns
    -------
    Z : array of shape (n, d)
    mean, scales : arrays of shape (d,)

    Examples
    --------
    >>> import numpy as np
    >>> standardise(np.array([[1.0, 2.0], [3.0, 6.0]]), center=True, scale=True)[0]
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    data, own_names = as_samples(X)
    names = names or own_names
    dense = data if isinstance(data, np.ndarray) else data.toarray()
    n, d = dense.shape
    if center and n == 1:
        raise InvalidProblem("X has one sample, which centring turns into zero; add samples or switch centring off.")
    mean = dense.mean(axis=0, dtype=np.float64) if center else np.zeros(d)
    Z = np.asarray(dense - mean, dtype=dense.dtype)
    scales = np.ones(d)
    if scale:
        spread = np.sqrt(np.einsum("ij,ij->j", Z, Z, dtype=np.float64) / n)
        # Rounding in the mean leaves a constant column a spread of a few ulps instead of 0.
        constant = spread <= 1e-12 * np.maximum(np.abs(mean), spread.max(initial=0.0))
        scales[~constant] = spread[~constant]
        Z = np.asarray(Z / scales, dtype=dense.dtype)
        Z[:, constant & (mean != 0)] = 0.0
        if constant.any():
            labels = [names[j] if names is not None else str(j) for j in np.flatnonzero(constant)]
            shown = ", ".join(labels[:5]) + (", ..." if len(labels) > 5 else "")
            warnings.warn(f"Constant columns keep scale 1: {shown}.", NoapWarning, stacklevel=2)
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
    scales = np.ones(d)
    if not scale:
        return X, scales
    lengths = column_norms(X) / np.sqrt(n)
    scales[lengths > 0] = lengths[lengths > 0]
    scaled = X.copy()
    scaled.data = np.asarray(scaled.data / scales[scaled.indices], dtype=X.dtype)
    return scaled, scales
