"""Share what all pictures need: axes to draw on, names of features, titles that fit."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from noap.data.arguments import as_count
from noap.errors import InvalidProblem
from noap.linalg.types import FloatArray, IntArray

if TYPE_CHECKING:
    from noap.problem import Problem

__all__ = [
    "PLAIN",
    "PLAIN_PCA",
    "ROBUST",
    "Picture",
    "axes_of",
    "can_be_seen",
    "fitted",
    "largest_first",
    "named_of",
    "names_of",
    "tidy",
    "titled",
    "top_of",
]

# Of Okabe and Ito's colours, which stay apart for colour-blind readers. No feature has a colour of its own: there are
# more features than colours that can be told apart, so features are told apart by their rows and names.
ROBUST, PLAIN_PCA, PLAIN = "#0072B2", "#E69F00", "0.75"
# Characters of a title on one inch, in matplotlib's own font and size.
_PER_INCH = 12
# What a file has where nobody says otherwise: dots that a screen of today shows, and fonts that journals and editors
# of pictures take as text (TrueType; matplotlib's own default is Type 3).
_DPI, _TRUETYPE = 150, 42
# A band lower than this share of its axes hides behind a line.
_THINNEST = 0.008


class Picture(Figure):
    """A figure whose files look well by default; it leaves matplotlib's settings for others alone."""

    def savefig(self, fname: Any, **settings: Any) -> None:
        """Write the picture, as `Figure.savefig` does; at 150 dots per inch unless you or your settings say so."""
        if matplotlib.rcParams["savefig.dpi"] == "figure":
            settings.setdefault("dpi", _DPI)
        with matplotlib.rc_context({"pdf.fonttype": _TRUETYPE, "ps.fonttype": _TRUETYPE}):
            super().savefig(fname, **settings)


def axes_of(
    ax: Any, count: int, size: tuple[float, float], heights: list[float] | None = None
) -> tuple[list[Any], Figure]:
    """Return the axes to draw on and their figure: those given (one, or `count` of them), or new ones of this size."""
    if ax is None:
        figure = Picture(figsize=size, layout="constrained")
        made = figure.subplots(count, 1, sharex=True, squeeze=False, height_ratios=heights)
        return list(made[:, 0]), figure
    given = list(np.ravel(ax)) if isinstance(ax, (Sequence, np.ndarray)) else [ax]
    if len(given) not in (1, count) or not all(hasattr(one, "plot") and hasattr(one, "figure") for one in given):
        wanted = "one matplotlib Axes" + (f" or a sequence of {count}" if count > 1 else "")
        raise InvalidProblem(f"ax must be {wanted}, got {ax!r}.")
    return given, given[0].figure


def titled(axes: Any, title: str) -> None:
    """Write a title over the left end of a panel, in as many lines as its width asks for."""
    inches = axes.get_position().width * axes.figure.get_figwidth()
    axes.set_title(textwrap.fill(title, max(24, int(_PER_INCH * inches))), loc="left", fontsize="medium")


def top_of(top: int | None, most: int) -> int:
    """Return how many things to show: as many as asked for, else the most that can be read."""
    return most if top is None else as_count("top", top)


def named_of(problem: "Problem") -> tuple[str, ...]:
    """Return a name for every feature: those of the data, or numbers."""
    return problem.feature_names or tuple(f"feature {j}" for j in range(problem.n_features))


def names_of(model: Any) -> tuple[str, ...]:
    """Return a name for every feature of a fitted estimator."""
    given = getattr(model, "feature_names_in_", None)
    d = np.shape(model.components_)[1]
    return tuple(map(str, given)) if given is not None else tuple(f"feature {j}" for j in range(d))


def fitted(model: Any) -> Any:
    """Return the model, or raise InvalidProblem if it is no fitted RobustSparsePCA."""
    if not hasattr(model, "components_") or not hasattr(model, "robust_variance_"):
        raise InvalidProblem(f"model must be a fitted RobustSparsePCA, got {type(model).__name__}; call fit first.")
    return model


def largest_first(sizes: FloatArray) -> IntArray:
    """Return the places of what is not 0, the largest in size first."""
    order: IntArray = np.argsort(-np.abs(sizes), kind="stable")[: np.count_nonzero(sizes)]
    return order


def can_be_seen(lower: FloatArray, upper: FloatArray) -> bool:
    """Return whether the band between two curves over 0 is wider than the line that is drawn along it."""
    proved = np.isfinite(upper)
    highest = float(upper[proved].max(initial=0.0))
    return bool(highest > 0 and (upper - lower)[proved].max() > _THINNEST * highest)


def tidy(panels: list[Any]) -> None:
    """Take off the frame's top and right, which measure nothing."""
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
