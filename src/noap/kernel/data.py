r"""The data of a claim, as plain arrays in the units of its certificate, rounded so that no value falls.

Units: values, A and costs are multiplied by :math:`4^{-e}`, budgets by :math:`2^{-e}`, exactly (what underflows is
rounded in the safe direction), so that the largest entry of A is about 1.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from noap.kernel.arithmetic import TINY, U, gamma, need, proves_semidefinite, sum_up
from noap.kernel.cancelled import covariance_is_cancelled, samples_are_cancelled
from noap.kernel.directions import is_orthogonal
from noap.kernel.metric import Metric
from noap.linalg.products import column_blocks
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.linalg.types import Data as Samples

__all__ = ["Choices", "Columns", "Data", "Features", "Terms", "over_the_largest"]

# Where the products of samples lie beyond these they are made again of scaled samples: nothing overflows, and nothing
# of weight underflows.
_SMALL, _LARGE = 1e-200, 1e200
# Products of columns in single precision: its unit, and how many samples are added up in it.
_U_SINGLE, _ROWS = 2.0**-24, 4096
# Columns of a block at most, and about how many numbers it has.
_WIDTH, _ENTRIES = 2048, 2**23
# A tree on more features would take gigabytes.
_MOST_IN_A_MATRIX = 10_000


@dataclass
class Terms:
    """What a claim says beside the data, in the user's units.

    Budgets, costs, k, demanded and forbidden features, directions (rows) that v is orthogonal to, and the metric.
    """

    k: int
    n_samples: int
    rho: FloatArray | None = None
    costs: FloatArray | None = None
    include: IntArray = field(default_factory=lambda: np.empty(0, np.intp))
    exclude: IntArray = field(default_factory=lambda: np.empty(0, np.intp))
    directions: FloatArray | None = None
    metric: Metric | None = None

    @property
    def units(self) -> IntArray | int:
        """Exponents of the units of features."""
        return 0 if self.metric is None else self.metric.units

    def among(self, features: IntArray) -> "Terms":
        """Return what they say of some features, none of them demanded or forbidden."""
        rho, costs = (None if x is None else x[features] for x in (self.rho, self.costs))
        return Terms(self.k, self.n_samples, rho, costs)


class Choices(ABC):
    """What a claim is about, whatever its adversary: choices of features, and what these cost.

    Attributes
    ----------
    d, k, exponent : int
    include, exclude : arrays of int
    allowed : bool array of shape (d,)
        Features that are not forbidden.
    costs : array of shape (d,)
        What a feature costs at most, in the units of the exponent.
    has_costs : bool
        Whether a feature costs something, however little.
    """

    def __init__(self, terms: Terms, d: int) -> None:
        self.terms, self.d, self.k, self.include, self.exclude = terms, d, terms.k, terms.include, terms.exclude
        self.allowed: BoolArray = np.ones(d, dtype=np.bool_)
        self.allowed[terms.exclude] = False

    def _charge(self, exponent: int) -> None:
        """Take costs in the units of an exponent."""
        need(isinstance(exponent, int) and abs(exponent) <= 600, "the exponent is out of range")
        given = np.zeros(self.d) if self.terms.costs is None else self.terms.costs
        need(np.isfinite(given).all() and (given >= 0).all(), "costs must be finite and at least 0")
        self.exponent, self.has_costs = exponent, bool(given.any())
        with np.errstate(over="ignore"):
            costs = np.ldexp(given, -2 * exponent)
        # No more than can be added up.
        self.costs: FloatArray = np.where(costs < 1e-250, 0.0, np.minimum(costs, 1e290))

    def value_at_least(self, features: IntArray, weights: FloatArray) -> float:
        """Return at most the value of the choice that a vector makes, in the units of the certificate.

        Its features are those of the vector and the demanded ones.
        """
        used = weights != 0
        features, weights = features[used], weights[used]
        chosen = np.union1d(features, self.include).astype(np.intp)
        need(len(chosen) <= self.k, "its vector and the demanded features are more than k")
        need((np.diff(np.sort(features)) > 0).all() and (features >= 0).all(), "its vector has a feature twice")
        need(np.isfinite(weights).all() and self.allowed[features].all(), "its vector uses a forbidden feature")
        # Those that are too small for a bound are paid too.
        costs = None if self.terms.costs is None else self.terms.costs[chosen]
        spent = 0.0
        if costs is not None and costs.any():
            spent = float(np.ldexp(costs, -2 * self.exponent).sum()) * (1 + gamma(len(chosen) + 4)) + TINY
        return (self._worth(features, weights) if len(features) else 0.0) - spent

    @abstractmethod
    def _worth(self, features: IntArray, weights: FloatArray) -> float:
        """Return at most what a vector is worth before costs; no weight is 0."""


class Features(Choices):
    r"""What every feature says by itself: its length at least, its budget and its cost at most.

    Attributes
    ----------
    additive : bool
        Whether features contribute one by one for a fixed u.
    added : float
        At least :math:`v^\top A v` less that of the claim, for every unit v of a choice.
    definite : bool
        Whether there are columns a_j of which these are the lengths.
    r, w : arrays of shape (d,)
        Budgets over root n, and over the largest of them, r_max; w is 1 where all are 0. A budget beyond the length of
        its feature counts as that length: neither leaves it a contribution. Where v is constrained only an infinite
        one does.
    r_max : float
    lengths, most : arrays of shape (d,)
        At least :math:`|a_j|`, and at least what a feature contributes, :math:`(|a_j| - r_j)_+^2` less its cost; of no
        meaning where A is not definite. In a metric that is divided by `below`.
    top : float
        Largest inner product, in size.
    directions : array of shape (m, d)
        v is orthogonal to them, to 1e-8.
    constrained : bool
        Whether rules that hold for each support, and not for each v, are out: with directions, or a metric that is not
        diagonal.
    needless : bool array of shape (d,)
        Features that no vector of positive value uses: where v is constrained, those of infinite budgets.
    metric : Metric or None
    threads : int
        How many share a pass over pairs of blocks.
    """

    added: float
    threads: int = 1

    def __init__(self, squares: FloatArray, top: float, terms: Terms, exponent: int, definite: bool) -> None:
        d = len(squares)
        super().__init__(terms, d)
        self._charge(exponent)
        self.definite, self.top = definite, top
        metric = terms.metric
        need(metric is None or not (terms.directions is not None or terms.costs is not None), "B: with other terms")
        self.metric = metric
        self.constrained = terms.directions is not None or (metric is not None and not metric.is_diagonal)
        self.additive = definite and not self.constrained
        self.lengths: FloatArray = np.sqrt(np.maximum(squares, 0.0)) * (1 + 2 * U)
        self.directions: FloatArray = np.zeros((0, d)) if terms.directions is None else terms.directions
        need((np.abs(self.directions) < 1e100).all(), "directions are out of range")
        self.r: FloatArray = np.zeros(d)
        self.needless: BoolArray = np.zeros(d, dtype=np.bool_)
        if terms.rho is not None:
            need((terms.rho >= 0).all(), "budgets must be at least 0")
            need(definite or not terms.rho.any(), "an adversary with a budget needs a definite matrix")
            # Two roundings, of the root and of the quotient; the power of two is exact above 1e-100.
            r = np.ldexp(terms.rho / math.sqrt(terms.n_samples), terms.units - exponent) * (1 - 4 * U)
            most = np.where(np.isfinite(r), r, self.lengths) if self.constrained else np.minimum(r, self.lengths)
            self.r = np.where(r < 1e-100, 0.0, most)
            self.needless = np.isinf(terms.rho) & self.constrained
        self.r_max, self.w = over_the_largest(self.r)
        left = self.lengths - self.r
        most = np.nextafter(left * left * (1 + 4 * U) - self.costs, np.inf)
        if metric is not None:
            most = most / metric.below * (1 + 4 * U)
        self.most: FloatArray = np.where(left > 0, most, -self.costs)

    @abstractmethod
    def part(self, features: IntArray) -> "Data":
        """Return the data of some features, numbered by their places: no choice among them has a smaller value."""

    @abstractmethod
    def matrix(self) -> "Data":
        """Return the data as a matrix."""

    @abstractmethod
    def products(self, left: IntArray, right: IntArray) -> FloatArray:
        """Return the inner products of two blocks of columns, each within `error` times both lengths."""

    @property
    @abstractmethod
    def error(self) -> float:
        """By how much an inner product that `products` returns may be off, in units of both lengths."""

    @property
    def width(self) -> int:
        """How many columns make a block."""
        return max(min(_WIDTH, _ENTRIES // self.terms.n_samples), 64)

    def sum_of_most(self, I: IntArray, F: IntArray, p: int) -> float:  # noqa: E741
        """Return at least the most that the features I and p of F contribute together, rounded once."""
        best = np.sort(np.maximum(self.most[F], 0.0))[::-1][: min(p, len(F))]
        return sum_up([*self.most[I].tolist(), *best.tolist()])

    def sums_of_most(self, count: int) -> FloatArray:
        """Return at least the most that 0, 1, ..., count features contribute together, by their lengths alone."""
        positive = np.sort(np.maximum(self.most[self.allowed], 0.0))[::-1][:count]
        sums = np.concatenate([[0.0], np.cumsum(positive)]) * (1 + gamma(len(positive) + 4))
        return np.concatenate([sums, np.full(count + 1 - len(sums), sums[-1])])

    def _worth(self, features: IntArray, weights: FloatArray) -> float:
        r"""Return it from :math:`x^\top A x` less `added`, and :math:`\gamma_{6b+16}` of its absolute products.

        That is for all roundings: docs/kernel.md.
        """
        units = self.terms.units if isinstance(self.terms.units, int) else self.terms.units[features]
        x = np.ldexp(weights, -units - _exponent_of(weights, -units))
        if len(self.directions):
            need(is_orthogonal(self.directions[:, features], x), "its vector is not orthogonal to the directions")
        b = len(x)
        squares = float(x @ x)
        part = self.part(features)
        sizes = float(np.abs(x) @ np.abs(part.A) @ np.abs(x))
        form = float(x @ part.A @ x) - gamma(6 * b + 16) * sizes - part.added * squares - TINY
        taken = 0.0
        if self.terms.rho is not None:
            rho = np.ldexp(self.terms.rho[features] / math.sqrt(self.terms.n_samples), units - self.exponent)
            taken = float(rho @ np.abs(x))
        left = max(0.0, math.sqrt(max(0.0, form)) - taken)
        return left * left / (squares if self.metric is None else self.metric.square(features, x))


class Data(Features):
    r"""A symmetric matrix A with :math:`v^\top A v` at least that of the claim, budgets r at most and costs at most.

    Attributes
    ----------
    A : array of shape (d, d)
    added : float
        At least :math:`v^\top A v` less that of the claim, for every unit v.
    off : float
        By how much an entry beside the diagonal may differ from that of the claim, in units of both lengths; 0 where
        the claim is about A itself from here on.
    """

    def __init__(
        self,
        A: FloatArray,
        terms: Terms,
        exponent: int,
        definite: bool,
        added: float,
        *,
        off: float = 0.0,
        is_part: bool = False,
    ) -> None:
        top = float(np.abs(A).max(initial=0.0))
        if not is_part:
            _need_fit(top)
        self.A, self.added, self.off = A, added, off
        super().__init__(A.diagonal(), top, terms, exponent, definite)

    def part(self, features: IntArray) -> "Data":
        """Return the data of some features: rows and columns of A."""
        A = self.A[np.ix_(features, features)]
        terms = self.terms.among(features)
        return Data(A, terms, self.exponent, self.definite, self.added, off=self.off, is_part=True)

    def matrix(self) -> "Data":
        """Return the data themselves."""
        return self

    def products(self, left: IntArray, right: IntArray) -> FloatArray:
        """Return entries of A."""
        return self.A[np.ix_(left, right)]

    @property
    def error(self) -> float:
        """What `off` says."""
        return self.off

    @classmethod
    def from_samples(
        cls, blocks: Callable[[], Iterable[FloatArray]], d: int, terms: Terms, exponent: int | None = None
    ) -> Self:
        r"""Make A = X'X/n of the rows of X, block by block.

        An entry is off by at most :math:`\gamma_{n+2} |a_i||a_j|` (n products, the quotient, the mean of both halves),
        so the matrix by :math:`\gamma_{n+2} \mathrm{tr} A` in norm: a little more is added to the diagonal, so that no
        value falls and A is positive semidefinite.
        """
        scaled, A = 0, _gram(blocks(), d, terms.units)
        top = float(A.max(initial=0.0))
        if not _SMALL < top < _LARGE:
            scaled = max((_exponent_of(block, terms.units) for block in blocks() if block.any()), default=0)
            A = _gram(blocks(), d, terms.units - scaled)
        A /= terms.n_samples
        own = (_exponent_of(A) + 1) // 2 if exponent is None else exponent - scaled
        A = np.ldexp(A, -2 * own)  # if all of it underflows or an entry is not finite, its top is refused
        if samples_are_cancelled(blocks, A.diagonal(), terms, own + scaled):
            return cls(np.zeros((d, d)), terms, own + scaled, True, 0.0)
        return cls(A, terms, own + scaled, True, _raise_products(A, terms.n_samples))

    @classmethod
    def from_covariance(cls, S: FloatArray, terms: Terms, shift: float | None, exponent: int | None = None) -> Self:
        """Take A = S, which is exact; with a shift S + shift I is shown to be positive semidefinite, and taken.

        Parameters
        ----------
        S : array of shape (d, d)
        shift : float or None
            In the units of the certificate; None proves nothing, which an adversary with a budget does not allow.
        """
        need((S == S.T).all(), "S must be symmetric")
        both = terms.units if isinstance(terms.units, int) else terms.units[:, None] + terms.units
        own = (_exponent_of(S, both) + 1) // 2 if exponent is None else exponent
        A = np.ldexp(S, both - 2 * own)
        need(A.any() == S.any(), "the exponent does not fit the data")
        if covariance_is_cancelled(S, A, terms, own):
            return cls(np.zeros_like(A), terms, own, True, 0.0)
        if shift is None:
            return cls(A, terms, own, False, 0.0)
        need(0 <= shift < 1e6, "the shift must be a number of at least 0")
        need(proves_semidefinite(A, shift), "S plus its shift is not positive semidefinite")
        _raise_diagonal(A, shift)
        return cls(A, terms, own, True, 1.1 * shift + 4 * U * float(A.diagonal().max(initial=0.0)))

    def priced(self, k: int, costs: FloatArray | None) -> "Data":
        """Return the same data for at most k features with other costs, in the user's units."""
        return Data(self.A, replace(self.terms, k=k, costs=costs), self.exponent, self.definite, self.added)


