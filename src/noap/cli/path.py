"""`noap path`: which features of a file stay essential as the noise grows."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import noap
from noap.cli.options import PROBLEM, DataFile, DataOptions, Points, SearchOptions, option
from noap.cli.problem import ProblemOptions, as_budgets
from noap.cli.run import LIMITED, Answer, TableOptions, write_file
from noap.errors import InvalidProblem
from noap.runtime.digits import percent_up
from noap.runtime.frames import flattened, span
from noap.runtime.names import counted
from noap.runtime.progress import CountLine

if TYPE_CHECKING:
    import polars

__all__ = ["path", "print_path"]

# More rows than this scroll off the screen; --out and --json hold all of them.
_MOST_ROWS = 25


@dataclass(frozen=True)
class _Budgets(ProblemOptions):
    noise: Annotated[
        str | None, option("Noises such as 0,0.1,0.2; chosen if not given.", panel=PROBLEM, metavar="LIST")
    ] = None
    rho: Annotated[
        str | None, option("Budgets as in the paper, instead of --noise.", panel=PROBLEM, metavar="LIST")
    ] = None
    factor: Annotated[
        str | None, option("Factors on --noise-file, such as 0,0.5,1,2.", panel=PROBLEM, metavar="LIST")
    ] = None


def path(
    file: DataFile,
    data: DataOptions,
    asked: _Budgets,
    search: SearchOptions,
    output: TableOptions,
    k: Annotated[
        list[int] | None,
        option("How many features to keep, 5 if not given; may be repeated.", "-k", panel=PROBLEM, metavar="<int>"),
    ] = None,
    points: Points = 33,
    features_out: Annotated[
        Path | None, option("Write to this .csv or .parquet where every feature is essential.")
    ] = None,
) -> int:
    """Show which features stay essential as the noise grows, with a proof at every point.

    An essential feature is measured redundantly enough to outlast errors of that size; that does not make it true.

    noap path data.csv -k 5
    noap path data.csv -k 5 --out path.csv --features-out features.csv --plot path.png
    noap path data.parquet -k 5 --noise 0,0.1,0.2,0.4 --json
    noap path data.npy -k 3 -k 5 -k 8 --adversary sample --jobs 2
    noap path data.csv -k 5 --noise-file precision.csv --factor 0.5,1,2
    """
    output.require_free(features_out, "--features-out", (".csv", ".parquet"))
    sparsities = k or [5]
    if output.plot is not None and len(sparsities) > 1:
        raise InvalidProblem("--plot draws one path; pass -k once.")
    family: Any = asked.family()
    table = data.table(file)
    n = int(table.X.shape[0])
    strength = asked.for_names(table.names, data.reading)
    wanted = asked.budgets(n)
    if strength.noise is not None:
        if wanted is not None:
            raise InvalidProblem("--noise-file sets every single noise; pass --factor in place of a list.")
        family = strength.adversary(n, lambda: data.scales(table))
        wanted = None if asked.factor is None else as_budgets("--factor", asked.factor)
    elif asked.factor is not None:
        raise InvalidProblem("--factor multiplies the noises of --noise-file; add --noise-file, or pass --noise.")
    samples: Any = data.prepared(table)
    if strength.costs is not None:
        samples = noap.Problem(samples, max(sparsities), noap.NoAdversary(), costs=strength.costs)
    paths = noap.path(
        samples,
        sparsities,
        family,
        wanted,
        search.method,
        search.jobs,
        points=points,
        progress=output.progress,
        **search.limits,
    )
    unit = paths[0].family.noise_unit
    # These searches may take as long as the path.
    with CountLine("essential features: path", len(paths), wanted=output.progress) as line:
        for one in paths:
            line.say(line.doing)
            _ = one.essential
            line.step()
    if features_out is not None:
        _write_features(features_out, paths)

    def say(console: Console) -> None:
        for one in paths:
            print_path(one, table.names, unit, console)

    whole = paths[0].family.whole
    document = {
        **data.said,
        "rho_of_noise_1": unit if whole is None else None,
        "paths": [_as_dict(one, unit) for one in paths],
    }
    interrupted = any(one.options is None for one in paths)
    stopped = interrupted or any(result.limit is not None for one in paths for result in one.results)
    answer = Answer(document, say, lambda: _points(paths), lambda: paths[0].plot(), LIMITED if stopped else 0)
    return output.finish(answer, features_out)


def print_path(path: "noap.Path", names: tuple[str, ...], unit: float, console: Console) -> None:
    """Print where every feature is essential, the stages and what is proved; `unit` is the rho of noise 1."""
    from noap.analysis.barcode import barcode

    rows, dial = barcode(path), path.family.dial
    grid = Grid(title=f"k = {path.k}: {len(rows)} of {len(names)} features are ever selected", title_justify="left")
    grid.add_column("feature")
    grid.add_column(f"essential to {dial}", justify="right")
    grid.add_column(f"essential at {dial}")
    grid.add_column(f"selected at {dial}")
    for row in rows[:_MOST_ROWS]:
        end = "never" if math.isnan(row.essential_to) else f"{row.essential_to / unit:.4g}"
        essential = "; ".join(span(bar.first / unit, bar.last / unit) for bar in row.bars if bar.essential)
        selected = "; ".join(span(a / unit, b / unit) for a, b in path.intervals[row.feature])
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
    shown = ", ".join(f"{words[s.kind]} at {span(s.start / unit, s.end / unit)}" for s in path.stages())
    console.print(f"Stages by {dial}: {shown}.", soft_wrap=True)
    if path.family.whole is not None:
        console.print("A factor multiplies the noise of every feature; 1 is the noise as given.", soft_wrap=True)
    optimal = sum(result.status is noap.Status.OPTIMAL for result in path.results)
    asked = percent_up(path.results[0].asked_gap)
    console.print(f"{optimal} of {len(path)} points proved optimal to within {asked} (rigorous).", soft_wrap=True)
    if path.note is not None:
        console.print(path.note, soft_wrap=True)


def _write_features(out: Path, paths: "tuple[noap.Path, ...]") -> None:
    import polars

    frame = polars.concat([one.features_frame() for one in paths])
    if out.suffix.lower() == ".parquet":
        write_file(out, "--features-out", frame.write_parquet)
        return
    write_file(out, "--features-out", flattened(frame).write_csv)


def _points(paths: "tuple[noap.Path, ...]") -> "polars.DataFrame":
    import polars

    frame: polars.DataFrame = polars.concat([one.to_frame(loadings=True) for one in paths])
    return frame


def _as_dict(path: "noap.Path", unit: float) -> dict[str, Any]:
    base, whole = path.family.base, path.family.whole
    names = path.feature_names or tuple(f"x{j}" for j in range(base.n_features))
    from noap.analysis.barcode import barcode

    lifetimes = {names[j]: rho for j, rho in enumerate(path.lifetimes.tolist()) if not math.isnan(rho)}
    ends = {names[row.feature]: row.essential_to for row in barcode(path) if not math.isnan(row.essential_to)}
    intervals = {names[j]: spans for j, spans in enumerate(path.intervals) if spans}

    def in_noise(of: dict[str, float]) -> dict[str, float] | None:
        return {name: rho / unit for name, rho in of.items()} if whole is None else None

    given = path.family.as_given.to_dict()
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
                **result.proved,
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
