"""Run the boards and keep what they measured: one CSV file per board, and where it was measured beside them."""

import json
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from noap.bench.board import Setting
from noap.bench.boards import BOARDS
from noap.bench.journal import Journal, sources_digest
from noap.bench.peers import missing_peers
from noap.bench.r_peers import r_packages
from noap.bench.sources import matrices
from noap.bench.spec import BenchSpec
from noap.errors import InvalidProblem, NoapWarning, StoreError
from noap.measuring.environment import environment
from noap.measuring.tables import frame_of, read_table, seconds, write_table
from noap.measuring.timing import single_thread
from noap.mip import list_backends

__all__ = ["Results", "read", "run"]

_ABOUT = "run.json"


@dataclass(frozen=True, eq=False)
class Results:
    """Tables by board, and what is known about the run that made them."""

    tables: dict[str, pl.DataFrame]
    about: dict[str, object]


def run(
    spec: BenchSpec,
    out: Path,
    *,
    folder: Path | None = None,
    boards: Iterable[str] | None = None,
    against: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Results:
    """Run boards side by side with the peers that are there, every library held to one thread.

    Parameters
    ----------
    spec : BenchSpec
    out : Path
        Folder of the results; a board's file is replaced when the board has finished, the others stay. What is measured
        of a board that has not finished is in `<board>.unfinished.jsonl`, and the next run goes on from there.
    folder : Path, optional
        Public benchmark matrices; what is not there is skipped and said.
    boards : iterable of str, optional
        Names of boards; all by default.
    against : Path, optional
        Folder of sources of another version of noap (it holds ``noap/``), for the board of before and after.
    say : callable
        Takes a line about the progress.

    Returns
    -------
    Results
        Everything that `out` holds afterwards.
    """
    chosen = list(BOARDS) if boards is None else list(boards)
    for name in chosen:
        if name not in BOARDS:
            raise InvalidProblem(f"board must be one of {', '.join(BOARDS)}, got {name!r}.")
    if against is not None and not (against / "noap" / "__init__.py").exists():
        raise InvalidProblem(f"--against {against} must be a folder that holds the sources of noap.")
    found, missing = matrices(folder)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidProblem(f"--out {out} cannot be made ({error.strerror}); choose another folder.") from None
    _about(out)  # a file that cannot be read is named before anything is measured
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)  # optima of 0 and the like are rows of the tables
        for name in chosen:
            # The limits reach only what is loaded: the peers and solvers are, before the first is timed.
            _load()
            with single_thread() as held:
                say(f"-- {BOARDS[name].title}")
                stamp = {"spec": spec.as_dict(), "sources": sources_digest(), "matrices": [one.name for one in found]}
                journal = Journal(_unfinished(out, name), stamp, say)
                setting = Setting(spec, found, folder, say, against, journal=journal)
                rows = list(BOARDS[name].run(setting))
            if not rows:
                journal.close()
                say("nothing measured: " + " ".join(setting.skipped))
                continue
            skipped = list(dict.fromkeys([*missing, *missing_peers(), *setting.skipped]))
            about = {
                "spec": spec.as_dict(),
                "environment": _environment(),
                "threads": held,
                "skipped": skipped,
                "wall_s": journal.wall_s,
                "cpu_s": journal.cpu_s,
            }
            _keep(out, name, rows, about)
            journal.close()
            say(f"{name}: {seconds(journal.cpu_s)} of CPU time, {seconds(journal.wall_s)} on the clock")
    return read(out)


def read(out: Path) -> Results:
    """Return the results that a folder holds."""
    places = {name: out / f"{name}.csv" for name in BOARDS}
    kept = {name: place for name, place in places.items() if place.exists()}
    return Results({name: _typed(read_table(place)) for name, place in kept.items()}, _about(out))


def _typed(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with numbers in columns without an entry, which a file cannot tell from words."""
    empty = [name for name, kind in table.schema.items() if kind == pl.String and table[name].is_null().all()]
    return table.with_columns(pl.col(empty).cast(pl.Float64)) if empty else table


def _unfinished(out: Path, name: str) -> Path:
    return out / f"{name}.unfinished.jsonl"


def _load() -> None:
    import importlib

    for package in ("sklearn.decomposition", "abess.decomposition", "pyscipopt", "highspy"):
        try:
            importlib.import_module(package)
        except ImportError:
            continue


def _environment() -> dict[str, str]:
    """Return the record of every result, and which programs this machine's Gurobi may solve."""
    licences = {info.name: info.licence for info in list_backends(licences=True) if info.installed}
    of_r = {name if name == "R" else f"R {name}": version for name, version in r_packages().items()}
    return environment() | {"gurobi licence": licences.get("gurobi", "none")} | of_r


def _about(out: Path) -> dict[str, object]:
    place = out / _ABOUT
    if not place.exists():
        return {}
    try:
        loaded: dict[str, object] = json.loads(place.read_text(encoding="utf-8"))
    except ValueError:
        raise InvalidProblem(f"{place} is not JSON; remove it or choose another folder.") from None
    return loaded


def _keep(out: Path, name: str, rows: list[dict[str, object]], about: dict[str, object]) -> None:
    try:
        write_table(frame_of(rows), out / f"{name}.csv")
        # Read again: another run may have finished a board of its own in the meantime.
        (out / _ABOUT).write_text(json.dumps(_about(out) | {name: about}, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"--out {out} cannot be written ({error.strerror or error}); choose another folder.") from None
