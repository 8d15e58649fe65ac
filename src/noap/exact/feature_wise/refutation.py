"""Depth-first refutation: show that no pair (u, S) is worth more than a target, or find one that is."""

import math
from dataclasses import dataclass

import numpy as np

from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.kernels import node as kernels
from noap.exact.feature_wise.kernels.semidefinite import MOST, semidefinite
from noap.exact.feature_wise.kernels.worth import chord
from noap.exact.feature_wise.node import Node
from noap.exact.feature_wise.record import GramRecord
from noap.linalg.types import FloatArray
from noap.proofs.feature_wise import AGAIN, INTERVAL, ON, SIGN, SPLIT

__all__ = ["HIGH", "LOW", "PLAIN", "THOROUGH", "Manner", "Refutation", "Workspace"]

# A ceiling that is nearer to the entry rho_j + sqrt(cost_j) than this, relatively, gets no threshold.
_NARROW = 0.15
# The number of the test of the chords, among those of the kernels.
_CHORDS = 0
# What the semidefinite test costs where the dominance test costs 1, and what more with each feature: some 15 steps of
# one eigendecomposition each.
_STRONG_PRICE, _STRONG_PRICE_EACH = 40.0, 0.4


@dataclass(frozen=True)
class Manner:
    """How a refutation branches and tests.

    Attributes
    ----------
    cut : float
        Where the threshold m goes between the feature's entry (0) and the ceiling (1); 0 for plain branching.
    strong : bool
        Whether nodes that dominance leaves open take the semidefinite test, which is far stronger and far dearer.
    """

    cut: float = 0.0
    strong: bool = False

    def price(self, m: int, p: int) -> float:
        """Return what a node with m free features and p places costs, in entries of the dominance test."""
        strong = self.strong and m <= MOST and p >= 3
        return m**2 * (_STRONG_PRICE + _STRONG_PRICE_EACH * m if strong else 1.0)


# Measured on strong/weak, noise and real data: a low cut is nearly always better, a high one by far where many features
# reach close to their ceilings together.
PLAIN, LOW, HIGH, THOROUGH = Manner(), Manner(cut=0.4), Manner(cut=0.9), Manner(strong=True)


