"""Read a table from a file: CSV and its relatives, Parquet, Excel, NPY or NPZ."""

import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noap.data.files.binary import read_excel, read_parquet
from noap.data.files.columns import chosen
from noap.data.files.reading import Reading, is_text, stem_suffix
from noap.data.files.text import read_text
from noap.data.implicit import centred
from noap.data.standardising import centre_and_scale, standardize
from noap.data.validation import Samples, as_samples
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg import frozen
from noap.linalg.mapped import empty_file, in_file
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.types import Data, FloatArray

__all__ = ["PREPARED", "Table", "read_table"]

# How samples may have been prepared: centred, scaled.
PREPARED = {
    (True, True): "standardised",
    (True, False): "centred",
    (False, True): "scaled",
    (False, False): "as given",
}


@dataclass(frozen=True)
class Table:
    """Samples in rows, with a name for every column."""

    X: Data
    names: tuple[str, ...]

    @property
    def samples(self) -> Samples:
        """The samples with their names, looked through when the file was read."""
        return Samples(self.X, self.names)

    def standardised(self, center: bool, scale: bool) -> Samples:
        """Return the centred and scaled samples, as `noap.standardize` makes them.

        Many sparse features are not filled: they are what `noap.centred` and the estimators make of them.
        """
        if self._stays_sparse(center):
            return Samples(centred(self.X, scale=scale, names=self.names), self.names)
        return Samples(standardize(self.samples, center=center, scale=scale), self.names)

    def preparation(self, center: bool, scale: bool) -> tuple[FloatArray, FloatArray] | None:
        """Return mean and scale of every column, with which `standardised` is (x - mean)/scale to the last bit.

        None in single precision, where (x - mean)/scale is rounded once more.
        """
        if self.X.dtype == np.float32 and (center or scale):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoapWarning)  # it has warned of constant columns
            if self._stays_sparse(center):
                made = centred(self.X, scale=scale)
                return made.mean, made.scale
            Z, mean, spread = centre_and_scale(self.samples, center=center, scale=scale)
        return mean, np.where((mean != 0) & ~Z.any(axis=0) & scale, np.inf, spread)

    def _stays_sparse(self, center: bool) -> bool:
        return center and not isinstance(self.X, np.ndarray) and self.X.shape[1] > MANY_FEATURES

    def scales(self, center: bool, scale: bool) -> FloatArray:
        """Return what `standardised` divides the columns by."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoapWarning)  # it has warned of constant columns
            if self._stays_sparse(center):
                spread = centred(self.X, scale=scale).scale
                return np.where(np.isinf(spread), 1.0, spread)
            return centre_and_scale(self.samples, center=center, scale=scale)[2]


def read_table(path: Path, reading: Reading | None = None) -> Table:
    """Read `path`, or raise InvalidProblem with one sentence that says what is wrong with it."""
    if not path.is_file():
        raise InvalidProblem(f"FILE {path} does not exist; check the path.")
    if path.stat().st_size == 0:
        raise InvalidProblem(f"FILE {path} is empty; pass a table with a header and at least one row.")
    reading = Reading() if reading is None else reading
    kind = path.suffix.lower()
    if kind in (".npy", ".npz"):
        return _selected(_read_arrays(path), reading, path)
    readers = {".parquet": read_parquet, ".xlsx": read_excel, ".xls": read_excel, ".ods": read_excel}
    reader = read_text if is_text(path) else readers.get(kind)
    if reader is None:
        odd = f"{stem_suffix(path)}{kind}" if kind == ".gz" else kind
        raise InvalidProblem(
            f"FILE {path} ends in {odd or 'nothing'!r}; it must end in .csv, .tsv, .txt (also with .gz), .parquet, "
            ".xlsx, .npy or .npz."
        )
    X, names = as_samples(reader(path, reading))
    return Table(X, names or ())


def _selected(table: Table, reading: Reading, path: Path) -> Table:
    positions = chosen(table.names, reading, path)
    if positions == list(range(len(table.names))):
        return table
    X, _ = as_samples(_columns(table.X, positions))
    return Table(X, tuple(table.names[position] for position in positions))


def _columns(X: Data, positions: list[int]) -> Data:
    if not in_file(X):
        return X[:, positions]
    some = empty_file((X.shape[0], len(positions)), X.dtype)
    for first in range(0, len(X), step := max(1, 2**22 // X.shape[1])):
        some[first : first + step] = X[first : first + step][:, positions]
    return some


def _read_arrays(path: Path) -> Table:
    arrays = _loaded(path)
    if isinstance(arrays, np.ndarray):
        X, _ = as_samples(arrays)
        return Table(X, _numbered(X))
    if {"data", "shape", "format"} <= set(arrays):
        # What scipy.sparse.save_npz writes.
        import scipy.sparse

        X, _ = as_samples(scipy.sparse.load_npz(path))
        return Table(X, _numbered(X))
    others = [key for key in arrays if key != "feature_names"]
    if "X" not in arrays and len(others) != 1:
        listed = ", ".join(others) or "none"
        raise InvalidProblem(f"FILE {path} must hold one array, or one called X; it holds {listed}.")
    X, _ = as_samples(arrays["X" if "X" in arrays else others[0]])
    if "feature_names" not in arrays:
        return Table(X, _numbered(X))
    names = tuple(str(name) for name in np.ravel(arrays["feature_names"]))
    if len(names) != X.shape[1] or len(set(names)) != len(names):
        raise InvalidProblem(
            f"FILE {path}: feature_names must hold {X.shape[1]} different names, one per column; it holds {len(names)}."
        )
    return Table(X, names)


def _loaded(path: Path) -> Any:
    try:
        # What is not copied into memory by a Problem is left where it is.
        large = path.suffix.lower() == ".npy" and path.stat().st_size > frozen.MOST_COPIED
        found = np.load(path, mmap_mode="r" if large else None, allow_pickle=False)
        return found if isinstance(found, np.ndarray) else {key: found[key] for key in found.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidProblem(f"FILE {path} cannot be read: {str(error).splitlines()[0]}") from None


def _numbered(X: Data) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(X.shape[1]))
