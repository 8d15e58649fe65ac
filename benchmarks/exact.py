"""The exact method: every instance with its gap, nodes and seconds; none omitted.

Run: python -m benchmarks.exact SECTION [...] [--data FOLDER] [--limit SECONDS], sections as in SECTIONS below. Each
section writes results/exact-<section>.csv with one row per instance and a summary to results/exact-<section>.md.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import noap
from benchmarks import RESULTS
from noap.bench.sources import matrices_in, strong_weak
from noap.measuring.environment import heading
from noap.measuring.tables import append_row, markdown, share
from noap.measuring.timing import timed

Instance = tuple[str, noap.Problem, float]  # label, problem, gap asked for


def feature_wise(X: np.ndarray, k: int, normalised: float) -> noap.Problem:
    return noap.Problem(X, k=k, adversary=noap.FeatureWise(normalised * np.sqrt(len(X) / k)))


def grid(_: Path | None) -> Iterator[Instance]:
    """Yield the paper's grid at full d = 100, at 1e-4 and 1e-6."""
    for gap in (1e-4, 1e-6):
        for n in (100, 500):
            for seed in range(10):
                X = strong_weak(n, 100, 5, seed)
                for normalised in np.arange(0, 4.6, 0.5):
                    yield f"n={n} seed={seed} rho-bar={normalised:g} gap={gap:g}", feature_wise(X, 5, normalised), gap


def variants(_: Path | None) -> Iterator[Instance]:
    """Yield general truth, k = 10, and the hard range of rho."""
    for n in (100, 500):
        for seed in range(5):
            general = noap.theory.spiked_wishart(n, 100, 5, 3.0, random_state=seed).X
            ten = strong_weak(n, 100, 10, seed)
            for normalised in np.arange(0, 4.1, 0.5):
                yield f"general n={n} seed={seed} rho-bar={normalised:g}", feature_wise(general, 5, normalised), 1e-4
                yield f"k=10 n={n} seed={seed} rho-bar={normalised:g}", feature_wise(ten, 10, normalised), 1e-4
            X = strong_weak(n, 100, 5, seed)
            for normalised in np.arange(1.25, 2.51, 0.125):
                yield f"fine n={n} seed={seed} rho-bar={normalised:g}", feature_wise(X, 5, normalised), 1e-4


def vanilla(folder: Path | None) -> Iterator[Instance]:
    """Yield the classic matrices at rho = 0, to 1e-6."""
    for name, key, S in matrices_in(folder) if folder else ():
        for k in (5, 10, 20, 30, 50):
            if k < len(S) and (k <= 10 or len(S) >= 50):
                problem = noap.Problem.from_covariance(S, n_samples=1, k=k, adversary=noap.NoAdversary())
                yield f"{name} {key or ''} d={len(S)} k={k}", problem, 1e-6


def robust(folder: Path | None) -> Iterator[Instance]:
    """Yield standardised real data under feature-wise noise."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    sets = {name: load().data for name, load in (("wine", load_wine), ("breast cancer", load_breast_cancer))}
    digits = load_digits().data
    sets["digits"] = digits[:, digits.std(axis=0) > 0]
    matrices = {name: np.corrcoef(data.T) for name, data in sets.items()}
    for name, key, S in matrices_in(folder) if folder else ():
        if (name, key) in (("ionosphere", "corr"), ("communities", "corr"), ("arrhythmia", "corr"), ("colon", None)):
            spread = np.sqrt(np.diag(S))
            matrices[name] = S / np.outer(spread, spread)
    for name, S in matrices.items():
        for k in (5, 10):
            for noise in (0.05, 0.1, 0.2, 0.4, 0.6):
                problem = noap.Problem.from_covariance(S, n_samples=1, k=k, adversary=noap.FeatureWise(noise))
                yield f"{name} d={len(S)} k={k} noise={noise:g}", problem, 1e-4


def large(_: Path | None) -> Iterator[Instance]:
    """Yield the strong/weak model at n = d = 1000, then d = 2000 and 5000."""
    X = strong_weak(1000, 1000, 10, 0)
    for normalised in (0, 0.5, 1, 2):
        yield f"n=1000 d=1000 k=10 rho-bar={normalised:g}", feature_wise(X, 10, normalised), 1e-4
    for d in (2000, 5000):
        for k in (10, 20):
            X = strong_weak(1000, d, k, 0)
            for normalised in (0, 0.5, 1, 2):
                yield f"n=1000 d={d} k={k} rho-bar={normalised:g}", feature_wise(X, k, normalised), 1e-4


def growth(_: Path | None) -> Iterator[Instance]:
    """Yield growth with d, k and n, one at a time around n = 500, d = 200, k = 5, normalised rho 1."""
    for d in (100, 200, 500, 1000, 2000):
        yield f"d={d}", feature_wise(strong_weak(500, d, 5, 0), 5, 1.0), 1e-4
    for k in (3, 5, 8, 12):
        yield f"k={k}", feature_wise(strong_weak(500, 200, k, 0), k, 1.0), 1e-4
    for n in (50, 100, 200, 500, 2000, 10000):
        yield f"n={n}", feature_wise(strong_weak(n, 200, 5, 0), 5, 1.0), 1e-4


def hard(_: Path | None) -> Iterator[Instance]:
    """Yield the kinds that resist: pure noise, a weak spike, near-tied blocks."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((500, 100))
    yield "pure noise n=500 d=100 k=5 rho-bar=0.25", feature_wise(noise, 5, 0.25), 1e-4
    yield "pure noise n=500 d=100 k=5 rho-bar=0", feature_wise(noise, 5, 0.0), 1e-4
    yield "lambda=1 n=d=500 k=10 rho-bar=1", feature_wise(strong_weak(500, 500, 10, 0, lam=1.0), 10, 1.0), 1e-4
    blocks = np.kron(np.eye(10), np.full((10, 10), 0.5)) + 0.5 * np.eye(100)
    X = rng.standard_normal((500, 100)) @ np.linalg.cholesky(blocks).T
    rho = 0.5 * float(np.median(np.linalg.norm(X, axis=0)))
    yield "ten equal blocks k=10 rho=0.5 median", noap.Problem(X, k=10, adversary=noap.FeatureWise(rho)), 1e-4


