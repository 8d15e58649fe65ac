"""A proof about a problem with a metric: one about a problem without, and numbers that lead from one to the other."""

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from noap.linalg.types import FloatArray
from noap.proofs.feature_wise import GramProof
from noap.proofs.levels import LevelsProof
from noap.proofs.many import ManyProof
from noap.proofs.parts import all_finite
from noap.proofs.relaxation import RelaxationProof

__all__ = ["MetricProof"]

Inner: TypeAlias = GramProof | LevelsProof | ManyProof | RelaxationProof


@dataclass(frozen=True, eq=False)
class MetricProof:
    """What a plain problem says about one with a metric B (docs/generalised.md).

    Attributes
    ----------
    threshold, shift : float
        T and tau of the plain problem of A - TB + tau I, in the units of its pencil; both 0 where B is diagonal, and
        the plain problem is that of the rescaled columns.
    bound : float
        What the optimum of the plain problem is at most.
    inner : GramProof, LevelsProof, ManyProof or RelaxationProof
        The proof of that.
    attack : array of shape (3d,), or empty
        Against an adversary with a metric that is not diagonal: the direction w that an attack responds to, what it
        takes off every column along Xw, and the share that it leaves of the rest; in the units of the pencil.
    """

    threshold: float
    shift: float
    bound: float
    inner: Inner
    attack: FloatArray = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.inner)

    def malformed(self, n: int, d: int) -> str | None:
        """Return what is wrong with it for n samples and d features, None if nothing."""
        numbers = (self.threshold, self.shift, self.bound)
        if not all(isinstance(x, float) and math.isfinite(x) and x >= 0 for x in numbers):
            return "its numbers for the metric make no sense"
        attack = self.attack
        if not (isinstance(attack, np.ndarray) and attack.dtype == np.float64 and attack.shape in ((0,), (3 * d,))):
            return "its attack is malformed"
        if not all_finite(attack):
            return "its attack has entries that are not finite"
        if not isinstance(self.inner, GramProof | LevelsProof | ManyProof | RelaxationProof):
            return "its metric has no proof"
        return self.inner.malformed(n, d)
