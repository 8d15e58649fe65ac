"""Pictures of the boards; pure functions of their tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

__all__ = ["OVERVIEW", "PICTURES", "draw"]

# The picture at the top of the page, and the boards that it is made of.
OVERVIEW = "proved"
_PANELS = {"exact": ["matrix", "k"], "standardised": ["set", "k", "noise"]}

_COLOURS = {
    "noap ascent": "#0b6e4f",
    "noap exact": "#08a045",
    "PPM": "#c05746",
    "abess": "#3d5a98",
    "scikit-learn": "#e0a030",
    # Green is ours: general solvers have none of it, and a solver's models are shades of one colour.
    "SCIP, nonconvex model": "#1b2f5e",
    "SCIP, paper's MIP": "#3d5a98",
    "SCIP, MIP with every valid row": "#8fa8d8",
    "HiGHS, paper's MIP": "#e0a030",
    "Gurobi, paper's MIP": "#c05746",
}


def draw(tables: dict[str, pl.DataFrame], folder: Path) -> None:
    """Write `<board>.svg` for every board that has a picture."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    # Names inside the file are made from a salt: without a fixed one no two files are the same.
    with rc_context({"svg.hashsalt": "noap"}):
        for name, picture in PICTURES.items():
            if name in tables:
                figure = Figure(figsize=(8, 3.6), layout="constrained")
                picture(figure, tables[name])
                figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        panels = [name for name in _PANELS if name in tables]
        if panels:
            figure = Figure(figsize=(8, 5), layout="constrained")
            for axes, name in zip(np.ravel(figure.subplots(1, len(panels), sharey=True)), panels, strict=True):
                _proved(axes, name, tables[name])
            figure.savefig(folder / f"{OVERVIEW}.svg", metadata={"Date": None})


def _colour(method: str) -> str:
    return _COLOURS.get(method, "#777777")


def _proved(axes: Any, name: str, frame: pl.DataFrame) -> None:
    """Draw the share of problems that each method has proved against time: all of ours, then those all were given."""
    key = _PANELS[name]
    frame = frame.filter(pl.col("bound").is_not_null())
    if "cpu_s" in frame.columns:
        frame = frame.with_columns(pl.coalesce("cpu_s", "seconds").alias("seconds"))
    ours = frame.filter(pl.col("method") == "noap exact")
    others = frame.filter(pl.col("method") != "noap exact")
    given = others.select(key).unique()
    least, most = 1e-3, max(60.0, float(frame["seconds"].to_numpy().max()))
    lines = [(f"noap, all {ours.height}", ours, "-")]
    if given.height:
        lines.append((f"noap, the {given.height} that all were given", ours.join(given, on=key, how="semi"), "--"))
    lines += [(str(method), rows, "-") for (method,), rows in others.group_by(["method"], maintain_order=True)]
    for label, rows, style in lines:
        total = rows.select(key).n_unique()
        solved = rows.filter(pl.col("proved")).group_by(key).agg(pl.col("seconds").min())
        times = np.maximum(np.sort(solved["seconds"].to_numpy()), least)
        reached = 100 * np.arange(len(times) + 1) / total
        colour = _colour("noap exact" if label.startswith("noap") else label)
        given_s = rows["limit"].drop_nulls().to_numpy()
        end = max(float(given_s.max()) if len(given_s) else most, *times) if len(times) else most
        label = f"{label}: {reached[-1]:.0f} %"
        axes.step([least, *times, end], [*reached, reached[-1]], where="post", label=label, ls=style, color=colour)
    titles = {"exact": "Sparse PCA, no adversary", "standardised": "Real data, noise in every feature"}
    axes.set(xscale="log", xlabel="seconds", ylim=(-3, 103), title=titles[name])
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel("problems proved optimal, %")
    # Below: lines reach every corner of the panel.
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16))


def _heuristics(figure: Any, frame: pl.DataFrame) -> None:
    left, right = figure.subplots(1, 2)
    for (method,), rows in frame.group_by(["method"], maintain_order=True):
        losses = np.sort(100 * rows["loss_resolved"].to_numpy())
        left.step(np.arange(1, len(losses) + 1), losses, where="mid", label=method, color=_colour(str(method)))
        right.scatter(
            rows["d"].to_numpy(), 1e3 * rows["cpu_s"].to_numpy(), s=9, label=method, color=_colour(str(method))
        )
    left.set(xlabel="pairs, sorted", ylabel="loss after re-solving, %", title="Loss against the best value")
    right.set(xlabel="features d", ylabel="CPU time, ms", xscale="log", yscale="log", title="Time per pair")
    left.legend(frameon=False)


