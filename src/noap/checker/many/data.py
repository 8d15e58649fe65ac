r"""The columns of :math:`X/\sqrt n` for the checker, some at a time, with error bounds; no d x d array."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData, scaled_terms
from noap.checker.feature_wise.kernels.worth import Terms
from noap.checker.many.demands import OwnTerms
from noap.checker.many.device import gram_on_device, largest_entry, squares_on_device
from noap.checker.samples import may_be_worth, unit_exponent
from noap.linalg.device.columns import DeviceColumns
from noap.linalg.mapped import by_columns
from noap.linalg.outward import UNIT, gamma, gram_with_error, up
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.known import feature_budgets

__all__ = ["ManyData"]

# Columns that are made dense at once, fewer where they would have more entries than this; and operations that a
# multiplication in a matrix product takes.
_WIDTH, _NARROWEST, _ENTRIES, _PRICE = 1024, 32, 1 << 23, 0.1


@dataclass(frozen=True, eq=False)
class ManyData:
    """What the checker knows of the columns a_j of X/sqrt(n), divided by 2^exponent.

    Attributes
    ----------
    squares : array of shape (d,)
        At least |a_j|^2.
    scale : float
        The largest |a_j|^2, to rounding.
    terms : Terms
        Budgets over sqrt(n) and costs of all features; a budget below 1e-20 of the longest column counts as 0.
    one_budget : bool
        Whether all features have the same budget.
    exponent : int
    counted : array of bool, or None for all
        The features that may be worth something. The others are taken for columns of zeros, as in `GramData`.
    """

    X: Any
    squares: FloatArray
    scale: float
    terms: Terms
    one_budget: bool
    exponent: int
    counted: "BoolArray | None"
    allowance: Allowance

    @classmethod
    def of(cls, problem: Problem, allowance: Allowance) -> "ManyData":
        """Look through X, some columns at a time. Raises OutOfAllowance if that takes too much."""
        n, d = problem.n_samples, problem.n_features
        X = by_columns(problem.X)
        width = _width(n)
        allowance.need(4.0 * n * min(d, width))
        allowance.keep(8.0 * d)
        if isinstance(X, DeviceColumns) and problem.is_plain:
            exponent = unit_exponent(largest_entry(X))
            allowance.spent(20.0 * n * d)
            squares = squares_on_device(X, math.ldexp(1.0, -exponent)) / n
            return cls._of(problem, X, squares, exponent, None, allowance)
        parts = [np.arange(start, min(start + width, d)) for start in range(0, d, width)]
        largest = np.empty(d)
        for part in parts:
            allowance.spent(2.0 * n * len(part))
            largest[part] = np.abs(_dense(X, part)).max(axis=0, initial=0.0)
        counted: BoolArray | None = None
        squares = np.empty(d)
        if not problem.is_plain:
            own = np.frexp(largest)[1]
            for part in parts:
                allowance.spent(4.0 * n * len(part))
                squares[part] = _squares(np.ldexp(_dense(X, part), -own[part]))
            counted = may_be_worth(problem, squares, own)
            counted = None if counted.all() else counted
        exponent = unit_exponent(float(largest[... if counted is None else counted].max(initial=0.0)))
        for part in parts:
            allowance.spent(4.0 * n * len(part))
            squares[part] = _squares(_scaled(X, part, exponent, counted)) / n
        return cls._of(problem, X, squares, exponent, counted, allowance)

    @classmethod
    def _of(
        cls,
        problem: Problem,
        X: Any,
        squares: FloatArray,
        exponent: int,
        counted: "BoolArray | None",
        allowance: Allowance,
    ) -> "ManyData":
        """Round computed squares outwards, n terms of each summed in whatever order, and budgets and costs."""
        n = problem.n_samples
        scale = float(squares.max(initial=0.0))
        # What underflows is far below 1e-290. A column of zeros has length 0.
        squares = np.where(squares > 0.0, squares * (1.0 + gamma(n + 8)) + 1e-290, 0.0)
        rho = feature_budgets(problem)
        one_budget = problem.adversary.has_one_budget or bool((rho == rho[0]).all())
        terms = scaled_terms(problem, rho[:1] if one_budget else rho, exponent, math.sqrt(scale))
        if counted is not None:
            terms = terms._replace(entry=np.where(counted, terms.entry, np.inf))
        return cls(X, squares, scale, terms, one_budget, exponent, counted, allowance)

    @property
    def norms(self) -> FloatArray:
        """At least |a_j|, for every j."""
        norms: FloatArray = np.sqrt(self.squares) * (1.0 + 4.0 * UNIT)
        return norms

    @cached_property
    def worths(self) -> FloatArray:
        """At least what each feature can carry: f of its norm, and 0 where that is nothing."""
        x = np.maximum(self.norms - self.terms.r_lo, 0.0)
        carried = np.where(x > 0.0, x * x * (1.0 + 8.0 * UNIT) + 1e-300, 0.0)
        if self.terms.cost.any():
            carried = np.where(carried > 0.0, np.maximum(carried - self.terms.cost, 0.0) * (1.0 + 4.0 * UNIT), 0.0)
        worths: FloatArray = carried
        return worths

    @cached_property
    def own(self) -> OwnTerms | None:
        """Budgets, costs and worths, where not all features have the same budget and no costs."""
        if self.one_budget and not self.terms.cost.any():
            return None
        return OwnTerms(self.terms.r_lo, self.terms.cost, self.worths, float(self.worths.max(initial=0.0)))

    @cached_property
    def least_budget(self) -> float:
        """At most the smallest budget of a feature that can carry something."""
        return float(self.terms.r_lo[self.worths > 0.0].min(initial=math.inf))

    @property
    def on_device(self) -> DeviceColumns | None:
        """The columns where they are multiplied on a device: all of them count there, and as they are."""
        multiplied = isinstance(self.X, DeviceColumns) and self.own is None and self.counted is None
        return self.X if multiplied else None

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
        return _scaled(self.X, features, self.exponent, self.counted)

    def take_products(self, left: int, right: int) -> None:
        """Note that so many columns are multiplied with so many. Raises OutOfAllowance if that takes too much."""
        self.allowance.spent(_PRICE * self.X.shape[0] * left * right)

    def _gram(self, features: IntArray) -> tuple[FloatArray, float]:
        """Return the products of a few columns, times n, and how far any of them may be off."""
        if self.on_device is None:
            return gram_with_error(self.columns(features))
        n, rows = self.X.shape[0], 512
        G = gram_on_device(self.on_device, features, math.ldexp(1.0, -self.exponent), rows)
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
        r_lo = self.terms.r_lo[features]
        entry = r_lo if self.terms.entry is self.terms.r_lo else self.terms.entry[features]
        terms = Terms(r_lo, self.terms.r_hi[features], self.terms.cost[features], entry)
        return GramData(A, eps, largest * (1.0 + 4.0 * UNIT), terms, 0.0, self.exponent, self.one_budget)


def _width(n: int) -> int:
    return max(min(_WIDTH, _ENTRIES // n), _NARROWEST)


def _squares(columns: FloatArray) -> FloatArray:
    squares: FloatArray = np.einsum("ij,ij->j", columns, columns)
    return squares


def _scaled(X: Any, features: IntArray, exponent: int, counted: "BoolArray | None") -> FloatArray:
    """Return some columns over 2^exponent, with zeros for those that do not count."""
    scaled = _dense(X, features) * math.ldexp(1.0, -exponent)
    if counted is not None:
        scaled[:, ~counted[features]] = 0.0
    return scaled


def _dense(X: Any, features: IntArray) -> FloatArray:
    """Return some columns as a dense float64 array; nothing is rounded."""
    part = X[:, features]
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