class Columns(Features):
    r"""Samples of which no d x d array is made: what is asked of it is formed of the columns that it concerns.

    :math:`\|x_j\|^2/n` is computed to :math:`\gamma_{n+3}` of itself and raised by a tenth more, so that lengths are
    at least those of the columns.

    Parameters
    ----------
    X : samples, n x d
        With columns that are found quickly.
    blocks : callable
        Returns the rows of X.
    """

    def __init__(
        self, X: Samples, blocks: Callable[[], Iterable[FloatArray]], terms: Terms, exponent: int | None = None
    ) -> None:
        self.X, self._blocks, n = X, blocks, terms.n_samples
        scaled, squares = 0, _squares(blocks(), X.shape[1], 0)
        if not _SMALL < float(squares.max(initial=0.0)) < _LARGE:
            size = max((float(np.abs(block).max(initial=0.0)) for block in blocks()), default=0.0)
            scaled = math.frexp(size)[1]
            squares = _squares(blocks(), X.shape[1], scaled)
        squares /= n
        if exponent is None:
            exponent = (_exponent_of(squares) + 1) // 2 + scaled
        squares = np.ldexp(squares, 2 * (scaled - exponent))
        if samples_are_cancelled(blocks, squares, terms, exponent):
            squares = np.zeros_like(squares)
            self.X = None
        else:
            squares = squares * (1 + 1.1 * gamma(n + 6)) + TINY
        top = float(squares.max(initial=0.0))
        _need_fit(top)
        super().__init__(squares, top, terms, exponent, True)
        # The trace of a part of k features is at most k top.
        self.added = 3.4 * gamma(n + 2) * terms.k * top

    def part(self, features: IntArray) -> Data:
        r"""Return :math:`X_H^\top X_H/n` of some features H, raised so that no choice among them loses.

        Entries beside its diagonal are those of the samples to :math:`\gamma_{n+2}`.
        """
        b, n = len(features), self.terms.n_samples
        terms = self.terms.among(features)
        if self.X is None:
            return Data(np.zeros((b, b)), terms, self.exponent, True, 0.0, is_part=True)
        A = _gram(column_blocks(self.X, features), b, -self.exponent) / n
        return Data(A, terms, self.exponent, True, _raise_products(A, n), off=1.1 * gamma(n + 2), is_part=True)

    def matrix(self) -> Data:
        """Return X'X/n of all features, made for this once."""
        need(self.d <= _MOST_IN_A_MATRIX, "too many features for a matrix")
        return Data.from_samples(self._blocks, self.d, self.terms, self.exponent)

    def products(self, left: IntArray, right: IntArray) -> FloatArray:
        r"""Return inner products in single precision: sums of at most 4,096 of them, which are added up in double.

        An entry is rounded twice before it is multiplied and a product once; m are summed up, and the quotient
        rounds: :math:`(m + 5)\,2^{-24}` in all, and what underflows is below :math:`2^{-120}` of the longest column.
        """
        if self.X is None:
            return np.zeros((len(left), len(right)))
        one = self._single(left)
        other = self._single(right)
        n = len(one)
        if n <= _ROWS:
            G: FloatArray = one.T @ other
            G *= np.float32(1.0 / n)
            return G
        total = np.zeros((len(left), len(right)))
        for start in range(0, n, _ROWS):
            total += one[start : start + _ROWS].T @ other[start : start + _ROWS]
        return total / n

    @property
    def error(self) -> float:
        """Of products in single precision."""
        lost = (min(self.terms.n_samples, _ROWS) + 8) * _U_SINGLE
        return 1.001 * lost / (1 - lost) + 1.1 * gamma(self.terms.n_samples)

    def _single(self, features: IntArray) -> FloatArray:
        n, b = self.terms.n_samples, len(features)
        single = np.empty((n, b), np.float32, order="F")
        at = 0
        for block in column_blocks(self.X, features):
            single[at : at + len(block)] = np.ldexp(block, -self.exponent)
            at += len(block)
        return single


