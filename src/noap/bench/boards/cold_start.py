"""Cold start: CPU seconds of a first call, from an empty cache of compiled kernels and from a full one."""

import tempfile
from collections.abc import Iterator
from functools import partial

import polars as pl

from noap.bench.board import Board, BoardRow, Setting
from noap.bench.cold import ENTRIES, PRELUDE, in_cache
from noap.measuring.tables import markdown, seconds

__all__ = ["COLD_START"]


def _run(setting: Setting) -> Iterator[BoardRow]:
    for name in setting.spec.cold_entries or tuple(ENTRIES):
        yield from setting.once((name,), partial(_entry, setting, name))


def _entry(setting: Setting, name: str) -> Iterator[BoardRow]:
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (float(in_cache(PRELUDE + ENTRIES[name], cache)) for _ in range(2))
    setting.say(f"{name}: {seconds(cold)} cold, {seconds(warm)} warm")
    yield {"what": name, "cold_cpu_s": cold, "warm_cpu_s": warm}


def _show(frame: pl.DataFrame) -> str:
    body = [
        [row["what"], seconds(row["cold_cpu_s"]), seconds(row["warm_cpu_s"])] for row in frame.iter_rows(named=True)
    ]
    return (
        "CPU seconds of an interpreter of its own, imports included, on wine data (178 x 13, k = 8; sample-wise k = "
        "3): the first run after an installation compiles its kernels, later ones load them.\n\n"
        + markdown(["what", "empty cache", "full cache"], body)
    )


def _beaten(frame: pl.DataFrame) -> list[str]:
    longest = frame.sort("cold_cpu_s", descending=True).row(0, named=True)
    return [
        f"first run: kernels take {seconds(longest['cold_cpu_s'])} to compile ({longest['what']}); peers come compiled."
    ]


COLD_START = Board("cold_start", "Cold start", _run, _show, _beaten)
