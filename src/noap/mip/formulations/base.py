"""What a formulation hands to those who solve it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noap.linalg.types import FloatArray, IntArray
from noap.mip.formulations.spectrum import Spectrum
from noap.mip.instance import Instance
from noap.mip.model import Model

__all__ = ["Formulation"]


@dataclass(frozen=True, eq=False)
class Formulation:
    """A model, how to read a direction out of it and how to read its bound.

    Attributes
    ----------
    instance : Instance
    model : Model
    v : array of int
        Columns of the direction.
    spectrum : Spectrum
    lift : callable
        Extends a unit k-sparse direction to all columns.
    value_of : callable
        Turns an objective of the model into a robust variance in the units of the problem.
    extra_error : float
        What rows other than the chords may add, in model units.
    """

    instance: Instance
    model: Model
    v: IntArray
    spectrum: Spectrum
    lift: Callable[[FloatArray], FloatArray]
    value_of: Callable[[float], float]
    extra_error: float = 0.0

    def rest(self, x: FloatArray | None) -> float:
        """Return gamma at a point of the model; 1, the worst case, when there is none."""
        if not self.spectrum.rest:
            return 0.0
        if x is None:
            return 1.0
        return float(sum(np.sum(np.asarray(c) * x[np.atleast_1d(w)]) for w, c in self.spectrum.rest))

    def error(self, x: FloatArray | None) -> float:
        """Return the theorem's additive term in the units of the problem; gamma is taken from x, an optimal point."""
        rest = min(max(self.rest(x), 0.0), 1.0) * self.spectrum.rest_cost
        return self.instance.unit * (self.spectrum.error + self.extra_error + rest)
