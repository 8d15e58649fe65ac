"""`noap report`: one HTML page about a file."""

import json as json_module
import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from noap.cli.budget import AdversaryName, family_of, noise_unit
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
from noap.cli.output import check_suffix, log_progress, refuse_to_overwrite, write_text
from noap.cli.single_features import read_single_features, strength_as_json
from noap.errors import InvalidProblem

__all__ = ["report"]


def report(
    file: DataFile,
    k: Annotated[int, typer.Option("-k", help="How many features a component may use.")] = 5,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the page goes.")] = Path("report.html"),
    adversary: Who = AdversaryName.feature,
    noise: Annotated[
        float | None,
        typer.Option(help="Noise of the table of components, where the slider starts; 0.1 if not given."),
    ] = None,
    rho: Annotated[float | None, typer.Option(help="The same as a budget, as in the paper.")] = None,
    noise_file: NoiseFile = None,
    cost_file: CostFile = None,
    noise_units: NoiseUnits = None,
    components: Annotated[
        int | None, typer.Option("-c", "--components", help="Rows of the table; 3 if there are as many features.")
    ] = None,
    deflation: Annotated[
        str, typer.Option(help="What a component leaves to the next: projection, or disjoint features.")
    ] = "projection",
    joint: Annotated[
        bool | None,
        typer.Option(
            "--joint/--no-joint",
            help="Choose the components together, no feature in two of them; so it is with --deflation disjoint where "
            "possible.",
        ),
    ] = None,
    method: Method = "exact",
    center: Center = True,
    scale: Scale = True,
    gap: Gap = 1e-4,
    time_limit: TimeLimit = None,
    jobs: Annotated[int | None, typer.Option(help="Processes to share the work; -1 for all cores.")] = None,
    points: Annotated[int, typer.Option(help="How many budgets to begin with.")] = 33,
    seed: Seed = 0,
    title: Annotated[
        str | None, typer.Option(help="What the page calls the data; the name of FILE if not given.")
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
    """Write one HTML page that shows which features survive noise; it works offline.

    What survives is measured redundantly enough to outlast errors of that size; that does not make it true.

    For example:

    noap report data.csv -k 5 -o report.html

    noap report data.parquet -k 8 --noise 0.3 --components 4 --joint

    noap report data.npy -k 5 --adversary sample --noise 0.5 --title "Sensors, March" --force

    noap report data.csv -k 5 --noise-file precision.csv
    """
    # Imported here: the estimator brings scikit-learn, which other commands do without.
    from noap.report import build_report

    check_suffix(out, "--out", (".html", ".htm"))
    refuse_to_overwrite(out, force)
    log_progress(log)
    family_of(adversary)
    reading = reading_of(delimiter, decimal, header, columns, drop, index, sheet)
    table = read_table(file, reading)
    single = read_single_features(noise_file, cost_file, noise_units, adversary, table.names, reading)
    n, d = int(table.X.shape[0]), len(table.names)
    if components is not None and not 1 <= components <= d:
        raise InvalidProblem(f"--components must be from 1 to the number of features, {d}, got {components}.")
    budget = single.adversary(adversary, noise, rho, n, lambda: table.scales(center, scale))
    if not budget.has_one_budget and budget.key != "feature":
        raise InvalidProblem("A report has one noise for all samples; leave out --noise-file and pass --noise.")
    made = build_report(
        table.samples,
        k,
        adversary=adversary.value,
        noise=budget.rho / noise_unit(adversary, n),
        costs=single.costs,
        n_components=components,
        deflation=deflation,
        method=method,
        center=center,
        scale=scale,
        gap=gap,
        time_limit=time_limit,
        random_state=seed,
        n_jobs=jobs,
        points=points,
        progress=log or not json,
        title=title if title is not None else file.name,
        joint="auto" if joint is None else joint,
    )
    write_text(out, "--out", made.html())
    problem = made.components[0].result.problem
    results = [*made.path.results, *(one.result for one in made.components)]
    document = {
        "out": str(out),
        "k": made.path.k,
        "noise": made.noise if made.own_noises is None else strength_as_json(problem, table.names)["noise"],
        "costs": strength_as_json(problem, table.names)["costs"],
        "points": len(made.path),
        "near_optimal": None if made.near is None else {"sets": len(made.near), "complete": made.near.complete},
        "joint": None
        if made.joint is None
        else {
            "value": made.joint.value,
            "bound": made.joint.bound,
            "gap": made.joint.gap if math.isfinite(made.joint.gap) else None,
            "status": made.joint.status.value,
        },
        "components": [
            {
                "features": list(one.features),
                "loadings": list(one.loadings),
                "robust_variance": one.result.robust_variance,
                "objective": one.result.value,
                "bound": one.result.bound if math.isfinite(one.result.bound) else None,
                "gap": one.result.gap if math.isfinite(one.result.gap) else None,
                "status": one.result.status.value,
                "certificate": one.certificate,
                "explained_variance_ratio": one.explained,
            }
            for one in made.components
        ],
    }
    if json:
        typer.echo(json_module.dumps(document, indent=2))
    else:
        Console(highlight=False, markup=False, soft_wrap=True).print(f"Report written to {out}; open it in a browser.")
    return 3 if any(result.limit is not None for result in results) else 0
