"""What features cost, in the units of an instance: rounded down, so that what is left of a variance is rounded up."""

from dataclasses import dataclass

import numpy as np

from noap.linalg.outward import UNIT
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Costs"]


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of the features of an instance; `each` is None if none costs anything."""

    each: FloatArray | None

    def of(self, features: IntArray) -> float:
        """Return at most what features cost together."""
        if self.each is None:
            return 0.0
        return float(self.each[features].sum()) * (1.0 - 2.0 * UNIT * (len(features) + 2))

    def leave_one_support(self, free: IntArray) -> bool:
        """Whether it makes no difference for the costs which of these are used."""
        return self.each is None or not self.each[free].any()

    def off(self, variance: float, features: IntArray) -> float:
        """Return a variance less what features cost, rounded up."""
        return variance if self.each is None else variance - self.of(features) + 4.0 * UNIT * variance

    def off_all(self, values: FloatArray, V: FloatArray) -> FloatArray:
        """Return what the rows of V are worth, whose values these are; using no feature is worth 0."""
        return values if self.each is None else np.maximum(values - (V != 0) @ self.each, 0.0)
