"""Draw the experiments: pure functions from tables to figures, written as PNG and SVG."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from noap.experiments.population import Population
from noap.experiments.spec import Spec
from noap.experiments.table import BEST
from noap.linalg.types import FloatArray

if TYPE_CHECKING:
    import polars

__all__ = ["cosines", "cosines_full", "measures", "measures_full", "recovery", "save", "stages", "vectors_over_n"]

# Okabe and Ito's colours stay apart for colour-blind readers; markers tell the lines apart without any colour.
STYLE = {
    BEST: ("#000000", "o"),
    "MIP": ("#0072B2", "s"),
    "MIP-r": ("#56B4E9", "D"),
    "PPM": ("#D55E00", "^"),
    "vanilla": ("#E69F00", "v"),
    "exact": ("#009E73", "o"),
    "exact-15": ("#009E73", "x"),
    "MIP corrected": ("#CC79A7", "P"),
    "MIP-r corrected": ("#882255", "X"),
}
STAGE_STYLE = {
    "full": ("#009E73", "o"),
    "partial": ("#0072B2", "s"),
    "single": ("#E69F00", "D"),
    "none": ("#000000", "^"),
}
_POPULATION = {"color": "0.35", "linewidth": 1.0}
# Drawn wide, so that they show beneath a corrected program with the same answer.
_WIDE = ("MIP", "MIP-r")
_FLOOR = 1e-5  # smallest gap that a logarithmic axis shows


def cosines(points: "polars.DataFrame", spec: Spec, population: Population) -> Figure:
    """Draw Figure 1 of the paper: cosines of the strong (solid) and weak (dashed) part, one column per method.

    PPM has a hatched band between the iterates at T and T + 1. White marks: the solution of the printed program is its
    start in most draws. A cross on the axis: a program found no solution in some draw; the curve is that of the others.

    Parameters
    ----------
    points : polars.DataFrame
        Means and standard deviations, from :func:`noap.experiments.table.points`.
    spec : Spec
    population : Population
        Drawn as thin grey lines behind the exact method.
    """
    labels = [BEST, "MIP", "MIP corrected", "MIP-r", "MIP-r corrected", "PPM", "vanilla", "exact"]
    figure, panels = _grid(len(spec.samples), len(labels), "rho-bar", width=2.1)
    for n, row in zip(spec.samples, panels, strict=True):
        for label, axes in zip(labels, row, strict=True):
            one = _select(points, label, n)
            _parts(axes, one, "cosine", STYLE[label], "strong", "weak")
            for part in ("strong", "weak"):
                _mark_solutions(axes, one, f"cosine_{part}", STYLE[label])
                if label == "PPM":
                    _parities(axes, points, n, f"cosine_{part}")
            if label == "exact":
                _cosines_of(axes, population)
            axes.set_ylim(-0.05, 1.08)
            axes.set_title(label, fontsize="small")
        row[0].set_ylabel(f"n = {n}\ncosine with the truth")
        row[0].legend(frameon=False, fontsize="small")
    return figure


def cosines_full(points: "polars.DataFrame", spec: Spec, population: Population) -> Figure:
    """Draw the cosines of the certified optimum at full d over a fine grid, one row per n, with the population path.

    The vertical lines are the exact thresholds of Theorem 5.
    """
    figure, panels = _grid(len(spec.samples), 2, "rho-bar", width=4.2)
    for n, row in zip(spec.samples, panels, strict=True):
        one = _select(points, "exact", n)
        _parts(row[0], one, "cosine", STYLE["exact"], "strong", "weak")
        _cosines_of(row[0], population)
        row[0].set_ylim(-0.05, 1.08)
        row[0].set_ylabel(f"n = {n}\ncosine with the truth")
        _band(row[1], one, "size", STYLE["exact"], "-", "certified optimum")
        row[1].plot(population.budgets, population.sizes, label="population", drawstyle="steps-post", **_POPULATION)
        row[1].set_ylabel("features selected")
        for axes in row:
            for threshold in population.thresholds:
                axes.axvline(threshold, color="0.7", linewidth=0.8, linestyle=":")
    for axes in panels[0]:
        axes.legend(frameon=False, fontsize="small")
    return figure


def measures(points: "polars.DataFrame", spec: Spec, population: Population) -> Figure:
    """Draw Figure 2 of the paper: gap, objective and support recovery, on the paper's 15 features."""
    return _measures(
        points,
        spec,
        population=None,
        gaps=("MIP", "MIP-r", "vanilla", "MIP corrected", "MIP-r corrected"),
        values=("MIP", "MIP-r", "PPM", "vanilla", "MIP corrected", "MIP-r corrected", "exact-15"),
        supports=("MIP", "MIP-r", "PPM", "MIP corrected"),
        scope="15 features",
    )


