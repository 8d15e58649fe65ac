"""X'X out of core: rows per second and peak memory, beside polars reading alone and NumPy in memory.

Run ``python -m benchmarks.stream``; every job is a process of its own, the jobs take turns, medians are reported.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import RESULTS
from noap.measuring.environment import heading
from noap.measuring.processes import in_fresh_process
from noap.measuring.tables import markdown

PARTS, ROWS, FEATURES, REPEATS = 8, 300_000, 50, 3
GROUPS = (20_000, 100_000)  # rows per row group: what the reader decodes ahead comes in these

JOBS = {
    "noap.data.streams": "from noap.data.streams import summarise\nbegin()\nn = summarise(pattern).n_samples",
    "polars, reading alone": (
        "import polars, glob\nbegin()\nn = sum(polars.read_parquet(path).height for path in sorted(glob.glob(pattern)))"
    ),
    "NumPy, in memory": (
        "import polars, numpy\nX = polars.read_parquet(pattern).to_numpy()\nbegin()\n"
        "Z = X - X.mean(axis=0)\nS = Z.T @ Z\nn = len(X)"
    ),
}
FRAME = """
import time
pattern = sys.argv[1]
def begin():
    global started, before
    started, before = time.perf_counter(), peak_memory()
{job}
print(json.dumps({{"n": n, "seconds": time.perf_counter() - started, "before": before, "peak": peak_memory()}}))
"""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    parts = [heading("X'X out of core")]
    for group in GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            size = write(Path(folder), group)
            found = measure(f"{folder}/*.parquet")
        parts.append(
            f"\n## {PARTS} files of {ROWS} rows x {FEATURES} float64 columns, {size / 2**20:.0f} MB, "
            f"row groups of {group}\n\nMedians of {REPEATS}; peak resident memory of the process, and how much of it "
            "the job added (the data itself for NumPy). Other work shares the machine: compare the ratios.\n"
        )
        ours = found["noap.data.streams"]["seconds"]
        rows = [
            [name, one["n"] / one["seconds"] / 1e6, one["seconds"] / ours, one["peak"], one["peak"] - one["before"]]
            for name, one in found.items()
        ]
        parts.append(markdown(["job", "million rows/s", "time / ours", "peak MB", "added MB"], rows))
    text = "\n".join(parts)
    (RESULTS / "stream.md").write_text(text, encoding="utf-8")
    print(text)


def write(folder: Path, group: int) -> int:
    rng = np.random.default_rng(0)
    names = [f"f{j}" for j in range(FEATURES)]
    for part in range(PARTS):
        frame = pl.DataFrame(rng.standard_normal((ROWS, FEATURES)), schema=names)
        frame.write_parquet(folder / f"part-{part}.parquet", row_group_size=group)
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))


def measure(pattern: str) -> dict[str, dict[str, float]]:
    times: dict[str, list[dict[str, float]]] = {name: [] for name in JOBS}
    for _ in range(REPEATS):
        for name, job in JOBS.items():
            times[name].append(in_fresh_process(FRAME.format(job=job), pattern))
    return {
        name: {key: float(np.median([one[key] for one in runs])) for key in runs[0]} for name, runs in times.items()
    }


if __name__ == "__main__":
    main()
