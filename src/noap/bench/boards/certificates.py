"""Certificates: whether they verify, their size, and verification time against solving time."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.boards.heuristics import vanilla
from noap.bench.scoring import TOLERANCE
from noap.bench.sources import strong_weak
from noap.measuring.tables import markdown, seconds, share
from noap.measuring.timing import Timing, ratio, side_by_side
from noap.problem import Problem

__all__ = ["CERTIFICATES"]

# A search that is stopped has a certificate, too: of the bound it had proved.
_SECONDS = 5.0


def _instances(setting: Setting) -> Iterator[tuple[str, str, int, int, Problem, float]]:
    spec = setting.spec
    for matrix in setting.matrices:
        for k in spec.ks:
            if k < matrix.d:
                yield "rho = 0", f"{matrix.name} k={k}", matrix.d, k, vanilla(matrix, k), TOLERANCE
    for n in spec.samples:
        X = strong_weak(n, 100, 5, 0)
        for budget in spec.budgets:
            problem = Problem(X, k=5, adversary=noap.FeatureWise(budget * math.sqrt(n / 5)))
            if not problem.optimum_is_zero:
                yield "feature-wise", f"n={n} rho-bar={budget:g}", 100, 5, problem, 1e-4
    X = strong_weak(min(spec.samples), 100, 5, 0)
    for budget in spec.sample_budgets:
        problem = Problem(X, k=5, adversary=noap.SampleWise(budget))
        yield "sample-wise", f"n={len(X)} rho={budget:g}", 100, 5, problem, 1e-4


def _certificate(problem: Problem) -> noap.Certificate:
    certificate = noap.solve(problem).certificate
    assert certificate is not None  # the exact method keeps one unless told otherwise
    return certificate


def _run(setting: Setting) -> Iterator[BoardRow]:
    for adversary in (noap.FeatureWise(0.5), noap.SampleWise(0.5)):  # compiles the searches and the checkers
        tiny = Problem(np.random.default_rng(0).standard_normal((12, 5)), k=3, adversary=adversary)
        noap.verify(tiny, _certificate(tiny))
    for kind, name, d, k, problem, gap in _instances(setting):
        yield from setting.once((kind, name), partial(_instance, setting, kind, name, d, k, problem, gap))


def _instance(
    setting: Setting, kind: str, name: str, d: int, k: int, problem: Problem, gap: float
) -> Iterator[BoardRow]:
    spec = setting.spec
    solve = partial(noap.solve, problem, gap=gap, time_limit=min(_SECONDS, spec.exact_seconds))
    certificate = solve().certificate
    if certificate is None:
        setting.skipped.append(f"{name}: the solve left no certificate.")
        return
    data = certificate.to_bytes()
    _verify(problem, data)  # some kernels are compiled only where a certificate needs them
    jobs: dict[str, Callable[[], Any]] = {
        "solve": solve,
        "without": partial(solve, certificate=False),
        "verify": partial(_verify, problem, data),
    }
    found = side_by_side(jobs, spec.repeats, spec.patience)
    report = found["verify"].answer
    setting.say(f"{kind} {name}: {'accepted' if report.ok else 'REJECTED'}, {len(data)} bytes")
    yield {
        "kind": kind,
        "instance": name,
        "d": d,
        "k": k,
        "accepted": bool(report.ok),
        "nodes": certificate.nodes,
        "bytes": len(data),
        "claimed_bound": found["solve"].answer.bound,
        "proved_bound": report.bound,
        "solve_s": _median(found["solve"]),
        "without_s": _median(found["without"]),
        "verify_s": _median(found["verify"]),
        "verify_ratio": ratio(found["verify"], found["solve"]),
        "recording_ratio": ratio(found["solve"], found["without"]),
    }


def _verify(problem: Problem, data: bytes) -> object:
    """Verify from the bytes alone: what a reader of the file would see."""
    return noap.verify(problem, noap.Certificate.from_bytes(data))


def _median(timing: Timing) -> float:
    return float(np.median(timing.cpu))


def _show(frame: pl.DataFrame) -> str:
    body = []
    for (kind,), rows in frame.group_by(["kind"], maintain_order=True):
        size, nodes = rows["bytes"].to_numpy(), rows["nodes"].to_numpy()
        solve, verify = rows["solve_s"].to_numpy(), rows["verify_s"].to_numpy()
        body.append([
            kind,
            share(rows.filter(pl.col("accepted")).height, rows.height),
            f"{np.median(nodes):.0f}, {nodes.max()}",
            f"{np.median(size):.0f}, {size.max()}",
            f"{seconds(float(np.median(solve)))}, {seconds(float(solve.max()))}",
            f"{seconds(float(np.median(verify)))}, {seconds(float(verify.max()))}",
            f"{np.median(rows['verify_ratio'].to_numpy()):.2f}, {verify.sum() / solve.sum():.2f}",
            f"{np.median(rows['recording_ratio'].to_numpy()):.2f}",
        ])  # fmt: skip
    worst = frame.sort("verify_ratio", descending=True).head(8)
    return (
        "From the bytes of the file alone, by the checker, which uses none of the code of the search; no peer "
        "has certificates that can be checked this way. Each cell: median, most. CPU time.\n\n"
        + markdown(
            ["problems", "accepted", "nodes", "bytes", "solve", "verify", "verify/solve: median, in all",
             "solve with/without recording"], body
        )
        + "\n### Dearest to verify\n\n"
        + markdown(
            ["problem", "instance", "d", "nodes", "bytes", "solve", "verify", "verify/solve"],
            [[r["kind"], r["instance"], r["d"], r["nodes"], r["bytes"], seconds(r["solve_s"]), seconds(r["verify_s"]),
              f"{r['verify_ratio']:.2f}"] for r in worst.iter_rows(named=True)],
        )
    )  # fmt: skip


def _beaten(frame: pl.DataFrame) -> list[str]:
    rejected = frame.filter(~pl.col("accepted"))
    said = [f"certificate: {r['kind']} {r['instance']} is not accepted." for r in rejected.iter_rows(named=True)]
    slower = frame.filter(pl.col("verify_ratio") > 1)
    if slower.height:
        most = slower["verify_ratio"].to_numpy().max()
        said.append(
            f"certificate: verifying takes longer than solving on {share(slower.height, frame.height)} instances, up "
            f"to {most:.2g} times."
        )
    return said


CERTIFICATES = Board("certificates", "Certificates: size and verification", _run, _show, _beaten)
