"""What tables of any board say: proofs, vectors, instance by instance, defeats, and one side against the other."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from benchmarks.words import label, percent, seconds, share
from noap.experiments.formats import markdown

__all__ = [
    "ASCENT", "EXACT", "TOLERANCE", "against", "beaten", "every", "of", "open_sentences", "proofs", "solvers",
    "vectors", "with_best",
]  # fmt: skip

EXACT, ASCENT = "exact", "ascent"
# Values closer than this, relative to the best, count as the same.
TOLERANCE = 1e-5


def of(frame: pl.DataFrame, *methods: str) -> pl.DataFrame:
    """Return the rows of methods."""
    return frame.filter(pl.col("method").is_in(methods))


def with_best(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the best value that anybody found for an instance, and what a row loses against it."""
    best = frame.group_by("instance", maintain_order=True).agg(pl.col("value").max().alias("best"))
    frame = frame.join(best, on="instance", how="left", maintain_order="left")
    lost = {name: (1 - pl.col(name) / pl.col("best")).clip(lower_bound=0) for name in ("value", "returned")}
    return frame.with_columns(
        *(pl.when(pl.col("best") > 0).then(one).otherwise(0.0).alias(f"{name}_loss") for name, one in lost.items())
    )


def proofs(frame: pl.DataFrame, by: Sequence[str]) -> str:
    """Return how many instances were proved, what that took, and what their certificates take to check."""
    body = []
    for key, rows in frame.sort(by, maintain_order=True).group_by(by, maintain_order=True):
        proved = rows.filter(pl.col("proved"))
        times = rows["cpu_s"].fill_null(rows["wall_s"]).to_numpy()
        checks = rows.drop_nulls("verify_s")
        left = rows.filter(~pl.col("proved"))["gap"]
        body.append([
            *(f"{one:g}" if isinstance(one, float) else one for one in key), share(proved.height, rows.height),
            seconds(_median(times)), seconds(float(times.max())),
            f"{_median(proved['nodes'].drop_nulls().to_numpy()):.0f}" if proved.height else "-",
            percent(float(left.to_numpy().max())) if left.len() else "-",
            share(int(rows["verified"].sum()), rows["verified"].drop_nulls().len()),
            seconds(_median(checks["verify_s"].to_numpy())), _whole(checks["bytes"].drop_nulls().to_numpy()),
        ])  # fmt: skip
    columns = ["proved", "median time", "slowest", "median nodes", "largest gap left", "certificates accepted",
               "median check", "median bytes"]  # fmt: skip
    return markdown([*by, *columns], body)


def _median(numbers: np.ndarray) -> float:
    return float(np.median(numbers)) if len(numbers) else math.nan


def _whole(numbers: np.ndarray) -> str:
    return f"{np.median(numbers):.0f}" if len(numbers) else "-"


def vectors(frame: pl.DataFrame) -> str:
    """Return what the methods without a proof lose against the best value known, and how long they take."""
    frame = with_best(frame)
    base = of(frame, ASCENT).select("instance", pl.col("cpu_s").alias("base"))
    body = []
    for (method,), rows in frame.filter(pl.col("bound").is_null()).group_by("method", maintain_order=True):
        cells = []
        for column in ("returned_loss", "value_loss"):
            losses = rows[column].drop_nulls().to_numpy()
            best = int((losses <= TOLERANCE).sum())
            cells += [share(best, len(losses)), percent(float(losses.max()))] if len(losses) else ["-", "-"]
        both = rows.join(base, on="instance")
        ratios = (both["cpu_s"] / both["base"]).drop_nulls().to_numpy()
        body.append([label(str(method)), *cells, seconds(_median(rows["cpu_s"].to_numpy())), f"{_median(ratios):.2g}"])
    columns = ["method", "best as returned", "largest loss", "best re-solved", "largest loss", "median CPU time",
               "time / ascent, median"]  # fmt: skip
    return markdown(columns, body)


