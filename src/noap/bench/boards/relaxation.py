"""Bounds without branching: the relaxation alone and the first node of the trees, on standardised real data."""

import math
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.instances import problem_of, standardised_sets
from noap.bench.proving import warm_up
from noap.linalg.types import FloatArray
from noap.measuring.tables import markdown, percent, seconds
from noap.problem import Problem

__all__ = ["RELAXATION"]

ALONE, ROOT = "relaxation", "first node"
# Between these lies the gap that a first node proves; it is found within this factor.
_FINEST, _COARSEST, _FACTOR = 1e-6, 64.0, 1.02


def _run(setting: Setting) -> Iterator[BoardRow]:
    spec = setting.spec
    warm_up()
    for name, C in standardised_sets(setting.folder):
        for k in spec.ks:
            for noise in spec.noises:
                if k <= len(C) <= spec.relaxation_features:
                    yield from setting.once((name, k, noise), partial(_instance, setting, name, C, k, noise))


def _instance(setting: Setting, name: str, C: FloatArray, k: int, noise: float) -> Iterator[BoardRow]:
    problem = problem_of(C, k, noise)
    if problem.optimum_is_zero:
        return
    started = time.process_time()
    alone = noap.solve(problem, method="relaxation", gap=_FINEST, time_limit=setting.spec.exact_seconds)
    spent = time.process_time() - started
    root, once = first_node(problem)
    best = max(alone.value, root.value)
    setting.say(f"{name} k={k} noise={noise:g}: relaxation {percent(alone.bound / best - 1)} in {seconds(spent)}")
    for method, result, cpu in ((ALONE, alone, spent), (ROOT, root, once)):
        gap = max(result.bound / best - 1.0, 0.0)
        where = {"set": name, "d": len(C), "k": k, "noise": noise, "best": best}
        yield {**where, "method": method, "bound": result.bound, "gap": gap, "cpu_s": cpu}


def first_node(problem: Problem) -> tuple[noap.Result, float]:
    """Return the result at the smallest gap, within 2 %, at which one node closes, and the CPU seconds of that solve.

    A refutation says nothing of gaps that it does not reach: the gap is looked for by halving.
    """
    low, high, closed, spent, result = _FINEST, _COARSEST, None, 0.0, None
    while high > _FACTOR * low:
        gap = math.sqrt(low * high)
        started = time.process_time()
        result = noap.solve(problem, gap=gap, node_limit=1)
        if result.gap <= gap:
            high, closed, spent = gap, result, time.process_time() - started
        else:
            low = gap
    assert result is not None  # the range is wider than the factor
    return closed or result, spent


def _show(frame: pl.DataFrame) -> str:
    body = []
    for (k, noise), rows in frame.sort("k", "noise", maintain_order=True).group_by(["k", "noise"], maintain_order=True):
        cells: list[object] = [k, f"{noise:g}", rows["set"].n_unique()]
        for method in (ALONE, ROOT):
            mine = rows.filter(pl.col("method") == method)
            gaps, times = mine["gap"].to_numpy(), mine["cpu_s"].drop_nulls().to_numpy()
            taken = seconds(float(np.median(times))) if len(times) else "-"
            cells += [percent(float(np.median(gaps))), percent(float(gaps.max())), taken]
        body.append(cells)
    alone = frame.filter(pl.col("method") == ALONE)
    slowest = alone.sort("cpu_s", descending=True).row(0, named=True)
    return (
        f"{alone.height} problems, standardised real data, d = {alone['d'].to_numpy().min()} to "
        f"{alone['d'].to_numpy().max()}. How far a bound is above the best value known: the relaxation in the l1 norm, "
        "which never branches and takes polynomial time, and the first node of the trees of pairs (the smallest gap, "
        "within 2 %, at which it closes). Each: median, most, median CPU time of one solve. The slowest relaxation "
        f"took {seconds(slowest['cpu_s'])} ({slowest['set']}, k = {slowest['k']}, noise {slowest['noise']:g}).\n\n"
        + markdown(
            ["k", "noise", "sets", f"{ALONE}, median gap", "most", "time", f"{ROOT}, median gap", "most", "time"], body
        )
    )


def _beaten(frame: pl.DataFrame) -> list[str]:
    alone = frame.filter(pl.col("method") == ALONE)
    worst = alone.sort("gap", descending=True).row(0, named=True)
    where = f"{worst['set']} k={worst['k']} noise={worst['noise']:g}"
    return [f"bound: without branching the relaxation leaves up to {percent(worst['gap'])} ({where})."]


RELAXATION = Board("relaxation", "The relaxation alone: gaps and time", _run, _show, _beaten)
