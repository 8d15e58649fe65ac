"""`noap reproduce`: the paper's figures and what the full problem says, resumable."""

import enum
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from noap.cli.options import METHOD, option
from noap.cli.run import Answer, JsonOptions, Log, log_progress, require_matplotlib
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


@dataclass(frozen=True)
class _Effort:
    """How much is tried."""

    quick: Annotated[bool, option("2 trials, 1 s per program, coarser grids: minutes.", "--quick", panel=METHOD)] = (
        False
    )
    trials: Annotated[int | None, option("Independent draws per point: 10; --quick: 2.", panel=METHOD)] = None
    mip_seconds: Annotated[
        float | None, option("Seconds for every program: 10 (the paper: 1800); --quick: 1.", panel=METHOD)
    ] = None
    backend: Annotated[
        str, option("Solver of the programs: scip, highs, gurobi (paper).", panel=METHOD, metavar="NAME")
    ] = "scip"
    best: Annotated[
        Best, option("Objective that chooses figure 1's best: population (paper) or sample.", panel=METHOD)
    ] = Best.population

    def command(self, what: What) -> str:
        """Return the command that does the same."""
        given = {
            "--trials": self.trials,
            "--mip-seconds": self.mip_seconds,
            "--backend": None if self.backend == "scip" else self.backend,
            "--best": None if self.best is Best.population else self.best.value,
        }
        words = ["noap reproduce", what.value, *(["--quick"] if self.quick else [])]
        said = {name: f"{value:g}" if isinstance(value, float) else value for name, value in given.items() if value}
        return " ".join([*words, *(f"{name} {value}" for name, value in said.items())])


def reproduce(
    what: Annotated[What, typer.Argument(help="A figure or theorem of the paper, or all of them.")],
    tried: _Effort,
    output: JsonOptions,
    jobs: Annotated[int, option("Processes on this machine, -1 for all cores.", panel=METHOD)] = 1,
    cluster: Annotated[
        str | None, option("Do the work on this Dask scheduler, tcp://host:8786.", panel=METHOD, metavar="URL")
    ] = None,
    render: Annotated[bool, option("Run nothing; draw what is stored.", "--render", panel=METHOD)] = False,
    out: Annotated[
        Path | None, option("Folder of tables, figures and claims; noap-reproduction[-quick].", metavar="FOLDER")
    ] = None,
    store: Annotated[Path | None, option("File of finished trials; trials.jsonl in --out.")] = None,
    log: Log = False,
) -> int:
    """Reproduce the paper's experiments, with numbers, certified bounds and checked claims.

    Every finished trial is stored at once: stop it any way you like and run the same command again to go on.

    noap reproduce all --quick
    noap reproduce theorem5 --quick
    noap reproduce figure1 --jobs 2 --backend gurobi
    noap reproduce all --cluster tcp://scheduler:8786
    """
    require_matplotlib("noap reproduce")
    # Slow to import, and only this command needs them.
    from noap.experiments import Store, paper_specs, run
    from noap.experiments.report import STAGES, effort, stage_rows
    from noap.experiments.report import render as write_report
    from noap.experiments.table import trials as trials_of
    from noap.mip.backends.registry import backend_named

    if log:
        log_progress()
    backend_named(tried.backend)
    specs = paper_specs(quick=tried.quick, trials=tried.trials, mip_seconds=tried.mip_seconds, backend=tried.backend)
    chosen = {name: specs[name] for name in _EXPERIMENTS[what]}
    folder = out if out is not None else Path("noap-reproduction-quick" if tried.quick else "noap-reproduction")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidProblem(f"--out {folder} cannot be made ({error.strerror}); choose another folder.") from None
    command = tried.command(what)
    console = Console(highlight=False, soft_wrap=True, quiet=output.json)
    with Store(store if store is not None else folder / "trials.jsonl", writing=not render) as kept:
        wanted = list(chosen.values())
        ended = None if render else run(wanted, kept, jobs=jobs, cluster=cluster, progress=log or output.progress)
        if ended is not None:
            console.print(f"{ended.done} trials done, {ended.found} were there, of {ended.wanted}.")
            if ended.interrupted:
                console.print("Interrupted: run the same command again to go on.")
                sys.exit(130)
        try:
            judged = write_report(chosen, kept, folder, command=command, best=tried.best.value)
        except OSError as error:
            raise StoreError(
                f"--out {folder} cannot be written ({error.strerror or error}); the trials are stored, make room or "
                "choose another folder and run again."
            ) from None
        stages = stage_rows(trials_of(chosen["stages"], kept)) if what is What.theorem5 else []
    little = effort(chosen)
    document: dict[str, object] = {
        "command": command,
        "out": str(folder),
        "trials": None if ended is None else {"done": ended.done, "found": ended.found, "wanted": ended.wanted},
        "tried_with": little,
        "claims": [
            {"claim": c.name, "source": c.source, "verdict": j.verdict.value, "evidence": j.evidence} for c, j in judged
        ],
    }
    if stages:
        document["stages"] = [{"of": row[0]} | dict(zip(STAGES, row[1:], strict=True)) for row in stages]

    def say(console: Console) -> None:
        if stages:
            table = Table(title="Stages of Theorem 5 by normalised budget", title_justify="left")
            for column in ("", *STAGES):
                table.add_column(column)
            for name, *starts in stages:
                table.add_row(escape(name), *("-" if start is None else f"{start:.3f}" for start in starts))
            console.print(table)
        table = Table(title="The paper's claims", caption=little or None, title_justify="left", caption_justify="left")
        for column in ("claim", "source", "verdict"):
            table.add_column(column)
        for claim, judgement in judged:
            verdict = judgement.verdict.value
            table.add_row(escape(claim.name), escape(claim.source), f"[{_COLOURS[verdict]}]{verdict}[/]")
        console.print(table)
        console.print(f"Figures, tables and evidence are in {folder}.", markup=False, soft_wrap=True)

    return output.finish(Answer(document, say))
