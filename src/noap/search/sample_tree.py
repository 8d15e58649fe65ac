"""The search against attacks on samples: attacks at nodes, cheap trees on what they leave, lines at decided supports.

root -> responses to the incumbent, with gains; a cheap tree on them, where it is promising
     -> the saddle-point solver, and a cheap tree on its attack; what that leaves open, or both children of a feature
decided supports -> responses with gains, lines about samples
"""

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from noap.kernel.arithmetic import Refused
from noap.kernel.samples import SampleData, SampleMajorant
from noap.kernel.tree import Checked, check_levels
from noap.kernel.witness import LENGTHS, Dominance, Feature, Level, Node, SampleAttack
from noap.linalg.types import FloatArray, IntArray
from noap.search.attacks import Duel, climbed, kept, opponents, sample_value, smoothed, squares, stepped
from noap.search.cheap import Better, Bounder, CheapTree, Hole, Outlook, children
from noap.search.prove import Found, smaller_bound
from noap.search.sample_lines import envelope_of
from noap.settings import Settings

__all__ = ["SampleSearch", "ascend_samples"]

_Node = tuple[IntArray, IntArray, int]


def ascend_samples(data: SampleData, settings: Settings, starts: FloatArray | None = None) -> FloatArray:
    """Return the best unit vector found; zeros where no choice is worth more than using no feature."""
    I, F, p = data.root()  # noqa: E741
    nothing: FloatArray = np.zeros(data.d)
    cols = np.concatenate([I, F])
    if not len(data.X) or not len(cols):
        return nothing
    X, rho, costs = data.X[:, cols] if len(cols) < data.d or len(I) else data.X, data.rho, data.n * data.costs[cols]
    V = [kept(X[np.argsort(-squares(X, len(I), p), kind="stable")[: settings.ascent_starts]], len(I), p)]
    lengths = np.einsum("ij,ij->j", X, X)
    longest = np.argsort(-lengths, kind="stable")[: settings.ascent_starts]
    if len(cols) <= settings.samples.most_features:
        A = np.zeros((len(cols), len(cols)))
        for block in data.portions():
            part = block[:, cols]
            A += part.T @ part
        V.append(kept(A[longest], len(I), p))
        if len(cols) <= 400:
            V.append(kept(np.linalg.eigh(A)[1][:, -4:].T.copy(), len(I), p))
    else:
        V.append(kept(np.ascontiguousarray((X.T @ X[:, longest[:8]]).T), len(I), p))
    if starts is not None:
        V.append(kept(np.atleast_2d(starts)[:, cols], len(I), p))
    whole = np.concatenate(V)
    whole = whole[whole.any(axis=1)]
    whole, values = stepped(X, rho, costs, whole, len(I), p, settings.ascent_first_steps)
    best = np.argsort(-values, kind="stable")[: 2 * settings.ascent_kept]
    whole, values = stepped(X, rho, costs, whole[best], len(I), p, 2 * settings.ascent_steps)
    v = nothing.copy()
    v[cols] = whole[int(np.argmax(values))]
    # Where features cost something a step may lose: what was known stays.
    return max([nothing, v, *(() if starts is None else np.atleast_2d(starts))], key=lambda x: sample_value(data, x))


@dataclass(eq=False)
class _Knot:
    """A node of the tree that is kept; what an attack on the node above left behind goes on in it.

    Attributes
    ----------
    node : (I, F, p)
    bound : float
        What is known of it by its own or by a node above.
    own, fallback : float, list of nodes
        A bound, and what proves it.
    proof : list of nodes and knots, or None while it is open
    rows, moves, V, weights : arrays or None
        Of the solver above: positions of samples, moves and opponents on the columns of `columns`.
    """

    node: _Node
    bound: float
    own: float
    fallback: list[Node]
    proof: "list[Node | _Knot] | None" = None
    key: float = np.inf
    columns: IntArray | None = None
    rows: IntArray | None = None
    moves: FloatArray | None = None
    V: FloatArray | None = None
    weights: FloatArray | None = None

    @property
    def bytes(self) -> int:
        """About what it holds."""
        return sum(0 if one is None else one.nbytes for one in (self.moves, self.V))


