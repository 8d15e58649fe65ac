"""Turn what users have into what noap works on, once, with one clear sentence when it cannot be done."""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from noap.data.chunks import is_dask_array, read_dask
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.implicit import ImplicitColumns
from noap.linalg.mapped import empty_like, in_file
from noap.linalg.outward import definite_shift, least_shift
from noap.linalg.products import row_blocks
from noap.linalg.types import Data, FloatArray, refuse_mask

__all__ = [
    "PrivateSamples",
    "Samples",
    "Symmetric",
    "as_covariance",
    "as_names",
    "as_samples",
    "names_of",
    "require_numbers",
]

# Squares, and sums of squares over any realistic n, must neither overflow nor vanish.
_LARGEST, _SMALLEST = 1e150, 1e-150
# Entries of a file that are converted at a time.
_PIECE_ENTRIES = 2**22
# A covariance in double precision is positive semidefinite to this share of its largest eigenvalue; one in single
# precision, or computed in it, to this one, and symmetric to it.
_ROUNDING, _AS_GIVEN = 1e-10, 1e-6


class Samples(NamedTuple):
    """Samples that have been looked through: `as_samples` takes them as they are.

    Attributes
    ----------
    data : float array or CSR array of shape (n, d), finite and in range
    names : tuple of str or None, one for every column
    """

    data: Data
    names: tuple[str, ...] | None


class PrivateSamples(Samples):
    """Samples in an array that nobody else has, so that a Problem need not copy it."""


def as_samples(X: Any) -> Samples:
    """Return X as a read-only float array (float32 stays float32) or CSR array, and its column names."""
    if isinstance(X, Samples):
        return X
    if X is None:
        raise InvalidProblem("X must be an n x d array, got None.")
    if is_dask_array(X):
        X = read_dask(X)
    names = names_of(X)
    if isinstance(X, ImplicitColumns):
        data = X
    elif _is_sparse(X):
        data = _checked_dtype(X).tocsr(copy=False)
    else:
        data = _checked_dtype(_dense(X, names))
        if data.ndim != 2:
            raise InvalidProblem(f"X must have two dimensions (samples x features), got shape {data.shape}.")
        data = data.view()
        data.flags.writeable = False
    if 0 in data.shape:
        raise InvalidProblem(
            f"X is empty (shape {data.shape[0]} x {data.shape[1]}); pass at least one sample and one feature."
        )
    _check_entries(data, names)
    return Samples(data, names)


class Symmetric(NamedTuple):
    """A matrix that stands for the data, as `as_covariance` returns it.

    Attributes
    ----------
    matrix : array of shape (d, d), exactly symmetric, read-only
    names : tuple of str, or None
    shift : float
        matrix + shift I is positive semidefinite, in exact arithmetic.
    indefinite : bool
        Whether the shift is more than rounding: matrix itself is not a covariance.
    """

    matrix: FloatArray
    names: tuple[str, ...] | None
    shift: float
    indefinite: bool