def solvers(frame: pl.DataFrame) -> str:
    """Return what general solvers leave open of the problems that they were given, beside ours on the same ones."""
    frame = with_best(frame).filter(pl.col("bound").is_not_null() & (pl.col("method") != "relaxation"))
    others = frame.filter(pl.col("method") != EXACT)
    given = others["instance"].unique()
    body = []
    for (method,), rows in frame.filter(pl.col("instance").is_in(given.implode())).group_by(
        "method", maintain_order=True
    ):
        gaps = np.maximum((rows["bound"] / rows["best"] - 1).to_numpy(), 0.0)
        times = rows["cpu_s"].fill_null(rows["wall_s"]).to_numpy()
        body.append([
            label(str(method)), share(int((rows["value"] > 0).sum()), rows.height),
            share(int(rows["proved"].sum()), rows.height), percent(_median(gaps)), percent(float(gaps.max())),
            seconds(_median(times)), seconds(float(times.max())),
        ])  # fmt: skip
    lead = (
        f"On {given.len()} of the problems, of at most {others['d'].to_numpy().max()} features, within "
        f"{seconds(float(others['limit_s'].to_numpy().max()))}, to the tolerances of the solvers; the gap is that of "
        "the bound against the best value known, whoever found it.\n\n"
    )
    columns = ["method", "found a vector", "proved", "median gap", "largest gap", "median time", "slowest"]
    return lead + markdown(columns, body)


def every(frame: pl.DataFrame) -> str:
    """Return a line for each instance: seconds of a proof, or what is left; loss and seconds of a vector."""
    frame = with_best(frame)
    methods = frame["method"].unique(maintain_order=True).to_list()
    body = []
    for (name,), rows in frame.group_by("instance", maintain_order=True):
        first, cells = rows.row(0, named=True), {row["method"]: row for row in rows.iter_rows(named=True)}
        body.append([name, first["d"], *(_cell(cells.get(method)) for method in methods)])
    return markdown(["instance", "d", *map(label, methods)], body)


def _cell(row: dict[str, float] | None) -> str:
    if row is None:
        return ""
    taken = seconds(row["cpu_s"] if row["cpu_s"] is not None else row["wall_s"])
    if row["bound"] is None:
        return f"{percent(row['value_loss'])}, {taken}"
    return taken if row["proved"] else f"{percent(max(row['bound'] / row['best'] - 1, 0.0))} left"


def open_sentences(frame: pl.DataFrame) -> list[str]:
    """Return a sentence for each problem that stays open, the largest gap first, and for each rejected proof."""
    said = []
    for row in frame.filter(~pl.col("proved")).sort("gap", descending=True).iter_rows(named=True):
        left = f"a gap of {percent(row['gap'])}" if row["gap"] is not None and math.isfinite(row["gap"]) else "no bound"
        said.append(f"proof: {row['instance']} is open, with {left} after {seconds(row['wall_s'] or row['limit_s'])}.")
    rejected = frame.filter(pl.col("verified").not_())
    return said + [f"certificate: that of {name} is not accepted." for name in rejected["instance"]]


def beaten(frame: pl.DataFrame) -> list[str]:
    """Return a sentence for every kind of place where a peer is better, or something stays open."""
    exact = of(frame, EXACT)
    said = open_sentences(exact)
    unproved = pl.col("bound").is_null()
    for base, rows in (
        (ASCENT, frame.filter(unproved & (pl.col("method") != EXACT))),
        (EXACT, frame.filter(~unproved)),
    ):
        ours = of(frame, base).select("instance", pl.col("value", "cpu_s", "wall_s").name.suffix("_ours"))
        for (method,), mine in rows.join(ours, on="instance").group_by("method", maintain_order=True):
            if method in (base, "relaxation"):
                continue
            who, better = label(str(method)), mine.filter(pl.col("value") > pl.col("value_ours") * (1 + TOLERANCE))
            if better.height:
                names = ", ".join(better["instance"].head(3)) + (", ..." if better.height > 3 else "")
                said.append(f"value: {who} is better than {label(base)} on {better.height} instances: {names}.")
            spent, own = (pl.coalesce(f"cpu_s{end}", f"wall_s{end}") for end in ("", "_ours"))
            faster = mine.filter((spent < own) & (pl.col("proved") if base == EXACT else True))
            if faster.height:
                factors = faster.select(own / spent).to_series().to_numpy()
                words = f"by {np.median(factors):.2g} in the median and {factors.max():.2g} at most"
                said.append(f"time: {who} is faster than {label(base)} on {share(faster.height, mine.height)}, {words}"
                            f"{_as_good(frame, faster) if base == ASCENT else ''}.")  # fmt: skip
    short = with_best(frame).filter((pl.col("method") == ASCENT) & (pl.col("value_loss") > TOLERANCE))
    return said + [
        f"value: {label(ASCENT)} loses {percent(row['value_loss'])} on {row['instance']}."
        for row in short.iter_rows(named=True)
    ]


