"""The one runner: instances to worker processes that take turns, their answers to rows, rows to a table.

A side is a version of noap and the method that it is asked with `exact`. A plain run has one side; a comparison has
two, in alternating processes.
"""

import contextlib
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.board import Board, Setting
from benchmarks.instances import Instance, Store
from benchmarks.table import Journal, Row, as_row, write
from benchmarks.versions import ROOT, Version, this_version
from noap.experiments.environment import environment

__all__ = ["Side", "Worker", "compared", "run", "sources_digest"]

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"), "1"
)
_WORKER = Path(__file__).with_name("worker.py")
_ROUNDS = 3  # of a comparison, at least


@dataclass(frozen=True)
class Side:
    """A version, and the method that takes the place of "exact" there."""

    name: str
    version: Version
    method: str = "exact"


class Worker:
    """A process that measures with one version of noap, on one thread; it is started again if it ends."""

    def __init__(self, version: Version, variables: Mapping[str, str] | None = None) -> None:
        self.version, self.variables = version, dict(variables or {})
        self.process: subprocess.Popen[str] | None = None

    def ask(self, **line: Any) -> Row:
        """Return what the worker says: cells of a row, or `error`."""
        if self.process is None:
            paths = os.pathsep.join(map(str, self.version.paths))
            self.process = subprocess.Popen(
                [str(self.version.python), "-P", str(_WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": paths, **self.variables},
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(line) + "\n")
            self.process.stdin.flush()
            said = self.process.stdout.readline()
        except BrokenPipeError:
            said = ""
        if not said:
            code = self.process.wait()
            self.close()
            return {"error": f"the process ended with code {code}"}
        found: Row = json.loads(said)
        return found

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(BrokenPipeError):  # what it no longer reads need not be written
                    pipe.close()  # type: ignore[union-attr]
            self.process.wait()
            self.process = None


def measured(workers: Mapping[str, Worker], asks: Sequence[tuple[str, str]], place: Path, board: Board) -> list[Row]:
    """Return the cells of each (side, method), medians over rounds.

    In one process the order of the methods turns around every round. Two processes alternate: neither ever runs twice
    in a row, which would find its data still in the cache.
    """
    found: dict[tuple[str, str], list[Row]] = {ask: [] for ask in asks}
    spent = dict.fromkeys(asks, 0.0)
    for turn in range(board.rounds + 1):
        for side, method in asks[:: -1 if turn % 2 and len(workers) == 1 else 1]:
            runs = found[side, method]
            # What the first round loaded is counted only where a second one would take long.
            patience = max(board.patience, 10.0) if turn == 1 else board.patience
            if turn and (spent[side, method] >= patience or board.fresh or "error" in runs[-1]):
                continue
            answer = workers[side].ask(place=str(place), method=method)
            spent[side, method] += answer.get("worker_s", 0.0)
            if board.fresh:
                workers[side].close()
            if turn == 1:
                runs[0] = answer
            else:
                runs.append(answer)
    return [_median(side, method, runs) | {"worker_s": spent[side, method]} for (side, method), runs in found.items()]


def _median(side: str, method: str, runs: list[Row]) -> Row:
    cells = dict(runs[-1])
    if "error" in cells:
        return {"side": side, "method": method, "stopped": cells["error"], "proved": False, "rounds": len(runs)}
    for name in ("cpu_s", "wall_s", "verify_s"):
        taken = [one[name] for one in runs if one.get(name) is not None]
        cells[name] = float(np.median(taken)) if taken else None
    cpu = [one["cpu_s"] for one in runs]
    return {"side": side, "method": method, **cells, "cpu_low": min(cpu), "cpu_high": max(cpu), "rounds": len(runs)}


def _rows(board: Board, sides: Sequence[Side], one: Instance, workers: Mapping[str, Worker], place: Path) -> list[Row]:
    asked = board.methods(one)
    if len(sides) > 1:
        asked = [method for method in asked if method == "exact"] or list(asked[:1])
    asks = [(side.name, side.method if method == "exact" else method) for method in asked for side in sides]
    drop = ("process_s", "worker_s", *(() if board.fresh else ("memory_mb", "loaded_mb")))
    rows = []
    for cells in measured(workers, asks, place, board):
        kept = {name: entry for name, entry in cells.items() if name not in drop}
        rows.append(as_row({"board": board.name, **one.cells, **kept}) | {"worker_s": cells["worker_s"]})
    return rows


def _instances(board: Board, setting: Setting, only: str | None) -> Iterator[Instance]:
    for one in board.instances(setting):
        if only is None or only in one.name:
            yield one if setting.limit is None else replace(one, limit=setting.limit)


def _board(
    board: Board, sides: Sequence[Side], setting: Setting, journal: Journal, only: str | None = None
) -> list[Row]:
    rows: list[Row] = []
    if board.rows is not None:
        for key, job in board.rows(setting) if len(sides) == 1 else ():
            rows += journal.once(
                f"{board.name} {key}", lambda job=job: [as_row({"board": board.name, **cells}) for cells in job()]
            )
        return rows
    workers = {side.name: Worker(side.version) for side in sides}
    try:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder))
            for one in _instances(board, setting, only):

                def job(one: Instance = one, store: Store = store) -> list[Row]:
                    return _rows(board, sides, one, workers, store.put(one))

                fresh = journal.once(f"{board.name} {one.name}", job)
                setting.say(f"{board.name}: {one.name}: {', '.join(map(_brief, fresh))}")
                rows += fresh
    finally:
        for worker in workers.values():
            worker.close()
    return rows


