"""The search against attacks on samples: attacks at nodes, cheap trees on what they leave, lines at decided supports.

root -> responses to the incumbent, with gains; a cheap tree on them, where it is promising
     -> the saddle-point solver, and a cheap tree on its attack; what that leaves open, or both children of a feature
decided supports -> responses with gains, a smoothed attack, lines about samples
"""

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from noap.kernel.arithmetic import Refused
from noap.kernel.samples import SampleData, SampleMajorant
from noap.kernel.tree import Checked, check_levels
from noap.kernel.witness import LENGTHS, Dominance, Feature, Level, Node, SampleAttack
from noap.linalg.types import FloatArray, IntArray
from noap.search.attacks import Cuts, Duel, climbed, opponents, smoothed, spread
from noap.search.cheap import Better, Bounder, CheapTree, Hole, Outlook, children
from noap.search.fringe import Fringe
from noap.search.prove import Found, smaller_bound
from noap.search.sample_ascent import sample_value, squares, stepped
from noap.search.sample_lines import envelope_of
from noap.search.sample_nodes import Knot, Local, Played, Triple, places
from noap.settings import Settings

__all__ = ["SampleSearch"]

_BY_LENGTHS: Node = LENGTHS
# Steps of ascent from a node's own rows, from the strongest opponents, and on one support, at first and at last.
_OWN_STEPS, _OPPONENTS_STEPS, _FIRST_STEPS, _SUPPORTS_STEPS = 15, 12, 12, 60


class _Raised(Exception):
    """Attacks on entries leave one support more than the target, and nothing else is known."""

    def __init__(self, bound: float) -> None:
        super().__init__("a larger target")
        self.bound = bound