@dataclass
class _Local:
    """The samples and features of a node, as the solver takes them."""

    columns: IntArray
    rows: IntArray
    X: FloatArray
    rho: FloatArray
    inside: int
    p: int
    bounders: list[Bounder] = field(default_factory=list)


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
        self.most_bytes = most_bytes
        self.data, self.v, self.target, self.settings, self.check = data, v, target, settings, check
        I, F, p = data.root()  # noqa: E741
        F = F[data.most[F] > 0]
        self.features: IntArray = np.union1d(I, F).astype(np.intp)
        self.node: _Node = I, F if p > 0 else F[:0], min(p, len(F))
        self.by_lengths = data.sum_of_most(*self.node)
        self.root = _Knot(self.node, self.by_lengths, self.by_lengths, [LENGTHS])
        self._knots = [self.root]  # those above come first
        self._supports: dict[tuple[int, ...], tuple[list[Node] | None, float, list[Node]]] = {}
        self.cheap = CheapTree(data, target, settings, check)
        self.checked = Checked(data)
        self.examined, self.bytes = 0, 0
        self._kept: list[Bounder] = []
        self._open: list[tuple[float, int, _Knot]] = []
        self._numbers = itertools.count()
        self._given_up: list[_Knot] = []

    @property
    def nodes(self) -> int:
        """Nodes examined so far, each with the cheap trees on its attacks."""
        return self.examined

    @property
    def bound(self) -> float:
        """The bound so far, in floating point."""
        knots = [entry[2] for entry in self._open] + self._given_up
        if self.root.proof is None:
            return max(self.target, self.root.bound)
        return max([self.target, *(knot.bound for knot in knots)])

    def run(self) -> bool:
        """Search until the target is proved; False where it cannot be. Raises Stop when a limit is reached."""
        I, F, _ = self.node  # noqa: E741
        if len(I) + len(F) == 0 or self.by_lengths <= self.target:
            self.root.proof = [LENGTHS]
            return True
        settings = self.settings.samples
        if len(I) + len(F) > settings.most_features or len(self.data.X) * (len(I) + len(F)) > settings.most_entries:
            return self._respond_only()
        needed = self._needed(self.root)
        if self.most_bytes is not None and needed > self.most_bytes:
            if 48 * (len(I) + len(F)) ** 2 <= self.most_bytes and self._respond_only():
                return True
            self.bytes += needed
            self.check()
            return False
        self._push(self.root)
        while self._open:
            self.check()
            knot = self._open[0][2]
            needed = self._needed(knot)
            self.bytes += needed
            self.check()  # memory is heard before it is taken
            proof = self._examine(knot, knot is self.root)
            self.bytes -= needed
            self.examined += 1
            heapq.heappop(self._open)
            self.bytes -= knot.bytes
            if proof is None:
                self._given_up.append(knot)
                continue
            # In this order: whatever interrupts, no leaf is forgotten.
            knot.proof = proof
            knot.moves = knot.V = knot.rows = None
            for kid in proof:
                if isinstance(kid, _Knot) and kid.proof is None:
                    self._push(kid)
        return not self._given_up

    def relax(self) -> bool:
        """Bound the root by attacks and dominance alone, in polynomial time; return whether that proves the target."""
        I, F, p = self.node  # noqa: E741
        if len(I) + len(F) == 0 or self.by_lengths <= self.target:
            self.root.proof = [LENGTHS]
            return True
        settings = self.settings.samples
        if len(I) + len(F) > settings.most_features:
            return False
        local = self._local(I, F, p)
        bounders = []
        for bounder in self._responses(local, I, F, p, self.v, settings.gains):
            self.check()
            bounders.append(bounder)
            self._certify(self.root, bounder, 1)
        if self.root.bound > self.target and local.X.size <= settings.most_entries:
            duel = self._duel(self.root, local, bounders[0] if bounders else None, is_root=True)
            paid = float(self.data.costs[I].sum())
            duel.play((self.target + paid) * self.data.n, settings.looks_at_root, self.check)
            self._climb(duel, local)
            self._certify(self.root, self._bounder(self._as_witness(duel.E, local, I, F, p), np.ones(self.data.d)), 1)
        return self.root.bound <= self.target

    def _needed(self, knot: _Knot) -> int:
        """Return about how many bytes examining a node takes: its samples, moves thrice, opponents, matrices."""
        c = len(knot.node[0]) + len(knot.node[1])
        rows = len(self.data.X) if knot.rows is None else len(knot.rows)
        return rows * c * (8 + 3 * 4 + 8) + 8 * c * (6 * c + 3 * self.settings.samples.most_opponents)

    def _push(self, knot: _Knot) -> None:
        self.bytes += knot.bytes
        heapq.heappush(self._open, (-knot.key, next(self._numbers), knot))

    def _respond_only(self) -> bool:
        """Try the response to the incumbent where a matrix of all features fits; lengths are known already."""
        I, F, p = self.node  # noqa: E741
        if len(I) + len(F) > self.settings.samples.most_features:
            return False
        local = _Local(np.concatenate([I, F]), np.empty(0, np.intp), np.empty((0, 0)), np.empty(0), len(I), p)
        for bounder in self._responses(local, I, F, p, self.v, self.settings.samples.gains):
            self.check()
            self.cheap.bounders = [bounder]
            closed = self.cheap.close(I, F, p, self.settings.samples.cheap_nodes)
            if closed is not None:
                self.root.proof = [one for one in closed if not isinstance(one, Hole)]
                return True
            self._certify(self.root, bounder)
        return False

    # A node

    def _examine(self, knot: _Knot, is_root: bool) -> "list[Node | _Knot] | None":
        """Return what a node is closed by or split into; None where nothing helps."""
        settings = self.settings.samples
        I, F, p = (np.sort(knot.node[0]), np.sort(knot.node[1]), knot.node[2])  # noqa: E741
        if p == len(F) and not self.data.costs[F].any():
            return self._decided(knot, np.concatenate([I, F]))
        if self.data.sum_of_most(I, F, p) <= self.target:
            return [LENGTHS]
        local = self._local(I, F, p)
        self._inherit(knot, local)
        v = self.v if is_root else self._own_vector(knot, local)
        outlooks: list[tuple[float, int, Bounder]] = []
        for bounder in self._responses(local, I, F, p, v, settings.gains):
            outlook = Outlook()
            if self.cheap.holds(bounder, I, F, p, outlook):
                return [bounder.leaf(F, p)]
            outlooks.append((outlook.ratio, len(outlooks), bounder))
        good = [
            bounder for ratio, _, bounder in sorted(outlooks, key=lambda one: one[:2]) if ratio < settings.promising
        ]
        left = settings.left_at_root if is_root else settings.left_below
        if good:
            proof = self._cheap(knot, [*good[:2], *self._kept], settings.cheap_nodes, left)
            if proof is not None:
                return proof
        duel = self._duel(knot, local, outlooks[0][2] if outlooks else None, is_root)
        goal, looks = self.target * self.data.n, settings.looks_at_root if is_root else settings.looks_below
        paid = float(self.data.costs[I].sum()) * self.data.n
        last: Bounder | None = None
        for _ in range(settings.attempts):
            strongest = duel.play(goal + paid, looks, self.check)
            self._climb(duel, local)
            last = self._bounder(self._as_witness(duel.E, local, I, F, p), np.ones(self.data.d))
            knot.key = strongest
            knot.columns, knot.rows, knot.moves = local.columns, local.rows, duel.E
            knot.V, knot.weights = duel.V, duel.weights
            above = strongest > goal + paid and p > 2
            budget = settings.cheap_nodes * (1 if above else settings.cheap_factor)
            proof = self._cheap(knot, [last, *self._kept], budget, settings.left_at_root)
            if proof is not None:
                return proof
            if strongest > self.target * self.data.n + paid:
                break
            goal, looks = 0.96 * min(strongest - paid, goal), settings.looks_below
        assert last is not None
        if len(self._kept) < settings.kept_attacks and is_root:
            self._kept.append(last)
        self._certify(knot, last)
        mass = duel.weights @ (duel.V * duel.V)
        feature = int(local.columns[len(I) + int(np.argmax(mass[len(I) :]))])
        without, with_it = children(I, F, p, feature)
        return [Feature(feature), self._child(knot, *with_it), self._child(knot, *without)]

    def _child(self, knot: _Knot, I: IntArray, F: IntArray, p: int) -> _Knot:  # noqa: E741
        """Return a knot below one, with what is known there."""
        p = min(p, len(F))
        node = I, F if p > 0 else F[:0], p
        own = self.data.sum_of_most(*node)
        made = _Knot(node, min(own, knot.bound), own, [LENGTHS])
        made.key, made.columns, made.rows, made.moves = knot.key, knot.columns, knot.rows, knot.moves
        made.V, made.weights = knot.V, knot.weights
        self._knots.append(made)
        return made

    def _local(self, I: IntArray, F: IntArray, p: int) -> _Local:  # noqa: E741
        data = self.data
        columns, rows = np.concatenate([I, F]).astype(np.intp), data.counting(I, F, p)
        whole = len(rows) == len(data.X) and np.array_equal(columns, np.arange(data.d))
        X = data.X if whole else np.ascontiguousarray(data.X[np.ix_(rows, columns)])
        return _Local(columns, rows, X, data.rho[rows], len(I), p)

    def _inherit(self, knot: _Knot, local: _Local) -> None:
        """Restrict moves and opponents of the node above to this one."""
        if knot.moves is None or knot.columns is None or knot.rows is None:
            return
        assert knot.V is not None
        assert knot.weights is not None
        where = np.full(self.data.d, -1)
        where[knot.columns] = np.arange(len(knot.columns))
        at = np.full(len(self.data.X), -1)
        at[knot.rows] = np.arange(len(knot.rows))
        here = where[local.columns]
        knot.moves = np.ascontiguousarray(knot.moves[np.ix_(at[local.rows], here)])
        others = np.ones(len(knot.columns), dtype=np.bool_)
        others[here] = False
        inside = ~(knot.V[:, others] != 0).any(axis=1)
        V = knot.V[inside][:, here]
        fits = (V[:, local.inside :] != 0).sum(axis=1) <= local.p
        knot.V, knot.weights = V[fits], knot.weights[inside][fits]
        knot.columns, knot.rows = local.columns, local.rows

    def _own_vector(self, knot: _Knot, local: _Local) -> FloatArray:
        """Return a good vector of a node; raise Better where it is worth more than the target."""
        data = self.data
        A = local.X.T @ local.X
        V = opponents(A, local.inside, local.p, 6)
        if knot.V is not None and len(knot.V):
            V = np.concatenate([V, knot.V[:10]])
        costs = data.n * data.costs[local.columns]
        V, values = stepped(local.X, local.rho, costs, V, local.inside, local.p, 15)
        v: FloatArray = np.zeros(data.d)
        v[local.columns] = V[int(np.argmax(values))]
        self._improve(v)
        return v

    def _improve(self, v: FloatArray) -> None:
        """Raise Better where a vector is worth more than the target."""
        if v.any() and sample_value(self.data, v) > self.target:
            raise Better(v)

    def _climb(self, duel: Duel, local: _Local) -> None:
        """Ascend from the strongest opponents; raise Better where that ends above the target."""
        gets = np.einsum("ij,ij->i", duel.V @ duel.M, duel.V)
        V = duel.V[np.argsort(-gets, kind="stable")[:6]]
        costs = self.data.n * self.data.costs[local.columns]
        V, values = stepped(local.X, local.rho, costs, V, local.inside, local.p, 12)
        v: FloatArray = np.zeros(self.data.d)
        v[local.columns] = V[int(np.argmax(values))]
        self._improve(v)

    # Attacks

    def _bounder(self, attack: SampleAttack, z: FloatArray) -> Bounder:
        return Bounder(attack, SampleMajorant(self.data, attack), z)

    def _responses(
        self,
        local: _Local,
        I: IntArray,  # noqa: E741
        F: IntArray,
        p: int,
        v: FloatArray,
        gains: tuple[float, ...],
    ) -> Iterator[Bounder]:
        """Yield the response to a vector, plainly and with gains in multiples of what every sample of R has."""
        at = np.flatnonzero(v)
        if not len(at) or not np.isin(at, local.columns).all():
            return
        spread = 1.0 if p == 0 else self.settings.samples.spread if len(I) > p else 0.0
        plain = SampleAttack(I, F, p, at, v[at], 0.0, spread)
        try:
            yield self._bounder(plain, np.ones(self.data.d))
            least = self._least_gain(local, v)
            for factor in gains if least > 0 else ():
                gain = float(np.float32(factor * least))
                yield self._bounder(SampleAttack(I, F, p, at, v[at], gain, spread), np.ones(self.data.d))
        except Refused:
            return

    def _least_gain(self, local: _Local, v: FloatArray) -> float:
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

    def _duel(self, knot: _Knot, local: _Local, response: Bounder | None, is_root: bool) -> Duel:
        """Return the solver at a node, from the moves of the node above or from those of the response."""
        E = _moves_of(response, local).astype(np.float32)
        V: FloatArray = np.zeros((0, len(local.columns)))
        weights: FloatArray = np.zeros(0)
        if knot.V is not None and knot.weights is not None and len(knot.V) and knot.weights.sum() > 0:
            V, weights = knot.V.copy(), knot.weights / knot.weights.sum()
        settings = self.settings.samples
        duel = Duel(local.X, local.rho, local.inside, local.p, E, V, weights, settings, 0 if is_root else 50)
        if knot.moves is not None and knot.moves.shape == E.shape:
            # The better start of the two.
            M, N = duel.gram(E), duel.gram(knot.moves)
            C = np.concatenate([V, opponents(M, local.inside, local.p, 12), opponents(N, local.inside, local.p, 12)])
            here, there = (climbed(G, C, local.inside, local.p, 4)[1].max() for G in (M, N))
            if there < here:
                duel.E = knot.moves.copy()
        return duel

    def _as_witness(self, E: FloatArray, local: _Local, I: IntArray, F: IntArray, p: int) -> SampleAttack:  # noqa: E741
        """Return an attack as a witness, in single precision and within its budgets."""
        scale = np.sqrt(squares(E.astype(np.float64), local.inside, local.p))
        least = np.minimum(1.0, local.rho / np.maximum(scale, 1e-300) * (1 - 3e-7))
        moves = (E * least[:, None]).astype(np.float32)
        return SampleAttack(I, F, p, rows=self.data.rows[local.rows], moves=moves)

    # Cheap trees

    def _cheap(self, knot: _Knot, bounders: list[Bounder], budget: int, left: int) -> "list[Node | _Knot] | None":
        """Return a subtree by these majorants with decided supports closed and few nodes open, or None."""
        self.cheap.bounders = bounders
        found = self.cheap.close(*knot.node, budget, left + self.settings.samples.decided_inline)
        if found is None or (len(found) == 1 and isinstance(found[0], Hole)):
            return None
        open_ = sum(isinstance(one, Hole) and one.places > 0 for one in found)
        closed: dict[int, list[Node]] = {}
        for number, one in enumerate(found):
            if open_ > left:
                return None
            if isinstance(one, Hole) and one.places == 0:
                leaf = self._support(one.included)[0]
                if leaf is not None:
                    closed[number] = leaf
                open_ += leaf is None
        proof = list[Node | _Knot]()
        for number, one in enumerate(found):
            if number in closed:
                proof += closed[number]
            else:
                proof.append(self._child(knot, one.included, one.free, one.places) if isinstance(one, Hole) else one)
        return proof if open_ <= left else None

    def _certify(self, knot: _Knot, bounder: Bounder, nodes: int = 0) -> None:
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

    def _decided(self, knot: _Knot, support: IntArray) -> "list[Node | _Knot] | None":
        """Return what closes a node of one support; None, with the best bound noted, where nothing does."""
        proof, bound, fallback = self._support(support)
        if proof is not None:
            return [*proof]
        knot.own, knot.fallback, knot.bound = bound, fallback, min(bound, knot.bound)
        return None

    def _support(self, support: IntArray) -> tuple[list[Node] | None, float, list[Node]]:
        """Return what closes a support or None, its bound, and what proves that; each support is looked at once."""
        name = tuple(np.sort(support).tolist())
        if name not in self._supports:
            self._supports[name] = self._bounded(np.array(name, dtype=np.intp))
        return self._supports[name]

    def _bounded(self, support: IntArray) -> tuple[list[Node] | None, float, list[Node]]:
        data, settings, none = self.data, self.settings.samples, support[:0]
        self.check()
        by_lengths = data.sum_of_most(support, none, 0)
        if by_lengths <= self.target or not len(support):
            return [LENGTHS], by_lengths, [LENGTHS]
        local = self._local(support, none, 0)
        k = len(support)
        starts = np.concatenate([np.linalg.eigh(local.X.T @ local.X)[1].T, np.eye(k)])
        V, values = stepped(local.X, local.rho, np.zeros(k), starts, k, 0, 60)
        v: FloatArray = np.zeros(data.d)
        v[support] = V[int(np.argmax(values))]
        self._improve(v)
        outlook, response = Outlook(), None
        for bounder in self._responses(local, support, none, 0, v, settings.gains_at_supports):
            if self.cheap.holds(bounder, support, none, 0, outlook):
                return [Dominance(bounder.attack)], by_lengths, [LENGTHS]
            response = response or bounder
        E = _moves_of(response, local)
        goal = (self.target + float(data.costs[support].sum())) * data.n * (1 - 1e-6)
        E = smoothed(local.X, local.rho, E, goal, settings)
        attack = self._as_witness(E, local, support, none, 0)
        if self.cheap.holds(self._bounder(attack, np.ones(data.d)), support, none, 0, outlook):
            return [Dominance(attack)], by_lengths, [LENGTHS]
        if len(local.rows) > settings.most_samples:
            return None, by_lengths, [LENGTHS]
        envelope, bound = envelope_of(data, support, local.rows, self.target, self.settings, self.check)
        if bound <= self.target:
            return [envelope], bound, [LENGTHS]
        return (None, bound, [envelope]) if bound < by_lengths else (None, by_lengths, [LENGTHS])

    # The proof

    def _assembled(self) -> tuple[float, list[tuple[Node, _Knot]]]:
        """Return the bound, and the nodes in preorder, each with the knot that it belongs to.

        Where what is below a knot proves less than the knot itself, its own proof is taken.
        """
        bounds: dict[int, float] = {}
        for knot in reversed(self._knots):
            below = knot.own
            if knot.proof is not None:
                below = max([self.target, *(bounds[id(kid)] for kid in knot.proof if isinstance(kid, _Knot))])
            bounds[id(knot)] = min(below, max(knot.own, self.target))
        nodes, stack = list[tuple[Node, _Knot]](), list[tuple[Node | _Knot, _Knot]]([(self.root, self.root)])
        while stack:
            one, owner = stack.pop()
            if not isinstance(one, _Knot):
                nodes.append((one, owner))
                continue
            kids = [bounds[id(kid)] for kid in one.proof or () if isinstance(kid, _Knot)]
            closed = one.proof is not None and max([self.target, *kids]) <= bounds[id(one)]
            inner: Sequence[Node | _Knot] = one.proof if closed and one.proof is not None else one.fallback
            stack.extend((node, one) for node in reversed(inner))
        return bounds[id(self.root)], nodes

    def found(self) -> Found:
        """Return the smallest bound at hand that the kernel accepts; what it refuses counts as open."""
        step = 1e-12
        for _ in range(self.settings.kernel_attempts):
            bound, nodes = self._assembled()
            if bound > self.target:
                bound += step * max(abs(bound), 1e-190)
            level = Level(max(self.data.k, 1), bound, self.target, self.features, tuple(node for node, _ in nodes))
            try:
                check_levels(self.data, [level], self.checked)
            except Refused as refusal:
                if refusal.node is None:
                    raise
                node, knot = nodes[refusal.node]
                if any(node is one for one in knot.fallback):
                    if knot.fallback == [LENGTHS]:
                        step *= 32.0
                    knot.fallback, knot.own = [LENGTHS], self.data.sum_of_most(*knot.node)
                else:
                    knot.proof = None
                continue
            return Found(bound, (level,), self.nodes)
        level = Level(max(self.data.k, 1), max(self.by_lengths, self.target), self.target, self.features, (LENGTHS,))
        return Found(check_levels(self.data, [level]), (level,), self.nodes)

    def smaller(self, found: Found, value: float) -> Found:
        """Return the smallest of some bounds above a value that the same witnesses prove."""
        return smaller_bound(self.data, self.checked, self.settings, found, value)


def _moves_of(response: Bounder | None, local: _Local) -> FloatArray:
    """Return the attack of a response on the samples in question; none without a response."""
    if response is None or not isinstance(response.majorant, SampleMajorant):
        return np.zeros(local.X.shape)
    return response.majorant.moves(local.rows)
