"""Where the time goes, for ascent and exact on four instances, beside what the hardware would need for the work."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.instances import correlations, problem_of
from noap.bench.sources import Matrix, strong_weak
from noap.measuring.tables import markdown, seconds
from noap.measuring.timing import side_by_side
from noap.measuring.tracing import parts_of
from noap.problem import Problem

__all__ = ["PROFILES"]

_PARTS = {
    "noap.problem": "data",
    "noap.linalg.products": "data",
    "noap.data.validation": "data",
    "noap.heuristics.gram_climber:GramClimber.starts": "starts",
    "noap.heuristics.gram_climber:GramClimber.climb": "climbs",
    "noap.heuristics.gram_climber:GramClimber.exchanges": "exchanges",
    "noap.heuristics.gram_climber:GramClimber.to_fixed_point": "last rounds",
    "noap.heuristics.measured": "ranking",
}
_EXACT_PARTS = {
    "noap.problem": "data",
    "noap.methods:_ascended": "ascent",
    "noap.exact.feature_wise.instance": "data",
    "noap.exact.feature_wise.refutation:Refutation.advance": "nodes and bounds",
    "noap.exact.feature_wise.refutation:Refutation._children": "branching",
    "noap.exact.feature_wise.refutation:Refutation._note_children": "branching",
    "noap.exact.feature_wise.record": "recording",
    "noap.exact.relaxation.aim": "relaxation",
    "noap.exact.relaxation.bound": "relaxation",
    "noap.exact.relaxation.inequality": "relaxation",
    "noap.exact.relaxation.multiplier": "relaxation",
    "noap.exact.relaxation.node": "relaxation",
    "noap.exact.relaxation.ratios": "ratios of the relaxation",
    "noap.exact.relaxation.relaxation": "relaxation",
    "noap.result": "result",
}
_TRACES = 9  # traced runs per job; their shares are averaged, so that they add up
# Of ascent: inner rounds, supports kept, typical steps, supports polished.
_ROUNDS, _KEEP, _STEPS, _POLISH = 6, 96, 3, 24


def _instances(matrices: list[Matrix]) -> list[tuple[str, int, Problem]]:
    small = min(matrices, key=lambda matrix: (abs(matrix.d - 34), matrix.name))
    real = min(matrices, key=lambda matrix: (abs(matrix.d - 101), "simulated" in matrix.name, matrix.name))
    X = strong_weak(500, 1000, 10, 0)
    return [
        (f"{small.name} k=5", 0, _vanilla(small, 5)),
        (f"{real.name} k=20", 0, _vanilla(real, 20)),
        ("strong/weak n=500 d=1000 k=10 rho-bar=1", 500, Problem(X, k=10, adversary=noap.FeatureWise(math.sqrt(50)))),
        (f"{real.name}, standardised k={min(20, real.d)} noise=0.5", 0, _noisy(real)),
    ]


def _vanilla(matrix: Matrix, k: int) -> Problem:
    return Problem.from_covariance(matrix.S, n_samples=1, k=k, adversary=noap.NoAdversary())


def _noisy(matrix: Matrix) -> Problem:
    C = correlations(matrix.S)
    return problem_of(C, min(20, len(C)), 0.5)


def _fresh(problem: Problem) -> Problem:
    """Return the problem without anything it has computed since it was made."""
    if problem.X is not None:
        return Problem(problem.X, k=problem.k, adversary=problem.adversary)
    return Problem.from_covariance(
        problem.covariance, n_samples=problem.n_samples, k=problem.k, adversary=problem.adversary
    )


def _run(setting: Setting) -> Iterator[BoardRow]:
    flops, bandwidth = _machine()
    for name, n, problem in _instances(setting.matrices):
        for method in ("ascent", "exact"):
            profile = partial(_profile, setting, method, name, n, problem, flops, bandwidth)
            yield from setting.once((method, name), profile)


def _profile(
    setting: Setting, method: str, name: str, n: int, problem: Problem, flops: float, bandwidth: float
) -> Iterator[BoardRow]:
    parts, sticky = (_PARTS, None) if method == "ascent" else (_EXACT_PARTS, "ascent")

    def job() -> noap.Result:
        return noap.solve(_fresh(problem), method=method, time_limit=setting.spec.exact_seconds)

    timing = side_by_side({"job": job}, setting.spec.repeats, setting.spec.patience)["job"]
    runs = [parts_of(job, parts, sticky) for _ in range(_TRACES)]
    shares = {part: float(np.mean([run.get(part, 0.0) for run in runs])) for part in set().union(*runs)}
    needed_flops, needed_bytes = _needed(method, n, problem.n_features, problem.k, timing.answer.nodes)
    setting.say(f"{method} {name}: {seconds(timing.row['cpu_s'])}")
    for part in sorted(shares, key=lambda part: -shares[part]):
        yield {
            "method": method,
            "instance": name,
            "d": problem.n_features,
            "k": problem.k,
            "nodes": timing.answer.nodes,
            "part": part,
            "share": shares[part],
            "cpu_s": timing.row["cpu_s"],
            "needed_flops": needed_flops,
            "needed_bytes": needed_bytes,
            "machine_flops": flops,
            "machine_bytes": bandwidth,
        }


def _machine() -> tuple[float, float]:
    """Return flops and bytes per second that one thread reaches here: a matrix product and a copy."""
    a = np.random.default_rng(0).standard_normal((512, 512))
    block, target = np.ones(2**23), np.empty(2**23)
    jobs = {"product": lambda: a @ a, "copy": lambda: np.copyto(target, block)}
    best = {name: timing.row["cpu_low"] for name, timing in side_by_side(jobs, 7).items()}
    return 2 * 512**3 / best["product"], 2 * block.nbytes / best["copy"]


def _needed(method: str, n: int, d: int, k: int, nodes: int) -> tuple[float, float]:
    """Return flops and bytes of the work that the method cannot avoid.

    Ascent: X'X if samples are given; one look at it for the starts; the rounds on k x k blocks of every start; the
    steps of the supports that are kept and the exchanges of those that are polished, each over k rows. Exact: the
    same, a Cholesky factor at the root, and per node the rows of k features and the update of their border.
    """
    flops = float(n) * d * d + 2.0 * d * _ROUNDS * k**2 + 2.0 * k * d * (_KEEP * _STEPS + _POLISH * k)
    moved = 8.0 * (n * d + d * d + d * k**2 + k * d * (_KEEP * _STEPS + _POLISH * k))
    if method == "exact":
        flops += d**3 / 3 + nodes * 2.0 * k**2 * d
        moved += nodes * 8.0 * k * d
    return flops, moved


def _roof(row: BoardRow) -> float:
    return float(max(row["needed_flops"] / row["machine_flops"], row["needed_bytes"] / row["machine_bytes"]))


def _show(frame: pl.DataFrame) -> str:
    first = frame.row(0, named=True)
    text = (
        "Shares of the time by part (a part is a few functions and all they call), scaled to the time without tracing. "
        f"One thread reaches {first['machine_flops'] / 1e9:.1f} Gflop/s in a matrix product and "
        f"{first['machine_bytes'] / 1e9:.1f} GB/s in a copy on this machine; *roof* is the time that the unavoidable "
        "work would take at these rates (X'X, one look at it for the starts, the rounds on k x k blocks, the steps and "
        "exchanges of the supports that are kept; for exact also a Cholesky factor at the root and the border of every "
        "node).\n\n"
    )
    body = []
    for (method, name), rows in frame.group_by(["method", "instance"], maintain_order=True):
        row = rows.row(0, named=True)
        parts = ", ".join(
            f"{r['part']} {100 * r['share']:.0f} %" for r in rows.iter_rows(named=True) if r["share"] >= 0.005
        )
        roof = _roof(row)
        body.append([
            method, name, row["nodes"], seconds(row["cpu_s"]), parts, f"{row['needed_flops'] / 1e6:.3g}",
            f"{row['needed_bytes'] / 1e6:.3g}", seconds(roof), f"{row['cpu_s'] / roof:.0f}",
        ])  # fmt: skip
    return text + markdown(
        ["method", "instance", "nodes", "CPU time", "where it goes", "Mflop needed", "MB needed", "roof", "time/roof"],
        body,
    )


PROFILES = Board("profiles", "Profiles: where the time goes", _run, _show, lambda frame: [])
