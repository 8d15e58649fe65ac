"""`noap reproduce`: the paper's figures and what the full problem says, resumable."""

import enum
import json as json_module
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from noap._version import __version__
from noap.cli.options import Json, Log
from noap.cli.output import log_progress
from noap.errors import InvalidProblem, StoreError

__all__ = ["reproduce"]


class Best(enum.StrEnum):
    """The objective by which the paper's "best" is chosen."""

    population = "population"
    sample = "sample"


class What(enum.StrEnum):
    """What to reproduce."""

    figure1 = "figure1"
    figure2 = "figure2"
    theorem3 = "theorem3"
    theorem4 = "theorem4"
    theorem5 = "theorem5"
    all = "all"


_EXPERIMENTS = {
    What.figure1: ("stages", "figures"),
    What.figure2: ("figures",),
    What.theorem3: ("sample-wise",),
    What.theorem4: ("recovery",),
    What.theorem5: ("stages",),
    # The long programs come last: whatever stops the run, the quick experiments are there.
    What.all: ("sample-wise", "recovery", "stages", "figures"),
}
_COLOURS = {"holds": "green", "does not hold": "red", "depends": "yellow", "not enough data": "dim"}


def reproduce(
    what: Annotated[What, typer.Argument(help="A figure or theorem of the paper, or all of them.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="2 trials, 1 s per program and coarser grids: minutes instead of hours.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes on this machine, -1 for all cores.")] = 1,
    cluster: Annotated[str | None, typer.Option(help="Do the work on this Dask scheduler, tcp://host:8786.")] = None,
    trials: Annotated[int | None, typer.Option(help="Independent draws per point. 10, or 2 with --quick.")] = None,
    mip_seconds: Annotated[
        float | None, typer.Option(help="Limit of every program. 10 (the paper: 1800), or 1 with --quick.")
    ] = None,
    backend: Annotated[str, typer.Option(help="Solver of the printed programs: scip, highs, gurobi (paper).")] = "scip",
    out: Annotated[
        Path | None, typer.Option(help="Folder of tables, figures and claims. noap-reproduction[-quick].")
    ] = None,
    store: Annotated[Path | None, typer.Option(help="File of finished trials. trials.jsonl in --out.")] = None,
    best: Annotated[
        Best,
        typer.Option(help="Objective that decides figure 1's best: of the population, as in the paper, or sample."),
    ] = Best.population,
    render: Annotated[bool, typer.Option("--render", help="Run nothing; draw what is stored.")] = False,
    log: Log = False,
    json: Json = False,
) -> int:
    """Reproduce the paper's experiments, with numbers, certified bounds and checked claims.

    Every finished trial is stored at once: stop it any way you like and run the same command again to go on.

    For example:

    noap reproduce all --quick

    noap reproduce theorem5 --quick

    noap reproduce figure1 --jobs 2 --backend gurobi

    noap reproduce all --cluster tcp://scheduler:8786
    """
    # Slow to import, and only this command needs them.
    from noap.experiments import Store, paper_specs, run
    from noap.experiments.report import STAGES, effort, stage_rows
    from noap.experiments.report import render as write_report
    from noap.experiments.table import trials as trials_of
    from noap.mip.backends.registry import backend_named

    log_progress(log)
    backend_named(backend)
    specs = paper_specs(quick=quick, trials=trials, mip_seconds=mip_seconds, backend=backend)
    chosen = {name: specs[name] for name in _EXPERIMENTS[what]}
    folder = out if out is not None else Path("noap-reproduction-quick" if quick else "noap-reproduction")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidProblem(f"--out {folder} cannot be made ({error.strerror}); choose another folder.") from None
    given = {
        "--trials": trials,
        "--mip-seconds": mip_seconds,
        "--backend": None if backend == "scip" else backend,
        "--best": None if best is Best.population else best.value,
    }
    command = " ".join(
        ["noap reproduce", what.value, *(["--quick"] if quick else [])]
        + [f"{name} {f'{value:g}' if isinstance(value, float) else value}" for name, value in given.items() if value]
    )
    console = Console(highlight=False, soft_wrap=True, quiet=json)
    with Store(store if store is not None else folder / "trials.jsonl", writing=not render) as kept:
        ended = (
            None if render else run(list(chosen.values()), kept, jobs=jobs, cluster=cluster, progress=log or not json)
        )
        if ended is not None:
            console.print(f"{ended.done} trials done, {ended.found} were there, of {ended.wanted}.")
            if ended.interrupted:
                console.print("Interrupted: run the same command again to go on.")
                sys.exit(130)
        try:
            judged = write_report(chosen, kept, folder, command=command, best=best.value)
        except OSError as error:
            raise StoreError(
                f"--out {folder} cannot be written ({error.strerror or error}); the trials are stored, make room or "
                "choose another folder and run again."
            ) from None
        stages = stage_rows(trials_of(chosen["stages"], kept)) if what is What.theorem5 else []
    tried = effort(chosen)
    if json:
        document: dict[str, object] = {
            "noap": __version__,
            "command": command,
            "out": str(folder),
            "trials": None if ended is None else {"done": ended.done, "found": ended.found, "wanted": ended.wanted},
            "tried_with": tried,
            "claims": [
                {"claim": c.name, "source": c.source, "verdict": j.verdict.value, "evidence": j.evidence}
                for c, j in judged
            ],
        }
        if stages:
            document["stages"] = [{"of": row[0]} | dict(zip(STAGES, row[1:], strict=True)) for row in stages]
        typer.echo(json_module.dumps(document, indent=2))
        return 0
    if stages:
        table = Table(title="Stages of Theorem 5 by normalised budget", title_justify="left")
        for column in ("", *STAGES):
            table.add_column(column)
        for name, *starts in stages:
            table.add_row(escape(name), *("-" if start is None else f"{start:.3f}" for start in starts))
        console.print(table)
    table = Table(title="The paper's claims", caption=tried or None, title_justify="left", caption_justify="left")
    for column in ("claim", "source", "verdict"):
        table.add_column(column)
    for claim, judgement in judged:
        verdict = judgement.verdict.value
        table.add_row(escape(claim.name), escape(claim.source), f"[{_COLOURS[verdict]}]{verdict}[/]")
    console.print(table)
    console.print(f"Figures, tables and evidence are in {folder}.", markup=False)
    return 0
