"""The search: cheap nodes depth first, then the relaxation best first; the kernel checks what comes out of it.

root -> cheap subtree, if it closes within its budget
     -> lines above the variance; while a node is open: branch on the feature whose share is most undecided,
        try each child cheaply, then with lines of its own
"""

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np

from noap.kernel.arithmetic import Refused
from noap.kernel.data import Data
from noap.kernel.majorant import eliminate
from noap.kernel.samples import SampleData
from noap.kernel.tree import Checked, Graph, check_levels, check_tree
from noap.kernel.witness import LENGTHS, Feature, Level, Matrix, Node, Sign
from noap.linalg.types import FloatArray, IntArray
from noap.search.ascent import climbed, deflations, value_of
from noap.search.cheap import Better, CheapTree, Hole, Outlook, children
from noap.search.lines import KnownLine
from noap.search.matrix import definite_line
from noap.search.relaxed import Relaxation, RelaxedNode
from noap.settings import Settings

__all__ = ["ByLevels", "Found", "Search", "Stop", "smaller_bound", "whole"]

# Returns a bound and the levels that prove it, or None.
ByLevels: TypeAlias = Callable[[], "tuple[float, tuple[Level, ...]] | None"]

# What is left of a threshold must be more than this for lines to prove it.
_NOTHING = 1e-190
# A leaf that is refused at a bound so much higher, relatively, is refused at any.
_HOPELESS = 1e-2


class Stop(Exception):
    """A limit was reached; what is open stays open."""


@dataclass(frozen=True, eq=False)
class Found:
    """A proved bound.

    Attributes
    ----------
    bound : float
        In the units of the data.
    levels : tuple of Level
    nodes : int
    """

    bound: float
    levels: tuple[Level, ...]
    nodes: int


