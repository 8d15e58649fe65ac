"""Small problems cut out of a large one: a few features, their inner products, all in the same units."""

import math

import numpy as np

from noap.exact.feature_wise.instance import GramInstance, Incumbent, terms_of
from noap.linalg.blocked import ScaledColumns
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["SmallProblems"]

# A budget below this share of the longest column changes no digit of the optimum.
_NEGLIGIBLE = 1e-20


class SmallProblems:
    """Makes the instances that the search on X'X works on, of some features at a time.

    Attributes
    ----------
    columns : ScaledColumns
    rho : float, the budget in their units
    k : int, the largest size of a support
    scale : float, the largest squared norm
    """

    def __init__(self, problem: Problem, columns: ScaledColumns) -> None:
        self.columns = columns
        self.k = problem.k
        self.scale = float(self.columns.squares.max())
        # As for an instance of all features (exact/feature_wise/instance.py): one step looks at 2k of them at most.
        self._slack = (1.2e-16 * 2 * problem.k * (self.columns.n + 2) + 1e-15) * self.scale
        share = problem.adversary.rho / math.sqrt(problem.n_samples)
        rho = math.ldexp(share, -self.columns.exponent) * (1 - 4e-16)
        self.rho = rho if rho >= _NEGLIGIBLE * math.sqrt(self.scale) else 0.0

    def instance(self, features: IntArray, k: int, below: FloatArray) -> GramInstance:
        """Return the problem of these features and k of them, with bounds on the optima of fewer."""
        A = self.columns.gram(features)
        A[np.diag_indices_from(A)] += self._slack
        A.flags.writeable = False  # always, so that the kernels are compiled for one type of array
        norms = np.sqrt(np.diag(A)) * (1 + 1e-15)
        # Raised: where two levels are worth the same their last digits must not decide, for the checker has its own.
        known = below[:k] * (1 + 1e-13) if k > 1 else np.empty(0)
        # Not clear-cut: a relaxation is about all features that are long enough, and these are only some of them.
        terms = terms_of(np.full(len(features), self.rho), None, one_budget=True)
        return GramInstance(
            A,
            terms,
            k,
            features,
            norms,
            self.scale,
            self._slack,
            offset=0.0,
            unit=self.columns.unit,
            clear_cut=False,
            below=known,
        )

    def largest_worths(self) -> FloatArray:
        """Return what needs no search: bounds on the optima of 0, 1, ..., k features."""
        longest = -np.partition(-self.columns.squares, self.k - 1)[: self.k]
        worths = np.sort(np.maximum(np.sqrt(longest + self._slack) * (1 + 1e-14) - self.rho, 0.0) ** 2)[::-1]
        return np.append(0.0, np.cumsum(worths)) * (1 + 1e-13)

    def measured(self, features: IntArray, weights: FloatArray) -> Incumbent:
        """Return a vector with its value and loadings on its own features."""
        return Incumbent(self.instance(features, len(features), np.empty(0)), weights.astype(np.float64))
