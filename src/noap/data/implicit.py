"""Centring and scaling a sparse matrix without filling it."""

import warnings
from typing import Any

import numpy as np

from noap.data.validation import as_samples
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.implicit import ImplicitColumns

__all__ = ["centred"]


def centred(X: Any, *, scale: bool = False, names: tuple[str, ...] | None = None) -> ImplicitColumns:
    r"""Return a sparse X less its column means, without filling it: for problems with many features.

    Entries are those of the dense :math:`(X - \mu)/\sigma`, made when they are needed: a `Problem` of it has the values
    and the certificates of the dense matrix, in the memory of the sparse one.

    Parameters
    ----------
    X : SciPy sparse matrix of shape (n, d)
    scale : bool
        Divide by the standard deviations (ddof = 0). A constant column becomes 0, with one warning.
    names : tuple of str, optional
        Column names for the warning.

    Examples
    --------
    >>> import noap
    >>> from scipy.sparse import csr_array
    >>> X = noap.centred(csr_array([[0.0, 3.0, 0.0], [2.0, 3.0, 1.0], [4.0, 0.0, 1.0], [2.0, 0.0, 0.0]]))
    >>> noap.solve(noap.Problem(X, k=2, adversary=noap.NoAdversary())).support
    array([0, 1])
    """
    data, _ = as_samples(X)
    if isinstance(data, (np.ndarray, ImplicitColumns)):
        raise InvalidProblem("X must be a sparse matrix of SciPy; centre a dense one with X - X.mean(axis=0).")
    n, d = data.shape
    if n == 1:
        raise InvalidProblem("X has one sample, which centring turns into zero; add samples.")
    sparse = data.astype(np.float64)
    if not sparse.has_canonical_format:
        sparse.sum_duplicates()
    mean = np.bincount(sparse.indices, weights=sparse.data, minlength=d) / n
    scales = np.ones(d)
    if scale:
        stored = np.bincount(sparse.indices, minlength=d)
        away = np.bincount(sparse.indices, weights=(sparse.data - mean[sparse.indices]) ** 2, minlength=d)
        spread = np.sqrt((away + (n - stored) * mean**2) / n)
        # Rounding in the mean leaves a constant column a spread of a few ulps instead of 0.
        constant = spread <= 1e-12 * np.maximum(np.abs(mean), spread.max(initial=0.0))
        scales = np.where(constant, np.inf, spread)
        if constant.any():
            labels = [names[j] if names is not None else str(j) for j in np.flatnonzero(constant)]
            shown = ", ".join(labels[:5]) + (", ..." if len(labels) > 5 else "")
            warnings.warn(f"Constant columns become 0: {shown}.", NoapWarning, stacklevel=2)
    return ImplicitColumns(sparse, mean, scales)
