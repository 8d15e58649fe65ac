"""Certificates: whether they verify, how large they are, and how long recording and checking take beside solving.

Run: python -m benchmarks.certificate SECTION [...] [--data FOLDER] [--limit SECONDS] [--recording], sections as in
benchmarks.exact. Each writes results/certificate-<section>.csv with one row per instance and a summary to
results/certificate-<section>.md. With --recording every instance is also solved without a certificate, in turns.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

import noap
from benchmarks.common import RESULTS, header, table
from benchmarks.exact import SECTIONS

COLUMNS = [
    "instance", "accepted", "solve_s", "without_s", "make_s", "verify_s", "tree", "bytes", "claimed_gap", "proved_gap",
    "message",
]  # fmt: skip
_REPEATS = 5


def solve_seconds(problem: noap.Problem, gap: float, limit: float, certificate: bool) -> tuple[float, noap.Result]:
    started = time.perf_counter()
    result = noap.solve(problem, gap=gap, time_limit=limit, certificate=certificate)
    return time.perf_counter() - started, result


def measure(label: str, problem: noap.Problem, gap: float, limit: float, recording: bool) -> list[object]:
    seconds, result = solve_seconds(problem, gap, limit, True)
    without = np.nan
    if recording:
        pairs = [
            (solve_seconds(problem, gap, limit, True)[0], solve_seconds(problem, gap, limit, False)[0])
            for _ in range(_REPEATS)
        ]
        seconds, without = (float(np.median(column)) for column in zip(*pairs, strict=True))
    started = time.perf_counter()
    certificate = result.certificate
    if certificate is None:
        return [label, False, seconds, without, 0.0, 0.0, 0, 0, result.gap, np.inf, "no certificate"]
    data = certificate.to_bytes()
    made = time.perf_counter() - started
    # From the bytes alone: what a reader of the file would see.
    report = noap.verify(problem, noap.Certificate.from_bytes(data))
    return [
        label, report.ok, seconds, without, made, report.seconds, certificate.nodes, len(data), result.gap, report.gap,
        report.message,
    ]  # fmt: skip


def run(section: str, folder: Path | None, limit: float, recording: bool) -> None:
    rows = []
    # Warm: all kernels are compiled before anything is timed; the second problem needs cones.
    tiny = np.random.default_rng(10).standard_normal((12, 8))
    for adversary in (noap.FeatureWise(0.5), noap.SampleWise(1.0)):
        warm = noap.Problem(tiny, k=3, adversary=adversary)
        noap.verify(warm, noap.solve(warm).certificate)
    for label, problem, gap in SECTIONS[section](folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", noap.errors.NoapWarning)
            row = measure(label, problem, gap, limit, recording)
        rows.append(row)
        if not row[1]:
            print(label, row[-1], flush=True)
    with (RESULTS / f"certificate-{section}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([[f"{x:.6g}" if isinstance(x, float) else x for x in row] for row in rows])
    text = summary(section, rows, limit, recording)
    (RESULTS / f"certificate-{section}.md").write_text(text, encoding="utf-8")
    print(text)


def summary(section: str, rows: list[list[object]], limit: float, recording: bool) -> str:
    column = {name: np.array([row[i] for row in rows]) for i, name in enumerate(COLUMNS[:-1])}
    solve, verify = column["solve_s"].astype(float), column["verify_s"].astype(float)
    body = [
        ["instances", len(rows)],
        ["accepted", int(column["accepted"].astype(bool).sum())],
        ["tree: median, most nodes", f"{np.median(column['tree']):.0f}, {column['tree'].max()}"],
        ["file: median, most bytes", f"{np.median(column['bytes']):.0f}, {column['bytes'].max()}"],
        ["solve: median, most seconds", f"{np.median(solve):.4f}, {solve.max():.3f}"],
        ["verify: median, most seconds", f"{np.median(verify):.4f}, {verify.max():.3f}"],
        ["verify/solve: median, all together", f"{np.median(verify / solve):.2f}, {verify.sum() / solve.sum():.2f}"],
        ["making the file/solve, all together", f"{column['make_s'].astype(float).sum() / solve.sum():.3f}"],
    ]
    if recording:
        ratio = solve / column["without_s"].astype(float)
        body.append(["solve with/without recording: median", f"{np.median(ratio):.3f}"])
    return f"{header(f'Certificates: {section}')}\nTime limit {limit:g} s.\n\n{table(['what', 'figure'], body)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="+", choices=list(SECTIONS))
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--recording", action="store_true")
    given = parser.parse_args()
    for section in given.sections:
        run(section, given.data, given.limit, given.recording)


if __name__ == "__main__":
    main()
