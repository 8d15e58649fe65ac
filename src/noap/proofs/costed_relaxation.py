"""A proof by the relaxation where features cost something: what places take beside their part of the l1 norm."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.linalg.types import FloatArray
from noap.proofs.parts import unusable_array
from noap.proofs.relaxation import RelaxationProof, UIntArray

__all__ = ["CostedRelaxationProof"]


@dataclass(frozen=True, eq=False)
class CostedRelaxationProof(RelaxationProof):
    """Inequalities v'Av <= c + sum over the places of (tau_i t + a_i) + mu t, and the leaves that they close.

    Attributes
    ----------
    dues : array of float64, as long as places
        a, in the units of a variance.
    pull_counts : array of uint32, as long as places
        How many entries the row of pulls of each place has.
    pull_places : array of uint32
        Which of the features of its inequality each entry is about, increasing within a row, never the row itself.
    pulls : array of float32, as long as pull_places
    """

    dues: FloatArray
    pull_counts: UIntArray
    pull_places: UIntArray
    pulls: np.ndarray

    def malformed(self, n: int, d: int) -> str | None:
        """Return what is wrong with the arrays for n samples and d features, None if nothing."""
        return unusable_array(self, _TYPES) or super().malformed(n, d) or self._malformed_pulls()

    def _malformed_pulls(self) -> str | None:
        if not len(self.places) == len(self.dues) == len(self.pull_counts):
            return "its pulls are malformed"
        if self.dues.min(initial=0.0) < 0:
            return "its lines have negative multipliers"
        if not int(self.pull_counts.sum(dtype=np.int64)) == len(self.pulls) == len(self.pull_places):
            return "its pulls are malformed"
        first = 0
        for number in range(len(self.kinds)):
            left, right = int(self.starts[number]), int(self.starts[number + 1])
            counts = self.pull_counts[left:right].astype(np.int64)
            some = self.pull_places[first : first + int(counts.sum())].astype(np.int64)
            rows = np.repeat(np.arange(right - left), counts)
            rising = (np.diff(some) > 0) | (np.diff(rows) > 0)
            if len(some) and (int(some.max()) >= right - left or not rising.all() or (some == rows).any()):
                return "its pulls name features that are not in order"
            first += len(some)
        return None


_TYPES: dict[str, np.dtype[Any]] = {
    "dues": np.dtype("<f8"),
    "pull_counts": np.dtype("<u4"),
    "pull_places": np.dtype("<u4"),
    "pulls": np.dtype("<f4"),
}
