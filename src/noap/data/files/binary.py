"""Read a table that has types of its own: Parquet, and Excel where its engine is installed."""

from pathlib import Path
from typing import TYPE_CHECKING

from noap.data.files.cells import Odd, odd
from noap.data.files.columns import distinct
from noap.data.files.frames import numbers
from noap.data.files.reading import Reading
from noap.errors import InvalidProblem

if TYPE_CHECKING:
    import polars

__all__ = ["excel_frame", "parquet_frame", "read_excel", "read_parquet"]


def read_parquet(path: Path, reading: Reading) -> "polars.DataFrame":
    """Return the features of a Parquet file as float64."""
    frame = parquet_frame(path)
    return numbers(frame, reading, path, lambda place, kind: _row(frame.to_series(place), kind))


def parquet_frame(path: Path) -> "polars.DataFrame":
    """Return all columns of a Parquet file."""
    import polars as pl

    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InvalidProblem(f"FILE {path} cannot be read: {str(error).splitlines()[0]}") from None


def read_excel(path: Path, reading: Reading) -> "polars.DataFrame":
    """Return the features of a sheet as float64; needs the extra noap[excel]."""
    frame = excel_frame(path, reading)
    return numbers(frame, reading, path, lambda place, kind: _row(frame.to_series(place), kind))


def excel_frame(path: Path, reading: Reading) -> "polars.DataFrame":
    """Return all columns of a sheet, under distinct names."""
    import polars as pl

    header = reading.header is not False
    try:
        # One row more than the names: polars would number repeated names in its own way.
        frame = pl.read_excel(path, sheet_name=reading.sheet, has_header=False, infer_schema_length=None)
    except (ModuleNotFoundError, ImportError):
        raise InvalidProblem(
            f"FILE {path}: reading Excel needs another package; pip install 'noap[excel]', or save the sheet as CSV."
        ) from None
    except (ValueError, OSError, RuntimeError, pl.exceptions.PolarsError) as error:
        raise InvalidProblem(f"FILE {path} cannot be read: {str(error).splitlines()[0]}") from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("fastexcel", "_fastexcel"):
            raise
        raise InvalidProblem(f"FILE {path} cannot be read: {str(error).splitlines()[0]}") from None
    if header and frame.height:
        first = ["" if entry is None else str(entry).strip() for entry in frame.row(0)]
        frame = frame.slice(1)
        frame.columns = list(distinct(first, path))
    else:
        frame.columns = [f"x{j}" for j in range(frame.width)]
    return frame


def _row(column: "polars.Series", kind: Odd) -> tuple[str, str] | None:
    for row, entry in enumerate(column, start=1):
        shown = "" if entry is None else str(entry)
        if odd(shown) is kind:
            return f"row {row}", shown
    return None
