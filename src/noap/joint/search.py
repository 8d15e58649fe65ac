"""Column generation with exact pricing, and branching on who owns a feature where the relaxation is not whole.

At every node: solve the linear program over the known supports, let ascent look for supports that are worth more than
their prices, and when it finds none let the exact search prove how much any can be worth: a bound for the node,
whatever the prices are. The whole is proved when no node's bound exceeds the value of the best packing by more than the
gap. Where that takes long, one inequality about all components together gives a bound as well, and tells which features
no better packing uses: they are removed.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from noap.joint.columns import Column, Columns
from noap.joint.master import WHOLE, Fractional, best_packing, fractional
from noap.joint.pricing import Record, charged, charges_for, climbed, priced
from noap.joint.slots import NOBODY, REMOVED, Group, Slots
from noap.joint.together import TogetherSearch
from noap.linalg.types import BoolArray, FloatArray
from noap.problem import Problem
from noap.result import Limit, rounding_allowance
from noap.runtime.controls import Controls
from noap.runtime.interrupts import interrupts_of_kernels
from noap.runtime.line import Part

__all__ = ["JointSearch", "Node"]

# Of the asked gap: by how much a support has to beat its price to count as new, and what pricing may leave at least.
_NEW, _LEFT = 0.05, 0.25
# Where the relaxation is not enough the first bound stands only until the tree is closed: it may be off by this share
# of what the relaxation lacks.
_COARSE = 0.1
# What is smaller than this, relative to the value, is rounding of the linear program.
_ROUNDING = 1e-9
# How much of the prices before is kept for the next call of ascent: new prices swing less.
_KEPT = 0.5
# The share of the time limit that goes to looking for columns before the first proof, and that one pricing may have of
# what is left.
_LOOKING, _PROVING = 0.3, 0.7
# Nodes of exact searches before all components are looked at together, and the share of the time left for that.
_PATIENCE, _TOGETHER = 1000, 0.5
# The integer program over known supports has one of so many parts of the time left, the impatient proof likewise.
_PACKING, _BRIEFLY = 20, 20


@dataclass(eq=False)
class Node:
    """A set of packings, what is proved of it, and its children once it has been branched on."""

    slots: Slots
    record: Record | None = None
    bound: float = math.inf
    solution: Fractional | None = None
    feature: int = NOBODY
    children: list["Node"] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many nodes there are from here on."""
        return 1 + sum(child.size for child in self.children)

    @property
    def estimate(self) -> float:
        """What the relaxation says, over the supports that were known."""
        return math.inf if self.solution is None else self.solution.value

    def leaves(self) -> "list[Node]":
        """Return the nodes without children below this one, in order."""
        return [leaf for child in self.children for leaf in child.leaves()] if self.children else [self]


