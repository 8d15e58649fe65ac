"""Before and after: another version of noap against this one, in alternating processes of one run."""

import json
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.scoring import TOLERANCE
from noap.bench.sources import strong_weak
from noap.measuring.processes import in_fresh_process
from noap.measuring.tables import markdown, percent, seconds, share

__all__ = ["CHANGES"]

_HERE = Path(noap.__file__).parent.parent
_JOBS = ("ascent", "exact", "verify")
# Runs in one of the two versions. The other may know nothing of measuring: data come from a file, and the program
# times itself. What does not end within the limit is timed once, anything else again after a first run that loads and
# compiles.
_PROGRAM = """
import time, warnings
import numpy as np, noap
warnings.simplefilter("ignore")
cases, data, limit, found = json.loads(sys.argv[1]), np.load(sys.argv[2]), float(sys.argv[3]), []

def timed(job):
    times, answer = [], None
    for run in range(4):
        started = time.process_time()
        answer = job()
        times.append(time.process_time() - started)
        if run and sum(times) > 1.0 or times[0] > limit:
            break
    return min(times[1:] or times), answer

for key, adversary, rho, k in cases:
    who = getattr(noap, adversary)(rho) if rho else noap.NoAdversary()
    if rho:
        problem = noap.Problem(data[key], k=k, adversary=who)
    else:
        problem = noap.Problem.from_covariance(data[key], n_samples=1, k=k, adversary=who)
    ascent, vector = timed(lambda: noap.solve(problem, method="ascent"))
    exact, result = timed(lambda: noap.solve(problem, gap=1e-6, time_limit=limit))
    verify, checked = timed(lambda: noap.verify(problem, result.certificate))
    proved = result.status.value == "optimal"
    found.append({
        "ascent": [ascent, vector.value, True],
        "exact": [exact, result.value, proved],
        "verify": [verify, checked.value, proved and bool(checked.ok)],
    })
print(json.dumps(found))
"""


def _run(setting: Setting) -> Iterator[BoardRow]:
    if setting.against is None:
        setting.skipped.append("Before and after needs the sources of another version (--against FOLDER).")
        return
    yield from setting.once(("all",), partial(_compared, setting, setting.against))


def _compared(setting: Setting, against: Path) -> Iterator[BoardRow]:
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
        turns: dict[str, list[list[dict[str, list[float]]]]] = {"before": [], "after": []}
        for turn in range(setting.spec.repeats):
            for version in list(turns)[:: -1 if turn % 2 else 1]:
                source = against if version == "before" else _HERE
                limit = str(setting.spec.change_seconds)
                turns[version].append(in_fresh_process(_PROGRAM, asked, str(place), limit, sources=source))
                setting.say(f"{version}, round {turn + 1}")
    for number, (label, _, adversary, _, k, d) in enumerate(cases):
        for job in _JOBS:
            before, after = (np.array([turn[number][job] for turn in turns[when]]) for when in ("before", "after"))
            yield {
                "instance": label,
                "adversary": adversary,
                "d": d,
                "k": k,
                "job": job,
                "before_s": float(np.median(before[:, 0])),
                "after_s": float(np.median(after[:, 0])),
                "ratio": float(np.median(before[:, 0] / after[:, 0])),
                "before_value": float(before[0, 1]),
                "after_value": float(after[0, 1]),
                "before_done": bool(before[:, 2].all()),
                "after_done": bool(after[:, 2].all()),
            }


def _show(frame: pl.DataFrame) -> str:
    text = (
        "Another version of noap and this one, on the same data, in processes that take turns: ascent, the exact "
        "method to a gap of 1e-06, and the verification of its certificate. Ratios are over the instances that both "
        "versions finish; the value is that of the vector found.\n\n"
    )
    body = []
    for (job, adversary), rows in frame.group_by(["job", "adversary"], maintain_order=True):
        both = rows.filter(pl.col("before_done") & pl.col("after_done"))
        ratios = both["ratio"].to_numpy() if both.height else np.array([np.nan])
        better = rows.filter(pl.col("after_value") > pl.col("before_value") * (1 + TOLERANCE)).height
        loss = (1 - rows["after_value"] / rows["before_value"]).to_numpy().max()
        body.append([
            job, adversary, share(int(rows["before_done"].sum()), rows.height),
            share(int(rows["after_done"].sum()), rows.height), seconds(float(both["before_s"].sum())),
            seconds(float(both["after_s"].sum())), f"{np.median(ratios):.2f}",
            f"{ratios.min():.2f} to {ratios.max():.2f}", better, percent(max(float(loss), 0.0)),
        ])  # fmt: skip
    return text + markdown(
        ["job", "adversary", "finished before", "after", "all together before", "after", "time before/after, median",
         "range", "better values", "largest loss of value"],
        body,
    )  # fmt: skip


def _beaten(frame: pl.DataFrame) -> list[str]:
    said = []
    slower = frame.filter(pl.col("before_done") & ((pl.col("ratio") < 0.9) | ~pl.col("after_done")))
    for (job,), rows in slower.group_by(["job"], maintain_order=True):
        worst = rows.sort("ratio").row(0, named=True)
        said.append(
            f"time: {job} was faster in the other version on "
            f"{share(rows.height, frame.filter(pl.col('job') == job).height)} instances, by "
            f"{1 / worst['ratio']:.2g} at most ({worst['instance']})."
        )
    return said


CHANGES = Board("changes", "Before and after", _run, _show, _beaten)
