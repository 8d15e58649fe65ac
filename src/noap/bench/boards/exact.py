"""Proofs at rho = 0: time to a proved optimum, and the gap where the time ran out."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.boards.heuristics import vanilla
from noap.bench.general import general_solvers
from noap.bench.published import SOURCE, published_runs
from noap.bench.scoring import TOLERANCE
from noap.bench.sources import Matrix
from noap.measuring.tables import markdown, percent, seconds, share
from noap.metrics import gap as relative_gap
from noap.problem import Problem
from noap.result import Result

__all__ = ["EXACT"]

OURS = "noap exact"
_GAP = 1e-4  # what the general solvers are asked for: noap's default, and coarser than ours here
_MARKS = (1.0, 10.0, 60.0)


def _run(setting: Setting) -> Iterator[BoardRow]:
    noap.solve(vanilla(setting.matrices[0], 2))  # compiles
    for matrix in setting.matrices:
        for k in setting.spec.ks:
            if k < matrix.d:
                yield from setting.once((matrix.name, k), partial(_pair, setting, matrix, k))
    yield from _published(setting)


def _pair(setting: Setting, matrix: Matrix, k: int) -> Iterator[BoardRow]:
    problem = vanilla(matrix, k)
    result = noap.solve(problem, gap=TOLERANCE, time_limit=setting.spec.exact_seconds)
    setting.say(f"{matrix.name} k={k}: {result.status.value} in {seconds(result.seconds)}")
    yield _row(matrix, k, OURS, result.value, result.bound, result.seconds, result.nodes, result)
    if matrix.d <= setting.spec.solver_features and k in setting.spec.solver_ks:
        yield from _solvers(setting, matrix, problem)


def _solvers(setting: Setting, matrix: Matrix, problem: Problem) -> Iterator[BoardRow]:
    limits = setting.spec.solver_seconds
    if any(run.matrix == matrix.name for run in published_runs(setting.folder)):
        limits = (*limits, setting.spec.solver_long_seconds)  # here, at least, as long as ours may take
    for limit in limits:
        for row in general_solvers(problem, limit, _GAP, setting.skipped):
            setting.say(f"  {row['method']}, {limit:g} s: gap {percent(row['gap'])}")
            found = (row["method"], row["value"], row["bound"], row["seconds"], row["nodes"])
            yield _row(matrix, problem.k, *found, None, limit)


def _row(
    matrix: Matrix,
    k: int,
    method: str,
    value: float,
    bound: float,
    spent: float,
    nodes: int,
    result: Result | None,
    limit: float | None = None,
) -> BoardRow:
    gap = relative_gap(value, bound) if value > 0 else math.inf
    closed = gap <= (TOLERANCE if result is not None else _GAP) * 1.01
    marks = {f"gap_{mark:g}s": None if result is None else _gap_at(result, mark) for mark in _MARKS}
    return {
        "matrix": matrix.name,
        "d": matrix.d,
        "k": k,
        "method": method,
        "value": value,
        "bound": bound,
        "gap": gap,
        "proved": closed,
        "rigorous": result is not None,
        "seconds": spent,
        "nodes": nodes,
        "limit": limit,
        **marks,
    }


def _gap_at(result: Result, mark: float) -> float:
    """Return the gap that was proved after so many seconds, against the final value."""
    if result.seconds <= mark:
        return result.gap
    bounds = [point.bound for point in result.trace if point.seconds <= mark]
    return relative_gap(result.value, min(bounds)) if bounds else math.inf


def _published(setting: Setting) -> Iterator[BoardRow]:
    """Yield what another exact method published of itself, on the matrices that are here."""
    here = {matrix.name for matrix in setting.matrices}
    for run in published_runs(setting.folder):
        if run.matrix in here and run.k in setting.spec.ks:
            yield {
                "matrix": run.matrix,
                "d": run.d,
                "k": run.k,
                "method": f"published: {run.method}",
                "value": None,
                "bound": None,
                "gap": run.gap,
                "proved": run.gap == 0,
                "rigorous": False,
                "seconds": run.seconds,
                "nodes": None,
                "limit": None,
                **{f"gap_{mark:g}s": None for mark in _MARKS},
            }


def _show(frame: pl.DataFrame) -> str:
    ours = frame.filter(pl.col("method") == OURS)
    times = ours["seconds"].to_numpy()
    text = (
        f"noap closes {share(ours.filter(pl.col('proved')).height, ours.height)} pairs to a gap of {TOLERANCE:g}, with "
        f"a rigorous bound and a certificate: median {seconds(float(np.median(times)))}, slowest "
        f"{seconds(float(times.max()))} of wall clock. The general solvers are asked for {_GAP:g} only, to their own "
        "tolerances, on the matrices small enough for them; the paper's MIP has a formulation error of its own (N = 3 "
        "pieces), so its gap may stay open however long it runs. Their gaps are those of their bounds against the best "
        "value known, whoever found it.\n\n"
    )
    measured = _against_best(frame.filter(~pl.col("method").str.starts_with("published")))
    summary = []
    for method in measured["method"].unique(maintain_order=True):
        rows = measured.filter(pl.col("method") == method)
        pairs = rows.select("matrix", "k").n_unique()
        closed = rows.filter(pl.col("proved")).select("matrix", "k").n_unique()
        found = rows.filter(pl.col("value") > 0).select("matrix", "k").n_unique()
        solved = rows.filter(pl.col("proved"))["seconds"].to_numpy()
        gaps = [percent(_median_gap(rows, mark, pairs)) for mark in _MARKS]
        shown = seconds(float(np.median(solved))) if len(solved) else "-"
        summary.append([method, share(found, pairs), share(closed, pairs), shown, *gaps])
    text += markdown(
        ["method", "found a vector", "closed", "median time where closed"]
        + [f"median gap after {mark:g} s" for mark in _MARKS],
        summary,
    )
    published = frame.filter(pl.col("method").str.starts_with("published"))
    if published.height:
        text += _context(published, ours)
    text += "\n### The same pairs\n\nSeconds where closed, otherwise the gap of the bound at the longest limit.\n\n"
    methods = measured["method"].unique(maintain_order=True).to_list()
    body = []
    for (name, k), rows in measured.group_by(["matrix", "k"], maintain_order=True):
        cells: list[object] = [name, rows["d"][0], k, rows["nodes"][0]]
        for method in methods:
            cells.append(_cell(rows.filter(pl.col("method") == method)))
        body.append(cells)
    return text + markdown(["matrix", "d", "k", "our nodes", *methods], body)


def _against_best(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the gap of every bound to the best value that anyone found for the pair."""
    best = frame.group_by("matrix", "k", maintain_order=True).agg(pl.col("value").max().alias("best"))
    joined = frame.join(best, on=["matrix", "k"], how="left", maintain_order="left")
    return joined.with_columns((pl.col("bound") / pl.col("best") - 1).clip(lower_bound=0).alias("bound_gap"))


