"""Heuristics at rho = 0 on every matrix: the best value found, what each loses against it, and time."""

import itertools
from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

import noap
from noap.bench.board import Board, BoardRow, Setting
from noap.bench.peers import PEERS
from noap.bench.scoring import TOLERANCE, loss, score
from noap.bench.sources import Matrix
from noap.linalg.types import FloatArray
from noap.measuring.tables import markdown, percent, seconds, share
from noap.measuring.timing import ratio, side_by_side
from noap.problem import Problem

__all__ = ["HEURISTICS"]

OURS = "noap ascent"
_PROOF_SECONDS = 10.0


def vanilla(matrix: Matrix, k: int) -> Problem:
    """Return the problem at rho = 0."""
    return Problem.from_covariance(matrix.S, n_samples=1, k=k, adversary=noap.NoAdversary())


def _run(setting: Setting) -> Iterator[BoardRow]:
    for matrix in setting.matrices:
        for k in setting.spec.ks:
            if k < matrix.d:
                yield from setting.once((matrix.name, k), partial(_pair, setting, matrix, k))


def _pair(setting: Setting, matrix: Matrix, k: int) -> Iterator[BoardRow]:
    spec = setting.spec

    def ours(method: str) -> FloatArray:
        # The problem is made anew: checking the matrix is part of the job, as it is for the peers.
        return noap.solve(vanilla(matrix, k), method=method).v

    jobs = {OURS: lambda: ours("ascent"), "PPM": lambda: ours("ppm")}
    jobs |= {peer.name: peer.prepare(matrix.S, k) for peer in PEERS if peer.installed and matrix.d <= peer.features}
    found = side_by_side(jobs, spec.repeats, spec.patience)
    problem = vanilla(matrix, k)
    # Board (b) gives the proof more time; here it says which best values are optima.
    proved = noap.solve(problem, gap=TOLERANCE, time_limit=min(_PROOF_SECONDS, spec.exact_seconds))
    scores = {name: score(problem, timing.answer) for name, timing in found.items()}
    best = max([proved.value, *(one.resolved for one in scores.values())])
    setting.say(f"{matrix.name} k={k}: {seconds(found[OURS].row['cpu_s'])}")
    for name, one in scores.items():
        yield {
            "matrix": matrix.name,
            "d": matrix.d,
            "k": k,
            "method": name,
            "features": one.features,
            "returned": one.returned,
            "resolved": one.resolved,
            "best": best,
            "proved": proved.status is noap.Status.OPTIMAL,
            "loss_returned": loss(one.returned, best),
            "loss_resolved": loss(one.resolved, best),
            "published": matrix.published.get(k),
            "time_ratio": ratio(found[name], found[OURS]),
            **found[name].row,
        }


def _pairs(frame: pl.DataFrame) -> int:
    return frame.select("matrix", "k").n_unique()


def _show(frame: pl.DataFrame) -> str:
    pairs = _pairs(frame)
    proved = frame.filter(pl.col("proved")).select("matrix", "k").n_unique()
    summary = []
    for method in frame["method"].unique(maintain_order=True):
        rows = frame.filter(pl.col("method") == method)
        low, middle, high = np.percentile(rows["time_ratio"].to_numpy(), (5, 50, 95))
        summary.append([
            method,
            share(rows.filter(pl.col("loss_returned") <= TOLERANCE).height, rows.height),
            share(rows.filter(pl.col("loss_resolved") <= TOLERANCE).height, rows.height),
            percent(_largest(rows, "loss_returned")),
            percent(_largest(rows, "loss_resolved")),
            seconds(float(np.median(rows["cpu_s"].to_numpy()))),
            f"{middle:.2g} ({low:.2g} to {high:.2g})",
        ])  # fmt: skip
    text = (
        f"{pairs} pairs of matrix and k; on {proved} of them the best value is proved optimal to {TOLERANCE:g} by the "
        f"exact method. A value counts as best within {TOLERANCE:g} of it. Time ratio: CPU time in units of {OURS}, "
        "median over pairs (5th to 95th percentile); every time includes checking the matrix, and for scikit-learn the "
        f"search for the penalty that gives k features.{_of_r(frame)}\n\n"
    ) + markdown(
        ["method", "best as returned", "best re-solved", "largest loss, as returned", "largest loss, re-solved",
         "median CPU time", "time ratio"], summary
    )  # fmt: skip
    published = frame.filter((pl.col("method") == OURS) & pl.col("published").is_not_null())
    if published.height:
        text += f"\nPublished values reached or exceeded (to their last digit): {_published(published)}.\n"
    text += (
        "\n### By size\n\nMedian CPU time. Ascent starts from every feature and tries exchanges at the best two dozen "
        "of the fixed points that it finds, where abess follows one path.\n\n" + _sizes(frame)
    )
    text += "\n### Every pair\n\n"
    columns = ["matrix", "d", "k", "best", "proved"]
    methods = frame["method"].unique(maintain_order=True).to_list()
    body = []
    for _, rows in frame.group_by(["matrix", "k"], maintain_order=True):
        first = rows.row(0, named=True)
        cells: list[object] = [first["matrix"], first["d"], first["k"], f"{first['best']:.6g}", first["proved"]]
        by_name = {row["method"]: row for row in rows.iter_rows(named=True)}
        for method in methods:
            row = by_name.get(method)
            cells.append("" if row is None else f"{percent(row['loss_resolved'])}, {seconds(row['cpu_s'])}")
        body.append(cells)
    return text + "Loss after re-solving, and CPU time.\n\n" + markdown([*columns, *methods], body)


