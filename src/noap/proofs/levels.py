"""A proof by induction over the number of features: bounds on the optima of fewer features, each with its tree."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noap.linalg.types import FloatArray
from noap.proofs.feature_wise import GramProof
from noap.proofs.parts import all_finite
from noap.proofs.relaxation import RelaxationProof

__all__ = ["LevelProof", "LevelsProof"]

LevelProof: TypeAlias = GramProof | RelaxationProof


@dataclass(frozen=True, eq=False)
class LevelsProof:
    """Levels in the order in which they are to be proved: each may use the bounds of those before it.

    Attributes
    ----------
    ks : array of uint32, shape (L,)
        How many features a support of the level may have.
    bounds : array of float64, shape (L,)
        What its optimum is at most.
    trees : tuple of L proofs
    """

    ks: npt.NDArray[np.uint32]
    bounds: FloatArray
    trees: tuple[LevelProof, ...]

    def __len__(self) -> int:
        # What is no proof has no nodes: a chain that is malformed has a length, too.
        trees = self.trees if isinstance(self.trees, tuple) else ()
        return sum(len(tree) for tree in trees if isinstance(tree, LevelProof))

    def malformed(self, n: int, d: int) -> str | None:
        """Return what is wrong with the arrays for n samples and d features, None if nothing."""
        for array, dtype in ((self.ks, np.uint32), (self.bounds, np.float64)):
            if not (isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == dtype):
                return "its levels are malformed"
        if not isinstance(self.trees, tuple) or not len(self.ks) == len(self.bounds) == len(self.trees) > 0:
            return "its levels are malformed"
        if not (all_finite(self.bounds) and (self.bounds >= 0).all() and (self.ks >= 1).all() and (self.ks <= d).all()):
            return "its levels have numbers that make no sense"
        for tree in self.trees:
            if not isinstance(tree, (GramProof, RelaxationProof)):
                return "a level has no proof"
            reason = tree.malformed(n, d)
            if reason is not None:
                return reason
        return None