def measures_full(points: "polars.DataFrame", spec: Spec, population: Population) -> Figure:
    """Draw gap, objective and support recovery over all features, with certified bounds and the population path."""
    return _measures(
        points,
        spec,
        population=population,
        gaps=("exact", "vanilla"),
        values=("exact", "PPM", "vanilla"),
        supports=("exact", "PPM"),
        scope="all features",
    )


def _measures(
    points: "polars.DataFrame",
    spec: Spec,
    *,
    population: Population | None,
    gaps: Sequence[str],
    values: Sequence[str],
    supports: Sequence[str],
    scope: str,
) -> Figure:
    figure, panels = _grid(len(spec.samples), 3, "rho-bar", width=4.2)
    for n, (gap, value, support) in zip(spec.samples, panels, strict=True):
        for label in gaps:
            _band(gap, _select(points, label, n), "gap", STYLE[label], "-", label, floor=_FLOOR)
        gap.set_yscale("log")
        gap.set_ylabel(f"n = {n}\n(bound - best value)/best value")
        for label in values:
            one = _select(points, label, n)
            _band(value, one, "value", STYLE[label], "-", label, floor=0.0)
            _mark_solutions(value, one, "value", STYLE[label])
        value.set_ylabel("robust variance")
        for label in supports:
            one = _select(points, label, n)
            _parts(support, one, "recovery", STYLE[label], label, "")
            for part in ("strong", "weak"):
                _mark_solutions(support, one, f"recovery_{part}", STYLE[label])
                if label == "PPM":
                    _parities(support, points, n, f"recovery_{part}")
        support.set_ylabel("support recovered")
        support.set_ylim(-0.05, 1.08)
        support.set_yticks([0.0, 0.5, 1.0])
        if population is not None:
            value.plot(population.budgets, population.values, label="population", **_POPULATION)
            support.plot(population.budgets, population.recovery_strong, label="population", **_POPULATION)
            support.plot(population.budgets, population.recovery_weak, linestyle="--", **_POPULATION)
    for axes, title in zip(panels[0], (f"gap, {scope}", f"objective, {scope}", f"support, {scope}"), strict=True):
        axes.set_title(title, fontsize="small")
        if axes is not panels[0][2]:
            axes.legend(frameon=False, fontsize="x-small")
    # One colour per method; which part it is the line says, in an entry of its own.
    handles, names = panels[0][2].get_legend_handles_labels()
    handles += [Line2D([], [], color="0.2", linestyle="-"), Line2D([], [], color="0.2", linestyle="--")]
    names += ["strong part", "weak part"]
    panels[0][2].legend(
        handles, names, frameon=False, fontsize="x-small", loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=3.0
    )
    return figure


