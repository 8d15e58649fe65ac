"""A Dask array is read once, chunk by chunk: into memory, or into a file if it is large."""

import importlib
import sys
from typing import Any

import numpy as np

from noap.errors import InvalidProblem
from noap.linalg import frozen
from noap.linalg.mapped import empty_file
from noap.linalg.types import FloatArray

__all__ = ["is_dask_array", "read_dask"]


def is_dask_array(X: object) -> bool:
    """Return whether X is a Dask array, without importing Dask."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "to_delayed") and hasattr(X, "chunks")


def read_dask(X: Any) -> FloatArray:
    """Return the entries of a Dask array; its graph is computed once, by whatever scheduler Dask would use.

    Chunks come one by one. Up to what a `Problem` would copy they are kept in memory, and beyond in a file without a
    name.
    """
    if X.ndim != 2 or any(np.isnan(length) for length in X.shape):
        raise InvalidProblem(
            f"X must be a Dask array of two dimensions of known lengths, got shape {X.shape}; see compute_chunk_sizes."
        )
    if X.dtype.kind not in "biuf":
        raise InvalidProblem(f"X must hold numbers, it holds {X.dtype}; convert it to float.")
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    size = X.shape[0] * X.shape[1] * dtype.itemsize
    target = np.empty(X.shape, dtype) if size <= frozen.MOST_COPIED else empty_file(X.shape, dtype)
    client = _client()
    if client is None:
        # Chunks do not overlap, so that nobody has to wait.
        importlib.import_module("dask.array").store(X, target, lock=False)
    else:
        _gather(client, X, target)
    return target


def _client() -> Any:
    """Return the cluster that Dask would use, None if there is none."""
    distributed: Any = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _gather(client: Any, X: Any, target: FloatArray) -> None:
    starts = [np.append(0, np.cumsum(lengths)) for lengths in X.chunks]
    blocks = X.to_delayed()
    places = {
        (i, j): (slice(starts[0][i], starts[0][i + 1]), slice(starts[1][j], starts[1][j + 1]))
        for i, j in np.ndindex(blocks.shape)
    }
    futures = dict(zip(client.compute([blocks[at] for at in places]), places.values(), strict=True))
    completed = importlib.import_module("distributed").as_completed(list(futures), loop=client.loop)
    for future in completed:
        place = futures.pop(future)
        target[place] = future.result()
        del future  # its chunk may go
