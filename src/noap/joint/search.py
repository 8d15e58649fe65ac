"""Column generation with exact pricing, and branching on who owns a feature where the relaxation is not whole.

At every node: solve the linear program over the known supports, let ascent look for supports that are worth more than
their prices, and when it finds none let the tree prove how much any can be worth: a bound for the node, whatever the
prices are. The whole is proved when no node's bound exceeds the value of the best packing by more than the gap. Where
that takes long, one inequality about all components together gives a bound as well, and tells which features no better
packing uses: they are removed.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from noap.joint.columns import Column, Columns
from noap.joint.fan import FanSearch
from noap.joint.master import WHOLE, Fractional, best_packing, fractional
from noap.joint.pricing import Pricing, Record, ascended, charged, priced
from noap.joint.slots import Group, Slots
from noap.kernel.data import Data
from noap.kernel.packing import NO_ONE
from noap.kernel.samples import SampleData
from noap.kernel.witness import Owner, Packed, Packing, Priced
from noap.linalg.types import FloatArray
from noap.result import Limit, rounding_allowance
from noap.runtime.controls import Controls
from noap.runtime.interrupts import Interrupts
from noap.runtime.line import Part
from noap.search.prove import Stop
from noap.settings import Settings

__all__ = ["JointSearch"]

# What is smaller than this, relative to the value, is rounding of the linear program.
_ROUNDING = 1e-9


@dataclass(eq=False)
class _Node:
    """A set of packings, what is proved of it, and its children once it has been branched on."""

    slots: Slots
    record: Record
    solution: Fractional | None = None
    feature: int = -1
    children: list["_Node"] = field(default_factory=list)

    @property
    def bound(self) -> float:
        return self.record.bound

    @property
    def estimate(self) -> float:
        """What the relaxation says, over the supports that were known."""
        return math.inf if self.solution is None else self.solution.value

    def leaves(self) -> "list[_Node]":
        """Return the nodes without children below this one, in order."""
        return [leaf for child in self.children for leaf in child.leaves()] if self.children else [self]


class JointSearch:
    """The tree, the pool of supports and the best packing so far; all numbers are in the units of the data.

    Attributes
    ----------
    packing : list of Column
        Disjoint supports that fit the slots.
    value : float
        What they are worth together.
    pricings, nodes : int
        How many pricing problems were proved, and how many nodes their trees had.
    """

    def __init__(
        self,
        data: Data | SampleData,
        ks: tuple[int, ...],
        controls: Controls,
        interrupts: Interrupts,
        settings: Settings,
    ) -> None:
        self.data, self.ks, self.controls, self.interrupts = data, ks, controls, interrupts
        self.joint, self.d = settings.joint, data.d
        # Against features lines know more of a node than the matrix rule.
        vanilla = isinstance(data, SampleData) or data.r_max == 0
        self.settings = replace(settings, depth_first=vanilla)
        self.columns = Columns(data)
        self.packing: list[Column] = []
        self.value = 0.0
        self.pricings = self.nodes = 0
        self.fan: FanSearch | None = None
        # Without such an inequality nothing is to be looked at.
        self._looked = isinstance(data, SampleData) or not FanSearch.serves(data, settings)
        self.line = Part(controls.progress)
        slots = Slots.free(ks, data.allowed)
        self.root = _Node(slots, self._by_lengths(slots))

    def _by_lengths(self, slots: Slots) -> Record:
        """Return what lengths prove, at no prices."""

        def stop(nodes: int) -> None:
            raise Stop

        nothing, by_k = np.zeros(self.d), dict[int, Pricing]()
        every = [Group(k, (slot,), np.ones(self.d, dtype=np.bool_)) for slot, k in enumerate(self.ks)]
        for group in every:
            if group.k not in by_k:
                data = charged(self.data, nothing, group)
                by_k[group.k] = priced(data, nothing, 0.0, 0.0, self.settings, stop)
        return Record.of(self.data, tuple(by_k[k] for k in self.ks), every)

    @property
    def bound(self) -> float:
        """What is proved of all packings: by the tree for those without removed features, or of all together."""
        by_tree = max(leaf.bound for leaf in self.root.leaves())
        if self.fan is None:
            return by_tree
        removed = self.fan.using[(self.root.slots.owner == NO_ONE) & np.isfinite(self.fan.using)]
        return min(self.fan.bound, max(by_tree, float(removed.max(initial=0.0))))

    @property
    def branches(self) -> int:
        """How many nodes the tree over owners of features has."""
        nodes, stack = 0, [self.root]
        while stack:
            nodes += 1
            stack += stack.pop().children
        return nodes

    @property
    def target(self) -> float:
        """What every bound has to come down to."""
        room = len(self.ks) * rounding_allowance(self.value, self.data.top)
        return self.value + max(self.controls.gap * (1.0 - 1e-6) * self.value, room)

    def _over(self) -> bool:
        if self.interrupts.seen:
            self.controls.limit = Limit.INTERRUPTED
        return self.controls.expired()

    def run(self) -> None:
        """Prove as much as the limits allow."""
        with self.line:
            self._seed()
            self._generate(self.root)
            while not self._over():
                still_open = [leaf for leaf in self.root.leaves() if leaf.bound > self.target]
                if not still_open or self.bound <= self.target:
                    break
                node = max(still_open, key=lambda leaf: leaf.estimate)
                if not self._looked and self.nodes > self.joint.patience:
                    self._see_together()
                    continue
                feature = _branching_feature(node)
                if feature < 0:
                    break
                node.feature = feature
                node.children = [_Node(slots, node.record) for slots in node.slots.children(feature)]
                for child in node.children:
                    self._generate(child)

    def _seed(self) -> None:
        """Take the strongest features alone, then components one after the other, each from what those before leave."""
        useful = (self.data.most > 0) | (not self.data.definite)
        open_ = np.flatnonzero(self.root.slots.undecided & useful)
        if isinstance(self.data, Data):
            k = min(max(self.ks), len(open_))
            if sum(math.comb(len(open_), q) for q in range(1, k + 1)) <= self.joint.enumerated:
                self.settings = replace(
                    self.settings, cheap_nodes_vanilla=self.joint.nodes_enumerated,
                    cheap_nodes=self.joint.nodes_enumerated,
                )  # fmt: skip
                self.columns.take_all(open_.astype(np.intp), k)
        strongest = open_[np.argsort(-self.data.most[open_], kind="stable")][: len(self.ks)]
        for v in np.eye(self.d)[strongest]:
            self.columns.offer(v)
        allowed, packing = self.root.slots.undecided, list[Column]()
        for k in sorted(self.ks, reverse=True):
            best = self._ascend(np.zeros(self.d), Group(k, (0,), allowed)) if allowed.any() else None
            if best is None or self._over():
                break
            packing.append(best)
            allowed = allowed.copy()
            allowed[best.support] = False
        self._offer(packing)

    def _ascend(self, prices: FloatArray, group: Group) -> Column | None:
        """Let ascent look for supports; returns the one that is worth most after prices, if any is worth something."""
        data = charged(self.data, prices, group)
        known = self.columns.best(prices, group)[0]
        for v in ascended(data, self.settings, None if known is None else known.vector(self.d)):
            self.columns.offer(v)
        return self.columns.best(prices, group)[0]

    def _offer(self, packing: list[Column]) -> None:
        worth = math.fsum(column.worth for column in packing)
        if worth > self.value:
            self.packing, self.value = list(packing), worth

    def _generate(self, node: _Node) -> None:
        """Generate columns for a node until its bound is good enough, or no prices give a better one."""
        joint, groups, smooth = self.joint, node.slots.groups(), None
        settled = node is not self.root
        share = self.controls.share(1)
        until = None if share is None else self.controls.seconds + joint.looking * share
        while True:
            solution = node.solution = fractional(self.columns.known, groups, self.d)
            self._round(solution)
            self._say()
            if min(node.bound, self.bound) <= self.target or self._over():
                return
            if settled and solution.value > self.target:
                return  # more supports do not make it less: no prices bring the bound down to the target
            new = max(joint.new * self.controls.gap / len(self.ks), _ROUNDING) * max(self.value, solution.value)
            if until is None or self.controls.seconds < until:
                if smooth is not None:
                    smooth = joint.kept * smooth + (1.0 - joint.kept) * solution.prices
                    if self._found(smooth, solution, groups, new):
                        continue
                smooth = solution.prices
                if self._found(solution.prices, solution, groups, new):
                    continue
            if not solution.is_whole:
                part = None if share is None else joint.packing * (self.controls.share(1) or 0.0)
                seconds = min(joint.most_seconds, math.inf if part is None else part)
                self._offer([c for c, _ in best_packing(self.columns.known, groups, self.d, seconds)])
            if self._improve():
                continue
            above = solution.value - self.target
            slack = max(-0.9 * above, joint.coarse * above, joint.left * self.controls.gap * self.value)
            before = self._reduced(solution, groups)
            # Below the root the loop over the tree looks at all together: what is removed makes another tree.
            brief = not self._looked and node is self.root
            complete = self._prove(node, solution, groups, slack / len(self.ks), brief)
            if not complete and brief:
                self._see_together()
                groups = node.slots.groups()
            elif not (self._reduced(solution, groups) > before + new).any():
                return
            else:
                # Supports that only the proof has found change the prices, and better ones make a better bound.
                settled = settled or not complete

    def _see_together(self) -> None:
        """Bound all components by one inequality, and remove the features that no better packing uses."""
        self._looked = True
        assert isinstance(self.data, Data)
        share = self.controls.share(1)
        until = math.inf if share is None else self.controls.seconds + self.joint.together * share
        self.fan = fan = FanSearch(self.data, self.ks, self.settings)
        fan.run(self.target, lambda: self._over() or self.controls.seconds > until)
        for v in fan.vectors():
            self.columns.offer(v)
        self._improve()
        out = fan.using <= self.target
        if fan.bound > self.target and out.any():  # a smaller problem: its tree is another
            owner = np.where(out, NO_ONE, self.root.slots.owner)
            self.root.children, self.root.feature, self.root.slots = [], -1, Slots(self.ks, owner)

    def _found(self, prices: FloatArray, solution: Fractional, groups: list[Group], new: float) -> bool:
        """Ascend at some prices; returns whether a support is worth more than the prices of the program."""
        # What was known before is not new, however the program rounds its prices.
        before = np.maximum(self._reduced(solution, groups), solution.rents)
        for group in groups:
            self._ascend(prices, group)
        return bool((self._reduced(solution, groups) > before + new).any())

    def _reduced(self, solution: Fractional, groups: list[Group]) -> FloatArray:
        """Return what the best known support is worth after prices, for every group."""
        return np.array([self.columns.best(solution.prices, group)[1] for group in groups])

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
        packing: list[Column | None] = [*sorted(self.packing, key=len, reverse=True), *[None] * len(ks)][: len(ks)]
        for i, k in enumerate(ks):
            allowed = self.root.slots.undecided
            for h, column in enumerate(packing):
                if h != i and column is not None:
                    allowed[column.support] = False
            best = self._ascend(np.zeros(self.d), Group(k, (0,), allowed)) if allowed.any() else None
            known = packing[i]
            if best is not None and (known is None or best.worth > known.worth):
                packing[i] = best
                self._offer([column for column in packing if column is not None])
        return self.value > before * (1.0 + _ROUNDING)

    def _prove(self, node: _Node, solution: Fractional, groups: list[Group], slack: float, brief: bool) -> bool:
        """Price exactly, every group of slots once, and keep the bound if it is better; return whether all are done."""
        joint, by_slot = self.joint, dict[int, Pricing]()
        for i, (group, rent) in enumerate(zip(groups, solution.rents.tolist(), strict=True)):
            data = charged(self.data, solution.prices, group)
            best, reduced = self.columns.best(solution.prices, group)
            start = np.zeros(self.d) if best is None else best.vector(self.d)
            # Where the packing is whole a proof is all that is missing.
            part = joint.briefly if brief else 1.0 if solution.is_whole else joint.proving
            share = self.controls.share(len(groups) - i)
            until = math.inf if share is None else self.controls.seconds + part * share

            def check(nodes: int, until: float = until) -> None:
                if self._over() or self.controls.seconds > until or (brief and nodes > joint.patience):
                    raise Stop

            target = max(rent, reduced) + slack
            pricing = priced(data, start, target, slack, self.settings, check)
            self.pricings, self.nodes = self.pricings + 1, self.nodes + pricing.nodes
            for v in pricing.found:
                self.columns.offer(v)
            by_slot.update(dict.fromkeys(group.slots, pricing))
        record = Record.of(self.data, tuple(by_slot[slot] for slot in range(len(self.ks))), groups)
        if record.bound < node.bound:
            node.record = record
        return all(pricing.complete for pricing in record.pricings)

    def _say(self) -> None:
        if self.line.line is not None and self.line.line.due():
            unit = 4.0**self.data.exponent
            self.line.say(
                f"{self.controls.seconds:.1f} s, value {self.value * unit:.6g}, bound {self.bound * unit:.6g}, "
                f"{len(self.columns)} supports, {self.pricings} proofs"
            )

    def witness(self, sizes: tuple[int, ...]) -> Packing:
        """Return the proof of the bound, beside vectors of so many features."""
        fans = () if self.fan is None else tuple(self.fan.fans)
        if self.fan is not None and self.bound >= self.fan.bound:
            return Packing(self.ks, sizes, fans=fans)
        pricings: dict[int, int] = {}
        claims, nodes, stack = list[Priced](), list[Owner | Packed](), [self.root]
        while stack:
            node = stack.pop()
            if node.children:
                nodes.append(Owner(node.feature))
                stack += node.children[::-1]
                continue
            for one in node.record.pricings:
                if id(one) not in pricings:
                    pricings[id(one)] = len(claims)
                    claims.append(one.claim)
            nodes.append(Packed(tuple(pricings[id(one)] for one in node.record.pricings)))
        return Packing(self.ks, sizes, tuple(claims), tuple(nodes), fans)


def _branching_feature(node: _Node) -> int:
    """Return the feature whose owner is least decided, -1 if every feature that counts has one."""
    free, solution = node.slots.undecided, node.solution
    if solution is None or not free.any():
        return -1
    shares: dict[int, dict[int, float]] = {}
    for column, g, share in solution.used:
        if share < 1.0 - WHOLE:
            for j in column.support[free[column.support]].tolist():
                shares.setdefault(j, {})
                shares[j][g] = shares[j].get(g, 0.0) + share
    if not shares:
        return int(np.argmax(np.where(free, solution.prices, -1.0)))

    def undecided(j: int) -> tuple[float, float]:
        total = sum(shares[j].values())
        return total - max(shares[j].values()), float(solution.prices[j])

    return max(shares, key=undecided)
