"""What every benchmark shares: the header of a results file, and how to time side by side."""

import importlib.metadata
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"


def header(title: str) -> str:
    """Return the lines that say what was measured where."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=no", "--", "src"],
        capture_output=True,
        text=True,
        check=False,
    )
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    names = ("numpy", "scipy", "numba", "pyscipopt", "highspy")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    state = commit.stdout.strip() + (" with uncommitted changes" if changed.stdout.strip() else "")
    return (
        f"# {title}\n\n"
        f"- machine: {cpu}, {os.cpu_count()} cores, {platform.system()}\n"
        f"- versions: Python {platform.python_version()}, {versions}\n"
        f"- commit: {state}\n"
    )


def median_seconds(job: Callable[[], object], repeats: int) -> float:
    """Return the median wall time of `job` after one warm-up."""
    job()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        job()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def table(columns: list[str], rows: list[list[object]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(f"{c:.4g}" if isinstance(c, float) else str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
