"""Small measurements behind single sentences and tables of the pages, one row per case.

Run: python -m benchmarks.remarks [NAME ...], names as in REMARKS below. Writes results/remarks.csv, row by row, and
remarks.md beside it; a row that is there already is kept. `python -m benchmarks.computed` then writes them into the
pages. Seconds are CPU seconds of one thread; a limit is of the clock, so that a busy machine does less within it.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

import noap
from benchmarks import RESULTS
from noap.bench.sources import modules, strong_weak
from noap.measuring.environment import heading
from noap.measuring.tables import append_row, markdown, read_table

PLACE = RESULTS / "remarks.csv"
Case = tuple[str, Callable[[], "noap.Result | noap.JointResult | list[noap.Result]"]]
DATA = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}


def standardised(name: str) -> np.ndarray:
    X = DATA[name]().data
    return noap.standardise(X[:, X.std(axis=0) > 0])


def noisy(X: np.ndarray, k: int, noise: float) -> noap.Problem:
    adversary = noap.FeatureWise(noise * np.sqrt(len(X))) if noise else noap.NoAdversary()
    return noap.Problem(X, k=k, adversary=adversary)


def finishes() -> Iterator[Case]:
    """Yield what the exact method proves within seconds on data that everybody has."""
    for name, ks, noises in (
        ("wine", range(1, 14), (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
        ("breast cancer", (5, 10, 30), (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
        ("digits", (5,), (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
        ("digits", (10,), (0.3,)),
    ):
        X = standardised(name)
        for k in ks:
            for noise in noises:
                yield f"{name}, k={k}, noise={noise:g}", lambda X=X, k=k, noise=noise: noap.solve(noisy(X, k, noise))


def paths() -> Iterator[Case]:
    """Yield the same over all k."""
    for name, k, noise in (
        ("wine", 13, 0.3), ("digits", 10, 0.3), ("breast cancer", 30, 0.3), ("breast cancer", 30, 0.1),
        ("breast cancer", 30, 0.4), ("digits", 20, 0.1),
    ):  # fmt: skip
        X = standardised(name)
        yield (
            f"{name}, levels=1 to {k}, noise={noise:g}",
            lambda X=X, k=k, noise=noise: list(noap.k_path(noisy(X, k, noise), time_limit=300).results),
        )


def wide() -> Iterator[Case]:
    """Yield problems against samples, with many features."""
    for n, d, k, rho, limit in (
        (500, 500, 5, 2.0, 60), (500, 1000, 5, 2.0, 60), (1000, 500, 5, 2.0, 60), (1000, 1000, 10, 0.5, 60),
        (200, 2000, 5, 2.0, 240), (1000, 1000, 10, 2.0, 120),
    ):  # fmt: skip
        yield (
            f"n={n}, d={d}, k={k}, rho={rho:g}",
            lambda n=n, d=d, k=k, rho=rho, limit=limit: noap.solve(
                noap.Problem(strong_weak(n, d, k, 0), k=k, adversary=noap.SampleWise(rho)), time_limit=limit
            ),
        )


def entries() -> Iterator[Case]:
    """Yield problems against single entries: spiked data, deltas in standard deviations of the noise."""
    for d in (10, 20, 50, 100):
        X = strong_weak(200, d, 5, 0)
        for delta in (0.1, 0.4, 0.8, 1.2):
            yield (
                f"d={d}, delta={delta:g}",
                lambda X=X, delta=delta: noap.solve(
                    noap.Problem(X, k=5, adversary=noap.EntryWise(delta)), time_limit=30
                ),
            )


def unbranched() -> Iterator[Case]:
    """Yield what the relaxation leaves on the points of a path."""
    for name in ("wine", "breast cancer"):
        X = standardised(name)
        for k in (3, 5, 10):
            for noise in (0.0, 0.18, 0.36, 0.54, 0.72, 0.9):
                yield (
                    f"{name}, k={k}, noise={noise:g}",
                    lambda X=X, k=k, noise=noise: noap.solve(noisy(X, k, noise), method="relaxation"),
                )


def together() -> Iterator[Case]:
    """Yield three components at once of many features."""
    for d, limit in ((500, 90), (3000, 90)):
        X = modules(200, d)
        yield (
            f"d={d}, r=3, k=5, noise=0.3",
            lambda X=X, limit=limit: noap.solve_components(noisy(X, 5, 0.3), 3, time_limit=limit),
        )


def terms() -> Iterator[Case]:
    """Yield many features with budgets, and costs, of their own."""
    X, rng = modules(100, 10_000), np.random.default_rng(1)
    d = X.shape[1]
    between, costs = rng.uniform(0.1, 0.5, d), rng.uniform(0.0, 2.0, d)
    unsure = np.where(rng.random(d) < 0.3, np.inf, 0.3)
    for noise, cost, own, own_costs in (
        ("0.3", "none", np.full(d, 0.3), None),
        ("0.3 or infinite", "none", unsure, None),
        ("0.1 to 0.5", "none", between, None),
        ("0.01 to 2", "none", 10.0 ** rng.uniform(-2.0, np.log10(2.0), d), None),
        ("0.1 to 0.5", "0.05", between, np.full(d, 0.05)),
        ("0.3", "0 to 2", np.full(d, 0.3), costs),
        ("0.4 or 0", "none", np.where(rng.random(d) < 1e-3, 0.0, 0.4), None),
    ):
        problem = noap.Problem(X, k=6, adversary=noap.FeatureWise(own * np.sqrt(len(X))), costs=own_costs)
        yield f"noise={noise}, costs={cost}", lambda problem=problem: noap.solve(problem, time_limit=120)


REMARKS = {one.__name__: one for one in (finishes, paths, wide, entries, unbranched, together, terms)}


def main() -> None:
    warnings.simplefilter("ignore")
    done = set()
    if PLACE.exists():
        done = {(row["remark"], row["case"]) for row in read_table(PLACE).to_dicts()}
    tiny = noap.Problem(np.random.default_rng(0).standard_normal((12, 5)), k=3, adversary=noap.FeatureWise(0.5))
    noap.verify(tiny, noap.solve(tiny).certificate)  # compiles
    for name in sys.argv[1:] or REMARKS:
        for case, job in REMARKS[name]():
            if (name, case) in done:
                continue
            started = time.process_time()
            found = job()
            spent = time.process_time() - started
            parts = found if isinstance(found, list) else [found]
            slowest = sorted((getattr(one, "seconds", 0.0) for one in parts), reverse=True)[:3]
            row = {
                "remark": name,
                "case": case,
                "cpu_s": round(spent, 4),
                "gap": max(float(one.gap) for one in parts),
                "proved": all(one.status is noap.Status.OPTIMAL for one in parts),
                "nodes": sum(one.nodes for one in parts),
                "slowest_three": round(sum(slowest) / max(sum(one.seconds for one in parts), 1e-9), 3),
                "verify_s": round(checked(found), 4) if name in ("wide", "terms") else None,
            }
            append_row(row, PLACE)
            print(*row.values(), flush=True)
    rows = read_table(PLACE).rows()
    text = heading("Remarks") + "\nOne row per case behind a sentence or table of the pages; the machine was busy.\n\n"
    text += markdown(list(read_table(PLACE).columns), rows)
    PLACE.with_suffix(".md").write_text(text, encoding="utf-8")


def checked(result: "noap.Result") -> float:
    """Return CPU seconds of the checker."""
    started = time.process_time()
    assert noap.verify(result.problem, result.certificate).ok
    return time.process_time() - started


if __name__ == "__main__":
    main()