def sample_wise(_: Path | None) -> Iterator[Instance]:
    """Yield the sample-wise adversary at d = 100, k = 5, then k = 10 and larger d."""
    for n in (100, 500):
        for seed in range(10):
            X = strong_weak(n, 100, 5, seed)
            for rho in (0.1, 0.25, 0.5, 1, 1.5, 2, 3):
                yield f"n={n} seed={seed} rho={rho:g}", noap.Problem(X, k=5, adversary=noap.SampleWise(rho)), 1e-4
    for n, d, k in ((500, 100, 10), (500, 500, 5), (500, 1000, 5)):
        X = strong_weak(n, d, k, 0)
        for rho in (0.1, 0.5, 1, 2):
            yield f"n={n} d={d} k={k} rho={rho:g}", noap.Problem(X, k=k, adversary=noap.SampleWise(rho)), 1e-4


SECTIONS = {
    f.__name__: f for f in (grid, variants, vanilla, robust, large, growth, hard, sample_wise)
}  # section -> its instances


def run(section: str, folder: Path | None, limit: float) -> None:
    warnings.simplefilter("ignore", noap.errors.NoapWarning)
    # Warm: the kernels are compiled before anything is timed.
    tiny = np.random.default_rng(0).standard_normal((8, 4))
    for adversary in (noap.FeatureWise(0.5), noap.SampleWise(0.5)):
        noap.solve(noap.Problem(tiny, k=2, adversary=adversary))
    place = RESULTS / f"exact-{section}.csv"
    place.unlink(missing_ok=True)
    total, rows = timed(lambda: [measure(*instance, limit, place) for instance in SECTIONS[section](folder)])
    (RESULTS / f"exact-{section}.md").write_text(summary(section, rows, total, limit), encoding="utf-8")


def measure(label: str, problem: noap.Problem, gap: float, limit: float, place: Path) -> dict[str, object]:
    result = noap.solve(problem, gap=gap, time_limit=limit)
    row = {
        "instance": label,
        "status": result.status.value,
        "value": result.value,
        "bound": result.bound,
        "gap": result.gap,
        "nodes": result.nodes,
        "seconds": result.seconds,
        "gap at 1 s": gap_at(result, 1),
        "gap at 10 s": gap_at(result, 10),
        "limit": result.limit.value if result.limit else None,
    }
    append_row(row, place)
    print(*row.values(), flush=True)
    return row


def gap_at(result: noap.Result, seconds: float) -> float:
    """Return the gap that was proved after so many seconds, against the final value."""
    bounds = [point.bound for point in result.trace if point.seconds <= seconds]
    return noap.metrics.gap(result.value, min(bounds)) if bounds else float("inf")


def summary(section: str, rows: list[dict[str, object]], total: float, limit: float) -> str:
    seconds = np.array([row["seconds"] for row in rows]) if rows else np.zeros(1)
    nodes = np.array([row["nodes"] for row in rows]) if rows else np.zeros(1)
    slow = [row for row in rows if row["status"] != "optimal"]
    worst = sorted(rows, key=lambda row: -row["seconds"])[:8]
    about = str(SECTIONS[section].__doc__).removeprefix("Yield ")
    text = heading(f"Exact: {section}") + (
        f"\n{about[0].upper()}{about[1:]}\n\n{share(len(rows) - len(slow), len(rows))} optimal at the asked gap; limit "
        f"{limit:g} s each. Seconds: median {np.median(seconds):.3f}, most {seconds.max():.2f}, {total:.1f} in all. "
        f"Nodes: median {np.median(nodes):g}, most {nodes.max():g}. Every instance: exact-{section}.csv.\n\n"
    )
    if slow:
        text += "## Not closed\n\n" + shown(slow) + "\n"
    return text + ("## All\n\n" + shown(rows) if len(rows) <= 120 else "## Slowest\n\n" + shown(worst))


def shown(rows: list[dict[str, object]]) -> str:
    # Values and bounds differ in their last digits: four would hide it.
    exactly = {"value": ".8g", "bound": ".8g"}
    body = [[format(entry, exactly[name]) if name in exactly else entry for name, entry in row.items()] for row in rows]
    return markdown(list(rows[0]) if rows else ["instance"], body)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sections", nargs="+", choices=SECTIONS)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limit", type=float, default=60.0)
    arguments = parser.parse_args()
    for section in arguments.sections:
        run(section, arguments.data, arguments.limit)


if __name__ == "__main__":
    main()
