"""Cold start: CPU seconds of a whole process, its imports included, with an empty and with a full cache."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import bundled
from benchmarks.instances import Instance, Store
from benchmarks.runner import Worker
from benchmarks.table import Row
from benchmarks.versions import this_version
from benchmarks.words import seconds
from noap.experiments.formats import markdown

__all__ = ["COLD_START"]

_EMPTY, _FULL = "empty cache", "full cache"


def _entries() -> Iterator[Instance]:
    X = bundled()["wine"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rho = 0.3 * float(np.sqrt(len(X)))
    yield Instance("first answer, solved and checked, feature-wise", X, 8, rho)
    yield Instance("first answer, solved and checked, sample-wise", X, 3, 0.5, "SampleWise")
    yield Instance("noap.path, k = 4", X, 4, 0.0, "NoAdversary", task="path")


def _rows(setting: Setting) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    for one in _entries():
        yield one.name, lambda one=one: _twice(one)  # type: ignore[misc]


def _twice(one: Instance) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        place = Store(Path(cache)).put(one)
        for which in (_EMPTY, _FULL):
            worker = Worker(this_version(), {"NUMBA_CACHE_DIR": cache})
            found = worker.ask(place=str(place), method="exact", warm=False)
            worker.close()
            rows.append({"instance": one.name, "method": which, "cpu_s": found.get("process_s")})
    return rows


def _show(frame: pl.DataFrame) -> str:
    body = [
        [name, *(seconds(rows.filter(pl.col("method") == which)["cpu_s"][0]) for which in (_EMPTY, _FULL))]
        for (name,), rows in frame.group_by("instance", maintain_order=True)
    ]
    return (
        "CPU seconds of a process of its own, imports included, on wine data (178 x 13, k = 8; sample-wise k = 3): the "
        "first run after an installation, and later ones.\n\n" + markdown(["what", _EMPTY, _FULL], body)
    )


def _beaten(frame: pl.DataFrame) -> list[str]:
    longest = frame.sort("cpu_s", descending=True).row(0, named=True)
    return [f"first run: {seconds(longest['cpu_s'])} before there is an answer ({longest['instance']})."]


COLD_START = Board("cold_start", "Cold start", _show, beaten=_beaten, rows=_rows)
