"""`noap stability`: how often each feature of a file returns on resampled data."""

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import noap
from noap._version import __version__
from noap.cli.budget import AdversaryName
from noap.cli.data import read_table, reading_of
from noap.cli.options import (
    Anyone,
    Center,
    Columns,
    CostFile,
    DataFile,
    Decimal,
    Delimiter,
    Drop,
    Force,
    Gap,
    Header,
    Index,
    Json,
    Log,
    Method,
    NoiseFile,
    NoiseUnits,
    Scale,
    Seed,
    Sheet,
)
from noap.cli.output import check_suffix, log_progress, refuse_to_overwrite, write_file, write_table
from noap.cli.problems import problem_as_json, problem_of
from noap.cli.single_features import read_single_features
from noap.data.arguments import as_share
from noap.runtime.names import counted, listed

__all__ = ["stability"]

# More rows than this scroll off the screen; --out and --json hold all of them.
_MOST_ROWS = 25


def stability(
    file: DataFile,
    k: Annotated[int, typer.Option("-k", help="How many features to keep.")] = 5,
    n_boot: Annotated[int, typer.Option(help="How many resamples.")] = 100,
    share: Annotated[float, typer.Option(help="Name the features that this share of the resamples selects.")] = 0.8,
    adversary: Anyone = AdversaryName.feature,
    noise: Annotated[float | None, typer.Option(help="Budget in natural units; 0.1 if neither is given.")] = None,
    rho: Annotated[float | None, typer.Option(help="Budget as in the paper, instead of --noise.")] = None,
    noise_file: NoiseFile = None,
    cost_file: CostFile = None,
    noise_units: NoiseUnits = None,
    method: Method = "ascent",
    center: Center = True,
    scale: Scale = True,
    gap: Gap = 1e-4,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for each resample.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes to share the work; -1 for all cores.")] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Write the table to this .csv, .parquet or .json file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw how often features return to this .png, .svg or .pdf.")
    ] = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    columns: Columns = None,
    drop: Drop = None,
    index: Index = None,
    sheet: Sheet = None,
    force: Force = False,
    log: Log = False,
    json: Json = False,
) -> int:
    """Draw samples again, solve again, and count how often each feature returns.

    For example:

    noap stability data.csv -k 5 --noise 0.2

    noap stability data.csv -k 5 --n-boot 500 --jobs 2 --out stability.csv --plot stability.png

    noap stability data.parquet -k 3 --adversary sample --noise 0.5 --json
    """
    check_suffix(out, "--out", (".csv", ".parquet", ".json"))
    check_suffix(plot, "--plot", (".png", ".svg", ".pdf"))
    refuse_to_overwrite(out, force)
    refuse_to_overwrite(plot, force, "--plot")
    log_progress(log)
    as_share("--share", share)
    reading = reading_of(delimiter, decimal, header, columns, drop, index, sheet)
    table = read_table(file, reading)
    single = read_single_features(noise_file, cost_file, noise_units, adversary, table.names, reading)
    problem = problem_of(table, single, k, adversary, noise, rho, center=center, scale=scale)
    found = noap.stability(
        problem,
        n_boot,
        method=method,
        center=center,
        scale=scale,
        random_state=seed,
        n_jobs=jobs,
        progress=log or not json,
        gap=gap,
        time_limit=time_limit,
    )
    document = _document(found, table.names, share, center=center, scale=scale)
    if out is not None:
        write_table(out, document, found.to_frame)
    if plot is not None:
        write_file(plot, "--plot", lambda temporary: found.plot().savefig(temporary, dpi=150))
    if json:
        typer.echo(document)
    else:
        console = Console(highlight=False)
        _print(found, share, console)
        for place in filter(None, (out, plot)):
            console.print(f"Written to {place}.", markup=False, soft_wrap=True)
    return 3 if len(found.values) < n_boot else 0


def _print(found: noap.Stability, share: float, console: Console) -> None:
    if found.result.value == 0:
        console.print("Nothing survives the adversary on the data themselves, and no feature beats another.")
    rows = [row for row in found.to_frame().to_dicts() if row["frequency"] > 0 or _chosen(found, row)]
    title = f"{counted(len(found.values), 'resample')}: {len(rows)} of {len(found.names)} features are ever selected"
    grid = Grid(title=title, title_justify="left")
    grid.add_column("feature")
    for column in ("returns in", "loading", "loadings, middle 90 %"):
        grid.add_column(column, justify="right")
    for row in rows[:_MOST_ROWS]:
        between = "" if row["low"] is None else f"{row['low']:+.3f} to {row['high']:+.3f}"
        loading = f"{row['loading']:+.4f}" if _chosen(found, row) else ""
        grid.add_row(escape(row["feature"]), f"{100 * row['frequency']:.0f} %", loading, between)
    console.print(grid)
    if len(rows) > _MOST_ROWS:
        console.print(f"... and {len(rows) - _MOST_ROWS} more; --out writes all of them.")
    stable = found.stable(share)
    console.print(
        f"In at least {100 * share:g} % of the resamples: {listed(stable, None) or 'no feature'}. "
        f"The same set as on the data themselves: in {100 * found.support_frequency:.0f} %.",
        markup=False,
        soft_wrap=True,
    )


def _chosen(found: noap.Stability, row: dict[str, Any]) -> bool:
    """Return whether the data themselves select the feature of a row; where nothing is left they select none."""
    return bool(row["selected"]) and found.result.value > 0


def _document(found: noap.Stability, names: tuple[str, ...], share: float, *, center: bool, scale: bool) -> str:
    return json_module.dumps(
        {
            "noap": __version__,
            **problem_as_json(found.result.problem, names, center=center, scale=scale),
            "method": found.result.method,
            "resamples": len(found.values),
            "share": share,
            "stable": list(found.stable(share)),
            "support_frequency": found.support_frequency,
            "features": found.to_frame().to_dicts(),
        },
        indent=2,
    )
