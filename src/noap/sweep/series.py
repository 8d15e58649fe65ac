"""What every sweep has: results in order, and their values, bounds and vectors as arrays."""

from functools import cached_property
from typing import Any

import numpy as np

from noap.linalg.types import FloatArray
from noap.result import Result

__all__ = ["ResultSeries", "frozen"]


class ResultSeries:
    """Results in the order of what is swept over."""

    results: tuple[Result, ...]

    def __len__(self) -> int:
        return len(self.results)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features, if the data had any."""
        return self.results[-1].problem.feature_names

    @cached_property
    def values(self) -> FloatArray:
        """Robust variance of the vector found at each point."""
        return frozen([result.value for result in self.results])

    @cached_property
    def bounds(self) -> FloatArray:
        """Proved upper bound on the optimum at each point; inf where nothing is proved."""
        return frozen([result.bound for result in self.results])

    @cached_property
    def vectors(self) -> FloatArray:
        """The vectors found, one per row."""
        return frozen([result.v for result in self.results])

    @property
    def _names(self) -> tuple[str, ...]:
        """A name for every feature: that of the data, or its position."""
        return self.feature_names or tuple(str(j) for j in range(self.results[-1].problem.n_features))


def frozen(entries: Any) -> FloatArray:
    """Return an array that nobody can change."""
    array = np.array(entries, dtype=np.float64)
    array.flags.writeable = False
    return array
