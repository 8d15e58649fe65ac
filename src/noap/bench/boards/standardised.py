"""Robust on real data: standardised sets under feature-wise noise, every proof and every vector."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.general import general_solvers
from noap.bench.instances import problem_of, standardised_sets
from noap.bench.peers import PEERS
from noap.bench.proving import OURS, open_sentences, proof_row, spent, summary, warm_up
from noap.bench.scoring import loss, score
from noap.linalg.types import FloatArray
from noap.measuring.tables import markdown, percent, seconds, share
from noap.measuring.timing import side_by_side

__all__ = ["GAP", "STANDARDISED"]

GAP = 1e-4
ASCENT = "noap ascent"
# A vector counts as the best within this; the optima are certified to GAP.
_SAME = 1e-5
_PROBLEM = ["set", "k", "noise"]


def _run(setting: Setting) -> Iterator[BoardRow]:
    spec = setting.spec
    warm_up()
    for name, C in standardised_sets(setting.folder):
        for k in spec.ks:
            if k <= len(C) <= spec.standardised_features:
                yield from setting.once((name, k), partial(_set, setting, name, C, k))


def _set(setting: Setting, name: str, C: FloatArray, k: int) -> Iterator[BoardRow]:
    """Yield the rows of all noises: peers do not know the adversary and have one vector for all of them."""
    spec = setting.spec
    asked = {peer.name: peer.prepare(C, k) for peer in PEERS if peer.installed and len(C) <= peer.features}
    blind = side_by_side(asked, 1, 0.0)
    for noise in spec.noises:
        problem = problem_of(C, k, noise)
        proof = proof_row(problem, GAP, spec.exact_seconds)
        ascent = side_by_side({ASCENT: lambda: noap.solve(problem, method="ascent").v}, 1, spec.patience)  # noqa: B023
        setting.say(f"{name} k={k} noise={noise:g}: gap {percent(proof['gap'])} in {seconds(proof['seconds'])}")
        where = {"set": name, "d": len(C), "k": k, "noise": noise}
        rows = [{**where, "method": OURS, **proof}]
        for method, timing in (blind | ascent).items():
            rows.append({**where, "method": method, **_vector_row(score(problem, timing.answer).resolved, timing.row)})
        if (k, noise) in spec.standardised_solvers and len(C) <= spec.standardised_solver_features:
            for row in general_solvers(problem, spec.standardised_solver_seconds, GAP, setting.skipped):
                setting.say(f"  {row['method']}: gap {percent(row['gap'])} in {seconds(row['seconds'])}")
                rows.append({**where, **row})
        best = max(row["value"] for row in rows)
        for row in rows:
            yield {**row, "loss": loss(row["value"], best)}


def _vector_row(value: float, times: dict[str, float]) -> BoardRow:
    return {
        "value": value, "bound": None, "gap": None, "proved": False, "seconds": times["wall_s"],
        "cpu_s": times["cpu_s"], "nodes": None, "verified": None, "verify_s": None, "limit": None,
    }  # fmt: skip


def _show(frame: pl.DataFrame) -> str:
    ours = frame.filter(pl.col("method") == OURS)
    text = (
        f"{ours['set'].n_unique()} real data sets, standardised (correlations), {_span(ours, 'd')} features; noise "
        f"{_span(ours, 'noise')} of every feature's standard deviation, feature-wise; k = {_span(ours, 'k')}. noap "
        f"closes {share(int(ours['proved'].sum()), ours.height)} to a gap of {GAP:g} within "
        f"{seconds(float(ours['limit'][0]))} each, with certificates that the checker accepts on "
        f"{share(int(ours['verified'].sum()), ours.height)}. CPU seconds, limits are of the clock.\n\n"
    ) + summary(ours.sort("k", "noise", maintain_order=True), ["k", "noise"])
    text += "\n### By data set\n\n" + summary(ours, ["set", "d"])
    vectors = frame.filter(pl.col("bound").is_null())
    if vectors.height:
        text += (
            "\n### Vectors\n\nRe-solved on their supports under the noise, against the best value known. abess and "
            f"scikit-learn do not know the adversary; a value within {_SAME:g} of the best counts as it.\n\n"
        ) + _vectors(vectors)
    solvers = frame.filter(pl.col("bound").is_not_null() & (pl.col("method") != OURS))
    if solvers.height:
        text += "\n### General solvers on the same problems\n\n" + _solvers(solvers, ours)
    return text


def _span(frame: pl.DataFrame, column: str) -> str:
    values = sorted(set(frame[column].to_list()))
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"


def _vectors(frame: pl.DataFrame) -> str:
    body = []
    for (method,), rows in frame.group_by(["method"], maintain_order=True):
        losses = rows["loss"].to_numpy()
        body.append([
            method, share(int((losses <= _SAME).sum()), rows.height), percent(float(np.median(losses))),
            percent(float(losses.max())), seconds(float(np.median(rows["cpu_s"].to_numpy()))),
        ])  # fmt: skip
    return markdown(["method", "best value", "median loss", "largest loss", "median CPU time"], sorted(body))


def _solvers(frame: pl.DataFrame, ours: pl.DataFrame) -> str:
    """Return what the general solvers leave open of the problems that they were given, beside ours on the same ones."""
    given = frame.select(_PROBLEM).unique()
    both = pl.concat([ours.join(given, on=_PROBLEM, how="semi"), frame], how="vertical_relaxed")
    best = both.group_by(_PROBLEM).agg(pl.col("value").max().alias("best"))
    both = both.join(best, on=_PROBLEM, how="left", maintain_order="left")
    body = []
    for (method,), rows in both.group_by(["method"], maintain_order=True):
        gaps = np.maximum((rows["bound"] / rows["best"] - 1).to_numpy(), 0.0)
        times = spent(rows)
        body.append([
            method, share(int(rows["proved"].sum()), rows.height), percent(float(np.median(gaps))),
            percent(float(gaps.max())), seconds(float(np.median(times))), seconds(float(times.max())),
        ])  # fmt: skip
    lead = (
        f"{given.height} of the problems (d up to {frame['d'].to_numpy().max()}), "
        f"{seconds(float(frame['limit'].to_numpy().max()))} each; the gap is that of the bound against the best value "
        "known, whoever found it.\n\n"
    )
    return lead + markdown(["method", "proved", "median gap", "largest gap", "median time", "slowest"], body)


def _beaten(frame: pl.DataFrame) -> list[str]:
    ours = frame.filter(pl.col("method") == OURS)
    said = open_sentences(ours, ["set", "d", "k", "noise"])
    others = frame.filter(pl.col("method") != OURS).join(ours, on=_PROBLEM, suffix="_ours")
    for (method,), rows in others.group_by(["method"], maintain_order=True):
        better = rows.filter(pl.col("value") > pl.col("value_ours") * (1 + _SAME))
        said += [
            f"value: {method} is better than {OURS} on {row['set']} k={row['k']} noise={row['noise']:g}."
            for row in better.iter_rows(named=True)
        ]
        sooner = rows.filter(pl.col("proved") & (pl.col("cpu_s") < pl.coalesce("cpu_s_ours", "seconds_ours")))
        if sooner.height:
            said.append(
                f"time to proof: {method} is faster than {OURS} on {share(sooner.height, rows.height)} problems."
            )
    return said


STANDARDISED = Board("standardised", "Robust, real standardised data: proofs", _run, _show, _beaten)