def _as_good(frame: pl.DataFrame, some: pl.DataFrame) -> str:
    best = with_best(frame).select("instance", "best").unique()
    level = some.join(best, on="instance").filter(pl.col("value") >= pl.col("best") * (1 - TOLERANCE)).height
    return f"; on {level} of these it finds the best value, too"


def against(frame: pl.DataFrame, before: str, after: str) -> str:
    """Return what a comparison of two sides says: times, ratios by name, nodes, certificates, and what differs."""
    left, right = (frame.filter(pl.col("side") == side) for side in (before, after))
    both = left.join(right, on=["board", "instance"], suffix="_after", maintain_order="left")
    text = []
    for (board,), rows in both.group_by("board", maintain_order=True):
        closed = rows.filter(pl.col("proved") & pl.col("proved_after"))
        body = []
        for what, column in (("solve, CPU", "cpu_s"), ("verify, CPU", "verify_s")):
            old, new = (closed[name].drop_nulls().to_numpy() for name in (column, f"{column}_after"))
            if len(old) and len(old) == len(new):
                ratios = old / np.maximum(new, 1e-9)
                body.append([
                    what, *(seconds(one) for side in (old, new) for one in (_median(side), side.sum(), side.max())),
                    f"{np.median(ratios):.2f}", f"{ratios.min():.2f} to {ratios.max():.2f}",
                ])  # fmt: skip
        counts = [share(int(rows[name].sum()), rows.height) for name in ("proved", "proved_after")]
        checks = [share(int(rows[n].sum()), rows[n].drop_nulls().len()) for n in ("verified", "verified_after")]
        middle = [[_whole(closed[f"{name}{end}"].drop_nulls().to_numpy()) for end in ("", "_after")]
                  for name in ("nodes", "bytes")]  # fmt: skip
        text.append(
            f"## {board}\n\n{rows.height} instances: proved {counts[0]} by {before}, {counts[1]} by {after}; "
            f"certificates accepted {checks[0]} and {checks[1]}; median nodes {' and '.join(middle[0])}, median bytes "
            f"{' and '.join(middle[1])}. Times of the {closed.height} that both prove; ratio: {before} / {after}.\n\n"
            + markdown(["", f"{before}: median", "sum", "slowest", f"{after}: median", "sum", "slowest",
                        "ratio, median", "range"], body)
        )  # fmt: skip
        worst = closed.with_columns((pl.col("cpu_s") / pl.col("cpu_s_after")).alias("ratio")).sort("ratio").head(8)
        names = [[r["instance"], seconds(r["cpu_s"]), seconds(r["cpu_s_after"]), f"{r['ratio']:.2f}", r["nodes"],
                  r["nodes_after"]] for r in worst.iter_rows(named=True)]  # fmt: skip
        text.append("Worst ratios:\n\n" + markdown(["instance", before, after, "ratio", "nodes", "nodes"], names))
        text.append(_differences(rows, before, after))
    return "\n".join(part for part in text if part)


def _differences(rows: pl.DataFrame, before: str, after: str) -> str:
    """Return the instances whose answers differ: what is proved, gaps, values, bounds that contradict values."""
    value, other = pl.col("value"), pl.col("value_after")
    differs = (
        (pl.col("proved") != pl.col("proved_after"))
        | ((value - other).abs() > 1e-6 * value.abs()).fill_null(True)
        | (~pl.col("proved") & ~pl.col("proved_after"))
        | (pl.col("bound") < other * (1 - 1e-9))
        | (pl.col("bound_after") < value * (1 - 1e-9))
        | pl.col("verified").not_()
        | pl.col("verified_after").not_()
    )
    body = []
    for row in rows.filter(differs).iter_rows(named=True):
        cells = []
        for end in ("", "_after"):
            value_, gap = row[f"value{end}"], row[f"gap{end}"]
            cells += ["-" if value_ is None else f"{value_:.8g}", percent(gap), row[f"stopped{end}"] or ""]
        body.append([row["instance"], *cells])
    if not body:
        return ""
    head = ["instance", f"{before}: value", "gap", "stopped by", f"{after}: value", "gap", "stopped by"]
    return "Open, rejected, or answers that differ:\n\n" + markdown(head, body)
