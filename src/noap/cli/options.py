"""Options that several commands share, in the groups in which commands take them.

A command names a group as the type of one parameter; `noap.cli.run.as_command` makes an option of every field.
"""

import enum
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from noap.data.files.reading import Reading
from noap.data.files.table import Table, read_table
from noap.data.validation import Samples
from noap.linalg.types import FloatArray

__all__ = [
    "DATA",
    "KINDS",
    "METHOD",
    "OUTPUT",
    "PANELS",
    "PROBLEM",
    "PROGRAM",
    "AdversaryName",
    "Components",
    "DataFile",
    "DataOptions",
    "Deflation",
    "Gap",
    "Jobs",
    "Joint",
    "Method",
    "MetricFile",
    "MetricRidge",
    "Points",
    "ReadOptions",
    "SearchOptions",
    "Seed",
    "TimeLimit",
    "option",
]  # fmt: skip

DATA, PROBLEM, METHOD, PROGRAM, OUTPUT = "Data", "Problem", "Method", "Mixed-integer programs", "Output"
PANELS = (DATA, PROBLEM, METHOD, PROGRAM, OUTPUT)
KINDS = "CSV, TSV (also .gz), Parquet, Excel, NPY or NPZ"

_METHODS = (
    "exact", "relaxation", "ascent", "mip", "mip-r", "ppm", "spca",
    "diagonal-thresholding", "covariance-thresholding",
)  # fmt: skip


class AdversaryName(enum.StrEnum):
    """Who may move what: the keys of the adversaries, written out for the help and the type checker."""

    feature = "feature"
    sample = "sample"
    spectral = "spectral"
    entry = "entry"
    none = "none"


def option(help: str, *names: str, panel: str = OUTPUT, metavar: str | None = None, **more: Any) -> Any:
    """Return an option with its help, in a panel of the page that --help prints."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, **more)


def methods(incomplete: str) -> list[str]:
    """Complete the name of a method in a shell."""
    return [name for name in _METHODS if name.startswith(incomplete)]


DataFile = Annotated[Path, typer.Argument(metavar="FILE", help=f"{KINDS}; samples in rows.")]
Components = Annotated[
    int | None, option("How many components, of k features each.", "--components", "-c", panel=PROBLEM)
]
Joint = Annotated[
    bool | None,
    option("Choose the components together, on disjoint features.", "--joint/--no-joint", panel=PROBLEM),
]
Deflation = Annotated[
    str,
    option(
        "What a component leaves to the next: projection (default), disjoint, orthogonal or uncorrelated.",
        panel=PROBLEM,
        metavar="HOW",
        show_default=False,
    ),
]
NoiseFile = Annotated[
    Path | None, option("CSV: feature, noise, cost if any; or of samples.", panel=PROBLEM, metavar="TABLE")
]
NoiseUnits = Annotated[
    str | None, option("Units of --noise-file: standardised or data.", panel=PROBLEM, metavar="UNITS")
]
CostFile = Annotated[
    Path | None, option("CSV: feature, cost (in units of robust variance).", panel=PROBLEM, metavar="TABLE")
]
MetricFile = Annotated[
    Path | None,
    option("B of v'Bv = 1: its diagonal, B, or samples Y.", "--metric", panel=PROBLEM, metavar="TABLE"),
]
MetricRidge = Annotated[
    float | None,
    option("Share of the mean diagonal of Y'Y/m added to it.", "--metric-ridge", panel=PROBLEM),
]
Method = Annotated[
    str,
    option(
        "exact (default: proves the gap), relaxation (a bound), mip, mip-r (to solvers' tolerances); ascent, ppm, "
        "spca, diagonal-thresholding, covariance-thresholding (nothing).",
        panel=METHOD,
        metavar="NAME",
        autocompletion=methods,
        show_default=False,
    ),
]
Jobs = Annotated[int | None, option("Processes that share the work; -1 for all cores.", panel=METHOD)]
Gap = Annotated[float, option("Relative gap that counts as optimal.", panel=METHOD)]
TimeLimit = Annotated[float | None, option("Seconds; the best answer so far is reported.", panel=METHOD)]
Seed = Annotated[int, option("Seed of the random starts.", panel=METHOD)]
Points = Annotated[int, option("Number of budgets to begin with, where they are chosen.", panel=METHOD)]


@dataclass(frozen=True)
class ReadOptions:
    """How FILE is read."""

    columns: Annotated[
        list[str] | None,
        option("Use these columns only: a,b,c; may be repeated.", panel=DATA, metavar="NAMES"),
    ] = None
    drop: Annotated[
        list[str] | None, option("Leave these columns out; may be repeated.", panel=DATA, metavar="NAMES")
    ] = None
    index: Annotated[str | None, option("Column of row labels, which is no feature.", panel=DATA, metavar="NAME")] = (
        None
    )
    delimiter: Annotated[
        str | None, option("What separates entries: , ; | tab or space; detected.", panel=DATA, metavar="CHAR")
    ] = None
    decimal: Annotated[str | None, option("Decimal mark, . or ,; detected.", panel=DATA, metavar="CHAR")] = None
    header: Annotated[
        bool | None, option("Whether the first line holds names; it does.", "--header/--no-header", panel=DATA)
    ] = None
    sheet: Annotated[str | None, option("Sheet of an Excel file; the first.", panel=DATA, metavar="NAME")] = None

    @property
    def reading(self) -> Reading:
        """The same for the readers of files."""
        columns, drop = tuple(self.columns or ()), tuple(self.drop or ())
        return Reading(self.delimiter, self.decimal, self.header, columns, drop, self.index, self.sheet)

    def table(self, file: Path) -> Table:
        """Read FILE."""
        return read_table(file, self.reading)

    def prepared_as(self, center: bool, scale: bool) -> "DataOptions":
        """Return the same for data that are centred or scaled."""
        return DataOptions(**{one.name: getattr(self, one.name) for one in fields(self)}, center=center, scale=scale)


@dataclass(frozen=True)
class DataOptions(ReadOptions):
    """How FILE is read and prepared."""

    center: Annotated[bool, option("Subtract the column means.", panel=DATA)] = True
    scale: Annotated[bool, option("Divide by the standard deviations.", panel=DATA)] = True

    def prepared(self, table: Table) -> Samples:
        """Return the samples of a table, centred and scaled."""
        return table.standardised(self.center, self.scale)

    def scales(self, table: Table) -> FloatArray:
        """Return the divisor of every column."""
        return table.scales(self.center, self.scale)

    @property
    def said(self) -> dict[str, bool]:
        """What was done to the data, as a document says it: `noap attack` does it again."""
        return {"center": self.center, "scale": self.scale}


@dataclass(frozen=True)
class SearchOptions:
    """How each problem is solved."""

    method: Method = "exact"
    gap: Gap = 1e-4
    time_limit: Annotated[
        float | None, option("Seconds for each problem; the best answer so far is reported.", panel=METHOD)
    ] = None
    seed: Seed = 0
    jobs: Jobs = None

    @property
    def limits(self) -> dict[str, Any]:
        """Gap, time limit and seed as arguments of `noap.solve`."""
        return {"gap": self.gap, "time_limit": self.time_limit, "random_state": self.seed}