def _median_gap(rows: pl.DataFrame, mark: float, pairs: int) -> float | None:
    """Return the median gap after so many seconds; None if some pair was not given them and is not closed sooner."""
    if rows["rigorous"][0]:
        return float(np.median(rows[f"gap_{mark:g}s"].to_numpy()))
    reached = rows.filter((pl.col("limit") == mark) | (pl.col("proved") & (pl.col("seconds") <= mark)))
    least = reached.group_by("matrix", "k").agg(pl.col("bound_gap").min())
    return float(np.median(least["bound_gap"].to_numpy())) if least.height == pairs else None


def _context(published: pl.DataFrame, ours: pl.DataFrame) -> str:
    body = []
    for (name, k), rows in published.group_by(["matrix", "k"], maintain_order=True):
        here = ours.filter((pl.col("matrix") == name) & (pl.col("k") == k))
        runs = ", ".join(
            f"{row['method'].removeprefix('published: ')} {row['seconds']:.0f} s"
            + ("" if row["gap"] == 0 else " (no bound)" if row["gap"] is None else f" ({percent(row['gap'])} left)")
            for row in rows.iter_rows(named=True)
        )
        body.append([name, rows["d"][0], k, _cell(_against_best(here)), runs])
    return (
        f"\nPublished times of other exact methods and relaxations ({SOURCE}), measured by their authors on their "
        "machines with a limit of 3600 s: context, not a comparison.\n\n"
        + markdown(["matrix", "d", "k", "noap here", "published: time (and gap left)"], body)
    )


def _cell(rows: pl.DataFrame) -> str:
    if rows.height == 0:
        return ""
    fastest = rows.filter(pl.col("proved"))
    if fastest.height:
        return seconds(fastest["seconds"].to_numpy().min())
    return f"{percent(rows['bound_gap'].to_numpy().min())} left"


def _beaten(frame: pl.DataFrame) -> list[str]:
    ours = frame.filter(pl.col("method") == OURS)
    said = []
    for row in ours.filter(~pl.col("proved")).iter_rows(named=True):
        said.append(f"proof: {row['matrix']} k={row['k']} is open, with a gap of {percent(row['gap'])}.")
    peers = frame.filter((pl.col("method") != OURS) & ~pl.col("method").str.starts_with("published"))
    both = peers.join(ours, on=["matrix", "k"], suffix="_ours")
    better = both.filter(pl.col("value") > pl.col("value_ours") * (1 + 1e-5))
    said += [f"value: {r['method']} is better on {r['matrix']} k={r['k']}." for r in better.iter_rows(named=True)]
    for (method,), rows in both.filter(pl.col("proved") & (pl.col("seconds") < pl.col("seconds_ours"))).group_by(
        ["method"], maintain_order=True
    ):
        pairs = rows.select("matrix", "k").n_unique()
        factor = (rows["seconds_ours"] / rows["seconds"]).to_numpy().max()
        said.append(f"time to proof: {method} is faster than {OURS} on {pairs} pairs, by at most {factor:.2g}.")
    return said


EXACT = Board("exact", "Exact: time to proof and gap at rho = 0", _run, _show, _beaten)
