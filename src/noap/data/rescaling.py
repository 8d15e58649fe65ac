r"""A diagonal metric is a change of units: with :math:`v_j = w_j/\sqrt{B_{jj}}` it is :math:`\|w\|_2 = 1`.

Columns are divided by :math:`\sqrt{B_{jj}}`, and so are the budgets of an adversary that moves features: what is left
is a problem without a metric. Rounding changes a column by at most four ulps of each entry; budgets are rounded down.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.adversaries import FeatureWise, NoAdversary
from noap.data.validation import Samples, Symmetric, as_samples
from noap.errors import InvalidProblem
from noap.linalg.outward import UNIT, definite_shift, up
from noap.linalg.types import FloatArray

if TYPE_CHECKING:
    from noap.adversaries.base import Adversary
    from noap.problem import Problem

__all__ = ["Rescaled"]


@dataclass(frozen=True, eq=False)
class Rescaled:
    """The problem without a metric, and the way back.

    Attributes
    ----------
    problem : Problem
    factors : array of shape (d,), about one over the roots of the diagonal of B
    """

    problem: "Problem"
    factors: FloatArray

    @classmethod
    def of(cls, problem: "Problem") -> "Rescaled":
        """Change the units of a problem whose metric is diagonal."""
        assert problem.metric is not None
        factors = 1.0 / np.sqrt(problem.metric)
        adversary, names = _adversary(problem, factors), problem.feature_names
        if problem.X is not None:
            data, _ = as_samples(_scaled(problem.X, factors))
            return cls(type(problem)(Samples(data, names), problem.k, adversary), factors)
        S = problem.covariance * np.outer(factors, factors)
        S = (S + S.T) / 2.0
        S.flags.writeable = False
        known = Symmetric(S, names, definite_shift(S), problem.lift > 0)
        return cls(problem._of_symmetric(known, problem.n_samples, problem.k, adversary, None), factors)

    def outside(self, w: FloatArray, metric: FloatArray) -> FloatArray:
        """Return the direction of the given problem, with v'Bv = 1."""
        v = w * self.factors
        return v / math.sqrt(float(metric @ (v * v)))

    def inside(self, v: FloatArray) -> FloatArray:
        """Return a direction of the given problem as a unit vector here."""
        w = v / self.factors
        return w / float(np.linalg.norm(w))

    def bound(self, bound: float) -> float:
        """Return what a bound here says about the given problem, rounded up."""
        k, n = self.problem.k, self.problem.n_samples
        if self.problem.X is not None:
            moved = up(4.0 * UNIT * math.sqrt(k) * float(self.problem.column_norms.max()) / math.sqrt(n), 16)
            return up((up(math.sqrt(bound)) + moved) ** 2)
        moved = up(8.0 * UNIT * k * float(np.abs(self.problem.covariance).max()), 16)
        root = up(math.sqrt(bound)) + up(math.sqrt(up(bound + 4.0 * moved)))
        return up((root / 2.0) ** 2)


def _adversary(problem: "Problem", factors: FloatArray) -> "Adversary":
    if type(problem.adversary) is NoAdversary:
        return problem.adversary
    # A budget of 0 stays 0, and an infinite one infinite.
    rho = problem.adversary.budgets(problem.n_features) * factors * (1.0 - 8.0 * UNIT)
    return FeatureWise(rho if (rho != rho[0]).any() or math.isinf(rho[0]) else float(rho[0]))


def _scaled(X: Any, factors: FloatArray) -> Any:
    if isinstance(X, np.ndarray):
        return X * factors
    if not hasattr(X, "indices"):
        raise InvalidProblem("metric takes no samples that are centred when they are looked at; pass a dense X.")
    scaled = X.astype(np.float64)  # a copy
    scaled.data *= factors[scaled.indices]
    return scaled
