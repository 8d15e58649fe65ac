"""`noap near-optimal`: every set of features of a file that comes close to the best one."""

import json as json_module
from pathlib import Path
from typing import Annotated

import numpy as np
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
    Header,
    Index,
    Json,
    Log,
    NoiseFile,
    NoiseUnits,
    Scale,
    Seed,
    Sheet,
)
from noap.cli.output import check_suffix, log_progress, refuse_to_overwrite, write_file, write_table
from noap.cli.problems import problem_as_json, problem_of
from noap.cli.single_features import read_single_features
from noap.runtime.names import counted, listed

__all__ = ["near_optimal"]

# More rows than this scroll off the screen, more names do not fit a line; --out and --json hold all of them.
_MOST_ROWS, _MOST_NAMES = 25, 8


def near_optimal(
    file: DataFile,
    k: Annotated[int, typer.Option("-k", help="How many features to keep.")] = 5,
    within: Annotated[float, typer.Option(help="List what is worth at least 1 minus this share of the best.")] = 0.01,
    limit: Annotated[
        int | None, typer.Option(help="Stop once so many sets were met; the list is then not complete.")
    ] = None,
    adversary: Anyone = AdversaryName.feature,
    noise: Annotated[float | None, typer.Option(help="Budget in natural units; 0.1 if neither is given.")] = None,
    rho: Annotated[float | None, typer.Option(help="Budget as in the paper, instead of --noise.")] = None,
    noise_file: NoiseFile = None,
    cost_file: CostFile = None,
    noise_units: NoiseUnits = None,
    center: Center = True,
    scale: Scale = True,
    time_limit: Annotated[float | None, typer.Option(help="Seconds; the list so far comes back.")] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Write the list to this .csv, .parquet or .json file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the list to this .png, .svg or .pdf file.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the proof that the list is complete to this file, for noap verify.")
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
    """List every set of features that comes close to the best one, and say whether the list is complete.

    Without an adversary, or against features.

    For example:

    noap near-optimal data.csv -k 5 --noise 0.2

    noap near-optimal data.csv -k 5 --within 0.05 --limit 100 --out near.csv

    noap near-optimal data.parquet -k 8 --adversary none --time-limit 60 --json

    noap near-optimal data.csv -k 5 --certificate list.noap
    """
    check_suffix(out, "--out", (".csv", ".parquet", ".json"))
    check_suffix(plot, "--plot", (".png", ".svg", ".pdf"))
    refuse_to_overwrite(out, force)
    refuse_to_overwrite(plot, force, "--plot")
    refuse_to_overwrite(certificate, force, "--certificate")
    log_progress(log)
    reading = reading_of(delimiter, decimal, header, columns, drop, index, sheet)
    table = read_table(file, reading)
    single = read_single_features(noise_file, cost_file, noise_units, adversary, table.names, reading)
    problem = problem_of(table, single, k, adversary, noise, rho, center=center, scale=scale)
    near = noap.near_optimal(problem, within, limit, time_limit=time_limit, random_state=seed, progress=log or not json)
    document = _document(near, table.names, center=center, scale=scale)
    if certificate is not None and near.certificate is not None:
        near.certificate.save(certificate)
    if out is not None:
        write_table(out, document, near.to_frame)
    if plot is not None:
        write_file(plot, "--plot", lambda temporary: near.plot().savefig(temporary, dpi=150))
    if json:
        typer.echo(document)
    else:
        console = Console(highlight=False)
        _print(near, table.names, console)
        for place in filter(None, (out, plot)):
            console.print(f"Written to {place}.", markup=False, soft_wrap=True)
        if certificate is not None:
            proved = f"The proof is in {certificate}, for noap verify."
            none = "--certificate: a list that is not complete has no proof; none is written."
            console.print(none if near.certificate is None else proved, markup=False, soft_wrap=True)
    stopped = near.limit is not None or (limit is not None and not near.complete)
    return 3 if stopped else 0


def _print(near: noap.NearOptimal, names: tuple[str, ...], console: Console) -> None:
    if not len(near):
        console.print("Nothing survives the adversary: the optimum is 0, and no feature beats another.")
        return
    # Not as a title, which would be broken where the table is narrow.
    console.print(f"{counted(len(near), 'set')} of features within {100 * near.within:g} % of the best")
    grid = Grid()
    grid.add_column("robust variance", justify="right")
    grid.add_column("of the best", justify="right")
    grid.add_column("features")
    first = set(near.supports[0].tolist())
    for value, support in list(zip(near.values.tolist(), near.supports, strict=True))[:_MOST_ROWS]:
        own = set(support.tolist())
        gone, come = ([names[j] for j in sorted(part)] for part in (first - own, own - first))
        if own == first:
            said = listed([names[j] for j in sorted(own)], None)
        else:
            said = f"{listed(come, None) or 'nothing'} instead of {listed(gone, None) or 'nothing'}"
        grid.add_row(f"{value:.6g}", f"{100 * value / near.values[0]:.2f} %", escape(said))
    console.print(grid)
    if len(near) > _MOST_ROWS:
        console.print(f"... and {len(near) - _MOST_ROWS} more; --out writes all of them.")
    core = [names[j] for j in near.core]
    some = [f"{names[j]} ({near.counts[j]})" for j in np.argsort(-near.counts, kind="stable") if j not in near.core]
    some = some[: int(np.count_nonzero(near.counts)) - len(core)]
    if len(near) > 1:
        console.print(f"In all of them: {listed(core, None) or 'no feature'}.", markup=False, soft_wrap=True)
        console.print(f"In some of them: {listed(some, _MOST_NAMES)}.", markup=False, soft_wrap=True)
    console.print(_completeness(near), soft_wrap=True)


def _completeness(near: noap.NearOptimal) -> str:
    if near.complete:
        return f"Complete: the search proves that no other set is worth more than {near.threshold:.6g}."
    why = f" {near.limit.sentence}" if near.limit is not None else ""
    return f"Not complete: there may be other sets worth more than {near.threshold:.6g}, better ones among them.{why}"


def _document(near: noap.NearOptimal, names: tuple[str, ...], *, center: bool, scale: bool) -> str:
    problem = near.problem
    return json_module.dumps(
        {
            "noap": __version__,
            **problem_as_json(problem, names, center=center, scale=scale),
            "within": near.within,
            "threshold": near.threshold,
            "complete": near.complete,
            "bound": None if near.certificate is None else near.certificate.bound,
            "limit": None if near.limit is None else near.limit.value,
            "core": [names[j] for j in near.core],
            "counts": {names[j]: int(near.counts[j]) for j in np.flatnonzero(near.counts)},
            "supports": [
                {
                    "value": value,
                    "robust_variance": problem.robust_variance(v),
                    "features": [names[j] for j in support],
                    "loadings": v[support].tolist(),
                }
                for value, support, v in zip(near.values.tolist(), near.supports, near.vectors, strict=True)
            ],
            "nodes": near.nodes,
            "seconds": near.seconds,
        },
        indent=2,
    )
