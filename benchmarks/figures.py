"""Pictures of the boards; pure functions of their tables."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.summary import EXACT, of, with_best
from benchmarks.words import label

__all__ = ["OVERVIEW", "PICTURES", "draw"]

# The picture at the top of the page, and the boards that it is made of.
OVERVIEW = "proved"
_PANELS = {"vanilla": "Sparse PCA, no adversary", "standardised": "Real data, noise in every feature"}
_COLOURS = {
    "ascent": "#0b6e4f", EXACT: "#08a045", "ppm": "#c05746", "abess": "#3d5a98", "scikit-learn": "#e0a030",
    # Green is ours: general solvers have none of it, and a solver's models are shades of one colour.
    "SCIP, paper's MIP": "#3d5a98", "SCIP, MIP with every valid row": "#8fa8d8",
    "HiGHS, paper's MIP": "#e0a030", "Gurobi, paper's MIP": "#c05746",
}  # fmt: skip


def draw(tables: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """Write `<board>.svg` for every board that has a picture, and the overview."""
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
                _proved(axes, tables[name])
                axes.set_title(_PANELS[name])
            figure.savefig(folder / f"{OVERVIEW}.svg", metadata={"Date": None})


def _colour(method: str) -> str:
    return _COLOURS.get(method, "#777777")


def _proved(axes: Any, frame: pl.DataFrame) -> None:
    """Draw the share of problems that each method has proved against time: all of ours, then those all were given."""
    frame = frame.filter(pl.col("bound").is_not_null() & (pl.col("method") != "relaxation"))
    frame = frame.with_columns(pl.coalesce("cpu_s", "wall_s").alias("taken"))
    ours, others = of(frame, EXACT), frame.filter(pl.col("method") != EXACT)
    lines = [(f"noap, all {ours.height}", EXACT, ours, "-")]
    if others.height:
        given = ours.join(others.select("instance").unique(), on="instance", how="semi")
        lines.append((f"noap, the {given.height} that all were given", EXACT, given, "--"))
    lines += [(str(m), str(m), rows, "-") for (m,), rows in others.group_by("method", maintain_order=True)]
    for name, method, rows, style in lines:
        times = np.maximum(np.sort(rows.filter("proved")["taken"].to_numpy()), 1e-3)
        reached = 100 * np.arange(len(times) + 1) / rows.height
        end = max(float(rows["limit_s"].fill_null(0.0).to_numpy().max()), *times, 1.0)
        label_ = f"{name}: {reached[-1]:.0f} %"
        axes.step(
            [1e-3, *times, end], [*reached, reached[-1]], where="post", label=label_, ls=style, color=_colour(method)
        )
    axes.set(xscale="log", xlabel="seconds", ylim=(-3, 103))
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel("problems proved optimal, %")
    # Below: lines reach every corner of the panel.
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16))


def _grid(figure: Any, frame: pl.DataFrame) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    frame = with_best(frame).filter(pl.col("bound").is_null())
    titles = {"returned_loss": "As returned", "value_loss": "Re-solved on the support"}
    for axes, (column, title) in zip(panels, titles.items(), strict=True):
        for (method,), rows in frame.group_by("method", maintain_order=True):
            means = rows.group_by("budget").agg(pl.col(column).mean()).sort("budget")
            style = {"marker": "o", "ms": 3, "label": label(str(method)), "color": _colour(str(method))}
            axes.plot(means["budget"], 100 * means[column].to_numpy(), **style)
        axes.set(xlabel="normalised budget", title=title)
    panels[0].set_ylabel("mean loss, %")
    panels[0].legend(frameon=False, fontsize=8)


PICTURES: dict[str, Callable[[Any, pl.DataFrame], None]] = {"grid": _grid}
