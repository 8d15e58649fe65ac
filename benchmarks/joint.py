"""Several components at once, beside one after the other: values, bounds, gaps and times of every instance that ran.

Run: python -m benchmarks.joint SECTION [...] --data FOLDER [--limit SECONDS] [--only NAME ...], sections "vanilla"
(every matrix of at most 128 features, r = 2 and 3, k = 5 and 10), "robust" (the same as correlations, under
feature-wise noise of 0.3) and "snp500" (r = 4, as shares of the trace). Each writes results/joint-<section>.csv with
one row per instance, and a summary beside it; --render writes the summary alone. A row that is there already is kept,
so that a run can go on where it was stopped. Times are of the process, not of the clock, but the limit is of the clock.

Removed are features that no better packing uses.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import noap
from benchmarks import RESULTS
from noap.bench.components import GAP, PUBLISHED, measured
from noap.bench.instances import correlations
from noap.bench.sources import matrices_in
from noap.measuring.environment import heading
from noap.measuring.tables import append_row, markdown, percent, read_table, seconds

Instance = tuple[str, np.ndarray, int, int, float]  # label, covariance, r, k, noise
_LARGEST, _NOISE = 128, 0.3


def vanilla(folder: Path) -> Iterator[Instance]:
    """Yield every matrix of the folder that is small enough, without an adversary."""
    for k in (5, 10):
        for name, key, S in matrices_in(folder):
            for r in (2, 3):
                if k <= len(S) <= _LARGEST:
                    yield f"{name}{'' if key is None else ' ' + key}", S, r, k, 0.0


def robust(folder: Path) -> Iterator[Instance]:
    """Yield their correlations, every feature with noise of a share of its standard deviation."""
    seen = set()
    for name, S, r, k, _ in vanilla(folder):
        if (name.split()[0], r, k) not in seen:
            seen.add((name.split()[0], r, k))
            yield name.split()[0], correlations(S), r, k, _NOISE


def snp500(folder: Path) -> Iterator[Instance]:
    """Yield the second moments of the returns of 423 stocks."""
    place = folder / "large" / "snp500.npz"
    if not place.exists():
        print(f"skipped: {place} is not there")
        return
    for k in PUBLISHED:
        yield "snp500", np.load(place)["corr"], 4, k, 0.0


SECTIONS = {"vanilla": vanilla, "robust": robust, "snp500": snp500}


def run(section: str, folder: Path, limit: float, only: list[str]) -> None:
    place = RESULTS / f"joint-{section}.csv"
    known = {(row["name"], row["r"], row["k"]) for row in read_table(place).to_dicts()} if place.exists() else set()
    for instance in SECTIONS[section](folder):
        name, _, r, k, _ = instance
        if (name, r, k) in known or (only and name.split()[0] not in only):
            continue
        row = measured(*instance, limit)
        append_row(row, place)
        print(name, r, k, f"gap {row['gap']:.1e}", f"{row['cpu_s']:.1f} s", flush=True)


def render(section: str) -> None:
    rows = read_table(RESULTS / f"joint-{section}.csv").to_dicts()
    proved = sum(row["status"] == "optimal" for row in rows)
    columns = [
        "data", "d", "r", "k", "value", "gap", "one by one loses", "CPU", "clock", "supports", "proofs", "nodes",
        "tree", "removed", "verified",
    ]  # fmt: skip
    shares = section == "snp500"
    columns += ["share of the trace", "bound", "one by one", "msPCA", "nsprcomp"] if shares else []

    def cells(row: dict[str, object]) -> list[object]:
        shown = [
            row["name"], row["d"], row["r"], row["k"], row["value"], percent(row["gap"]),
            percent(max(1.0 - row["one_by_one"] / row["value"], 0.0)), seconds(row["cpu_s"]),
            seconds(row["wall_s"]), row["columns"], row["pricings"], row["nodes"], row["branches"],
            row.get("removed"), row["verified"],
        ]  # fmt: skip
        if shares:
            shown += [f"{row[name] / row['trace']:.4f}" for name in ("value", "bound", "one_by_one")]
            shown += [f"{one:.4f}" for one in PUBLISHED[row["k"]]]
        return shown

    text = heading(f"Several components at once: {section}")
    text += (
        f"\n{proved} of {len(rows)} proved to {GAP:g} on a machine that was busy with other work (two cores, a load "
        "of 5 to 10). CPU is the time of the process; clock is what the limit counts, and what is not proved ended "
        "there. One by one: each component from the features that those before leave, each solved by the exact method. "
        "Tree: nodes of the tree over owners of features, 1 where the linear relaxation is enough. Removed: features "
        "that no better packing uses.\n"
    )
    if shares:
        text += "The published shares are those of orthogonal rather than disjoint components.\n"
    (RESULTS / f"joint-{section}.md").write_text(f"{text}\n{markdown(columns, map(cells, rows))}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="+", choices=SECTIONS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", noap.errors.NoapWarning)
    for section in options.sections:
        if not options.render:
            run(section, options.data, options.limit, options.only)
        render(section)


if __name__ == "__main__":
    main()
