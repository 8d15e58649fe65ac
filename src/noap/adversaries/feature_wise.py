"""Every feature may be moved: columns of E have norm at most rho."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noap.adversaries.base import GramAdversary, samples_of, vector_of
from noap.adversaries.budgets import Budgeted, checked_budgets, largest_ratio, scaled, weighed
from noap.errors import InvalidProblem
from noap.linalg.products import scores
from noap.linalg.screening import longest_column, longest_column_in_budgets
from noap.linalg.types import Data, FloatArray, IntArray
from noap.linalg.vectors import largest_norm, norms, soft, unit

__all__ = ["FeatureWise"]


@dataclass(frozen=True, eq=False, repr=False)
class FeatureWise(Budgeted, GramAdversary):
    r"""The 1->2 norm ball: the adversary adds to every feature a vector of length at most rho.

    The set of reachable :math:`Ev` is the ball of radius :math:`\rho\|v\|_1` (the paper's Proposition 4),
    so the robust variance, equation (7) of the paper, is

    .. math:: \tfrac1n \left(\|Xv\|_2 - \rho\|v\|_1\right)_+^2 .

    With a budget for every feature :math:`\rho\|v\|_1` is :math:`\sum_j \rho_j |v_j|`.

    Parameters
    ----------
    rho : float or array of shape (d,)
        Budget per feature, in the units of a column norm. rho/sqrt(n) is the root-mean-square error
        per entry. A number is the budget of every feature. In an array 0 means that a feature is exact, and infinity
        that it is not to be trusted at all: a direction that uses it is worth nothing.

    >>> FeatureWise(1.0).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0])
    8.0
    >>> FeatureWise([3.0, 0.0]).value([[3.0, 0.0], [4.0, 1.0]], [1.0, 0.0])
    2.0
    """

    key = "feature"
    moves = "feature (every column of the table)"
    of = "feature"

    rho: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", checked_budgets(self.rho, self.of))

    def check_shape(self, n: int, d: int) -> None:
        """Raise InvalidProblem unless there is a number, or one budget for each of d features."""
        if not self.has_one_budget and self.rho.shape != (d,):
            raise InvalidProblem(
                f"rho has {len(self.rho)} entries, but there are {d} features; pass one budget per feature, or a "
                "number for all."
            )

    def restricted_to(self, features: IntArray) -> "FeatureWise":
        """Return the adversary with the budgets of these features."""
        made: FeatureWise = self._of_some(features)
        return made

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
        """Return the largest column norm of E; with several budgets, the smallest c with |E_j| <= c rho_j for all j."""
        columns = np.asarray(E, dtype=np.float64).T
        if self.has_one_budget:
            return largest_norm(columns)
        return largest_ratio(np.array([largest_norm(column[None, :]) for column in columns]), self.rho)

    def support_function(self, u: FloatArray, v: FloatArray) -> float:
        r"""Return :math:`\rho\|u\|_2\|v\|_1`."""
        if self.has_one_budget:
            return float(self.rho * np.linalg.norm(u) * np.abs(v).sum())
        length = float(np.linalg.norm(u))
        return 0.0 if length == 0 else length * float(weighed(self.rho, v).sum())

    def distance(self, scores: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`(\|Xv\|_2 - \rho\|v\|_1)_+`."""
        return self.distance_from_energy(norms(scores), v)

    def distance_from_energy(self, energy: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`(\|Xv\|_2 - \rho\|v\|_1)_+`."""
        with np.errstate(over="ignore"):  # what is more than any number leaves nothing
            spent = self.rho * np.abs(v).sum(axis=-1) if self.has_one_budget else weighed(self.rho, v).sum(axis=-1)
        away: FloatArray = np.maximum(energy - spent, 0.0)
        return away

    def attack(self, X: Data, v: ArrayLike) -> FloatArray:
        r"""Return the paper's minimiser: :math:`E_j = -\mathrm{sgn}(v_j)\,\pi/\|v\|_1`.

        :math:`\pi` is the projection of :math:`Xv` on the ball of radius :math:`\rho\|v\|_1`. Features
        outside the support are left alone. With a budget for every feature,
        :math:`E_j = -\mathrm{sgn}(v_j)\,\rho_j\,\pi/\sum_i \rho_i |v_i|`.
        """
        data = samples_of(X)
        direction = vector_of(v, data.shape[1])
        support = np.flatnonzero(direction)
        shares = np.ones(len(support)) if self.has_one_budget else _relative(self.rho[support], direction[support])
        # With one budget the shares are all 1, and this is |v|_1.
        length = float(np.abs(direction).sum() if self.has_one_budget else shares @ np.abs(direction[support]))
        E = np.zeros(data.shape)
        if length == 0:
            return E
        reached = scores(data, direction)
        energy = np.linalg.norm(reached)
        unit_budget = self.rho if self.has_one_budget else float(self.rho[support].max())
        share = reached / length if energy <= unit_budget * length else unit_budget * (reached / energy)
        E[:, support] = -share[:, None] * (np.sign(direction[support]) * shares)
        return E

    def rho_max(self, X: Data, k: int) -> float:
        r"""Return the largest column norm: then every single feature is worthless, and so is every v.

        For :math:`\|Xv\| \le \sum_j |v_j| \|a_j\| \le \max_j \|a_j\| \, \|v\|_1`, with equality for a coordinate
        vector. The smallest float that is not below it, so that at this budget the optimum is 0 exactly. With a budget
        for every feature, the smallest factor c such that budgets c rho do the same, :math:`\max_j \|a_j\|/\rho_j`:
        infinity if a feature that is exact (rho_j = 0) is not zero.
        """
        data = samples_of(X)
        if self.has_one_budget:
            return longest_column(data)
        self.check_shape(*data.shape)
        return longest_column_in_budgets(data, self.rho)

    def respond(self, scores: FloatArray) -> FloatArray:
        """Return Xv/|Xv|: sigma depends on u only through its norm."""
        return unit(scores)

    def shrink(self, loadings: FloatArray) -> FloatArray:
        """Return soft(X'u, rho)."""
        return soft(loadings, self.rho)

    def gradient(self, loadings: FloatArray, v: FloatArray) -> FloatArray:
        r"""Return :math:`X^\top u - \rho\,\mathrm{sgn}(v)`, the last factor of the paper's printed gradient."""
        if self.has_one_budget:
            slope: FloatArray = loadings - self.rho * np.sign(v)
            return slope
        # What is not trusted at all has nothing to gain.
        trusted = np.isfinite(self.rho)
        step: FloatArray = np.where(trusted, loadings - np.where(trusted, self.rho, 0.0) * np.sign(v), 0.0)
        return step

    def rescaled(self, factor: float) -> "FeatureWise":
        """Return the adversary with budget factor rho."""
        return replace(self, rho=scaled(self.rho, factor))

    @property
    def feature_floor(self) -> "float | FloatArray":
        """rho: a feature with |a_j| <= rho is zero in every optimum of positive value.

        At the optimal u the coefficient v_j is proportional to soft(a_j'u, rho), and |a_j'u| <= |a_j|.
        """
        floor: float | FloatArray = self.rho
        return floor


def _relative(budgets: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the budgets as shares of the largest; if some are infinite, these share the work evenly, the others not.

    Evenly in what they take off Xv, which does not depend on the units of the features.
    """
    top = float(budgets.max(initial=0.0))
    if math.isinf(top):
        return np.divide(1.0, np.abs(weights), out=np.zeros(len(budgets)), where=np.isinf(budgets))
    return budgets / top if top > 0 else np.zeros(len(budgets))