@dataclass(eq=False)
class _Knot:
    """A node of the tree that is kept: closed by a subtree, branched on, or open with the lines known of it."""

    relaxed: RelaxedNode | None
    by_lengths: float = np.inf
    proof: "list[Node | _Knot] | None" = None
    branch: Feature | Sign | None = None
    kids: list["_Knot"] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Whether neither a subtree nor its children prove the target."""
        return self.proof is None and self.branch is None

    @property
    def bound(self) -> float:
        """What is known of it while it is open."""
        return min(self._by_lines, self.by_lengths)

    @property
    def open_leaf(self) -> Node:
        """The rule that proves this bound."""
        return LENGTHS if self.relaxed is None or self.by_lengths <= self._by_lines else self.relaxed.witness

    @property
    def _by_lines(self) -> float:
        # Lines prove nothing where nothing is left of the threshold.
        if self.relaxed is None:
            return np.inf
        return max(self.relaxed.bound, 2.0 * _NOTHING - self.relaxed.choices.paid)


def whole(data: Data) -> tuple[IntArray, IntArray, int]:
    """Return the root of a tree: demanded features, those that can count, and how many of them."""
    used = data.allowed & (data.most > 0) if data.definite else data.allowed
    if data.constrained:  # a feature of any length may be needed
        used = data.allowed & ~data.needless
    F = np.setdiff1d(np.flatnonzero(used), data.include).astype(np.intp)
    return data.include, F, data.k - len(data.include)


class Search:
    """A proof that no choice has a value above a target, or the smallest bound at hand when it is stopped.

    Parameters
    ----------
    data : Data
    v : array of shape (d,)
        A good unit vector, to respond to.
    target : float
        In the units of the data.
    settings : Settings
    check : callable
        Raises Stop when a limit is reached; asked at every node.
    node : (I, F, p), optional
        What it is about instead of all choices.
    graph : Graph, optional
        Of a small claim: what its features demand of each other.
    dense : bool
        Whether lines have all entries, however many features there are.
    """

    def __init__(
        self,
        data: Data,
        v: FloatArray,
        target: float,
        settings: Settings,
        check: Callable[[], None] = lambda: None,
        node: "tuple[IntArray, IntArray, int] | None" = None,
        graph: Graph | None = None,
        dense: bool = False,
    ) -> None:
        self.data, self.target, self.settings, self.check, self.graph = data, target, settings, check, graph
        I, F, p = whole(data) if node is None else node  # noqa: E741
        self.features: IntArray = np.union1d(I, F).astype(np.intp)
        self._v, self._dense, self.rest = v, dense, cast("Search | None", None)
        self._node = I, F if p > 0 else F[:0], min(p, len(F))
        self.cheap = CheapTree(data, target, settings, check, graph, len(self.features))
        self.cheap.respond_to(v)
        self.checked = Checked(data, graph)
        # Lengths say nothing where A is not definite.
        self.root = _Knot(None, data.sum_of_most(*self._node) if data.definite else np.inf)
        self.relaxed_nodes, self._held = 0, 0
        self.levels: tuple[float, tuple[Level, ...]] | None = None
        self._open: list[tuple[float, int, _Knot]] = []
        self._relaxation_where_decided: Relaxation | None = None
        self._numbers = itertools.count()

    @property
    def by_lengths(self) -> float:
        """What lengths alone prove of the root."""
        return self.root.by_lengths

    @property
    def nodes(self) -> int:
        """Nodes looked at so far, of both kinds."""
        return self.cheap.nodes + self.relaxed_nodes + (0 if self.rest is None else self.rest.nodes)

    @property
    def bytes(self) -> int:
        """About what open nodes hold."""
        return self._held + (0 if self.rest is None else self.rest.bytes)

    @property
    def bound(self) -> float:
        """The bound so far, in floating point; infinite where nothing is known yet."""
        if self.rest is not None:
            return self.rest.bound
        if self.root.is_open:
            return max(self.target, self.root.bound)
        return max([self.target, *(-entry[0] for entry in self._open[:1])])

    def run(self, cheap_only: bool = False, by_levels: ByLevels | None = None) -> bool:
        """Search until the target is proved; False where it cannot be. Raises Stop when a limit is reached.

        Parameters
        ----------
        cheap_only : bool
            Whether to leave the relaxation out.
        by_levels : callable, optional
            Asked, after the first nodes, for levels that prove the target, with their bound.
        """
        I, F, p = self._node  # noqa: E741
        if len(I) + len(F) == 0 or self.root.by_lengths <= self.target:
            self.root.proof = [LENGTHS]
            return True
        settings, w = self.settings, self.data.w[self.features]
        budget, holes = settings.cheap_nodes, 0
        if self.data.r_max == 0:
            budget = settings.cheap_nodes_fringe if self.cheap.has_fringe else settings.cheap_nodes_vanilla
        elif self.data.metric is not None and self.data.constrained:
            budget, holes = settings.cheap_nodes_in_metric, settings.holes
        elif w.min() < settings.alike * w.max():
            budget, holes = settings.cheap_nodes_unequal, settings.holes
        # Counted in work: what a node of so many features takes, all of its rows or those of a pool.
        part = min(settings.cheap_features / len(self.features), 1.0) ** (1 if self.cheap.has_fringe else 2)
        budget = max(int(budget * part), settings.least_nodes)
        if by_levels is not None:
            if self._closed_cheaply(min(budget, settings.first_nodes), 0) is not None:
                return True
            self.levels = by_levels()
            if self.levels is not None:
                return True
        subtree = self._closed_cheaply(budget, holes)
        if self.root.proof is not None:
            return True
        relaxation = None if cheap_only else self._relaxation()
        if relaxation is None or not (relaxation.has_core or len(self.features) <= settings.relaxed_features):
            return False
        if len(self.data.directions):
            self._relaxation_where_decided = self._relaxation(decided=True)
        self.relaxed_nodes += 1
        self.root.relaxed = self.root.relaxed or self._relaxed_root()
        self._push(self.root)
        if self._lines(relaxation, self.root.relaxed, thorough=True):
            self._open, self.root.proof = [], [self.root.relaxed.witness]
            return True
        self._open[0] = (-self.root.relaxed.bound, 0, self.root)
        if self.root.relaxed.core is not None:
            return self._go_on_without(relaxation)
        if subtree is not None:
            self._open_holes(relaxation, subtree)
        if self.data.costs.any() and self._closed_cheaply(settings.cheap_nodes_with_costs, 0) is not None:
            self._open.clear()
            return True
        depth_first = self.settings.depth_first or (self.data.r_max == 0 and not self.data.costs.any())
        if depth_first and not self._depth_first(relaxation, I, F, p):
            return False
        while self._open:
            self.check()
            knot = self._open[0][2]
            assert knot.relaxed is not None
            kids = self._children(self._relaxation_of(knot.relaxed, relaxation), knot.relaxed)
            if kids is None:
                return False
            for kid in kids[1]:
                self._close(relaxation, kid)
            heapq.heappop(self._open)
            # In this order: whatever interrupts, no leaf is forgotten.
            knot.kids, knot.branch = kids[1], kids[0]
            self._held -= _bytes(knot.relaxed)
            knot.relaxed.state = None
            for kid in (one for one in knot.kids if one.proof is None):
                self._push(kid)
        return True

    def _go_on_without(self, relaxation: Relaxation) -> bool:
        """Leave out what the lines of the root say is in no choice above the target, and search on."""
        root, (I, F, p) = self.root.relaxed, self._node  # noqa: E741
        assert root is not None
        needless = self.features[relaxation.needless(root, self.target)]
        left = np.setdiff1d(F, needless)
        if len(left) > self.settings.relaxed_features:
            return False
        data, settings, node = self.data, self.settings, (I, left, p)
        self.rest = Search(data, self._v, self.target, settings, self.check, node, self.graph, dense=True)
        at = np.searchsorted(self.features, self.rest.features)
        self.rest.root.relaxed = self.rest._relaxed_root([line.among(at) for line in root.lines])
        chain: list[Node | _Knot] = []
        for j in needless.tolist():
            chain += [Feature(j), root.witness]
        self.root.proof = [*chain, self.rest.root]
        self._open.clear()
        return self.rest.run()

    def _relaxed_root(self, known: Sequence[KnownLine] = ()) -> RelaxedNode:
        return self._relaxation().node(*self._places(*self._node), known)

    def _closed_cheaply(self, budget: int, holes: int) -> "list[Node | Hole] | None":
        """Return the subtree that closes the root by majorants and dominance, perhaps with holes; None if none does."""
        subtree = self.cheap.close(*self._node, budget, holes)
        if subtree is not None and not any(isinstance(node, Hole) for node in subtree):
            self.root.proof = _closed(subtree)
        return subtree

    def relax(self) -> bool:
        """Bound the root by lines, without branching; return whether that proves the target."""
        I, F, _ = self._node  # noqa: E741
        if len(I) + len(F) == 0 or self.root.by_lengths <= self.target:
            self.root.proof = [LENGTHS]
            return True
        relaxation = self._relaxation()
        self.relaxed_nodes += 1
        self.root.relaxed = self._relaxed_root()
        self._push(self.root)
        if self._lines(relaxation, self.root.relaxed, thorough=True, alone=True):
            self._open.clear()
            self.root.proof = [self.root.relaxed.witness]
        return not self.root.is_open

    def _open_holes(self, relaxation: Relaxation, subtree: list[Node | Hole]) -> None:
        """Keep a subtree that majorants close but for some nodes; these are open now instead of the root."""
        root, proof = self.root.relaxed, list[Node | _Knot]()
        assert root is not None
        knots = []
        for node in subtree:
            if isinstance(node, Hole):
                places = self._places(node.included, node.free, node.places)
                knots.append(_Knot(relaxation.child(root, *places), self.root.by_lengths))
                proof.append(knots[-1])
            else:
                proof.append(node)
        for knot in knots:
            self._close(relaxation, knot)
        self.root.proof = proof
        self._open.clear()
        for knot in knots:
            if knot.proof is None:
                self._push(knot)

    def _depth_first(self, relaxation: Relaxation, I: IntArray, F: IntArray, p: int) -> bool:  # noqa: E741
        """Close the root by dominance, and by the matrix rule on the Schur complement where that fails.

        An open node has the lines of the root. Decided supports that no attack closes are left open.
        """
        stack, left = [(self.root, I, F, p)], list[_Knot]()
        self._open.clear()
        while stack:
            self.check()
            self._open = [(-self.root.bound, 0, self.root)]
            knot, I, F, p = stack.pop()  # noqa: E741
            outlook = Outlook()
            self.cheap.nodes += 1
            if self.graph is not None and self.graph.too_few(I, F, p):
                knot.proof = [LENGTHS]
                continue
            leaf = self.cheap.leaf(I, F, p, outlook)
            if leaf is None and p > 2 and outlook.ratio < 1e100:
                self.relaxed_nodes += 1
                ordered = np.sort(F)
                C = eliminate(self.checked.majorant(outlook.attack), self.target, I, ordered, p)
                line, carried = definite_line(C, p, ordered, self.settings.relaxation)
                leaf = None if line is None else Matrix(outlook.attack, line)
                outlook.feature = int(ordered[int(np.argmax(carried))])
            if leaf is not None:
                knot.proof = [leaf]
                continue
            if outlook.feature < 0:
                self._climb_from(I)
                if self.data.r_max == 0:
                    return False
                assert self.root.relaxed is not None
                knot.relaxed = relaxation.child(self.root.relaxed, *self._places(I, F, p))
                self._close(relaxation, knot)
                left += [] if knot.proof is not None else [knot]
                continue
            # In this order: whatever interrupts, no leaf is forgotten.
            knot.kids = [_Knot(self.root.relaxed, self.root.by_lengths) for _ in range(2)]
            knot.branch = Feature(outlook.feature)
            without, with_it = children(I, F, p, outlook.feature, self.graph)
            stack += [(knot.kids[1], *without), (knot.kids[0], *with_it)]
        self._open.clear()
        for knot in left:
            self._push(knot)
        return True

    def _climb_from(self, I: IntArray) -> None:  # noqa: E741
        """Raise Better if ascent from the included features alone, or the longest one, ends above the target."""
        start: FloatArray = np.zeros(len(self.data.A))
        if len(I):
            start[I] = np.linalg.eigh(self.data.A[np.ix_(I, I)])[1][:, -1]
        else:
            start[int(np.argmax(np.where(self.data.allowed, self.data.A.diagonal(), -np.inf)))] = 1.0
        if len(I) and len(self.data.directions):  # its support may be the best one, though none near it looked so
            start = climbed(self.data, start, self.settings.ascent_steps, (I, I[:0], 0))
        v = climbed(self.data, start, self.settings.ascent_steps, self._node)
        if v.any() and value_of(self.data, v) > self.target:
            raise Better(v)

    def proof(self) -> list[Node]:
        """Return the nodes of the tree in preorder, as they are now."""
        return [node for node, _ in self._assembled(self.root)]

    def _relaxation(self, decided: bool = False) -> Relaxation:
        data, at = self.data, self.features
        A, deflation = data.A[np.ix_(at, at)], None
        if len(data.directions):
            factor = self.settings.deflation_where_decided if decided else self.settings.deflation_of_lines
            deflation = factor * deflations(data)
            A = A - (data.directions[:, at].T * deflation) @ data.directions[:, at]
            A = 0.5 * (A + A.T)
        settings = self.settings.relaxation
        return Relaxation(
            A,
            data.r[at],
            data.costs[at],
            at,
            settings,
            largest=data.r_max,
            deflation=deflation,
            top=data.top,
            metric=data.metric,
            dense=self._dense,
        )

    def _places(self, I: IntArray, F: IntArray, p: int) -> tuple[IntArray, IntArray, int]:  # noqa: E741
        """Return a node by positions among the features that the tree works on."""
        return np.searchsorted(self.features, I), np.searchsorted(self.features, F), p

    def _push(self, knot: _Knot) -> None:
        assert knot.relaxed is not None
        self._held += _bytes(knot.relaxed)
        heapq.heappush(self._open, (-knot.relaxed.bound, next(self._numbers), knot))

    def _children(self, relaxation: Relaxation, node: RelaxedNode) -> tuple[Feature | Sign, list[_Knot]] | None:
        """Return what a node branches on, and its children; None where all is decided."""
        choices = node.choices
        if node.state is None:
            return None
        if len(choices.free):
            j = relaxation.undecided(node)
            rest = choices.free[choices.free != j]
            near = rest if self.graph is None else rest[self.graph.fit[self.features[j]][self.features[rest]]]
            kids = [
                relaxation.child(node, np.append(choices.included, j), near, choices.places - 1),
                relaxation.child(node, choices.included, rest, min(choices.places, len(rest))),
            ]
            return Feature(int(self.features[j])), [_Knot(self._decided(kid)) for kid in kids]
        unknown = choices.included[node.signs[choices.included] == 0]
        if len(unknown) == 0:
            return None
        W = node.state.W
        place = np.searchsorted(node.features, unknown)
        j = int(unknown[int(np.argmax(W.diagonal()[place]))])
        kids = []
        for sign in (1, -1) if node.signs.any() else (1,):
            signs = node.signs.copy()
            signs[j] = sign
            kids.append(relaxation.child(node, choices.included, choices.free, choices.places, signs))
        return Sign(int(self.features[j])), [_Knot(kid) for kid in kids]

    def _decided(self, node: RelaxedNode) -> RelaxedNode:
        """Return a node that has just been decided with larger multiples of the directions; any other as it is."""
        if self._relaxation_where_decided is None or len(node.choices.free) or not len(node.features):
            return node
        V = self.data.directions[:, self.features[node.features]]
        made = self._relaxation_where_decided.decided(node.choices.included, V)
        made.lines = [*node.lines, *made.lines]
        made.bound, made.t = min(node.bound, made.bound), made.t if made.bound < node.bound else node.t
        return made

    def _relaxation_of(self, node: RelaxedNode, otherwise: Relaxation) -> Relaxation:
        decided = len(node.choices.free) == 0
        return self._relaxation_where_decided or otherwise if decided else otherwise

    def _close(self, relaxation: Relaxation, kid: _Knot) -> None:
        node = kid.relaxed
        assert node is not None
        relaxation = self._relaxation_of(node, relaxation)
        self.relaxed_nodes += 1
        if node.bound <= self.target:
            kid.proof = [node.witness]
            return
        choices = node.choices
        if self.graph is not None and self.graph.too_few(choices.included, choices.free, choices.places):
            kid.proof = [LENGTHS]
            return
        if not node.signs.any():
            I, F = self.features[choices.included], self.features[choices.free]  # noqa: E741
            subtree = self.cheap.close(I, F, choices.places, self.settings.cheap_nodes_below)
            if subtree is not None:
                kid.proof = _closed(subtree)
                return
        decided = len(choices.free) == 0
        last = decided and bool(node.signs[choices.included].all())
        for _ in range(self.settings.last_rounds if last else 1):
            if self._lines(relaxation, node, thorough=decided):
                kid.proof = [node.witness]
                return

    def _lines(self, relaxation: Relaxation, node: RelaxedNode, thorough: bool, alone: bool = False) -> bool:
        def expired() -> bool:
            self.check()
            return False

        closed = relaxation.improve(node, self.target, thorough=thorough, alone=alone, expired=expired)
        if not closed and node.state is not None:
            self._round(node)
        return closed

    def _round(self, node: RelaxedNode) -> None:
        """Climb from the heaviest row of the relaxed vector; raises Better if that ends above the target."""
        assert node.state is not None
        W = node.state.W
        start: FloatArray = np.zeros(len(self.data.A))
        start[self.features[node.at]] = W[int(np.argmax(W.diagonal()))]
        v = climbed(self.data, start, self.settings.ascent_steps, self._node)
        if v.any() and value_of(self.data, v) > self.target:
            raise Better(v)

    def _assembled(self, knot: _Knot) -> Iterator[tuple[Node, _Knot]]:
        """Yield the nodes in preorder, each with the knot that it belongs to."""
        stack = [knot]
        while stack:
            knot = stack.pop()
            if knot.proof is not None:
                for node in knot.proof:
                    if isinstance(node, _Knot):
                        yield from self._assembled(node)
                    else:
                        yield node, knot
            elif knot.branch is not None:
                yield knot.branch, knot
                stack.extend(reversed(knot.kids))
            else:
                yield knot.open_leaf, knot

    def found(self) -> Found:
        """Return the smallest bound at hand that the kernel accepts; what it refuses counts as open."""
        if self.levels is not None:
            return Found(*self.levels, self.nodes)
        # Lengths say nothing where A is not definite, and little in a metric.
        if self.root.is_open and self.root.relaxed is None and not (self.data.definite and self.data.metric is None):
            self.root.relaxed = self._relaxed_root()
        step = 1e-12
        for _ in range(self.settings.kernel_attempts):
            nodes = list(self._assembled(self.root))
            bound = max([self.target, *(knot.bound for _, knot in nodes if knot.is_open)])
            if bound > self.target:
                bound += step * max(abs(bound), _NOTHING)
            level = self._level(bound, [node for node, _ in nodes])
            try:
                self._verify(level)
            except Refused as refusal:
                knot = None if refusal.node is None else nodes[refusal.node][1]
                if knot is None:
                    raise
                # What was closed is open after all, with its lines or by lengths; what was open rises.
                if knot.is_open:
                    step *= 32.0
                    if step > _HOPELESS and knot.relaxed is not None and self.root.by_lengths < np.inf:
                        # Lines whose own rounding is larger than what they are about: no bound makes them right.
                        # By lengths a node is not above the root.
                        knot.relaxed, knot.by_lengths, step = None, min(knot.by_lengths, self.root.by_lengths), 1e-12
                knot.proof = None
                continue
            return Found(bound, (level,), self.nodes)
        by_lengths = self._level(max(self.root.by_lengths, self.target), [LENGTHS])
        self._verify(by_lengths)
        return Found(by_lengths.bound, (by_lengths,), self.nodes)

    def _verify(self, level: Level) -> None:
        """Refuse what the kernel refuses: the whole proof, or that of a small claim."""
        if self.graph is None:
            check_levels(self.data, [level], self.checked)
        else:
            check_tree(self.checked, level, *self._node)

    def _level(self, bound: float, nodes: list[Node]) -> Level:
        return Level(max(self.data.k, 1), bound, self.target, self.features, tuple(nodes))

    def smaller(self, found: Found, value: float) -> Found:
        """Return the smallest of some bounds above a value that the same witnesses prove.

        Parameters
        ----------
        found : Found
            With a bound at the target.
        value : float
            What the best vector is certainly worth.
        """
        return smaller_bound(self.data, self.checked, self.settings, found, value)


def smaller_bound(data: Data | SampleData, checked: Checked, settings: Settings, found: Found, value: float) -> Found:
    """Return the smallest of some bounds above a value that the same witnesses prove."""
    level = found.levels[-1]
    if level.by_conflicts or len(found.levels) > 1:  # what they rest on was proved at thresholds of its own
        return found
    if len(level.nodes) * len(level.features) ** 2 > settings.smaller_work:
        return found
    parts: FloatArray = np.geomspace(1e-6, 1.0, max(settings.smaller_bounds, 0) + 1)[:-1]
    low, high, best = 0, len(parts), found
    while low < high:
        middle = (low + high) // 2
        bound = value + (level.bound - value) * float(parts[middle])
        try:
            smaller = Level(level.size, bound, bound, level.features, level.nodes)
            if not value < bound < level.bound:
                raise Refused("no number lies between")
            check_levels(data, [smaller], checked)
        except Refused:
            low = middle + 1
        else:
            high, best = middle, Found(bound, (smaller,), found.nodes)
    return best


def _bytes(node: RelaxedNode) -> int:
    """Return about what an open node holds."""
    lines = sum(one.witness.entries.nbytes for one in node.lines if one.witness.entries is not None)
    return lines + (0 if node.state is None else 4 * node.state.W.nbytes)


def _closed(subtree: list[Node | Hole]) -> list[Node | _Knot]:
    """Return a subtree without holes as a proof."""
    return [node for node in subtree if not isinstance(node, Hole)]
