"""Problems that resist: this version of noap and another one, in turns, in one run; every instance, none omitted.

Run: python -m benchmarks.frontier SECTION [...] --data FOLDER [--against SOURCES] [--limit SECONDS] [--only NAME ...],
sections as in SECTIONS below. Each section writes results/frontier-<section>.csv with one row per instance, and a
summary beside it. A row that is there already is kept, so that a run can go on where it was stopped. The instances are
those of the boards `standardised` and `large_k` of `noap bench`, which measures one version and its peers.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import noap
from benchmarks import RESULTS
from noap.bench.instances import moments, standardised_sets
from noap.measuring.environment import heading
from noap.measuring.tables import append_row, markdown, share

Instance = tuple[str, np.ndarray, int, float, float]  # label, covariance or samples, k, noise, gap asked for
HERE = Path(noap.__file__).parent.parent

# Solves what it is told, line by line, in the version that it finds.
WORKER = """
import json, sys, warnings
import numpy as np, noap
warnings.simplefilter("ignore")
tiny = np.random.default_rng(0).standard_normal((8, 4))
noap.verify(p := noap.Problem(tiny, k=2, adversary=noap.FeatureWise(0.5)), noap.solve(p).certificate)
for line in sys.stdin:
    place, k, noise, gap, limit = json.loads(line)
    who = noap.FeatureWise(noise) if noise else noap.NoAdversary()
    M = np.load(place)
    problem = (noap.Problem.from_covariance(M, n_samples=1, k=k, adversary=who) if len(M) == len(M.T)
               else noap.Problem(M, k, who))
    result = noap.solve(problem, gap=gap, time_limit=limit)
    checked = noap.verify(problem, result.certificate)
    print(json.dumps([result.status.value, result.value, result.gap, result.nodes, result.seconds, checked.ok,
                      checked.seconds]), flush=True)
"""


def standardised(folder: Path) -> Iterator[Instance]:
    """Yield every real data set, standardised, under feature-wise noise of 0.1 to 0.7, to 1e-4."""
    for name, C in standardised_sets(folder):
        for k in (5, 10, 20):
            for noise in (0.1, 0.3, 0.5, 0.7):
                if k <= len(C):
                    yield f"{name} d={len(C)} k={k} noise={noise:g}", C, k, noise, 1e-4


def many(folder: Path) -> Iterator[Instance]:
    """Yield every matrix without an adversary at k = 20 to 100, to 1e-6 (samples where they are few)."""
    for name, M in moments(folder):
        for k in (20, 30, 50, 100):
            if k < len(M.T):
                yield f"{name} d={len(M.T)} k={k}", M, k, 0.0, 1e-6


SECTIONS = {"standardised": standardised, "many": many}


class Version:
    """A process that solves with one version of noap, on one thread."""

    def __init__(self, sources: Path, worker: str = WORKER) -> None:
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, "-c", worker],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **one, "PYTHONPATH": str(sources)},
        )

    def ask(self, *what: object) -> list[Any]:
        """Return what the worker says of one problem."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        found: list[Any] = json.loads(self.process.stdout.readline())
        return found


def run(section: str, folder: Path, against: Path | None, limit: float, only: list[str]) -> None:
    versions = {"after": Version(HERE)} | ({"before": Version(against)} if against else {})
    place = RESULTS / f"frontier-{section}.csv"
    done = {row["instance"] for row in rows_of(place)}
    with tempfile.TemporaryDirectory() as temporary:
        matrix = str(Path(temporary) / "S.npy")
        for label, S, k, noise, gap in SECTIONS[section](folder):
            if label in done or (only and label.split()[0] not in only):
                continue
            np.save(matrix, S)
            row: dict[str, object] = {"instance": label}
            for name, version in versions.items():
                status, value, left, nodes, seconds, ok, checking = version.ask(matrix, k, noise, gap, limit)
                row |= {f"status {name}": status, f"value {name}": value, f"gap {name}": left}
                row |= {f"nodes {name}": nodes, f"seconds {name}": round(seconds, 3)}
                row |= {f"verified {name}": ok, f"verify {name}": round(checking, 3)}
            append_row(row, place)
            print(*row.values(), flush=True)
    rows = rows_of(place)
    (RESULTS / f"frontier-{section}.md").write_text(summary(section, rows, limit), encoding="utf-8")


def rows_of(place: Path) -> list[dict[str, str]]:
    if not place.exists():
        return []
    with place.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def summary(section: str, rows: list[dict[str, str]], limit: float) -> str:
    about = str(SECTIONS[section].__doc__).removeprefix("Yield ")
    text = heading(f"Frontier: {section}") + f"\n{about[0].upper()}{about[1:]} Limit {limit:g} s each.\n\n"
    names = [name for name in ("before", "after") if rows and f"status {name}" in rows[0]]
    table = []
    for name in names:
        closed = [row for row in rows if row[f"status {name}"] == "optimal"]
        seconds = np.array([float(row[f"seconds {name}"]) for row in rows])
        nodes = np.array([float(row[f"nodes {name}"]) for row in closed])
        accepted = sum(row[f"verified {name}"].lower() == "true" for row in rows)
        table.append([
            name, share(len(closed), len(rows)), f"{np.median(seconds):.3f}", f"{seconds.sum():.0f}",
            f"{np.median(nodes):g}" if len(nodes) else "", share(accepted, len(rows)),
        ])  # fmt: skip
    text += markdown(
        [
            "version",
            "closed",
            "seconds, median",
            "seconds, all",
            "nodes of closed, median",
            "certificates accepted",
        ],
        table,
    )
    columns = [f"{what} {name}" for name in names for what in ("gap", "nodes", "seconds")]
    open_ones = [row for row in rows if any(row[f"status {name}"] != "optimal" for name in names)]
    if open_ones:
        text += "\n## Open in one of them\n\n"
        body = [[row["instance"], *(f"{float(row[column]):.3g}" for column in columns)] for row in open_ones]
        text += markdown(["instance", *columns], body)
    return text


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sections", nargs="+", choices=SECTIONS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    for section in arguments.sections:
        run(section, arguments.data, arguments.against, arguments.limit, arguments.only)


if __name__ == "__main__":
    main()
