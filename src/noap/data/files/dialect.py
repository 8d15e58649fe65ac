"""How a text table is laid out: encoding, separator, decimal mark and names, found out or as asked."""

import codecs
import csv
import gzip
import io
from dataclasses import dataclass
from pathlib import Path

from noap.data.files.cells import is_number
from noap.data.files.reading import Reading, stem_suffix
from noap.errors import InvalidProblem

__all__ = ["Dialect", "as_utf8", "dialect_of"]

# Enough lines to see the layout of any table; names can be long. A table of 100,000 columns has its first two lines in
# a few megabytes; what has no line end in the largest head is no table.
_HEAD, _LARGEST_HEAD = 2**18, 2**26
_LINES = 100
_CANDIDATES = (",", ";", "\t", "|", " ")
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Dialect:
    """The layout of a text table.

    Attributes
    ----------
    encoding : str
        As Python names it.
    separator : str
        The character between entries.
    decimal : "." or ","
    header : bool
        Whether the first line holds names.
    first : tuple of str
        The entries of the first line.
    doubtful_header : bool
        Whether the first line was taken as names although it holds numbers only.
    """

    encoding: str
    separator: str
    decimal: str
    header: bool
    first: tuple[str, ...]
    doubtful_header: bool


def dialect_of(path: Path, reading: Reading) -> Dialect:
    """Look at the head of a file and say how it is laid out; what `reading` says is taken as said."""
    head, encoding = _head(path)
    lines = [line for line in head.splitlines() if line.strip()][:_LINES]
    if not lines:
        raise InvalidProblem(f"FILE {path} is empty; pass a table with a header and at least one row.")
    separator = reading.separator
    if separator is None:
        separator = "\t" if stem_suffix(path) == ".tsv" and "\t" in lines[0] else _separator(lines, reading.decimal)
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error as error:
        raise InvalidProblem(
            f"FILE {path} cannot be read with {separator!r} between entries ({error}); say what separates them with "
            "--delimiter."
        ) from None
    decimal = reading.decimal
    if decimal is None:
        decimal = _decimal(rows) if separator != "," else "."
    numbers = all(is_number(cell, decimal) for cell in rows[0])
    header = True if reading.header is None else reading.header
    return Dialect(encoding, separator, decimal, header, tuple(rows[0]), reading.header is None and numbers)


def _head(path: Path) -> tuple[str, str]:
    """Return the first lines of a file as text, and its encoding."""
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            raw = bytearray(file.read(_HEAD))
            more = len(raw) == _HEAD
            while more and raw.count(b"\n") < 2 and len(raw) < _LARGEST_HEAD:
                part = file.read(len(raw))
                more = len(part) > 0
                raw += part
    except (OSError, EOFError) as error:
        raise InvalidProblem(f"FILE {path} cannot be read: {str(error).splitlines()[0]}") from None
    encoding = next((name for mark, name in _BOMS.items() if raw.startswith(mark)), "utf-8")
    try:
        # The head may end within a character.
        text = codecs.getincrementaldecoder(encoding)().decode(raw)
    except UnicodeDecodeError:
        encoding = "cp1252"
        text = raw.decode(encoding, errors="replace")
    if more and "\n" in text:
        text = text[: text.rindex("\n")]
    if "\0" in text:
        raise InvalidProblem(
            f"FILE {path} is not text; its name should end in what it is: .parquet, .npy, .npz, .xlsx."
        )
    return text, encoding


def _separator(lines: list[str], decimal: str | None) -> str:
    """Return the character that splits the lines evenly, and the entries into numbers."""
    # One column needs none; then any that is no part of a number will do.
    best, found = (0.0, 0.0, 0), ";" if decimal == "," else ","
    for candidate in _CANDIDATES:
        try:
            rows = [row for row in csv.reader(lines, delimiter=candidate) if row]
        except csv.Error:  # an entry that is longer than any number: this is not what splits the lines
            continue
        width = len(rows[0])
        if width < 2 or candidate == decimal:
            continue
        even = sum(len(row) == width for row in rows) / len(rows)
        cells = [cell.strip() for row in rows[1:] or rows for cell in row]
        numbers = sum(is_number(cell) or (candidate != "," and is_number(cell, ",")) for cell in cells)
        score = (round(even, 1), numbers / len(cells), width)
        if score > best:
            best, found = score, candidate
    return found


def _decimal(rows: list[list[str]]) -> str:
    """Return a comma if numbers are written with one and none with a point."""
    cells = [cell for row in rows[1:] or rows for cell in row]
    point = any("." in cell and is_number(cell) for cell in cells)
    return "," if not point and any("," in cell and is_number(cell, ",") for cell in cells) else "."


def as_utf8(path: Path, dialect: Dialect) -> Path | io.BytesIO:
    """Return the file, or its text in UTF-8 if it is in another encoding."""
    if dialect.encoding.startswith("utf-8"):
        return path
    raw = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    return io.BytesIO(raw.decode(dialect.encoding, errors="replace").encode())
