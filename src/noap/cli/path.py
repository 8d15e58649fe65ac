"""`noap path`: which features of a file stay essential as the noise grows."""

import json as json_module
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import noap
from noap._version import __version__
from noap.analysis.barcode import barcode
from noap.cli.budget import AdversaryName, budgets_of, factors_of, family_of
from noap.cli.data import read_table, reading_of
from noap.cli.options import (
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
    TimeLimit,
    Who,
)
from noap.cli.output import check_suffix, log_progress, refuse_to_overwrite, write_file, write_table
from noap.cli.single_features import read_single_features, strength_as_json
from noap.errors import InvalidProblem
from noap.result import Status
from noap.runtime.counting import CountLine
from noap.runtime.names import counted

if TYPE_CHECKING:
    import polars

__all__ = ["path", "print_path"]

# More rows than this scroll off the screen; --out and --json hold all of them.
_MOST_ROWS = 25


def path(
    file: DataFile,
    k: Annotated[
        list[int] | None,
        typer.Option("-k", metavar="<int>", help="How many features to keep, 5 if not given; repeat it for several."),
    ] = None,
    adversary: Who = AdversaryName.feature,
    noise: Annotated[
        str | None, typer.Option(metavar="LIST", help="Noises to solve at, such as 0,0.1,0.2; chosen if not given.")
    ] = None,
    rho: Annotated[
        str | None, typer.Option(metavar="LIST", help="Budgets as in the paper, instead of --noise.")
    ] = None,
    factor: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="With --noise-file: factors on its noises, such as 0,0.5,1,2; 1 as given."),
    ] = None,
    noise_file: NoiseFile = None,
    cost_file: CostFile = None,
    noise_units: NoiseUnits = None,
    points: Annotated[int, typer.Option(help="How many budgets to begin with when they are chosen.")] = 33,
    tolerance: Annotated[
        float, typer.Option(help="How well changes are located, as a share of the largest budget.")
    ] = 1e-3,
    method: Method = "exact",
    center: Center = True,
    scale: Scale = True,
    gap: Gap = 1e-4,
    time_limit: TimeLimit = None,
    jobs: Annotated[int | None, typer.Option(help="Processes to share the work; -1 for all cores.")] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Write the points to this .csv, .parquet or .json file.")] = None,
    features_out: Annotated[
        Path | None,
        typer.Option(help="Write to this .csv or .parquet where every feature is essential, and where it is selected."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw band, barcode and loadings to this .png, .svg or .pdf.")
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
    """Show which features stay essential as the noise grows, with a proof at every point.

    An essential feature is measured redundantly enough to outlast errors of that size; that does not make it true.

    For example:

    noap path data.csv -k 5

    noap path data.csv -k 5 --out path.csv --features-out features.csv --plot path.png

    noap path data.parquet -k 5 --noise 0,0.1,0.2,0.4 --json

    noap path data.npy -k 3 -k 5 -k 8 --adversary sample --jobs 2

    noap path data.csv -k 5 --noise-file precision.csv --factor 0.5,1,2
    """
    check_suffix(out, "--out", (".csv", ".parquet", ".json"))
    check_suffix(features_out, "--features-out", (".csv", ".parquet"))
    check_suffix(plot, "--plot", (".png", ".svg", ".pdf"))
    refuse_to_overwrite(out, force)
    refuse_to_overwrite(features_out, force, "--features-out")
    log_progress(log)
    refuse_to_overwrite(plot, force, "--plot")
    sparsities = k or [5]
    if plot is not None and len(sparsities) > 1:
        raise InvalidProblem("--plot draws one path; pass -k once.")
    family: Any = family_of(adversary)
    reading = reading_of(delimiter, decimal, header, columns, drop, index, sheet)
    table = read_table(file, reading)
    n = int(table.X.shape[0])
    single = read_single_features(noise_file, cost_file, noise_units, adversary, table.names, reading)
    wanted = budgets_of(adversary, noise, rho, n)
    if single.noise is not None:
        if wanted is not None:
            raise InvalidProblem("--noise-file sets every single noise; pass --factor in place of a list.")
        family = single.adversary(adversary, None, None, n, lambda: table.scales(center, scale))
        wanted = factors_of(factor)
    elif factor is not None:
        raise InvalidProblem("--factor multiplies the noises of --noise-file; add --noise-file, or pass --noise.")
    samples: Any = table.standardised(center, scale)
    if single.costs is not None:
        samples = noap.Problem(samples, max(sparsities), noap.NoAdversary(), costs=single.costs)
    paths = noap.path(
        samples,
        sparsities,
        family,
        wanted,
        method,
        jobs,
        points=points,
        tolerance=tolerance,
        gap=gap,
        time_limit=time_limit,
        random_state=seed,
        progress=log or not json,
    )
    unit = paths[0].family.noise_unit
    # These searches may take as long as the path.
    with CountLine("essential features: path", len(paths), wanted=log or not json) as line:
        for one in paths:
            line.say(line.doing)
            _ = one.essential
            line.step()
    document = _document(paths, unit, center=center, scale=scale)
    if out is not None:
        write_table(out, document, lambda: _points(paths))
    if features_out is not None:
        _write_features(features_out, paths)
    if plot is not None:
        write_file(plot, "--plot", lambda temporary: paths[0].plot().savefig(temporary, dpi=150))
    if json:
        typer.echo(document)
    else:
        console = Console(highlight=False)
        for one in paths:
            print_path(one, table.names, unit, console)
        for written in (out, features_out, plot):
            if written is not None:
                console.print(f"Written to {written}.", markup=False, soft_wrap=True)
    interrupted = any(one.options is None for one in paths)
    return 3 if interrupted or any(result.limit is not None for one in paths for result in one.results) else 0


def print_path(path: noap.Path, names: tuple[str, ...], unit: float, console: Console) -> None:
    """Print where every feature is essential, the stages and what is proved; `unit` is the rho of noise 1."""
    rows, dial = barcode(path), path.family.dial
    grid = Grid(title=f"k = {path.k}: {len(rows)} of {len(names)} features are ever selected", title_justify="left")
    grid.add_column("feature")
    grid.add_column(f"essential to {dial}", justify="right")
    grid.add_column(f"essential at {dial}")
    grid.add_column(f"selected at {dial}")
    for row in rows[:_MOST_ROWS]:
        end = "never" if math.isnan(row.essential_to) else f"{row.essential_to / unit:.4g}"
        essential = "; ".join(_span(bar.first / unit, bar.last / unit) for bar in row.bars if bar.essential)
        selected = "; ".join(_span(a / unit, b / unit) for a, b in path.intervals[row.feature])
        grid.add_row(escape(names[row.feature]), end, essential, selected)
    console.print(grid)
    if len(rows) > _MOST_ROWS:
        console.print(f"... and {len(rows) - _MOST_ROWS} more; --features-out writes all of them.")
    how = "proved" if path.proves else f"as far as method {path.results[0].method} could find"
    console.print(
        f"A feature is essential where every component within the asked gap of the best uses it ({how}).",
        soft_wrap=True,
    )
    words = {"full": counted(path.k, "feature"), "partial": "fewer", "single": "one", "none": "nothing left"}
    shown = ", ".join(f"{words[s.kind]} at {_span(s.start / unit, s.end / unit)}" for s in path.stages())
    console.print(f"Stages by {dial}: {shown}.", soft_wrap=True)
    if path.family.whole is not None:
        console.print("A factor multiplies the noise of every feature; 1 is the noise as given.", soft_wrap=True)
    optimal = sum(result.status is Status.OPTIMAL for result in path.results)
    asked = path.results[0].asked_gap
    console.print(f"{optimal} of {len(path)} points proved optimal to a gap of {asked:g} (rigorous).", soft_wrap=True)
    if path.note is not None:
        console.print(path.note, soft_wrap=True)


def _span(first: float, last: float) -> str:
    ends = f"{first:.4g}", f"{last:.4g}"
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _write_features(out: Path, paths: tuple[noap.Path, ...]) -> None:
    import polars

    frame = polars.concat([one.features_frame() for one in paths])
    if out.suffix.lower() == ".parquet":
        write_file(out, "--features-out", frame.write_parquet)
        return
    spans = [name for name, kind in frame.schema.items() if kind == polars.List]
    texts = [polars.Series(name, ["; ".join(_span(*ends) for ends in row) for row in frame[name]]) for name in spans]
    write_file(out, "--features-out", frame.with_columns(texts).write_csv)


def _points(paths: tuple[noap.Path, ...]) -> "polars.DataFrame":
    import polars

    frame: polars.DataFrame = polars.concat([one.to_frame(loadings=True) for one in paths])
    return frame


def _document(paths: tuple[noap.Path, ...], unit: float, *, center: bool, scale: bool) -> str:
    return json_module.dumps(
        {
            "noap": __version__,
            "center": center,
            "scale": scale,
            "rho_of_noise_1": unit if paths[0].family.whole is None else None,
            "paths": [_as_dict(one, unit) for one in paths],
        },
        indent=2,
    )


def _as_dict(path: noap.Path, unit: float) -> dict[str, Any]:
    base, whole = path.family.base, path.family.whole
    names = path.feature_names or tuple(f"x{j}" for j in range(base.n_features))
    lifetimes = {names[j]: rho for j, rho in enumerate(path.lifetimes.tolist()) if not math.isnan(rho)}
    ends = {names[row.feature]: row.essential_to for row in barcode(path) if not math.isnan(row.essential_to)}
    intervals = {names[j]: spans for j, spans in enumerate(path.intervals) if spans}

    def in_noise(of: dict[str, float]) -> dict[str, float] | None:
        return {name: rho / unit for name, rho in of.items()} if whole is None else None

    given = strength_as_json(base if whole is None else base.with_adversary(whole), names)
    return {
        "k": path.k,
        "n_samples": base.n_samples,
        "n_features": base.n_features,
        "adversary": type(base.adversary).__name__,
        "counts_in": "rho" if whole is None else "factor",
        "budgets": None if whole is None else {"rho": given["rho"], "noise": given["noise"]},
        "costs": given["costs"],
        "rho_max": path.rho_max if math.isfinite(path.rho_max) else None,
        "note": path.note,
        "essential_to": ends,
        "essential_to_noise": in_noise(ends),
        "essential_proved": path.proves,
        "lifetimes": lifetimes,
        "lifetimes_noise": in_noise(lifetimes),
        "intervals": intervals,
        "intervals_noise": None
        if whole is not None
        else {name: [[a / unit, b / unit] for a, b in spans] for name, spans in intervals.items()},
        "stages": [{"kind": s.kind, "start": s.start, "end": s.end} for s in path.stages()],
        "points": [
            {
                **({"rho": rho, "noise": rho / unit} if whole is None else {"factor": rho}),
                "robust_variance": result.robust_variance,
                "objective": result.value,
                "bound": result.bound if math.isfinite(result.bound) else None,
                "gap": result.gap if math.isfinite(result.gap) else None,
                "status": result.status.value,
                "limit": None if result.limit is None else result.limit.value,
                "features": [names[j] for j in support],
                "loadings": result.v[support].tolist(),
                "essential": [names[j] for j in np.flatnonzero(essential)],
                "messages": list(result.messages),
            }
            for rho, result, support, essential in zip(
                path.rhos.tolist(), path.results, path.supports, path.essential, strict=True
            )
        ],
    }
