"""Noises and costs of features, and noises of samples, as a second file says them."""

import csv
import gzip
import io
import math
from pathlib import Path
from typing import Any

import numpy as np

from noap.data.files.dialect import as_utf8, dialect_of
from noap.data.files.reading import Reading, is_text
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray

__all__ = ["FeatureFile", "SampleFile"]

_NAMES = ("feature", "name")


class _Lines:
    """The lines of a file, below its head."""

    each = "line"

    def __init__(self, path: Path, option: str) -> None:
        self.what = f"{option} {path}"
        if not path.is_file():
            raise InvalidProblem(f"{self.what} does not exist; check the path.")
        if not is_text(path) or path.stat().st_size == 0:
            raise InvalidProblem(f"{self.what} must be a .csv, .tsv or .txt table with a line for every {self.each}.")
        dialect = dialect_of(path, Reading(header=True))
        self.decimal = dialect.decimal
        text = _decoded(as_utf8(path, dialect))
        rows = enumerate(csv.reader(io.StringIO(text), delimiter=dialect.separator), 1)
        lines = [(number, [cell.strip() for cell in row]) for number, row in rows]
        lines = [(number, row) for number, row in lines if any(row)]
        self.titles = [title.lower() for title in lines[0][1]]
        self.below = lines[1:]

    def read(self, cell: str, where: str, infinite: bool) -> float:
        """Return a number of at least 0, or raise InvalidProblem with a sentence that begins with `where`."""
        try:
            number = float(cell.replace(",", ".") if self.decimal == "," else cell)
        except ValueError:
            meant = f" (inf for a {self.each} that is not to be trusted)" if infinite else ""
            raise InvalidProblem(f"{where} must be a number{meant}, got {cell!r}.") from None
        if not number >= 0 or (math.isinf(number) and not infinite):
            finite = "" if infinite else "finite and "
            raise InvalidProblem(f"{where} must be {finite}at least 0, got {cell}.")
        return number


class SampleFile(_Lines):
    """One line for every sample, in the order of the table; it may be the table itself, with a column more."""

    each = "sample"

    def noises(self) -> FloatArray:
        """Return the column called noise, or the only one."""
        place = self.titles.index("noise") if "noise" in self.titles else 0
        if "noise" not in self.titles and len(self.titles) > 1:
            raise InvalidProblem(f"{self.what} has no column called noise; give one that name.")
        return np.array(
            [
                self.read(row[place] if place < len(row) else "", f"{self.what}, line {number}: the noise", True)
                for number, row in self.below
            ]
        )


class FeatureFile(_Lines):
    """One line for every feature: its name, and a column called noise or cost.

    Parameters
    ----------
    path : Path
    option : str
        The option that named the file.
    names : tuple of str
        The features that must be there.
    some : bool
        Whether lines for other features are allowed.
    """

    each = "feature"

    def __init__(self, path: Path, option: str, names: tuple[str, ...], some: bool) -> None:
        super().__init__(path, option)
        self.names = names
        self.place = next((self.titles.index(title) for title in _NAMES if title in self.titles), 0)
        self.lines: dict[str, tuple[int, list[str]]] = {}
        for number, row in self.below:
            name = row[self.place] if self.place < len(row) else ""
            if name in self.lines:
                raise InvalidProblem(f"{self.what} has two lines for the feature {name!r}; keep one of them.")
            self.lines[name] = (number, row)
        unknown = [name for name in self.lines if name not in names]
        if unknown and not some:
            raise InvalidProblem(
                f"{self.what}, line {self.lines[unknown[0]][0]}: FILE has no feature {unknown[0]!r}; check the "
                "spelling, or remove the line."
            )
        missing = [name for name in names if name not in self.lines]
        if missing:
            raise InvalidProblem(f"{self.what} has no line for the feature {missing[0]!r} of FILE; add one.")

    def noises(self) -> FloatArray | None:
        """Return the column called noise, or the one beside the names."""
        return self._numbers(("noise",), required=True)

    def costs(self, required: bool = False) -> FloatArray | None:
        """Return the column called cost; if it is required, the one beside the names will do."""
        return self._numbers(("cost", "costs"), required)

    def _numbers(self, titles: tuple[str, ...], required: bool) -> FloatArray | None:
        place = next((self.titles.index(title) for title in titles if title in self.titles), None)
        if place is None:
            if not required:
                return None
            if len(self.titles) != 2:
                raise InvalidProblem(f"{self.what} has no column called {titles[0]}; give one that name.")
            place = 1 - self.place
        return np.array([self._number(name, place, titles[0]) for name in self.names])

    def _number(self, name: str, place: int, title: str) -> float:
        line, row = self.lines[name]
        cell = row[place] if place < len(row) else ""
        if cell == "" and title == "cost":
            return 0.0
        return self.read(cell, f"{self.what}, line {line}: the {title} of {name!r}", infinite=title == "noise")


def _decoded(source: Any) -> str:
    content: bytes = source.read_bytes() if isinstance(source, Path) else source.read()
    if isinstance(source, Path) and source.suffix.lower() == ".gz":
        content = gzip.decompress(content)
    return content.decode("utf-8-sig")
