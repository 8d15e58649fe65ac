"""Every sample may be moved: rows of E have norm at most rho."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import Adversary, checked_budget, vector_of
from noap.linalg.products import scores
from noap.linalg.screening import longest_sample
from noap.linalg.types import Data, FloatArray
from noap.linalg.vectors import largest_norm, norms, soft, unit

__all__ = ["SampleWise"]


@dataclass(frozen=True)
class SampleWise(Adversary):
    r"""The 2->inf norm ball: the adversary adds to every sample a vector of length at most rho.

    The set of reachable :math:`Ev` is the box of half-width :math:`\rho\|v\|_2` (the paper's
    Proposition 2), so the robust variance is

    .. math:: \tfrac1n \sum_i \left(|x_i^\top v| - \rho\|v\|_2\right)_+^2 .

    Parameters
    ----------
    rho : float
        Budget per sample: the largest shift of one sample's score along a unit direction.

    >>> round(SampleWise(1.0).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0]), 12)
    6.5
    """

    key = "sample"
    moves = "sample (every row of the table)"
    gram_suffices = False

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", checked_budget(self.rho))

    @classmethod
    def noise_in_words(cls, scaled: bool) -> str:
        """Return what noise means, in one sentence: rho itself."""
        said = "Noise is how far the adversary may shift the score of every sample along the component"
        if scaled:
            return f"{said}: 0.1 means by at most 0.1, in the units of the standardised data."
        return f"{said}, in the units of the data."

    def norm(self, E: ArrayLike) -> float:
        """Return the largest row norm of E."""
        return largest_norm(np.asarray(E, dtype=np.float64))

    def support_function(self, u: FloatArray, v: FloatArray) -> float:
        r"""Return :math:`\rho\|u\|_1\|v\|_2`."""
        return float(self.rho * np.abs(u).sum() * np.linalg.norm(v))

    def distance(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`\|\mathrm{soft}(Xv, \rho\|v\|_2)\|_2`."""
        box = self.rho * norms(v)[..., None]
        return norms(scores - np.clip(scores, -box, box))

    def attack(self, X: Data, v: ArrayLike) -> FloatArray:
        r"""Return the paper's minimiser: row i is :math:`-\pi_i v^\top/\|v\|_2^2`.

        :math:`\pi_i` clips the score :math:`x_i^\top v` to the box of half-width :math:`\rho\|v\|_2`.
        """
        data = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
        direction = vector_of(v, data.shape[1])
        length = np.linalg.norm(direction)
        E = np.zeros(data.shape)
        if length == 0:
            return E
        along = direction / length
        shift = np.clip(scores(data, along), -self.rho, self.rho)
        support = np.flatnonzero(direction)
        E[:, support] = -np.outer(shift, along[support])
        return E

    def rho_max(self, X: Data, k: int) -> float:
        r"""Return the largest :math:`\|\mathrm{top}_k(x_i)\|`: the largest score any k-sparse unit v gives any sample.

        The smallest float that is not below it, so that at this budget the optimum is 0 exactly.
        """
        data = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
        return longest_sample(data, k)

    def respond(self, scores: FloatArray) -> FloatArray:
        """Return soft(Xv, rho) normalised; zero where no score exceeds rho."""
        return unit(soft(scores, self.rho))

    def shrink(self, loadings: FloatArray) -> FloatArray:
        """Return the loadings unchanged: sigma depends on v only through its norm."""
        return loadings

    def rescaled(self, factor: float) -> "SampleWise":
        """Return the adversary with budget factor rho."""
        return replace(self, rho=factor * self.rho)

    @property
    def sample_floor(self) -> float:
        """rho: no k-sparse unit v lifts a sample with |top_k(x_i)| <= rho above the budget."""
        return self.rho
