"""One number of features of a large problem: every place where a support may lie, one after the other."""

import heapq
import itertools
from collections.abc import Callable

import numpy as np

from noap.exact.feature_wise.instance import Incumbent
from noap.exact.feature_wise.meter import Meter
from noap.exact.many.compatible import Compatible
from noap.exact.many.forest import LevelTrees, Tree
from noap.exact.many.graph import Clique, cliques
from noap.exact.many.pairs import Pairs
from noap.exact.many.small import SmallProblems
from noap.exact.many.subtree import Subtree
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Level"]

# Roots' worth of work that a place gets before the next one has its turn.
_FIRST = 64.0
# A place with more features is none for a small problem: its inner products would take 130 MB.
_MOST_FEATURES = 4000


class Level:
    """The proof of a bound on the optimum of k features.

    Attributes
    ----------
    places, done : int
        How many places there are so far, and how many of them are closed.
    features_left : int
        Features with enough neighbours.
    best : Incumbent
        The best vector so far, over the features of its own instance.
    """

    def __init__(
        self, small: SmallProblems, k: int, below: FloatArray, best: Incumbent, gap: float, meter: Meter
    ) -> None:
        self.small, self.k, self.below, self.best, self.gap, self.meter = small, k, below, best, gap, meter
        self.places = self.done = self.features_left = 0
        self.work = 0.0
        self._proved = 0.0  # the largest bound of a closed place
        self._trees: list[Tree] = []
        self._open: list[tuple[float, int, Subtree]] = []
        self._count = itertools.count()

    @property
    def target(self) -> float:
        """What every pair is to be shown not to exceed."""
        return self.best.target(self.gap)

    @property
    def closed(self) -> bool:
        """Whether every place that was looked at is closed."""
        return not self._open

    def test(self) -> Compatible:
        """Return what a support worth more than the target demands of its features."""
        return Compatible.at(self.k, self.target, self.below, self.small.rho)

    def prove(self, pairs: Pairs, allowed: float, tell: Callable[[], None]) -> LevelTrees | None:
        """Return the proof of a bound, as good as `allowed` roots' worth of work for each place makes it.

        None if a limit comes before every place was looked at, or one is too large.
        """
        test = self.test()
        if test.size < 2:
            return None
        self.features_left, places = cliques(pairs, test)
        tell()
        for place in places:
            if len(place.features) < test.size:
                self._trees.append(Tree(int(place.features[0]), place.whole, None))
                continue
            if len(place.features) > _MOST_FEATURES or self.meter.stopped():
                return None
            self._begin(place, min(allowed, _FIRST))
            tell()
        budget = self.work + allowed * sum(tree.root_price for _, _, tree in self._open)
        while self._open and self.work < budget and not self.meter.stopped():
            # Only the worst of them counts for the bound.
            _, number, tree = self._open[0]
            before = tree.work
            hopeful = tree.advance_to(tree.work + _FIRST * tree.root_price)
            self.work += tree.work - before
            self._learn(tree)
            if tree.done:
                heapq.heappop(self._open)
                self._close(tree, number)
            elif hopeful:
                heapq.heapreplace(self._open, (-tree.bound, number, tree))
            else:
                break
            tell()
        for _, number, tree in self._open:
            self._note(tree, number)
        bound = max([self.target, self._proved, *(tree.bound for _, _, tree in self._open)])
        return LevelTrees(self.k, bound, list(self._trees))

    def _begin(self, place: Clique, allowed: float) -> None:
        features = place.features
        k = min(self.k, len(features))
        instance = self.small.instance(features, k, self.below)
        local = Incumbent(instance, _start(instance.A, k, rooted=not place.whole))
        if local.value > self.best.value:
            self.best = local
        local.value = max(local.value, self.best.value)
        tree = Subtree(instance, local, self.gap, self.meter, rooted=not place.whole)
        number = len(self._trees)
        self._trees.append(Tree(int(features[0]), place.whole, None))
        self.places += 1
        tree.advance_to(allowed * tree.root_price)
        self.work += tree.work
        self._learn(tree)
        if tree.done:
            self._close(tree, number)
        else:
            heapq.heappush(self._open, (-tree.bound, number, tree))

    def _learn(self, tree: Subtree) -> None:
        """Take a better vector than the best so far."""
        if tree.incumbent.value > self.best.value:
            self.best = tree.incumbent

    def _close(self, tree: Subtree, number: int) -> None:
        self.done += 1
        self._proved = max(self._proved, tree.bound)
        self._note(tree, number)

    def _note(self, tree: Subtree, number: int) -> None:
        proof = tree.proof() if self.meter.limits.keep_proof else None
        self._trees[number] = Tree(self._trees[number].root, self._trees[number].whole, proof)


def _start(A: FloatArray, k: int, rooted: bool) -> FloatArray:
    """Return a vector to respond to: the features that go best with the first one, or the best single feature's."""
    first = 0 if rooted else int(np.argmax(np.diag(A)))
    near: IntArray = np.argsort(-np.abs(A[first]), kind="stable")[:k]
    v: FloatArray = np.zeros(len(A))
    v[near] = A[first, near]
    v[first] = v[first] or 1.0
    return v
