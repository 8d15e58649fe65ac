"""`noap solve`: one component of one file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import noap
from noap.cli.budget import AdversaryName, adversary_of
from noap.cli.data import read_table
from noap.cli.output import refuse_to_overwrite, write_text
from noap.cli.show import as_json, print_result
from noap.cli.stream import streamed_problem, wants_stream
from noap.errors import InvalidProblem

__all__ = ["solve"]


def solve(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, Parquet, NPY or NPZ; samples in rows. A folder or 'data/*.parquet' is read in batches.",
        ),
    ],
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
    method: Annotated[str, typer.Option(help="exact, relaxation, ascent, mip, mip-r, ppm or spca.")] = "exact",
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
    memory_limit: Annotated[
        float | None, typer.Option(help="exact: megabytes for the search and its proof, beside the data.")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read FILE in batches and keep X'X alone; a pattern or folder always is.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random starts.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the result as JSON to this file.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="exact, relaxation: write the proof to this file, for noap verify.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --out and --certificate if they exist.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> int:
    """Find a robust sparse component of a table.

    For example:

    noap solve data.csv -k 5 --noise 0.2

    noap solve data.csv -k 10 --method ascent

    noap solve data.csv -k 5 --method mip --backend highs --time-limit 60

    noap solve data.parquet -k 3 --adversary sample --rho 1.5 --out result.json

    noap solve data.csv -k 5 --certificate proof.noap

    noap solve 'data/*.parquet' -k 5 --noise 0.2
    """
    refuse_to_overwrite(out, force)
    refuse_to_overwrite(certificate, force, "--certificate")
    if certificate is not None and method not in ("exact", "relaxation"):
        raise InvalidProblem(
            f"--certificate needs --method exact or relaxation: {method!r} proves nothing about the whole problem."
        )
    if wants_stream(file, stream):
        problem, names = streamed_problem(file, k, adversary, noise, rho, center=center, scale=scale)
    else:
        table = read_table(file)
        budget = adversary_of(adversary, noise, rho, int(table.X.shape[0]))
        problem, names = noap.Problem(table.standardised(center, scale), k=k, adversary=budget), table.names
    # Only what was asked for is passed on: a method refuses options that are not its own.
    asked = {
        "backend": backend,
        "pieces": pieces,
        "rank": rank,
        "reduced_dim": reduced_dim,
        "as_printed": as_printed or None,
        "breakpoints": breakpoints,
        "node_limit": node_limit,
        "memory_limit": memory_limit,
    }
    options = {name: given for name, given in asked.items() if given is not None}
    result = noap.solve(
        problem, method=method, gap=gap, time_limit=time_limit, random_state=seed, progress=not json, **options
    )
    if certificate is not None:
        _write_certificate(result, certificate)
    document = as_json(result, names, center=center, scale=scale)
    if out is not None:
        write_text(out, "--out", document + "\n")
    if json:
        typer.echo(document)
    else:
        console = Console(highlight=False)
        print_result(result, names, console)
        if out is not None:
            console.print(f"Written to {out}.", markup=False)
        if certificate is not None:
            console.print(
                f"The proof is in {certificate}; check it with: noap verify {certificate} {file}", markup=False
            )
    return 3 if result.limit is not None else 0


def _write_certificate(result: noap.Result, path: Path) -> None:
    if result.certificate is None:
        raise InvalidProblem(
            "--certificate: the search stopped without a proof that could be written; raise --memory-limit."
        )
    result.certificate.save(path)
