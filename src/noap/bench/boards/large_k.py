"""Many features at once: k = 20 to 100 at rho = 0, proofs and vectors."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.instances import moments, problem_of
from noap.bench.peers import PEERS
from noap.bench.proving import OURS, open_sentences, proof_row, spent, summary, warm_up
from noap.bench.scoring import TOLERANCE, loss, score
from noap.linalg.types import FloatArray
from noap.measuring.tables import markdown, percent, seconds, share
from noap.measuring.timing import side_by_side

__all__ = ["LARGE_K"]

ASCENT = "noap ascent"


def _run(setting: Setting) -> Iterator[BoardRow]:
    warm_up()
    for name, M in moments(setting.folder):
        for k in setting.spec.large_ks:
            if k < len(M.T) <= setting.spec.large_k_features:
                yield from setting.once((name, k), partial(_pair, setting, name, M, k))


def _pair(setting: Setting, name: str, M: FloatArray, k: int) -> Iterator[BoardRow]:
    spec, d = setting.spec, len(M.T)
    problem = problem_of(M, k, 0.0)
    proof = proof_row(problem, TOLERANCE, spec.exact_seconds)
    setting.say(f"{name} d={d} k={k}: gap {percent(proof['gap'])} in {seconds(proof['seconds'])}")
    jobs = {ASCENT: lambda: noap.solve(problem_of(M, k, 0.0), method="ascent").v}
    if len(M) == d:
        jobs |= {p.name: p.prepare(M, k) for p in PEERS if p.installed and p.package == "abess" and d <= p.features}
    found = side_by_side(jobs, 1, spec.patience)
    values = {method: score(problem, timing.answer).resolved for method, timing in found.items()}
    best = max(proof["value"], *values.values())
    where = {"matrix": name, "d": d, "k": k}
    yield {**where, "method": OURS, **proof, "loss": loss(proof["value"], best)}
    for method, timing in found.items():
        empty = dict.fromkeys(("bound", "gap", "nodes", "verified", "verify_s", "limit"))
        times = {"seconds": timing.row["wall_s"], "cpu_s": timing.row["cpu_s"]}
        row = {"value": values[method], **empty, "proved": False, **times, "loss": loss(values[method], best)}
        yield {**where, "method": method, **row}


def _show(frame: pl.DataFrame) -> str:
    ours = frame.filter(pl.col("method") == OURS)
    text = (
        f"Real matrices at rho = 0, d up to {ours['d'].to_numpy().max()} (samples where they are few), to a gap of "
        f"{TOLERANCE:g}, {seconds(float(ours['limit'][0]))} of the clock each; CPU seconds.\n\n"
    ) + summary(ours.sort("k", maintain_order=True), ["k"])
    vectors = frame.filter(pl.col("method") != OURS)
    body = []
    for (method,), rows in vectors.group_by(["method"], maintain_order=True):
        losses = rows["loss"].to_numpy()
        body.append([
            method, share(int((losses <= TOLERANCE).sum()), rows.height), percent(float(losses.max())),
            seconds(float(np.median(rows["cpu_s"].to_numpy()))),
        ])  # fmt: skip
    if body:
        columns = ["method", "best value", "largest loss", "median CPU time"]
        text += "\n### Vectors, re-solved on their supports\n\n" + markdown(columns, body)
    body = [
        [r["matrix"], r["d"], r["k"], r["nodes"], seconds(time), "-" if r["proved"] else percent(r["gap"])]
        for r, time in zip(ours.iter_rows(named=True), spent(ours), strict=True)
    ]
    return text + "\n### Every pair\n\n" + markdown(["matrix", "d", "k", "nodes", "time", "gap left"], body)


def _beaten(frame: pl.DataFrame) -> list[str]:
    ours = frame.filter(pl.col("method") == OURS)
    said = open_sentences(ours, ["matrix", "d", "k"])
    ascent = frame.filter(pl.col("method") == ASCENT)
    others = frame.filter(~pl.col("method").str.starts_with("noap")).join(ascent, on=["matrix", "k"], suffix="_ours")
    for (method,), rows in others.group_by(["method"], maintain_order=True):
        better = rows.filter(pl.col("value") > pl.col("value_ours") * (1 + TOLERANCE))
        names = ", ".join(f"{row['matrix']} k={row['k']}" for row in better.iter_rows(named=True))
        said += [f"value: {method} finds a better vector than {ASCENT} on {names}."] if names else []
        faster = rows.filter(pl.col("cpu_s") < pl.col("cpu_s_ours"))
        if faster.height:
            said.append(f"time: {method} is faster than {ASCENT} on {share(faster.height, rows.height)} pairs.")
    return said


LARGE_K = Board("large_k", "Many features in a component: k = 20 to 100", _run, _show, _beaten)