class SampleSearch:
    """A proof that no choice has a value above a target, or the smallest bound at hand when it is stopped.

    Parameters
    ----------
    data : SampleData
    v : array of shape (d,)
        A good unit vector, to respond to.
    target : float
        In the units of the data.
    settings : Settings
    check : callable
        Raises when a limit is reached; asked at every node.
    most_bytes : float, optional
        Where the root would take more, only the response to v is tried.
    """

    def __init__(
        self,
        data: SampleData,
        v: FloatArray,
        target: float,
        settings: Settings,
        check: Callable[[], None],
        most_bytes: float | None = None,
    ) -> None:
        self.most_bytes = np.inf if most_bytes is None else most_bytes
        self.data, self.v, self.settings, self.check = data, v, settings, check
        I, F, p = data.root()  # noqa: E741
        F = F[data.most[F] > 0]
        self.features: IntArray = np.union1d(I, F).astype(np.intp)
        self.by_lengths = data.sum_of_most(I, F, p)
        self.of_entries = data.rho.ndim > 1
        self.checked = Checked(data)
        self.nodes, self._numbers = 0, itertools.count()
        self._begin(target, self._knot((I, F, p), self.by_lengths))

    def _begin(self, target: float, root: Knot) -> None:
        """Begin with a target and what is known of the root."""
        self.target, self.root, self._knots = target, root, [root]  # those above come first
        self._supports: dict[tuple[int, ...], tuple[Node | None, float, Node]] = {}
        self.cheap = CheapTree(self.data, target, self.settings, self.check)
        self._kept: list[Bounder] = []
        self._open: list[tuple[float, int, Knot]] = []
        self._given_up: list[Knot] = []
        self.bytes = 0

    @property
    def bound(self) -> float:
        """The bound so far, in floating point."""
        if self.root.proof is None:
            return max(self.target, self.root.bound)
        return max([self.target, *(knot.bound for *_, knot in self._open), *(knot.bound for knot in self._given_up)])

    def run(self) -> bool:
        """Search until the target is proved; False where it cannot be. Raises Stop when a limit is reached."""
        if self._is_settled():
            return self.root.proof is not None
        self._push(self.root)
        while self._open:
            self.check()
            knot = self._open[0][2]
            needed = self._needed(knot)
            fits = needed <= self.most_bytes and self._entries(knot) <= self.settings.samples.most_entries
            if fits:
                self.bytes += needed
                self.check()  # memory is heard before it is taken
            try:
                proof = self._examine(knot, fits)
            except _Raised as raised:
                further = self.settings.samples.beyond_raised * (raised.bound - self.target)
                self._begin(raised.bound + further, replace(self.root, proof=None, key=np.inf, played=None))
                self._push(self.root)
                continue
            self.bytes -= needed if fits else 0
            self.nodes += 1
            if proof is None and needed > self.most_bytes:
                self.bytes += needed
                self.check()
            heapq.heappop(self._open)
            self.bytes -= knot.bytes
            if proof is None:
                self._given_up.append(knot)
                continue
            # In this order: whatever interrupts, no leaf is forgotten.
            knot.proof, knot.played = proof, None
            for kid in proof:
                if isinstance(kid, Knot) and kid.proof is None:
                    self._push(kid)
        return not self._given_up

    def relax(self) -> bool:
        """Bound the root by attacks and dominance alone, in polynomial time; return whether that proves the target."""
        if self._is_settled():
            return self.root.proof is not None
        settings, local, first = self.settings.samples, self._local(self.root.node), None
        for bounder in self._responses(local, self.v, settings.gains):
            self.check()
            first = first or bounder
            self._certify(self.root, bounder, 1)
        if self.root.bound > self.target and local.X.size <= settings.most_entries:
            few = self._pooled(self.root, local, first)
            duel = self._duel(self.root, few, self._moves_of(first, few))
            duel.play((self.target + self._paid(local)) * self.data.n, settings.looks_at_root, self.check)
            self._ascended(few, duel.strongest(6), _OPPONENTS_STEPS)
            self._certify(self.root, self._bounder(self._as_witness(duel.E, few, local)), 1)
        return self.root.bound <= self.target

    def _is_settled(self) -> bool:
        """Return whether lengths prove the target, or are all there will be: of so many features no pass is made."""
        # Where no sample counts, what demanded features cost is all there is, to its rounding.
        if len(self.features) == 0 or len(self.data.rows) == 0 or self.by_lengths <= self.target:
            self.root.proof = [LENGTHS]
        return self.root.proof is not None or len(self.features) > self.settings.samples.most_in_blocks

    def _entries(self, knot: Knot) -> int:
        rows = len(self.data.X) if knot.played is None else len(knot.played.local.rows)
        return rows * (len(knot.node[0]) + len(knot.node[1]))

    def _needed(self, knot: Knot) -> int:
        """Return about how many bytes examining a node takes: its samples, moves thrice, opponents, matrices."""
        settings, c = self.settings.samples, len(knot.node[0]) + len(knot.node[1])
        few, rows = (c, 0) if c <= settings.most_features else (settings.pool, 8 * (2 + len(settings.gains)))
        return self._entries(knot) * (8 + 3 * 4 + 8 + rows) + 8 * few * (6 * few + 3 * settings.most_opponents)

    def _push(self, knot: Knot) -> None:
        self.bytes += knot.bytes
        heapq.heappush(self._open, (-knot.key, next(self._numbers), knot))

    def _paid(self, local: Local) -> float:
        return float(self.data.costs[local.node[0]].sum())

    # A node

    def _knot(self, node: Triple, above: float) -> Knot:
        I, F, p = node  # noqa: E741
        p = min(p, len(F))
        node = I, F if p > 0 else F[:0], p
        own = self.data.sum_of_most(*node)
        return Knot(node, min(own, above), own, [LENGTHS])

    def _child(self, knot: Knot, node: Triple) -> Knot:
        """Return a knot below one, with what is known there."""
        made = self._knot(node, knot.bound)
        made.key, made.played = knot.key, knot.played
        self._knots.append(made)
        return made

    def _local(self, node: Triple, empty: bool = False) -> Local:
        I, F, p = np.sort(node[0]), np.sort(node[1]), node[2]  # noqa: E741
        columns: IntArray = np.concatenate([I, F]).astype(np.intp)
        if empty:
            return Local((I, F, p), columns, columns[:0], np.empty((0, len(columns))), np.empty(0))
        rows = self.data.counting(I, F, p)
        whole = len(rows) == len(self.data.X) and np.array_equal(columns, np.arange(self.data.d))
        X = self.data.X if whole else np.ascontiguousarray(self.data.X[np.ix_(rows, columns)])
        return Local((I, F, p), columns, rows, X, self.data.budgets_of(rows, columns))

    def _examine(self, knot: Knot, fits: bool) -> "list[Node | Knot] | None":
        """Return what a node is closed by or split into; None where nothing helps.

        Parameters
        ----------
        knot : Knot
        fits : bool
            Otherwise its samples are too many for the solver, and responses are all.
        """
        settings, is_root, (I, F, p) = self.settings.samples, knot is self.root, knot.node  # noqa: E741
        if p == len(F) and not self.data.costs[F].any():
            leaf, knot.own, weaker = self._support(np.concatenate([I, F]))
            knot.fallback, knot.bound = [weaker], min(knot.own, knot.bound)
            return None if leaf is None else [leaf]
        if knot.own <= self.target:
            return [LENGTHS]
        local = self._local(knot.node, empty=not fits)
        v = self.v
        if not is_root and fits:
            few = self._pooled(knot, local)
            V = opponents(few.X.T @ few.X, few.inside, p, 6)
            V = V if knot.played is None else np.concatenate([V, knot.played.within(few)[1][:10]])
            v = self._ascended(few, V, _OWN_STEPS)
        outlooks: list[tuple[float, int, Bounder]] = []
        for bounder in self._responses(local, v, settings.gains):
            self.check()
            outlook = Outlook()
            if self.cheap.holds(bounder, *local.node, outlook):
                return [bounder.leaf(local.node[1], p)]
            outlooks.append((outlook.ratio, len(outlooks), bounder))
        good = [
            bounder for ratio, _, bounder in sorted(outlooks, key=lambda one: one[:2]) if ratio < settings.promising
        ]
        left = settings.left_at_root if is_root else settings.left_below
        if good:
            proof = self._cheap(knot, [*good[:2], *self._kept], settings.cheap_nodes, left if fits else 0)
            if proof is not None:
                return proof
        if not fits:
            for *_, bounder in outlooks:
                self._certify(knot, bounder)
            return None
        return self._contest(knot, local, outlooks[0][2] if outlooks else None)

    def _contest(self, knot: Knot, local: Local, response: Bounder | None) -> "list[Node | Knot]":
        """Return what the solver's attack leaves of a node: a subtree with few open nodes, or its children."""
        settings, is_root, paid = self.settings.samples, knot is self.root, self._paid(local) * self.data.n
        few = self._pooled(knot, local, response)
        duel = self._duel(knot, few, self._moves_of(response, few))
        looks = settings.looks_at_root if is_root else settings.looks_below
        if self.of_entries:
            looks = settings.looks_of_cuts[0 if is_root else 1]
        goal = self.target * self.data.n
        last: Bounder | None = None
        for _ in range(settings.attempts):
            knot.key = duel.play(goal + paid, looks, self.check)
            self._ascended(few, duel.strongest(6), _OPPONENTS_STEPS)
            last = self._bounder(self._as_witness(duel.E, few, local))
            knot.played = Played(few, duel.E, duel.V, duel.weights)
            if self.of_entries and knot.key > goal + paid:
                self._attackable(few, duel.V[:3])
            above = knot.key > goal + paid and local.p > 2
            budget = settings.cheap_nodes * (1 if above else settings.cheap_factor)
            proof = self._cheap(knot, [last, *self._kept], budget, settings.left_at_root)
            if proof is not None:
                return proof
            if knot.key > self.target * self.data.n + paid:
                break
            goal, looks = 0.96 * min(knot.key - paid, goal), settings.looks_below
        assert last is not None
        if len(self._kept) < settings.kept_attacks and is_root:
            self._kept.append(last)
        self._certify(knot, last)
        return self._split(knot, few, duel)

    def _split(self, knot: Knot, few: Local, duel: Duel) -> "list[Node | Knot]":
        """Branch on features in turn until those opponents that use none of them have little weight left."""
        settings, node, proof, weights = self.settings.samples, knot.node, list[Node | Knot](), duel.weights
        used = duel.V != 0
        for _ in range(settings.branches if few.p == 1 else 1):
            # What opponents put on a feature, most where some of them do without it.
            mass = (weights @ (duel.V * duel.V)) * (1.0 + settings.branching - weights @ used / weights.sum())
            at = few.inside + int(np.argmax(mass[few.inside :]))
            if proof and not mass[at] > 0:
                break
            without, with_it = children(*node, int(few.columns[at]))
            proof += [Feature(int(few.columns[at])), self._child(knot, with_it)]
            weights, node = np.where(used[:, at], 0.0, weights), without
            if weights.sum() <= settings.weight_left:
                break
        return [*proof, self._child(knot, node)]

    def _attackable(self, local: Local, V: FloatArray) -> None:
        """Raise Raised where attacks leave one of these vectors' supports more than the target."""
        for v in V:
            if (v != 0).sum() == self.data.k:
                self._support(local.columns[v != 0])

    def _ascended(self, local: Local, V: FloatArray, steps: int) -> FloatArray:
        """Return the best vector that ascent reaches; raise Better where it is worth more than the target."""
        costs = self.data.n * self.data.costs[local.columns]
        V, values = stepped(local.X, local.rho, costs, V, local.inside, local.p, steps)
        v: FloatArray = np.zeros(self.data.d)
        v[local.columns] = V[int(np.argmax(values))]
        if v.any() and sample_value(self.data, v) > self.target:
            raise Better(v)
        return v

    # Attacks

    def _bounder(self, attack: SampleAttack) -> Bounder:
        majorant, fringe = self.data.majorant(attack), None
        if len(majorant.columns) > self.settings.samples.most_features:
            fringe = Fringe(majorant, self.data.k, self.target, self.settings, self.check)
        return Bounder(attack, majorant, np.ones(self.data.d), fringe=fringe)

    def _pooled(self, knot: Knot, local: Local, response: Bounder | None = None) -> Local:
        """Return a node with those features only that the solver works on, where there are too many.

        A node below has those of the node above; the root those whose rows are far from dominance.
        """
        settings = self.settings.samples
        if len(local.columns) <= settings.most_features:
            return local
        I, F, p = local.node  # noqa: E741
        if knot.played is not None:
            F = F[np.isin(F, knot.played.local.columns)]
        else:
            lengths = np.einsum("ij,ij->j", local.X, local.X)[local.inside :]
            chosen = np.isin(F, np.flatnonzero(self.v))
            if response is not None and response.fringe is not None:
                lengths = response.fringe.weakness(F)
            chosen[np.argsort(-lengths, kind="stable")[: settings.pool]] = True
            F = F[chosen]
        columns: IntArray = np.concatenate([I, F])
        at = places(local.columns, columns)
        rho = local.rho[:, at] if self.of_entries else local.rho
        return Local((I, F, p), columns, local.rows, np.ascontiguousarray(local.X[:, at]), rho)

    def _responses(self, local: Local, v: FloatArray, gains: tuple[float, ...]) -> Iterator[Bounder]:
        """Yield the response to a vector, plainly and with gains in multiples of what every sample of R has."""
        at, (I, _, p) = np.flatnonzero(v), local.node  # noqa: E741
        if not len(at) or not np.isin(at, local.columns).all():
            return
        spread = 1.0 if p == 0 else self.settings.samples.spread if len(I) > p else 0.0
        if self.of_entries:
            for spread in self.settings.samples.spreads_of_entries:
                yield self._bounder(SampleAttack(*local.node, at, v[at], 0.0, spread))
            return
        try:
            yield self._bounder(SampleAttack(*local.node, at, v[at], 0.0, spread))
            least = self._least_gain(local, v)
            for factor in gains if least > 0 else ():
                yield self._bounder(SampleAttack(*local.node, at, v[at], float(np.float32(factor * least)), spread))
        except Refused:
            return

    def _least_gain(self, local: Local, v: FloatArray) -> float:
        """Return the gain that every sample which a response pushes with its whole budget has by itself."""
        data, least, at = self.data, np.inf, 0
        for X in data.portions():
            rho = data.rho[at : at + len(X)]
            at += len(X)
            strong = (np.abs(X @ v) >= rho) & (rho > 0)
            if strong.any():
                z = np.sqrt(squares(X[strong][:, local.columns], local.inside, local.p)) - rho[strong]
                least = min(least, float((rho[strong] / np.maximum(z, 1e-300)).min()))
        return least if 1e-6 < least < 1e5 else 0.0

    def _duel(self, knot: Knot, local: Local, moves: FloatArray) -> Duel:
        """Return the solver at a node, from the moves of the node above or from those of the response."""
        E, inherited = moves.astype(np.float32), None if knot.played is None else knot.played.within(local)
        V: FloatArray = np.zeros((0, len(local.columns)))
        weights: FloatArray = np.zeros(0)
        if inherited is not None:
            other, V, weights = inherited
        settings, clock = self.settings.samples, 0 if knot is self.root else 50
        solver = Cuts if self.of_entries else Duel
        duel = solver(local.X, local.rho, local.inside, local.p, E, V, weights, settings, clock)
        if inherited is not None:  # the better start of the two
            M, N = duel.gram(E), duel.gram(other)
            C = np.concatenate([V, opponents(M, local.inside, local.p, 12), opponents(N, local.inside, local.p, 12)])
            here, there = (climbed(G, C, local.inside, local.p, 4)[1].max() for G in (M, N))
            if there < here:
                duel.E = other
        return duel

    def _as_witness(self, E: FloatArray, few: Local, local: Local) -> SampleAttack:
        """Return an attack on some features of a node as a witness, in single precision and within its budgets."""
        if few is not local:
            E = spread(local.X, E, places(local.columns, few.columns), local.inside, local.p, local.rho)
        if not self.of_entries:  # whose moves the kernel cuts to their budgets
            scale = np.sqrt(squares(E.astype(np.float64), local.inside, local.p))
            E = E * np.minimum(1.0, local.rho / np.maximum(scale, 1e-300) * (1 - 3e-7))[:, None]
        moves = E.astype(np.float32)
        return SampleAttack(*local.node, rows=self.data.rows[local.rows], moves=moves)

    def _moves_of(self, response: Bounder | None, local: Local) -> FloatArray:
        """Return the attack of a response on samples and features of a node; none without a response."""
        if response is None or not isinstance(response.majorant, SampleMajorant):
            return np.zeros(local.X.shape)
        return response.majorant.moves(local.rows)[:, response.majorant.at[local.columns]]

    # Cheap trees

    def _cheap(self, knot: Knot, bounders: list[Bounder], budget: int, left: int) -> "list[Node | Knot] | None":
        """Return a subtree by these majorants with decided supports closed and few nodes open, or None."""
        self.cheap.bounders = bounders
        if len(knot.node[1]) > self.settings.samples.most_features:  # the kernel has a pass over all pairs for a leaf
            budget = min(budget, self.settings.samples.nodes_in_blocks)
        found = self.cheap.close(*knot.node, budget, left + self.settings.samples.decided_inline)
        if found is None or (len(found) == 1 and isinstance(found[0], Hole)):
            return None
        open_ = sum(isinstance(one, Hole) and one.places > 0 for one in found)
        nodes = list[Node | Hole]()
        for one in found:
            if open_ > left:
                return None
            leaf = self._support(one.included)[0] if isinstance(one, Hole) and one.places == 0 else None
            open_ += isinstance(one, Hole) and one.places == 0 and leaf is None
            nodes.append(one if leaf is None else leaf)
        if open_ > left:
            return None
        return [
            self._child(knot, (one.included, one.free, one.places)) if isinstance(one, Hole) else one for one in nodes
        ]

    def _certify(self, knot: Knot, bounder: Bounder, nodes: int = 0) -> None:
        """Lower the bound of a node that stays open: the least threshold at which a small cheap tree closes it.

        With a budget of one node the target itself comes first.
        """
        I, F, p = knot.node  # noqa: E741
        low, high, alone = self.target, knot.bound, nodes == 1
        for number in range(self.settings.samples.certified * (3 if alone else 1)):
            if high <= low * (1.0 + (1e-5 if alone else 5e-3)):
                return
            t = self.target if alone and number == 0 else float(np.sqrt(low * high)) if low > 0 else 0.5 * high
            tree = CheapTree(self.data, t, self.settings, self.check)
            tree.bounders = [bounder]
            found = tree.close(I, F, p, nodes or self.settings.samples.cheap_nodes)
            if found is None:
                low = t
                continue
            high, knot.bound, knot.own = t, t, t
            knot.fallback = [
                Dominance(one.attack, one.scaling, t) if isinstance(one, Dominance) else one
                for one in found
                if not isinstance(one, Hole)
            ]

    # Decided supports

    def _support(self, support: IntArray) -> tuple[Node | None, float, Node]:
        """Return what closes a support or None, its bound, and what proves that; each support is looked at once."""
        name = tuple(np.sort(support).tolist())
        if name not in self._supports:
            self._supports[name] = self._bounded(np.array(name, dtype=np.intp))
        leaf, bound, _ = self._supports[name]
        if self.of_entries and leaf is None and bound > self.target:
            raise _Raised(bound)
        return self._supports[name]

    def _bounded(self, support: IntArray) -> tuple[Node | None, float, Node]:
        data, settings, k = self.data, self.settings.samples, len(support)
        self.check()
        by_lengths = data.sum_of_most(support, support[:0], 0)
        if by_lengths <= self.target or not k:
            return LENGTHS, by_lengths, LENGTHS
        local = self._local((support, support[:0], 0))
        starts = np.concatenate([np.linalg.eigh(local.X.T @ local.X)[1].T, np.eye(k)])
        v, outlook = self._ascended(local, starts, _FIRST_STEPS), Outlook()
        response: Bounder | None = None
        for bounder in self._responses(local, v, settings.gains):
            if self.cheap.holds(bounder, *local.node, outlook):
                return Dominance(bounder.attack), by_lengths, LENGTHS
            response = response or bounder
        goal = (self.target + self._paid(local)) * data.n * (1 - 1e-6)
        E = smoothed(local.X, local.rho, self._moves_of(response, local), goal, settings)
        attack = self._as_witness(E, local, local)
        best = self._bounder(attack)
        if self.cheap.holds(best, *local.node, outlook):
            return Dominance(attack), by_lengths, LENGTHS
        v = self._ascended(local, starts, _SUPPORTS_STEPS)
        for bounder in self._responses(local, v, settings.gains_at_supports):
            if self.cheap.holds(bounder, *local.node, outlook):
                return Dominance(bounder.attack), by_lengths, LENGTHS
        known, weaker = by_lengths, _BY_LENGTHS
        eigenvalues = np.linalg.eigvalsh(best.majorant.block(local.columns, 0.0))
        least = float(eigenvalues[-1]) * (1 + 1e-9) - self._paid(local)
        if 0 < least < known:
            known, weaker = least, Dominance(attack, None, least)
        if len(local.rows) <= settings.most_samples and not self.of_entries:
            envelope, bound = envelope_of(data, support, local.rows, self.target, self.settings, self.check)
            if bound <= self.target:
                return envelope, bound, envelope
            if bound < known:
                known, weaker = bound, envelope
        return None, known, weaker

    # The proof

    def _assembled(self) -> tuple[float, list[tuple[Node, Knot]]]:
        """Return the bound, and the nodes in preorder, each with the knot that it belongs to.

        Where what is below a knot proves less than the knot itself, its own proof is taken.
        """
        bounds: dict[int, float] = {}
        for knot in reversed(self._knots):
            below = knot.own
            if knot.proof is not None:
                below = max([self.target, *(bounds[id(kid)] for kid in knot.proof if isinstance(kid, Knot))])
            bounds[id(knot)] = min(below, max(knot.own, self.target))
        nodes, stack = list[tuple[Node, Knot]](), list[tuple[Node | Knot, Knot]]([(self.root, self.root)])
        while stack:
            one, owner = stack.pop()
            if not isinstance(one, Knot):
                nodes.append((one, owner))
                continue
            kids = [bounds[id(kid)] for kid in one.proof or () if isinstance(kid, Knot)]
            closed = one.proof is not None and max([self.target, *kids]) <= bounds[id(one)]
            inner: Sequence[Node | Knot] = one.proof if closed and one.proof is not None else one.fallback
            stack.extend((node, one) for node in reversed(inner))
        return bounds[id(self.root)], nodes

    def found(self) -> Found:
        """Return the smallest bound at hand that the kernel accepts; what it refuses counts as open."""
        step = 1e-12
        for _ in range(self.settings.kernel_attempts):
            bound, nodes = self._assembled()
            if bound != self.target:
                bound += step * max(abs(bound), 1e-190)
            target = min(bound, self.target)
            level = Level(max(self.data.k, 1), bound, target, self.features, tuple(node for node, _ in nodes))
            try:
                check_levels(self.data, [level], self.checked)
            except Refused as refusal:
                if refusal.node is None:
                    raise
                node, knot = nodes[refusal.node]
                if knot.proof is not None and any(node is one for one in knot.proof):
                    knot.proof = None  # its fallback may be the same leaf, a little above what it says
                else:
                    if knot.fallback == [LENGTHS]:
                        step *= 32.0
                    knot.fallback, knot.own = [LENGTHS], self.data.sum_of_most(*knot.node)
                continue
            return Found(bound, (level,), self.nodes)
        level = Level(max(self.data.k, 1), max(self.by_lengths, self.target), self.target, self.features, (LENGTHS,))
        return Found(check_levels(self.data, [level]), (level,), self.nodes)

    def smaller(self, found: Found, value: float) -> Found:
        """Return the smallest of some bounds above a value that the same witnesses prove."""
        if len(self.features) > self.settings.samples.most_features:  # each try is a pass over all pairs
            return found
        return smaller_bound(self.data, self.checked, self.settings, found, value)
