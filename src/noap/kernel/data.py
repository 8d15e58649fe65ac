r"""The data of a claim, as plain arrays in the units of its certificate, rounded so that no value falls.

Units: values, A and costs are multiplied by :math:`4^{-e}`, budgets by :math:`2^{-e}`, exactly (what underflows is
rounded in the safe direction), so that the largest entry of A is about 1.
"""

import math
from collections.abc import Callable, Iterable
from typing import Self

import numpy as np

from noap.kernel.arithmetic import TINY, U, gamma, need, proves_semidefinite, sum_up
from noap.kernel.cancelled import covariance_is_cancelled, samples_are_cancelled
from noap.kernel.directions import is_orthogonal
from noap.kernel.metric import Metric
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["Data", "Terms"]

# Where the products of samples lie beyond these they are made again of scaled samples: nothing overflows, and nothing
# of weight underflows.
_SMALL, _LARGE = 1e-200, 1e200


class Terms:
    """What a claim says beside the data, in the user's units.

    Budgets, costs, k, demanded and forbidden features, directions (rows) that v is orthogonal to, and the metric.
    """

    def __init__(
        self,
        k: int,
        n_samples: int,
        rho: FloatArray | None = None,
        costs: FloatArray | None = None,
        include: IntArray | None = None,
        exclude: IntArray | None = None,
        directions: FloatArray | None = None,
        metric: Metric | None = None,
    ) -> None:
        none: IntArray = np.empty(0, np.intp)
        self.directions, self.metric = directions, metric
        # Exponents of the units of features.
        self.units: IntArray | int = 0 if metric is None else metric.units
        self.k, self.n_samples, self.rho, self.costs = k, n_samples, rho, costs
        self.include: IntArray = none if include is None else include
        self.exclude: IntArray = none if exclude is None else exclude


