"""Certificates: whether they verify, how large they are, and how long recording and checking take beside solving.

Run: python -m benchmarks.certificate SECTION [...] [--data FOLDER] [--limit SECONDS] [--recording], sections as in
benchmarks.exact. Each writes results/certificate-<section>.csv with one row per instance and a summary to
results/certificate-<section>.md. With --recording every instance is also solved without a certificate, in turns.
"""

import argparse
import math
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import noap
from benchmarks import RESULTS
from benchmarks.exact import SECTIONS
from noap.measuring.environment import heading
from noap.measuring.tables import frame_of, markdown, write_table
from noap.measuring.timing import side_by_side, timed

_REPEATS = 5


def measure(label: str, problem: noap.Problem, gap: float, limit: float, recording: bool) -> dict[str, object]:
    solve = partial(noap.solve, problem, gap=gap, time_limit=limit)
    solving, result = timed(solve)
    without = math.nan
    if recording:
        found = side_by_side({"with": solve, "without": partial(solve, certificate=False)}, _REPEATS)
        solving, without = (found[name].row["wall_s"] for name in ("with", "without"))
    row = {"instance": label, "accepted": False, "solve_s": solving, "without_s": without, "make_s": 0.0}
    row |= {"verify_s": 0.0, "tree": 0, "bytes": 0, "claimed_gap": result.gap, "proved_gap": math.inf}
    certificate = result.certificate
    if certificate is None:
        return row | {"message": "no certificate"}
    making, data = timed(certificate.to_bytes)
    # From the bytes alone: what a reader of the file would see.
    report = noap.verify(problem, noap.Certificate.from_bytes(data))
    return row | {
        "accepted": report.ok,
        "make_s": making,
        "verify_s": report.seconds,
        "tree": certificate.nodes,
        "bytes": len(data),
        "proved_gap": report.gap,
        "message": report.message,
    }


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
        if not row["accepted"]:
            print(label, row["message"], flush=True)
    frame = frame_of(rows)
    write_table(frame, RESULTS / f"certificate-{section}.csv")
    text = summary(section, frame, limit, recording)
    (RESULTS / f"certificate-{section}.md").write_text(text, encoding="utf-8")
    print(text)


def summary(section: str, frame: pl.DataFrame, limit: float, recording: bool) -> str:
    tree, size, solve, verify, make = (
        frame[name].to_numpy() for name in ("tree", "bytes", "solve_s", "verify_s", "make_s")
    )
    body = [
        ["instances", frame.height],
        ["accepted", int(frame["accepted"].sum())],
        ["tree: median, most nodes", f"{np.median(tree):.0f}, {tree.max()}"],
        ["file: median, most bytes", f"{np.median(size):.0f}, {size.max()}"],
        ["solve: median, most seconds", f"{np.median(solve):.4f}, {solve.max():.3f}"],
        ["verify: median, most seconds", f"{np.median(verify):.4f}, {verify.max():.3f}"],
        ["verify/solve: median, all together", f"{np.median(verify / solve):.2f}, {verify.sum() / solve.sum():.2f}"],
        ["making the file/solve, all together", f"{make.sum() / solve.sum():.3f}"],
    ]
    if recording:
        ratio = solve / frame["without_s"].to_numpy()
        body.append(["solve with/without recording: median", f"{np.median(ratio):.3f}"])
    return f"{heading(f'Certificates: {section}')}\nTime limit {limit:g} s.\n\n{markdown(['what', 'figure'], body)}\n"


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
