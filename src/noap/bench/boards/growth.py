"""How time grows with n, d, k and the budget, one at a time."""

import math
import time
from collections.abc import Callable, Iterator
from functools import partial

import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.peers import PEERS
from noap.bench.sources import strong_weak
from noap.linalg.types import FloatArray
from noap.measuring.tables import markdown, seconds, share
from noap.measuring.timing import Elsewhere, ratio, side_by_side
from noap.problem import Problem

__all__ = ["GROWTH"]

OURS = "noap ascent"
_N, _D, _K, _BUDGET = 500, 200, 5, 1.0


def _run(setting: Setting) -> Iterator[BoardRow]:
    spec = setting.spec
    cases = [("d", _N, d, _K, _BUDGET) for d in spec.growth_d]
    cases += [("n", n, _D, _K, _BUDGET) for n in spec.growth_n]
    cases += [("k", _N, _D, k, _BUDGET) for k in spec.growth_k]
    cases += [("rho-bar", _N, _D, _K, budget) for budget in spec.growth_budgets]
    for varied, n, d, k, budget in cases:
        yield from setting.once((varied, n, d, k, budget), partial(_size, setting, varied, n, d, k, budget))


def _size(setting: Setting, varied: str, n: int, d: int, k: int, budget: float) -> Iterator[BoardRow]:
    X = strong_weak(n, d, k, 0)
    jobs = _jobs(X, k, budget)
    found = side_by_side(jobs, setting.spec.repeats, setting.spec.patience)
    setting.say(f"{varied}: n={n} d={d} k={k} rho-bar={budget:g}")
    for name, timing in found.items():
        yield {
            "varied": varied,
            "n": n,
            "d": d,
            "k": k,
            "budget": budget,
            "method": name,
            "time_ratio": ratio(timing, found[OURS]),
            **timing.row,
        }


def _jobs(X: FloatArray, k: int, budget: float) -> dict[str, Callable[[], object]]:
    n, d = X.shape

    def ours(method: str) -> object:
        # Forming X'X is part of the job, for us and for the peers.
        return noap.solve(Problem(X, k=k, adversary=noap.FeatureWise(budget * math.sqrt(n / k))), method=method)

    jobs: dict[str, Callable[[], object]] = {
        OURS: lambda: ours("ascent"),
        "noap exact": lambda: ours("exact"),
        "PPM": lambda: ours("ppm"),
    }
    for peer in PEERS:
        if peer.installed and d <= peer.features:
            job = peer.prepare(X.T @ X / n, k)
            jobs[peer.name] = _with_product(X, job)
    return jobs


def _with_product(X: FloatArray, job: Callable[[], object]) -> Callable[[], object]:
    """Return the job with X'X before it; what is done in another process has its seconds added to those of X'X."""

    def both() -> object:
        started = time.process_time()
        product = X.T @ X / len(X)
        spent, answer = time.process_time() - started, job()
        return Elsewhere(answer.answer, spent + answer.cpu) if isinstance(answer, Elsewhere) else (product, answer)

    return both


_KEY = ["varied", "n", "d", "k", "budget"]


def _show(frame: pl.DataFrame) -> str:
    methods = frame["method"].unique(maintain_order=True).to_list()
    body = []
    for _, rows in frame.group_by(_KEY, maintain_order=True):
        first = rows.row(0, named=True)
        times = {row["method"]: row for row in rows.iter_rows(named=True)}
        body.append(
            [first["varied"], first["n"], first["d"], first["k"], f"{first['budget']:g}"]
            + [
                f"{seconds(times[m]['cpu_s'])} ({seconds(times[m]['cpu_low'])} to {seconds(times[m]['cpu_high'])})"
                if m in times
                else ""
                for m in methods
            ]
        )
    return (
        "Strong/weak model, feature-wise budget; CPU time with X'X included, median and range of the rounds. abess and "
        "scikit-learn solve the problem without an adversary.\n\n"
        + markdown(["varied", "n", "d", "k", "rho-bar", *methods], body)
    )


def _beaten(frame: pl.DataFrame) -> list[str]:
    said = []
    for (method,), rows in frame.filter(~pl.col("method").str.starts_with("noap")).group_by(
        ["method"], maintain_order=True
    ):
        faster = rows.filter(pl.col("time_ratio") < 1)
        if faster.height:
            most = 1 / float(faster["time_ratio"].to_numpy().min())
            said.append(
                f"time: {method} is faster than {OURS} on {share(faster.height, rows.height)} sizes, by at most "
                f"{most:.2g}."
            )
    return said


GROWTH = Board("growth", "Growth with n, d, k and the budget", _run, _show, _beaten)
