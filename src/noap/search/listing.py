"""Every support above a threshold: a tree that sets known ones apart, and a search in each node that holds no other.

node -> part of a support on the list, or beyond one of them? then the list closes it, or raises its threshold
-> a vector above its threshold: its support goes on the list, and the node is branched on
-> otherwise a search proves the threshold, or finds such a vector
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from noap.kernel.arithmetic import Refused
from noap.kernel.data import Data
from noap.kernel.tree import check_list
from noap.kernel.witness import Beyond, Feature, Level, Listed, Node, Support
from noap.linalg.types import FloatArray, IntArray
from noap.search.ascent import best_in, climbed_within, value_of
from noap.search.cheap import Better, children
from noap.search.prove import Search, whole
from noap.settings import Settings

__all__ = ["Listing"]

# What rounding keeps open at the threshold counts as worth it if it is, to this share.
_ON_THRESHOLD = 1e-7
# Ascent in a node starts from so many supports that were met last, too.
_NEAR = 4
# Thresholds above the one that was searched, relatively, which the kernel is asked for one after the other.
_RAISED = (0.0, 1e-10, 1e-9, 8e-9)


@dataclass(frozen=True, eq=False)
class _Part:
    """A node of the tree, with the threshold that holds in it."""

    included: IntArray
    free: IntArray
    places: int
    T: float


@dataclass
class Listing:
    """The supports worth more than T, and the tree that shows that there are no others.

    Attributes
    ----------
    data : Data
    T : float
        In the units of the data.
    slack : float
        Features that add no more than this share to a support on the list add nothing.
    settings : Settings
    check : callable
        Raises Stop when a limit is reached.
    supports : list of Support
        Those that were met so far; some are part of others.
    nodes : int
    stuck : bool
        Whether something stays open for good.
    open : list
        Nodes that are still to be looked at.
    """

    data: Data
    T: float
    slack: float
    settings: Settings
    check: Callable[[], None]
    supports: list[Support] = field(default_factory=list)
    nodes: int = 0
    stuck: bool = False

    def __post_init__(self) -> None:
        self._masks: list[int] = []
        self._tree: list[Node] = []
        self.open = [_Part(*whole(self.data), self.T)]

    @property
    def done(self) -> bool:
        """Whether the list is complete."""
        return not self.open and not self.stuck

    def advance(self) -> None:
        """Look at one node."""
        self.check()
        part = self.open[-1]
        node: Node
        self.nodes += 1
        if (number := self._covering(part)) is not None:
            node = Listed(number)
            self.open.pop()
        elif (number := self._inside(part)) is not None:
            node = Beyond(number)
            self.open[-1] = _Part(part.included, part.free, part.places, self.supports[number].beyond)
        else:
            self._decide(part)
            return
        self._tree.append(node)

    def add(self, v: FloatArray, least: float | None = None) -> bool:
        """List a vector's support if it is worth more than T, or at least so much, and say whether that was news.

        A support may be listed again, with a vector that is worth more than the one it was met with.
        """
        v = climbed_within(self.data, v)
        features: IntArray = np.flatnonzero(v)
        mask = _mask(features)
        try:
            value = self.data.value_at_least(features, v[features])
        except Refused:
            return False
        known = [one.value for one, other in zip(self.supports, self._masks, strict=True) if other == mask]
        most = max([self.T if least is None else least, *((1.0 + 0.5 * self.slack) * own for own in known)])
        if not value > most:
            return False
        self._masks.append(mask)
        self.supports.append(Support(features, v[features], value, (1.0 + self.slack) * value))
        return True

    def level(self, highest: float) -> Level | None:
        """Return the proof that the list is complete at a threshold of at most so much; None if the kernel refuses."""
        for share in _RAISED:
            T = self.T * (1.0 + share)
            level = Level(max(self.data.k, 1), T, T, np.union1d(*whole(self.data)[:2]).astype(np.intp), (*self._tree,))
            if highest < T:
                break
            try:
                check_list(self.data, level, self.supports)
            except Refused:
                continue
            return level
        return None

    def _covering(self, part: _Part) -> int | None:
        """Return a support on the list of which all choices of a node are part."""
        reach = _mask(part.included) | _mask(part.free)
        if self.data.has_costs:
            return self._masks.index(reach) if len(part.free) == 0 and reach in self._masks else None
        return next((number for number, mask in enumerate(self._masks) if reach & ~mask == 0), None)

    def _inside(self, part: _Part) -> int | None:
        """Return the best support on the list that all choices of a node contain, if it raises the threshold."""
        all_of = _mask(part.included)
        inside = [number for number, mask in enumerate(self._masks) if mask & ~all_of == 0]
        best = max(inside, key=lambda number: self.supports[number].value, default=None)
        return best if best is not None and self.supports[best].beyond > part.T else None

    def _decide(self, part: _Part) -> None:
        """Close a node by a search of its own, or list what is above its threshold and look again, or branch."""
        node = part.included, part.free, part.places
        starts = [self._vector(number) for number in range(max(len(self.supports) - _NEAR, 0), len(self.supports))]
        v = best_in(self.data, node, np.array(starts).reshape(-1, len(self.data.A)), self.settings)
        if v.any() and value_of(self.data, v) > part.T:
            self._meet(part, v)
            return
        search = Search(self.data, v, part.T, self.settings, self.check, node)
        try:
            closed = search.run()
        except Better as better:
            self.nodes += search.nodes
            self._meet(part, better.v)
            return
        self.nodes += search.nodes
        if closed:
            self.open.pop()
            self._tree += search.proof()
        elif len(part.free):
            self._branch(part, int(part.free[0]))
        elif not self.add(_on(self.data, part.included), part.T * (1.0 - _ON_THRESHOLD)):
            self.open.pop()
            self.stuck = True

    def _vector(self, number: int) -> FloatArray:
        v: FloatArray = np.zeros(len(self.data.A))
        v[self.supports[number].features] = self.supports[number].weights
        return v

    def _meet(self, part: _Part, v: FloatArray) -> None:
        """List the support of a vector above the threshold of a node, unless it is part of another; or branch on it."""
        v = climbed_within(self.data, v)
        features: IntArray = np.flatnonzero(v)
        mask = _mask(features)
        new = self.data.has_costs or not any(mask & ~other == 0 for other in self._masks)
        undecided = np.intersect1d(features, part.free)
        if (new or len(undecided) == 0) and self.add(v):
            return
        if len(undecided) == 0 and len(part.free) == 0:
            self.open.pop()
            self.stuck = True
            return
        at = undecided if len(undecided) else part.free
        self._branch(part, int(at[int(np.argmax(np.abs(v[at])))]))

    def _branch(self, part: _Part, feature: int) -> None:
        self._tree.append(Feature(feature))
        self.open.pop()
        below = children(part.included, part.free, part.places, feature)
        self.open += [_Part(*node, part.T) for node in below]


def _mask(features: IntArray) -> int:
    """Return a set of features as the bits of a number."""
    return sum(1 << int(j) for j in features)


def _on(data: Data, features: IntArray) -> FloatArray:
    """Return the leading eigenvector on some features."""
    v: FloatArray = np.zeros(len(data.A))
    v[features] = np.linalg.eigh(data.A[np.ix_(features, features)])[1][:, -1]
    return v