def vectors_over_n(cosines_to_vanilla: "polars.DataFrame", spec: Spec) -> Figure:
    """Draw Theorem 3: the cosine between the sample-wise optimum at rho and the one at 0, against n.

    Parameters
    ----------
    cosines_to_vanilla : polars.DataFrame
        Columns n, budget, mean, std, from :func:`noap.experiments.claims.cosines_to_vanilla`.
    """
    figure, panels = _grid(1, 1, "samples n", width=5.0, height=3.4)
    axes = panels[0][0]
    styles = zip(("#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7"), "osv^D", strict=True)
    for budget, (colour, marker) in zip(sorted(b for b in spec.budgets if b > 0), styles, strict=False):
        one = cosines_to_vanilla.filter(cosines_to_vanilla["budget"] == budget).sort("n")
        x, mean, std = (one[name].to_numpy() for name in ("n", "mean", "std"))
        axes.plot(x, 1.0 - mean, color=colour, marker=marker, label=f"rho = {budget:g}")
        axes.fill_between(
            x, np.maximum(1.0 - mean - std, 1e-6), 1.0 - mean + std, color=colour, alpha=0.15, linewidth=0
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylabel("1 - cosine between\nthe optima at rho and at 0")
    axes.legend(frameon=False, fontsize="small")
    return figure


def recovery(points: "polars.DataFrame", spec: Spec, guaranteed: tuple[FloatArray, FloatArray]) -> Figure:
    """Draw Theorem 4: cosine of the certified optimum with a general sparse truth, and what the theorem guarantees.

    Parameters
    ----------
    guaranteed : (budgets, cosines)
        The population guarantee of Theorem 4 as corrected.
    """
    figure, panels = _grid(1, 1, "rho-bar", width=5.0, height=3.4)
    axes = panels[0][0]
    styles = zip(("#D55E00", "#0072B2", "#009E73"), "^so", strict=True)
    for n, style in zip(spec.samples, styles, strict=False):
        _band(axes, _select(points, "exact", n), "cosine", style, "-", f"n = {n}")
    axes.plot(*guaranteed, linestyle="--", label="guaranteed as n grows (Theorem 4, corrected)", **_POPULATION)
    axes.set_ylabel("cosine with the truth")
    axes.set_ylim(0.0, 1.05)
    axes.legend(frameon=False, fontsize="small", loc="lower left")
    return figure


def stages(table: "polars.DataFrame", spec: Spec, population: Population) -> Figure:
    """Draw Theorem 5: the share of draws whose certified optimum is in each stage, one panel per n.

    Parameters
    ----------
    table : polars.DataFrame
        One row per trial, from :func:`noap.experiments.table.trials`.
    spec : Spec
    population : Population
        Its exact thresholds are dotted lines.
    """
    figure, panels = _grid(1, len(spec.samples), "rho-bar", width=3.4)
    for axes, n in zip(panels[0], spec.samples, strict=True):
        one = table.filter((table["n"] == n) & (table["method"] == "exact"))
        for kind, (colour, marker) in STAGE_STYLE.items():
            optima = [one.filter(one["budget"] == budget).select("size", "value").rows() for budget in spec.budgets]
            shares = [np.mean([stage_of(size, value, spec.model.k) == kind for size, value in here]) for here in optima]
            axes.plot(spec.budgets, shares, color=colour, marker=marker, markersize=3, linewidth=1.2, label=kind)
        for threshold in population.thresholds:
            axes.axvline(threshold, color="0.5", linewidth=0.9, linestyle=":")
        axes.set_title(f"n = {n}", fontsize="small")
        axes.set_ylim(-0.05, 1.05)
    panels[0][0].set_ylabel("share of the draws")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, frameon=False, fontsize="small", loc="outside upper center", ncols=len(names))
    return figure