class JointSearch:
    """The tree, the pool of supports and the best packing so far.

    Attributes
    ----------
    packing : list of Column
        Disjoint supports that fit the slots.
    value : float
        What they are worth together, by the covariance.
    pricings, nodes : int
        How many exact searches were run, and how many nodes they had.
    together : TogetherSearch or None
        What was proved of all components together, once that was looked for.
    removed : array of shape (d,)
        Features that no better packing uses.
    """

    def __init__(self, problem: Problem, ks: tuple[int, ...], controls: Controls) -> None:
        self.problem, self.ks, self.controls = problem.with_sparsity(max(ks)), ks, controls
        self.d = problem.n_features
        self.columns = Columns(self.problem)
        self.root = Node(Slots.free(ks, self.d))
        self.packing: list[Column] = []
        self.value = 0.0
        self.pricings = self.nodes = 0
        self.together: TogetherSearch | None = None
        self.removed: BoolArray = np.zeros(self.d, dtype=np.bool_)
        self.line = Part(controls.progress)

    @property
    def bound(self) -> float:
        """What is proved of all packings: by the tree for those without removed features, or of all together."""
        by_tree = max(leaf.bound for leaf in self.root.leaves())
        if self.together is None or self.together.best is None:
            return by_tree
        best = self.together.best
        return min(best.bound, max(by_tree, float(best.using[self.removed].max(initial=0.0))))

    @property
    def target(self) -> float:
        """What every bound has to come down to."""
        room = len(self.ks) * rounding_allowance(self.value, self.problem.scale)
        return self.value + max(self.controls.gap * (1.0 - 1e-6) * self.value, room)

    def run(self) -> None:
        """Prove as much as the limits allow."""
        with self.line:
            try:
                with interrupts_of_kernels():
                    self._seed()
            except KeyboardInterrupt:
                self.controls.limit = Limit.INTERRUPTED
            self._evaluate(self.root)
            while not self.controls.expired():
                still_open = [leaf for leaf in self.root.leaves() if leaf.bound > self.target]
                if not still_open or self.bound <= self.target:
                    break
                node = max(still_open, key=lambda leaf: leaf.estimate)
                if self.together is None and self.nodes > _PATIENCE:
                    try:
                        self._see_together()
                    except KeyboardInterrupt:
                        self.controls.limit = Limit.INTERRUPTED
                    if self.removed.any():  # a smaller problem: its tree is another
                        self.root.children, self.root.feature = [], NOBODY
                        self._evaluate(self.root)
                    continue
                feature = _branching_feature(node)
                if feature == NOBODY:
                    break
                node.feature = feature
                node.children = [
                    Node(node.slots.given(feature, slot), node.record, node.bound) for slot in node.slots.owners()
                ]
                for child in node.children:
                    self._evaluate(child)

    def _seed(self) -> None:
        """Take the strongest features alone, then components one after the other, each from what those before leave."""
        self._offer(self.columns.strongest(len(self.ks)))
        allowed = np.ones(self.d, dtype=np.bool_)
        packing: list[Column] = []
        for k in sorted(self.ks, reverse=True):
            if self.controls.expired() or not allowed.any():
                break
            best = self._ascend(np.zeros(self.d), Group(k, (0,), allowed))
            if best is None:
                break
            packing.append(best)
            allowed = allowed.copy()
            allowed[best.support] = False
        self._offer(packing)

    def _ascend(self, prices: FloatArray, group: Group) -> Column | None:
        """Let ascent look for supports; returns the one that is worth most after prices, if any is worth something."""
        problem = charged(self.problem, charges_for(self.problem, prices), group)
        for places, weights in climbed(problem, self.controls.rng):
            self.columns.offer(places, weights)
        return self._best_column(prices, group)

    def _best_column(self, prices: FloatArray, group: Group) -> Column | None:
        best, most = None, 0.0
        for column in self.columns:
            reduced = column.worth - float(prices[column.support].sum())
            if reduced > most and len(column) <= group.k and group.allowed[column.support].all():
                best, most = column, reduced
        return best

    def _offer(self, packing: list[Column]) -> None:
        worth = math.fsum(column.worth for column in packing)
        if worth > self.value:
            self.packing, self.value = list(packing), worth

    def _evaluate(self, node: Node) -> None:
        """Generate columns for a node until its bound is good enough, or no prices give a better one."""
        try:
            with interrupts_of_kernels():
                self._generate(node)
        except KeyboardInterrupt:
            self.controls.limit = Limit.INTERRUPTED
        if node.record is None:
            self._prove(node, np.zeros(self.d), np.zeros(len(node.slots.groups())), 0.0)

    def _generate(self, node: Node) -> None:
        groups, smooth = node.slots.groups(), None
        settled = node.record is not None and node is not self.root
        looking = self.controls.share(1)
        until = None if looking is None else self.controls.seconds + _LOOKING * looking
        while True:
            solution = node.solution = fractional(list(self.columns), groups, self.d)
            self._round(solution)
            self._say()
            if min(node.bound, self.bound) <= self.target or self.controls.expired():
                return
            if settled and solution.value > self.target:
                return  # more supports do not make it less: no prices bring the bound down to the target
            new = self._threshold(solution)
            if until is None or self.controls.seconds < until:
                if smooth is not None:
                    smooth = _KEPT * smooth + (1.0 - _KEPT) * solution.prices
                    if self._found(smooth, solution, groups, new):
                        continue
                smooth = solution.prices
                if self._found(solution.prices, solution, groups, new):
                    continue
            if not solution.is_whole:
                share = self.controls.share(_PACKING)
                self._offer([c for c, _ in best_packing(list(self.columns), groups, self.d, share)])
            if self._improve():
                continue
            above = solution.value - self.target
            slack = max(-0.9 * above, _COARSE * above, _LEFT * self.controls.gap * self.value)
            before = self._reduced(solution, groups)
            # Below the root the loop over the tree looks at all together: what is removed makes another tree.
            patience = _PATIENCE if self.together is None and node is self.root else None
            complete = self._prove(node, solution.prices, solution.rents, slack / len(self.ks), patience)
            after = self._reduced(solution, groups)
            if not complete and patience is not None:
                self._see_together()
                groups = node.slots.groups()
            elif not (after > before + new).any():
                return
            else:
                # Supports that only the proof has found change the prices, and better ones make a better bound.
                settled = settled or not complete

    def _see_together(self) -> None:
        """Bound all components by one inequality, and remove the features that no better packing uses."""
        self.together = TogetherSearch(self.problem, self.ks)
        share = self.controls.share(1)
        self.together.run(self.target, self.controls, None if share is None else _TOGETHER * share)
        self._offer([self.columns.of(*one) for one in self.together.packing()])
        self._improve()
        best = self.together.best
        if best is None or best.bound <= self.target:
            return
        self.removed[best.removable(self.target)] = True
        self.root.slots.owner[self.removed] = REMOVED

    def _threshold(self, solution: Fractional) -> float:
        """Return by how much a support has to beat its price to count."""
        return max(_NEW * self.controls.gap / len(self.ks), _ROUNDING) * max(self.value, solution.value)

    def _found(self, prices: FloatArray, solution: Fractional, groups: list[Group], new: float) -> bool:
        """Ascend at some prices; returns whether a support is worth more than the prices of the program."""
        # What was known before is not new, however the program rounds its prices.
        before = np.maximum(self._reduced(solution, groups), solution.rents)
        for group in groups:
            self._ascend(prices, group)
        return bool((self._reduced(solution, groups) > before + new).any())

    def _reduced(self, solution: Fractional, groups: list[Group]) -> FloatArray:
        """Return what the best known support is worth after prices, for every group."""
        best = [self._best_column(solution.prices, group) for group in groups]
        return np.array([0.0 if c is None else c.worth - float(solution.prices[c.support].sum()) for c in best])

    def _round(self, solution: Fractional) -> None:
        """Take supports of the fractional solution, those with the largest share first, while they do not meet."""
        taken, packing = np.zeros(self.d, dtype=np.bool_), []
        places: dict[int, int] = {}
        for column, g, _ in sorted(solution.used, key=lambda one: -one[2] * one[0].worth):
            # Of every group as many as fit: the shares of a group add up to no more than that.
            most = math.floor(sum(s for _, h, s in solution.used if h == g) + WHOLE)
            if places.get(g, 0) < most and not taken[column.support].any():
                taken[column.support] = True
                packing.append(column)
                places[g] = places.get(g, 0) + 1
        self._offer(packing)

    def _improve(self) -> bool:
        """Let ascent choose each support of the best packing again, with the others in place."""
        before, ks = self.value, sorted(self.ks, reverse=True)
        packing = sorted(self.packing, key=len, reverse=True)
        packing += [None] * (len(ks) - len(packing))  # type: ignore[list-item]
        for i, k in enumerate(ks):
            others = [column for h, column in enumerate(packing) if h != i and column is not None]
            allowed = np.ones(self.d, dtype=np.bool_)
            for column in others:
                allowed[column.support] = False
            best = self._ascend(np.zeros(self.d), Group(k, (0,), allowed)) if allowed.any() else None
            if best is not None and (packing[i] is None or best.worth > packing[i].worth):
                packing[i] = best
                self._offer([column for column in packing if column is not None])
        return self.value > before * (1.0 + _ROUNDING)

    def _prove(
        self, node: Node, prices: FloatArray, rents: FloatArray, slack: float, patience: int | None = None
    ) -> bool:
        """Price exactly, every group of slots once, and keep the bound if it is better.

        Returns whether no limit stopped it, of which patience is one of nodes.
        """
        groups = node.slots.groups()
        charges = charges_for(self.problem, prices)
        by_slot = {}
        for i, (group, rent) in enumerate(zip(groups, rents, strict=True)):
            problem = charged(self.problem, charges, group)
            best = self._best_column(prices, group)
            start = np.zeros(self.d) if best is None else best.vector(self.d)
            # Once it is to stop the worths of single features have to do.
            share = 0.0 if self.controls.expired() else self.controls.share(len(groups) - i)
            # Where the packing is whole a proof is all that is missing.
            part = 1.0 if node.solution is not None and node.solution.is_whole else _PROVING
            part = part if patience is None else 1.0 / _BRIEFLY
            pricing = priced(
                problem, self.controls, start, float(rent) + slack, None if share is None else part * share, patience
            )
            self.pricings, self.nodes = self.pricings + 1, self.nodes + pricing.result.nodes
            v = pricing.result.v
            self.columns.offer(np.flatnonzero(v), v[v != 0])
            by_slot.update(dict.fromkeys(group.slots, pricing))
        record = Record(charges, tuple(by_slot[slot] for slot in range(len(self.ks))), costs=self.problem.costs)
        if record.bound < node.bound:
            node.record, node.bound = record, record.bound
        return all(pricing.is_complete for pricing in record.pricings)

    def _say(self) -> None:
        if self.line.line is not None and self.line.line.due():
            self.line.say(
                f"{self.controls.seconds:.1f} s, value {self.value:.6g}, bound {self.bound:.6g}, "
                f"{len(self.columns)} supports, {self.pricings} proofs"
            )


def _branching_feature(node: Node) -> int:
    """Return the feature whose owner is least decided, NOBODY if every feature that counts has one."""
    free = node.slots.owner == NOBODY
    solution = node.solution
    if solution is None or not free.any():
        return NOBODY
    shares: dict[int, dict[int, float]] = {}
    for column, g, share in solution.used:
        if share < 1.0 - WHOLE:
            for j in column.support[free[column.support]].tolist():
                shares.setdefault(j, {})
                shares[j][g] = shares[j].get(g, 0.0) + share
    if not shares:
        prices = np.where(free, solution.prices, -1.0)
        return int(np.argmax(prices))

    def undecided(j: int) -> tuple[float, float]:
        total = sum(shares[j].values())
        return total - max(shares[j].values()), float(solution.prices[j])

    return max(shares, key=undecided)
