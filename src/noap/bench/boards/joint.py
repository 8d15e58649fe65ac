"""Several components at once: value, bound and time beside one after the other and beside published values."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

from noap.bench.board import Board, BoardRow, Setting
from noap.bench.components import GAP, PUBLISHED, measured
from noap.bench.instances import real_sets, standardised_sets
from noap.bench.proving import warm_up
from noap.linalg.types import FloatArray
from noap.measuring.tables import markdown, percent, seconds, share

__all__ = ["JOINT", "STOCKS"]

_NOISE = 0.3
# The set with published values: 423 stocks, four components.
STOCKS, _STOCK_COMPONENTS = "snp500", 4


def _run(setting: Setting) -> Iterator[BoardRow]:
    spec = setting.spec
    warm_up()
    cases: list[tuple[str, FloatArray, int, int, float, float]] = []
    for name, key, S in real_sets(setting.folder):
        label = f"{name} {key or ''}".strip()
        cases += [(label, S, r, k, 0.0, spec.joint_seconds) for k in spec.joint_ks for r in spec.joint_rs]
    for name, C in standardised_sets(setting.folder):
        cases += [(name, C, r, k, _NOISE, spec.joint_seconds) for k in spec.joint_ks for r in spec.joint_rs]
    cases = [case for case in cases if case[3] <= len(case[1]) <= spec.joint_features]
    cases += _stocks(setting)
    for case in cases:
        yield from setting.once((case[0], *case[2:5]), partial(_case, setting, case))


def _stocks(setting: Setting) -> list[tuple[str, FloatArray, int, int, float, float]]:
    spec = setting.spec
    if not spec.stock_ks:
        return []
    place = None if setting.folder is None else setting.folder / "large" / f"{STOCKS}.npz"
    if place is None or not place.exists():
        setting.skipped.append("S&P 500 data are not in the folder of matrices: no values beside the published ones.")
        return []
    S = np.load(place)["corr"]
    return [(STOCKS, S, _STOCK_COMPONENTS, k, 0.0, spec.stock_seconds) for k in spec.stock_ks]


def _case(setting: Setting, case: tuple[str, FloatArray, int, int, float, float]) -> Iterator[BoardRow]:
    row = measured(*case)
    setting.say(f"{row['name']} r={row['r']} k={row['k']}: gap {percent(row['gap'])}, {seconds(row['cpu_s'])}")
    yield row


def _show(frame: pl.DataFrame) -> str:
    frame = frame.with_columns((1 - pl.col("one_by_one") / pl.col("value")).clip(lower_bound=0).alias("loses"))
    small, stocks = frame.filter(pl.col("name") != STOCKS), frame.filter(pl.col("name") == STOCKS)
    text = (
        "r components with disjoint supports of at most k features each, the sum of their (robust) variances; gap "
        f"{GAP:g}. *Deflation*: each component from the features that those before leave, each solved by the exact "
        "method. No peer that is installed here bounds the joint problem.\n\n"
    )
    body = []
    for (noise, r, k), rows in small.sort("noise", "r", "k", maintain_order=True).group_by(
        ["noise", "r", "k"], maintain_order=True
    ):
        proved, lost = rows.filter(pl.col("status") == "optimal"), rows["loses"].to_numpy()
        times = rows["cpu_s"].to_numpy()
        worst = rows["gap"].to_numpy().max()
        body.append([
            f"{noise:g}", r, k, share(proved.height, rows.height), seconds(float(np.median(times))),
            seconds(float(times.max())), percent(float(worst)) if proved.height < rows.height else "-",
            percent(float(np.median(lost))), percent(float(lost.max())),
            share(int(rows["verified"].sum()), rows.height),
        ])  # fmt: skip
    if body:
        text += markdown(
            ["noise", "r", "k", "proved", "median CPU time", "most", "largest gap left", "deflation loses, median",
             "most", "certificates accepted"], body
        )  # fmt: skip
    if stocks.height:
        text += "\n### S&P 500, four components: shares of the trace\n\n" + _published(stocks)
    return text


def _published(stocks: pl.DataFrame) -> str:
    body = []
    for row in stocks.sort("k").iter_rows(named=True):
        shares = [f"{row[name] / row['trace']:.4f}" for name in ("value", "bound", "one_by_one")]
        known = PUBLISHED.get(row["k"])
        others = [f"{one:.4f}" for one in known] if known else ["", ""]
        body.append([row["k"], *shares, *others, seconds(row["cpu_s"]), row["verified"]])
    return (
        "msPCA and nsprcomp are published values, of orthogonal rather than disjoint components: context, measured by "
        "their authors, not here.\n\n"
        + markdown(["k", "noap", "bound", "deflation", "msPCA", "nsprcomp", "CPU time", "certificate accepted"], body)
    )


def _beaten(frame: pl.DataFrame) -> list[str]:
    said = []
    for row in frame.filter(pl.col("status") != "optimal").sort("gap", descending=True).iter_rows(named=True):
        where = f"{row['name']} r={row['r']} k={row['k']}" + (f" noise={row['noise']:g}" if row["noise"] else "")
        said.append(f"proof: {where} together is open, with a gap of {percent(row['gap'])}.")
    for row in frame.filter(pl.col("one_by_one") > pl.col("value") * (1 + 1e-9)).iter_rows(named=True):
        said.append(f"value: deflation is better than all at once on {row['name']} r={row['r']} k={row['k']}.")
    for row in frame.filter(pl.col("name") == STOCKS).iter_rows(named=True):
        for peer, value in zip(("msPCA", "nsprcomp"), PUBLISHED.get(row["k"], ()), strict=False):
            if value > row["value"] / row["trace"]:
                said.append(f"value: {peer} has published more on S&P 500 at k={row['k']} (orthogonal components).")
    rejected = frame.filter(~pl.col("verified"))
    said += [
        f"certificate: that of {r['name']} r={r['r']} k={r['k']} is not accepted."
        for r in rejected.iter_rows(named=True)
    ]
    return said


JOINT = Board("joint", "Several components at once", _run, _show, _beaten)
