"""Before and after: ascent of another version of noap against this one, in alternating processes of one run."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import noap
from noap.bench.board import Board, Row, Setting, markdown, percent, seconds, share
from noap.bench.scoring import TOLERANCE
from noap.bench.sources import strong_weak

__all__ = ["CHANGES"]

_HERE = Path(noap.__file__).parent.parent
# Runs in the version that PYTHONPATH names; data come from a file, because that version may have no benchmarks.
_PROGRAM = """
import json, sys, time, warnings
import numpy as np, noap
warnings.simplefilter("ignore")
cases, data, found = json.loads(sys.argv[1]), np.load(sys.argv[2]), []
for key, adversary, rho, k in cases:
    who = getattr(noap, adversary)(rho) if rho else noap.NoAdversary()
    if rho:
        problem = noap.Problem(data[key], k=k, adversary=who)
    else:
        problem = noap.Problem.from_covariance(data[key], n_samples=1, k=k, adversary=who)
    result, times = noap.solve(problem, method="ascent"), []
    for _ in range(3):
        started = time.process_time()
        noap.solve(problem, method="ascent")
        times.append(time.process_time() - started)
    found.append([min(times), result.value])
print(json.dumps(found))
"""


def _run(setting: Setting) -> Iterator[Row]:
    if setting.against is None:
        setting.skipped.append("Before and after needs the sources of another version (--against FOLDER).")
        return
    cases: list[tuple[str, str, str, float, int, int]] = []
    arrays: dict[str, Any] = {}
    for number, matrix in enumerate(setting.matrices):
        arrays[f"m{number}"] = matrix.S
        cases += [
            (f"{matrix.name} k={k}", f"m{number}", "NoAdversary", 0.0, k, matrix.d)
            for k in setting.spec.ks
            if k < matrix.d
        ]
    for d in setting.spec.growth_d:
        X = arrays[f"x{d}"] = strong_weak(500, d, 5, 0)
        for budget in setting.spec.growth_budgets:
            if budget > 0:
                label = f"strong/weak d={d} k=5 rho-bar={budget:g}"
                cases.append((label, f"x{d}", "FeatureWise", budget * float(np.sqrt(len(X) / 5)), 5, d))
    X = arrays["s"] = strong_weak(200, 100, 5, 0)
    cases += [(f"strong/weak d=100 k=5 sample-wise rho={rho:g}", "s", "SampleWise", rho, 5, 100) for rho in (0.5, 1.0)]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "data.npz"
        np.savez(place, **arrays)
        asked = json.dumps([[key, adversary, rho, k] for _, key, adversary, rho, k, _ in cases])
        turns: dict[str, list[list[list[float]]]] = {"before": [], "after": []}
        for turn in range(setting.spec.repeats):
            for version in list(turns)[:: -1 if turn % 2 else 1]:
                source = setting.against if version == "before" else _HERE
                done = subprocess.run(
                    [sys.executable, "-c", _PROGRAM, asked, str(place)],
                    capture_output=True,
                    text=True,
                    check=True,
                    env=os.environ | {"PYTHONPATH": str(source)},
                )
                turns[version].append(json.loads(done.stdout))
                setting.say(f"{version}, round {turn + 1}")
    before, after = (np.array(turns[version]) for version in ("before", "after"))
    for number, (label, _, adversary, _, k, d) in enumerate(cases):
        yield {
            "instance": label,
            "adversary": adversary,
            "d": d,
            "k": k,
            "before_s": float(np.median(before[:, number, 0])),
            "after_s": float(np.median(after[:, number, 0])),
            "ratio": float(np.median(before[:, number, 0] / after[:, number, 0])),
            "before_value": float(before[0, number, 1]),
            "after_value": float(after[0, number, 1]),
        }


def _show(frame: pl.DataFrame) -> str:
    ratios = frame["ratio"].to_numpy()
    worse = frame.filter(pl.col("after_value") < pl.col("before_value") * (1 - TOLERANCE)).height
    better = frame.filter(pl.col("after_value") > pl.col("before_value") * (1 + TOLERANCE)).height
    text = (
        "Ascent of another version of noap and of this one, on the same data, in processes that take turns. On "
        f"{frame.height} instances the version before takes {np.median(ratios):.2g} times as long in the median "
        f"({ratios.min():.2g} to {ratios.max():.2g}), {seconds(float(frame['before_s'].sum()))} against "
        f"{seconds(float(frame['after_s'].sum()))} in all; the value is better on {share(better, frame.height)} and "
        f"worse on {share(worse, frame.height)}.\n\n"
    )
    body = []
    for (adversary,), rows in frame.group_by(["adversary"], maintain_order=True):
        part = rows["ratio"].to_numpy()
        loss = (1 - rows["after_value"] / rows["before_value"]).to_numpy().max()
        body.append([
            adversary, rows.height, f"{np.median(part):.2f}", f"{part.min():.2f} to {part.max():.2f}",
            percent(max(float(loss), 0.0)),
        ])  # fmt: skip
    return text + markdown(
        ["adversary", "instances", "time before/after, median", "range", "largest loss of value"], body
    )


def _beaten(frame: pl.DataFrame) -> list[str]:
    slower = frame.filter(pl.col("ratio") < 0.95)
    return [f"time: {r['instance']} is slower than it was ({r['ratio']:.2f})." for r in slower.iter_rows(named=True)]


CHANGES = Board("changes", "Before and after", _run, _show, _beaten)
