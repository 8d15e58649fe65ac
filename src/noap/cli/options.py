"""Options that several commands share, so that they read the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

from noap.cli.budget import AdversaryName

__all__ = [
    "KINDS",
    "Anyone",
    "Center",
    "Columns",
    "CostFile",
    "DataFile",
    "Decimal",
    "Delimiter",
    "Device",
    "Drop",
    "Force",
    "Gap",
    "Header",
    "Index",
    "Json",
    "Log",
    "Method",
    "MetricFile",
    "MetricRidge",
    "NoiseFile",
    "NoiseUnits",
    "Scale",
    "Seed",
    "Sheet",
    "TimeLimit",
    "Who",
]

_METHODS = (
    "exact", "relaxation", "ascent", "mip", "mip-r", "ppm", "spca",
    "diagonal-thresholding", "covariance-thresholding",
)  # fmt: skip


def _methods(incomplete: str) -> list[str]:
    return [name for name in _METHODS if name.startswith(incomplete)]


_FILE = "How FILE is read and prepared"
_SINGLE = "Single features"
_METRIC = "A metric"
KINDS = "CSV, TSV (also .gz), Parquet, Excel, NPY or NPZ"
DataFile = Annotated[Path, typer.Argument(metavar="FILE", help=f"{KINDS}; samples in rows.")]
Who = Annotated[
    AdversaryName, typer.Option(metavar="WHO", help="Who moves: every feature or every sample (feature, sample).")
]
Method = Annotated[
    str,
    typer.Option(
        help="exact proves the gap asked for; relaxation a bound, against features or nobody; mip and mip-r one to "
        "their solver's tolerances; ascent, ppm, spca, diagonal-thresholding, covariance-thresholding nothing.",
        autocompletion=_methods,
    ),
]
Anyone = Annotated[
    AdversaryName,
    typer.Option(
        metavar="WHO",
        help="Who moves: every feature, every sample, the table as a whole, every entry, nobody (feature, sample, "
        "spectral, entry, none).",
    ),
]
Center = Annotated[bool, typer.Option(help="Subtract the column means first.", rich_help_panel=_FILE)]
Scale = Annotated[bool, typer.Option(help="Divide by the standard deviations first.", rich_help_panel=_FILE)]
Device = Annotated[
    str | None,
    typer.Option(help="Many features: work on this device of PyTorch, such as cuda; needs pip install 'noap[gpu]'."),
]
Gap = Annotated[float, typer.Option(help="Relative gap that counts as optimal.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds for each problem; the best answer so far comes back.")]
Seed = Annotated[int, typer.Option(help="Seed of the random starts.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
Log = Annotated[
    bool,
    typer.Option("--log", help="Write a line about the progress to stderr every minute, where that is no terminal."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

NoiseFile = Annotated[
    Path | None,
    typer.Option(
        metavar="TABLE",
        help="Each feature its own noise: a CSV with its name, a column noise (0 exact, inf not to be trusted) and, if "
        "features cost something, a column cost. With --adversary sample, each sample: a line for every line of FILE.",
        rich_help_panel=_SINGLE,
    ),
]
CostFile = Annotated[
    Path | None,
    typer.Option(
        metavar="TABLE",
        help="What each feature costs, in units of robust variance: a CSV with its name and a column cost.",
        rich_help_panel=_SINGLE,
    ),
]
MetricFile = Annotated[
    Path | None,
    typer.Option(
        "--metric",
        metavar="TABLE",
        help="B of v'Bv = 1, which takes the place of unit length, by its shape: one column with a number for each "
        "feature is the diagonal of B, a symmetric table of features by features is B, and anything else are samples Y "
        "of the same features, prepared as FILE is: B = Y'Y/m plus a ridge. For --adversary feature and none.",
        rich_help_panel=_METRIC,
    ),
]
MetricRidge = Annotated[
    float | None,
    typer.Option(
        "--metric-ridge",
        help="What is added to the diagonal of Y'Y/m, as a share of its mean; 0.001 by default.",
        rich_help_panel=_METRIC,
    ),
]
NoiseUnits = Annotated[
    str | None,
    typer.Option(
        metavar="UNITS",
        help="What --noise-file counts in: standardised (as --noise does), or data, the units of FILE.",
        rich_help_panel=_SINGLE,
    ),
]

Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="What separates entries: , ; | tab or space. Found out if not given.",
        rich_help_panel=_FILE,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="CHAR", help="Decimal mark, . or ,. Found out if not given.", rich_help_panel=_FILE),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line holds names; it does.", rich_help_panel=_FILE),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Use these columns only: names with commas between; may be repeated.",
        rich_help_panel=_FILE,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Leave these columns out; may be repeated.", rich_help_panel=_FILE),
]
Index = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The column of row labels, which is no feature.", rich_help_panel=_FILE),
]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sheet of an Excel file; the first if not given.", rich_help_panel=_FILE),
]