def over_the_largest(r: FloatArray) -> tuple[float, FloatArray]:
    """Return the largest of some budgets, and at most all of them over it; ones where all are 0."""
    largest = float(r.max(initial=0.0))
    # One step below what is rounded is below the quotient.
    return largest, np.nextafter(r / largest, 0.0) if largest > 0 else np.ones(len(r))


def _need_fit(top: float) -> None:
    """Refuse units in which the largest entry is not about 1."""
    need(top < 2.0**40 and (top == 0 or top > 2.0**-40), "the exponent does not fit the data")


def _raise_products(A: FloatArray, n: int) -> float:
    """Raise the diagonal of X'X/n above all rounding; return by how much v'Av is then too large, at most."""
    added = 1.1 * gamma(n + 2) * float(A.trace()) + TINY  # a tenth: second order
    _raise_diagonal(A, added)
    return 3.0 * added


def _raise_diagonal(A: FloatArray, by: float) -> None:
    np.fill_diagonal(A, np.nextafter(A.diagonal() + by, np.inf))


def _exponent_of(A: FloatArray, units: IntArray | int = 0) -> int:
    """Return the binary exponent of the largest entry of A times powers of two; 0 where all entries are."""
    exponents = np.frexp(A)[1].astype(np.intp) + units
    return int(exponents[A != 0].max(initial=-(2**20))) if A.any() else 0


def _gram(blocks: Iterable[FloatArray], d: int, units: IntArray | int) -> FloatArray:
    """Return X'X of the rows of all blocks, the columns multiplied by powers of two."""
    A: FloatArray = np.zeros((d, d))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in blocks:
            part = np.ldexp(block, units) if np.any(units) else block
            A += part.T @ part
        return 0.5 * (A + A.T)


def _squares(blocks: Iterable[FloatArray], d: int, scaled: int) -> FloatArray:
    """Return the squared lengths of the columns of all blocks, divided by a power of four."""
    squares: FloatArray = np.zeros(d)
    with np.errstate(over="ignore", invalid="ignore"):
        for block in blocks:
            part = np.ldexp(block, -scaled) if scaled else block
            squares += np.einsum("ij,ij->j", part, part)
    return squares