class Refutation:
    """A search that can be paused: it is done when its stack is empty.

    The target is (1 + gap) times the incumbent's value; it rises when a better vector turns up, and what was closed
    below the old target stays closed.

    A feature is branched on in one of two ways. Plainly: it lies in S or it does not. By a threshold m > rho: it lies
    in S with s_j >= m, or it may lie in S with s_j <= m. Plain branching is best where few features carry a strong
    signal; thresholds are far better where many features reach just above rho.

    `work` counts the entries of the Schur complements it took: turns are measured in it too, so that they are the same
    on every machine, and short on large problems. `record` keeps the tree, if it is wanted as a proof.
    """

    def __init__(
        self,
        instance: GramInstance,
        incumbent: Incumbent,
        gap: float,
        workspace: "Workspace",
        manner: Manner,
        record: GramRecord | None,
    ) -> None:
        self.instance = instance
        self.incumbent = incumbent
        self.gap = gap
        self.workspace = workspace
        self.manner = manner
        self.record = record
        self.stack = [Node.root(instance.norms)]
        self.work = 0.0
        self.stuck = False

    @property
    def target(self) -> float:
        """What every pair is shown not to exceed."""
        return self.incumbent.target(self.gap)

    @property
    def done(self) -> bool:
        """Whether every pair is shown not to exceed the target."""
        return not self.stack and not self.stuck

    @property
    def features_left(self) -> int:
        """How many features the open nodes still consider."""
        return max((len(node.inc) + len(node.free) for node in self.stack), default=0)

    @property
    def bytes(self) -> int:
        """Memory of the open nodes, and of the record."""
        recorded = self.record.bytes if self.record is not None else 0
        return recorded + sum(32 * len(node.inc) + 16 * len(node.free) + 500 for node in self.stack)

    def advance(self) -> int:
        """Examine the node on top of the stack and replace it by its children; return how many nodes were looked at."""
        node = self.stack.pop()
        self.work += self.manner.price(len(node.free), self.instance.k - len(node.inc))
        work, instance = self.workspace, self.instance
        before, target = (self.incumbent.value, self.incumbent.v), self.target
        if self.record is not None:
            self.record.visit(node.place, target)
        if self.manner.cut == 0 and instance.largest_budget > 0:
            work.scalings.fill(1.0)
        strong = self.manner.strong and instance.largest_budget == 0
        action, argument, n_free, distance, nodes, test, nu, n_leaves = kernels.examine(
            work.data, target, self.incumbent.g, self.incumbent.spread,
            kernels.Pairs(node.inc, node.sign, node.lo, node.hi, node.free, node.ceil),
            work.arrays(len(node.free)), work.leaves, strong,
        )  # fmt: skip
        if action == kernels.SEMIDEFINITE:
            action, argument, test = self._semidefinite(node, n_free)
        improved = distance > 0 and distance**2 > self.incumbent.value and self.incumbent.offer(work.best_v)
        if action == kernels.DONE and argument == kernels.AGAIN:
            if improved:
                # A better vector was found here: examine what is left of the node under the new target.
                rest = node.narrowed(n_free)
                if self.record is not None:
                    rest.place = self.record.branch(node.place, AGAIN, 0, 0.0, 1)
                self.stack.append(rest)
            else:
                self.stuck = True  # better by no more than rounding: the target cannot be proved
            return int(nodes)
        if self.record is not None:
            self._note(node, test, nu, before)
        if action == kernels.DONE and n_leaves == 0:
            return int(nodes)
        children = [] if action == kernels.DONE else self._children(node.narrowed(n_free), action, argument)
        if self.record is not None:
            self._note_children(node, action, argument, children, n_leaves, before)
        self.stack += children
        return int(nodes)

    def _semidefinite(self, node: Node, n_free: int) -> tuple[int, int, int]:
        """Take the semidefinite test, which dominance left open; returns what to do, as the kernels do."""
        work, weight = self.workspace, np.empty(n_free)
        if semidefinite(work.S(n_free), n_free, self.instance.k - len(node.inc), weight):
            return kernels.DONE, -1, _CHORDS
        kernels.rank(node.free, node.ceil, n_free, int(np.argmax(weight)), work.scalings[_CHORDS])
        return kernels.BRANCH_FEATURE, 0, kernels.NO_TEST

    def _note(self, node: Node, test: int, nu: float, incumbent: tuple[float, FloatArray]) -> None:
        """Record which test closed a node, or dropped features from it."""
        assert self.record is not None
        if test == 0 and not self.instance.is_bent:
            own = node.inc, np.ones(len(node.inc))  # the chords of squares
        elif test == 0:
            rho, costs = self.instance.terms.rho[node.inc], self.instance.terms.cost[node.inc]
            chords = (chord(*ends) for ends in zip(node.lo, node.hi, rho, costs, strict=True))
            own = node.inc, np.array([math.sqrt(slope) for slope, _ in chords])
        else:
            support = self.workspace.v.nonzero()[0]
            own = support, self.workspace.v[support]
        self.record.test_at(node.place, test, nu, incumbent, own)

    def _note_children(
        self,
        node: Node,
        action: int,
        argument: int,
        children: list[Node],
        n_leaves: int,
        incumbent: tuple[float, FloatArray],
    ) -> None:
        """Record a branch, and give the children their places."""
        assert self.record is not None
        if action in (kernels.DONE, kernels.BRANCH_EACH):
            work = self.workspace
            closed = work.leaf_features[:n_leaves].tolist()
            first = self.record.list_each(node.place, closed + [int(child.inc[-1]) for child in children])
            for number, feature in enumerate(closed):
                leaf = (np.append(node.inc, feature), work.leaf_weights[number])
                test, nu = int(work.leaf_tests[number]), float(work.leaf_nus[number])
                self.record.test_at(first + number, test, nu, incumbent, leaf)
            for number, child in enumerate(children, start=len(closed)):
                child.place = first + number
            return
        if action == kernels.BRANCH_FEATURE:
            # In a proof, a branch on several features is a chain of branches on one, with no tightening between.
            place = node.place
            for child in children[:0:-1]:
                cut = float(child.lo[-1])
                # A threshold of 0: the feature lies in S, or it does not.
                cut = cut if cut > self.instance.terms.entry[child.inc[-1]] else 0.0
                kind = SPLIT if place == node.place else ON
                child.place = self.record.branch(place, kind, int(child.inc[-1]), cut, 2)
                place = child.place + 1
            children[0].place = place
            return
        kind, feature, cut = self._branched(node, action, argument, children)
        first = self.record.branch(node.place, kind, feature, cut, 2)
        # A proof has the child with the feature, the sign + and the lower interval first.
        ordered = children if action == kernels.BRANCH_INTERVAL else children[::-1]
        for number, child in enumerate(ordered):
            child.place = first + number

    def _branched(self, node: Node, action: int, argument: int, children: list[Node]) -> tuple[int, int, float]:
        """Return kind, feature and cut of a branch as a proof has them."""
        if action == kernels.BRANCH_SIGN:
            return SIGN, int(node.inc[argument]), 0.0
        return INTERVAL, int(node.inc[argument]), float(children[0].hi[argument]) if children else 0.0

    def _children(self, node: Node, action: int, argument: int) -> list[Node]:
        """Return the children, the most promising last: it is examined next."""
        entry, p = self.instance.terms.entry, self.instance.k - len(node.inc)
        if action == kernels.BRANCH_FEATURE:
            # One feature after the other, best first: it lies in S, or it does not and the next is looked at. What is
            # left after all of them takes twice as many next time.
            features = node.free[: node.ways] if node.ways > 1 and p >= 3 else node.free[argument : argument + 1]
            rest, children = node, []
            for feature in features:
                f = int((rest.free == feature).argmax())
                cut = self._threshold(rest, f)
                children.append(rest.include(f, cut))
                rest = rest.lowered(f, cut) if cut > entry[feature] else rest.exclude(f)
            rest.ways = min(2 * node.ways, kernels.WAYS) if self.manner.cut > 0 else 1
            return [rest, *reversed(children)]
        if action == kernels.BRANCH_EACH:
            return [node.include(f, float(entry[node.free[f]]), others=False) for f in range(len(node.free))]
        if action == kernels.BRANCH_SIGN:
            return [node.with_sign(argument, -1), node.with_sign(argument, 1)]
        lo, hi = float(node.lo[argument]), float(node.hi[argument])
        if hi - lo <= 1e-9 * hi:
            # Nothing left to split: rounding keeps this node open. It keeps the refutation from ever being done.
            self.stuck = True
            return []
        at = abs(float(self.workspace.g[node.inc[argument]]))
        cut = min(max(at, lo + 0.2 * (hi - lo)), hi - 0.2 * (hi - lo))
        return [node.with_interval(argument, lo, cut), node.with_interval(argument, cut, hi)]

    def _threshold(self, node: Node, f: int) -> float:
        """Return m for the branch on free feature number f; its entry means plain branching."""
        entry, ceil = float(self.instance.terms.entry[node.free[f]]), float(node.ceil[f])
        # Without budget or cost a lower ceiling leaves the feature's column as it is.
        if self.manner.cut == 0 or entry == 0 or ceil - entry <= _NARROW * entry:
            return entry
        return entry + self.manner.cut * (ceil - entry)


