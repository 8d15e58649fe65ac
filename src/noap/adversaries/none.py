"""Nobody attacks: vanilla sparse PCA."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import GramAdversary
from noap.linalg.types import Data, FloatArray
from noap.linalg.vectors import norms, unit

__all__ = ["NoAdversary"]


@dataclass(frozen=True)
class NoAdversary(GramAdversary):
    r"""No perturbation: the robust variance is the plain one, :math:`\frac1n \|Xv\|_2^2`.

    >>> round(NoAdversary().value([[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0]), 12)
    10.0
    """

    key = "none"

    rho: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def with_budget(cls, rho: Any) -> "NoAdversary":
        """Return the adversary: whatever rho is, there is no budget."""
        return cls()

    def norm(self, E: ArrayLike) -> float:
        r"""Return :math:`\max |E_{ij}|`: only E = 0 is allowed."""
        return float(np.abs(np.asarray(E)).max(initial=0.0))

    def support_function(self, u: FloatArray, v: FloatArray) -> float:
        """Return 0: the set of reachable Ev is the origin."""
        return 0.0

    def distance(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        """Return |Xv|."""
        return norms(scores)

    def distance_from_energy(self, energy: FloatArray, v: FloatArray) -> FloatArray:
        """Return |Xv|."""
        return energy

    def attack(self, X: Data, v: ArrayLike) -> FloatArray:
        """Return the zero matrix."""
        return np.zeros(np.shape(X))

    def rho_max(self, X: Data, k: int) -> float:
        """Return infinity: there is no budget to exhaust."""
        return float("inf")

    def respond(self, scores: FloatArray) -> FloatArray:
        """Return Xv/|Xv|."""
        return unit(scores)

    def shrink(self, loadings: FloatArray) -> FloatArray:
        """Return the loadings unchanged."""
        return loadings

    def rescaled(self, factor: float) -> "NoAdversary":
        """Return this adversary: it has no budget."""
        return self
