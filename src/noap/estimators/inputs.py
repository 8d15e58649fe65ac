"""What the estimators take as X: numbers, dense or sparse; what is missing is refused or filled, by name."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from noap.data.chunks import is_dask_array, read_dask
from noap.data.identifiers import warn_of_identifiers
from noap.data.validation import require_numbers
from noap.errors import InvalidProblem
from noap.linalg.types import BoolArray, Data, FloatArray, refuse_mask

__all__ = ["MISSING", "Filling", "checked_samples", "fill", "filling_of", "is_sparse", "missing_counts", "names_in"]

MISSING = ("error", "impute")


class Filling(NamedTuple):
    """What stands in for missing entries.

    Per feature: the mean of those that are there, the share that is not, and the standard deviation of those that are
    there: by so much, in root mean square, the mean misses entries that are like them.
    """

    values: FloatArray
    shares: FloatArray
    spread: FloatArray


def names_in(estimator: Any) -> tuple[str, ...] | None:
    """Return the feature names that the estimator has seen, None for none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse array or matrix of SciPy."""
    return type(X).__module__.startswith("scipy.sparse")


def checked_samples(estimator: Any, X: Any, *, reset: bool, missing: str) -> Data:
    """Return X as scikit-learn wants it checked; what is missing may stay only with missing="impute".

    Parameters
    ----------
    estimator : the estimator, whose number and names of features are set (reset) or compared
    X : array-like, DataFrame or sparse matrix of shape (n, d)
    reset : bool
    missing : "error" or "impute"
    """
    if missing not in MISSING:
        raise InvalidProblem(f"missing must be one of {MISSING}, got {missing!r}.")
    refuse_mask(X)
    if is_dask_array(X):
        X = read_dask(X)
    try:
        data: Data = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            # Looked at below, where columns have names.
            ensure_all_finite=False,
        )
    except (TypeError, ValueError):
        require_numbers(X)
        raise
    if reset:
        warn_of_identifiers(X, data)
    if is_sparse(data):
        data = _canonical(data)
    suspects = _suspects(data)
    if not suspects.size:
        return data
    names = names_in(estimator)
    infinite = _columns_with(data, suspects, np.isinf)
    if infinite.size:
        raise InvalidProblem(f"X contains infinity in column {_label(infinite[0], names)}; drop or correct it first.")
    if missing == "error":
        holes = _columns_with(data, suspects, np.isnan)
        if holes.size:
            raise InvalidProblem(
                f"X contains NaN in column {_label(holes[0], names)}; fill it first, for example with "
                "sklearn.impute.SimpleImputer, or pass missing='impute'."
            )
    return data


def filling_of(X: Data, names: tuple[str, ...] | None) -> Filling:
    """Return the means of what is there, and its standard deviations, per column of the samples X."""
    holes = missing_counts(X)
    here = X.shape[0] - holes
    if not here.all():
        empty = _label(int(np.flatnonzero(here == 0)[0]), names)
        raise InvalidProblem(f"X has nothing but NaN in column {empty}, so there is nothing to impute from; drop it.")
    if isinstance(X, np.ndarray):
        sums: FloatArray = np.nansum(X, axis=0, dtype=np.float64)
    else:
        present = np.nan_to_num(X.data.astype(np.float64))
        sums = np.bincount(X.indices, weights=present, minlength=X.shape[1]).astype(np.float64)
    values = sums / here
    return Filling(values, holes / X.shape[0], _spread(X, values))


def fill(X: Data, values: FloatArray) -> Data:
    """Return X with these values, one per column, where it is missing something."""
    if isinstance(X, np.ndarray):
        holes: BoolArray = np.isnan(X)
        return np.where(holes, values, X).astype(X.dtype) if holes.any() else X
    holes = np.isnan(X.data)
    if not holes.any():
        return X
    filled = X.copy()
    filled.data[holes] = values[X.indices[holes]]
    return filled


def _spread(X: Data, values: FloatArray) -> FloatArray:
    """Return the root mean square of how far what is there lies from the value of its column."""
    here = X.shape[0] - missing_counts(X)
    if isinstance(X, np.ndarray):
        squares: FloatArray = np.nansum((X - values) ** 2, axis=0, dtype=np.float64)
        spread: FloatArray = np.sqrt(squares / here)
        return spread
    stored = np.bincount(X.indices, minlength=X.shape[1])
    off = np.nan_to_num(X.data.astype(np.float64) - values[X.indices])
    # What is not stored is 0, and is there.
    squares = np.bincount(X.indices, weights=off**2, minlength=X.shape[1]) + (X.shape[0] - stored) * values**2
    spread = np.sqrt(squares / here)
    return spread


def _canonical(X: Data) -> Data:
    """Return a sparse X as a CSR array with each entry stored once."""
    from scipy.sparse import csr_array

    array = csr_array(X)
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    return array


def missing_counts(X: Data) -> FloatArray:
    """Return how many entries of every column are NaN."""
    if isinstance(X, np.ndarray):
        counts: FloatArray = np.isnan(X).sum(axis=0).astype(np.float64)
        return counts
    return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1]).astype(np.float64)


def _suspects(X: Data) -> Any:
    """Return the columns whose sum is not finite, because an entry is not or because it overflows: one quick pass."""
    if not isinstance(X, np.ndarray):
        return np.unique(X.indices[~np.isfinite(X.data)])
    with np.errstate(over="ignore", invalid="ignore"):
        return np.flatnonzero(~np.isfinite(X.sum(axis=0, dtype=np.float64)))


def _columns_with(X: Data, suspects: Any, odd: Any) -> Any:
    """Return those of the columns in which some entry is odd."""
    if not isinstance(X, np.ndarray):
        return np.unique(X.indices[odd(X.data)])
    return suspects[odd(X[:, suspects]).any(axis=0)]


def _label(column: int, names: tuple[str, ...] | None) -> str:
    return repr(names[column]) if names is not None else str(column)
