"""`noap solve`: one component of one file."""

import enum
import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import noap
from noap._preprocess import standardise
from noap.adversaries import Adversary
from noap.cli.data import read_table, refuse_to_overwrite
from noap.cli.show import as_json, print_result
from noap.errors import InvalidProblem

__all__ = ["solve"]


class AdversaryName(enum.StrEnum):
    """Who may move what."""

    feature = "feature"
    sample = "sample"
    none = "none"


def solve(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, Parquet or NPY; samples in rows.")],
    k: Annotated[int, typer.Option("-k", help="How many features to keep.")] = 5,
    adversary: Annotated[AdversaryName, typer.Option(help="Who moves: every feature, every sample, nobody.")] = (
        AdversaryName.feature
    ),
    noise: Annotated[
        float | None,
        typer.Option(
            help="Budget in natural units: per feature the root-mean-square error per entry, "
            "per sample the largest shift of its score. 0.1 if neither this nor --rho is given."
        ),
    ] = None,
    rho: Annotated[float | None, typer.Option(help="Budget as in the paper, instead of --noise.")] = None,
    method: Annotated[str, typer.Option(help="exact, ascent, mip, mip-r, ppm or spca.")] = "exact",
    center: Annotated[bool, typer.Option(help="Subtract the column means first.")] = True,
    scale: Annotated[bool, typer.Option(help="Divide by the standard deviations first.")] = True,
    gap: Annotated[float, typer.Option(help="Relative gap that counts as optimal.")] = 1e-4,
    time_limit: Annotated[float | None, typer.Option(help="Seconds; the best answer so far comes back.")] = None,
    backend: Annotated[str | None, typer.Option(help="mip, mip-r: scip, highs or gurobi (see noap backends).")] = None,
    pieces: Annotated[int | None, typer.Option(help="mip, mip-r: chords on each side of 0, the paper's N.")] = None,
    rank: Annotated[int | None, typer.Option(help="mip-r: leading directions modelled, the paper's r.")] = None,
    reduced_dim: Annotated[
        int | None, typer.Option(help="mip, mip-r: solve on this many features chosen by the paper's Algorithm 1.")
    ] = None,
    as_printed: Annotated[
        bool, typer.Option("--as-printed", help="mip, mip-r: the paper's program to the letter.")
    ] = False,
    breakpoints: Annotated[str | None, typer.Option(help="mip, mip-r: even or adaptive.")] = None,
    node_limit: Annotated[int | None, typer.Option(help="exact: stop after this many nodes.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random starts.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the result as JSON to this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --out if it exists.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> int:
    """Find a robust sparse component of a table.

    For example:

    noap solve data.csv -k 5 --noise 0.2

    noap solve data.csv -k 10 --method ascent

    noap solve data.csv -k 5 --method mip --backend highs --time-limit 60

    noap solve data.parquet -k 3 --adversary sample --rho 1.5 --out result.json
    """
    refuse_to_overwrite(out, force)
    table = read_table(file)
    Z, _, _ = standardise(table.X, center=center, scale=scale, names=table.names)
    problem = noap.Problem(Z, k=k, adversary=_adversary(adversary, noise, rho, Z.shape[0]))
    # Only what was asked for is passed on: a method refuses options that are not its own.
    asked = {
        "backend": backend,
        "pieces": pieces,
        "rank": rank,
        "reduced_dim": reduced_dim,
        "as_printed": as_printed or None,
        "breakpoints": breakpoints,
        "node_limit": node_limit,
    }
    options = {name: given for name, given in asked.items() if given is not None}
    result = noap.solve(
        problem, method=method, gap=gap, time_limit=time_limit, random_state=seed, progress=not json, **options
    )
    document = as_json(result, table.names)
    if out is not None:
        out.write_text(document + "\n", encoding="utf-8")
    if json:
        typer.echo(document)
    else:
        console = Console(highlight=False)
        print_result(result, table.names, console)
        if out is not None:
            console.print(f"Written to {out}.")
    return 3 if result.limit is not None else 0


def _adversary(name: AdversaryName, noise: float | None, rho: float | None, n: int) -> Adversary:
    if noise is not None and rho is not None:
        raise InvalidProblem("--noise and --rho both set the budget; pass one of them.")
    for option, budget in (("--noise", noise), ("--rho", rho)):
        if budget is not None and not (math.isfinite(budget) and budget >= 0):
            raise InvalidProblem(f"{option} must be a finite number of at least 0, got {budget}.")
    dial = 0.1 if noise is None else noise
    if name is AdversaryName.feature:
        return noap.FeatureWise(rho if rho is not None else dial * math.sqrt(n))
    if name is AdversaryName.sample:
        return noap.SampleWise(rho if rho is not None else dial)
    if noise or rho:
        raise InvalidProblem("--noise and --rho need an adversary; drop them or pass --adversary feature or sample.")
    return noap.NoAdversary()
