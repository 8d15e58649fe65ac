"""Every feature may be moved: columns of E have norm at most rho."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import GramAdversary, checked_budget, vector_of
from noap.linalg.products import scores
from noap.linalg.screening import longest_column
from noap.linalg.types import Data, FloatArray
from noap.linalg.vectors import largest_norm, norms, soft, unit

__all__ = ["FeatureWise"]


@dataclass(frozen=True)
class FeatureWise(GramAdversary):
    r"""The 1->2 norm ball: the adversary adds to every feature a vector of length at most rho.

    The set of reachable :math:`Ev` is the ball of radius :math:`\rho\|v\|_1` (the paper's Proposition 4),
    so the robust variance is

    .. math:: \tfrac1n \left(\|Xv\|_2 - \rho\|v\|_1\right)_+^2 .

    Parameters
    ----------
    rho : float
        Budget per feature, in the units of a column norm. rho/sqrt(n) is the root-mean-square error
        per entry.

    >>> FeatureWise(1.0).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0])
    8.0
    """

    key = "feature"
    moves = "feature (every column of the table)"

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", checked_budget(self.rho))

    @classmethod
    def noise_unit(cls, n: int) -> float:
        """Return sqrt(n): noise is the root-mean-square error per entry."""
        return math.sqrt(n)

    @classmethod
    def noise_in_words(cls, scaled: bool) -> str:
        """Return what noise means, in one sentence."""
        said = "Noise is the error the adversary may put on every feature, as a root mean square in"
        if scaled:
            return (
                f"{said} standard deviations: 0.1 means a tenth of a standard deviation, and 1 is enough to wipe any "
                "feature out."
            )
        return f"{said} the units of the data."

    def norm(self, E: ArrayLike) -> float:
        """Return the largest column norm of E."""
        return largest_norm(np.asarray(E, dtype=np.float64).T)

    def support_function(self, u: FloatArray, v: FloatArray) -> float:
        r"""Return :math:`\rho\|u\|_2\|v\|_1`."""
        return float(self.rho * np.linalg.norm(u) * np.abs(v).sum())

    def distance(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`(\|Xv\|_2 - \rho\|v\|_1)_+`."""
        return self.distance_from_energy(norms(scores), v)

    def distance_from_energy(self, energy: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`(\|Xv\|_2 - \rho\|v\|_1)_+`."""
        away: FloatArray = np.maximum(energy - self.rho * np.abs(v).sum(axis=-1), 0.0)
        return away

    def attack(self, X: Data, v: ArrayLike) -> FloatArray:
        r"""Return the paper's minimiser: :math:`E_j = -\mathrm{sgn}(v_j)\,\pi/\|v\|_1`.

        :math:`\pi` is the projection of :math:`Xv` on the ball of radius :math:`\rho\|v\|_1`. Features
        outside the support are left alone.
        """
        data = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
        direction = vector_of(v, data.shape[1])
        length = np.abs(direction).sum()
        E = np.zeros(data.shape)
        if length == 0:
            return E
        reached = scores(data, direction)
        energy = np.linalg.norm(reached)
        share = reached / length if energy <= self.rho * length else self.rho * (reached / energy)
        support = np.flatnonzero(direction)
        E[:, support] = -share[:, None] * np.sign(direction[support])
        return E

    def rho_max(self, X: Data, k: int) -> float:
        r"""Return the largest column norm: then every single feature is worthless, and so is every v.

        For :math:`\|Xv\| \le \sum_j |v_j| \|a_j\| \le \max_j \|a_j\| \, \|v\|_1`, with equality for a coordinate
        vector. The smallest float that is not below it, so that at this budget the optimum is 0 exactly.
        """
        data = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
        return longest_column(data)

    def respond(self, scores: FloatArray) -> FloatArray:
        """Return Xv/|Xv|: sigma depends on u only through its norm."""
        return unit(scores)

    def shrink(self, loadings: FloatArray) -> FloatArray:
        """Return soft(X'u, rho)."""
        return soft(loadings, self.rho)

    def gradient(self, loadings: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`X^\top u - \rho\,\mathrm{sgn}(v)`, the last factor of the paper's printed gradient."""
        return loadings - self.rho * np.sign(v)

    def rescaled(self, factor: float) -> "FeatureWise":
        """Return the adversary with budget factor rho."""
        return replace(self, rho=factor * self.rho)

    @property
    def feature_floor(self) -> float:
        """rho: a feature with |a_j| <= rho is zero in every optimum of positive value.

        At the optimal u the coefficient v_j is proportional to soft(a_j'u, rho), and |a_j'u| <= |a_j|.
        """
        return self.rho
