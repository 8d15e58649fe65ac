"""Against the paper's route in one run: exact on all features, the mixed-integer programs on 15 of them.

Run: python -m benchmarks.route. The paper restricts to 15 features by Algorithm 1; its bound speaks of those alone.
Same instances, one thread for the solvers, one process, one after the other.
"""

import warnings

import numpy as np

import noap
from benchmarks import RESULTS
from noap.bench.sources import strong_weak
from noap.measuring.environment import heading
from noap.measuring.tables import markdown

_LIMIT = 30.0


def time_to(result: noap.Result, bound: float) -> float:
    """Return the seconds after which the exact search had proved at least this bound."""
    reached = [point.seconds for point in result.trace if point.bound <= bound]
    return min(reached) if reached else float("nan")


def bound_at(result: noap.Result, seconds: float) -> float:
    """Return what the exact search had proved after so many seconds."""
    proved = [point.bound for point in result.trace if point.seconds <= seconds]
    return min(proved) if proved else float("inf")


def main() -> None:
    warnings.simplefilter("ignore", noap.errors.NoapWarning)
    X = strong_weak(500, 100, 5, 0)
    # Warm: the kernels are compiled before anything is timed.
    noap.solve(noap.Problem(X[:20, :4], k=2, adversary=noap.FeatureWise(0.5)))
    rows: list[list[object]] = []
    for normalised in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0):
        problem = noap.Problem(X, k=5, adversary=noap.FeatureWise(normalised * np.sqrt(500 / 5)))
        exact = noap.solve(problem, gap=1e-6)
        strong = noap.solve(problem, method="mip", reduced_dim=15, time_limit=_LIMIT)
        printed = noap.solve(problem, method="mip", reduced_dim=15, time_limit=_LIMIT, as_printed=True)
        for name, mip in (("strengthened", strong), ("as printed", printed)):
            assert mip.restricted_bound is not None
            rows.append(
                [
                    normalised, f"{exact.value:.6f}", f"{exact.bound:.6f}", f"{exact.seconds:.3f}", name,
                    f"{mip.restricted_bound:.6f}", f"{mip.seconds:.2f}", f"{time_to(exact, mip.restricted_bound):.3f}",
                    f"{bound_at(exact, mip.seconds):.6f}",
                ]
            )  # fmt: skip
            print(*rows[-1])
    columns = [
        "normalised rho", "value", "exact bound, 100 features", "s", "program on 15 features", "its bound on those",
        "s", "exact reached it after s", "exact's bound by then",
    ]  # fmt: skip
    text = heading("Exact on all features against the paper's route") + (
        f"\nStrong/weak model, n = 500, d = 100, k = 5, lambda = 3, k1 = 2, c = 0.8, seed 0; N = 3, SCIP, one thread, "
        f"at most {_LIMIT:g} s.\n\n" + markdown(columns, rows)
    )
    (RESULTS / "route.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
