"""A proof about a problem with a metric by matrices near to its covariance."""

from dataclasses import dataclass

import numpy as np

from noap.linalg.types import FloatArray
from noap.proofs.parts import all_finite

__all__ = ["MetricRelaxationProof"]

# Matrices at most: a checker compares each with each.
_MOST = 200


@dataclass(frozen=True, eq=False)
class MetricRelaxationProof:
    """Matrices Z, each with a line that bounds v'Av/v'Bv (docs/generalised.md, "All supports at once").

    Attributes
    ----------
    entries : array of float64
        Their upper triangles, row by row, one matrix after the other; in the units of the pencil.
    """

    entries: FloatArray

    def __len__(self) -> int:
        return 1

    def malformed(self, n: int, d: int) -> str | None:
        """Return what is wrong with it for n samples and d features, None if nothing."""
        entries, each = self.entries, d * (d + 1) // 2
        if not (isinstance(entries, np.ndarray) and entries.dtype == np.float64 and entries.ndim == 1):
            return "its matrices are of the wrong type"
        if len(entries) == 0 or len(entries) % each or len(entries) > _MOST * each:
            return "its matrices are malformed"
        return None if all_finite(entries) else "its matrices have entries that are not finite"
