"""`noap k-path`: what each feature more adds, on one file."""

import math
from pathlib import Path
from typing import Annotated, Any

from rich.box import HEAVY_HEAD, SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import noap
from noap.cli.options import PROBLEM, DataFile, DataOptions, Gap, Seed, TimeLimit, option
from noap.cli.problem import ProblemOptions
from noap.cli.run import LIMITED, Answer, TableOptions
from noap.data.arguments import as_share
from noap.errors import InvalidProblem
from noap.runtime.digits import percent_up
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
    data: DataOptions,
    asked: ProblemOptions,
    output: TableOptions,
    k: Annotated[int | None, option(f"Largest number of features; {_LARGEST} or all.", "-k", panel=PROBLEM)] = None,
    ks: Annotated[str | None, option("Numbers of features, such as 1,2,5,10.", panel=PROBLEM, metavar="LIST")] = None,
    share: Annotated[float, option("Choose the smallest k that keeps this share of the largest.", panel=PROBLEM)] = 0.9,
    gap: Gap = 1e-4,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    certificates: Annotated[
        Path | None, option("Write the proofs k1.noap, k2.noap, ... to this folder.", metavar="FOLDER")
    ] = None,
) -> int:
    """Show what each feature more adds, with a proof for every k.

    noap k-path data.csv -k 10 --noise 0.3
    noap k-path data.csv --ks 1,2,5,10,20 --time-limit 60 --out k-path.csv --plot k-path.png
    noap k-path data.parquet -k 8 --adversary none --share 0.8 --json
    """
    if certificates is not None and not certificates.is_dir():
        raise InvalidProblem(f"--certificates {certificates} must be a folder that exists; create it first.")
    if k is not None and ks is not None:
        raise InvalidProblem("-k and --ks both say which k to solve; pass one of them.")
    wanted = None if ks is None else _whole_numbers(ks)
    as_share("--share", share)
    table = data.table(file)
    d = len(table.names)
    largest = max(wanted) if wanted else min(_LARGEST, d) if k is None else k
    if wanted and largest > d:
        raise InvalidProblem(f"--ks must be at most the number of features of FILE, {d}, got {largest}.")
    proofs = {} if certificates is None else {one: certificates / f"k{one}.noap" for one in range(1, largest + 1)}
    for one in wanted or proofs:
        output.require_free(proofs.get(one), "--certificates")
    problem = asked.problem(table, data, largest)
    path = noap.k_path(problem, wanted, gap=gap, time_limit=time_limit, random_state=seed, progress=output.progress)
    for one, certificate in zip(path.ks.tolist(), path.certificates, strict=True):
        if one in proofs and certificate is not None:
            certificate.save(proofs[one])
    chosen = path.choose(share)
    about = {**problem.to_dict(), **data.said}
    del about["k"]  # every level has its own
    document = {
        **about,
        "share": share,
        "chosen_k": chosen,
        "elbow": elbow if (elbow := path.elbow()) < path.ks[-1] else None,  # the end of the curve is no bend
        "levels": [_level(path, i, table.names) for i in range(len(path))],
    }
    answer = Answer(
        document,
        lambda console: _print(path, table.names, share, chosen, console),
        lambda: path.to_frame(loadings=True),
        lambda: path.plot(share),
        LIMITED if any(result.limit is not None for result in path) else 0,
    )
    return output.finish(answer, certificates)


def _whole_numbers(given: str) -> list[int]:
    try:
        wanted = [int(entry) for entry in given.split(",")]
    except ValueError:
        wanted = []
    if not wanted or min(wanted) < 1:
        raise InvalidProblem(f"--ks must be whole numbers from 1 with commas between, such as 1,2,5, got {given!r}.")
    return wanted


def _print(path: "noap.KPath", names: tuple[str, ...], share: float, chosen: int, console: Console) -> None:
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
            percent_up(result.gap),
            _step(path.increments[i], result.value),
            _percent(path.shares[i]),
            escape(listed(moves, _MOST_NAMES)),
        )
        before = support
    console.print(grid)
    console.print(_sentence(path, share, chosen), soft_wrap=True)
    optimal = sum(result.status is noap.Status.OPTIMAL for result in path)
    console.print(
        f"{optimal} of {len(path)} levels proved optimal to within {percent_up(path[0].asked_gap)} (rigorous).",
        soft_wrap=True,
    )


def _sentence(path: "noap.KPath", share: float, chosen: int) -> str:
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


def _level(path: "noap.KPath", i: int, names: tuple[str, ...]) -> dict[str, Any]:
    result, support = path[i], path.supports[i]
    return {
        "k": int(path.ks[i]),
        **result.proved,
        "increment": float(path.increments[i]),
        "share": float(path.shares[i]),
        "features": [names[j] for j in support],
        "loadings": result.v[support].tolist(),
        "nodes": result.nodes,
        "seconds": result.seconds,
        "messages": list(result.messages),
    }
