"""Every support that is worth more than a threshold: the search of a refutation, which lists what it cannot close."""

import numpy as np

from noap.exact.feature_wise.found import Found
from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.kernels import node as kernels
from noap.exact.feature_wise.node import Node
from noap.exact.feature_wise.record import GramRecord
from noap.exact.feature_wise.refutation import PLAIN, Refutation, Workspace
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.feature_wise import AGAIN, SPLIT

__all__ = ["Listing"]

# A bound on the optimum is asked for to the first gap, and to ten times that whenever it has cost so many nodes and so
# many times those of the rest: the list does not depend on it.
_GAP, _NODES_FOR_BOUND, _SHARE_FOR_BOUND = 1e-6, 256, 1.0
# What rounding keeps open at the threshold counts as worth it if it is, to this share.
_ON_THRESHOLD = 1e-7


class Listing(Refutation):
    r"""A search through all pairs (u, S) that are worth more than T, which can be paused.

    A node is closed as in a refutation, at a target of its own: T; or what a support on the list is worth that every S
    of the node has in it; or a bound on the optimum, where every S of the node is part of a support on the list. A node
    in which a vector worth more than that is found cannot be closed: the vector's features go on the list, and the node
    is branched on one of them, or looked at again where its target has risen. When the stack is empty, no support is
    worth more than T that owes it to other features than those of one support on the list (docs/exact.md).

    Attributes
    ----------
    found : Found
        The list so far, as positions among the kept features.
    gap : float
        The optimum is shown not to exceed the incumbent's value by more than this share.
    """

    record: GramRecord

    def __init__(self, instance: GramInstance, incumbent: Incumbent, T: float) -> None:
        super().__init__(instance, incumbent, _GAP, Workspace(instance), PLAIN, GramRecord())
        self.T = T
        self.found = Found(instance)
        self.nodes, self.nodes_for_bound = 0, 0
        self._add(np.flatnonzero(incumbent.v), incumbent.v)

    @property
    def bound(self) -> float:
        """What no pair exceeds, listed or not, once the search is done."""
        return max(self.incumbent.target(self.gap), self.T)

    def advance(self) -> int:
        """Examine the node on top of the stack and replace it by its children; return how many nodes were looked at."""
        node = self.stack.pop()
        target, for_bound = self._target(node)
        self.work += self.manner.price(len(node.free), self.instance.k - len(node.inc))
        self.record.visit(node.place, target)
        work, before = self.workspace, (self.incumbent.value, self.incumbent.v)
        if self.instance.largest_budget > 0:
            work.scalings.fill(1.0)
        action, argument, n_free, _, nodes, test, nu, n_leaves = kernels.examine(
            work.data, target, self.incumbent.g, self.incumbent.spread,
            kernels.Pairs(node.inc, node.sign, node.lo, node.hi, node.free, node.ceil),
            work.arrays(len(node.free)), work.leaves, False,
        )  # fmt: skip
        self._count(int(nodes), for_bound)
        rest = node.narrowed(n_free)
        if action == kernels.DONE and argument == kernels.AGAIN:
            self._meet(rest, target)
            return int(nodes)
        self._note(node, test, nu, before)
        if action == kernels.DONE and n_leaves == 0:
            return int(nodes)
        children = [] if action == kernels.DONE else self._children(rest, action, argument)
        if action == kernels.BRANCH_INTERVAL and not children:
            self._go_around(rest, target)
            return int(nodes)
        self._note_children(node, action, argument, children, n_leaves, before)
        self.stack += children
        return int(nodes)

    def _count(self, nodes: int, for_bound: bool) -> None:
        """Ask for a coarser bound where the one that is asked for costs more than the list."""
        self.nodes += nodes
        if not for_bound:
            return
        self.nodes_for_bound += nodes
        if self.nodes_for_bound > _NODES_FOR_BOUND + _SHARE_FOR_BOUND * (self.nodes - self.nodes_for_bound):
            self.gap, self.nodes_for_bound = 10.0 * self.gap, 0

    def _decided(self, node: Node) -> bool:
        return len(node.inc) == self.instance.k or len(node.free) == 0

    def _target(self, node: Node) -> tuple[float, bool]:
        """Return what the pairs of a node are to be shown not to exceed, and whether that is the bound on them all."""
        reach = node.inc if self._decided(node) else np.append(node.inc, node.free)
        # With costs a part of a support on the list may be worth more than it is: only S itself is as good as listed.
        if (self._decided(node) or not self.instance.has_costs) and self.found.has(reach, self.instance.has_costs):
            return self.bound, True
        return max(self.T, self.found.most_within(node.inc)), False

    def _meet(self, node: Node, target: float) -> None:
        """List the vector that was met in a node, and look at the node again or branch on a feature of the vector."""
        v = self.workspace.v
        self._add(np.union1d(node.inc, np.flatnonzero(v)), v)
        if not self._raised(node, target):
            self._branch(node)

    def _go_around(self, node: Node, target: float) -> None:
        """Take a node that rounding keeps open, its intervals as narrow as they get, by its supports one by one."""
        self.stuck = False
        if not self._decided(node):
            self._branch(node)
            return
        self._add(node.inc, self.workspace.v, _ON_THRESHOLD)
        if not self._raised(node, target):
            self.stuck = True

    def _raised(self, node: Node, target: float) -> bool:
        """Whether the target of a node is higher than it was; it is then looked at again, as it is now."""
        if not self._target(node)[0] > target:
            return False
        node.place = self.record.branch(node.place, AGAIN, 0, 0.0, 1)
        self.stack.append(node)
        return True

    def _branch(self, node: Node) -> None:
        """Branch on the feature that the vector leans on most; if it uses none of the free, on that which pulls most.

        Where nothing is left to decide, rounding keeps the node open for good.
        """
        if self._decided(node):
            self.stuck = True
            return
        weights = np.abs(self.workspace.v[node.free])
        if not weights.any():
            weights = np.abs(self.workspace.g[node.free])
        f = int(np.argmax(weights))
        feature = int(node.free[f])
        with_it, without = node.include(f, float(self.instance.terms.entry[feature])), node.exclude(f)
        with_it.place = self.record.branch(node.place, SPLIT, feature, 0.0, 2)
        without.place = with_it.place + 1
        self.stack += [without, with_it]

    def _add(self, support: IntArray, v: FloatArray, short: float = 0.0) -> None:
        """List the features of the best direction on a support, if it is worth the threshold, less that share of it."""
        best = self.found.best_on(support, v)
        least = self.T - short * (self.T - self.instance.offset)
        if best is not None and best.worth >= least:
            self.found.add(best)
            if best.worth > self.incumbent.value:
                self.incumbent.offer(best.v)
