"""The tree of the sample-wise search: which nodes are open, what is proved, and how a node is examined.

A node is a set of included features, a set of free ones and the number of places left. Its bound is vanilla sparse
PCA of the data under an attack that is feasible for the node; the attack is improved in a game against the directions
of the node, starting from the parent's. A support that no attack can hold down is bounded by cones. Proofs:
docs/exact-sample-wise.md.
"""

import heapq
import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from noap.exact.sample_wise.attack import Attack
from noap.exact.sample_wise.certify import certify
from noap.exact.sample_wise.cones import MOST_FEATURES, Cones
from noap.exact.sample_wise.instance import SampleInstance
from noap.exact.sample_wise.leaf import best_direction, hold_down
from noap.exact.sample_wise.narrow_game import is_wide
from noap.exact.sample_wise.play import GAME_SHARE, PLAYED, play
from noap.exact.sample_wise.portions import is_long
from noap.exact.sample_wise.record import BY_CONES, BY_LENGTHS, MOST_BYTES, How, KeptAttack, SampleRecord
from noap.linalg.outward import UNIT
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.sample_wise import SampleProof
from noap.result import Limit, rounding_allowance
from noap.runtime.controls import Controls, Stopped

__all__ = ["Tree", "root_bytes"]

# Rounds of the game at the root and below.
_ROOT_ROUNDS, _ROUNDS = 240, 60
# How often a node whose opponents are all below the target, but not provably, is played further down.
_ATTEMPTS = 8
# A listing of at most this many supports becomes that many children; of more where a game on all of them costs more.
_FEW, _MORE = 12, 128
# Cones made in the first visit of a leaf; every further visit makes four times as many, up to a limit.
_CONES, _MOST_CONES = 20_000, 5_000_000
# An attack is kept in single precision if that can move no bound by more than this share of the asked gap.
_COARSE = 0.1
# Bytes of portions, temporary arrays and compiled code that only a search loads: little, unless samples are very many.
_OVERHEAD = 130e6
# Attacks that `hold_down` keeps at a time.
_HELD = 4
# The bound that is enough where nothing is proved relative to the value, as a share of the largest squared norm.
_NEXT_TO_NOTHING = 5e-13
# A bound this many times the target is not worth handing down: the attack as it stands proves less.
_LOOSE = 2.0
_NONE = np.empty(0, dtype=np.int64)


def root_bytes(rows: int, columns: int) -> float:
    """Memory that the root takes: the data, an attack, the best one so far, and copies for the proof."""
    return 4.0 * 8.0 * rows * columns + _overhead((rows, columns))


def _overhead(shape: tuple[int, ...]) -> float:
    return _OVERHEAD if is_long(shape) else 0.0


@dataclass(order=True)
class _Node:
    """Included and free features of the instance, an attack to start from, and a bound on every direction in it."""

    key: tuple[float, int]
    bound: float = field(compare=False)
    inc: IntArray = field(compare=False)
    free: IntArray = field(compare=False)
    p: int = field(compare=False)
    attack: Attack = field(compare=False)
    place: int = field(compare=False)
    cones: Cones | None = field(default=None, compare=False)
    budget: int = field(default=_CONES, compare=False)


