r"""Ascent over all features of samples on a device, many vectors at a time.

A step is one product: :math:`u = Xv/\|Xv\|` is made of the k columns of v, and then :math:`s = X^\top u` reads X once
for all vectors together; the k largest :math:`|s_j| - \rho` are the next v. Sums are in single precision, factors in
fewer bits: what is found here is measured elsewhere.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from noap.heuristics.batch import Batch
from noap.heuristics.pool import Pool
from noap.linalg.blocked import ScaledColumns
from noap.linalg.device.columns import DeviceColumns
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.controls import never

__all__ = ["climb_on_device", "outside_on_device"]

# Steps at most, and between two looks at whether anything changes: most vectors are where they stay after ten.
_STEPS, _BETWEEN = 24, 4
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
    library, xp = X.library, X.library.xp
    unit = float(columns.share / np.sqrt(columns.n))
    # All that a step needs stays on the device, which is given several steps to do at a time.
    at, loads = library.put(features.astype(np.int64)), library.put(weights.astype(np.float32))
    for first in range(0, steps, _BETWEEN):
        check()
        before = at
        for _ in range(min(_BETWEEN, steps - first)):
            pulled = X.pulled(_directions(X, at, loads))
            places = library.top_sizes(pulled, k)
            found = library.cast(xp.take_along_axis(pulled, places, axis=1), "float32") * unit
            strengths = xp.maximum(xp.abs(found) - rho, xp.zeros_like(found))
            lengths = xp.sqrt(xp.sum(strengths * strengths, axis=1))[:, None]
            alive = lengths > 0
            loads = xp.where(alive, xp.sign(found) * strengths / xp.where(alive, lengths, xp.ones_like(lengths)), loads)
            at = xp.where(alive, places, at)
        if bool(xp.all(xp.sort(at, axis=1) == xp.sort(before, axis=1))):
            break
    return np.array(library.host(at)), np.array(library.host(loads), dtype=np.float64)


def outside_on_device(pool: Pool, batch: Batch, check: Callable[[], None] = never) -> IntArray:
    """Return features outside the pool: where ascent over all leads, and what pulls as hard as a vector's own.

    For one budget and no costs.
    """
    X = pool.columns.on_device
    assert X is not None
    library, xp = X.library, X.library.xp
    features = pool.features[batch.indices]
    climbed, _ = climb_on_device(pool.columns, float(pool.terms.rho[0]), features, batch.weights, check=check)
    at, loads = library.put(features.astype(np.int64)), library.put(batch.weights.astype(np.float32))
    pulled = xp.abs(X.pulled(_directions(X, at, loads)))
    own = np.array(library.host(xp.take_along_axis(pulled, at, axis=1)))
    outside = np.ones(X.shape[1], dtype=np.float32)
    outside[pool.features] = 0.0
    pulled = pulled * library.cast(library.put(outside), str(pulled.dtype).split(".")[-1])[None, :]
    strongest = library.top_sizes(pulled, min(_ADDED * features.shape[1], X.shape[1]))
    sizes = np.array(library.host(xp.take_along_axis(pulled, strongest, axis=1)))
    # A feature that pulls less than the weakest of the support does not enter in one step.
    entering = np.array(library.host(strongest))[sizes > own.min(axis=1)[:, None]]
    return np.setdiff1d(np.concatenate([climbed.ravel(), entering]), pool.features)


def _directions(X: DeviceColumns, features: Any, weights: Any) -> Any:
    combined = X.combined(features, weights)
    xp = X.library.xp
    lengths = xp.sqrt(xp.sum(combined * combined, axis=1))
    # Where all cancels there is no direction, and 0 pulls at nothing.
    return combined / xp.where(lengths > 0, lengths, xp.ones_like(lengths))[:, None]
