"""One number of features of a large problem: every place where a support may lie, one after the other."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

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

# Roots' worth of work that a place gets at first, and so many times more whenever it is looked at again.
_FIRST, _MORE = 64.0, 4.0
# What a large component gets as a whole, before its features are looked at one by one.
_AS_A_WHOLE = 16.0
# A place with more features is none for a small problem: its inner products would take 130 MB.
_MOST_FEATURES = 4000


@dataclass(order=True)
class _Open:
    """A place that is not closed yet: the worst first. Its bound is proved by the tree of its number."""

    minus_bound: float
    number: int
    place: Clique = field(compare=False)
    roots: float = field(compare=False)
    price: float = field(compare=False)


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
        self.small, self.k, self.below, self.best, self.gap, self.meter = small, k, below[:k].copy(), best, gap, meter
        self.places = self.done = self.features_left = 0
        self.work = 0.0
        self._proved = 0.0  # the largest bound of a closed place
        self._trees: list[Tree] | None = None
        self._open: list[_Open] = []

    @property
    def target(self) -> float:
        """What every pair is to be shown not to exceed."""
        return self.best.target(self.gap)

    @property
    def closed(self) -> bool:
        """Whether every place is closed."""
        return self._trees is not None and not self._open

    @property
    def begun(self) -> bool:
        """Whether every place was looked at."""
        return self._trees is not None

    def test(self) -> Compatible:
        """Return what a support worth more than the target demands of its features."""
        return Compatible.at(self.k, self.target, self.below, self.small.rho)

    def begin(self, pairs: Pairs, tell: Callable[[], None]) -> bool:
        """Look at every place once; returns whether all of them could be: no limit was reached, none was too large."""
        test = self.test()
        if test.size < 2:
            return False
        self.features_left, places = cliques(pairs, test)
        tell()
        trees: list[Tree] = []
        for place in places:
            if place.parts is None:
                if not self._look(place, test.size, trees, tell):
                    return False
            elif not self._closed_at_once(place, trees):
                for part in place.parts():
                    if not self._look(part, test.size, trees, tell):
                        return False
            tell()
        heapq.heapify(self._open)
        self._trees = trees
        return True

    def _closed_at_once(self, place: Clique, trees: list[Tree]) -> bool:
        """Close a large component as a whole, if that takes little work."""
        if self.meter.stopped():
            return False
        tree, noted = self._tried(place, _AS_A_WHOLE)
        if tree.done:
            self.places += 1
            self._close(tree)
            trees += [noted, *_of_the_same_tree(place)]
        return tree.done

    def _look(self, place: Clique, size: int, trees: list[Tree], tell: Callable[[], None]) -> bool:
        """Look at a place for the first time; returns whether that was possible."""
        trees.append(Tree(int(place.features[0]), place.whole, None))
        if len(place.features) < size:
            return True
        if len(place.features) > _MOST_FEATURES or self.meter.stopped():
            return False
        self.places += 1
        number = len(trees) - 1
        tree, trees[number] = self._tried(place, _FIRST)
        if tree.done:
            self._close(tree)
        else:
            self._open.append(_Open(-tree.bound, number, place, _FIRST, tree.root_price))
        if place.whole:
            trees += _of_the_same_tree(place)
        tell()
        return True

    def go_on(self, allowed: float, tell: Callable[[], None]) -> None:
        """Spend `allowed` roots' worth of work for each open place on the worst of them: only those count."""
        assert self._trees is not None
        budget = self.work + allowed * sum(one.price for one in self._open)
        while self._open and self.work < budget and not self.meter.stopped():
            one = self._open[0]
            tree, noted = self._tried(one.place, _MORE * one.roots)
            if tree.done:
                heapq.heappop(self._open)
                self._close(tree)
                self._trees[one.number] = noted
            elif -tree.bound > one.minus_bound:
                heapq.heapreplace(
                    self._open, _Open(-tree.bound, one.number, one.place, _MORE * one.roots, tree.root_price)
                )
                self._trees[one.number] = noted
            else:
                one.roots *= _MORE
            tell()

    def trees(self) -> LevelTrees:
        """Return the proof of the bound, as good as it is."""
        assert self._trees is not None
        bound = max([self.target, self._proved, *(-one.minus_bound for one in self._open)])
        return LevelTrees(self.k, bound, list(self._trees))

    def _tried(self, place: Clique, roots: float) -> tuple[Subtree, Tree]:
        """Return what so much work proves about a place."""
        features = place.features
        k = min(self.k, len(features))
        instance = self.small.instance(features, k, self.below)
        local = Incumbent(instance, _start(instance.A, k, rooted=not place.whole))
        if local.value > self.best.value:
            self.best = local
        local.value = max(local.value, self.best.value)
        tree = Subtree(instance, local, self.gap, self.meter, rooted=not place.whole)
        tree.advance_to(roots * tree.root_price)
        self.work += tree.work
        if tree.incumbent.value > self.best.value:
            self.best = tree.incumbent
        proof = tree.proof() if self.meter.limits.keep_proof else None
        return tree, Tree(int(features[0]), place.whole, proof)

    def _close(self, tree: Subtree) -> None:
        self.done += 1
        self._proved = max(self._proved, tree.bound)


def _of_the_same_tree(place: Clique) -> list[Tree]:
    """Return the other features of a component.

    The checker knows products better, and may see several components in this one: each has the same tree.
    """
    return [Tree(int(feature), True, None) for feature in place.features[1:]]


def _start(A: FloatArray, k: int, rooted: bool) -> FloatArray:
    """Return a vector to respond to: the features that go best with the first one, or with the longest."""
    first = 0 if rooted else int(np.argmax(np.diag(A)))
    pull = np.abs(A[first])
    pull[first] = np.inf  # beside longer columns its own entry may be among the smallest of its row
    near: IntArray = np.argsort(-pull, kind="stable")[:k]
    v: FloatArray = np.zeros(len(A))
    v[near] = A[first, near]
    return v
