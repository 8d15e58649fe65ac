"""Every sample may be moved: rows of E have norm at most rho."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import Adversary, samples_of, vector_of
from noap.adversaries.budgets import Budgeted, checked_budgets, largest_ratio, scaled, weighed
from noap.errors import InvalidProblem
from noap.linalg.products import scores
from noap.linalg.screening import longest_sample, longest_sample_in_budgets
from noap.linalg.types import Data, FloatArray, IntArray
from noap.linalg.vectors import largest_norm, norms, soft, unit

__all__ = ["SampleWise"]


@dataclass(frozen=True, eq=False, repr=False)
class SampleWise(Budgeted, Adversary):
    r"""The 2->inf norm ball: the adversary adds to every sample a vector of length at most rho.

    The set of reachable :math:`Ev` is the box of half-width :math:`\rho\|v\|_2` (the paper's
    Proposition 2), so the robust variance, its equation (3), is

    .. math:: \tfrac1n \sum_i \left(|x_i^\top v| - \rho\|v\|_2\right)_+^2 .

    With a budget for every sample :math:`\rho` is :math:`\rho_i`.

    Parameters
    ----------
    rho : float or array of shape (n,)
        Budget per sample: the largest shift of one sample's score along a unit direction. A number is the budget of
        every sample. In an array 0 means that a sample is exact, and infinity that it is not to be trusted at all: it
        adds nothing to any value.

    >>> round(SampleWise(1.0).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0]), 12)
    6.5
    >>> round(SampleWise([1.0, float("inf")]).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0]), 12)
    2.0
    """

    key = "sample"
    moves = "sample (every row of the table)"
    gram_suffices = False
    of = "sample"

    rho: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", checked_budgets(self.rho, self.of))

    def check_shape(self, n: int, d: int) -> None:
        """Raise InvalidProblem unless there is a number, or one budget for each of n samples."""
        if not self.has_one_budget and self.rho.shape != (n,):
            raise InvalidProblem(
                f"rho has {len(self.rho)} entries, but there are {n} samples; pass one budget per sample, or a number "
                "for all."
            )

    def restricted_to_samples(self, samples: IntArray) -> "SampleWise":
        """Return the adversary with the budgets of these samples."""
        made: SampleWise = self._of_some(samples)
        return made

    @classmethod
    def noise_in_words(cls, scaled: bool) -> str:
        """Return what noise means, in one sentence: rho itself."""
        said = "Noise is how far the adversary may shift the score of every sample along the component"
        if scaled:
            return f"{said}: 0.1 means by at most 0.1, in the units of the standardised data."
        return f"{said}, in the units of the data."

    def norm(self, E: ArrayLike) -> float:
        """Return the largest row norm of E; with several budgets, the smallest c with |E_i| <= c rho_i for all i."""
        rows = np.asarray(E, dtype=np.float64)
        if self.has_one_budget:
            return largest_norm(rows)
        return largest_ratio(np.array([largest_norm(row[None, :]) for row in rows]), self.rho)

    def support_function(self, u: FloatArray, v: FloatArray) -> float:
        r"""Return :math:`\rho\|u\|_1\|v\|_2`."""
        if self.has_one_budget:
            return float(self.rho * np.abs(u).sum() * np.linalg.norm(v))
        length = float(np.linalg.norm(v))
        return 0.0 if length == 0 else length * float(weighed(self.rho, u).sum())

    def distance(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`\|\mathrm{soft}(Xv, \rho\|v\|_2)\|_2`."""
        box = weighed(self.rho, norms(v)[..., None])
        return norms(scores - np.clip(scores, -box, box))

    def attack(self, X: Data, v: ArrayLike) -> FloatArray:
        r"""Return the paper's minimiser: row i is :math:`-\pi_i v^\top/\|v\|_2^2`.

        :math:`\pi_i` clips the score :math:`x_i^\top v` to the box of half-width :math:`\rho\|v\|_2`.
        """
        data = samples_of(X)
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

        The smallest float that is not below it, so that at this budget the optimum is 0 exactly. With a budget for
        every sample, the smallest factor c such that budgets c rho do the same.
        """
        data = samples_of(X)
        if self.has_one_budget:
            return longest_sample(data, k)
        self.check_shape(*data.shape)
        return longest_sample_in_budgets(data, k, self.rho)

    def respond(self, scores: FloatArray) -> FloatArray:
        """Return soft(Xv, rho) normalised; zero where no score exceeds rho."""
        return unit(soft(scores, self.rho))

    def shrink(self, loadings: FloatArray) -> FloatArray:
        """Return the loadings unchanged: sigma depends on v only through its norm."""
        return loadings

    def rescaled(self, factor: float) -> "SampleWise":
        """Return the adversary with budget factor rho."""
        return replace(self, rho=scaled(self.rho, factor))

    @property
    def sample_floor(self) -> "float | FloatArray":
        """rho: no k-sparse unit v lifts a sample with |top_k(x_i)| <= rho above the budget."""
        floor: float | FloatArray = self.rho
        return floor
