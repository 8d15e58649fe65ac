"""A proof by the relaxation in the l1 norm: matrices near the Gram matrix, whose largest eigenvalues are small."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.linalg.types import FloatArray
from noap.proofs.parts import unusable_array

__all__ = ["GIVEN", "SOFT", "RelaxationProof"]

# Where a matrix comes from: the soft threshold of the Gram matrix at its slope, or the entries of the proof.
SOFT, GIVEN = range(2)


@dataclass(frozen=True, eq=False)
class RelaxationProof:
    """Lines c + mu t above the variance of every k-sparse unit v with |v|_1^2 = t.

    Attributes
    ----------
    features : array of uint32, shape (m,), increasing
        The features that the matrices are about; all others are too short to matter.
    kinds : array of uint8, shape (L,)
        SOFT or GIVEN.
    slopes : array of float64, shape (L,)
        mu, in the units of a variance. For GIVEN the checker finds its own from the entries.
    unit : array of float64, shape (1,)
        What entries are multiplied by.
    entries : array of float32
        For every GIVEN matrix its upper triangle, row by row.
    """

    features: npt.NDArray[np.uint32]
    kinds: npt.NDArray[np.uint8]
    slopes: FloatArray
    unit: FloatArray
    entries: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.kinds)

    def malformed(self, n: int, d: int) -> str | None:
        """Return what is wrong with the arrays for n samples and d features, None if nothing."""
        reason = unusable_array(self, _TYPES)
        if reason is not None:
            return reason
        m = len(self.features)
        if m and (int(self.features.max()) >= d or (np.diff(self.features.astype(np.int64)) <= 0).any()):
            return "its features are not an increasing list"
        if len(self.kinds) == 0 or len(self.slopes) != len(self.kinds) or int(self.kinds.max()) > GIVEN:
            return "its lines are malformed"
        if len(self.unit) != 1 or not self.unit[0] > 0 or (self.slopes < 0).any():
            return "its unit or its slopes are malformed"
        if len(self.entries) != int((self.kinds == GIVEN).sum()) * (m * (m + 1) // 2):
            return "its matrices are not of the size of its features"
        return None


_TYPES: dict[str, np.dtype[Any]] = {
    "features": np.dtype("<u4"),
    "kinds": np.dtype("u1"),
    "slopes": np.dtype("<f8"),
    "unit": np.dtype("<f8"),
    "entries": np.dtype("<f4"),
}
