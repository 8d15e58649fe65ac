"""A table as it stands in its file, with the columns that are no features; and a text table written as it was."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from noap.data.files.binary import excel_frame, parquet_frame
from noap.data.files.dialect import Dialect
from noap.data.files.frames import is_nameless
from noap.data.files.reading import Reading, is_text
from noap.data.files.text import text_frame
from noap.errors import NoapWarning

if TYPE_CHECKING:
    import polars

__all__ = ["Whole", "whole_table", "write_text_table"]


class Whole(NamedTuple):
    """All columns of a file under distinct names, and the layout of a text table."""

    frame: "polars.DataFrame"
    dialect: Dialect | None


def whole_table(path: Path, reading: Reading) -> Whole | None:
    """Return all columns of a file that was read before; None for a file of arrays."""
    with warnings.catch_warnings():
        # Whatever there is to say was said when the features were read.
        warnings.simplefilter("ignore", NoapWarning)
        if is_text(path):
            return Whole(*text_frame(path, reading))
        if path.suffix.lower() == ".parquet":
            return Whole(parquet_frame(path), None)
        if path.suffix.lower() in (".npy", ".npz"):
            return None
        return Whole(excel_frame(path, reading), None)


def write_text_table(frame: "polars.DataFrame", path: Path, dialect: Dialect | None) -> None:
    """Write a frame as text: separator, decimal mark and header as in `dialect`, tabs where `path` ends in .tsv.

    Parameters
    ----------
    frame : polars.DataFrame
    path : Path
    dialect : Dialect or None
        None for a table with a header, commas and decimal points.
    """
    separator = "," if dialect is None else dialect.separator
    if path.suffix.lower() == ".tsv":
        separator = "\t"
    elif path.suffix.lower() == ".csv" and separator in "\t ":
        separator = ","
    if dialect is not None and dialect.header and is_nameless(frame.columns[0]) and not dialect.first[0]:
        frame = frame.rename({frame.columns[0]: ""})
    frame.write_csv(
        path,
        separator=separator,
        decimal_comma=dialect is not None and dialect.decimal == "," and separator != ",",
        include_header=dialect is None or dialect.header,
    )
