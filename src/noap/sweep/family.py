"""One set of data, one sparsity, every budget: the problems that a path goes through."""

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
from noap.linalg.blocked import MANY_FEATURES
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["SERVES", "Family"]

# The adversaries whose optima are a convex curve in rho that ends at rho_max.
SERVES = (FeatureWise, SampleWise)


@dataclass(frozen=True, eq=False)
class Family:
    r"""The problems that differ in rho alone.

    Their optima are one curve: :math:`\sqrt{n\,\mathrm{opt}(\rho)}` is the maximum over u and v of
    :math:`u^\top X v - \rho\,\sigma_1(u, v)`, with :math:`\sigma_1` the support function at budget 1. Every term is a
    line in rho that does not rise, so the curve is convex and does not rise either.

    With a budget for each feature (or sample) rho is a factor on all of them, and :math:`\sigma_1` the support function
    of the budgets as given. With costs the optimum itself is convex, as the maximum of
    :math:`(\|Xv\| - \rho \sum_j \rho_j |v_j|)_+^2/n` less what v costs; its root need not be.

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
        """Validate what the user passed; X may be a Problem, whose data and costs are then used."""
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

    @property
    def dial(self) -> str:
        """What is swept over, in one word: "noise", or "factor" on the budgets of the features (or samples)."""
        return "noise" if self.whole is None else "factor"

    @property
    def noise_unit(self) -> float:
        """The rho of one unit of the dial: a factor counts as it is."""
        return 1.0 if self.whole is not None else type(self.base.adversary).noise_unit(self.base.n_samples)

    def _compute_once(self) -> None:
        """Have the base compute what every point will ask for: `at` copies what is there."""
        _ = self.base.column_norms
        if not self.base.adversary.gram_suffices:
            _ = self.base.row_top_k_norms
        elif self.base.n_features <= MANY_FEATURES:
            _ = self.base.covariance

    @cached_property
    def rho_max(self) -> float:
        """The budget (or factor) from which on the optimum is 0; inf if a feature that is exact is left."""
        return self.base.rho_max if self.whole is None else self.base.with_adversary(self.whole).rho_max

    @cached_property
    def end(self) -> float:
        """Where a sweep ends: at rho_max, or where all is gone that has a budget, and no factor changes more."""
        if self.whole is None or math.isfinite(self.rho_max):
            return self.rho_max
        return float(self._ends.max(initial=0.0))

    @cached_property
    def _ends(self) -> FloatArray:
        """The factors at which single features (or samples) are gone, increasing; without those that never are."""
        assert self.whole is not None
        lengths = self.base.column_norms if self.base.adversary.gram_suffices else self.base.row_top_k_norms
        moved = (lengths > 0) & (self.whole.rho > 0) & np.isfinite(self.whole.rho)
        ends: FloatArray = np.sort(lengths[moved] / self.whole.rho[moved])
        return ends

    def place(self, rho: float) -> float:
        """Return where a budget lies on the sweep, from 0 to 1: evenly, so that grids know no budgets of their own.

        With factors it is the mean over the features of how far along its own range each of them is: where one has a
        tiny budget and lasts a hundred times as long as the others, these are still told apart.
        """
        if self.whole is None:
            return rho / self.end if self.end > 0 else 0.0
        return float(np.minimum(rho / self._ends, 1.0).mean()) if len(self._ends) else 0.0

    def even(self, points: int, end: float | None = None) -> FloatArray:
        """Return so many budgets from 0 to the end, evenly placed, and the factor 1 if it lies between."""
        last = self.end if end is None else min(end, self.end)
        if self.whole is None:
            return np.linspace(0.0, last, points)
        # Between two ends the place is linear in the factor.
        corners = np.unique(np.concatenate([[0.0], self._ends[self._ends < last], [last]]))
        places = np.array([self.place(float(corner)) for corner in corners])
        grid = np.interp(np.linspace(0.0, places[-1], points), places, corners)
        grid[-1] = last
        return np.unique(np.append(grid, 1.0) if last > 1 else grid)

    def adversary(self, rho: float) -> Adversary:
        """Return the adversary of budget rho: of the kind of the base, for the curve is that of one kind."""
        if self.whole is not None:
            return self.whole.rescaled(rho)
        made, kind = self.make(rho), type(self.base.adversary)
        if type(made) is not kind or not made.has_one_budget or made.rho != rho:
            raise InvalidProblem(
                f"adversary must give {kind.__name__}({rho!r}) for the budget {rho!r}, it gave {made!r}; pass the "
                f"class {kind.__name__} itself."
            )
        return made

    def restricted(self, features: IntArray) -> "Family":
        """Return the family on the chosen features alone."""
        base = self.base.restricted(features)
        if base.X is not None and "covariance" in self.base.__dict__:
            # The same products; to form them again would cost as much as the searches that are to come.
            block = self.base.covariance[np.ix_(features, features)]
            block.flags.writeable = False
            base.__dict__["covariance"] = block
        whole = None if self.whole is None else self.whole.restricted_to(features)
        family = Family(base, self.make if whole is None else whole.rescaled, whole)
        family._compute_once()
        return family

    def at(self, rho: float) -> Problem:
        """Return the problem with budget rho; what it has computed from the data is shared, not computed again."""
        return self.base.with_adversary(self.adversary(rho))

    def distances(self, vectors: FloatArray, rhos: FloatArray) -> FloatArray:
        r"""Return sqrt(n value) of every vector at every budget.

        Feature-wise these are the lines :math:`(\|Xv\|_2 - \rho\|v\|_1)_+`.

        Parameters
        ----------
        vectors : array of shape (m, d)
        rhos : array of shape (r,)

        Returns
        -------
        array of shape (r, m)
        """
        adversaries = [self.adversary(float(rho)) for rho in rhos]
        if self.base.adversary.gram_suffices:
            energy = self._energies(vectors)
            return np.array(
                [a.distance_from_energy(energy, vectors) for a in adversaries if isinstance(a, GramAdversary)]
            ).reshape(len(rhos), len(vectors))
        scores = np.array([products.scores(self.base.samples("a path"), v) for v in vectors])
        return np.array([a.distance(scores, vectors) for a in adversaries]).reshape(len(rhos), len(vectors))

    def worths(self, vectors: FloatArray, rhos: FloatArray) -> FloatArray:
        """Return the value of every vector at every budget, an array of shape (r, m); costs are taken off."""
        worths: FloatArray = self.distances(vectors, rhos) ** 2 / self.base.n_samples
        return worths if self.base.costs is None else worths - (vectors != 0) @ self.base.costs

    def _energies(self, vectors: FloatArray) -> FloatArray:
        """Return |Xv| for every row of vectors; each touches the columns of its support only."""
        energies = []
        for v in vectors:
            if self.base.X is not None:
                energies.append(float(np.linalg.norm(products.scores(self.base.X, v))))
                continue
            support = np.flatnonzero(v)
            block = self.base.covariance[np.ix_(support, support)]
            energies.append(math.sqrt(self.base.n_samples * max(float(v[support] @ block @ v[support]), 0.0)))
        return np.array(energies)
