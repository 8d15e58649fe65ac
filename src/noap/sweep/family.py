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
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["SERVES", "Family"]

# The adversaries whose optima are a convex curve in rho that ends at rho_max.
SERVES = (FeatureWise, SampleWise)

# Up to here X'X is formed (half a gigabyte), as it is by the heuristics.
_GRAM_FEATURES = 8192


@dataclass(frozen=True, eq=False)
class Family:
    r"""The problems that differ in rho alone.

    Their optima are one curve: :math:`\sqrt{n\,\mathrm{opt}(\rho)}` is the maximum over u and v of
    :math:`u^\top X v - \rho\,\sigma_1(u, v)`, with :math:`\sigma_1` the support function at budget 1. Every term is a
    line in rho that does not rise, so the curve is convex and does not rise either.

    Attributes
    ----------
    base : Problem
        The problem at rho = 0.
    make : callable
        Gives the adversary of a budget.
    """

    base: Problem
    make: Callable[[float], Adversary]

    @classmethod
    def of(cls, X: Any, k: Any, make: Any) -> "Family":
        """Validate what the user passed; X may be a Problem, whose data are then used."""
        first = make(0.0) if callable(make) else None
        if not isinstance(first, Adversary):
            raise InvalidProblem(
                f"adversary must be a class that takes a budget, such as noap.FeatureWise, got {make!r}; "
                "path chooses the budgets."
            )
        if type(first) is NoAdversary:
            names = " or ".join(kind.__name__ for kind in SERVES)
            raise InvalidProblem(f"adversary {type(first).__name__} has no budget to vary; use {names}.")
        require_served(first, SERVES, "path", "call solve at each budget")
        if isinstance(X, Problem) and X.costs is not None:
            raise InvalidProblem("path takes no costs; pass a problem without them, or call solve at each budget.")
        if not isinstance(X, Problem):
            base = Problem(X, k, first)
        elif X.X is None:
            # Validated for a positive budget, since all but the first point of a path have one.
            attacked = Problem.from_covariance(
                X.covariance, n_samples=X.n_samples, k=k, adversary=make(1.0), feature_names=X.feature_names
            )
            base = attacked.with_adversary(first)
        else:
            X.check_unchanged()
            base = X.with_sparsity(k).with_adversary(first)
        family = cls(base, make)
        family._compute_once()
        return family

    def _compute_once(self) -> None:
        """Have the base compute what every point will ask for: `at` copies what is there."""
        _ = self.base.column_norms
        if not self.base.adversary.gram_suffices:
            _ = self.base.row_top_k_norms
        elif self.base.n_features <= _GRAM_FEATURES:
            _ = self.base.covariance

    @cached_property
    def rho_max(self) -> float:
        """The budget from which on the optimum is 0."""
        return self.base.rho_max

    def adversary(self, rho: float) -> Adversary:
        """Return the adversary of budget rho: of the kind of the base, for the curve is that of one kind."""
        made, kind = self.make(rho), type(self.base.adversary)
        if type(made) is not kind or made.rho != rho:
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
        family = Family(base, self.make)
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
