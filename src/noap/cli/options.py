"""Options that several commands share, so that they read the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer

from noap.cli.budget import AdversaryName

__all__ = ["Center", "DataFile", "Force", "Gap", "Json", "Method", "Scale", "Seed", "TimeLimit", "Who"]

_METHODS = ("exact", "ascent", "mip", "mip-r", "ppm", "spca")


def _methods(incomplete: str) -> list[str]:
    return [name for name in _METHODS if name.startswith(incomplete)]


DataFile = Annotated[Path, typer.Argument(metavar="FILE", help="CSV, Parquet, NPY or NPZ; samples in rows.")]
Who = Annotated[AdversaryName, typer.Option(help="Who moves: every feature or every sample.")]
Method = Annotated[
    str, typer.Option(help="exact, ascent, mip, mip-r, ppm or spca; only exact proves.", autocompletion=_methods)
]
Center = Annotated[bool, typer.Option(help="Subtract the column means first.")]
Scale = Annotated[bool, typer.Option(help="Divide by the standard deviations first.")]
Gap = Annotated[float, typer.Option(help="Relative gap that counts as optimal.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds for each problem; the best answer so far comes back.")]
Seed = Annotated[int, typer.Option(help="Seed of the random starts.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
