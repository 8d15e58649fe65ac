"""A problem on a device: the same samples, to the last bit, as a tensor of PyTorch."""

import numpy as np

from noap.data.validation import Samples
from noap.errors import InvalidProblem
from noap.linalg.device.columns import DeviceColumns
from noap.linalg.device.library import moved_to
from noap.problem import Problem

__all__ = ["on_device"]


def on_device(problem: Problem, device: str | None) -> Problem:
    """Return the problem with its samples on a device, such as "cuda" or "cuda:1"; as it is for None.

    Values, fingerprints and certificates are those of the problem itself.
    """
    if device is None:
        return problem
    if not isinstance(problem.X, np.ndarray):
        raise InvalidProblem("device takes samples X as a dense array; pass X.toarray(), or leave device out.")
    columns = DeviceColumns(moved_to(device, problem.X))
    return Problem(
        Samples(columns, problem.feature_names),
        problem.k,
        problem.adversary,
        costs=problem.costs,
        metric=problem.metric,
    )
