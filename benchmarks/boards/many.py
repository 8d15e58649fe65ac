"""Many features: CPU time and memory from X alone; a process of its own for every run."""

from collections.abc import Iterator, Sequence

import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import modules
from benchmarks.instances import Instance
from benchmarks.summary import ASCENT, EXACT, beaten, of
from benchmarks.words import percent, seconds, share
from noap.experiments.formats import markdown

__all__ = ["MANY"]

_SHAPES = (
    (100, 1_000), (100, 2_500), (100, 3_000), (100, 5_000), (100, 10_000), (100, 20_000), (100, 30_000), (100, 50_000),
    (100, 88_000), (100, 100_000), (1_000, 1_000), (1_000, 2_500), (1_000, 3_000), (1_000, 5_000), (1_000, 10_000),
    (1_000, 20_000), (1_000, 50_000), (1_000, 100_000),
)  # fmt: skip
# Samples of the folder `large`, and whether they are scaled; dorothea is sparse.
_REAL = (
    ("dorothea", False), ("arcene", False), ("arcene", True), ("prostate", False), ("prostate", True),
    ("leukemia", True),
)  # fmt: skip


def _instances(setting: Setting) -> Iterator[Instance]:
    known = {"limit": 600.0, "options": {"typical": True}}
    for n, d in ((100, 3_000), (100, 10_000)) if setting.quick else _SHAPES:
        X = modules(n, d)
        for noise in (0.0, 0.3):
            yield Instance(f"modules n={n} d={d} k=10 noise={noise:g}", X, 10, **_noise(noise), data="modules", **known)
    for name, scaled in _REAL if setting.folder is not None and not setting.quick else ():
        assert setting.folder is not None
        place, label = setting.folder / "large" / f"{name}.npz", f"{name}, {'correlation' if scaled else 'covariance'}"
        if not place.exists():
            setting.skipped.append(f"{name} is not in the folder of matrices: skipped.")
            continue
        for k, noise in [(k, noise) for k in (5, 10, 20) for noise in (0.0, 0.3)] + [(50, 0.0)] * (name == "leukemia"):
            asked = {"scaled": scaled, "data": label, **known}
            yield Instance(f"{label} k={k} noise={noise:g}", place, k, **_noise(noise), **asked)


def _noise(noise: float) -> dict[str, object]:
    return {"rho": noise, "adversary": "FeatureWise" if noise else "NoAdversary", "budget": noise}


def _methods(one: Instance) -> Sequence[str]:
    return [EXACT, ASCENT]


def _show(frame: pl.DataFrame) -> str:
    ours, ascent = of(frame, EXACT), {row["instance"]: row for row in of(frame, ASCENT).iter_rows(named=True)}
    body = [
        [r["data"], r["n"], r["d"], r["k"], f"{r['budget']:g}", seconds(ascent[r["instance"]]["cpu_s"]),
         seconds(r["cpu_s"]), "-" if r["proved"] else percent(r["gap"]), seconds(r["verify_s"]),
         f"{r['memory_mb']:.0f}" if r["memory_mb"] > 0 else "-", r["verified"]]
        for r in ours.iter_rows(named=True)
    ]  # fmt: skip
    return (
        f"{share(int(ours['proved'].sum()), ours.height)} proved to 1e-4, "
        f"{share(int(ours['verified'].sum()), ours.height)} certificates accepted. A process for every run, CPU "
        "seconds of one thread; memory in MB is beside X (a dash: making the data took more). Noise: the budget as a "
        "share of the typical column. Modules: simulated, standardised, a fifth of the features in groups of 20 that "
        "share a factor. No peer that is installed here works without the d x d matrix.\n\n"
        + markdown(["data", "n", "d", "k", "noise", "ascent", "exact", "gap left", "verify", "MB", "accepted"], body)
    )


MANY = Board("many", "Many features: time and memory", _show, _instances, _methods, beaten, fresh=True)
