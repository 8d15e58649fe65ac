"""From a frame as it was read to numbers, or a sentence that names the first entry that is none."""

import shlex
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from noap.data.files.cells import MISSING, Odd
from noap.data.files.columns import chosen
from noap.data.files.reading import Reading
from noap.data.identifiers import rising_columns
from noap.errors import IdentifierWarning, InvalidProblem, NoapWarning

if TYPE_CHECKING:
    import polars

__all__ = [
    "Where",
    "is_nameless",
    "numbers",
    "refuse_gap",
    "refuse_infinity",
    "refuse_text",
    "warn_of_labels",
    "without_empty_rows",
]

# Where the first entry of a column stands that is odd in this way, and what it reads: ("line 7", "NA").
Where = Callable[[int, Odd], tuple[str, str] | None]
_ROW_NAMES = ("Unnamed: 0", "__index_level_0__")


def numbers(
    frame: "polars.DataFrame", reading: Reading, path: Path, where: Where, decimal: str = "."
) -> "polars.DataFrame":
    """Return the features of a frame as float64.

    Parameters
    ----------
    frame : polars.DataFrame
        As read, with distinct names.
    reading : Reading
        Which columns to use.
    path : Path
        For the messages.
    where : callable
        Asked only when something is wrong.
    decimal : "." or ","
        How text writes numbers.
    """
    import polars as pl

    # As a list: a frame looks through all its columns for every name, and a table may have 100,000.
    columns = frame.get_columns()
    places = {column.name: place for place, column in enumerate(columns)}
    # What ends every line with a separator leaves a column without name or entries.
    columns = [one for one in columns if not (_unnamed(one.name) and one.null_count() == frame.height > 0)]
    columns = [columns[position] for position in chosen([one.name for one in columns], reading, path)]
    found = {column.name: _as_numbers(column, decimal) for column in columns}
    first = columns[0].name
    if places[first] == 0 and not reading.columns and _labels_rows(first, found[first], len(columns), path):
        del found[first]
    texts = [name for name, column in found.items() if column is None]
    if texts:
        refuse_text(path, texts, where(places[texts[0]], Odd.TEXT))
    ready = pl.DataFrame({name: column for name, column in found.items() if column is not None})
    _refuse_odd(ready, path, lambda name, odd: where(places[name], odd))
    if not reading.columns:
        _warn_of_identifiers(ready, path)
    return ready


def without_empty_rows(frame: "polars.DataFrame") -> "polars.DataFrame":
    """Return the frame without the rows that empty lines leave."""
    import polars as pl

    if min(frame.null_count().row(0), default=0) == 0:
        return frame
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def _as_numbers(column: "polars.Series", decimal: str) -> "polars.Series | None":
    """Return a column as float64, null where nothing is; None if it holds anything else."""
    import polars as pl

    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64)
    if column.dtype not in (pl.String, pl.Categorical):
        return None
    bare = column.cast(pl.String).str.strip_chars()
    lower = bare.str.to_lowercase()
    bare = pl.select(pl.when(lower.is_in(MISSING)).then(None).otherwise(bare)).to_series()
    if bare.null_count() < bare.len() and lower.is_in(["true", "false", *MISSING]).fill_null(True).all():
        return pl.select(pl.when(bare.is_not_null()).then(lower == "true")).to_series().cast(pl.Float64)
    if decimal == ",":
        # A point separates thousands then, if it is not a slip: 1.234 must not be read as 1 and a bit.
        bare = bare.str.replace(".", "_", literal=True).str.replace(",", ".", literal=True)
    cast = bare.cast(pl.Float64, strict=False)
    return cast if cast.null_count() == bare.null_count() else None


def refuse_text(path: Path, names: Sequence[str], first: tuple[str, str] | None, held: str = "text") -> NoReturn:
    """Raise InvalidProblem for columns of text; `first` says where the first such entry stands and what it reads."""
    seen = f": {first[1]!r} on {first[0]}" if first is not None else ""
    more = f" ({len(names) - 1} more columns do)" if len(names) > 2 else f" (so does {names[1]!r})" if names[1:] else ""
    drop = " ".join(f"--drop {shlex.quote(name)}" for name in names[:3]) + (" ..." if len(names) > 3 else "")
    comma = first is not None and "," in first[1] and first[1].replace(",", "").strip("+-").isdigit()
    hint = ", or say --decimal , if that is a decimal comma" if comma else ""
    raise InvalidProblem(
        f"FILE {path}: column {names[0]!r} holds {held}, not numbers{seen}{more}; encode it, or leave it out with "
        f"{drop}{hint}."
    )


