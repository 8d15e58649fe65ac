r"""The problems of a path: one data set, one sparsity, every budget; and what the solved ones prove between them.

:math:`\sqrt{n\,\mathrm{opt}(\rho)}` is convex in rho. So the chord between two proved bounds is a bound for every rho
between them, and the lower convex hull of the bounds holds the best of all such chords. From below, every vector found
is feasible at every rho. With costs the optimum itself is convex, and the chords are those of the bounds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from noap.adversaries import FeatureWise, NoAdversary, SampleWise, require_served
from noap.adversaries.base import Adversary, GramAdversary
from noap.errors import InvalidProblem
from noap.linalg import products
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["SERVES", "Family", "convex_bounds"]

# The adversaries whose optima are a convex curve in rho that ends at rho_max.
SERVES = (FeatureWise, SampleWise)
# A chord is a handful of operations on numbers of one sign, each off by an ulp at most: this covers them.
_OUTWARD = 1 + 1e-14
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Family:
    r"""The problems that differ in rho alone.

    :math:`\sqrt{n\,\mathrm{opt}(\rho)}` is the maximum over u and v of :math:`u^\top X v - \rho\,\sigma_1(u, v)`, with
    :math:`\sigma_1` the support function at budget 1. Every term is a line in rho that does not rise, so the maximum is
    convex and does not rise either.

    With a budget for each feature (or sample) rho is a factor on all of them, and :math:`\sigma_1` the support function
    of the budgets as given. With costs the optimum itself is convex, as the maximum of
    :math:`(\|Xv\| - \rho \sum_j \rho_j |v_j|)_+^2/n` less the costs of v; its root need not be.

    Attributes
    ----------
    base : Problem
        The problem at rho = 0.
    make : callable
        Gives the adversary of a budget.
    whole : Adversary or None
        The budgets that rho multiplies; None where rho is the budget itself.
    """

    base: Problem
    make: Callable[[float], Adversary]
    whole: Adversary | None = None

    @classmethod
    def of(cls, X: Any, k: Any, make: Any) -> "Family":
        """Validate the arguments of a user; X may be a Problem, which gives its data and costs."""
        whole = make if isinstance(make, Adversary) and not make.has_one_budget else None
        if whole is not None:
            make = whole.rescaled
        first = make(0.0) if callable(make) else None
        if not isinstance(first, Adversary):
            raise InvalidProblem(
                f"adversary must be a class that takes a budget, such as noap.FeatureWise, got {make!r}; "
                "path chooses the budgets, or the factors on those of an object that has several."
            )
        if type(first) is NoAdversary:
            names = " or ".join(kind.__name__ for kind in SERVES)
            raise InvalidProblem(f"adversary {type(first).__name__} has no budget to vary; use {names}.")
        require_served(first, SERVES, "path", "call solve at each budget")
        if isinstance(X, Problem):
            X.require_no_metric("path")
            X.require_no_directions("path")
        if not isinstance(X, Problem):
            base = Problem(X, k, first)
        elif X.X is None:
            # Validated for a positive budget, since all but the first point of a path have one.
            attacked = Problem.from_covariance(
                X.covariance,
                n_samples=X.n_samples,
                k=k,
                adversary=make(1.0),
                costs=X.costs,
                feature_names=X.feature_names,
            )
            base = attacked.with_adversary(first)
        else:
            X.check_unchanged()
            base = X.with_sparsity(k).with_adversary(first)
        family = cls(base, make, whole)
        family._compute_once()
        return family

    def _compute_once(self) -> None:
        """Let the base compute what every point needs: the problems that `at` returns share it."""
        _ = self.base.column_norms
        if not self.base.adversary.gram_suffices:
            _ = self.base.row_top_k_norms
        elif self.base.n_features <= MANY_FEATURES:
            _ = self.base.covariance

    @property
    def dial(self) -> str:
        """Name of the swept quantity: "noise", or "factor" on the budgets of the features (or samples)."""
        return "noise" if self.whole is None else "factor"

    @property
    def noise_unit(self) -> float:
        """The rho of noise 1; 1 where rho is a factor."""
        return 1.0 if self.whole is not None else type(self.base.adversary).noise_unit(self.base.n_samples)

    @property
    def as_given(self) -> Problem:
        """The problem with the budgets as given, factor 1; the base where rho is the budget itself."""
        return self.base if self.whole is None else self.base.with_adversary(self.whole)

    @cached_property
    def rho_max(self) -> float:
        """The budget (or factor) from which on the optimum is 0; inf if a feature without error is left."""
        return self.as_given.rho_max

    @cached_property
    def end(self) -> float:
        """The end of a sweep: rho_max, or the last factor that changes anything where rho_max is infinite."""
        if self.whole is None or math.isfinite(self.rho_max):
            return self.rho_max
        return float(self._ends.max(initial=0.0))

    @cached_property
    def _ends(self) -> FloatArray:
        """The factors, rising, at which the single features (or samples) that can vanish do so."""
        assert self.whole is not None
        lengths = self.base.column_norms if self.base.adversary.gram_suffices else self.base.row_top_k_norms
        moved = (lengths > 0) & (self.whole.rho > 0) & np.isfinite(self.whole.rho)
        ends: FloatArray = np.sort(lengths[moved] / self.whole.rho[moved])
        return ends

    def place(self, rho: float) -> float:
        """Return the position of a budget on the sweep, from 0 to 1.

        With factors it is the mean, over the features, of the position within the range of each: a single feature with
        a tiny budget lasts a hundred times as long as the others, which must still be told apart.
        """
        if self.whole is None:
            return rho / self.end if self.end > 0 else 0.0
        return float(np.minimum(rho / self._ends, 1.0).mean()) if len(self._ends) else 0.0

    def even(self, points: int, end: float | None = None) -> FloatArray:
        """Return budgets from 0 to the end at even positions, and the factor 1 if it lies between."""
        last = self.end if end is None else min(end, self.end)
        if self.whole is None:
            return np.linspace(0.0, last, points)
        # Between two ends the position is linear in the factor.
        corners = np.unique(np.concatenate([[0.0], self._ends[self._ends < last], [last]]))
        places = np.array([self.place(float(corner)) for corner in corners])
        grid = np.interp(np.linspace(0.0, places[-1], points), places, corners)
        grid[-1] = last
        return np.unique(np.append(grid, 1.0) if last > 1 else grid)

    def adversary(self, rho: float) -> Adversary:
        """Return the adversary of budget rho; it must be of the kind of the base, whose curve is convex."""
        if self.whole is not None:
            return self.whole.rescaled(rho)
        made, kind = self.make(rho), type(self.base.adversary)
        if type(made) is not kind or not made.has_one_budget or made.rho != rho:
            raise InvalidProblem(
                f"adversary must give {kind.__name__}({rho!r}) for the budget {rho!r}, it gave {made!r}; pass the "
                f"class {kind.__name__} itself."
            )
        return made

    def at(self, rho: float) -> Problem:
        """Return the problem with budget rho, which shares the products of the data."""
        return self.base.with_adversary(self.adversary(rho))

    def restricted(self, features: IntArray) -> "Family":
        """Return the family on the chosen features alone."""
        base = self.base.restricted(features)
        if base.X is not None and "covariance" in self.base.__dict__:
            # Forming the same products again would cost as much as the searches.
            block = self.base.covariance[np.ix_(features, features)]
            block.flags.writeable = False
            base.__dict__["covariance"] = block
        whole = None if self.whole is None else self.whole.restricted_to(features)
        family = Family(base, self.make if whole is None else whole.rescaled, whole)
        family._compute_once()
        return family

    def distances(self, vectors: FloatArray, rhos: FloatArray) -> FloatArray:
        r"""Return :math:`\sqrt{n\,\mathrm{value}}` of the m vectors at the r budgets, an array of shape (r, m).

        Feature-wise these are the lines :math:`(\|Xv\|_2 - \rho\|v\|_1)_+`.
        """
        adversaries = [self.adversary(float(rho)) for rho in rhos]
        if self.base.adversary.gram_suffices:
            norms = self._norms(vectors)
            return np.array(
                [a.distance_from_energy(norms, vectors) for a in adversaries if isinstance(a, GramAdversary)]
            ).reshape(len(rhos), len(vectors))
        scores = np.array([products.scores(self.base.samples("a path"), v) for v in vectors])
        return np.array([a.distance(scores, vectors) for a in adversaries]).reshape(len(rhos), len(vectors))

    def values(self, vectors: FloatArray, rhos: FloatArray) -> FloatArray:
        """Return the value of every vector at every budget, less its costs: an array of shape (r, m)."""
        values: FloatArray = self.distances(vectors, rhos) ** 2 / self.base.n_samples
        return values if self.base.costs is None else values - (vectors != 0) @ self.base.costs

    def _norms(self, vectors: FloatArray) -> FloatArray:
        """Return |Xv| for every row of vectors, from the columns of its support."""
        norms = []
        for v in vectors:
            if self.base.X is not None:
                norms.append(float(np.linalg.norm(products.scores(self.base.X, v))))
                continue
            support = np.flatnonzero(v)
            block = self.base.covariance[np.ix_(support, support)]
            norms.append(math.sqrt(self.base.n_samples * max(float(v[support] @ block @ v[support]), 0.0)))
        return np.array(norms)

    def bounds(self, rhos: FloatArray, bounds: FloatArray, at: FloatArray) -> FloatArray:
        """Return the bounds that proved ones at increasing budgets imply at others, by convexity."""
        return convex_bounds(rhos, bounds, self.rho_max, at, roots=self.base.costs is None)


def convex_bounds(
    rhos: FloatArray, bounds: FloatArray, zero_from: float, at: FloatArray, *, roots: bool = True
) -> FloatArray:
    """Return the bounds at the budgets `at` that those at increasing `rhos` imply by convexity; inf left of the first.

    The optimum is 0 from `zero_from` on. Its root is convex, or with `roots=False` only the optimum itself.

    Examples
    --------
    >>> convex_bounds(np.array([0.0, 2.0]), np.array([16.0, 4.0]), 4.0, np.array([1.0, 3.0, 5.0])).round(6)
    array([9., 1., 0.])
    """
    proved = np.isfinite(bounds) & (rhos < zero_from)
    x, y = rhos[proved], np.sqrt(bounds[proved]) if roots else bounds[proved]
    if np.isfinite(zero_from):
        x, y = np.append(x, zero_from), np.append(y, 0.0)
    limits = np.where(at >= zero_from, 0.0, np.inf)
    if x.size == 0:
        return limits
    corners = _lower_hull(x, y)
    x, y = x[corners], y[corners]
    inside = (at >= x[0]) & (at <= x[-1])
    asked = at[inside]
    if x.size == 1:
        limits[inside] = np.minimum(limits[inside], y[0] ** 2 if roots else y[0])
        return limits
    right = np.clip(np.searchsorted(x, asked), 1, len(x) - 1)
    left = right - 1
    # Both weights are quotients of differences, so nothing cancels where the chord comes close to 0; and they are
    # formed before they meet the bounds, so that no product of two small numbers vanishes.
    width = x[right] - x[left]
    chord = ((x[right] - asked) / width) * y[left] + ((asked - x[left]) / width) * y[right]
    squares = (chord * _OUTWARD) ** 2 if roots else chord * _OUTWARD
    # Rounding may lower a tiny square by more than the factor covers.
    squares = np.where((squares < _TINY) & (chord > 0), np.nextafter(squares, np.inf), squares)
    limits[inside] = np.minimum(limits[inside], squares)
    return limits


def _lower_hull(x: FloatArray, y: FloatArray) -> list[int]:
    """Return the positions of the corners of the lower convex hull, from left to right (Andrew's chain)."""
    corners: list[int] = []
    for i in range(len(x)):
        while len(corners) >= 2:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    return corners
