r"""Ascent over all features of samples on a device, many vectors at a time.

A step is one product: :math:`u = Xv/\|Xv\|` is made of the k columns of v, and then :math:`s = X^\top u` reads X once for
all vectors together; the k largest :math:`|s_j| - \rho` are the next v. Sums are in single precision, factors in fewer
bits: what is found here is measured elsewhere.
"""

from collections.abc import Callable

import numpy as np

from noap.heuristics.batch import Batch
from noap.heuristics.pool import Pool
from noap.linalg.blocked import ScaledColumns
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.controls import never

__all__ = ["climb_on_device", "outside_on_device"]

# Steps at most. Most vectors are where they stay after ten.
_STEPS = 24
# Features from outside that are looked at for each of a support.
_ADDED = 2


def climb_on_device(
    columns: ScaledColumns,
    rho: float,
    features: IntArray,
    weights: FloatArray,
    steps: int = _STEPS,
    check: Callable[[], None] = never,
) -> tuple[IntArray, FloatArray]:
    """Return where ascent leads from b vectors of k features, in the same form: features and weights of shape (b, k).

    Parameters
    ----------
    columns : ScaledColumns, on a device
    rho : float, in the units of the columns
    """
    X, k = columns.on_device, features.shape[1]
    assert X is not None
    unit = columns.share / np.sqrt(columns.n)
    for _ in range(steps):
        check()
        pulled = X.pulled(_directions(columns, features, weights))
        places = X.library.top_sizes(pulled, k)
        found = np.array(X.library.host(places))
        loads = np.array(X.library.host(X.library.xp.take_along_axis(pulled, places, axis=1)), dtype=np.float64) * unit
        strengths = np.maximum(np.abs(loads) - rho, 0.0)
        lengths = np.linalg.norm(strengths, axis=1)
        alive = lengths > 0
        new = np.sign(loads) * strengths / np.where(alive, lengths, 1.0)[:, None]
        same = (np.sort(found, axis=1) == np.sort(features, axis=1)).all()
        features, weights = np.where(alive[:, None], found, features), np.where(alive[:, None], new, weights)
        if same:
            break
    return features, weights


def outside_on_device(pool: Pool, batch: Batch, check: Callable[[], None] = never) -> IntArray:
    """Return features outside the pool: where ascent over all leads, and what pulls as hard as a vector's own."""
    X = pool.columns.on_device
    assert X is not None
    library, xp = X.library, X.library.xp
    features = pool.features[batch.indices]
    climbed, _ = climb_on_device(pool.columns, pool.rho, features, batch.weights, check=check)
    pulled = xp.abs(X.pulled(_directions(pool.columns, features, batch.weights)))
    own = np.array(library.host(xp.take_along_axis(pulled, library.put(features), axis=1)))
    outside = np.ones(X.shape[1], dtype=np.float32)
    outside[pool.features] = 0.0
    pulled = pulled * library.cast(library.put(outside), str(pulled.dtype).split(".")[-1])[None, :]
    strongest = library.top_sizes(pulled, min(_ADDED * features.shape[1], X.shape[1]))
    sizes = np.array(library.host(xp.take_along_axis(pulled, strongest, axis=1)))
    # A feature that pulls less than the weakest of the support does not enter in one step.
    entering = np.array(library.host(strongest))[sizes > own.min(axis=1)[:, None]]
    return np.setdiff1d(np.concatenate([climbed.ravel(), entering]), pool.features)


def _directions(columns: ScaledColumns, features: IntArray, weights: FloatArray) -> "object":
    X = columns.on_device
    assert X is not None
    combined = X.combined(features, weights)
    lengths = X.library.xp.sqrt(X.library.xp.sum(combined * combined, axis=1))
    # Where all cancels there is no direction, and 0 pulls at nothing.
    return combined / X.library.xp.where(lengths > 0, lengths, X.library.xp.ones_like(lengths))[:, None]
