"""On which line of a text table an odd entry stands: read again, entry by entry, once something is wrong."""

import contextlib
import csv
import gzip
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from noap.data.files.cells import Odd, odd
from noap.data.files.dialect import Dialect

__all__ = ["OddEntry", "first_odd", "first_ragged"]


class OddEntry(NamedTuple):
    """An entry that is no number: its line, its column, what it reads and what is odd about it."""

    line: int
    position: int
    cell: str
    kind: Odd


def first_odd(
    path: Path, dialect: Dialect, positions: Collection[int], kinds: Collection[Odd] = tuple(Odd)
) -> OddEntry | None:
    """Return the first entry of some columns that is odd in one of these ways; None if there is none."""
    rows = _records(path, dialect)
    if dialect.header:
        next(rows, None)
    for line, entries in rows:
        for position in positions:
            cell = entries[position] if position < len(entries) else ""
            kind = odd(cell, dialect.decimal)
            if kind is not None and kind in kinds:
                return OddEntry(line, position, cell.strip(), kind)
    return None


def first_ragged(path: Path, dialect: Dialect) -> tuple[int, int, int] | None:
    """Return the first line that is not as wide as the first one, its width and theirs; None if all are."""
    width = None
    for line, entries in _records(path, dialect):
        width = len(entries) if width is None else width
        if len(entries) != width:
            return line, len(entries), width
    return None


def _records(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the entries of every line that has any, with the number of the line on which it begins."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rt", encoding=dialect.encoding, errors="replace", newline="") as text:
        reader = csv.reader(text, delimiter=dialect.separator)
        before = 0
        with contextlib.suppress(csv.Error):  # an entry longer than any number: the lines before it have been seen
            for entries in reader:
                if any(cell.strip() for cell in entries):
                    yield before + 1, entries
                before = reader.line_num
