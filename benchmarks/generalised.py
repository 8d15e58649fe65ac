"""Sparse discriminants and canonical correlation with proofs, beside heuristics that can be installed.

Run: python -m benchmarks.generalised [lda] [cca] [--limit SECONDS], with the data sets of scikit-learn. Each section
writes results/generalised-<section>.csv with one row per instance and method, and a summary beside it. Every method is
judged by the same objective at the same number of features: the robust separation, or the robust correlation, of its
vector; `refitted` is the best direction on the support that it chose. PMD and span CCA are those of cca-zoo, if that is
installed; PMD's bounds on l1 norms are the largest, by halving, that leave so few features.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_linnerud, load_wine

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
        for k in (2, 4, 6):
            for noise in (0.0, 0.1, 0.3):
                started = time.process_time()
                model = noap.RobustSparseLDA(1, k, noise, ridge=_RIDGE, time_limit=limit).fit(data.data, data.target)
                taken = time.process_time() - started
                problem = model.results_[0].problem
                A, B = problem.covariance, model.within_
                common = {"data": name, "d": len(A), "k": f"{k}", "noise": noise}
                yield {
                    **common, "method": "noap exact", "value": model.separation_[0], "refitted": model.separation_[0],
                    "bound": model.bound_[0], "cpu_s": taken,
                }  # fmt: skip
                started = time.process_time()
                fast = noap.RobustSparseLDA(1, k, noise, ridge=_RIDGE, method="ascent").fit(data.data, data.target)
                yield _peer(common, "noap ascent", A, B, fast.components_[0], noise, started)
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


def views() -> Iterator[tuple[str, np.ndarray, np.ndarray, tuple[tuple[int, int], ...]]]:
    """Yield two views of the same samples, and numbers of features."""
    linnerud, images = load_linnerud(), load_digits().images
    yield "linnerud", linnerud.data, linnerud.target, ((1, 1), (2, 2))
    halves = [half.reshape(len(images), -1) for half in (images[:, :4], images[:, 4:])]
    upper, lower = (half[:, half.std(axis=0) > 0] for half in halves)
    yield "digits, upper and lower", upper, lower, ((2, 2), (3, 3), (5, 5))


def cca(limit: float) -> Iterator[dict[str, object]]:
    """Yield what each method reaches on two views; values are one plus the robust correlation, less one."""
    for name, X, Y, sizes in views():
        Zx, Zy = noap.standardise(X), noap.standardise(Y)
        dx, dy, n = Zx.shape[1], Zy.shape[1], len(Zx)
        A = np.hstack([Zx, Zy]).T @ np.hstack([Zx, Zy]) / n
        A[np.diag_indices_from(A)] += _RIDGE
        B = A.copy()
        B[:dx, dx:] = B[dx:, :dx] = 0.0
        for kx, ky in sizes:
            for noise in (0.0, 0.05):
                common = {"data": name, "d": dx + dy, "k": f"{kx} + {ky}", "noise": noise}
                started = time.process_time()
                model = noap.RobustSparseCCA(1, kx, ky, noise, ridge=_RIDGE, time_limit=limit).fit(X, Y)
                taken = time.process_time() - started
                value = model.robust_correlation_[0]
                yield {
                    **common, "method": "noap exact", "value": value, "refitted": value, "bound": model.bound_[0],
                    "cpu_s": taken,
                }  # fmt: skip
                started = time.process_time()
                fast = noap.RobustSparseCCA(1, kx, ky, noise, ridge=_RIDGE, method="ascent").fit(X, Y)
                taken, value = time.process_time() - started, fast.robust_correlation_[0]
                yield {
                    **common, "method": "noap ascent", "value": value, "refitted": value, "bound": None, "cpu_s": taken,
                }  # fmt: skip
                for method, fit in _installed():
                    started = time.process_time()
                    v = _balanced(fit([Zx, Zy], kx, ky), B, dx)
                    row = _peer(common, method, A, B, v, noise, started)
                    yield {**row, "value": row["value"] - 1.0, "refitted": row["refitted"] - 1.0}


def _balanced(halves: list[np.ndarray], B: np.ndarray, dx: int) -> np.ndarray:
    """Return both halves side by side, each of variance one half."""
    parts = zip(halves, (B[:dx, :dx], B[dx:, dx:]), strict=True)
    return np.concatenate([half / np.sqrt(2.0 * half @ block @ half) for half, block in parts])


def _installed() -> list[tuple[str, Callable[[list[np.ndarray], int, int], list[np.ndarray]]]]:
    try:
        from cca_zoo.sparse import PMDCCA, SpanCCA
    except ImportError:
        return []

    def span(parts: list[np.ndarray], kx: int, ky: int) -> list[np.ndarray]:
        return [w[:, 0] for w in SpanCCA(span=[kx, ky], random_state=0).fit(parts).weights_]

    def pmd(parts: list[np.ndarray], kx: int, ky: int) -> list[np.ndarray]:
        low, high = [1.0 / np.sqrt(part.shape[1]) for part in parts], [1.0, 1.0]
        best = None
        for _ in range(12):
            middle = [0.5 * (a + b) for a, b in zip(low, high, strict=True)]
            weights = [w[:, 0] for w in PMDCCA(l1_bound=middle, random_state=0).fit(parts).weights_]
            few = [np.count_nonzero(w) <= k for w, k in zip(weights, (kx, ky), strict=True)]
            best = weights if all(few) else best
            low = [m if ok else a for m, a, ok in zip(middle, low, few, strict=True)]
            high = [b if ok else m for m, b, ok in zip(middle, high, few, strict=True)]
        if best is None:
            best = [w[:, 0] for w in PMDCCA(l1_bound=low, random_state=0).fit(parts).weights_]
        # Ties may leave one feature too many: the largest stay.
        for w, k in zip(best, (kx, ky), strict=True):
            w[np.argsort(-np.abs(w))[k:]] = 0.0
        return best

    return [("cca-zoo span", span), ("cca-zoo PMD", pmd)]


SECTIONS = {"lda": lda, "cca": cca}


def render(section: str) -> None:
    rows = read_table(RESULTS / f"generalised-{section}.csv").to_dicts()
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
    what = "separation" if section == "lda" else "robust correlation"
    text = heading(f"With a metric: {section}")
    text += (
        f"\n{proved} of {len(exact)} proved to {_GAP:g}. Value is the {what} of a method's own vector at that noise; "
        "loses is what of the best is lost, and so it is after refitting on the support that was chosen. Times are of "
        "the process, on a machine that was busy with other work.\n"
    )
    columns = ["data", "d", "k", "noise", "method", "value", "loses", "refitted loses", "proved gap", "CPU"]
    place = RESULTS / f"generalised-{section}.md"
    place.write_text(f"{text}\n{markdown(columns, map(cells, rows))}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for section in options.sections or SECTIONS:
        if not options.render:
            place = RESULTS / f"generalised-{section}.csv"
            place.unlink(missing_ok=True)
            for row in SECTIONS[section](options.limit):
                append_row(row, place)
                print(row["data"], row["k"], row["noise"], row["method"], f"{row['value']:.5g}", flush=True)
        render(section)


if __name__ == "__main__":
    main()