class Tree:
    """The open nodes, the incumbent, and what is proved."""

    def __init__(
        self,
        instance: SampleInstance,
        controls: Controls,
        v: FloatArray,
        certificate: bool,
        most_bytes: float | None = None,
    ) -> None:
        self.instance, self.controls, self.most_bytes = instance, controls, most_bytes
        self.v = v
        self.value = instance.worth(v)
        self.scale, self.costs = instance.scale, instance.costs
        self.proved = 0.0  # the largest target at which anything was dropped
        self.given_up = 0.0  # the largest bound of a leaf that no further work can lower
        self.nodes = 0
        self.open: list[_Node] = []
        self.current: _Node | None = None
        self.worked_on: Attack | None = None  # an attack that no node holds yet
        self._counter = itertools.count()
        self.budget = instance.typical_budget
        # |Ev| moves by at most 2^-23 |rho|, its square relative to the target by this: variance is target and costs.
        shift = 2.0**-22 * self.budget * math.sqrt(len(instance.Y) / self.target)
        shift *= math.sqrt(1.0 + self.costs.of(np.flatnonzero(v)) / self.target)
        self.coarse = shift <= _COARSE * controls.gap
        self.record = SampleRecord() if certificate else None
        self.root = self.new_place(BY_LENGTHS)
        self.reserve(3 * instance.Y.nbytes)
        root = Attack.at_root(instance.Y, instance.k, instance.rho, v, controls.check, self.costs.each)
        self.push(instance.crude_bound(), _NONE, np.arange(instance.d), instance.k, root, self.root)

    @property
    def target(self) -> float:
        """A direction above this would break the asked gap."""
        if self.value == 0.0:
            # It may be all that rounding left of a positive value. No gap can be met: a small bound is what is wanted.
            return _NEXT_TO_NOTHING * self.scale
        # The value is computed with this error where the budget takes nearly all of every score.
        variance = self.value + self.costs.of(np.flatnonzero(self.v))
        error = 4.0 * UNIT * (self.instance.k + 8) * self.budget * math.sqrt(len(self.instance.Y) * variance)
        # A little less than asked, so that the reported bound meets the gap; never nearer than rounding.
        asked = 0.9999 * self.controls.gap * self.value - 2.0 * error
        return self.value + max(asked, 0.5 * rounding_allowance(self.value, self.scale), 4.0 * error)

    def goal(self, inc: IntArray) -> float:
        """Return what the variance of a direction may be that uses these features: the target, and their costs."""
        return self.target + self.costs.of(inc)

    @property
    def bound(self) -> float:
        """Upper bound on every direction, at any time."""
        nodes = [*self.open[:1], *([] if self.current is None else [self.current])]
        return max(self.proved, self.given_up, self.value, *(node.bound for node in nodes))

    @property
    def nbytes(self) -> int:
        """Memory that the data, the nodes and the record hold; siblings share the attack of their parent."""
        nodes = self.open if self.current is None else [*self.open, self.current]
        attacks = {id(attack): attack for attack in (self.worked_on, *(node.attack for node in nodes)) if attack}
        # The root's attack shares its samples with the instance.
        Y = self.instance.Y
        own = sum(attack.nbytes - (attack.Y.nbytes if attack.Y is Y else 0) for attack in attacks.values())
        cones = sum(node.cones.pool.nbytes for node in nodes if node.cones)
        # The record is copied once when it is handed over.
        record = 2 * self.record.held if self.record else 0
        return int(Y.nbytes + own + cones + record + _overhead(Y.shape))

    def reserve(self, more: float) -> None:
        """Stop here if so many bytes on top of what is held would exceed the limit on memory."""
        if not self.fits(more):
            self.controls.limit = Limit.MEMORY
            raise Stopped

    def fits(self, more: float) -> bool:
        """Whether so many bytes on top of what is held stay within the limit on memory."""
        return self.most_bytes is None or self.nbytes + more <= self.most_bytes

    def new_place(self, how: How) -> int:
        """Return a place in the record for a node whose bound is proved in this way."""
        return self.record.new(how) if self.record else 0

    def kept(self, attack: Attack) -> KeptAttack | None:
        """Copy an attack for the record."""
        if self.record is None:
            return None
        self.reserve(attack.E.nbytes)  # a copy for the record, and one for the proof, in single precision mostly
        return KeptAttack.of(attack, self.coarse)

    def proof(self, rho: FloatArray) -> SampleProof | None:
        """Return the proof of the bound, if it is recorded."""
        if self.record is None:
            return None
        return self.record.proof(self.root, self.instance, rho, self.current.place if self.current else 0)

    def push(
        self,
        bound: float,
        inc: IntArray,
        free: IntArray,
        p: int,
        attack: Attack,
        place: int,
        cones: Cones | None = None,
        budget: int = _CONES,
    ) -> None:
        """Open a node."""
        bound = bound if bound < math.inf else math.inf  # a bound that is not a number is none
        p = min(p, len(free))
        free = free if p > 0 else _NONE
        key = (-bound, next(self._counter))
        heapq.heappush(self.open, _Node(key, bound, inc, free, p, attack, place, cones, budget))

    def close(self) -> None:
        """Note that what is left of the current node holds nothing above the target."""
        self.proved = max(self.proved, self.target)
        self.current = None

    def step(self) -> None:
        """Examine the open node of largest bound."""
        if self.record:
            self.record.tidy()
            if self.record.nbytes > MOST_BYTES:
                self.record = None
        # In this order: an interrupt between the two lines leaves the node in both places, never in none.
        self.current = node = self.open[0]
        heapq.heappop(self.open)
        if node.bound <= self.target:
            self.close()
            return
        self.nodes += 1
        self.worked_on = None
        if node.p == len(node.free) and self.costs.leave_one_support(node.free):
            self.examine_support(node)
        else:
            self.examine(node)
        if self.current is not None:  # time ran out in the middle of it
            heapq.heappush(self.open, node)
            self.current = None

    def examine(self, node: _Node) -> None:
        """Improve the attack until it closes the node or leaves few supports; otherwise branch."""
        attack, rounds, goal = node.attack, _ROUNDS, self.goal(node.inc)
        if attack.clock == 0:
            rounds = _ROOT_ROUNDS
            if attack.is_long:
                self.judge(node, attack, 0.0)  # the response is worth something before the game begins
        else:
            attack = self.narrowed(attack, node.inc, node.free, node.p)
        for _ in range(_ATTEMPTS):
            strongest = self.play(attack, rounds, goal)
            if self.coarse:
                attack.coarsen()
            if attack.is_long:
                self.judge(node, attack, strongest)  # a limit may leave no time for what follows
            self.ascend(attack.directions(4, self.instance.d))
            M = attack.gram(self.controls.check)
            listing = attack.listing(M, self.goal(node.inc), _MORE if is_wide(attack) else _FEW)
            if listing.complete:
                if listing.sets and is_wide(attack) and node.bound > _LOOSE * self.target:
                    self.judge(node, attack, strongest)  # the families inherit the bound
                self.narrow(node, attack, listing.sets)
                return
            if strongest > goal:
                break
            if self.controls.expired():
                return
            # No known opponent exceeds the goal, but the enumeration cannot prove it: a weaker one leaves it more room.
            if listing.sets:
                attack.recruit(M, listing.sets[:_FEW])
            rounds, goal = _ROUNDS, 0.95 * strongest
        removable, kept = attack.removable_columns(M, self.goal(node.inc)), self.kept(attack)
        dropped = attack.cols[removable]
        if len(removable):
            self.proved = max(self.proved, self.target)
            free = np.delete(attack.cols, np.concatenate([np.arange(attack.n_inc), removable]))
            if len(free) == 0:
                # The included features alone are part of every support just refuted.
                if self.record:
                    self.record.branch(node.place, kept, dropped)
                self.close()
                return
            attack = self.narrowed(attack, node.inc, free, node.p)
            M = attack.gram(self.controls.check)
        self.branch(node, attack, M, self.certify(attack, M, strongest, node), kept, dropped)

    def narrowed(self, attack: Attack, inc: IntArray, free: IntArray, p: int) -> Attack:
        """Return the attack on a smaller node, within the limits."""
        self.reserve(2.0 * 8.0 * len(attack.rows) * (len(inc) + len(free)))
        self.worked_on = attack.narrowed(inc, free, p, self.controls.check)
        return self.worked_on

    def judge(self, node: _Node, attack: Attack, strongest: float) -> None:
        """Lower the node's bound to what the attack as it stands proves."""
        bound = self.certify(attack, attack.gram(), strongest, node)
        if bound < node.bound:
            # In this order: an interrupt leaves a proof of too much, never of too little.
            if self.record and (kept := self.kept(attack)):
                self.record.prefer(node.place, kept)
            node.bound, node.key = bound, (-bound, node.key[1])

    def narrow(self, node: _Node, attack: Attack, sets: list[tuple[IntArray, IntArray]]) -> None:
        """Go on with a few families of supports; the attack closes all others."""
        families = []
        for places, rest in sets:
            chosen, may_join = attack.cols[places], attack.cols[rest]
            child = self.new_place(self.record.how(node.place)) if self.record else 0
            self.push(node.bound, np.append(node.inc, chosen), may_join, attack.p - len(places), attack, child)
            families.append((chosen, may_join, child))
        kept = self.kept(attack)
        if self.record and kept:
            self.record.list_families(node.place, kept, families)
        self.close()

    def play(self, attack: Attack, rounds: int, goal: float) -> float:
        """Improve the attack; returns the energy of the strongest opponent known."""
        self.reserve(attack.E.nbytes)
        return play(attack, rounds, goal, self.controls, self.fits(PLAYED * attack.E.nbytes))

    def certify(self, attack: Attack, M: FloatArray, strongest: float, node: _Node) -> float:
        """Return a bound on the node: a threshold, sought by bisection, that no support exceeds.

        Below the strongest opponent there is none, if it pays for nothing; the bound of the node always is one.
        """
        if self.costs.each is None:
            return certify(attack, M, max(strongest, self.target), node.bound, self.controls.expired)
        ceiling = node.bound + self.costs.of(node.inc)
        found = certify(attack, M, self.goal(node.inc), ceiling, self.controls.expired)
        return self.costs.off(found, node.inc) if found < ceiling else node.bound

    def branch(
        self, node: _Node, attack: Attack, M: FloatArray, bound: float, kept: KeptAttack | None, dropped: IntArray
    ) -> None:
        """Include or exclude the free feature that the mixture leans on most."""
        n_inc = attack.n_inc
        mass = attack.mixture.mass(len(attack.cols))[n_inc:]
        j = n_inc + int(np.argmax(mass if mass.any() else np.diag(M)[n_inc:]))
        inc, free = attack.cols[:n_inc], np.delete(attack.cols, [*range(n_inc), j])
        children = (0, 0)
        if self.record and kept:
            how = kept if bound < node.bound else self.record.how(node.place)
            children = (self.record.new(how), self.record.new(how))
        self.push(bound, np.append(inc, attack.cols[j]), free, attack.p - 1, attack, children[0])
        self.push(bound, inc, free, attack.p, attack, children[1])
        if self.record:
            feature = int(attack.cols[j])
            self.record.branch(node.place, kept if len(dropped) else None, dropped, feature, children)
        self.current = None

    def examine_support(self, node: _Node) -> None:
        """One support: an attack on it, then cones."""
        support = np.concatenate([node.inc, node.free])
        attack, cones, bound = node.attack, node.cones, node.bound
        goal = self.goal(node.inc)
        how: How | None = None  # what proves a smaller bound than the node came with
        if cones is None:
            attack = self.narrowed(attack, support, _NONE, 0)
            starts = np.vstack([np.linalg.eigh(attack.gram())[1].T, self.v[support]])
            late = self.controls.within(GAME_SHARE)
            v = best_direction(attack.Y, attack.rho, starts, late)
            self.ascend(self.spread(v, support))
            self.reserve(_HELD * attack.E.nbytes)
            attack.E = hold_down(attack.Y, attack.rho, v, goal, late)
            if self.coarse:
                attack.coarsen()
            M = attack.gram()
            if attack.listing(M, goal, 1).complete:
                self.hold(node, self.kept(attack))
                self.close()
                return
            t = float(np.linalg.eigvalsh(M)[-1]) * (1.0 + 1e-9)
            if self.costs.off(t, node.inc) < bound and attack.listing(M, t, 1).complete:
                bound, how = self.costs.off(t, node.inc), self.kept(attack)
                self.hold(node, how)
                node.bound, node.key = bound, (-bound, node.key[1])
            if len(support) <= MOST_FEATURES:
                cones = Cones.over(attack.Y, attack.rho, goal, self.controls.check)
        if cones is not None:
            self.cut(cones, support, node.budget, goal)
            if cones.bound <= goal:
                self.hold(node, BY_CONES)
                self.close()
                return
            self.proved = max(self.proved, self.target)
            if self.costs.off(cones.bound, node.inc) < bound:
                bound, how = self.costs.off(cones.bound, node.inc), BY_CONES
        self.hold(node, how)
        if cones is None or cones.finest or cones.used >= _MOST_CONES:
            self.given_up = max(self.given_up, bound)
        else:
            self.push(bound, support, _NONE, 0, attack, node.place, cones, 4 * node.budget)
        self.current = None

    def hold(self, node: _Node, how: How | None) -> None:
        """Note what proves a smaller bound on a node, if anything does."""
        if self.record and how is not None:
            self.record.hold(node.place, how)

    def cut(self, cones: Cones, support: IntArray, budget: int, goal: float) -> None:
        """Split cones until none is above the goal or the budget is used, in portions."""
        limit = cones.used + budget
        while not cones.bound <= goal and cones.used < limit and not cones.finest:
            self.reserve(cones.bytes_of(portion := min(cones.portion, limit - cones.used)))
            best, worth = cones.split(goal, portion)
            if worth - goal + self.target > self.value or not is_long(cones.Y.shape):
                self.ascend(self.spread(best, support))
            if self.controls.expired():
                break

    def spread(self, v: FloatArray, support: IntArray) -> FloatArray:
        """Return a direction of one support as a row over all features of the instance."""
        row = np.zeros((1, self.instance.d))
        row[0, support] = v
        return row

    def ascend(self, V: FloatArray) -> None:
        """Alternate from the rows of V; a better direction becomes the incumbent."""
        v, value = self.instance.ascend(V, self.v, self.controls.check)
        if value > self.value:
            self.v, self.value = v, value
