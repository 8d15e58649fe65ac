"""Supports that are worth having, each with the best direction on it that ascent reaches."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noap.exact.feature_wise.instance import GramInstance
from noap.heuristics.batch import truncate
from noap.heuristics.gram_climber import GramClimber
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Direction", "Found"]

# Values this near to each other, relatively, are one number.
_SAME = 1e-9
_WORD = 64


@dataclass(frozen=True, eq=False)
class Direction:
    """A unit vector over the kept features, where it is not zero, and what it is worth in the instance."""

    v: FloatArray
    support: IntArray
    worth: float


class Found:
    """A growing list of supports, looked up by what they have in them and by what has them in it."""

    def __init__(self, instance: GramInstance) -> None:
        self.instance = instance
        self.directions: dict[tuple[int, ...], Direction] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        # Row i has the features of support i as bits, and what a node is closed at that has them all.
        self._bits: npt.NDArray[np.uint64] = np.zeros((16, -(-len(instance.norms) // _WORD)), dtype=np.uint64)
        self._targets = np.zeros(16)

    def __len__(self) -> int:
        return len(self.directions)

    def best_on(self, support: IntArray, met: FloatArray) -> Direction | None:
        """Return the best direction that ascent reaches from the leading one of a support, or from one that was met.

        Where it does not need all of the support it is zero on the rest. None where nothing is worth anything.
        """
        instance = self.instance
        A = instance.A[np.ix_(support, support)]
        starts = [np.linalg.eigh(A)[1][:, -1], met[support]]
        adversary = instance.adversary.restricted_to(support)
        costs = None if instance.costs is None else instance.costs[support]
        climber = GramClimber(A, adversary, len(support), costs)
        reached = [
            climber.to_fixed_point(climber.measured(truncate(x[None, :], len(support)))) for x in starts if x.any()
        ]
        best = max(reached, key=lambda one: float(one.distances[0]))
        if not best.distances[0] > 0.0:
            return None
        v: FloatArray = np.zeros(len(instance.norms))
        v[support] = best.batch.first(len(support))
        return Direction(v, np.flatnonzero(v), float(best.distances[0]) ** 2)

    def add(self, direction: Direction) -> None:
        """Take a direction, if it is the best of its support so far."""
        name = tuple(direction.support.tolist())
        known = self.directions.get(name)
        if known is not None and known.worth >= direction.worth:
            return
        number = self._numbers.setdefault(name, len(self.directions))
        self.directions[name] = direction
        if number == len(self._targets):
            self._bits = np.concatenate([self._bits, np.zeros_like(self._bits)])
            self._targets = np.append(self._targets, np.zeros(number))
        cost = float(self.instance.terms.cost[direction.support].sum()) if self.instance.has_costs else 0.0
        self._bits[number] = self._as_bits(direction.support)
        self._targets[number] = self.instance.above(direction.worth, cost, _SAME)

    def has(self, features: IntArray, exactly: bool) -> bool:
        """Whether one of the supports has all of these features; and, if so asked, no other."""
        if exactly:
            return tuple(np.sort(features).tolist()) in self.directions
        mine = self._as_bits(features)
        return bool(((mine & ~self._bits[: len(self)]) == 0).all(axis=1).any())

    def most_within(self, features: IntArray) -> float:
        """Return just above what the best of the supports is worth that have no other features; 0 if there is none."""
        mine = self._as_bits(features)
        within = ((self._bits[: len(self)] & ~mine) == 0).all(axis=1)
        return float(self._targets[: len(self)][within].max(initial=0.0))

    def _as_bits(self, features: IntArray) -> npt.NDArray[np.uint64]:
        mask = np.zeros(self._bits.shape[1] * _WORD, dtype=np.bool_)
        mask[features] = True
        return np.packbits(mask).view(np.uint64)
