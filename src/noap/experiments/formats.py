"""Write tables: Markdown for people, CSV and Parquet for programs."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noap.runtime.files import write_whole

if TYPE_CHECKING:
    import polars

__all__ = ["frame_of", "markdown", "write_table"]


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


def frame_of(rows: Iterable[Mapping[str, Any]]) -> "polars.DataFrame":
    """Return rows with the same columns as a table; a column may hold None before its first entry."""
    import polars

    return polars.DataFrame(list(rows), infer_schema_length=None)


def write_table(table: "polars.DataFrame", path: Path) -> None:
    """Write a table as Parquet or CSV, by the suffix of `path`; floats of a CSV file read back the same.

    The file is replaced when the new one is complete, and stays as it was if that fails.
    """
    write_whole(path, table.write_parquet if path.suffix == ".parquet" else table.write_csv)