def _brief(row: Row) -> str:
    who = " ".join(part for part in (row["side"], row["method"]) if part)
    if row["cpu_s"] is None:
        return f"{who} {row['stopped']}"
    left = "" if row["gap"] is None or row["proved"] else f", gap {row['gap']:.2g}"
    return f"{who} {row['cpu_s']:.3g} s{left}"


def run(boards: Iterable[Board], setting: Setting, out: Path) -> None:
    """Measure boards and write `BOARD.csv`, and where it was measured in `run.json`.

    What is measured of a board that is not complete is in `BOARD.unfinished.jsonl`; the next run goes on from there.
    """
    out.mkdir(parents=True, exist_ok=True)
    side = Side("", this_version())
    for board in boards:
        setting.skipped.clear()
        setting.say(f"-- {board.title}")
        stamp = {**setting.stamp, "sources": sources_digest()}
        journal = Journal(out / f"{board.name}.unfinished.jsonl", stamp, setting.say)
        rows = _board(board, [side], setting, journal)
        if rows:
            write(_plain(rows), out / f"{board.name}.csv")
            about = {"environment": machine(), "skipped": list(dict.fromkeys(setting.skipped)), "quick": setting.quick}
            about |= {"cpu_s": round(journal.cpu_s, 3), "wall_s": round(journal.wall_s, 3)}
            place = out / "run.json"
            # Read again: another run may have finished a board of its own in the meantime.
            known = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
            place.write_text(json.dumps(known | {board.name: about}, indent=1) + "\n", encoding="utf-8")
        else:
            setting.say("nothing measured: " + " ".join(setting.skipped))
        journal.close()


def compared(
    boards: Iterable[Board], sides: Sequence[Side], setting: Setting, out: Path, only: str | None = None
) -> list[Row]:
    """Measure two sides on the instances of boards (whose name contains `only`); write one flat table, `against.csv`.

    While it runs the rows are in `against.jsonl`, and the next run with the same sides goes on from there.
    """
    out.mkdir(parents=True, exist_ok=True)
    stamp = {**setting.stamp, "sources": sources_digest(), "sides": [[s.version.commit, s.method] for s in sides]}
    journal = Journal(out / "against.jsonl", stamp, setting.say)
    rows: list[Row] = []
    for board in boards:
        rows += _board(replace(board, rounds=max(board.rounds, _ROUNDS)), sides, setting, journal, only)
    if rows:
        write(_plain(rows), out / "against.csv")
    return _plain(rows)


def _plain(rows: Iterable[Row]) -> list[Row]:
    return [{name: entry for name, entry in row.items() if name != "worker_s"} for row in rows]


def machine() -> dict[str, str]:
    """Return the record of machine and versions, with those of the peers."""
    from benchmarks.peers import versions

    return environment() | versions()


def sources_digest() -> str:
    """Return a digest of noap's own sources: what may change a figure."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