class Workspace:
    """Arrays the kernels write to, shared by all nodes."""

    def __init__(self, instance: GramInstance) -> None:
        m = len(instance.norms)
        self.v, self.best_v, self.g = np.zeros(m), np.zeros(m), np.zeros(m)
        self.leaf_features, self.leaf_tests = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        self.leaf_nus, self.leaf_weights = np.zeros(m), np.zeros((m, instance.k))
        self.W = np.empty((instance.k, m))
        self.fails = np.zeros(m, dtype=bool)
        # Scalings of the dominance test, one row for each test of the kernels: each node starts from the last one's.
        self.scalings = np.ones((5, m))
        self._S = np.empty((0, 0))
        self._arrays: kernels.Work | None = None
        # Each array that Python hands over costs a kernel as much as some hundred operations: these are one.
        terms = np.array(instance.terms[:4])
        self.data = kernels.Data(
            instance.A, terms, instance.largest_budget, instance.k, instance.scale, instance.below, instance.is_bent,
            0.0 if instance.is_even else 1.0,
        )  # fmt: skip
        self.leaves = kernels.Leaves(self.leaf_features, self.leaf_tests, self.leaf_nus, self.leaf_weights)

    @property
    def bytes(self) -> int:
        """Memory of the work space."""
        return self._S.nbytes + self.W.nbytes + self.leaf_weights.nbytes

    def arrays(self, size: int) -> kernels.Work:
        """Return what a node with so many free features is examined with."""
        if self._arrays is None or len(self._S) < size:
            S = self.S(size)
            self._arrays = kernels.Work(self.v, self.best_v, self.g, S, self.W, self.fails, self.scalings)
        return self._arrays

    def S(self, size: int) -> np.ndarray:  # noqa: N802 - the Schur complement's name
        """Return a square array of at least this size; grown when a node needs more."""
        if len(self._S) < size:
            self._S = np.empty((size, size))
        return self._S
