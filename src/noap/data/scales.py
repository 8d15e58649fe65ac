"""Columns of very different norms that nobody scaled: the features that a component picks are those of large units."""

import math
import warnings

import numpy as np

from noap.data.centring import outside
from noap.errors import ScaleWarning
from noap.linalg.types import FloatArray

__all__ = ["warn_of_scales"]

# Features of one unit seldom differ by more.
_FACTOR = 10.0
# What centring leaves of a constant column is rounding, as in noap.data.standardising.
_CONSTANT = 1e-12


def warn_of_scales(norms: FloatArray, mean: FloatArray, n: int, names: tuple[str, ...] | None) -> None:
    """Warn, naming the extremes, where the norms of n centred samples' columns differ by more than a factor of 10.

    Parameters
    ----------
    norms, mean : arrays of shape (d,)
        Norms of the centred columns, and what was subtracted; constant columns do not count.
    n : int
    names : tuple of str or None
    """
    varying = np.flatnonzero(norms > _CONSTANT * np.maximum(math.sqrt(n) * np.abs(mean), norms.max()))
    if not varying.size:
        return
    smallest, largest = varying[np.argmin(norms[varying])], varying[np.argmax(norms[varying])]
    factor = float(norms[largest] / norms[smallest])
    if factor <= _FACTOR:
        return
    labels = [repr(names[j]) if names is not None else f"column {j}" for j in (largest, smallest)]
    times = f"{factor:.3g}" if factor < 1000 else f"{factor:,.0f}"
    warnings.warn(
        f"The spread of {labels[0]} is {times} times that of {labels[1]}, so that features are picked by their "
        "units; pass scale=True, unless all features have one unit.",
        ScaleWarning,
        stacklevel=outside(),
    )
