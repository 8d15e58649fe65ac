"""Pictures of results. The only module that draws."""

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from noap import sweep as _path
from noap.data.validation import as_count
from noap.errors import NoapWarning
from noap.linalg.types import FloatArray
from noap.result import Result
from noap.sweep.barcode import barcode as barcode_of

if TYPE_CHECKING:
    from noap.estimators.choice import Choice
    from noap.resampling import Stability

__all__ = ["draw_choice", "draw_demo", "draw_k_path", "draw_path", "draw_stability"]

# Okabe and Ito's colours, which stay apart for colour-blind readers.
_ROBUST, _VANILLA = "#0072B2", "#E69F00"
_PALETTE = (_ROBUST, "#D55E00", "#009E73", "#CC79A7", _VANILLA, "#56B4E9", "#000000")
_DASHES = ("-", "--", ":", "-.")
_MARKS = "os^Dv<>P"
# More bars than this cannot be read; the longest-lived are kept and the picture says so.
_MOST_BARS = 40


def draw_demo(
    result: Result,
    vanilla: Result,
    names: tuple[str, ...],
    noises: FloatArray,
    robust_values: FloatArray,
    vanilla_values: FloatArray,
    path: Path,
) -> None:
    """Draw the loadings of the robust and the vanilla component, and what noise leaves of each; write a PNG.

    Parameters
    ----------
    result, vanilla : Result
        The robust component and the one that ignores the adversary.
    names : tuple of str
        Feature names.
    noises : array of shape (m,)
    robust_values, vanilla_values : arrays of shape (m,)
        Robust variance at every noise: of the component found for it, and of the vanilla component.
    path : Path
        Where the PNG goes.
    """
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    bars, curve = figure.subplots(1, 2, width_ratios=[1.2, 1])
    shown = np.union1d(result.support, vanilla.support)
    rows = np.arange(len(shown))
    bars.barh(rows - 0.2, result.v[shown], height=0.4, color=_ROBUST, label="robust")
    bars.barh(rows + 0.2, vanilla.v[shown], height=0.4, color=_VANILLA, label="ignores the adversary")
    bars.set_yticks(rows, [names[j] for j in shown])
    bars.invert_yaxis()
    bars.set_xlabel("loading")
    bars.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    curve.plot(noises, robust_values, color=_ROBUST, label="robust, found for each noise")
    curve.plot(noises, vanilla_values, color=_VANILLA, linestyle="--", label="ignores the adversary")
    curve.set_xlabel("noise (rho / sqrt n)")
    curve.set_ylabel("variance left by the adversary")
    curve.set_ylim(bottom=0)
    curve.legend(frameon=False, loc="upper right")
    for axes in (bars, curve):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def draw_path(path: "_path.Path") -> Figure:
    """Draw a path over rho: robust variance with its certified band, the barcode, the loadings.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Figure
        Three panels over one axis of rho. In the barcode every feature has a bar over each range of rho that selects
        it, longest-lived on top; bar and loading of a feature share their colour.
    """
    order = barcode_of(path)
    rows = order[:_MOST_BARS]
    shown = [row.feature for row in rows]
    names = path.feature_names or tuple(f"feature {j}" for j in range(path.vectors.shape[1]))
    styles = {
        j: {"color": _PALETTE[i % len(_PALETTE)], "linestyle": _DASHES[i // len(_PALETTE) % len(_DASHES)]}
        for i, j in enumerate(shown)
    }
    # Where the colours come round again, bars are hatched and lines broken.
    hatches = ["", "///", "...", "xxx"] * len(shown)
    hatches = [hatches[i // len(_PALETTE)] for i in range(len(shown))]
    heights = [2.4, 0.6 + 0.26 * max(len(shown), 3), 2.6]
    figure = Figure(figsize=(8, sum(heights) + 0.8), layout="constrained")
    variance, barcode, loadings = figure.subplots(3, 1, sharex=True, height_ratios=heights)
    _draw_band(variance, path)
    for i, row in enumerate(rows):
        j = row.feature
        for bar in row.bars:
            # Faint where another feature would do as well.
            faint = 0.3 if bar.tied else 1.0
            barcode.barh(
                i,
                bar.right - bar.left,
                left=bar.left,
                height=0.7,
                color=styles[j]["color"],
                hatch=hatches[i],
                alpha=faint,
            )
        curve = np.where(path.selected[:, j], path.vectors[:, j], 0.0)
        loadings.plot(path.rhos, curve, label=names[j], linewidth=1.6, **styles[j])
    barcode.set_yticks(range(len(shown)), [names[j] for j in shown])
    barcode.invert_yaxis()
    faint_note = "; faint: another would do as well" if any(bar.tied for row in rows for bar in row.bars) else ""
    left_out = f", {len(order) - len(shown)} shorter-lived not shown" if len(order) > len(shown) else ""
    barcode.set_title(f"Which features survive (k = {path.k}{left_out}{faint_note})", loc="left", fontsize="medium")
    loadings.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    loadings.set_title("Loadings", loc="left", fontsize="medium")
    loadings.set_xlabel("budget rho of the adversary")
    for axes in (variance, barcode, loadings):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_k_path(path: "_path.KPath", share: float | None = None) -> Figure:
    """Draw a path over k: robust variance with its certified band, and what every step adds.

    Parameters
    ----------
    path : KPath
    share : float, optional
        Mark the k that is proved to keep this share; the elbow by default.

    Returns
    -------
    Figure
        Two panels over one axis of k. Whiskers on the bars are what the bounds leave open about a step.
    """
    with warnings.catch_warnings():
        # Where no k keeps the share, the label says what is kept instead.
        warnings.simplefilter("ignore", NoapWarning)
        marked = path.elbow() if share is None else path.choose(share)
    kept = math.floor(1000 * path.shares[path.ks.tolist().index(marked)]) / 10
    reason = "elbow" if share is None else f"proved to keep {kept:g} %"
    figure = Figure(figsize=(8, 5.6), layout="constrained")
    variance, steps = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1])
    ks = path.ks
    variance.fill_between(
        ks, path.values, path.bounds, color=_ROBUST, alpha=0.25, linewidth=0, label="optimum lies in here"
    )
    variance.plot(ks, path.values, color=_ROBUST, marker="o", markersize=4, label="found")
    # The optimum of a step lies between value and bound, and so does that of the step before.
    below = np.concatenate([[0.0], path.bounds[:-1]])
    least, most = np.maximum(path.values - below, 0.0), path.bounds - np.concatenate([[0.0], path.values[:-1]])
    # Values that are not optimal may lie further apart than the optima do.
    whiskers = [np.maximum(path.increments - least, 0.0), np.maximum(most - path.increments, 0.0)]
    steps.bar(ks, path.increments, color=_ROBUST, width=0.7, yerr=whiskers, ecolor="0.3", capsize=2)
    for axes in (variance, steps):
        axes.axvline(marked, color=_VANILLA, linestyle="--", label=f"k = {marked}: {reason}", zorder=0)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    variance.legend(frameon=False, loc="lower right")
    variance.set_title("Variance left by the adversary", loc="left", fontsize="medium")
    steps.set_title("What each step adds", loc="left", fontsize="medium")
    steps.set_xlabel("features that a component may use, k")
    steps.xaxis.get_major_locator().set_params(integer=True)
    return figure


# What the scores of a choice are, by the rule.
_SCORES = {
    "held-out": "robust variance of held-out samples",
    "permutation": "share of robust variance beyond chance",
    "k-path": "share proved to be kept",
}


def draw_choice(choice: "Choice", ax: Any = None) -> Figure:
    """Draw what pairs of noise and k were compared by, one line per noise, and the pair chosen.

    Parameters
    ----------
    choice : Choice
    ax : Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Figure
        Darker lines are more noise, and each has its mark. Whiskers are standard errors.
    """
    axes, figure = _axes(ax, (8.0, 4.4))
    levels = np.linspace(0.75, 0.0, len(choice.noises)) if len(choice.noises) > 1 else np.zeros(1)
    for i, (noise, level) in enumerate(zip(choice.noises, levels, strict=True)):
        known = ~np.isnan(choice.scores[i])
        if not known.any():
            continue
        ks, scores = choice.ks[known], choice.scores[i][known]
        whiskers = choice.errors[i][known] if choice.errors.any() else None
        axes.errorbar(
            ks,
            scores,
            whiskers,
            color=str(level),
            marker=_MARKS[i % len(_MARKS)],
            markersize=4,
            linewidth=1.2,
            capsize=2,
            label=f"{noise:.3g}",
        )
    axes.legend(title="noise", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    axes.plot([choice.k], [choice.scores[choice.place]], marker="o", markersize=13, fillstyle="none", color=_ROBUST)
    axes.set_title(
        f"Chosen: k = {choice.k}, noise = {choice.noise:.3g} (circle)", loc="left", fontsize="medium", color=_ROBUST
    )
    axes.set_xlabel("features that a component may use, k")
    axes.set_ylabel(_SCORES[choice.by])
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_stability(stability: "Stability", ax: Any = None, top: int = 20) -> Figure:
    """Draw how often each feature returns on resampled data, most frequent on top.

    Parameters
    ----------
    stability : Stability
    ax : Axes, optional
        Where to draw; a figure of its own by default.
    top : int
        At most so many features.

    Returns
    -------
    Figure
        Filled bars are the features that the data themselves select.
    """
    order = np.argsort(-stability.frequencies, kind="stable")
    seen = [int(j) for j in order if stability.frequencies[j] > 0 or stability.result.v[j] != 0]
    shown = seen[: as_count("top", top)]
    axes, figure = _axes(ax, (8.0, 1.2 + 0.26 * max(len(shown), 3)))
    rows = np.arange(len(shown))
    chosen = np.array([stability.result.v[j] != 0 for j in shown], dtype=bool)
    frequencies = stability.frequencies[shown]
    axes.barh(rows[chosen], frequencies[chosen], color=_ROBUST, height=0.7, label="selected on the data themselves")
    axes.barh(
        rows[~chosen],
        frequencies[~chosen],
        facecolor="none",
        edgecolor=_ROBUST,
        height=0.7,
        label="not selected on the data themselves",
    )
    axes.set_yticks(rows, [stability.names[j] for j in shown])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    left_out = f", {len(seen) - len(shown)} rarer ones not shown" if len(seen) > len(shown) else ""
    axes.set_title(
        f"How often each feature returns in {len(stability.values)} resamples{left_out}", loc="left", fontsize="medium"
    )
    axes.set_xlabel("share of resamples")
    if not chosen.all():
        axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _axes(ax: Any, size: tuple[float, float]) -> tuple[Any, Figure]:
    """Return the axes to draw on and their figure: those given, or new ones of this size."""
    if ax is not None:
        return ax, ax.figure
    figure = Figure(figsize=size, layout="constrained")
    return figure.subplots(), figure


def _draw_band(axes: Any, path: "_path.Path") -> None:
    """Draw the robust variance; what is not yet proved between value and bound is shaded."""
    fine = np.unique(np.concatenate([path.rhos, np.linspace(path.rhos[0], path.rhos[-1], 400)]))
    lower, upper = path.band(fine)
    proved = np.isfinite(upper)
    axes.fill_between(
        fine, lower, upper, where=proved, color=_ROBUST, alpha=0.25, linewidth=0, label="optimum lies in here"
    )
    axes.plot(fine, lower, color=_ROBUST, label="found")
    axes.set_ylim(bottom=0)
    note = "" if proved.any() else ": nothing is proved"
    axes.set_title(f"Variance left by the adversary{note}", loc="left", fontsize="medium")
    axes.legend(frameon=False, loc="upper right")
