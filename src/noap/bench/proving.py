"""Proofs of single problems as rows of a table: time, gap, nodes, and whether the checker accepts the certificate."""

import math
import time

import numpy as np
import polars as pl

import noap
from noap.bench.board import BoardRow
from noap.linalg.types import FloatArray
from noap.measuring.tables import markdown, percent, seconds, share
from noap.problem import Problem

__all__ = ["OURS", "open_sentences", "proof_row", "spent", "summary", "warm_up"]

OURS = "noap exact"


def warm_up() -> None:
    """Compile or load the search and the checker, before anything is timed."""
    tiny = Problem(np.random.default_rng(0).standard_normal((12, 5)), k=3, adversary=noap.FeatureWise(0.5))
    certificate = noap.solve(tiny).certificate
    assert certificate is not None  # the exact method keeps one unless told otherwise
    noap.verify(tiny, certificate)


def proof_row(problem: Problem, gap: float, limit: float) -> BoardRow:
    """Prove, check, and return what it took; the limit is of the clock, times are of both."""
    started = time.process_time()
    result = noap.solve(problem, gap=gap, time_limit=limit)
    cpu = time.process_time() - started
    checked = None if result.certificate is None else noap.verify(problem, result.certificate)
    return {
        "value": result.value,
        "bound": result.bound,
        "gap": result.gap,
        "proved": result.status is noap.Status.OPTIMAL,
        "seconds": result.seconds,
        "cpu_s": cpu,
        "nodes": result.nodes,
        "verified": checked is not None and checked.ok,
        "verify_s": None if checked is None else checked.seconds,
        "limit": limit,
    }


def summary(frame: pl.DataFrame, by: list[str]) -> str:
    """Return a table of how many were proved, and what that took, for every combination of the columns `by`."""
    body = []
    for key, rows in frame.group_by(by, maintain_order=True):
        proved = rows.filter(pl.col("proved"))
        times = spent(rows)
        worst = rows["gap"].to_numpy().max()
        body.append([
            *(f"{one:g}" if isinstance(one, float) else one for one in key),
            share(proved.height, rows.height),
            seconds(float(np.median(times))),
            seconds(float(times.max())),
            f"{np.median(proved['nodes'].to_numpy()):.0f}" if proved.height else "-",
            percent(float(worst)) if proved.height < rows.height else "-",
            share(int(rows["verified"].sum()), rows.height),
        ])  # fmt: skip
    columns = ["proved", "median time", "slowest", "median nodes", "largest gap left", "certificates accepted"]
    return markdown([*by, *columns], body)


def spent(frame: pl.DataFrame) -> FloatArray:
    """Return CPU seconds, or those of the clock where nothing else was measured."""
    found: FloatArray = frame.select(pl.coalesce("cpu_s", "seconds"))["cpu_s"].to_numpy()
    return found


def open_sentences(frame: pl.DataFrame, where: list[str]) -> list[str]:
    """Return a sentence for every problem that stays open, the largest gap first, and for every rejected proof."""
    said = []
    for row in frame.filter(~pl.col("proved")).sort("gap", descending=True).iter_rows(named=True):
        name = _named(row, where)
        left = percent(row["gap"]) if math.isfinite(row["gap"]) else "no bound"
        said.append(f"proof: {name} is open, with a gap of {left} after {seconds(row['seconds'])}.")
    rejected = frame.filter(~pl.col("verified"))
    said += [f"certificate: that of {_named(row, where)} is not accepted." for row in rejected.iter_rows(named=True)]
    return said


def _named(row: BoardRow, where: list[str]) -> str:
    first, *rest = where
    return " ".join([
        str(row[first]), *(f"{name}={row[name]:g}" for name in rest if row[name] is not None)
    ])  # fmt: skip