def _exact(figure: Any, frame: pl.DataFrame) -> None:
    axes = figure.subplots()
    frame = frame.filter(~pl.col("method").str.starts_with("published"))
    for (method,), rows in frame.group_by(["method"], maintain_order=True):
        pairs = rows.select("matrix", "k").n_unique()
        solved = rows.filter(pl.col("proved")).group_by("matrix", "k").agg(pl.col("seconds").min())
        times = np.sort(solved["seconds"].to_numpy())
        reached = 100 * np.arange(1, len(times) + 1) / pairs
        ends, last = [*times, 60.0], reached[-1] if len(times) else 0.0
        axes.step(ends, [*reached, last], where="post", label=method, color=_colour(str(method)))
    axes.set(xscale="log", xlabel="seconds", ylabel="pairs closed, %", ylim=(-2, 102), title="Closed within a time")
    axes.legend(frameon=False, fontsize=8)


def _robust(figure: Any, frame: pl.DataFrame) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    frame = frame.filter(pl.col("adversary") == "feature")
    for axes, column, title in zip(
        panels, ("loss_returned", "loss_resolved"), ("As returned", "Re-solved on the support"), strict=True
    ):
        for (method,), rows in frame.group_by(["method"], maintain_order=True):
            means = rows.group_by("budget").agg(pl.col(column).mean()).sort("budget")
            axes.plot(
                means["budget"],
                100 * means[column].to_numpy(),
                marker="o",
                ms=3,
                label=method,
                color=_colour(str(method)),
            )
        axes.set(xlabel="normalised budget", title=title)
    panels[0].set_ylabel("mean loss, %")
    panels[0].legend(frameon=False, fontsize=8)


def _growth(figure: Any, frame: pl.DataFrame) -> None:
    panels = figure.subplots(1, 4, sharey=True)
    columns = {"d": "d", "n": "n", "k": "k", "rho-bar": "budget"}
    for axes, (varied, column) in zip(panels, columns.items(), strict=True):
        part = frame.filter(pl.col("varied") == varied)
        for (method,), rows in part.group_by(["method"], maintain_order=True):
            rows = rows.sort(column)
            axes.plot(
                rows[column], 1e3 * rows["cpu_s"].to_numpy(), marker="o", ms=3, label=method, color=_colour(str(method))
            )
        axes.set(xlabel=varied, yscale="log", xscale="log" if varied in ("d", "n") else "linear")
    panels[0].set_ylabel("CPU time, ms")
    panels[0].legend(frameon=False, fontsize=7)


def _certificates(figure: Any, frame: pl.DataFrame) -> None:
    left, right = figure.subplots(1, 2)
    for (kind,), rows in frame.group_by(["kind"], maintain_order=True):
        left.scatter(1e3 * rows["solve_s"].to_numpy(), 1e3 * rows["verify_s"].to_numpy(), s=10, label=kind)
        right.scatter(rows["nodes"].to_numpy(), rows["bytes"].to_numpy(), s=10, label=kind)
    ends = [1e3 * frame["solve_s"].to_numpy().min(), 1e3 * frame["solve_s"].to_numpy().max()]
    left.plot(ends, ends, color="#999999", lw=0.8)
    left.set(xscale="log", yscale="log", xlabel="solve, ms", ylabel="verify, ms", title="Verification against solving")
    right.set(xscale="log", yscale="log", xlabel="nodes", ylabel="bytes", title="Size of the file")
    left.legend(frameon=False, fontsize=8)


def _profiles(figure: Any, frame: pl.DataFrame) -> None:
    from matplotlib import colormaps

    axes = figure.subplots()
    parts = frame["part"].unique(maintain_order=True).to_list()
    labels = []
    filled: dict[str, list[float]] = {part: [] for part in parts}
    for (method, name), rows in frame.group_by(["method", "instance"], maintain_order=True):
        labels.append(f"{method}: {name}")
        shares = dict(zip(rows["part"].to_list(), rows["share"].to_list(), strict=True))
        for part in parts:
            filled[part].append(100 * shares.get(part, 0.0))
    starts = np.zeros(len(labels))
    colours = colormaps["tab20"].colors  # type: ignore[attr-defined]
    for number, (part, widths) in enumerate(filled.items()):
        axes.barh(labels, widths, left=starts, label=part, color=colours[number % len(colours)])
        starts += widths
    axes.invert_yaxis()
    axes.set(xlabel="share of the time, %")
    figure.legend(frameon=False, fontsize=7, ncols=6, loc="outside lower center")


PICTURES: dict[str, Callable[[Any, pl.DataFrame], None]] = {
    "heuristics": _heuristics,
    "exact": _exact,
    "robust": _robust,
    "growth": _growth,
    "certificates": _certificates,
    "profiles": _profiles,
}
