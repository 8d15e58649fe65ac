"""What ascent asks for: starts, climbs to fixed points, and exchanges of a feature."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from noap.heuristics.batch import Batch
from noap.heuristics.measured import MeasuredVectors
from noap.linalg.types import FloatArray

__all__ = ["Climber"]


class Climber(Protocol):
    """Moves vectors of at most k features uphill, and remembers where it has been.

    No move goes down: what comes back is at least as far from being cancelled as what went in.
    """

    strengths: FloatArray

    def measured(self, batch: Batch) -> MeasuredVectors:
        """Return the vectors with their distances."""

    def starts(self, rng: np.random.Generator) -> Iterator[MeasuredVectors]:
        """Yield starting vectors, a few rounds into their supports."""

    def climb(self, candidates: MeasuredVectors, count: int, max_steps: int) -> MeasuredVectors:
        """Return the fixed points above the `count` best candidates whose supports are new.

        A climb that comes to a support where one has been before is given up, so that no support comes back twice.
        """

    def exchanges(self, vectors: MeasuredVectors) -> MeasuredVectors:
        """Return promising vectors that are one exchange of features away."""

    def thinned(self, rng: np.random.Generator) -> "Climber | None":
        """Return a climber over a part of many samples, to find supports quickly; None where all are few enough."""

    def to_fixed_point(self, vector: MeasuredVectors) -> MeasuredVectors:
        """Run one vector to the fixed point of both half-steps, to rounding."""
