"""Read a table from a file and write one: CSV, Parquet, NPY or NPZ."""

import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noap.cli.output import write_file
from noap.data.standardising import standardise
from noap.data.validation import Samples, as_samples
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.types import Data, FloatArray

__all__ = ["TABLES", "Table", "read_table", "write_table"]

TABLES = (".csv", ".parquet", ".npy", ".npz")


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
        """Return the centred and scaled samples."""
        return Samples(standardise(self.samples, center=center, scale=scale)[0], self.names)


def read_table(path: Path) -> Table:
    """Read `path`, or raise InvalidProblem with one sentence that says what is wrong with it."""
    if not path.is_file():
        raise InvalidProblem(f"FILE {path} does not exist; check the path.")
    if path.stat().st_size == 0:
        raise InvalidProblem(f"FILE {path} is empty; pass a table with a header and at least one row.")
    readers = {".csv": _read_frame, ".parquet": _read_frame, ".npy": _read_arrays, ".npz": _read_arrays}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidProblem(f"FILE {path} must end in .csv, .parquet, .npy or .npz.")
    return reader(path)


def write_table(path: Path, option: str, X: FloatArray, names: tuple[str, ...]) -> None:
    """Write a table in the format that the suffix of `path` names, with its column names where the format has them."""

    def write(temporary: Path) -> None:
        import polars as pl

        kind = path.suffix.lower()
        if kind == ".npy":
            np.save(temporary, X)
        elif kind == ".npz":
            np.savez(temporary, X=X, feature_names=np.array(names))
        else:
            frame = pl.DataFrame(X, schema=list(names))
            (frame.write_csv if kind == ".csv" else frame.write_parquet)(temporary)

    write_file(path, option, write)


def _read_frame(path: Path) -> Table:
    import polars as pl

    try:
        # The whole file decides the types: a late text entry must not be read as a broken number.
        is_csv = path.suffix.lower() == ".csv"
        frame = pl.read_csv(path, infer_schema_length=None) if is_csv else pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidProblem(f"FILE {path} cannot be read: {reason}") from None
    for name, kind in frame.schema.items():
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            raise InvalidProblem(
                f"FILE {path}: column {name!r} holds {str(kind).lower()}, not numbers; encode it or drop it."
            )
        if name in ("", "Unnamed: 0") or name.startswith("__index_level_"):
            warnings.warn(
                f"FILE {path}: column {name!r} looks like row numbers and is used as a feature; drop it if it is none.",
                NoapWarning,
                stacklevel=2,
            )
    if frame.height and frame.width:
        frame = frame.with_columns(pl.all().cast(pl.Float64))
    X, names = as_samples(frame)
    return Table(X, names or ())


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
        found = np.load(path, allow_pickle=False)
        return found if isinstance(found, np.ndarray) else {key: found[key] for key in found.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidProblem(f"FILE {path} cannot be read: {str(error).splitlines()[0]}") from None


def _numbered(X: Data) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(X.shape[1]))
