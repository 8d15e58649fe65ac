"""Read a table from a file: CSV, Parquet or NPY."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from noap._validate import as_samples
from noap.errors import InvalidProblem
from noap.linalg.types import Data

__all__ = ["Table", "read_table", "refuse_to_overwrite"]


@dataclass(frozen=True)
class Table:
    """Samples in rows, with a name for every column."""

    X: Data
    names: tuple[str, ...]


def read_table(path: Path) -> Table:
    """Read `path`, or raise InvalidProblem with one sentence that says what is wrong with it."""
    if not path.is_file():
        raise InvalidProblem(f"FILE {path} does not exist; check the path.")
    if path.stat().st_size == 0:
        raise InvalidProblem(f"FILE {path} is empty; pass a table with a header and at least one row.")
    reader = {".csv": _read_frame, ".parquet": _read_frame, ".npy": _read_npy}.get(path.suffix.lower())
    if reader is None:
        raise InvalidProblem(f"FILE {path} must end in .csv, .parquet or .npy.")
    return reader(path)


def refuse_to_overwrite(path: Path | None, force: bool) -> None:
    """Raise InvalidProblem if `path` exists and `force` is off, or if its folder is missing."""
    if path is None:
        return
    if path.exists() and not force:
        raise InvalidProblem(f"--out {path} exists; choose another name or add --force.")
    if not path.parent.is_dir():
        raise InvalidProblem(f"--out {path}: the folder {path.parent} does not exist; create it first.")


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
    if frame.height and frame.width:
        frame = frame.with_columns(pl.all().cast(pl.Float64))
    X, names = as_samples(frame)
    return Table(X, names or ())


def _read_npy(path: Path) -> Table:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidProblem(f"FILE {path} cannot be read: {str(error).splitlines()[0]}") from None
    X, _ = as_samples(array)
    return Table(X, tuple(f"x{j}" for j in range(X.shape[1])))
