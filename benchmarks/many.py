"""Ascent, exact and verify with many features: one process per line.

Run: python -m benchmarks.many [FOLDER]. Simulated modules (standardised; a fifth of the features in groups of 20 that
share a factor) of growing d, and, if a folder with a subfolder `large` is given, the matrices in it. Every line is a
process of its own: CPU seconds of ascent, of exact (time limit 600 s) and of verify, peak resident memory beyond what
the process had before, and what the checker says. Writes results/many.csv and results/many.md; a
line that is there already is kept.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from noap.measuring.environment import heading
from noap.measuring.processes import in_fresh_process
from noap.measuring.tables import frame_of, markdown, read_table, write_table

_LIMIT = 600.0
_GROWTH = (
    (100, 1_000), (100, 10_000), (100, 100_000), (1_000, 1_000), (1_000, 10_000), (100, 50_000), (100, 20_000),
    (1_000, 20_000), (100, 2_500), (100, 5_000), (1_000, 2_500), (1_000, 5_000),
)  # fmt: skip
# After everything else: ten minutes and more of one core each.
_LARGEST = ((1_000, 50_000), (1_000, 100_000))
_REAL = [
    (name, scaled, k, noise)
    for name, scaled in (("dorothea", False), ("arcene", False), ("arcene", True), ("prostate", False),
                         ("prostate", True), ("leukemia", True))
    for k in (5, 10, 20)
    for noise in (0.0, 0.3)
    if not (name == "dorothea" and k == 20)
] + [("leukemia", True, 50, 0.0)]  # fmt: skip

MODULES = """
import time
import warnings
import numpy as np
import noap

warnings.simplefilter("ignore")


def modules(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    for first in range(0, d // 5 - 19, 20):
        X[:, first : first + 20] += np.outer(rng.standard_normal(n), rng.uniform(1, 3, 20))
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X[:, rng.permutation(d)]


"""

_CHILD = (
    MODULES
    + """
def read(path, scaled):
    if "dorothea" in path:
        from scipy.sparse import load_npz
        return noap.centred(load_npz(path).astype(float), scale=scaled)
    X = np.load(path)["X"].astype(float)
    X -= X.mean(axis=0)
    spread = X.std(axis=0)
    X = X[:, spread > 1e-9 * spread.max()]
    return X / X.std(axis=0) if scaled else X


what, k, noise, limit = json.loads(sys.argv[1])
# Compiled or loaded before anything is timed, as after a first call.
tiny = noap.Problem(modules(20, 2500), k=3, adversary=noap.FeatureWise(0.5))
noap.verify(tiny, noap.solve(tiny, time_limit=60).certificate)
X = read(*what) if isinstance(what[0], str) else modules(*what)
n, d = X.shape
norms = noap.Problem(X, k=1, adversary=noap.NoAdversary()).column_norms
rho = noise * float(np.median(norms[norms > 0]))
adversary = noap.FeatureWise(rho) if noise else noap.NoAdversary()
before = peak_memory()
problem = noap.Problem(X, k=k, adversary=adversary)
started = time.process_time()
ascent = noap.solve(problem, "ascent")
ascended = time.process_time() - started
problem = noap.Problem(X, k=k, adversary=adversary)
started, wall = time.process_time(), time.perf_counter()
result = noap.solve(problem, time_limit=limit)
solved, wall = time.process_time() - started, time.perf_counter() - wall
started = time.process_time()
report = noap.verify(problem, result.certificate)
print(json.dumps({
    "n": n, "d": d, "k": k, "noise": noise, "value": result.value, "gap": result.gap,
    "stopped by": result.limit.value if result.limit else "-", "ascent loses": 1 - ascent.value / result.value,
    "ascent s": ascended, "exact s": solved, "wall s": wall, "verify s": time.process_time() - started,
    "MB": peak_memory() - before, "nodes": result.nodes, "verified": report.ok,
}))
"""
)


def main() -> None:
    jobs = [("modules", [n, d], 10, noise) for n, d in _GROWTH for noise in (0.0, 0.3)]
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1]) / "large"
        jobs += [
            (f"{name}, {'correlation' if scaled else 'covariance'}", [str(folder / f"{name}.npz"), scaled], k, noise)
            for name, scaled, k, noise in _REAL
        ]
    jobs += [("modules", [n, d], 10, noise) for n, d in _LARGEST for noise in (0.3, 0.0)]
    place = RESULTS / "many.csv"
    lines: list[dict[str, Any]] = read_table(place).to_dicts() if place.exists() else []
    done = {_key(line["data"], [line["n"], line["d"]], line["k"], line["noise"]) for line in lines}
    for name, what, k, noise in jobs:
        if _key(name, what, k, noise) in done:
            continue
        found = in_fresh_process(_CHILD, json.dumps([what, k, noise, _LIMIT]))
        lines.append({"data": name, **found})
        print(lines[-1], flush=True)
        _write(sorted(lines, key=lambda line: (line["data"], line["n"], line["d"], line["k"], line["noise"])))


def _key(name: str, what: list[Any], k: int, noise: float) -> tuple[object, ...]:
    """Return what tells a line from all others; a matrix is told by its name."""
    return name, k, noise, *(what if name == "modules" else ())


def _write(lines: list[dict[str, Any]]) -> None:
    write_table(frame_of(lines), RESULTS / "many.csv")
    text = "\n".join(
        [
            heading("Many features"),
            f"One process per line, gap 1e-4, time limit {_LIMIT:g} s. Seconds are CPU seconds of the process, but for "
            "wall s; MB: peak memory beyond that of the process with its data. Noise: the budget as a share of the "
            "typical column. ascent loses: 1 - its value/the value of exact. The machine was shared with other work.\n",
            markdown(list(lines[0]), [list(line.values()) for line in lines]),
        ]
    )
    (RESULTS / "many.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
