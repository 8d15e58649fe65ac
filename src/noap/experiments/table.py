"""Make flat tables of an experiment: every trial, and every point of a figure. Pure functions of the store."""

import math
from typing import TYPE_CHECKING, Any, Literal

from noap.experiments.formats import frame_of
from noap.experiments.spec import Spec
from noap.experiments.store import Store
from noap.metrics import gap as relative_gap

if TYPE_CHECKING:
    import polars

__all__ = ["BEST", "Objective", "points", "trials"]

# The paper's "best": the vector of the best objective among its three methods.
BEST, _CONTENDERS = "best", ("MIP", "MIP-r", "PPM")
Objective = Literal["population", "sample"]
"""The objective that decides "best": the population's, equation (10), as the caption has it, or that of the samples."""

AVERAGED = (
    "value", "population", "gap", "cosine_strong", "cosine_weak", "cosine", "recovery_strong", "recovery_weak",
    "recovery", "size", "seconds",
)  # fmt: skip


def trials(spec: Spec, store: Store, *, best: Objective = "population") -> "polars.DataFrame":
    """Return one row per finished trial of the experiment, and one per draw and budget for the paper's "best".

    Columns: what was asked (experiment, method, n, seed, budget, ...), what was measured (see docs/scaling.md), and
    two derived ones. `optimum` is the value that the exact method found for the whole problem. `gap` is (bound - lb)/lb
    as in the paper: lb is the best value of all vectors that the methods found within the bound's scope, and it is null
    where the optimum is 0. Where a program found no solution, what would be measured of its vector is null.

    Parameters
    ----------
    spec : Spec
    store : Store
    best : "population" or "sample"
        The objective by which the best of MIP, MIP-r and PPM is chosen: that of equation (10), as the caption of the
        first figure has it, or the robust variance of the samples.

    Returns
    -------
    polars.DataFrame
    """
    stored = store.rows([trial.key for trial in spec.trials()])
    model = {"d": spec.model.d, "k": spec.model.k, "lam": float(spec.model.lam), "k1": spec.model.k1, "c": spec.model.c}
    groups: dict[tuple[int, int, float], list[dict[str, Any]]] = {}
    for trial in spec.trials():
        if trial.key in stored:
            asked: dict[str, Any] = {"experiment": spec.name, "spec": spec.hash, "adversary": trial.adversary}
            asked |= {"method": trial.method.label, "n": trial.n, "seed": trial.seed, "budget": trial.budget}
            row = asked | model | {"time_limit": trial.method.time_limit} | stored[trial.key]
            groups.setdefault((trial.n, trial.seed, trial.budget), []).append(row)
    objective = "population" if best == "population" else "value"
    return frame_of(row for group in groups.values() for row in _compared(group, objective))


def _compared(group: list[dict[str, Any]], objective: str) -> list[dict[str, Any]]:
    """Return the rows of one draw at one budget with `optimum` and `gap`, and the paper's best among them."""
    exact = next((row for row in group if row["method"] == "exact"), None)
    optimum = None if exact is None else exact["value"]
    # Any method's bound of 0 for the whole problem says that the adversary cancels everything.
    cancelled = any(row["bound"] == 0.0 and row["scope"] is None for row in group)
    for row in group:
        row["optimum"] = optimum
        row["gap"] = None if cancelled or row["bound"] is None else _gap(row, group)
    asked = [row for row in group if row["method"] in _CONTENDERS]
    contenders = [row for row in asked if row[objective] is not None]
    if len(asked) < len(_CONTENDERS) or not contenders:
        return group
    nothing = dict.fromkeys(("key", "bound", "gap", "solution", "cycle"))
    best = max(contenders, key=lambda row: row[objective]) | nothing | {"method": BEST}
    if best[objective] == 0.0:
        # Vectors that are all worth nothing have no best among them.
        best |= {name: 0.0 for name in best if name.startswith(("cosine", "recovery")) and best[name] is not None}
        best |= {"value": 0.0, "size": 0, "support": "[]", "loadings": "[]"}
    return [*group, best]


def _gap(row: dict[str, Any], group: list[dict[str, Any]]) -> float | None:
    """Return (bound - lb)/lb, lb from the exact optimum over the same features where it is known."""
    known = [other for other in group if other["value"] is not None]
    same = [other["value"] for other in known if other["scope"] == row["scope"]]
    if row["scope"] is not None:
        # PPM and vanilla see all features; where their support lies in the scope their values count as well.
        inside = set(_indices(row["scope"]))
        same += [o["value"] for o in known if o["scope"] is None and set(_indices(o["support"])) <= inside]
    found = relative_gap(max(same, default=0.0), max(row["bound"], 0.0))
    return found if math.isfinite(found) else None


def _indices(text: str) -> list[int]:
    return [int(part) for part in text.strip("[]").split(",") if part.strip()]


def points(table: "polars.DataFrame") -> "polars.DataFrame":
    """Return one row per method, n and budget: means and standard deviations over the trials.

    Standard deviations divide by (trials - 1). `*_count` is given where a column can be empty.

    Parameters
    ----------
    table : polars.DataFrame
        What :func:`trials` returned.
    """
    import polars as pl

    columns = [pl.len().alias("trials")]
    for name in AVERAGED:
        column = pl.col(name).cast(pl.Float64)
        columns += [column.mean().alias(name), column.std().fill_null(0.0).alias(f"{name}_std")]
    columns += [
        pl.col("gap").count().alias("gap_count"),
        pl.col("gap").cast(pl.Float64).median().alias("gap_median"),
        pl.col("gap").cast(pl.Float64).min().alias("gap_min"),
        pl.col("gap").cast(pl.Float64).max().alias("gap_max"),
        (pl.col("optimum") > 0).sum().alias("positive"),
        pl.col("limit_hit").is_not_null().sum().alias("limited"),
        (pl.col("solution") == "none").sum().alias("no_solution"),
        (pl.col("solution") == "start").sum().alias("kept_start"),
        (pl.col("solution") == "zero").sum().alias("zero_solution"),
    ]
    keys = ["experiment", "method", "n", "budget"]
    return table.group_by(keys, maintain_order=True).agg(columns)