class Data:
    r"""A symmetric matrix A with :math:`v^\top A v` at least that of the claim, budgets r at most and costs at most.

    Attributes
    ----------
    A : array of shape (d, d)
    d : int
    additive : bool
        Whether features contribute one by one for a fixed u.
    added : float
        At least :math:`v^\top A v` less that of the claim, for every unit v.
    definite : bool
        Whether A is positive semidefinite, so that it holds the inner products of some columns a_j.
    r, w : arrays of shape (d,)
        Budgets over root n, and over the largest of them, r_max; w is 1 where all are 0. A budget beyond the length of
        its feature counts as that length: neither leaves it a contribution. Where v is constrained only an infinite
        one does.
    r_max : float
    costs : array of shape (d,)
    has_costs : bool
        Whether a feature costs something, however little.
    lengths, most : arrays of shape (d,)
        At least :math:`|a_j|`, and at least what a feature contributes, :math:`(|a_j| - r_j)_+^2` less its cost; of no
        meaning where A is not definite. In a metric that is divided by `below`.
    top : float
        Largest entry of A, in size.
    k, exponent : int
    include, exclude : arrays of int
    allowed : bool array of shape (d,)
        Features that are not forbidden.
    directions : array of shape (m, d)
        v is orthogonal to them, to 1e-8.
    constrained : bool
        Whether rules that hold for each support, and not for each v, are out: with directions, or a metric that is not
        diagonal.
    needless : bool array of shape (d,)
        Features that no vector of positive value uses: where v is constrained, those of infinite budgets.
    metric : Metric or None
    """

    def __init__(self, A: FloatArray, terms: Terms, exponent: int, definite: bool, added: float) -> None:
        need(isinstance(exponent, int) and abs(exponent) <= 600, "the exponent is out of range")
        d = len(A)
        self.A, self.exponent, self.definite, self.added, self.terms = A, exponent, definite, added, terms
        self.k, self.include, self.exclude, self.d = terms.k, terms.include, terms.exclude, d
        metric = terms.metric
        need(metric is None or not (terms.directions is not None or terms.costs is not None), "B: with other terms")
        self.metric = metric
        self.constrained = terms.directions is not None or (metric is not None and not metric.is_diagonal)
        self.additive = definite and not self.constrained
        self.top = float(np.abs(A).max(initial=0.0))
        need(self.top == 0 or 2.0**-40 < self.top < 2.0**40, "the exponent does not fit the data")
        self.allowed: BoolArray = np.ones(d, dtype=np.bool_)
        self.allowed[terms.exclude] = False
        self.has_costs = terms.costs is not None and bool(terms.costs.any())
        costs = np.zeros(d) if terms.costs is None else np.ldexp(terms.costs, -2 * exponent)
        need(np.isfinite(costs).all() and (costs >= 0).all(), "costs must be finite and at least 0")
        # No more than can be added up.
        self.costs: FloatArray = np.where(costs < 1e-250, 0.0, np.minimum(costs, 1e290))
        self.lengths: FloatArray = np.sqrt(np.maximum(A.diagonal(), 0.0)) * (1 + 2 * U)
        self.directions: FloatArray = np.zeros((0, d)) if terms.directions is None else terms.directions
        need(np.isfinite(self.directions).all() and self.directions.shape[1] == d, "directions must be finite")
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
        self.r_max = float(self.r.max(initial=0.0))
        # One step below what is rounded is below the quotient.
        self.w: FloatArray = np.nextafter(self.r / self.r_max, 0.0) if self.r_max > 0 else np.ones(d)
        left = self.lengths - self.r
        most = np.nextafter(left * left * (1 + 4 * U) - self.costs, np.inf)
        if metric is not None:
            most = most / metric.below * (1 + 4 * U)
        self.most: FloatArray = np.where(left > 0, most, -self.costs)

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
        some = A.any()
        A = np.ldexp(A, -2 * own)  # if all of it underflows or an entry is not finite, its top is refused
        if samples_are_cancelled(blocks, A.diagonal(), terms, own + scaled):
            return cls(np.zeros((d, d)), terms, own + scaled, True, 0.0)
        added = 0.0
        if some:  # samples that are all 0 have exact products
            added = (
                1.1 * gamma(terms.n_samples + 2) * float(A.trace())
            )  # a tenth is more than what underflows beside it
            _raise_diagonal(A, added)
        return cls(A, terms, own + scaled, True, 3.0 * added)

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

    def sum_of_most(self, I: IntArray, F: IntArray, p: int) -> float:  # noqa: E741
        """Return at least the most that the features I and p of F contribute together, rounded once."""
        best = np.sort(np.maximum(self.most[F], 0.0))[::-1][: min(p, len(F))]
        return sum_up([*self.most[I].tolist(), *best.tolist()])

    def sums_of_most(self, count: int) -> FloatArray:
        """Return at least the most that 0, 1, ..., count features contribute together, by their lengths alone."""
        positive = np.sort(np.maximum(self.most[self.allowed], 0.0))[::-1][:count]
        sums = np.concatenate([[0.0], np.cumsum(positive)]) * (1 + gamma(len(positive) + 4))
        return np.concatenate([sums, np.full(count + 1 - len(sums), sums[-1])])

    def value_at_least(self, features: IntArray, weights: FloatArray) -> float:
        r"""Return at most the value of the choice that a vector makes, in the units of the certificate.

        v is the vector over its length, S its features and the demanded ones. `added` is taken off the form
        :math:`x^\top A x`, and :math:`\gamma_{6b+16}` times the sum of its absolute products, for all
        roundings: docs/kernel.md.
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
        if len(features) == 0:
            return 0.0 - spent
        units = self.terms.units if isinstance(self.terms.units, int) else self.terms.units[features]
        x = np.ldexp(weights, -units - _exponent_of(weights, -units))
        if len(self.directions):
            need(is_orthogonal(self.directions[:, features], x), "its vector is not orthogonal to the directions")
        b = len(x)
        squares = float(x @ x)
        block = self.A[np.ix_(features, features)]
        sizes = float(np.abs(x) @ np.abs(block) @ np.abs(x))
        form = float(x @ block @ x) - gamma(6 * b + 16) * sizes - self.added * squares - TINY
        taken = 0.0
        if self.terms.rho is not None:
            rho = np.ldexp(self.terms.rho[features] / math.sqrt(self.terms.n_samples), units - self.exponent)
            taken = float(rho @ np.abs(x))
        left = max(0.0, math.sqrt(max(0.0, form)) - taken)
        length = squares if self.metric is None else self.metric.square_above(features, x)
        return left * left / length - spent


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
