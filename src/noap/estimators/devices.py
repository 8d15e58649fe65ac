"""Samples of the estimators on a device, and scores in the library that X came in."""

from typing import Any

import numpy as np
from sklearn import get_config

from noap.errors import InvalidProblem
from noap.linalg.device.columns import DeviceColumns
from noap.linalg.device.library import Library, is_elsewhere, moved_to
from noap.linalg.types import Data, FloatArray

__all__ = ["as_columns_on", "as_given", "moments_of"]


def as_columns_on(device: str | None, data: Data) -> DeviceColumns:
    """Return checked samples on a device; those that lie on one stay there."""
    if isinstance(data, DeviceColumns):
        return data
    if not isinstance(data, np.ndarray):
        raise InvalidProblem("device takes a dense X; pass X.toarray(), or leave device out.")
    assert device is not None
    return DeviceColumns(moved_to(device, data))


def moments_of(Z: DeviceColumns) -> tuple[FloatArray, FloatArray]:
    """Return what was subtracted from every column and what it was divided by; 1 for constant ones."""
    d = Z.shape[1]
    mean = np.zeros(d) if Z.mean is None else Z.mean
    return mean, np.ones(d) if Z.scale is None else np.where(np.isinf(Z.scale), 1.0, Z.scale)


def as_given(X: Any, scores: FloatArray) -> Any:
    """Return scores as scikit-learn's array API dispatch has them: where X lies, if that is switched on."""
    if is_elsewhere(X) and get_config()["array_api_dispatch"]:
        return Library.of(X).put(scores)
    return scores