def stage_of(size: int, value: float, k: int) -> str:
    """Return the stage of an optimum, in the words of `Path.stages`, from the number of its features and its value."""
    if value == 0.0:
        return "none"
    return "full" if size == k else "single" if size == 1 else "partial"


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write `stem`.png and `stem`.svg; the same figure gives the same bytes. Return the paths."""
    written = [stem.with_name(stem.name + suffix) for suffix in (".png", ".svg")]
    # Without the salt and with a date, every SVG would differ from the last.
    with rc_context({"svg.hashsalt": "noap"}):
        figure.savefig(written[0], dpi=130, metadata={"Software": None})
        figure.savefig(written[1], metadata={"Date": None})
    return written


def _grid(
    rows: int, columns: int, label: str, width: float = 2.5, height: float = 2.6
) -> tuple[Figure, list[list[Any]]]:
    figure = Figure(figsize=(width * columns, height * rows + 0.3), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize="small")
    for axes in panels[-1]:
        axes.set_xlabel(label)
    return figure, [list(row) for row in panels]


def _select(points: "polars.DataFrame", label: str, n: int) -> "polars.DataFrame":
    return points.filter((points["method"] == label) & (points["n"] == n)).sort("budget")


def _band(
    axes: Any,
    points: "polars.DataFrame",
    name: str,
    style: tuple[str, str],
    line: str,
    label: str,
    floor: float | None = None,
) -> None:
    """Plot the mean, and shade one standard deviation on either side."""
    known = points.filter(points[name].is_not_null())
    x, mean, std = (known[column].to_numpy() for column in ("budget", name, f"{name}_std"))
    low = mean - std
    if floor is not None:
        mean, low = np.maximum(mean, floor), np.maximum(low, floor)
    if name == "gap":  # on a logarithmic axis a large deviation would reach down to nothing: no trial lies there
        low = np.minimum(np.maximum(low, known["gap_min"].to_numpy()), mean)
    high = mean + std
    if name.startswith(("cosine", "recovery")):  # shares: no trial lies outside 0 and 1
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    colour, marker = style
    wide = points["method"].is_in(_WIDE).any()
    axes.plot(
        x,
        mean,
        color=colour,
        marker=marker,
        markersize=7 if wide else 4,
        markevery=max(len(x) // 12, 1),
        linestyle=line,
        linewidth=2.8 if wide else 1.5,
        label=label,
    )
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def _parts(axes: Any, points: "polars.DataFrame", name: str, style: tuple[str, str], strong: str, weak: str) -> None:
    """Plot a measure of the strong part (solid) and of the weak part (dashed)."""
    _band(axes, points, f"{name}_strong", style, "-", strong)
    _band(axes, points, f"{name}_weak", style, "--", weak)


def _mark_solutions(axes: Any, points: "polars.DataFrame", name: str, style: tuple[str, str]) -> None:
    """Mark what is no work of a printed program: its start on the curve, no solution on the axis (not drawn as a 0)."""
    kept = points.filter((points["kept_start"] * 2 > points["trials"]) & points[name].is_not_null())
    if kept.height:
        axes.plot(
            kept["budget"].to_numpy(),
            kept[name].to_numpy(),
            linestyle="none",
            marker=style[1],
            color="white",
            markersize=3.5,
            zorder=5,
        )
    missing = points.filter(points["no_solution"] > 0)["budget"].to_numpy()
    if len(missing):
        axes.plot(
            missing,
            np.zeros(len(missing)),
            linestyle="none",
            marker="x",
            color=style[0],
            markersize=7,
            markeredgewidth=1.8,
            clip_on=False,
            transform=axes.get_xaxis_transform(),
            label="no solution found",
        )


def _parities(axes: Any, points: "polars.DataFrame", n: int, name: str) -> None:
    """Hatch what lies between the means of PPM at T and at T + 1: where the iteration cycles they are two answers."""
    one, other = (_select(points, label, n) for label in ("PPM", "PPM, T + 1"))
    if other.height != one.height:
        return
    x, first, second = one["budget"].to_numpy(), one[name].to_numpy(), other[name].to_numpy()
    colour = STYLE["PPM"][0]
    axes.fill_between(
        x, first, second, facecolor="none", edgecolor=colour, hatch="////", linewidth=0, alpha=0.6,
        label="PPM at T and T + 1" if name.endswith("strong") else "",
    )  # fmt: skip
    axes.plot(x, second, color=colour, linestyle=":", linewidth=1.0)


def _cosines_of(axes: Any, population: Population) -> None:
    axes.plot(population.budgets, population.cosine_strong, label="population", **_POPULATION)
    axes.plot(population.budgets, population.cosine_weak, linestyle="--", **_POPULATION)
