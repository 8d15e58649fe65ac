"""Draw choices and resampling: the pairs of k and noise that were compared, and how often features return."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from noap.data.arguments import as_count
from noap.figures.style import ROBUST, axes_of, tidy

if TYPE_CHECKING:
    from noap.analysis.stability import Stability
    from noap.estimators.choice import Choice

__all__ = ["draw_choice", "draw_stability"]

_MARKS = "os^Dv<>P"
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
    (axes, *_), figure = axes_of(ax, 1, (8.0, 4.4))
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
    axes.legend(title="fitted at noise", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    # On top of all lines and whiskers, with its own mark within.
    row = choice.place[0]
    chosen = {"linestyle": "none", "color": ROBUST, "zorder": 10}
    axes.plot([choice.k], [choice.score], marker=_MARKS[row % len(_MARKS)], markersize=5, **chosen)
    axes.plot([choice.k], [choice.score], marker="o", markersize=13, markeredgewidth=2, fillstyle="none", **chosen)
    axes.set_title(
        f"Chosen: k = {choice.k}, noise = {choice.noise:.3g} (circle)", loc="left", fontsize="medium", color=ROBUST
    )
    axes.set_xlabel("features that a component may use, k")
    met = "" if choice.at_noise is None else f", at noise {choice.at_noise:.3g}"
    axes.set_ylabel(f"{_SCORES[choice.by]}{met}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    tidy([axes])
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
    (axes, *_), figure = axes_of(ax, 1, (8.0, 1.2 + 0.26 * max(len(shown), 3)))
    rows = np.arange(len(shown))
    chosen = np.array([stability.result.v[j] != 0 for j in shown], dtype=bool)
    frequencies = stability.frequencies[shown]
    axes.barh(rows[chosen], frequencies[chosen], color=ROBUST, height=0.7)
    axes.barh(rows[~chosen], frequencies[~chosen], facecolor="none", edgecolor=ROBUST, height=0.7)
    axes.set_yticks(rows, [stability.names[j] for j in shown])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    left_out = f", {len(seen) - len(shown)} rarer ones not shown" if len(seen) > len(shown) else ""
    axes.set_title(
        f"How often each feature returns in {len(stability.values)} resamples{left_out}", loc="left", fontsize="medium"
    )
    # In words under the axis: bars fill all the room that a legend could take.
    told = "" if chosen.all() else " (filled: features that the data themselves select)"
    axes.set_xlabel(f"share of resamples{told}")
    tidy([axes])
    return figure
