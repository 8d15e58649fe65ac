"""Draw components: their loadings, and how much each holds."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from noap.errors import InvalidProblem
from noap.figures.style import PLAIN as _PLAIN
from noap.figures.style import ROBUST as _ROBUST
from noap.figures.style import axes_of, fitted, largest_first, named_of, names_of, tidy, titled, top_of
from noap.joint import JointResult
from noap.linalg.types import FloatArray
from noap.result import Result
from noap.runtime.digits import down, up
from noap.runtime.names import counted

__all__ = ["draw_components", "draw_loadings", "draw_scree"]

# More bars than these cannot be read, of one component or of each of several; the largest are kept and the picture says
# so.
_MOST_BARS, _MOST_EACH = 40, 12


def draw_loadings(source: Any, component: int = 0, ax: Any = None, top: int | None = None) -> Figure:
    """Draw the loadings of one component by name, the largest on top.

    Parameters
    ----------
    source : Result, JointResult or fitted RobustSparsePCA
    component : int
        Which component of several; a Result has one.
    ax : Axes, optional
        Where to draw; a figure of its own by default.
    top : int, optional
        At most so many features; 40 by default.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import noap
    >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.2], [1.0, 1.1, -0.3], [-1.0, -0.9, 0.0]]
    >>> result = noap.solve(noap.Problem(X, k=2, adversary=noap.FeatureWise(0.5)))
    >>> [text.get_text() for text in draw_loadings(result).axes[0].get_yticklabels()]
    ['feature 1', 'feature 0']
    """
    v, names = _loadings_of(source, component)
    order = largest_first(v)
    shown = order[: top_of(top, _MOST_BARS)]
    panels, figure = axes_of(ax, 1, (7.0, 1.2 + 0.3 * max(len(shown), 3)))
    axes = panels[0]
    _draw_bars(axes, np.arange(len(shown)), v[shown], [names[j] for j in shown])
    axes.invert_yaxis()
    hidden = f", {len(order) - len(shown)} smaller ones not shown" if len(order) > len(shown) else ""
    which = "" if isinstance(source, Result) else f" of component {component + 1}"
    titled(axes, f"Loadings{which}{hidden}")
    tidy(panels)
    return figure


def draw_components(source: Any, ax: Any = None, top: int | None = None) -> Figure:
    """Draw the loadings of several components below one another, each with its robust variance.

    Parameters
    ----------
    source : JointResult or fitted RobustSparsePCA
    ax : Axes, optional
        Where to draw; a figure of its own by default.
    top : int, optional
        At most so many features of each component, those with the largest loadings; 12 by default.

    Returns
    -------
    Figure
        The title says what all components are worth and what is proved of that, where they were chosen together.

    Examples
    --------
    >>> import noap
    >>> S = [[1.0, 0.8, 0.7, 0.0], [0.8, 1.0, 0.0, 0.6], [0.7, 0.0, 1.0, 0.0], [0.0, 0.6, 0.0, 1.0]]
    >>> problem = noap.Problem.from_covariance(S, n_samples=10, k=2, adversary=noap.NoAdversary())
    >>> ticks = draw_components(noap.solve_components(problem, 2)).axes[0].get_yticklabels()
    >>> sorted(text.get_text() for text in ticks)
    ['feature 0', 'feature 1', 'feature 2', 'feature 3']
    """
    joint = source if isinstance(source, JointResult) else getattr(source, "joint_result_", None)
    results = source.components if isinstance(source, JointResult) else fitted(source).results_
    if not results:
        raise InvalidProblem("source has no component to draw: none is worth anything.")
    rows: list[tuple[str, float]] = []
    places, heads, at = [], [], 0.0
    for c, result in enumerate(results, start=1):
        v, names = _loadings_of(result, 0)
        order = largest_first(v)
        shown = order[: top_of(top, _MOST_EACH)]
        hidden = f", {len(order) - len(shown)} smaller not shown" if len(order) > len(shown) else ""
        heads.append((at, f"component {c}: {down(result.robust_variance)}{hidden}"))
        places += [at + 1.0 + i for i in range(len(shown))]
        rows += [(names[j], float(v[j])) for j in shown]
        at += len(shown) + 1.4
    panels, figure = axes_of(ax, 1, (7.0, 1.2 + 0.28 * at))
    axes = panels[0]
    _draw_bars(axes, places, [loading for _, loading in rows], [name for name, _ in rows])
    for place, words in heads:
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        axes.text(0.0, place, words, ha="center", va="center", fontweight="bold", bbox=white)
    axes.set_ylim(at - 0.6, -0.8)
    said = "Components one after the other: loadings and robust variances"
    if joint is not None and joint.bound is not None:
        said = (
            f"{counted(len(results), 'component')} chosen together: {down(joint.value)}, proved at most "
            f"{up(joint.bound)}"
        )
    titled(axes, said)
    tidy(panels)
    return figure


def draw_scree(model: Any, ax: Any = None) -> Figure:
    """Draw how much each component of a fitted estimator holds, all in per cent of the total variance.

    Its variance, what the adversary leaves, the bound, and what the components explain. From the second component on,
    the first three are about what deflation leaves. Of components that were chosen together they are about the features
    that the others leave, and the title says what is proved of their sum.

    Parameters
    ----------
    model : fitted RobustSparsePCA
    ax : Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    Figure
        Pale bars are the variances of the components, dark ones within them what the adversary leaves; a whisker goes
        up to the proved bound. Diamonds are `explained_variance_`, adjusted for what components share: from the second
        on it may lie below the bars, for it takes off the scores of those before, and deflation their directions. The
        line is `span_variance_ratio_`, what the span of all components so far explains.
    """
    fitted(model)
    numbers = np.arange(1, len(model.components_) + 1)
    panels, figure = axes_of(ax, 1, (1.8 + 0.9 * max(len(numbers), 4), 3.6))
    axes = panels[0]
    unit = 100.0 / model.total_variance_ if model.total_variance_ > 0 else 1.0
    robust, bounds = unit * np.asarray(model.robust_variance_), unit * np.asarray(model.bound_)
    plain = [unit * result.plain_variance for result in model.results_]
    axes.bar(numbers, plain, width=0.8, color=_PLAIN, label="variance")
    axes.bar(numbers, robust, width=0.5, color=_ROBUST, label="left by the adversary")
    proved = np.isfinite(bounds)
    if proved.any():
        rest = np.maximum(bounds[proved] - robust[proved], 0.0)
        axes.errorbar(
            numbers[proved],
            robust[proved],
            [0 * rest, rest],
            fmt="none",
            ecolor="black",
            capsize=4,
            label="proved bound",
        )
    axes.plot(
        numbers,
        100.0 * model.explained_variance_ratio_,
        linestyle="none",
        marker="D",
        markersize=5,
        markerfacecolor="white",
        markeredgecolor="black",
        label="explained variance (adjusted)",
    )
    axes.plot(numbers, 100.0 * model.span_variance_ratio_, color="0.4", marker=".", label="explained by the span")
    joint = model.joint_result_
    if joint is not None and joint.components and joint.bound is not None:
        titled(axes, f"Together {down(joint.value)}, proved at most {up(joint.bound)}")
    axes.set_xticks(numbers)
    axes.set_xlabel("component")
    axes.set_ylabel("per cent of the total variance")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    tidy(panels)
    return figure


def _draw_bars(axes: Any, places: ArrayLike, loadings: ArrayLike, names: list[str]) -> None:
    bars = axes.barh(places, loadings, height=0.7, color=_ROBUST)
    axes.bar_label(bars, [f"{loading:+.2f}" for loading in np.asarray(loadings)], padding=3, fontsize="small")
    axes.set_yticks(places, names)
    axes.margins(x=0.25)
    axes.axvline(0.0, color="0.7", linewidth=0.8, zorder=0)
    axes.set_xlabel("loading")


def _loadings_of(source: Any, component: int) -> tuple[FloatArray, tuple[str, ...]]:
    if isinstance(source, Result):
        return source.v, named_of(source.problem)
    vectors = source.vectors if isinstance(source, JointResult) else fitted(source).components_
    if not 0 <= component < len(vectors):
        raise InvalidProblem(f"component must be from 0 to {len(vectors) - 1}, got {component!r}.")
    if isinstance(source, JointResult):
        return vectors[component], named_of(source.problem)
    return np.asarray(source.components_[component], dtype=np.float64), names_of(source)
