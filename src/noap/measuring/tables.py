"""Tables: Markdown for people, CSV and Parquet for programs, and the units in their cells."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noap.runtime.files import write_whole

if TYPE_CHECKING:
    import polars

__all__ = ["append_row", "frame_of", "markdown", "percent", "read_table", "seconds", "share", "write_table"]


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a Markdown table; floats have four digits, None is empty, and a bar stays in its cell.

    Examples
    --------
    >>> print(markdown(["what", "figure"], [["pi", 3.14159265], ["proved", True], ["a|b", None]]), end="")
    | what | figure |
    |---|---|
    | pi | 3.142 |
    | proved | yes |
    | a\|b |  |
    """
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_cell(entry) for entry in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(entry: object) -> str:
    if entry is None:
        return ""
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry).replace("|", "\\|")


def percent(part: float | None) -> str:
    """Return a loss or gap as a percentage; a dash where there is none.

    Examples
    --------
    >>> percent(0.0123), percent(0.25), percent(1e-9), percent(None)
    ('1.2 %', '25 %', '0', '-')
    """
    if part is None or not math.isfinite(part):
        return "-"
    if part < 5e-7:
        return "0"
    return f"{100 * part:.2g} %" if part < 0.1 else f"{100 * part:.0f} %"


def seconds(amount: float | None) -> str:
    """Return seconds in the unit that suits them; a dash where there are none.

    Examples
    --------
    >>> seconds(0.01234), seconds(12.34), seconds(None)
    ('12.3 ms', '12.3 s', '-')
    """
    if amount is None or not math.isfinite(amount):
        return "-"
    return f"{1e3 * amount:.3g} ms" if amount < 1.0 else f"{amount:.3g} s"


def share(count: int, total: int) -> str:
    """Return "3 of 7"."""
    return f"{count} of {total}"


def frame_of(rows: Iterable[Mapping[str, Any]]) -> "polars.DataFrame":
    """Return rows with the same columns as a table; a column may hold None before its first entry."""
    import polars

    return polars.DataFrame(list(rows), infer_schema_length=None)


def write_table(table: "polars.DataFrame", path: Path) -> None:
    """Write a table as Parquet or CSV, by the suffix of `path`; floats of a CSV file read back the same.

    The file is replaced when the new one is complete, and stays as it was if that fails.
    """
    write_whole(path, table.write_parquet if path.suffix == ".parquet" else table.write_csv)


def append_row(row: Mapping[str, Any], path: Path) -> None:
    """Add a row to a CSV file, which begins with the names of the columns: what is measured so far is never lost."""
    fresh = not path.exists()
    with path.open("ab") as file:
        frame_of([row]).write_csv(file, include_header=fresh)


def read_table(path: Path, kinds: Mapping[str, type] | None = None) -> "polars.DataFrame":
    """Return the table that a file holds, Parquet or CSV by its suffix.

    Parameters
    ----------
    path : Path
    kinds : mapping of str to type, optional
        float, int, bool or str by column, for those of a CSV file whose entries may not tell: empty, or all "nan".
    """
    import polars

    if path.suffix == ".parquet":
        return polars.read_parquet(path)
    overrides: dict[str, Any] = dict(kinds or {})
    return polars.read_csv(path, infer_schema_length=None, schema_overrides=overrides)