def refuse_gap(path: Path, name: str, first: tuple[str, str] | None, many: str = "") -> NoReturn:
    """Raise InvalidProblem for a column with a missing entry."""
    line = f", {first[0]}" if first is not None else ""
    entry = repr(first[1]) if first is not None and first[1] else "an empty entry"
    raise InvalidProblem(
        f"FILE {path}{line}: {entry} in column {name!r}{many}; fill in a number, or leave the column out with "
        f"--drop {shlex.quote(name)}."
    )


def refuse_infinity(path: Path, name: str, first: tuple[str, str] | None) -> NoReturn:
    """Raise InvalidProblem for a column with an infinite entry."""
    line = f", {first[0]}" if first is not None else ""
    raise InvalidProblem(
        f"FILE {path}{line}: infinity in column {name!r}; replace it, or leave the column out with "
        f"--drop {shlex.quote(name)}."
    )


def _refuse_odd(frame: "polars.DataFrame", path: Path, where: Callable[[str, Odd], tuple[str, str] | None]) -> None:
    columns = frame.get_columns()
    gone = {column.name: column.null_count() + int(column.is_nan().sum()) for column in columns}
    holes = [name for name, count in gone.items() if count]
    if holes:
        total = sum(gone.values())
        beyond = "" if len(holes) == 1 else f" in {len(holes)} columns"
        many = f" ({total} entries{beyond} are missing)" if total > 1 else ""
        refuse_gap(path, holes[0], where(holes[0], Odd.MISSING), many)
    for column in columns:
        if bool(column.is_infinite().any()):
            refuse_infinity(path, column.name, where(column.name, Odd.INFINITE))


def _labels_rows(name: str, column: "polars.Series | None", width: int, path: Path) -> bool:
    """Return whether the first column only says which row it is, with a warning if it may."""
    counts = column is not None and _counts(column)
    if is_nameless(name) and width > 1 and (column is None or counts):
        warn_of_labels(name, path)
        return True
    return False


def _warn_of_identifiers(frame: "polars.DataFrame", path: Path) -> None:
    """Say which features may be none: row numbers, and whole numbers that rise from row to row."""
    names = frame.columns
    rising = {names[j] for j in rising_columns(frame.to_numpy())}
    if frame.height > 2 and _counts(frame.to_series(0)):
        rising.add(names[0])
    for name in sorted(rising, key=names.index):
        counts = _counts(frame[name])
        looks = "row numbers" if counts else "an identifier (whole numbers that rise from row to row)"
        warnings.warn(
            f"FILE {path}: column {name!r} looks like {looks} and is used as a feature; if it is none, add "
            f"--index {shlex.quote(name)}.",
            IdentifierWarning,
            stacklevel=4,
        )


def warn_of_labels(name: str, path: Path) -> None:
    """Say that the first column is left out."""
    which = f"column {name!r}" if name in _ROW_NAMES else "the first column, which has no name,"
    warnings.warn(
        f"FILE {path}: {which} looks like row numbers or labels and is left out; give it a name in the file if it is a "
        "feature.",
        NoapWarning,
        stacklevel=4,
    )


def is_nameless(name: str) -> bool:
    """Return whether a first column of this name has none in the file, or one that pandas gives to row numbers."""
    return name in _ROW_NAMES or name == "column 1"


def _unnamed(name: str) -> bool:
    return name.startswith("column ") and name.removeprefix("column ").isdigit()


def _counts(column: "polars.Series") -> bool:
    """Return whether a column reads 0, 1, 2, ... or 1, 2, 3, ..."""
    if column.len() == 0 or column.null_count():
        return False
    steps = column.to_numpy()
    return bool(steps[0] in (0, 1) and np.array_equal(steps, steps[0] + np.arange(len(steps))))
