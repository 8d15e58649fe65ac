"""`noap solve`: one component of one file, or several."""

import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import noap
from noap.cli.budget import AdversaryName
from noap.cli.components import as_frame, fitted, print_components, require_one_proof
from noap.cli.components import as_json as components_as_json
from noap.cli.data import read_table, reading_of
from noap.cli.metric import read_metric, require_metric_fits
from noap.cli.options import (
    KINDS,
    Anyone,
    Center,
    Columns,
    CostFile,
    Decimal,
    Delimiter,
    Device,
    Drop,
    Gap,
    Header,
    Index,
    Json,
    Log,
    Method,
    MetricFile,
    MetricRidge,
    NoiseFile,
    NoiseUnits,
    Scale,
    Seed,
    Sheet,
)
from noap.cli.output import log_progress, refuse_to_overwrite, write_file, write_text
from noap.cli.problems import problem_of
from noap.cli.show import as_json, print_result
from noap.cli.single_features import SingleFeatures, read_single_features
from noap.cli.stream import streamed_problem, wants_stream
from noap.data.device import on_device
from noap.errors import InvalidProblem
from noap.runtime.cluster import connected
from noap.ties import break_ties

__all__ = ["solve"]

_PROGRAMS = "For --method mip and mip-r"


def solve(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help=f"{KINDS}; samples in rows. A folder or 'data/*.parquet' is read in batches.",
        ),
    ],
    k: Annotated[
        str, typer.Option("-k", metavar="INTEGER", help="How many features to keep; 5,3,3: one for each component.")
    ] = "5",
    components: Annotated[
        int | None,
        typer.Option("-c", "--components", help="How many components, each on what those before leave, or --joint."),
    ] = None,
    joint: Annotated[
        bool | None,
        typer.Option(
            "--joint/--no-joint",
            help="Choose the components together, no feature in two of them, with one proof for all; so it is with "
            "--deflation disjoint where possible.",
        ),
    ] = None,
    deflation: Annotated[
        str, typer.Option(help="What a component leaves to the next: projection, disjoint, orthogonal or uncorrelated.")
    ] = "projection",
    adversary: Anyone = AdversaryName.feature,
    noise: Annotated[
        float | None,
        typer.Option(
            help="Budget in natural units: per feature the root-mean-square error per entry, "
            "per sample the largest shift of its score. 0.1 if neither this nor --rho is given."
        ),
    ] = None,
    rho: Annotated[float | None, typer.Option(help="Budget as in the paper, instead of --noise.")] = None,
    noise_file: NoiseFile = None,
    cost_file: CostFile = None,
    noise_units: NoiseUnits = None,
    metric: MetricFile = None,
    metric_ridge: MetricRidge = None,
    method: Method = "exact",
    center: Center = True,
    scale: Scale = True,
    gap: Gap = 1e-4,
    time_limit: Annotated[float | None, typer.Option(help="Seconds; the best answer so far comes back.")] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            help="scip (default), highs or gurobi; one that is missing says what to install, and which are there.",
            rich_help_panel=_PROGRAMS,
        ),
    ] = None,
    pieces: Annotated[
        int | None, typer.Option(help="Chords on each side of 0, the paper's N.", rich_help_panel=_PROGRAMS)
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(help="mip-r: leading directions modelled, the paper's r.", rich_help_panel=_PROGRAMS),
    ] = None,
    reduced_dim: Annotated[
        int | None,
        typer.Option(help="Solve on this many features, chosen by the paper's Algorithm 1.", rich_help_panel=_PROGRAMS),
    ] = None,
    as_printed: Annotated[
        bool, typer.Option("--as-printed", help="The paper's program to the letter.", rich_help_panel=_PROGRAMS)
    ] = False,
    breakpoints: Annotated[str | None, typer.Option(help="Even or adaptive.", rich_help_panel=_PROGRAMS)] = None,
    node_limit: Annotated[int | None, typer.Option(help="exact: stop after this many nodes.")] = None,
    memory_limit: Annotated[
        float | None, typer.Option(help="exact: megabytes for the search and its proof, beside the data.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="exact, ascent, many features: threads that share the pass over pairs, -1 for all cores."),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="The same on the workers of this Dask scheduler, tcp://host:8786.")
    ] = None,
    device: Device = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read FILE in batches and keep X'X alone; a pattern or folder always is.")
    ] = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    columns: Columns = None,
    drop: Drop = None,
    index: Index = None,
    sheet: Sheet = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the result to this file, as JSON, or as a table if it is a .csv.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="exact, relaxation: write the proof to this file, for noap verify.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --out and --certificate if they exist.")] = False,
    log: Log = False,
    json: Json = False,
) -> int:
    """Find a robust sparse component of a table, or several.

    For example:

    noap solve data.csv -k 5 --noise 0.2

    noap solve data.csv -k 5 -c 3 --drop species --index id

    noap solve data.csv -k 5 -c 3 --joint --certificate proof.noap

    noap solve data.csv -k 5,3,3 --deflation orthogonal

    noap solve data.csv -k 10 --method ascent

    noap solve data.csv -k 5 --method mip --backend highs --time-limit 60

    noap solve data.parquet -k 3 --adversary sample --rho 1.5 --out result.json

    noap solve data.csv -k 5 --certificate proof.noap

    noap solve 'data/*.parquet' -k 5 --noise 0.2

    noap solve data.csv -k 5 --noise-file precision.csv --noise-units data

    noap solve expression.npy -k 10 --jobs 8

    noap solve patients.csv -k 5 --metric controls.csv

    noap solve genotypes.npy -k 10 --device cuda
    """
    ks = _sizes(k)
    if components is None:
        components = len(ks)
    if len(ks) not in (1, components):
        raise InvalidProblem(f"-k has {len(ks)} entries, and -c says {components} components; leave out -c.")
    refuse_to_overwrite(out, force)
    log_progress(log)
    refuse_to_overwrite(certificate, force, "--certificate")
    if certificate is not None and method not in ("exact", "relaxation"):
        raise InvalidProblem(
            f"--certificate needs --method exact or relaxation: {method!r} proves nothing about the whole problem."
        )
    if certificate is not None:
        require_one_proof(components, joint, deflation)
    if joint and components == 1:
        raise InvalidProblem("--joint chooses several components together; say how many with -c.")
    if device is not None and wants_stream(file, stream):
        raise InvalidProblem("--device holds all samples, and --stream keeps X'X alone; leave one of them out.")
    if device is not None and components != 1:
        raise InvalidProblem("--device takes one component, the one of -c 1; leave out -c.")
    if cluster is not None and components != 1:
        raise InvalidProblem("--cluster shares the search for one component, the one of -c 1; leave out -c.")
    reading = reading_of(delimiter, decimal, header, columns, drop, index, sheet)
    require_metric_fits(metric, metric_ridge, streamed=wants_stream(file, stream), components=components)

    def single(names: tuple[str, ...]) -> SingleFeatures:
        return read_single_features(noise_file, cost_file, noise_units, adversary, names, reading)

    if wants_stream(file, stream):
        problem, names = streamed_problem(
            file, max(ks), adversary, noise, rho, center=center, scale=scale, reading=reading, single=single
        )
    else:
        table = read_table(file, reading)
        names = table.names
        form = None if metric is None else read_metric(metric, metric_ridge, table, reading)
        problem = problem_of(
            table, single(names), max(ks), adversary, noise, rho, center=center, scale=scale, metric=form
        )
        problem = on_device(problem, device)
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
        "n_jobs": jobs,
    }
    options: dict[str, Any] = {name: given for name, given in asked.items() if given is not None}
    shared: dict[str, Any] = {"gap": gap, "time_limit": time_limit, "random_state": seed}
    console = Console(highlight=False)
    if components != 1:
        options["progress"] = log or not json
        # A proof that is to be written has to be one.
        asked_joint = True if certificate is not None else joint
        sizes = ks[0] if len(ks) == 1 else list(ks)
        model = fitted(
            problem, adversary, components, sizes, deflation, asked_joint, method=method, options=options, **shared
        )
        results = model.results_
        document = components_as_json(model, names, center=center, scale=scale)
    else:
        with nullcontext() if cluster is None else connected(cluster) as client:
            options |= {} if client is None else {"client": client}
            found = noap.solve(problem, method=method, progress=log or not json, **shared, **options)
        # In a metric two features that tie need not be of the same length.
        results = (found if metric is not None else break_ties(found)[0],)
        document = as_json(results[0], names, center=center, scale=scale)
    if certificate is not None:
        _write_certificate(results[0] if components == 1 else model.joint_result_, certificate)
    if out is not None and out.suffix.lower() == ".csv":
        write_file(out, "--out", as_frame(results, names).write_csv)
    elif out is not None:
        write_text(out, "--out", document + "\n")
    if json:
        typer.echo(document)
        return _code(results)
    if components != 1:
        print_components(model, names, console)
    else:
        print_result(results[0], names, console)
    if out is not None:
        console.print(f"Written to {out}.", markup=False)
    if certificate is not None:
        same = [
            word
            for option, said in (
                ("--noise-file", noise_file),
                ("--cost-file", cost_file),
                ("--noise-units", noise_units),
                ("--metric", metric),
                ("--metric-ridge", metric_ridge),
            )
            if said is not None
            for word in (option, str(said))
        ]
        words = shlex.join(["noap", "verify", str(certificate), str(file), *same])
        check = " ".join(filter(None, (words, reading.flags)))
        console.print(f"The proof is in {certificate}; check it with: {check}", markup=False, soft_wrap=True)
    return _code(results)


def _sizes(given: str) -> tuple[int, ...]:
    """Return how many features are asked for, one number or one for each component."""
    try:
        return tuple(int(one) for one in given.split(","))
    except ValueError:
        raise InvalidProblem(
            f"-k must be an integer, or one for each component such as 5,3,3, got {given!r}."
        ) from None


def _code(results: tuple[noap.Result, ...]) -> int:
    return 3 if any(result.limit is not None for result in results) else 0


def _write_certificate(result: "noap.Result | noap.JointResult | None", path: Path) -> None:
    if result is None or result.certificate is None:
        raise InvalidProblem(
            "--certificate: the search stopped without a proof that could be written; raise --memory-limit."
        )
    result.certificate.save(path)