def _of_r(frame: pl.DataFrame) -> str:
    if not frame["method"].str.starts_with("R ").any():
        return ""
    return (
        " irlba's ssvd, which takes k, and pcaPP's sPCAgrid, whose penalty is searched for, run in R, which times "
        "them; they are asked up to 500 and 130 features."
    )


def _sizes(frame: pl.DataFrame) -> str:
    methods = frame["method"].unique(maintain_order=True).to_list()
    body = []
    for low, high in itertools.pairwise((1, 50, 100, 200, 10**9)):
        part = frame.filter((pl.col("d") >= low) & (pl.col("d") < high))
        if part.height:
            times = [part.filter(pl.col("method") == method)["cpu_s"].to_numpy() for method in methods]
            label = f"{part['d'].to_numpy().min()} to {part['d'].to_numpy().max()}"
            medians = [seconds(float(np.median(one))) if len(one) else "-" for one in times]
            body.append([label, _pairs(part), *medians])
    return markdown(["d", "pairs", *methods], body)


def _largest(rows: pl.DataFrame, column: str) -> float:
    return float(rows[column].to_numpy().max())


def _published(frame: pl.DataFrame) -> str:
    reached = 0
    for row in frame.iter_rows(named=True):
        digits = len(str(row["published"]).partition(".")[2])
        reached += row["resolved"] >= row["published"] - 0.6 * 10.0**-digits
    return share(reached, frame.height)


def _beaten(frame: pl.DataFrame) -> list[str]:
    ours = frame.filter(pl.col("method") == OURS)
    said = []
    for method in frame["method"].unique(maintain_order=True):
        if method == OURS:
            continue
        rows = frame.filter(pl.col("method") == method).join(ours, on=["matrix", "k"], suffix="_ours")
        better = rows.filter(pl.col("resolved") > pl.col("resolved_ours") * (1 + TOLERANCE))
        if better.height:
            names = ", ".join(f"{r['matrix']} k={r['k']}" for r in better.iter_rows(named=True))
            said.append(f"value: {method} finds a better vector than {OURS} on {names}.")
        faster = rows.filter(pl.col("time_ratio") < 1)
        if faster.height:
            factors = 1 / faster["time_ratio"].to_numpy()
            where = _where(faster, rows)
            level = faster.filter(pl.col("loss_resolved") <= TOLERANCE).height
            said.append(
                f"time: {method} is faster than {OURS} on {share(faster.height, rows.height)} pairs{where}, by a "
                f"factor of {np.median(factors):.2g} in the median and {factors.max():.2g} at most; on {level} of "
                "these it finds the best value, too."
            )
    return said


def _where(some: pl.DataFrame, rows: pl.DataFrame) -> str:
    largest = int(some["d"].to_numpy().max())
    return f" (d up to {largest})" if largest < int(rows["d"].to_numpy().max()) else ""


HEURISTICS = Board("heuristics", "Heuristics: value and time at rho = 0", _run, _show, _beaten)
