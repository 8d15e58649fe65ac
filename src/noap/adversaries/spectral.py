"""The whole table may be moved: E has spectral norm at most rho."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import GramAdversary, samples_of, vector_of
from noap.adversaries.budgets import checked_budget
from noap.linalg.outward import up
from noap.linalg.products import column_norms, scores
from noap.linalg.screening import longest_column
from noap.linalg.types import Data, FloatArray
from noap.linalg.vectors import norms, unit

__all__ = ["SpectralNorm"]


@dataclass(frozen=True)
class SpectralNorm(GramAdversary):
    r"""The spectral norm ball: the adversary adds to the table any matrix of norm at most rho.

    The set of reachable :math:`Ev` is the ball of radius :math:`\rho\|v\|_2`, so the robust variance is

    .. math:: \tfrac1n \left(\|Xv\|_2 - \rho\|v\|_2\right)_+^2 .

    The worst E has rank one, so that its Frobenius norm is its spectral norm: against one direction the ball of the
    Frobenius norm is the same adversary. For unit v the value rises with :math:`\|Xv\|`: the best direction is that of
    plain sparse PCA, and :math:`\sqrt{n\,\mathrm{opt}} = (\sqrt{n\,\mathrm{opt}_0} - \rho)_+`.

    Parameters
    ----------
    rho : float
        Budget of the whole table, in the units of its norm. rho/sqrt(n) is the largest root-mean-square shift of the
        scores along a unit direction.

    >>> SpectralNorm(1.0).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0])
    8.0
    """

    key = "spectral"
    moves = "score (the table as a whole)"

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", checked_budget(self.rho))

    @classmethod
    def noise_unit(cls, n: int) -> float:
        """Return sqrt(n): noise is the root-mean-square shift of the scores."""
        return math.sqrt(n)

    @classmethod
    def noise_in_words(cls, scaled: bool) -> str:
        """Return what noise means, in one sentence."""
        said = "Noise is how far the adversary may shift the scores along any component, as a root mean square over"
        units = "the units of the standardised data" if scaled else "the units of the data"
        return f"{said} the samples, in {units}."

    def norm(self, E: ArrayLike) -> float:
        """Return the largest singular value of E."""
        return float(np.linalg.norm(np.asarray(E, dtype=np.float64), 2))

    def support_function(self, u: FloatArray, v: FloatArray) -> float:
        r"""Return :math:`\rho\|u\|_2\|v\|_2`."""
        return float(self.rho * np.linalg.norm(u) * np.linalg.norm(v))

    def distance(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`(\|Xv\|_2 - \rho\|v\|_2)_+`."""
        return self.distance_from_energy(norms(scores), v)

    def distance_from_energy(self, energy: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`(\|Xv\|_2 - \rho\|v\|_2)_+`."""
        away: FloatArray = np.maximum(energy - self.rho * norms(v), 0.0)
        return away

    def attack(self, X: Data, v: ArrayLike) -> FloatArray:
        r"""Return :math:`-\pi v^\top/\|v\|_2^2`, with :math:`\pi` the projection of :math:`Xv` on the ball."""
        data = samples_of(X)
        direction = vector_of(v, data.shape[1])
        length = np.linalg.norm(direction)
        E = np.zeros(data.shape)
        if length == 0:
            return E
        along = direction / length
        reached = scores(data, along)
        energy = np.linalg.norm(reached)
        shift = reached if energy <= self.rho else self.rho * (reached / energy)
        support = np.flatnonzero(direction)
        E[:, support] = -np.outer(shift, along[support])
        return E

    def rho_max(self, X: Data, k: int) -> float:
        r"""Return a budget at which every direction is worthless: an upper bound on the smallest one.

        The smallest is the largest k-sparse singular value of X, :math:`\sqrt{n\,\mathrm{opt}_0}`: an optimum itself,
        which `solve` finds for `NoAdversary`. This is the root of the sum of the k largest squared column norms,
        rounded up: the smallest itself for k = 1, and where the columns are multiples of one another.
        """
        data = samples_of(X)
        return longest_column(data) if k == 1 else largest_of(column_norms(data), k, data.shape[0])

    def respond(self, scores: FloatArray) -> FloatArray:
        """Return Xv/|Xv|: sigma depends on u only through its norm."""
        return unit(scores)

    def shrink(self, loadings: FloatArray) -> FloatArray:
        """Return the loadings unchanged: sigma depends on v only through its norm."""
        return loadings

    def rescaled(self, factor: float) -> "SpectralNorm":
        """Return the adversary with budget factor rho."""
        return replace(self, rho=factor * self.rho)


def largest_of(column_norms: FloatArray, k: int, terms: int) -> float:
    r"""Return at least :math:`\|Xv\|` of every k-sparse unit v, from computed norms of so many terms.

    >>> largest_of(np.array([3.0, 1.0, 4.0]), 2, 1) >= 5.0
    True
    """
    top = np.sort(column_norms)[::-1][:k]
    scale = float(top[0]) if len(top) else 0.0
    if scale == 0.0:
        return 0.0
    return up(scale * math.sqrt(float(((top / scale) ** 2).sum())), 2 * terms + k + 16)
