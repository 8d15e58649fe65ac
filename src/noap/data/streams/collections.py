"""Dask arrays and DataFrames: every block is summed where it lies, and only d x d matrices travel."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from noap.data.moments import Moments
from noap.data.validation import as_samples
from noap.errors import InvalidProblem

__all__ = ["is_dask", "moments_of_dask"]

# How many sums are merged at a time: a tree, so that no worker holds more than this many d x d matrices at once.
_FAN_IN = 8


def is_dask(source: object) -> bool:
    """Return whether `source` is a Dask collection, without importing Dask."""
    return hasattr(source, "__dask_graph__") and type(source).__module__.startswith("dask")


def moments_of_dask(source: Any) -> tuple[Moments, tuple[str, ...] | None]:
    """Return the moments of the rows of a Dask array or DataFrame, and its column names.

    Runs on whatever scheduler Dask would use: the client's cluster if there is one, else the threads of this process.
    """
    delayed: Callable[..., Any] = importlib.import_module("dask").delayed
    names = None
    if hasattr(source, "to_delayed") and hasattr(source, "columns"):
        names = tuple(str(name) for name in source.columns)
        blocks = source.to_delayed()
    else:
        if source.ndim != 2:
            raise InvalidProblem(f"source must have two dimensions (samples x features), got shape {source.shape}.")
        if source.numblocks[1] > 1:
            source = source.rechunk({1: -1})  # a block must hold whole rows
        blocks = source.to_delayed().ravel()
    level = [delayed(_of_block)(block) for block in blocks]
    while len(level) > 1:
        level = [delayed(_merged)(level[i : i + _FAN_IN]) for i in range(0, len(level), _FAN_IN)]
    total: Moments | None = level[0].compute()
    if total is None:
        raise InvalidProblem("source is empty; pass at least one sample and one feature.")
    return total, names


def _of_block(block: Any) -> Moments | None:
    if len(block) == 0:
        return None
    X, _ = as_samples(block)
    return Moments.of(X if isinstance(X, np.ndarray) else X.toarray())


def _merged(parts: list[Moments | None]) -> Moments | None:
    total: Moments | None = None
    for part in parts:
        if part is not None:
            total = part if total is None else total.merged(part)
    return total
