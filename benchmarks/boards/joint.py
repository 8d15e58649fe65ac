"""Several components at once: value, bound and time beside one after the other and beside published values."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks.board import Board, Setting
from benchmarks.data import modules, of_covariance, real_sets, standardised_sets
from benchmarks.instances import Instance
from benchmarks.summary import open_sentences
from benchmarks.words import more, percent, seconds, share
from noap.experiments.formats import markdown

__all__ = ["JOINT", "PUBLISHED", "STOCKS"]

_FEATURES = 128
# The set with published values: 423 stocks, four components, 120 s.
STOCKS = "snp500"
# msPCA and nsprcomp by k: shares of the trace, of orthogonal rather than disjoint components.
PUBLISHED = {
    5: (0.0347, 0.0417), 10: (0.0639, 0.0660), 20: (0.0930, 0.0986), 25: (0.0953, 0.1083), 30: (0.1113, 0.1025),
    35: (0.1142, 0.1051),
}  # fmt: skip


def _instances(setting: Setting) -> Iterator[Instance]:
    quick = setting.quick
    sets = [(f"{name} {key or ''}".strip(), S, 0.0) for name, key, S in real_sets(setting)]
    sets += [(name, C, 0.3) for name, C in standardised_sets(setting)]
    for name, S, noise in sets:
        for k in (5,) if quick else (5, 10):
            for r in (2,) if quick else (2, 3):
                if k <= len(S) <= (34 if quick else _FEATURES):
                    label = f"{name} r={r} k={k} noise={noise:g}"
                    yield of_covariance(label, S, k, noise, r=r, data=name, limit=20.0, task="components")
    for d in () if quick else (500, 3000):
        X = modules(200, d)
        known = {"rho": 0.3 * np.sqrt(len(X)), "data": "modules", "limit": 90.0, "task": "components", "r": 3}
        yield of_covariance(f"modules d={d} r=3 k=5 noise=0.3", X, 5, 0.3, **known)
    place = None if setting.folder is None else setting.folder / "large" / f"{STOCKS}.npz"
    if place is None or not place.exists():
        setting.skipped.append("S&P 500 data are not in the folder of matrices: no values beside the published ones.")
        return
    S = np.load(place)["corr"]
    for k in () if quick else PUBLISHED:
        yield of_covariance(f"{STOCKS} r=4 k={k}", S, k, r=4, data=STOCKS, limit=120.0, task="components")


def _show(frame: pl.DataFrame) -> str:
    rows = frame.with_columns(pl.Series("alone", [more(row, "one_by_one") for row in frame.iter_rows(named=True)]))
    rows = rows.with_columns((1 - pl.col("alone") / pl.col("value")).clip(lower_bound=0).alias("loses"))
    body = []
    small = rows.filter(~pl.col("data").is_in([STOCKS, "modules"])).sort("budget", "r", "k", maintain_order=True)
    for (noise, r, k), some in small.group_by("budget", "r", "k", maintain_order=True):
        proved, lost, times = some.filter("proved").height, some["loses"].to_numpy(), some["cpu_s"].to_numpy()
        body.append([
            f"{noise:g}", r, k, share(proved, some.height), seconds(float(np.median(times))),
            seconds(float(times.max())), percent(some["gap"].to_numpy().max()) if proved < some.height else "-",
            percent(float(np.median(lost))), percent(float(lost.max())),
            share(int(some["verified"].sum()), some.height),
        ])  # fmt: skip
    text = (
        "r components with disjoint supports of at most k features each, the sum of their (robust) variances, to 1e-4. "
        "*Deflation*: each component from the features that those before leave, each solved by the exact method. No "
        "peer that is installed here bounds the joint problem.\n\n"
    )
    text += markdown(
        ["noise", "r", "k", "proved", "median CPU time", "slowest", "largest gap left", "deflation loses, median",
         "at most", "certificates accepted"], body
    )  # fmt: skip
    stocks = [
        [row["k"], *(f"{one / more(row, 'trace'):.4f}" for one in (row["value"], row["bound"], row["alone"])),
         *(f"{one:.4f}" for one in PUBLISHED[row["k"]]), seconds(row["cpu_s"]), row["verified"]]
        for row in rows.filter(pl.col("data") == STOCKS).iter_rows(named=True)
    ]  # fmt: skip
    if stocks:
        text += "\n### S&P 500, four components: shares of the trace\n\nmsPCA and nsprcomp are published values, of "
        text += "orthogonal rather than disjoint components: context, measured by their authors, not here.\n\n"
        head = ["k", "noap", "bound", "deflation", "msPCA", "nsprcomp", "CPU time", "certificate accepted"]
        text += markdown(head, stocks)
    return text


def _beaten(frame: pl.DataFrame) -> list[str]:
    said = open_sentences(frame)
    for row in frame.iter_rows(named=True):
        alone = more(row, "one_by_one")
        if alone is not None and alone > row["value"] * (1 + 1e-9):
            said.append(f"value: deflation is better than all at once on {row['instance']}.")
        for peer, value in zip(
            ("msPCA", "nsprcomp"), PUBLISHED[row["k"]] if row["data"] == STOCKS else (), strict=False
        ):
            if value > row["value"] / more(row, "trace"):
                said.append(f"value: {peer} has published more on S&P 500 at k={row['k']} (orthogonal components).")
    return said


JOINT = Board("joint", "Several components at once", _show, _instances, beaten=_beaten)
