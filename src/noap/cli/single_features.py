"""Noises and costs of single features, and noises of single samples, as files say them."""

import csv
import gzip
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noap.adversaries import BY_KEY, Adversary, FeatureWise, NoAdversary, SampleWise
from noap.cli.budget import AdversaryName, adversary_of
from noap.data.files.dialect import as_utf8, dialect_of
from noap.data.files.reading import Reading, is_text
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray
from noap.problem import Problem

__all__ = ["SingleFeatures", "read_single_features", "strength_as_json"]

_NAMES, _COSTS = ("feature", "name"), ("cost", "costs")
_UNITS = ("standardised", "data")


@dataclass(frozen=True, eq=False)
class SingleFeatures:
    """What the files say of every feature of the table, in its order; or of every sample.

    Attributes
    ----------
    noise : array of shape (d,) or (n,), or None
        Of features, or of samples where these are what the adversary moves.
    costs : array of shape (d,) or None
    in_data_units : bool
        Whether the noise counts in the units of the columns, before they are scaled.
    """

    noise: FloatArray | None = None
    costs: FloatArray | None = None
    in_data_units: bool = False

    def adversary(
        self, name: AdversaryName, noise: float | None, rho: float | None, n: int, scales: Callable[[], FloatArray]
    ) -> Adversary:
        """Return the adversary of n samples; `scales` tells what the columns were divided by, where that matters."""
        if self.noise is None:
            return adversary_of(name, noise, rho, n)
        kind = BY_KEY[name]
        if noise is not None or rho is not None:
            raise InvalidProblem(f"--noise-file sets the noise of every {kind.key}; leave out --noise and --rho.")
        if kind is SampleWise:
            if len(self.noise) != n:
                raise InvalidProblem(
                    f"--noise-file has {len(self.noise)} lines below its head and FILE has {n} samples; give it one "
                    "line for every sample, in the order of FILE."
                )
            return SampleWise(self.noise * SampleWise.noise_unit(n))
        counted = self.noise / scales() if self.in_data_units else self.noise
        return FeatureWise(counted * FeatureWise.noise_unit(n))


def read_single_features(
    noise_file: Path | None,
    cost_file: Path | None,
    units: str | None,
    adversary: AdversaryName,
    names: tuple[str, ...],
    reading: Reading,
) -> SingleFeatures:
    """Read both files for the features called `names`, or raise InvalidProblem with one sentence.

    Parameters
    ----------
    noise_file, cost_file : Path, optional
        A table with a line for every feature: its name, and a column called noise or cost. The costs may stand in the
        noise file as well. Where the adversary moves samples, the noise file has a line for every sample instead.
    units : "standardised", "data" or None
        What the noise counts in; None is "standardised".
    adversary : AdversaryName
    names : tuple of str
    reading : Reading
        Where it leaves columns of FILE out, these files may have lines for them.
    """
    if units is not None and noise_file is None:
        raise InvalidProblem("--noise-units says what --noise-file counts in; add --noise-file.")
    if units not in (None, *_UNITS):
        raise InvalidProblem(f"--noise-units must be one of {', '.join(_UNITS)}, got {units!r}.")
    kind = BY_KEY[adversary]
    if noise_file is not None and kind not in (FeatureWise, SampleWise):
        raise InvalidProblem(
            f"--noise-file needs --adversary feature or sample, each of which has its own noise, not {kind.key}."
        )
    if units == "data" and kind is SampleWise:
        raise InvalidProblem(
            "--noise-units data is about columns; leave it out, the noise of a sample counts in the units of what "
            "--no-center and --no-scale leave of it."
        )
    if cost_file is not None and kind not in (FeatureWise, SampleWise, NoAdversary):
        raise InvalidProblem(f"--cost-file needs --adversary feature, sample or none, got {adversary}.")
    some = bool(reading.columns or reading.drop or reading.index)
    noise = costs = None
    if noise_file is not None and kind is SampleWise:
        noise = _Samples(noise_file, "--noise-file").noises()
    elif noise_file is not None:
        rows = _Rows(noise_file, "--noise-file", names, some)
        noise, costs = rows.numbers(("noise",), infinite=True, required=True), rows.numbers(_COSTS)
    if cost_file is not None:
        if costs is not None:
            raise InvalidProblem("--cost-file and a cost column of --noise-file both set the costs; keep one of them.")
        costs = _Rows(cost_file, "--cost-file", names, some).numbers(_COSTS, required=True)
    return SingleFeatures(noise, costs, units == "data")


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
        lines = [
            (number, row) for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=dialect.separator), 1)
        ]
        lines = [(number, [cell.strip() for cell in row]) for number, row in lines if any(cell.strip() for cell in row)]
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


class _Samples(_Lines):
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


class _Rows(_Lines):
    """The lines of a file, by feature."""

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

    def numbers(self, titles: tuple[str, ...], *, infinite: bool = False, required: bool = False) -> FloatArray | None:
        """Return the column that has one of the titles; of two columns the second, if one is required."""
        place = next((self.titles.index(title) for title in titles if title in self.titles), None)
        if place is None:
            if not required:
                return None
            if len(self.titles) != 2:
                raise InvalidProblem(f"{self.what} has no column called {titles[0]}; give one that name.")
            place = 1 - self.place
        return np.array([self._number(name, place, titles[0], infinite) for name in self.names])

    def _number(self, name: str, place: int, title: str, infinite: bool) -> float:
        line, row = self.lines[name]
        cell = row[place] if place < len(row) else ""
        if cell == "" and title == "cost":
            return 0.0
        return self.read(cell, f"{self.what}, line {line}: the {title} of {name!r}", infinite)


def _decoded(source: Any) -> str:
    content: bytes = source.read_bytes() if isinstance(source, Path) else source.read()
    if isinstance(source, Path) and source.suffix.lower() == ".gz":
        content = gzip.decompress(content)
    return content.decode("utf-8-sig")


def strength_as_json(problem: Problem, names: tuple[str, ...]) -> dict[str, Any]:
    """Return rho, noise and costs as JSON takes them: numbers, by feature, or a list of samples; infinity as "inf"."""
    adversary, unit = problem.adversary, problem.adversary.noise_unit(problem.n_samples)
    costs = None if problem.costs is None else dict(zip(names, problem.costs.tolist(), strict=True))
    if adversary.has_one_budget:
        return {"rho": adversary.rho, "noise": adversary.rho / unit, "costs": costs}

    def by_name(numbers: FloatArray) -> Any:
        listed = ["inf" if math.isinf(number) else number for number in numbers.tolist()]
        return dict(zip(names, listed, strict=True)) if adversary.key == FeatureWise.key else listed

    return {"rho": by_name(adversary.rho), "noise": by_name(adversary.rho / unit), "costs": costs}
