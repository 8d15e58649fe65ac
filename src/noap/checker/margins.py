"""By how much the checker raises what is claimed, so that rounding of its own does not refuse an honest proof."""

from typing import NamedTuple

import numpy as np

from noap.linalg.types import FloatArray

__all__ = ["WIDER", "Margins"]

WIDER = (1.0, 10.0, 100.0)
"""Nearly dependent columns make a proof sensitive to rounding: a leaf that stays open is tried again with margins so
many times wider."""


class Margins(NamedTuple):
    """What a claimed bound is raised by: a share of itself, and one of the largest variance of a feature."""

    relative: float
    absolute: float

    @property
    def raised(self) -> FloatArray:
        """What the claim is multiplied by: first the usual margin, then wider ones."""
        return 1.0 + self.relative * np.array(WIDER)

    def times(self, share: float) -> "Margins":
        """Return so many times these margins."""
        return Margins(share * self.relative, share * self.absolute)
