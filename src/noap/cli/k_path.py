"""`noap k-path`: what each feature more adds, on one file."""

import json as json_module
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import HEAVY_HEAD, SIMPLE_HEAD
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
from noap.errors import InvalidProblem
from noap.result import Status
from noap.runtime.names import listed

__all__ = ["k_path"]

_LARGEST = 10
# More names than this do not fit a line; --out and --json hold all of them.
_MOST_NAMES = 6
# Columns of a terminal from which on every number of the table has its place.
_WIDE = 100
# Values that agree to this share are one number.
_ROUNDING = 1e-12


def k_path(
    file: DataFile,
    k: Annotated[
        int | None, typer.Option("-k", help=f"Largest number of features; {_LARGEST}, or all if there are fewer.")
    ] = None,
    ks: Annotated[str | None, typer.Option(metavar="LIST", help="Numbers of features, such as 1,2,5,10.")] = None,
    share: Annotated[float, typer.Option(help="Choose the smallest k that keeps this share of the largest.")] = 0.9,
    adversary: Anyone = AdversaryName.feature,
    noise: Annotated[float | None, typer.Option(help="Budget in natural units; 0.1 if neither is given.")] = None,
    rho: Annotated[float | None, typer.Option(help="Budget as in the paper, instead of --noise.")] = None,
    noise_file: NoiseFile = None,
    cost_file: CostFile = None,
    noise_units: NoiseUnits = None,
    center: Center = True,
    scale: Scale = True,
    gap: Gap = 1e-4,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for the whole path; every k has the best answer so far.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Write the levels to this .csv, .parquet or .json file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw variance and steps to this .png, .svg or .pdf.")] = None,
    certificates: Annotated[
        Path | None, typer.Option(help="Write the proofs k1.noap, k2.noap, ... to this folder, for noap verify.")
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
    """Show what each feature more adds, with a proof for every k.

    For example:

    noap k-path data.csv -k 10 --noise 0.3

    noap k-path data.csv --ks 1,2,5,10,20 --time-limit 60 --out k-path.csv --plot k-path.png

    noap k-path data.parquet -k 8 --adversary none --share 0.8 --json
    """
    check_suffix(out, "--out", (".csv", ".parquet", ".json"))
    check_suffix(plot, "--plot", (".png", ".svg", ".pdf"))
    refuse_to_overwrite(out, force)
    log_progress(log)
    refuse_to_overwrite(plot, force, "--plot")
    if certificates is not None and not certificates.is_dir():
        raise InvalidProblem(f"--certificates {certificates} must be a folder that exists; create it first.")
    if k is not None and ks is not None:
        raise InvalidProblem("-k and --ks both say which k to solve; pass one of them.")
    wanted = None if ks is None else _whole_numbers(ks)
    as_share("--share", share)
    reading = reading_of(delimiter, decimal, header, columns, drop, index, sheet)
    table = read_table(file, reading)
    single = read_single_features(noise_file, cost_file, noise_units, adversary, table.names, reading)
    d = len(table.names)
    if wanted is not None:
        k = max(wanted)
        if k > d:
            raise InvalidProblem(f"--ks must be at most the number of features of FILE, {d}, got {k}.")
    largest = min(_LARGEST, d) if k is None else k
    if certificates is not None:
        for one in wanted or range(1, largest + 1):
            refuse_to_overwrite(_place(certificates, one), force, "--certificates")
    problem = problem_of(table, single, largest, adversary, noise, rho, center=center, scale=scale)
    path = noap.k_path(problem, wanted, gap=gap, time_limit=time_limit, random_state=seed, progress=log or not json)
    chosen = path.choose(share)
    document = _document(path, table.names, share, chosen, center=center, scale=scale)
    _write(path, document, out, plot, certificates, share)
    if json:
        typer.echo(document)
    else:
        console = Console(highlight=False)
        _print(path, table.names, share, chosen, console)
        for place in filter(None, (out, plot, certificates)):
            console.print(f"Written to {place}.", markup=False, soft_wrap=True)
    return 3 if any(result.limit is not None for result in path) else 0


def _whole_numbers(given: str) -> list[int]:
    try:
        wanted = [int(entry) for entry in given.split(",")]
    except ValueError:
        wanted = []
    if not wanted or min(wanted) < 1:
        raise InvalidProblem(f"--ks must be whole numbers from 1 with commas between, such as 1,2,5, got {given!r}.")
    return wanted


def _write(
    path: noap.KPath,
    document: str,
    out: Path | None,
    plot: Path | None,
    certificates: Path | None,
    share: float,
) -> None:
    if out is not None:
        write_table(out, document, lambda: path.to_frame(loadings=True))
    if plot is not None:
        write_file(plot, "--plot", lambda temporary: path.plot(share).savefig(temporary, dpi=150))
    if certificates is not None:
        for k, certificate in zip(path.ks.tolist(), path.certificates, strict=True):
            if certificate is not None:
                certificate.save(_place(certificates, k))


def _place(folder: Path, k: int) -> Path:
    return folder / f"k{k}.noap"


def _print(path: noap.KPath, names: tuple[str, ...], share: float, chosen: int, console: Console) -> None:
    # A narrow terminal has no room for lines between the columns, nor for a bound beside value and gap.
    narrow = console.width < _WIDE
    grid = Grid(
        title=f"k = {path.ks[0]} to {path.ks[-1]} of {len(names)} features",
        title_justify="left",
        box=SIMPLE_HEAD if narrow else HEAVY_HEAD,
        pad_edge=not narrow,
    )
    value = "robust\nvariance" if path.problem.costs is None else "less costs"
    for column in ("k", value, *(() if narrow else ("proved\nbound",)), "gap", "adds", "keeps"):
        grid.add_column(column, justify="right", no_wrap=True)
    grid.add_column("features that come and go")
    before: set[int] = set()
    for i, result in enumerate(path):
        support = set(path.supports[i].tolist())
        tied = set(path.tied[i].tolist())
        moves = [
            *(f"+{names[j]}{' (or another)' if j in tied else ''}" for j in sorted(support - before)),
            *(f"-{names[j]}" for j in sorted(before - support)),
        ]
        grid.add_row(
            str(path.ks[i]),
            f"{result.value:.6g}",
            *(() if narrow else (f"{result.bound:.6g}",)),
            f"{result.gap:.1e}",
            _step(path.increments[i], result.value),
            _percent(path.shares[i]),
            escape(listed(moves, _MOST_NAMES)),
        )
        before = support
    console.print(grid)
    console.print(_sentence(path, share, chosen), soft_wrap=True)
    optimal = sum(result.status is Status.OPTIMAL for result in path)
    console.print(
        f"{optimal} of {len(path)} levels proved optimal to a gap of {path[0].asked_gap:g} (rigorous).", soft_wrap=True
    )


def _sentence(path: noap.KPath, share: float, chosen: int) -> str:
    """Return which k keeps the share and where the curve bends, as far as the levels looked at can tell."""
    last, elbow = int(path.ks[-1]), path.elbow()
    if path.values[-1] == 0:
        return f"Nothing survives the adversary: the optimum is 0 for every k up to {last}."
    # What the largest k keeps of itself, and a bend at the end of the curve, say nothing about the data.
    if chosen < last:
        kept = path.shares[path.ks.tolist().index(chosen)]
        said = f"k = {chosen} is proved to keep {_percent(kept)} of the best that k = {last} can keep."
    else:
        said = f"No smaller k is proved to keep {100 * share:.4g} % of the best that k = {last} can keep."
        if last < path.problem.n_features:
            said += " Whether more features than that pay is shown with a larger -k."
    return said if elbow == last else f"{said} The elbow is at k = {elbow}."


def _step(increment: float, value: float) -> str:
    """Return what a step adds; what rounding alone can make is nothing."""
    return f"{increment:.4g}" if abs(increment) > _ROUNDING * value else "0"


def _percent(share: float) -> str:
    """Return a proved share in percent, rounded down so that it stays true."""
    return f"{math.floor(1000 * share) / 10:.1f} %"


def _document(path: noap.KPath, names: tuple[str, ...], share: float, chosen: int, *, center: bool, scale: bool) -> str:
    about = problem_as_json(path.problem, names, center=center, scale=scale)
    del about["k"]  # every level has its own
    return json_module.dumps(
        {
            "noap": __version__,
            **about,
            "share": share,
            "chosen_k": chosen,
            "elbow": elbow if (elbow := path.elbow()) < path.ks[-1] else None,  # the end of the curve is no bend
            "levels": [_level(path, i, names) for i in range(len(path))],
        },
        indent=2,
    )


def _level(path: noap.KPath, i: int, names: tuple[str, ...]) -> dict[str, Any]:
    result, support = path[i], path.supports[i]
    return {
        "k": int(path.ks[i]),
        "robust_variance": result.robust_variance,
        "objective": result.value,
        "bound": result.bound,
        "gap": result.gap if math.isfinite(result.gap) else None,
        "status": result.status.value,
        "limit": None if result.limit is None else result.limit.value,
        "increment": float(path.increments[i]),
        "share": float(path.shares[i]),
        "features": [names[j] for j in support],
        "loadings": result.v[support].tolist(),
        "nodes": result.nodes,
        "seconds": result.seconds,
        "messages": list(result.messages),
    }
