r"""The columns of :math:`X/\sqrt n` for the checker, some at a time, with error bounds; no d x d array."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.checker.feature_wise.kernels.worth import Terms
from noap.checker.many.device import gram_on_device, largest_entry, squares_on_device
from noap.linalg.device.columns import DeviceColumns
from noap.linalg.mapped import by_columns
from noap.linalg.outward import UNIT, down, exponent_of, gamma, gram_with_error, scaled_up, up
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.known import feature_budgets

__all__ = ["ManyData"]

# Columns that are made dense at once, fewer where they would have more entries than this; and operations that a
# multiplication in a matrix product takes.
_WIDTH, _NARROWEST, _ENTRIES, _PRICE = 1024, 32, 1 << 23, 0.1
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
        X = by_columns(problem.X)
        width = _width(n)
        allowance.need(4.0 * n * min(d, width))
        allowance.keep(2.0 * d)
        if isinstance(X, DeviceColumns):
            exponent = exponent_of(largest_entry(X))
            allowance.spent(20.0 * n * d)
            squares = squares_on_device(X, math.ldexp(1.0, -exponent)) / n
            return cls._of(problem, X, squares, exponent, allowance)
        parts = [np.arange(start, min(start + width, d)) for start in range(0, d, width)]
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
        return cls._of(problem, X, squares, exponent, allowance)

    @classmethod
    def _of(cls, problem: Problem, X: Any, squares: FloatArray, exponent: int, allowance: Allowance) -> "ManyData":
        """Round computed squares outwards, n terms of each summed in whatever order, and the budget."""
        n = problem.n_samples
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

    @property
    def width(self) -> int:
        """How many columns are made dense together."""
        return _width(int(self.X.shape[0]))

    def columns(self, features: IntArray) -> FloatArray:
        """Return the columns of these features, times the root of n."""
        return _dense(self.X, features) * math.ldexp(1.0, -self.exponent)

    def take_products(self, left: int, right: int) -> None:
        """Note that so many columns are multiplied with so many. Raises OutOfAllowance if that takes too much."""
        self.allowance.spent(_PRICE * self.X.shape[0] * left * right)

    def _gram(self, features: IntArray) -> tuple[FloatArray, float]:
        """Return the products of a few columns, times n, and how far any of them may be off."""
        share = math.ldexp(1.0, -self.exponent)
        if not isinstance(self.X, DeviceColumns):
            return gram_with_error(_dense(self.X, features) * share)
        n, rows = self.X.shape[0], 512
        G = gram_on_device(self.X, features, share, rows)
        G = np.triu(G) + np.triu(G, 1).T
        # As in `gram_with_error`: a part of the samples is summed in some order, and the parts one by one.
        terms = min(n, rows) + -(-n // rows) + 4
        return G, gamma(terms) * float(G.diagonal().max(initial=0.0)) * 1.001 + n * 1e-300

    def block(self, features: IntArray) -> GramData:
        """Return the inner products of a few features, as a Gram proof needs them."""
        n, m = self.X.shape[0], len(features)
        self.allowance.need(4.0 * m * m + 3.0 * n * m)
        self.allowance.spent(_PRICE * n * m * m)
        G, error = self._gram(features)
        A: FloatArray = np.ascontiguousarray(G / n)
        largest = float(np.abs(A).max(initial=0.0))
        eps = up(error / n) + UNIT * largest * 1.001 + 1e-290
        A.flags.writeable = False
        r_lo, r_hi = np.full(m, self.r_lo), np.full(m, self.r_hi)
        terms = Terms(r_lo, r_hi, np.zeros(m), r_lo)
        return GramData(A, eps, largest * (1.0 + 4.0 * UNIT), terms, 0.0, self.exponent, one_budget=True)


def _width(n: int) -> int:
    return max(min(_WIDTH, _ENTRIES // n), _NARROWEST)


def _dense(X: Any, features: IntArray) -> FloatArray:
    """Return some columns as a dense float64 array; nothing is rounded."""
    part = X[:, features]
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
