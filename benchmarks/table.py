"""The one format of results: the columns of a row, the CSV file of a board, and the journal of a run."""

import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl

from noap.experiments.formats import frame_of, write_table

__all__ = ["COLUMNS", "Journal", "Row", "as_row", "of", "read", "write"]

Row = dict[str, Any]

# What a row says, in this order. `budget` counts as the board's own text says; `value` is the robust variance of the
# method's vector, re-solved on its support where the method has no proof, and `returned` that of the vector as it came.
# `more` is JSON: what one board alone has.
COLUMNS: dict[str, type] = {
    "board": str, "instance": str, "side": str, "method": str,
    "data": str, "n": int, "d": int, "k": int, "r": int, "adversary": str, "budget": float, "seed": int,
    "value": float, "returned": float, "bound": float, "gap": float, "asked": float, "proved": bool, "stopped": str,
    "limit_s": float, "cpu_s": float, "cpu_low": float, "cpu_high": float, "wall_s": float, "rounds": int,
    "nodes": int, "verified": bool, "verify_s": float, "bytes": int, "features": int, "memory_mb": float, "more": str,
}  # fmt: skip


def as_row(cells: Row) -> Row:
    """Return the cells in the columns of the format; what belongs to none goes to `more`."""
    more = {name: entry for name, entry in cells.items() if name not in COLUMNS}
    row = {name: cells.get(name) for name in COLUMNS}
    return row | ({"more": json.dumps(more)} if more else {})


def write(rows: Iterable[Row], place: Path) -> None:
    """Write rows as CSV."""
    write_table(of(rows), place)


def read(place: Path) -> pl.DataFrame:
    """Return the table of a file."""
    return pl.read_csv(place, schema_overrides=COLUMNS)


def of(rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows as the table that their file would hold."""
    return frame_of(rows).cast({name: pl.DataType.from_python(kind) for name, kind in COLUMNS.items()})  # type: ignore[arg-type]


class Journal:
    """JSON lines with what is measured so far: a run that was stopped goes on where it was.

    Parameters
    ----------
    place : Path
    stamp : mapping
        What the rows depend on. A file with another stamp is begun anew.
    say : callable
        Takes a line about a file that is begun anew or continued.

    Attributes
    ----------
    cpu_s, wall_s : float
        Seconds of all instances, those of earlier runs included; CPU seconds are those of child processes too.
    """

    def __init__(self, place: Path, stamp: Row, say: Callable[[str], None] = lambda line: None) -> None:
        self.place, self.cpu_s, self.wall_s = place, 0.0, 0.0
        self._known: dict[str, Row] = {}
        stamp = json.loads(json.dumps(stamp))  # as it reads back: tuples are lists there
        if place.exists():
            head, *lines = _documents(place)
            if head == stamp:
                self._known = {line["key"]: line for line in lines}
                say(f"goes on after {len(self._known)} instances of an earlier run ({place})")
                # Without the line that was cut off, if any.
                self._begin(head, *lines)
                return
            say(f"begins anew: {place} was left by another version or another choice")
        self._begin(stamp)

    def _begin(self, *documents: Any) -> None:
        self.place.write_text("".join(json.dumps(one) + "\n" for one in documents), encoding="utf-8")

    def once(self, key: str, measure: Callable[[], Iterable[Row]]) -> list[Row]:
        """Return the rows of one instance: from the file, or measured now and written there."""
        line = self._known.get(key)
        if line is None:
            wall, cpu = time.perf_counter(), _cpu()
            rows = list(measure())
            line = {"key": key, "rows": rows, "wall_s": time.perf_counter() - wall, "cpu_s": _cpu() - cpu}
            self._known[key] = line
            with self.place.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        self.wall_s += line["wall_s"]
        self.cpu_s += line["cpu_s"] + sum(row.get("worker_s", 0.0) for row in line["rows"])
        found: list[Row] = line["rows"]
        return found

    def close(self) -> None:
        """Remove the file: the table that was made of it is complete."""
        self.place.unlink(missing_ok=True)


def _documents(place: Path) -> list[Any]:
    """Return the lines of the file; the last one may have been cut off in the middle."""
    found = []
    for line in place.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found or [None]


def _cpu() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
