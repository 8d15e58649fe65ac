"""Every support near the optimum: how many there are, how long the list takes, and what its certificate costs.

Run: python -m benchmarks.near_optimal [--data FOLDER] [--limit SECONDS]. Wine and breast cancer are those of
scikit-learn, standardised; communities, the correlations of a folder of matrices, is skipped, saying so, where that is
not there. Writes results/near_optimal.csv with one row per instance, and a summary beside it; --render writes the
summary alone. Times are of the process, not of the clock, but the limit is of the clock.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_wine

import noap
from benchmarks import RESULTS
from noap.bench.sources import matrices_in
from noap.measuring.environment import heading
from noap.measuring.tables import append_row, markdown, percent, read_table, seconds

# UCI Communities and Crime has so many rows; the matrix is their correlation.
_COMMUNITIES_SAMPLES = 1994
_WITHIN, _KS, _NOISES = (0.01, 0.05), (4, 8), (0.0, 0.3)
_PLACE = RESULTS / "near_optimal.csv"


def problems(folder: Path | None) -> Iterator[tuple[str, float, noap.Problem]]:
    """Yield the name of the data, the noise and the problem."""
    found = [S for name, key, S in matrices_in(folder) if (name, key) == ("communities", "corr")] if folder else []
    if not found:
        print("skipped: communities needs a folder of matrices")
    samples = {"wine": load_wine().data, "breast cancer": load_breast_cancer().data}
    for k in _KS:
        for noise in _NOISES:
            for name, X in samples.items():
                adversary = noap.FeatureWise.with_noise(noise, len(X)) if noise else noap.NoAdversary()
                yield name, noise, noap.Problem(noap.standardise(X), k=k, adversary=adversary)
            for S in found:
                n = _COMMUNITIES_SAMPLES
                adversary = noap.FeatureWise.with_noise(noise, n) if noise else noap.NoAdversary()
                yield (
                    "communities",
                    noise,
                    noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=adversary),
                )


def measured(name: str, noise: float, problem: noap.Problem, within: float, limit: float) -> dict[str, object]:
    started = time.process_time()
    near = noap.near_optimal(problem, within, time_limit=limit)
    listed = time.process_time()
    report = None if near.certificate is None else noap.verify(problem, near.certificate)
    checked = time.process_time()
    return {
        "name": name, "d": problem.n_features, "k": problem.k, "noise": noise, "within": within,
        "supports": len(near), "core": len(near.core), "features": int((near.counts > 0).sum()),
        "complete": near.complete, "value": float(near.values[0]), "cpu_s": listed - started, "nodes": near.nodes,
        "bytes": None if near.certificate is None else len(near.certificate.to_bytes()),
        "verified": report is not None and report.ok, "verify_s": None if report is None else checked - listed,
        "threshold": None if report is None else report.threshold, "gap": None if report is None else report.gap,
    }  # fmt: skip


def run(folder: Path | None, limit: float) -> None:
    _PLACE.unlink(missing_ok=True)
    for within in _WITHIN:
        for name, noise, problem in problems(folder):
            measured(name, noise, problem, within, limit)  # compiles what it needs, and fills the caches
            row = measured(name, noise, problem, within, limit)
            append_row(row, _PLACE)
            print(name, problem.k, noise, within, row["supports"], f"{row['cpu_s']:.3f} s", flush=True)


def render() -> None:
    rows = read_table(_PLACE).to_dicts()
    complete = sum(row["complete"] for row in rows)
    columns = [
        "data", "d", "k", "noise", "within", "supports", "features in any", "in all", "complete", "list, CPU", "nodes",
        "certificate, bytes", "verify, CPU", "verified", "gap of the bound",
    ]  # fmt: skip
    cells = (
        [
            row["name"], row["d"], row["k"], f"{row['noise']:g}", percent(row["within"]), row["supports"],
            row["features"], row["core"], row["complete"], seconds(row["cpu_s"]), row["nodes"], row["bytes"],
            seconds(row["verify_s"]), row["verified"], f"{row['gap']:.1e}",
        ]
        for row in rows
    )  # fmt: skip
    text = heading("Every support near the optimum")
    text += (
        f"\n{complete} of {len(rows)} lists are complete, and "
        f"{sum(row['verified'] for row in rows)} certificates of that are accepted, on a machine that was busy with "
        "other work. Second runs, so that nothing is compiled; CPU is the time of the process. Supports are those no "
        "part of another one. The gap is that between the best value and the bound on the optimum that the checker "
        "proves beside the list.\n"
    )
    (RESULTS / "near_optimal.md").write_text(f"{text}\n{markdown(columns, cells)}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    if not options.render:
        run(options.data, options.limit)
    render()


if __name__ == "__main__":
    main()
