"""Small problems cut out of a large one: a few features, their inner products, all in the same units."""

import math
from functools import cached_property

import numpy as np

from noap.exact.feature_wise.instance import GramInstance, Incumbent, terms_of
from noap.exact.many.compatible import OwnTerms
from noap.heuristics.scaled_terms import scaled_terms
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
    rho : float, the smallest budget of a feature that can carry something, in their units
    terms : ScaledTerms
    k : int, the largest size of a support
    scale : float, the largest squared norm
    """

    def __init__(self, problem: Problem, columns: ScaledColumns) -> None:
        self.columns = columns
        self.k = problem.k
        self.scale = float(self.columns.squares.max())
        # As for an instance of all features (exact/feature_wise/instance.py): one step looks at 2k of them at most.
        self._slack = (1.2e-16 * 2 * problem.k * (self.columns.n + 2) + 1e-15) * self.scale
        self.terms = scaled_terms(problem, columns.exponent)
        rho = self.terms.rho * (1 - 4e-16)
        rho = np.where(rho >= _NEGLIGIBLE * math.sqrt(self.scale), rho, 0.0)
        self._budgets: FloatArray = np.broadcast_to(rho, columns.squares.shape)
        # A little less than they are, as for an instance of all features.
        self._costs = None if self.terms.costs is None else self.terms.costs * (1 - 2e-15)
        self.rho = float((self._budgets if self.worths is None else self._budgets[self.worths > 0]).min())

    @cached_property
    def worths(self) -> "FloatArray | None":
        """At least what each feature can carry; None where that follows from its length."""
        if self.terms.is_plain:
            return None
        longest = np.sqrt(self.columns.squares + self._slack) * (1 + 1e-9)
        worths: FloatArray = np.maximum(longest - self._budgets, 0.0) ** 2
        return worths if self._costs is None else np.maximum(worths - self._costs * (1 - 1e-9), 0.0)

    @cached_property
    def own(self) -> OwnTerms | None:
        """Budgets, costs and worths, where features have their own."""
        if self.worths is None:
            return None
        costs = np.zeros(len(self.worths)) if self._costs is None else self._costs
        return OwnTerms(self._budgets, costs, self.worths, float(self.worths.max()))

    def instance(self, features: IntArray, k: int, below: FloatArray) -> GramInstance:
        """Return the problem of these features and k of them, with bounds on the optima of fewer."""
        A = self.columns.gram(features)
        A[np.diag_indices_from(A)] += self._slack
        A.flags.writeable = False  # always, so that the kernels are compiled for one type of array
        norms = np.sqrt(np.diag(A)) * (1 + 1e-15)
        # Raised: where two levels are worth the same their last digits must not decide, for the checker has its own.
        known = below[:k] * (1 + 1e-13) if k > 1 else np.empty(0)
        # Not clear-cut: a relaxation is about all features that are long enough, and these are only some of them.
        one_budget = self.terms.is_even
        costs = None if self._costs is None else self._costs[features]
        terms = terms_of(self._budgets[features], costs, one_budget)
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
            one_budget=one_budget,
            below=known,
        )

    def largest_worths(self) -> FloatArray:
        """Return what needs no search: bounds on the optima of 0, 1, ..., k features."""
        if self.worths is not None:
            worths = -np.sort(np.partition(-self.worths, self.k - 1)[: self.k])
            return np.append(0.0, np.cumsum(worths)) * (1 + 1e-13)
        longest = -np.partition(-self.columns.squares, self.k - 1)[: self.k]
        worths = np.sort(np.maximum(np.sqrt(longest + self._slack) * (1 + 1e-14) - self.rho, 0.0) ** 2)[::-1]
        return np.append(0.0, np.cumsum(worths)) * (1 + 1e-13)

    @property
    def strongest(self) -> IntArray:
        """The feature that can carry most, alone in an array."""
        return np.array([int(np.argmax(self.columns.squares if self.worths is None else self.worths))])

    def measured(self, features: IntArray, weights: FloatArray) -> Incumbent:
        """Return a vector with its value and loadings on its own features; the strongest feature if it has none."""
        if len(features) == 0:
            features, weights = self.strongest, np.ones(1)
        return Incumbent(self.instance(features, len(features), np.empty(0)), weights.astype(np.float64))
