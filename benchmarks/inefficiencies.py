"""The largest inefficiencies that profiles showed, before and after their removal: two versions of noap in turns.

Run: python -m benchmarks.inefficiencies SOURCES [DATA], the folder to import the other version from and a folder of
public matrices (without one: data that ship with scikit-learn). Three kinds of problems, one for each: samples of some
hundred features with noise, where nodes on X'X are dear; the relaxation, whose steps are eigendecompositions; and trees
with many included features, whose nodes take their time for slabs. CPU seconds on one thread, medians of three rounds
in processes that alternate. Writes results/inefficiencies.csv and results/inefficiencies.md.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import noap
from benchmarks import RESULTS
from noap.bench.instances import standardised_sets
from noap.bench.sources import modules
from noap.measuring.environment import heading
from noap.measuring.processes import in_fresh_process
from noap.measuring.tables import frame_of, markdown, seconds, write_table

_ROUNDS = 3
_LIMIT = 60.0
_SHAPES = ((100, 500), (100, 1_000), (1_000, 1_000), (100, 2_000), (1_000, 2_000))
_PAIRS = "some hundred features"
_RELAXED = "relaxation"
_TREES = "trees"
# Set, k and noise; what is not in the folder is left out.
_CASES = {
    _RELAXED: (
        ("breast cancer", 10, 0.1), ("digits", 20, 0.3), ("communities", 10, 0.3), ("gas", 10, 0.1),
        ("arrhythmia", 20, 0.1), ("eisen2", 20, 0.7),
    ),
    _TREES: (
        ("breast cancer", 10, 0.3), ("digits", 10, 0.3), ("eisen1", 20, 0.3), ("communities", 20, 0.3),
        ("eisen2", 20, 0.7), ("arrhythmia", 20, 0.5), ("colon", 20, 0.3),
    ),
}  # fmt: skip

# Any version of noap runs this; it finds the data in a file. What takes less than a second is repeated.
_CHILD = """
import time
import warnings
import numpy as np
import noap

warnings.simplefilter("ignore")
place, cases, limit = json.loads(sys.argv[1])
data, found = np.load(place), []


def problem_of(key, k, noise):
    M = data[key]
    if key.startswith("X"):
        return noap.Problem(M, k=k, adversary=noap.FeatureWise(noise * float(np.sqrt(len(M)))))
    return noap.Problem.from_covariance(M, n_samples=1, k=k, adversary=noap.FeatureWise(noise))


# Compiled or loaded before anything is timed, for either way.
for key, k, noise, method in [("Xtiny", 3, 0.5, "exact"), ("Xsmall", 3, 0.5, "exact")] + cases[:1]:
    noap.solve(problem_of(key, k, noise), method, time_limit=20)
for key, k, noise, method in cases:
    times = []
    while not times or (len(times) < 5 and sum(times) < 1.0):
        problem = problem_of(key, k, noise)
        started = time.process_time()
        result = noap.solve(problem, method, time_limit=limit)
        times.append(time.process_time() - started)
    found.append([min(times), result.gap, result.nodes, result.value])
print(json.dumps(found))
"""


def main() -> None:
    versions = {"before": Path(sys.argv[1]), "after": Path(noap.__file__).parent.parent}
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    arrays, cases = _gathered(folder)
    asked = [[key, k, noise, "relaxation" if kind == _RELAXED else "exact"] for kind, _, key, k, noise in cases]
    rounds: dict[str, list[list[list[float]]]] = {name: [] for name in versions}
    with tempfile.TemporaryDirectory() as place:
        np.savez(f"{place}/data.npz", **arrays)
        job = json.dumps([f"{place}/data.npz", asked, _LIMIT])
        for turn in range(_ROUNDS):
            for name in list(versions)[:: -1 if turn % 2 else 1]:
                rounds[name].append(in_fresh_process(_CHILD, job, sources=versions[name], variables=one))
                print(name, "round", turn + 1, flush=True)
    lines = []
    for number, (kind, label, _, k, noise) in enumerate(cases):
        before, after = (np.array([turn[number] for turn in rounds[name]]) for name in versions)
        lines.append({
            "kind": kind, "problem": label, "k": k, "noise": noise,
            "before_s": float(np.median(before[:, 0])), "after_s": float(np.median(after[:, 0])),
            "ratio": float(np.median(before[:, 0] / after[:, 0])),
            "before_gap": float(before[0, 1]), "after_gap": float(after[0, 1]),
            "before_nodes": int(before[0, 2]), "after_nodes": int(after[0, 2]),
            "same_value": bool(abs(before[0, 3] - after[0, 3]) <= 1e-6 * before[0, 3]),
        })  # fmt: skip
    write_table(frame_of(lines), RESULTS / "inefficiencies.csv")
    body = [
        [
            line["kind"], line["problem"], line["k"], line["noise"], seconds(line["before_s"]),
            seconds(line["after_s"]), f"{line['ratio']:.2f}", f"{line['before_gap']:.1e}", f"{line['after_gap']:.1e}",
            line["before_nodes"], line["after_nodes"],
        ]
        for line in lines
    ]  # fmt: skip
    head = ["kind", "problem", "k", "noise", "before", "after", "ratio", "gap before", "after", "nodes before", "after"]
    text = (
        heading("What profiles showed, before and after")
        + "\nCPU seconds on one thread, medians of three rounds; ratios are medians of the rounds' own. The relaxation "
        "and trees are of standardised real data, hundreds of features of simulated modules.\n\n" + markdown(head, body)
    )
    (RESULTS / "inefficiencies.md").write_text(text, encoding="utf-8")


def _gathered(folder: Path | None) -> tuple[dict[str, Any], list[tuple[str, str, str, int, float]]]:
    """Return the arrays, and (kind, label, array, k, noise) of every problem."""
    arrays: dict[str, Any] = {"Xtiny": modules(20, 30), "Xsmall": modules(20, 2500)}
    cases = []
    for n, d in _SHAPES:
        arrays[f"X{n}x{d}"] = modules(n, d)
        cases.append((_PAIRS, f"modules {n} x {d}", f"X{n}x{d}", 10, 0.3))
    sets = dict(standardised_sets(None)) | (dict(standardised_sets(folder)) if folder is not None else {})
    for kind, chosen in _CASES.items():
        for name, k, noise in chosen:
            if name in sets:
                arrays[name] = sets[name]
                cases.append((kind, f"{name} ({len(sets[name])} features)", name, k, noise))
    return arrays, cases


if __name__ == "__main__":
    main()
