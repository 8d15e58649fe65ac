"""Many features: CPU time, memory and the features that are left, from X alone; one process per line."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from noap.bench.board import Board, BoardRow, Setting
from noap.bench.many_features import measured
from noap.measuring.processes import peak_memory
from noap.measuring.tables import markdown, percent, seconds, share

__all__ = ["FEATURES"]

_GAP = 1e-4
_SIMULATED = "modules"
# Samples of the folder `large`, and whether each is scaled; dorothea is sparse.
_REAL = (
    ("leukemia", True), ("prostate", False), ("prostate", True), ("arcene", False), ("arcene", True),
    ("dorothea", False),
)  # fmt: skip


def _run(setting: Setting) -> Iterator[BoardRow]:
    if peak_memory() is None:
        setting.skipped.append("Many features: memory is read from /proc/self/status, which this system does not have.")
        return
    spec = setting.spec
    for n, d in spec.many_shapes:
        for noise in spec.many_noises:
            yield from setting.once((n, d, noise), partial(_line, setting, _SIMULATED, (n, d), 10, noise))
    for name, scaled in _REAL if setting.folder is not None else ():
        assert setting.folder is not None
        place = setting.folder / "large" / f"{name}.npz"
        if not place.exists():
            setting.skipped.append(f"{name} is not in the folder of matrices: skipped.")
            continue
        label = f"{name}, {'correlation' if scaled else 'covariance'}"
        for k in spec.many_ks:
            for noise in spec.many_noises:
                line = partial(_line, setting, label, (place, scaled), k, noise)
                yield from setting.once((label, k, noise), line)


def _line(
    setting: Setting, name: str, what: tuple[int, int] | tuple[Path, bool], k: int, noise: float
) -> Iterator[BoardRow]:
    try:
        found = measured(what, k, noise, setting.spec.many_seconds)
    except subprocess.CalledProcessError:
        setting.skipped.append(f"{name} k={k} noise={noise:g}: the process failed.")
        return
    setting.say(f"{name} d={found['d']} k={k} noise={noise:g}: {seconds(found['exact s'])}, {found['MB']:.0f} MB")
    yield {"data": name, **found}


def _show(frame: pl.DataFrame) -> str:
    body = [
        [r["data"], r["n"], r["d"], r["k"], f"{r['noise']:g}", r["features left"], seconds(r["ascent s"]),
         seconds(r["exact s"]), "-" if r["gap"] <= _GAP else percent(r["gap"]), seconds(r["verify s"]),
         f"{r['MB']:.0f}", r["verified"]]
        for r in frame.iter_rows(named=True)
    ]  # fmt: skip
    closed = frame.filter(pl.col("gap") <= _GAP).height
    return (
        f"{share(closed, frame.height)} lines closed to {_GAP:g}, "
        f"{share(int(frame['verified'].sum()), frame.height)} certificates accepted. One process per line, CPU seconds "
        "of one thread; exact includes ascent, memory in MB is beside X. Noise: the budget as a share of the typical "
        "column. Left: the most features that a level of the search had to look at after screening; empty where the "
        "proof was made on X'X. Modules: simulated, standardised, a fifth of the features in groups of 20 that share a "
        "factor. No peer that is installed here works without the d x d matrix.\n\n"
        + markdown(
            ["data", "n", "d", "k", "noise", "left", "ascent", "exact", "gap left", "verify", "MB", "accepted"], body
        )
    )


def _beaten(frame: pl.DataFrame) -> list[str]:
    said = []
    for r in frame.filter(pl.col("gap") > _GAP).sort("gap", descending=True).iter_rows(named=True):
        where = f"{r['data']} d={r['d']} k={r['k']} noise={r['noise']:g}"
        said.append(f"proof: {where} is open, with a gap of {percent(r['gap'])} after {seconds(r['wall s'])}.")
    rejected = frame.filter(~pl.col("verified"))
    said += [f"certificate: {r['data']} k={r['k']} is not accepted." for r in rejected.iter_rows(named=True)]
    return said


FEATURES = Board("features", "Many features: time, memory, features left", _run, _show, _beaten)
