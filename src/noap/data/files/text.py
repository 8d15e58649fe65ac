"""Read a text table: CSV and its relatives, as spreadsheets, R, pandas and people write them."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from noap.data.files.cells import Odd
from noap.data.files.columns import distinct
from noap.data.files.dialect import Dialect, as_utf8, dialect_of
from noap.data.files.frames import numbers, without_empty_rows
from noap.data.files.lines import first_odd, first_ragged
from noap.data.files.reading import Reading
from noap.errors import InvalidProblem, NoapWarning

if TYPE_CHECKING:
    import polars

__all__ = ["column_names", "explain", "place_of", "read_text", "text_frame"]


def read_text(path: Path, reading: Reading) -> "polars.DataFrame":
    """Return the features of a text table as float64, or raise InvalidProblem with line, column and entry."""
    frame, dialect = text_frame(path, reading)
    return numbers(frame, reading, path, lambda place, odd: place_of(path, dialect, place, odd), dialect.decimal)


def text_frame(path: Path, reading: Reading) -> tuple["polars.DataFrame", Dialect]:
    """Return all columns of a text table as they were read, under distinct names, and how the file is laid out."""
    import polars as pl

    dialect = dialect_of(path, reading)
    names = column_names(path, dialect)
    try:
        frame = pl.read_csv(
            as_utf8(path, dialect),
            separator=dialect.separator,
            has_header=dialect.header,
            decimal_comma=dialect.decimal == ",",
            # The whole file decides the types: a late text entry must not be read as a broken number.
            infer_schema_length=None,
        )
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        explain(path, dialect, error)
    if frame.width != len(names):
        explain(path, dialect, None)
    frame.columns = list(names)
    frame = without_empty_rows(frame)
    if frame.null_count().sum_horizontal().sum():
        _refuse_ragged(path, dialect)
    return frame, dialect


def column_names(path: Path, dialect: Dialect) -> tuple[str, ...]:
    """Return the names of the columns, all different; a file without a header numbers them x0, x1, ..."""
    if dialect.encoding == "cp1252":
        warnings.warn(
            f"FILE {path} is not UTF-8 and was read as Windows-1252; check the names.", NoapWarning, stacklevel=3
        )
    if not dialect.header:
        return tuple(f"x{j}" for j in range(len(dialect.first)))
    if dialect.doubtful_header:
        warnings.warn(
            f"FILE {path}: the first line holds numbers and was read as names; add --no-header if it is a sample, "
            "--header if it is not.",
            NoapWarning,
            stacklevel=3,
        )
    return distinct(dialect.first, path)


def place_of(path: Path, dialect: Dialect, position: int, kind: Odd) -> tuple[str, str] | None:
    """Return where the first entry of a column stands that is odd in this way, and what it reads."""
    found = first_odd(path, dialect, (position,), (kind,))
    return None if found is None else (f"line {found.line}", found.cell)


def explain(path: Path, dialect: Dialect, error: Exception | None) -> NoReturn:
    """Raise InvalidProblem for a file that polars does not read."""
    _refuse_ragged(path, dialect)
    reason = str(error).splitlines()[0] if error is not None else "the first line and the rest do not agree"
    raise InvalidProblem(f"FILE {path} cannot be read: {reason}") from None


def _refuse_ragged(path: Path, dialect: Dialect) -> None:
    ragged = first_ragged(path, dialect)
    if ragged is None:
        return
    line, width, first = ragged
    shown = {"\t": "tab", " ": "space"}.get(dialect.separator, dialect.separator)
    raise InvalidProblem(
        f"FILE {path}, line {line} has {width} entries, the first line has {first}, separated by {shown!r}; mend the "
        "line, or say what separates entries with --delimiter."
    )
