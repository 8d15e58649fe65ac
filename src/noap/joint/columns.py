"""The supports that are known, each with its best direction and what that is worth."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from noap.adversaries.base import GramAdversary
from noap.heuristics.batch import truncate
from noap.heuristics.climber import Climber
from noap.heuristics.oracle import GramOracle, in_units_of_samples
from noap.heuristics.sample_oracle import SampleOracle
from noap.linalg.products import columns
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem

__all__ = ["Column", "Columns"]

# A direction counts as better when it is worth more by so much, relatively.
_BETTER = 1e-12


@dataclass(frozen=True, eq=False)
class Column:
    """A support, the best direction met on it, and its objective."""

    support: IntArray
    weights: FloatArray
    worth: float

    def __len__(self) -> int:
        return len(self.support)

    def vector(self, d: int) -> FloatArray:
        """Return the direction among all features."""
        v = np.zeros(d)
        v[self.support] = self.weights
        return v


class Columns:
    """A pool of supports that only grows."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._adversary = in_units_of_samples(problem)
        self._known: dict[tuple[int, ...], Column] = {}
        self._tried: set[tuple[int, ...]] = set()

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Column]:
        return iter(self._known.values())

    def offer(self, places: IntArray, weights: FloatArray) -> bool:
        """Take the support of a direction, unless the best that is known on it is as good; returns whether it was."""
        used = np.flatnonzero(weights)
        places, weights = places[used], weights[used]
        if len(places) == 0:
            return False
        order = np.argsort(places)
        places, weights = places[order], weights[order]
        key = tuple(places.tolist())
        better = self._take(self._column(places, weights))
        if key not in self._tried:
            self._tried.add(key)
            better = self._take(self._best_on(places, weights)) or better
        return better

    def of(self, places: IntArray, weights: FloatArray) -> Column:
        """Take the support of a direction, and return the best that is known on it."""
        order = np.argsort(places)
        self.offer(places, weights)
        best = self._best_on(places[order], weights[order])
        return self._known.get(tuple(best.support.tolist()), best)

    def strongest(self, count: int) -> list[Column]:
        """Take the features that are worth most alone, so many of those that are worth anything, and return them."""
        costs = 0.0 if self.problem.costs is None else self.problem.costs
        worths = self._single_distances() ** 2 - costs
        features = np.argsort(-worths, kind="stable")[:count]
        for j in features[worths[features] > 0]:
            self.offer(np.array([j]), np.ones(1))
        return list(self)

    def _take(self, column: Column) -> bool:
        key = tuple(column.support.tolist())
        known = self._known.get(key)
        if not key or (known is not None and column.worth <= known.worth + _BETTER * abs(known.worth)):
            return False
        self._known[key] = column
        return True

    def _column(self, places: IntArray, weights: FloatArray) -> Column:
        used = np.flatnonzero(weights)
        places, weights = places[used], weights[used] / np.linalg.norm(weights[used])
        costs = self.problem.costs
        paid = 0.0 if costs is None else float(costs[places].sum())
        return Column(places, weights, self._distance(places, weights) ** 2 - paid)

    def _single_distances(self) -> FloatArray:
        """Return what the adversary leaves of every feature alone, as a root."""
        if isinstance(self._adversary, GramAdversary):
            lengths = np.sqrt(np.maximum(np.diag(self.problem.covariance), 0.0))
            left: FloatArray = np.maximum(lengths - self._adversary.budgets(self.problem.n_features), 0.0)
            return left
        places = np.arange(self.problem.n_features)
        return np.array([self._distance(places[j : j + 1], np.ones(1)) for j in places])

    def _distance(self, places: IntArray, weights: FloatArray) -> float:
        """Return what the adversary leaves of a direction, as a root."""
        adversary = self._adversary.restricted_to(places)
        if isinstance(adversary, GramAdversary):
            S = self.problem.covariance[np.ix_(places, places)]
            energy = math.sqrt(max(float(weights @ S @ weights), 0.0))
            return max(energy - float(adversary.budgets(len(places)) @ np.abs(weights)), 0.0)
        scores = columns(self.problem.X, places) @ weights / math.sqrt(self.problem.n_samples)
        return float(adversary.distance(scores[None, :], weights[None, :])[0])

    def _best_on(self, places: IntArray, weights: FloatArray) -> Column:
        """Return what ascent within the support reaches from a direction, or from the leading one if that is better."""
        size, block = len(places), self.problem.gram[np.ix_(places, places)]
        climber = self._climber(places, block)
        starts = [weights, np.linalg.eigh(block)[1][:, -1]]
        reached = [climber.to_fixed_point(climber.measured(truncate(x[None, :], size))) for x in starts]
        best = max(reached, key=lambda one: float(one.distances[0])).batch.first(size)
        return self._column(places, best) if best.any() else self._column(places, weights)

    def _climber(self, places: IntArray, block: FloatArray) -> Climber:
        adversary = self._adversary.restricted_to(places)
        if isinstance(adversary, GramAdversary):
            return Climber(GramOracle(block, adversary), len(places))
        entries = columns(self.problem.X, places)
        return Climber(SampleOracle(entries, self.problem.n_samples, adversary), len(places))
