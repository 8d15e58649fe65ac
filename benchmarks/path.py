"""The path: 50 budgets against 50 cold solves in one run, and lifetimes on the paper's strong/weak model.

Run: python -m benchmarks.path [FOLDER_OF_MATRICES] [--seeds 50]. Communities is skipped, saying so, where the folder
does not hold it. Every path is certified to 1e-4 at every point, or the table says how many points are not.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import noap
from benchmarks import RESULTS
from noap.bench import sources
from noap.measuring.environment import heading
from noap.measuring.tables import markdown
from noap.measuring.timing import side_by_side

_GAP, _POINTS, _REPEATS = 1e-4, 50, 3
# UCI Communities and Crime has so many rows; the benchmark matrix is their correlation.
_COMMUNITIES_SAMPLES = 1994


def breast_cancer() -> Callable[[float], noap.Problem]:
    X = load_breast_cancer().data
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return lambda rho: noap.Problem(Z, k=5, adversary=noap.FeatureWise(rho))


def strong_weak() -> Callable[[float], noap.Problem]:
    X = sources.strong_weak(500, 100, 5, 0)
    return lambda rho: noap.Problem(X, k=5, adversary=noap.FeatureWise(rho))


def communities(folder: Path | None) -> Callable[[float], noap.Problem] | None:
    found = (
        [S for name, key, S in sources.matrices_in(folder) if (name, key) == ("communities", "corr")] if folder else []
    )
    if not found:
        print("skipped: communities needs a folder of matrices")
        return None
    return lambda rho: noap.Problem.from_covariance(
        found[0], n_samples=_COMMUNITIES_SAMPLES, k=5, adversary=noap.FeatureWise(rho)
    )


def against_cold_solves(folder: Path | None) -> str:
    rows: list[list[object]] = []
    sets = {"breast cancer": breast_cancer(), "communities": communities(folder), "strong/weak, n = 500": strong_weak()}
    for name, problem in sets.items():
        if problem is None:
            continue
        base = problem(0.0)
        rhos = np.linspace(0.0, 0.99 * base.column_norms.max(), _POINTS)

        def whole(problem=problem, rhos=rhos) -> noap.Path:
            # A new Problem each time: what it computes once is part of the job.
            return noap.path(problem(0.0), k=5, rhos=rhos, gap=_GAP)

        def cold(problem=problem, rhos=rhos) -> list[noap.Result]:
            return [noap.solve(problem(float(rho)), gap=_GAP) for rho in rhos]

        # In turns, so that a busy machine slows both alike.
        found = side_by_side({"path": whole, "cold": cold}, _REPEATS)
        together, separate = (found[job].row["wall_s"] for job in ("path", "cold"))
        path, apart = found["path"].answer, found["cold"].answer
        proved = sum(result.status is noap.Status.OPTIMAL for result in path.results)
        worst = max(result.gap for result in path.results)
        better = sum(a.value > b.value * (1 + _GAP) for a, b in zip(apart, path.results, strict=True))
        rows.append(
            [
                name, base.n_features, len(path), proved, f"{worst:.1e}", better,
                together, separate, together / separate,
            ]
        )  # fmt: skip
        print(*rows[-1])
    columns = [
        "data", "d", "points", "certified to 1e-4", "largest gap", "cold better by more than the gap", "path, s",
        "cold, s", "ratio",
    ]  # fmt: skip
    return markdown(columns, rows)


def lifetimes(seeds: int) -> str:
    rows: list[list[object]] = []
    for n in (100, 500):
        orders = []
        for seed in range(seeds):
            model = noap.theory.spiked_wishart(n, 100, 5, 3.0, k1=2, c=0.8, random_state=seed)
            path = noap.path(model.X, k=5, gap=_GAP)
            # A feature that is never selected did not live at all.
            lived = np.nan_to_num(path.lifetimes, nan=0.0)
            strong, weak = lived[model.strong], lived[model.weak]
            noise = lived[np.setdiff1d(np.arange(100), model.support)]
            orders.append(
                (
                    strong.min() > weak.max(),
                    strong.mean() > weak.mean(),
                    weak.min() > noise.max(),
                    weak.mean() > noise.mean(),
                    strong.min() > weak.max() and weak.min() > noise.max(),
                    all(result.status is noap.Status.OPTIMAL for result in path.results),
                )
            )
        rows.append([n, seeds, *(f"{100 * share:.0f} %" for share in np.mean(orders, axis=0))])
        print(*rows[-1])
    columns = [
        "n", "seeds", "every strong outlives every weak", "strong outlive weak on average",
        "every weak outlives every noise", "weak outlive noise on average", "full order", "certified at every point",
    ]  # fmt: skip
    return markdown(columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="The path against cold solves, and lifetimes.")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seeds", type=int, default=50)
    asked = parser.parse_args()
    # Warm: the kernels are compiled before anything is timed.
    noap.path(np.random.default_rng(0).standard_normal((20, 4)), k=2, points=3)
    text = "\n".join(
        [
            heading("The path"),
            f"## {_POINTS} budgets from 0 to 0.99 rho_max against as many cold solves, k = 5\n\n"
            f"One run, the two in turns, medians of {_REPEATS}; both certified to {_GAP:g}.\n",
            against_cold_solves(asked.folder),
            "## Lifetimes on the paper's strong/weak model\n\n"
            "d = 100, k = 5, lambda = 3, k1 = 2, c = 0.8; budgets chosen by `noap.path`. A feature that is "
            "never selected has lifetime 0.\n",
            lifetimes(asked.seeds),
        ]
    )
    print(text)
    (RESULTS / "path.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
