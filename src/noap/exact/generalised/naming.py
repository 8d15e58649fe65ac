"""Every support with a direction worth more than a threshold, whether that uses all of it or not, by its name.

The list of `exact/feature_wise/listing.py` is shorter: it leaves out what owes its worth to a smaller support.
"""

import numpy as np

from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.kernels import node as kernels
from noap.exact.feature_wise.node import Node
from noap.exact.feature_wise.record import GramRecord
from noap.exact.feature_wise.refutation import PLAIN, Refutation, Workspace
from noap.linalg.types import FloatArray
from noap.proofs.feature_wise import SPLIT

__all__ = ["Naming"]


class Naming(Refutation):
    r"""A search through all pairs (u, S) that are worth more than T, which can be paused.

    A node is closed as in a refutation. One in which a vector worth more than T is found cannot be closed: it is
    branched on a feature of that vector, until nothing is left to decide about S, and S is noted. So when the stack is
    empty, every S whose best direction uses all of it, and is worth more than T, is among `supports`; others may be,
    too. The refutation's proof covers the rest: what a node drops or closes is worth T at most.

    Attributes
    ----------
    supports : dict of tuples of int to vectors
        What is noted so far, as positions among the kept features, each in rising order, with a vector on it that is
        worth more than T. None stands where the node stayed open and no such vector was met.
    record : GramRecord
        The tree, in which a leaf is closed at T or is one of the supports.
    """

    record: GramRecord

    def __init__(self, instance: GramInstance, incumbent: Incumbent, T: float) -> None:
        super().__init__(instance, incumbent, 0.0, Workspace(instance), PLAIN, GramRecord())
        self.T = T
        self.supports: dict[tuple[int, ...], FloatArray | None] = {}

    @property
    def target(self) -> float:
        """What every pair that is not listed is shown not to exceed."""
        return self.T

    def advance(self) -> int:
        """Examine the node on top of the stack and replace it by its children; return how many nodes were looked at."""
        node = self.stack.pop()
        decided = len(node.inc) == self.instance.k or len(node.free) == 0
        self.record.visit(node.place, self.T)
        if decided and self._name(node) in self.supports:
            return 1
        self.work += self.manner.price(len(node.free), self.instance.k - len(node.inc))
        work = self.workspace
        if self.instance.largest_budget > 0:
            work.scalings.fill(1.0)
        before = (self.incumbent.value, self.incumbent.v)
        action, argument, n_free, _, nodes, test, nu, n_leaves = kernels.examine(
            work.data, self.T, self.incumbent.g, self.incumbent.spread,
            kernels.Pairs(node.inc, node.sign, node.lo, node.hi, node.free, node.ceil),
            work.arrays(len(node.free)), work.leaves, False,
        )  # fmt: skip
        rest = node.narrowed(n_free)
        if action == kernels.DONE and argument == kernels.AGAIN:
            self.stack += self._around(rest, work.v)
            return int(nodes)
        self._note(node, test, nu, before)
        if action == kernels.DONE and n_leaves == 0:
            return int(nodes)
        if action in (kernels.BRANCH_SIGN, kernels.BRANCH_INTERVAL):
            # Where no vector worth more was met but the test does not close: to look at the features of S one by one
            # decides at once what ever narrower intervals of u would decide.
            self.stack += self._around(rest, None)
            return int(nodes)
        children = [] if action == kernels.DONE else self._children(rest, action, argument)
        self._note_children(node, action, argument, children, n_leaves, before)
        self.stack += children
        return int(nodes)

    def _around(self, node: Node, met: FloatArray | None) -> list[Node]:
        """Branch on a feature of the vector that was met, or note the support if it is decided."""
        if len(node.inc) == self.instance.k or len(node.free) == 0:
            self.supports[self._name(node)] = None if met is None else met.copy()
            return []
        # On the feature that the vector leans on most; if it uses none of the free ones, on the one that pulls most.
        weights = np.abs(self.workspace.v[node.free])
        if not weights.any():
            weights = np.abs(self.workspace.g[node.free])
        f = int(np.argmax(weights))
        feature = int(node.free[f])
        with_it, without = node.include(f, float(self.instance.terms.entry[feature])), node.exclude(f)
        with_it.place = self.record.branch(node.place, SPLIT, feature, 0.0, 2)
        without.place = with_it.place + 1
        return [without, with_it]

    @staticmethod
    def _name(node: Node) -> tuple[int, ...]:
        return tuple(sorted(node.inc.tolist()))