def as_covariance(S: Any, *, definite: bool = True) -> Symmetric:
    """Return S as a symmetric float64 array with what makes it positive semidefinite.

    Parameters
    ----------
    S : array-like of shape (d, d)
    definite : bool
        Whether it has to be positive semidefinite. One that is so to the precision of its entries is then raised, with
        a warning, and any other refused; up to 1e-10 of the largest eigenvalue it is taken as it is. If not, any
        symmetric matrix with a positive entry on its diagonal is taken as it is.
    """
    names = names_of(S)
    dense = S.toarray() if _is_sparse(S) else _dense(S, names, "S")
    matrix = np.array(_checked_dtype(dense, "S"), dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise InvalidProblem(f"S must be a square matrix, got shape {matrix.shape}.")
    _check_entries(matrix, names, "S", largest=_LARGEST**2, smallest=_SMALLEST**2)
    # Values see the symmetric part alone; this is here to catch what was never meant to be symmetric.
    if np.abs(matrix - matrix.T).max() > _AS_GIVEN * np.abs(matrix).max():
        raise InvalidProblem("S must be symmetric; pass X'X/n, or (S + S.T)/2 if S is symmetric by intent.")
    matrix = (matrix + matrix.T) / 2
    largest = float(matrix.diagonal().max())
    if not definite and largest <= 0 and matrix.any():
        raise InvalidProblem(
            f"S must have a positive entry on its diagonal, the largest is {largest:.3g}; add c to all of it, which "
            "adds c to the value of every direction."
        )
    shift = definite_shift(matrix)
    # A power of two may be twice what is needed, and the size half the largest eigenvalue.
    indefinite = shift > least_shift(matrix) and shift > 4 * _ROUNDING * _size(matrix)
    if indefinite and definite:
        _raise_diagonal(matrix, shift)
        shift, indefinite = definite_shift(matrix), False
    matrix.flags.writeable = False
    return Symmetric(matrix, names, shift, indefinite)


def _raise_diagonal(S: FloatArray, shift: float) -> None:
    """Add the shift to the diagonal, with a warning, if S is positive semidefinite to the precision of its entries."""
    if shift > 2 * max(_AS_GIVEN * _size(S), min(len(S), 2 * math.sqrt(len(S))) * _half_a_digit(S)):
        raise InvalidProblem(
            f"S must be positive semidefinite, it has an eigenvalue of about {-0.75 * shift:.2g}; pass a covariance "
            "X'X/n, or use NoAdversary, which takes any symmetric matrix."
        )
    S[np.diag_indices_from(S)] += shift
    warnings.warn(
        f"S is positive semidefinite only to the precision of its entries: {shift:.3g} was added to its diagonal, and "
        "values and bounds are those of the raised matrix.",
        NoapWarning,
        stacklevel=4,
    )


def _size(S: FloatArray) -> float:
    """Return about the largest eigenvalue, from below: the Rayleigh quotient after a few power steps."""
    largest = max(float(S.diagonal().max()), 0.0)
    pulled = S[int(np.argmax(S.diagonal()))]
    for _ in range(12):
        top = float(np.abs(pulled).max())
        if top == 0:
            break
        v = pulled / top
        pulled = S @ v
        largest = max(largest, float(v @ pulled) / float(v @ v))
    return largest


def _half_a_digit(S: FloatArray) -> float:
    """Return half a unit in the last decimal of entries that were rounded to 1 to 6 decimals, 0 for all others.

    Rounding moves eigenvalues by at most d such halves; where it is as good as random by about 1.2 sqrt(d) of them.
    Whole numbers count as exact.
    """
    for decimals in range(7):
        # Decimals may have been kept in single precision.
        if (np.abs(S - np.round(S, decimals)) <= 2.0**-24 * np.abs(S)).all():
            return 0.5 * 10.0**-decimals if decimals else 0.0
    return 0.0


def as_names(names: Any, d: int) -> tuple[str, ...] | None:
    """Return names given for d features as a tuple of text, None for none."""
    if names is None:
        return None
    listed = (names,) if isinstance(names, str) else tuple(str(name) for name in names)
    if len(listed) != d:
        raise InvalidProblem(f"feature_names must hold {d} names, one for every feature, it holds {len(listed)}.")
    return listed


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a pandas or polars DataFrame, None for anything else."""
    columns = getattr(X, "columns", None)
    if columns is None or not hasattr(X, "to_numpy"):
        return None
    return tuple(str(name) for name in columns)


def require_numbers(X: Any) -> None:
    """Raise InvalidProblem, naming the column, if X is a DataFrame one of whose columns holds no numbers."""
    names = names_of(X)
    if names is not None:
        _dense(X, names)


def _is_sparse(X: Any) -> bool:
    # Asked without importing scipy.sparse, which would double the import time of noap.
    return type(X).__module__.startswith("scipy.sparse") and hasattr(X, "tocsr")


def _dense(X: Any, names: tuple[str, ...] | None, what: str = "X") -> np.ndarray:
    refuse_mask(X, what)
    try:
        array = np.asarray(X.to_numpy() if names is not None else X)
    except TypeError as error:  # an array on a device
        raise InvalidProblem(f"{what} cannot be read as an array of NumPy: {str(error).rstrip('.')}.") from None
    except ValueError:
        raise InvalidProblem(f"{what} must be a rectangular array of numbers; check the rows' lengths.") from None
    if array.dtype.kind not in "OUS":
        return array
    if array.dtype.kind in "US":
        raise InvalidProblem(f"{what} must hold numbers, it holds text; encode or drop the text columns.")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        if any(isinstance(entry, complex) for entry in array.flat):
            raise InvalidProblem(f"{what} must be real, it holds complex numbers; pass its real part.") from None
        for position in range(array.shape[-1] if array.ndim == 2 else 0):
            try:
                array[:, position].astype(np.float64)
            except (TypeError, ValueError):
                label = names[position] if names is not None else position
                raise InvalidProblem(
                    f"{what} must hold numbers, column {label!r} does not; encode it as numbers or drop it."
                ) from None
        raise InvalidProblem(f"{what} must be a rectangular array of numbers; check the rows' lengths.") from None


def _checked_dtype(array: Any, what: str = "X") -> Any:
    if array.dtype.kind == "c":
        raise InvalidProblem(f"{what} must be real, it holds complex numbers; pass its real part.")
    if array.dtype.kind not in "biuf":
        raise InvalidProblem(f"{what} must hold numbers, it holds {array.dtype}; convert it to float.")
    if array.dtype in (np.float32, np.float64):
        return array
    if not in_file(array):
        return array.astype(np.float64)
    converted = empty_like(array, np.float64)
    for first in range(0, len(array), step := max(1, _PIECE_ENTRIES // max(array[:1].size, 1))):
        converted[first : first + step] = array[first : first + step]
    return converted


def _check_entries(
    data: Data,
    names: tuple[str, ...] | None,
    what: str = "X",
    largest: float = _LARGEST,
    smallest: float = _SMALLEST,
) -> None:
    top = 0.0
    for block in row_blocks(data):
        # max and min propagate NaN and find infinities without a boolean array the size of X.
        low, high = float(block.min()), float(block.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            bad = int(np.flatnonzero(~np.isfinite(block).all(axis=0))[0])
            kind = "NaN" if np.isnan(block[:, bad]).any() else "infinity"
            label = f"column {names[bad]!r}" if names is not None else f"column {bad}"
            raise InvalidProblem(f"{what} contains {kind} in {label}; impute or drop those entries first.")
        top = max(top, -low, high)
    if top > largest or 0 < top < smallest:
        raise InvalidProblem(
            f"{what} has entries of magnitude {top:.0e}, whose squares leave the range of float64; rescale it."
        )
