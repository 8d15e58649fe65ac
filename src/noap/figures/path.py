"""Draw a path over the budget: the band, the barcode, the loadings."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from noap.analysis.barcode import Row
from noap.analysis.barcode import barcode as barcode_of
from noap.analysis.path import Path
from noap.errors import InvalidProblem
from noap.figures.style import ROBUST as _ROBUST
from noap.figures.style import axes_of, can_be_seen, named_of, tidy, titled, top_of
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.digits import up

__all__ = ["draw_path"]

# Dense, for a stretch may be as narrow as a few points.
_HATCH = "///////"
# More bars than this cannot be read; the picture shows those that are essential longest, and says so.
_MOST_BARS = 40
# Factors beyond this leave no room for those around 1 on an even axis.
_WIDE = 10.0


def draw_path(path: Path, ax: Any = None, top: int | None = None, unit: str = "noise") -> Figure:
    """Draw a path over the budget: robust variance with its certified band, the barcode, the loadings.

    Parameters
    ----------
    path : Path
    ax : Axes or sequence of three Axes, optional
        Where to draw: one for the barcode alone, three for all panels; a figure of its own by default.
    top : int, optional
        The largest number of features, those that are essential longest; 40 by default.
    unit : "noise" or "rho"
        The unit of the budget: noise as in tables and reports, or rho as in the paper. A factor on several budgets is
        drawn as it is.

    Returns
    -------
    Figure
        Three panels over one axis. In the barcode every feature has a bar over each range that selects it: full where
        it is essential, else hatched. The rows of the loadings are those of the barcode, and the colour is the loading.
    """
    order = barcode_of(path)
    rows = order[: top_of(top, _MOST_BARS)]
    scale, label = _counted_in(path, unit)
    names = named_of(path.family.base)
    heights = [2.4, 0.6 + 0.26 * max(len(rows), 3), 0.6 + 0.26 * max(len(rows), 3)]
    panels, figure = axes_of(ax, 3, (8.0, sum(heights) + 0.8), heights)
    barcode = panels[len(panels) // 2]
    _draw_barcode(barcode, path, rows, len(order) - len(rows), scale, names)
    if len(panels) == 3:
        _draw_band(panels[0], path, scale)
        _draw_loadings(panels[2], path, rows, scale, names)
    panels[-1].set_xlabel(label)
    if path.family.whole is not None and path.rhos[-1] > _WIDE:
        panels[-1].set_xscale("symlog", linthresh=1.0)  # factors up to 1 stay even, far ones are told apart
        panels[-1].xaxis.set_major_formatter("{x:g}")
    tidy(panels)
    return figure


def _counted_in(path: Path, unit: str) -> tuple[float, str]:
    """Return the budget rho of one unit, and what the axis is called."""
    if unit not in ("noise", "rho"):
        raise InvalidProblem(f"unit must be 'noise' or 'rho', got {unit!r}.")
    base = path.family.base
    if path.family.whole is not None:
        return 1.0, f"factor on the budgets of the {type(base.adversary).key}s"
    noise = path.family.noise_unit
    if unit == "rho":
        return 1.0, "budget rho of the adversary"
    return noise, "noise (rho / sqrt n)" if noise != 1 else "noise (rho)"


def _draw_barcode(
    axes: Any, path: Path, rows: tuple[Row, ...], hidden: int, scale: float, names: tuple[str, ...]
) -> None:
    for i, row in enumerate(rows):
        for bar in row.bars:
            axes.barh(
                i,
                (bar.right - bar.left) / scale,
                left=bar.left / scale,
                height=0.7,
                facecolor=_ROBUST if bar.essential else "none",
                edgecolor=_ROBUST,
                linewidth=0.6,
                hatch=None if bar.essential else _HATCH,
            )
    axes.set_yticks(range(len(rows)), [names[row.feature] for row in rows])
    axes.invert_yaxis()
    hatched = "; hatched: not essential" if any(not bar.essential for row in rows for bar in row.bars) else ""
    left_out = f", {hidden} that are essential over a shorter range not shown" if hidden else ""
    how = "" if path.proves else ", not proved"
    titled(axes, f"Essential features (k = {path.k}{left_out}{how}{hatched})")


def _draw_loadings(axes: Any, path: Path, rows: tuple[Row, ...], scale: float, names: tuple[str, ...]) -> None:
    """Draw the loadings as colours, in the rows of the barcode; white is 0."""
    shown = [row.feature for row in rows]
    loadings = np.where(path.selected[:, shown], path.vectors[:, shown], np.nan).T
    edges = np.concatenate([path.rhos[:1], (path.rhos[1:] + path.rhos[:-1]) / 2, path.rhos[-1:]]) / scale
    if len(rows):
        most = _largest(loadings, path.selected[:, shown].sum(axis=1))
        mesh = axes.pcolormesh(
            edges, np.arange(len(shown) + 1) - 0.5, loadings, cmap="RdBu_r", vmin=-most, vmax=most, rasterized=True
        )
        # Beside the panel, in no panel's room: the axes of all three stay aligned. A triangle says that more is there.
        beyond = "neither" if np.nanmax(np.abs(loadings), initial=0.0) <= most else "both"
        place = axes.inset_axes((1.015, 0.0, 0.02, 1.0))
        bar = axes.figure.colorbar(mesh, cax=place, ticks=[-most, 0, most], extend=beyond, label="loading")
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize="small")
    axes.set_yticks(range(len(shown)), [names[j] for j in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    titled(axes, "Loadings")


def _largest(loadings: FloatArray, sizes: IntArray) -> float:
    """Return the end of the colour scale: the largest loading, rounded up to a tenth.

    A feature that stands alone has loading 1, which says nothing and would take the colours of all others.
    """
    together = np.abs(loadings[:, sizes > 1])
    known = together[~np.isnan(together)]
    return float(np.ceil(10 * known.max() - 1e-9) / 10) if known.size else 1.0


def _draw_band(axes: Any, path: Path, scale: float) -> None:
    """Draw the robust variance; what is not yet proved between value and bound is shaded."""
    fine = np.unique(np.concatenate([path.rhos, np.linspace(path.rhos[0], path.rhos[-1], 400)]))
    lower, upper = path.band(fine)
    proved = np.isfinite(upper)
    seen = can_be_seen(lower, upper)
    label = "optimum lies in here" if seen else "_nolegend_"
    axes.fill_between(fine / scale, lower, upper, where=proved, color=_ROBUST, alpha=0.25, linewidth=0, label=label)
    telling = lower > 1e-3 * lower.max()  # at the end of the path both are close to 0, and their ratio says nothing
    widest = float((upper[telling] / lower[telling] - 1).max(initial=0.0))
    close = f", proved to within {up(max(100 * widest, 0.01), 1)} %" if proved.all() and not seen else ""
    axes.plot(fine / scale, lower, color=_ROBUST, label=f"found{close}")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("robust variance")
    note = "" if proved.any() else ": nothing is proved"
    less = "" if path.family.base.costs is None else ", less costs"
    titled(axes, f"Variance left by the adversary{less}{note}")
    axes.legend(frameon=False, loc="upper right")
