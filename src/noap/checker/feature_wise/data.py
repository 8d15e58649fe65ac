r"""The data of a Gram proof with error bounds: inner products of columns of :math:`X/\sqrt n`, budgets and costs."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.kernels.worth import Terms
from noap.checker.samples import Counted, block_entries, dense, dense_rows, exponent_for, scaled_blocks
from noap.linalg.outward import UNIT, definite_shift, exponent_of, gamma, gram_of_blocks, up
from noap.linalg.types import FloatArray
from noap.problem import Problem
from noap.proofs.known import feature_budgets

__all__ = ["GramData", "scaled_terms"]

# A budget below this share of the longest column counts as 0.
_NEGLIGIBLE = 1e-20


@dataclass(frozen=True, eq=False)
class GramData:
    """What the checker knows of the columns a_j of X/sqrt(n), divided by 2^exponent.

    Attributes
    ----------
    A : array of shape (d, d)
        Within `eps` of the inner products a_i'a_j, entry by entry. Features that are certainly worth nothing have a
        column of zeros, and an entry in `terms` that they never reach: the optimum is the same.
    top : float
        At least every |A_ij|.
    terms : Terms
        What features are worth: the budget rho_j/sqrt(n) lies between r_lo[j] and r_hi[j]; both are 0 for a budget
        below 1e-20 of the longest column.
    raised : float
        The vectors a_j are those of a matrix that is larger than the given one by exactly this on the diagonal: a
        covariance is made positive semidefinite. The optimum is raised by at most this; without a budget, by this.
    exponent : int
    one_budget : bool
        Whether all features have the same; `nu_unit` is then what the numbers nu of a proof are multiplied by.
    """

    A: FloatArray
    eps: float
    top: float
    terms: Terms
    raised: float
    exponent: int
    one_budget: bool

    @classmethod
    def of(cls, problem: Problem, allowance: Allowance | None = None) -> "GramData":
        """Take X or the covariance apart. Raises OutOfAllowance if that takes too much."""
        allowance = allowance or Allowance()
        n, d = problem.n_samples, problem.n_features
        # The matrix, and what is needed on the way to it.
        allowance.need(4 * d * d)
        counted = Counted.of(problem)
        if problem.X is not None:
            allowance.need(4 * d * d + 3 * block_entries(problem.X))
            exponent = exponent_for(problem.X, counted)
            G, error = gram_of_blocks(scaled_blocks(problem.X, exponent, counted), n, d, allowance.spent)
            A: FloatArray = G / n
            eps, raised = up(error / n), 0.0
        else:
            S = problem.covariance
            if counted.features is not None:
                S = np.where(np.logical_and.outer(counted.features, counted.features), S, 0.0)
            exponent = exponent_of(math.sqrt(float(np.abs(S).max(initial=0.0))))
            A, raised = _raised(np.ldexp(S, -2 * exponent), allowance)
            eps = 0.0
        top = float(np.abs(A).max(initial=0.0))
        A = np.ascontiguousarray(A)
        A.flags.writeable = False
        allowance.keep(d * d)
        rho, longest = feature_budgets(problem), math.sqrt(float(A.diagonal().max(initial=0.0)))
        one_budget = problem.adversary.has_one_budget or bool((rho == rho[0]).all())
        terms = scaled_terms(problem, rho[:1] if one_budget else rho, exponent, longest)
        return cls(
            A,
            eps + UNIT * top * 1.001 + 1e-290 if top > 0.0 else 0.0,
            top * (1.0 + 4.0 * UNIT),
            _without_empty(problem, A, terms, counted),
            raised,
            exponent,
            one_budget,
        )

    @cached_property
    def table(self) -> FloatArray:
        """The terms as rows of one array: each that Python hands over costs a kernel as much as many operations."""
        return np.array(self.terms)

    @property
    def nu_unit(self) -> float:
        """What the numbers nu of a proof are multiplied by: in one over units of a column, or numbers as they are."""
        return math.ldexp(1.0, self.exponent) * float(self.terms.r_lo[0]) if self.one_budget else 1.0

    @cached_property
    def norms(self) -> FloatArray:
        """At least |a_j|, for every j."""
        norms: FloatArray = np.sqrt(np.maximum(self.A.diagonal(), 0.0) + self.eps) * (1.0 + 4.0 * UNIT)
        return norms

    @property
    def scale(self) -> float:
        """The largest |a_j|^2."""
        return float(self.A.diagonal().max(initial=0.0))

    def response(
        self, places: npt.NDArray[np.integer[Any]], weights: FloatArray
    ) -> tuple[FloatArray, float, float] | None:
        """Return inner products with w, a vector of length at most 1 along sum weights_l a_places[l].

        Returns (g, g_eps, w_eps): |g_j - a_j'w| <= g_eps and 1 - w_eps <= |w|^2 <= 1; None if there is no such w.
        """
        # Only the direction counts: the weights are scaled, so that nothing overflows or vanishes.
        weights = np.ldexp(weights, -exponent_of(float(np.abs(weights).max(initial=0.0))))
        length = float(np.abs(weights).sum())
        block = self.A[:, places]
        pulled = block @ weights
        energy = float(pulled[places] @ weights)
        terms = len(weights)
        error = (self.eps + gamma(2 * terms + 8) * self.top) * length * length * 1.001
        if not (math.isfinite(energy) and energy > 4.0 * error > 0.0):
            return None
        norm = up(math.sqrt(energy + error))
        g: FloatArray = pulled / norm
        g_eps = ((self.eps + gamma(terms + 4) * self.top) * length / norm + 4.0 * UNIT * math.sqrt(self.top)) * 1.001
        w_eps = max(1.0 - (energy - error) / (norm * norm) * (1.0 - 8.0 * UNIT), 0.0) + 8.0 * UNIT
        return g, g_eps, w_eps


def scaled_terms(problem: Problem, rho: FloatArray, exponent: int, longest: float) -> Terms:
    """Return budgets and costs in the units of the columns over 2^exponent; of one budget, for all features."""
    d = problem.n_features
    if problem.costs is None and not rho.any():
        zeros = np.zeros(d)
        return Terms(zeros, zeros, zeros, zeros)
    # Nothing is left of any column at 1e300; what underflows is less than 1e-300. A budget that changes no digit of the
    # optimum is as good as none: the optimum is only raised.
    with np.errstate(over="ignore"):
        share = np.minimum(np.ldexp(rho, -exponent), 1e300) / math.sqrt(problem.n_samples)
    some = share >= _NEGLIGIBLE * longest
    r_lo: FloatArray = np.where(some, np.maximum(share * (1.0 - gamma(8)) - 1e-300, 0.0), 0.0)
    r_hi: FloatArray = np.where(some & (rho > 0), share * (1.0 + gamma(8)) + 1e-300, 0.0)
    if len(rho) < d:
        r_lo, r_hi = np.full(d, r_lo[0]), np.full(d, r_hi[0])
    if problem.costs is None:
        return Terms(r_lo, r_hi, np.zeros(d), r_lo)
    # A power of two changes no digit of a cost, unless it underflows, and then it is less than 1e-300.
    with np.errstate(over="ignore"):
        cost = np.minimum(np.ldexp(problem.costs, -2 * exponent), 1e300)
    cost = np.where(cost >= 1e-290, cost, 0.0)
    entry: FloatArray = (r_lo + np.sqrt(cost) * (1.0 - 4.0 * UNIT)) * (1.0 - 4.0 * UNIT)
    return Terms(r_lo, r_hi, cost, np.where(cost > 0.0, entry, r_lo))


def _without_empty(problem: Problem, A: FloatArray, terms: Terms, counted: Counted) -> Terms:
    """Return the terms with an entry that features which are worth nothing, or have no non-zero sample, never reach."""
    if counted.features is not None:
        terms = terms._replace(entry=np.where(counted.features, terms.entry, np.inf))
    if problem.X is None:
        return terms
    suspects = np.flatnonzero(A.diagonal() == 0.0)
    if len(suspects) == 0:
        return terms
    columns = problem.X[:, suspects]
    used = np.any([dense(columns, rows).any(axis=0) for rows in dense_rows(columns)], axis=0)
    entry = terms.entry.copy()
    entry[suspects[~used]] = np.inf
    return terms._replace(entry=entry)


def _raised(A: FloatArray, allowance: Allowance | None = None) -> tuple[FloatArray, float]:
    """Add to the diagonal what a factorisation proves to make the matrix positive semidefinite; returns how much."""
    shift = definite_shift(A, lambda: (allowance or Allowance()).spent(0.05 * len(A) ** 3))
    lifted = A.copy()
    lifted.flat[:: len(A) + 1] += shift
    return lifted, shift
