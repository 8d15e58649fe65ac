"""The paper's mixed-integer programs: as printed, corrected, strengthened, on every solver there is."""

import math
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.sources import strong_weak
from noap.errors import BackendNotAvailable, NoapWarning
from noap.linalg.types import FloatArray, IntArray
from noap.measuring.tables import markdown, percent, seconds
from noap.mip import Cuts, list_backends

__all__ = ["PROGRAMS"]

_N, _D, _K, _REDUCED = 500, 100, 5, 15
EXACT = "noap exact"
# Corrected: the length of v is imposed, which the printed reduced program lacks; nothing else is added.
_FORMS: dict[str, dict[str, Any]] = {
    "as printed": {"as_printed": True},
    "corrected": {"cuts": Cuts(**(dict.fromkeys(Cuts.names(), False) | {"l1": True, "norm_pieces": True}))},
    "strengthened": {},
}


def _run(setting: Setting) -> Iterator[BoardRow]:
    X = strong_weak(_N, _D, _K, 0)
    backends = [info.name for info in list_backends(licences=True) if info.installed and info.licence != "none"]
    for budget in setting.spec.program_budgets:
        yield from setting.once((budget,), partial(_budget, setting, X, backends, budget))


def _budget(setting: Setting, X: FloatArray, backends: list[str], budget: float) -> Iterator[BoardRow]:
    whole = noap.Problem(X, k=_K, adversary=noap.FeatureWise(budget * math.sqrt(_N / _K)))
    chosen: IntArray = noap.screen_submatrix(whole.covariance, _K, _REDUCED)
    problem = whole.restricted(chosen)
    noap.solve(problem)  # compiles
    exact = noap.solve(problem, gap=1e-6, time_limit=setting.spec.exact_seconds)
    yield _row("-", EXACT, EXACT, budget, exact, exact.value)
    for method in ("mip", "mip-r"):
        for form, options in _FORMS.items():
            for backend in backends:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", NoapWarning)  # v = 0 of the printed reduced program
                    try:
                        result = noap.solve(
                            problem, method, time_limit=setting.spec.program_seconds, backend=backend, **options
                        )
                    except BackendNotAvailable as error:
                        setting.skipped.append(str(error))
                        continue
                setting.say(f"{method} {form} {backend} rho-bar {budget:g}: {seconds(result.seconds)}")
                yield _row(method, form, backend, budget, result, exact.value)


def _row(method: str, form: str, backend: str, budget: float, result: noap.Result, optimum: float) -> BoardRow:
    return {
        "program": method,
        "form": form,
        "solver": backend,
        "budget": budget,
        "optimum": optimum,
        "bound": result.bound,
        "total_gap": result.bound / optimum - 1.0,
        "solver_gap": result.solver_gap,
        "seconds": result.seconds,
        "nodes": result.nodes,
        "finished": result.limit is None,
    }


def _show(frame: pl.DataFrame) -> str:
    text = (
        f"Strong/weak model, n = {_N}, d = {_D}, k = {_K}, cut to {_REDUCED} features by the paper's Algorithm 1, N = "
        "3 pieces, r = 3, one thread. The gap is that of the bound against the certified optimum on the same features: "
        "what the solver left open and what the formulation cannot see, together. *Corrected* imposes the length of v "
        "and nothing else; *strengthened* adds every valid row.\n\n"
    )
    body = []
    exact = {row["budget"]: row for row in frame.filter(pl.col("form") == EXACT).iter_rows(named=True)}
    for row in frame.filter(pl.col("form") != EXACT).iter_rows(named=True):
        body.append([
            row["program"], row["form"], row["solver"], f"{row['budget']:g}", f"{row['bound']:.4f}",
            percent(max(row["total_gap"], 0.0)), seconds(row["seconds"]) + ("" if row["finished"] else " (limit)"),
            row["nodes"], seconds(exact[row["budget"]]["seconds"]),
        ])  # fmt: skip
    return text + markdown(
        [
            "program",
            "form",
            "solver",
            "rho-bar",
            "bound",
            "gap to the optimum",
            "time",
            "nodes",
            f"{EXACT}, same features",
        ],
        body,
    )


def _beaten(frame: pl.DataFrame) -> list[str]:
    exact = frame.filter(pl.col("form") == EXACT)
    rows = frame.filter(pl.col("form") != EXACT).join(exact, on="budget", suffix="_ours")
    tight = rows.filter((pl.col("total_gap") <= 1e-4) & (pl.col("seconds") < pl.col("seconds_ours")))
    return [
        f"time to bound: {r['solver']} on the {r['form']} {r['program']} is faster than {EXACT} at rho-bar "
        f"{r['budget']:g}."
        for r in tight.iter_rows(named=True)
    ]


PROGRAMS = Board("programs", "The paper's programs: formulations and solvers", _run, _show, _beaten)
