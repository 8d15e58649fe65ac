"""Draw variances over k, and the picture of the demonstration."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from noap.analysis.k_path import KPath
from noap.errors import NoapWarning
from noap.figures.style import PLAIN, axes_of, can_be_seen, named_of, tidy, titled
from noap.figures.style import PLAIN_PCA as _VANILLA
from noap.figures.style import ROBUST as _ROBUST
from noap.linalg.types import FloatArray
from noap.result import Result

__all__ = ["draw_demo", "draw_k_path"]


def draw_demo(
    result: Result, vanilla: Result, noise: FloatArray, robust: KPath, plain_left: FloatArray, path: Path
) -> None:
    """Draw the loadings of the robust component and of plain sparse PCA, and what errors leave of both; write a PNG.

    Parameters
    ----------
    result, vanilla : Result
        The robust component and the one that ignores the errors.
    noise : array of shape (d,)
        Of every feature, in standard deviations.
    robust : KPath
        The robust components of all numbers of features.
    plain_left : array of shape (m,)
        What the errors leave of plain sparse PCA with as many features.
    path : Path
        Where the PNG goes.
    """
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    bars, curve = figure.subplots(1, 2, width_ratios=[1.2, 1])
    shown = np.union1d(result.support, vanilla.support)
    rows, names = np.arange(len(shown)), named_of(result.problem)
    bars.barh(rows - 0.2, result.v[shown], height=0.4, color=_ROBUST, label="robust")
    bars.barh(rows + 0.2, vanilla.v[shown], height=0.4, color=_VANILLA, label="plain sparse PCA")
    bars.set_yticks(rows, [f"{names[j]}, error {noise[j]:.2f}" for j in shown])
    bars.invert_yaxis()
    bars.set_xlabel(f"loading, with at most {result.problem.k} features")
    bars.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    curve.plot(robust.ks, robust.values, color=_ROBUST, marker="o", markersize=4, label="robust")
    curve.plot(
        robust.ks, plain_left, color=_VANILLA, marker="s", markersize=4, linestyle="--", label="plain sparse PCA"
    )
    curve.axvline(result.problem.k, color=PLAIN, linewidth=1, zorder=0)
    curve.set_xlabel("features that a component may use, k")
    curve.set_ylabel("variance left by the worst such errors")
    curve.xaxis.get_major_locator().set_params(integer=True)
    curve.set_ylim(bottom=0)
    curve.legend(loc="lower right", framealpha=1.0, edgecolor="none")
    tidy([bars, curve])
    figure.savefig(path, dpi=150)


def draw_k_path(path: KPath, share: float | None = None, ax: Any = None) -> Figure:
    """Draw a path over k: robust variance with its certified band, and what every step adds.

    Parameters
    ----------
    path : KPath
    share : float, optional
        Mark the k that is proved to keep this share, the elbow by default. The largest k is marked only where it is
        not proved to keep the share itself, and a curve without a bend (:meth:`noap.KPath.elbow`) not at all.
    ax : Axes or sequence of two Axes, optional
        Where to draw: one for the variance alone, two for both panels; a figure of its own by default.

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
    panels, figure = axes_of(ax, 2, (8.0, 5.6), [1.6, 1])
    variance, ks = panels[0], path.ks
    seen = "optimum lies in here" if can_be_seen(path.values, path.bounds) else "_nolegend_"
    variance.fill_between(ks, path.values, path.bounds, color=_ROBUST, alpha=0.25, linewidth=0, label=seen)
    variance.plot(ks, path.values, color=_ROBUST, marker="o", markersize=4, label="found")
    titled(variance, f"Variance left by the adversary{'' if path.problem.costs is None else ', less costs'}")
    if len(panels) == 2:
        _draw_steps(panels[1], path)
    for axes in panels:
        # A bend at the end of the curve, and what the largest k keeps of itself, say nothing about the data.
        if marked < ks[-1] or (share is not None and path.shares[-1] < share):
            axes.axvline(marked, color=_VANILLA, linestyle="--", label=f"k = {marked}: {reason}", zorder=0)
        axes.set_ylim(bottom=0)
    # The curve rises, so there is room below; the mark may pass there, and words hide it.
    variance.legend(loc="lower right", framealpha=1.0, edgecolor="none")
    variance.set_ylabel("robust variance")
    panels[-1].set_xlabel("features that a component may use, k")
    panels[-1].xaxis.get_major_locator().set_params(integer=True)
    tidy(panels)
    return figure


def _draw_steps(axes: Any, path: KPath) -> None:
    # The optimum of a step lies between value and bound, and so does that of the step before.
    below = np.concatenate([[0.0], path.bounds[:-1]])
    least, most = np.maximum(path.values - below, 0.0), path.bounds - np.concatenate([[0.0], path.values[:-1]])
    # Values that are not optimal may lie further apart than the optima do.
    whiskers = [np.maximum(path.increments - least, 0.0), np.maximum(most - path.increments, 0.0)]
    axes.bar(path.ks, path.increments, color=_ROBUST, width=0.7, yerr=whiskers, ecolor="0.3", capsize=2)
    axes.set_ylabel("added")
    titled(axes, "What each step adds")
