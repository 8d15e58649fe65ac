"""A node of the relaxation's tree: vectors on some features, of which a few have their place."""

import numpy as np

from noap.exact.relaxation.envelope import bound_of, useful
from noap.exact.relaxation.inequality import Inequality
from noap.exact.relaxation.multiplier import Multiplier
from noap.exact.relaxation.worth import Places, worths_below
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["Node"]

# Among features that are equally undecided, the one that carries more.
_CARRIED = 1e-3


class Node:
    """The vectors on the allowed features with at most `places` of them beside the included ones.

    Attributes
    ----------
    included, allowed : arrays of shape (m,)
        An included feature has its place whether or not a vector uses it.
    inequalities : list
        What is known of the node, from its ancestors as well.
    bound, worst : float
        What follows, and the t at which it is made.
    state : Multiplier or None
        To go on from; None where nobody will.
    slope : float
        The one at which the state was last.
    span : tuple of two floats
        Between these t lies, for every unit vector of k features.
    costs, weights : arrays of shape (m,), or None
        Where features cost something, a node is about the vectors that use all included features, and its span is its
        own.
    children : tuple of two nodes, or None for a leaf
    feature : int
        What it branches on: taken in the first child, left out in the second.
    """

    def __init__(
        self,
        included: BoolArray,
        allowed: BoolArray,
        inequalities: list[Inequality],
        state: Multiplier | None,
        rho: float,
        k: int,
        slope: float = 0.0,
        span: tuple[float, float] | None = None,
        costs: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> None:
        self.included, self.rho, self.k, self.slope = included, rho, k, slope
        self.span, self.costs, self.weights = span or (1.0, float(k)), costs, weights
        self.places = k - int(included.sum())
        # Where no place is left, the others are out.
        self.allowed = allowed if self.places else included
        self.inequalities = inequalities
        kept = self.allowed[allowed]
        self.state = state if state is None or kept.all() else state.restricted(kept)
        self.children: tuple[Node, Node] | None = None
        self.feature = -1
        self._look()

    @property
    def free(self) -> BoolArray:
        """The features that share the places."""
        free: BoolArray = self.allowed & ~self.included
        return free

    @property
    def features(self) -> IntArray:
        """Positions of the allowed features."""
        return np.flatnonzero(self.allowed)

    def add(self, inequality: Inequality | None) -> None:
        """Learn one more, and forget those that say nothing new."""
        if inequality is not None:
            self.inequalities = [*self.inequalities, inequality]
            self._look()

    @property
    def paid(self) -> float:
        """What the included features cost."""
        return 0.0 if self.costs is None else float(self.costs[self.included].sum())

    def _look(self) -> None:
        free = self.free
        if self.costs is not None:
            if not self.allowed.any():  # nobody is here
                self.bound, self.worst = 0.0, self.span[0]
                return
            places = Places(self.included, free, self.places, self.costs)
            self.span = places.span(np.ones(len(free)) if self.weights is None else self.weights)
            self.bound, self.worst, needed = worths_below(self.inequalities, places, self.rho, self.span)
            self.inequalities = [self.inequalities[i] for i in needed]
            return
        lines = [one.line(self.included, free, self.places) for one in self.inequalities]
        least, most = self.span
        kept = useful(lines, most, least)
        self.inequalities = [self.inequalities[i] for i in kept]
        self.bound, self.worst = bound_of([lines[i] for i in kept], self.rho, most, least)

    def branched(self) -> "tuple[Node, Node] | None":
        """Return the two nodes that a feature leads to, taken and left out; None where all is decided."""
        features, free = self.features, self.free
        if self.state is None or not free.any():
            return None
        taken, carried = np.minimum(self.state.taken, 1.0), self.state.W.diagonal()
        undecided: FloatArray = np.where(free[features], np.minimum(taken, 1.0 - taken) + _CARRIED * carried, -1.0)
        at = int(np.argmax(undecided))
        self.feature = int(features[at])
        included, allowed = self.included.copy(), self.allowed.copy()
        included[self.feature], allowed[self.feature] = True, False
        rest = np.arange(len(features)) != at
        whole, part = self.state.restricted(np.ones_like(rest)), self.state.restricted(rest)
        rest_of_it = self.rho, self.k, self.slope, self.span, self.costs, self.weights
        first = Node(included, self.allowed, self.inequalities, whole, *rest_of_it)
        second = Node(self.included, allowed, self.inequalities, part, *rest_of_it)
        return first, second
