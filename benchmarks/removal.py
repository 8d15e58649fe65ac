"""Features that no better packing uses: how many one inequality removes, and what pricing takes without them.

Run: python -m benchmarks.removal --data FOLDER [--limit SECONDS]. For the instances of the board of components at once
without noise, with at least 50 features and r = 3, and S&P 500 with r = 4: the inequality for all components is looked
for with the best value of results/boards/joint.csv in hand, and the pricing problem at its prices is proved to 1e-3
with all features and with those that are left. Writes results/removal.csv, one row per instance; times are of the
process, the limit is of the clock.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import noap
from benchmarks import RESULTS
from noap.bench.boards.joint import STOCKS
from noap.bench.instances import real_sets
from noap.joint.together import TogetherSearch
from noap.measuring.environment import heading
from noap.measuring.tables import append_row, markdown, percent, read_table, seconds
from noap.runtime.controls import Controls

_GAP, _PRICED, _LEAST = 1e-4, 1e-3, 50


def measured(name: str, S: np.ndarray, r: int, k: int, value: float, limit: float) -> dict[str, object]:
    problem = noap.Problem.from_covariance(S, n_samples=1, k=k, adversary=noap.NoAdversary())
    target = value * (1.0 + _GAP)
    started = time.process_time()
    search = TogetherSearch(problem, (k,) * r)
    search.run(target, Controls.checked(_GAP, None, None, False), None)
    row: dict[str, object] = {"name": name, "d": len(S), "r": r, "k": k, "cpu_s": time.process_time() - started}
    best = search.best
    removed = np.empty(0, dtype=int) if best is None else best.removable(target)
    closed = best is not None and best.bound <= target
    row |= {"gap": None if best is None else best.bound / value - 1.0, "removed": 0 if closed else len(removed)}
    charged = problem.with_costs(search.prices)
    kept = np.arange(len(S)) if closed else np.delete(np.arange(len(S)), removed)
    for which, one in (("all", charged), ("left", charged.restricted(kept))):
        if row["removed"]:
            noap.solve(one, gap=_PRICED, time_limit=0.1)  # what is loaded once is not counted
            started = time.process_time()
            found = noap.solve(one, gap=_PRICED, time_limit=limit)
            row |= {f"{which}_cpu_s": time.process_time() - started, f"{which}_nodes": found.nodes}
            row[f"{which}_gap"] = found.gap
        else:
            row |= dict.fromkeys((f"{which}_cpu_s", f"{which}_nodes", f"{which}_gap"))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=10.0)
    options = parser.parse_args()
    place = RESULTS / "removal.csv"
    known = {(row["name"], row["r"], row["k"]) for row in read_table(place).to_dicts()} if place.exists() else set()
    matrices = {f"{name} {key or ''}".strip(): S for name, key, S in real_sets(options.data)}
    matrices[STOCKS] = np.load(options.data / "large" / f"{STOCKS}.npz")["corr"]
    for found in read_table(RESULTS / "boards" / "joint.csv").to_dicts():
        name, r, k = found["name"], found["r"], found["k"]
        if found["noise"] == 0 and found["d"] >= _LEAST and r >= 3 and (name, r, k) not in known:
            row = measured(name, matrices[name], r, k, found["value"], options.limit)
            append_row(row, place)
            print(row, flush=True)
    render()


def render() -> None:
    """Write the summary."""
    rows = read_table(RESULTS / "removal.csv").to_dicts()
    columns = [
        "data",
        "d",
        "r",
        "k",
        "gap of the inequality",
        "CPU",
        "removed",
        "pricing, all",
        "left",
        "nodes",
        "left",
    ]

    def cells(row: dict[str, object]) -> list[object]:
        took = [None if row[f"{one}_cpu_s"] is None else seconds(row[f"{one}_cpu_s"]) for one in ("all", "left")]
        shown = [row["name"], row["d"], row["r"], row["k"], percent(row["gap"]), seconds(row["cpu_s"]), row["removed"]]
        return [*shown, *took, row["all_nodes"], row["left_nodes"]]

    text = heading("Features that no better packing uses")
    text += "\nPricing: CPU seconds and nodes to a gap of 1e-3, or 10 seconds by the clock.\n"
    (RESULTS / "removal.md").write_text(f"{text}\n{markdown(columns, map(cells, rows))}", encoding="utf-8")


if __name__ == "__main__":
    main()
