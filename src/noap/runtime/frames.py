"""Tables in the library that the user has, with lists or flat, and as CSV files."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noap.errors import InvalidProblem
from noap.runtime.files import write_whole

if TYPE_CHECKING:
    import polars

__all__ = ["Tabular", "flattened", "shaped", "span"]

LIBRARIES = ("polars", "pandas")


class Tabular:
    """What offers its table as a CSV file; subclasses have `to_frame`."""

    to_frame: Any

    def write_csv(self, path: "str | PathLike[str]", **options: Any) -> None:
        """Write the flat table to a CSV file; options are those of `to_frame`."""
        table = self.to_frame(flat=True, **options | {"library": "polars"})
        write_whole(Path(path), table.write_csv)


def shaped(frame: "polars.DataFrame", flat: bool = False, library: str = "polars") -> Any:
    """Return a polars table in this library, its lists as text if it is to be flat.

    >>> import polars
    >>> shaped(polars.DataFrame({"features": [["a", "b"]], "noise": [[[0.0, 0.5], [0.7, 0.7]]]}), flat=True).rows()
    [('a; b', '0 to 0.5; 0.7')]
    """
    if library not in LIBRARIES:
        raise InvalidProblem(f"library must be one of {LIBRARIES}, got {library!r}.")
    table = flattened(frame) if flat else frame
    if library == "polars":
        return table
    try:
        import pandas  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise InvalidProblem("library='pandas' needs pandas; install it with: pip install pandas.") from None
    # Not by to_pandas(), which needs pyarrow.
    numbers = {one.name: one.to_numpy() if one.dtype.is_numeric() else one.to_list() for one in table}
    return pandas.DataFrame(numbers, columns=table.columns)


def flattened(frame: "polars.DataFrame") -> "polars.DataFrame":
    """Return the table with lists as text, entries apart by "; ": names, or ranges as of `span`."""
    import polars

    lists = [name for name, kind in frame.schema.items() if isinstance(kind, polars.List)]
    texts = ([None if row is None else "; ".join(map(_text, row)) for row in frame[name].to_list()] for name in lists)
    return frame.with_columns([polars.Series(n, t, dtype=polars.String) for n, t in zip(lists, texts, strict=True)])


def _text(entry: Any) -> str:
    return entry if isinstance(entry, str) else span(*entry)


def span(first: float, last: float) -> str:
    """Return a range of a budget in few digits.

    >>> span(0.25, 0.5), span(1.0, 1.0)
    ('0.25 to 0.5', '1')
    """
    ends = f"{first:.4g}", f"{last:.4g}"
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)
