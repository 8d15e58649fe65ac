r"""The columns of :math:`X/\sqrt n` for the checker, some at a time, with error bounds; no d x d array."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.checker.feature_wise.kernels.worth import Terms
from noap.linalg.outward import UNIT, down, exponent_of, gamma, gram_with_error, scaled_up, up
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.known import feature_budgets

__all__ = ["ManyData"]

# Columns that are made dense at once, and operations that a multiplication in a matrix product takes.
_WIDTH, _PRICE = 1024, 0.1
# A budget below this share of the longest column counts as 0.
_NEGLIGIBLE = 1e-20


@dataclass(frozen=True, eq=False)
class ManyData:
    """What the checker knows of the columns a_j of X/sqrt(n), divided by 2^exponent.

    Attributes
    ----------
    squares : array of shape (d,)
        At least |a_j|^2.
    scale : float
        The largest |a_j|^2, to rounding.
    r_lo, r_hi : float
        The budget rho/sqrt(n) lies between these; both are 0 for a budget below 1e-20 of the longest column.
    exponent : int
    """

    X: Any
    squares: FloatArray
    scale: float
    r_lo: float
    r_hi: float
    exponent: int
    allowance: Allowance

    @classmethod
    def of(cls, problem: Problem, allowance: Allowance) -> "ManyData":
        """Look through X, some columns at a time. Raises OutOfAllowance if that takes too much."""
        n, d = problem.n_samples, problem.n_features
        samples: Any = problem.X
        X = samples.tocsc() if hasattr(samples, "tocsc") else samples
        allowance.need(4.0 * n * min(d, _WIDTH))
        allowance.keep(2.0 * d)
        parts = [np.arange(start, min(start + _WIDTH, d)) for start in range(0, d, _WIDTH)]
        largest = 0.0
        for part in parts:
            allowance.spent(2.0 * n * len(part))
            largest = max(largest, float(np.abs(_dense(X, part)).max(initial=0.0)))
        exponent = exponent_of(largest)
        share = math.ldexp(1.0, -exponent)
        squares = np.empty(d)
        for part in parts:
            allowance.spent(4.0 * n * len(part))
            block = _dense(X, part) * share
            squares[part] = np.einsum("ij,ij->j", block, block) / n
        scale = float(squares.max(initial=0.0))
        # What underflows is far below 1e-290. A column of zeros has length 0.
        squares = np.where(squares > 0.0, squares * (1.0 + gamma(n + 8)) + 1e-290, 0.0)
        rho = float(feature_budgets(problem)[0])  # that of all
        budget = min(scaled_up(rho, -exponent), 1e300) / math.sqrt(n)
        if budget < _NEGLIGIBLE * math.sqrt(scale):
            budget = rho = 0.0
        r_lo, r_hi = max(down(budget) - 1e-300, 0.0), up(budget) + 1e-300 if rho > 0 else 0.0
        return cls(X, squares, scale, r_lo, r_hi, exponent, allowance)

    @property
    def norms(self) -> FloatArray:
        """At least |a_j|, for every j."""
        norms: FloatArray = np.sqrt(self.squares) * (1.0 + 4.0 * UNIT)
        return norms

    @property
    def product_error(self) -> float:
        """By how much an entry of `products` may be off, in units of the two norms."""
        return gamma(self.X.shape[0] + 8) * 1.001

    def products(self, features: IntArray) -> Iterator[tuple[int, int, FloatArray]]:
        """Yield (i, j, G) that cover all pairs: G has the products of features[i:] with features[j:], i <= j."""
        n, share = self.X.shape[0], math.ldexp(1.0, -self.exponent)
        self.allowance.need((2.0 * n + 3.0 * _WIDTH) * min(len(features), _WIDTH))
        for i in range(0, len(features), _WIDTH):
            left = _dense(self.X, features[i : i + _WIDTH]) * share
            for j in range(i, len(features), _WIDTH):
                right = left if i == j else _dense(self.X, features[j : j + _WIDTH]) * share
                self.allowance.spent(_PRICE * n * left.shape[1] * right.shape[1])
                yield i, j, left.T @ right / n

    def block(self, features: IntArray) -> GramData:
        """Return the inner products of a few features, as a Gram proof needs them."""
        n, m = self.X.shape[0], len(features)
        self.allowance.need(4.0 * m * m + 3.0 * n * m)
        self.allowance.spent(_PRICE * n * m * m)
        G, error = gram_with_error(_dense(self.X, features) * math.ldexp(1.0, -self.exponent))
        A: FloatArray = np.ascontiguousarray(G / n)
        largest = float(np.abs(A).max(initial=0.0))
        eps = up(error / n) + UNIT * largest * 1.001 + 1e-290
        A.flags.writeable = False
        r_lo, r_hi = np.full(m, self.r_lo), np.full(m, self.r_hi)
        terms = Terms(r_lo, r_hi, np.zeros(m), r_lo)
        return GramData(A, eps, largest * (1.0 + 4.0 * UNIT), terms, 0.0, self.exponent, one_budget=True)


def _dense(X: Any, features: IntArray) -> FloatArray:
    """Return some columns as a dense float64 array; nothing is rounded."""
    part = X[:, features]
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
