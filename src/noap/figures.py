"""Pictures of results. The only module that draws."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from noap.linalg.types import FloatArray
from noap.result import Result

__all__ = ["draw_demo"]

# Okabe and Ito's colours, which stay apart for colour-blind readers.
_ROBUST, _VANILLA = "#0072B2", "#E69F00"


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
