"""Sparse discriminants with proofs, beside heuristics that can be installed.

Run: python -m benchmarks.generalised [--limit SECONDS], with the data sets of scikit-learn; writes
results/generalised-lda.csv with one row per instance and method, and a summary beside it. Every method is judged by the
same objective at the same number of features: the robust separation of its vector; `refitted` is the best direction on
the support that it chose.
"""

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

import noap
from benchmarks import RESULTS
from noap.measuring.environment import heading
from noap.measuring.tables import append_row, markdown, percent, read_table, seconds

_GAP, _RIDGE = 1e-4, 1e-3


def worth(A: np.ndarray, B: np.ndarray, v: np.ndarray, noise: float) -> float:
    """Return what the adversary leaves of v: (sqrt(v'Av) - noise |v|_1)_+^2 / v'Bv."""
    left = max(np.sqrt(max(v @ A @ v, 0.0)) - noise * np.abs(v).sum(), 0.0)
    return float(left**2 / (v @ B @ v))


def refitted(A: np.ndarray, B: np.ndarray, support: np.ndarray, noise: float) -> float:
    """Return the best worth on one support, as ascent finds it."""
    both = np.ix_(support, support)
    adversary = noap.FeatureWise(noise) if noise else noap.NoAdversary()
    problem = noap.Problem.from_covariance(A[both], n_samples=1, k=len(support), adversary=adversary, metric=B[both])
    return 0.0 if problem.optimum_is_zero else noap.solve(problem, "ascent").value


def lda(limit: float) -> Iterator[dict[str, object]]:
    """Yield what each method reaches on wine and breast cancer."""
    for name, data in (("wine", load_wine()), ("breast cancer", load_breast_cancer())):
        Z, y = noap.standardise(data.data), data.target
        means = np.array([Z[y == c].mean(axis=0) for c in y])
        A, B = means.T @ means / len(means), noap.metric_from_samples(Z - means, _RIDGE)
        for k in (2, 4, 6):
            for noise in (0.0, 0.1, 0.3):
                adversary = noap.FeatureWise(noise * np.sqrt(len(means))) if noise else noap.NoAdversary()
                problem = noap.Problem(means, k, adversary, metric=B)
                common = {"data": name, "d": len(A), "k": f"{k}", "noise": noise}
                started = time.process_time()
                model = noap.solve(problem, gap=_GAP, time_limit=limit)
                yield {
                    **common, "method": "noap exact", "value": model.value, "refitted": model.value,
                    "bound": model.bound, "cpu_s": time.process_time() - started,
                }  # fmt: skip
                started = time.process_time()
                yield _peer(common, "noap ascent", A, B, noap.solve(problem, "ascent").v, noise, started)
                for method, choose in (("dense, cut to k", _cut), ("one by one", _forward)):
                    started = time.process_time()
                    yield _peer(common, method, A, B, choose(A, B, k), noise, started)


def _cut(A: np.ndarray, B: np.ndarray, k: int) -> np.ndarray:
    """Return the leading dense discriminant with all but its k largest weights set to 0."""
    v = np.linalg.eig(np.linalg.solve(B, A))[1].real
    v = max(v.T, key=lambda one: one @ A @ one / (one @ B @ one))
    v[np.argsort(-np.abs(v))[k:]] = 0.0
    return v


def _forward(A: np.ndarray, B: np.ndarray, k: int) -> np.ndarray:
    """Return the leading discriminant of features that are chosen one by one, blind to the adversary."""
    chosen: list[int] = []
    for _ in range(k):
        rest = [j for j in range(len(A)) if j not in chosen]
        chosen.append(max(rest, key=lambda j: _leading(A, B, [*chosen, j])[0]))
    v = np.zeros(len(A))
    v[chosen] = _leading(A, B, chosen)[1]
    return v


def _leading(A: np.ndarray, B: np.ndarray, support: list[int]) -> tuple[float, np.ndarray]:
    both = np.ix_(support, support)
    L = np.linalg.cholesky(B[both])
    values, vectors = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, A[both]).T))
    return float(values[-1]), np.linalg.solve(L.T, vectors[:, -1])


def _peer(
    common: dict[str, object], method: str, A: np.ndarray, B: np.ndarray, v: np.ndarray, noise: float, started: float
) -> dict[str, object]:
    taken = time.process_time() - started
    return {
        **common, "method": method, "value": worth(A, B, v, noise),
        "refitted": refitted(A, B, np.flatnonzero(v), noise), "bound": None, "cpu_s": taken,
    }  # fmt: skip


def render() -> None:
    rows = read_table(RESULTS / "generalised-lda.csv").to_dicts()
    exact = {(r["data"], r["k"], r["noise"]): r for r in rows if r["method"] == "noap exact"}

    def cells(row: dict[str, object]) -> list[object]:
        best = exact[row["data"], row["k"], row["noise"]]["value"]
        gap = None if row["bound"] is None else percent((row["bound"] - row["value"]) / row["value"])
        return [
            row["data"], row["d"], row["k"], row["noise"], row["method"], row["value"],
            percent(max(1.0 - row["value"] / best, 0.0)), percent(max(1.0 - row["refitted"] / best, 0.0)), gap,
            seconds(row["cpu_s"]),
        ]  # fmt: skip

    proved = sum((r["bound"] - r["value"]) <= _GAP * 1.000001 * r["value"] for r in exact.values())
    text = heading("With a metric: lda")
    text += (
        f"\n{proved} of {len(exact)} proved to {_GAP:g}. Value is the separation of a method's own vector at that "
        "noise; loses is what of the best is lost, and so it is after refitting on the support that was chosen. Times "
        "are of the process, on a machine that was busy with other work.\n"
    )
    columns = ["data", "d", "k", "noise", "method", "value", "loses", "refitted loses", "proved gap", "CPU"]
    place = RESULTS / "generalised-lda.md"
    place.write_text(f"{text}\n{markdown(columns, map(cells, rows))}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.render:
        place = RESULTS / "generalised-lda.csv"
        place.unlink(missing_ok=True)
        for row in lda(options.limit):
            append_row(row, place)
            print(row["data"], row["k"], row["noise"], row["method"], f"{row['value']:.5g}", flush=True)
    render()


if __name__ == "__main__":
    main()
