"""Bounds without branching: the relaxation alone, the first node of this version and of another, the paper's program.

Run: python -m benchmarks.roots --data FOLDER [--against SOURCES] [--limit SECONDS] [--only NAME ...]. The instances are
those of the frontier's section `standardised`. The paper's mixed-integer program takes all the seconds it is given: it
is run for k = 10 and noise 0.5 only, on every data set. What a first node proves is the smallest gap, within 2 %, at
which it closes. Each bound is compared with the best value that any of the runs found. Writes results/roots.csv, row by
row, and results/roots.md.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import RESULTS
from benchmarks.frontier import HERE, Version, rows_of, standardised
from noap.measuring.environment import heading
from noap.measuring.tables import append_row, markdown

# Bounds one problem after the other, as it is told.
WORKER = """
import json, sys, time, warnings
import numpy as np, noap
warnings.simplefilter("ignore")
def root(problem):
    closed, started = None, time.perf_counter()
    low, high = 1e-6, 64.0  # the gap that it proves lies between
    while high > 1.02 * low:
        gap = (low * high) ** 0.5
        result = noap.solve(problem, gap=gap, node_limit=1)
        low, high, closed = (low, gap, result) if result.gap <= gap else (gap, high, closed)
    closed = closed or result
    return [closed.value, closed.bound, time.perf_counter() - started]
for line in sys.stdin:
    place, k, noise, method, limit = json.loads(line)
    problem = noap.Problem.from_covariance(np.load(place), n_samples=1, k=k, adversary=noap.FeatureWise(noise))
    if method == "root":
        found = root(problem)
    else:
        result = noap.solve(problem, method=method, gap=1e-6, time_limit=limit)
        found = [result.value, result.bound, result.seconds]
    print(json.dumps(found), flush=True)
"""
RELAXATION, ROOT, OTHER_ROOT, PROGRAM = "relaxation", "root", "root before", "program"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    here = Version(HERE, WORKER)
    other = Version(arguments.against, WORKER) if arguments.against else None
    place = RESULTS / "roots.csv"
    done = {row["instance"] for row in rows_of(place)}
    with tempfile.TemporaryDirectory() as temporary:
        matrix = str(Path(temporary) / "S.npy")
        for label, S, k, noise, _ in standardised(arguments.data):
            if label in done or (arguments.only and label.split()[0] not in arguments.only):
                continue
            np.save(matrix, S)
            found: dict[str, list[Any]] = {
                RELAXATION: here.ask(matrix, k, noise, "relaxation", arguments.limit),
                ROOT: here.ask(matrix, k, noise, "root", None),
            }
            if other is not None:
                found[OTHER_ROOT] = other.ask(matrix, k, noise, "root", None)
            if (k, noise) == (10, 0.5):
                found[PROGRAM] = here.ask(matrix, k, noise, "mip", arguments.limit)
            best = max(value for value, _, _ in found.values())
            row: dict[str, object] = {"instance": label, "best value": best}
            for name in (RELAXATION, ROOT, OTHER_ROOT, PROGRAM):
                _, bound, seconds = found.get(name, (0.0, np.nan, np.nan))
                row |= {f"gap {name}": bound / best - 1 if best > 0 else 0.0, f"seconds {name}": round(seconds, 3)}
            append_row(row, place)
            print(*row.values(), flush=True)
    (RESULTS / "roots.md").write_text(summary(rows_of(place), arguments.limit), encoding="utf-8")


def summary(rows: list[dict[str, str]], limit: float) -> str:
    """Return the page: how far above the best value each bound is, for each k and noise, and where the program ran."""
    text = heading("Bounds without branching") + (
        "\nHow far a bound is above the best value known, in per cent: median and largest over the data sets, which "
        "are standardised. The relaxation alone, the first node of this version and of the version before (the "
        "smallest gap, within 2 %, at which it closes), and the paper's "
        f"mixed-integer program after {limit:g} s (for k = 10 and noise 0.5 only).\n\n"
    )
    names = [name for name in (RELAXATION, ROOT, OTHER_ROOT, PROGRAM) if any(_number(row, name) >= 0 for row in rows)]
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(" ".join(row["instance"].split()[2:]), []).append(row)
    table = []
    for group, members in sorted(groups.items(), key=lambda item: [float(x.split("=")[1]) for x in item[0].split()]):
        cells = []
        for name in names:
            gaps = np.array([_number(row, name) for row in members])
            gaps = 100 * gaps[np.isfinite(gaps)]
            cells.append(f"{np.median(gaps):.2g} / {gaps.max():.2g}" if len(gaps) else "")
        table.append([group, str(len(members)), *cells])
    text += markdown(["instances", "data sets", *names], table)
    text += "\n## The paper's program beside them: k = 10, noise 0.5\n\n"
    tried = [row for row in rows if np.isfinite(_number(row, PROGRAM))]
    body = [[row["instance"], *(f"{100 * _number(row, name):.3g}" for name in names)] for row in tried]
    return text + markdown(["instance", *names], body)


def _number(row: dict[str, str], name: str) -> float:
    return float(row[f"gap {name}"] or "nan")


if __name__ == "__main__":
    main()
