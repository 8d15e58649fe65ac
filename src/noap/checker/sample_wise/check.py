"""Walk a sample-wise proof and re-prove every leaf."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.sample_wise.data import SampleData
from noap.checker.sample_wise.kernels import attack as kernels
from noap.checker.sample_wise.kernels.cones import DEEP, cones_hold
from noap.linalg.outward import UNIT, gamma, gram_of_blocks
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.sample_wise import CLOSED, CONES, LENGTHS, SampleProof
from noap.runtime.compilation import compiling

__all__ = ["check_samples"]

# Matrix entries that the enumeration of one leaf may touch, with its eliminations, at least and at most: a second and
# half a minute. In between, so many times the entries of the leaf's matrix.
_WORK, _MOST_WORK, _PASSES = 40_000_000, 1_600_000_000, 800
# A support of more features than this is not covered by cones; cones per leaf, and cuts one after the other.
_MOST_FEATURES, _MOST_CONES, _DEEPEST = 12, 8_000_000, 256
# Entries of samples that the cones of one leaf may touch: a minute or two. Every cone touches all of them twice.
_CONE_WORK = 1e11
# Scores that the cones of one leaf may keep.
_MOST_SCORES = 1 << 27
# Open nodes may hold this many numbers in all; a proof that needs more is refused.
_MOST_HELD = 2e8


class _Refused(Exception):
    """The proof does not hold; the message says where."""


@dataclass(frozen=True, eq=False)
class _Attacked:
    """The Gram matrix of the data under an attack that is feasible where it came into force.

    Attributes
    ----------
    M : array of shape (m, m)
        Each entry within `error` of that of (Y+E)'(Y+E).
    position : array of shape (c,)
        Where a column of the data stands in M; -1 if it does not.
    """

    M: FloatArray
    error: float
    position: IntArray

    @property
    def size(self) -> int:
        return self.M.size + len(self.position)


@dataclass(frozen=True, eq=False)
class _Node:
    """Directions with support in inc + Q, Q at most k - |inc| of the free columns; and the attack in force."""

    inc: IntArray
    free: IntArray
    attacked: _Attacked | None

    @property
    def size(self) -> int:
        return len(self.inc) + len(self.free) + 64


def check_samples(data: SampleData, k: int, proof: SampleProof, T: float, allowance: Allowance) -> str | None:
    """Return None if the proof shows that no direction has a sum above T, else the reason why not.

    T is in the units of `data`.
    """
    reason = proof.broken_tree()
    if reason is not None:
        return reason
    try:
        with compiling((kernels.closes, kernels.confine), "the checker"):
            _Walk(data, k, proof, T, allowance).run()
    except _Refused as refused:
        return str(refused)
    return None


class _Walk:
    def __init__(self, data: SampleData, k: int, proof: SampleProof, T: float, allowance: Allowance) -> None:
        self.data, self.k, self.proof, self.T, self.allowance = data, k, proof, T, allowance
        # Numbers that open nodes hold.
        self.held = 0
        self.row_of = np.full(data.n, -1)
        self.row_of[data.rows] = np.arange(len(data.rows))

    def run(self) -> None:
        none = np.empty(0, dtype=np.int64)
        # None stands for a node without directions: nothing is left to prove below it.
        stack: list[_Node | None] = [_Node(none, np.arange(len(self.data.columns)), None)]
        held = 0
        users: Counter[_Attacked] = Counter()
        for place in range(len(self.proof)):
            self.allowance.check()
            node = stack.pop()
            held -= self._count(users, node, -1)
            children = list(self._children(place, node))[::-1]
            stack += children
            held += sum(self._count(users, child, 1) for child in children)
            if held > _MOST_HELD or len(stack) > _MOST_HELD / 64:
                raise _Refused("the tree is too deep.")
            self.held = held
            self.allowance.need(held)

    @staticmethod
    def _count(users: "Counter[_Attacked]", node: _Node | None, step: int) -> int:
        """Note that a node waits, or no longer does; returns the numbers it holds. An attack counts once."""
        if node is None:
            return 0
        attacked, size = node.attacked, node.size
        if attacked is not None:
            users[attacked] += step
            if users[attacked] == (1 if step > 0 else 0):
                size += attacked.size
            if users[attacked] == 0:
                del users[attacked]
        return size

    def _children(self, place: int, node: _Node | None) -> Iterator[_Node | None]:
        proof = self.proof
        kind, number = int(proof.kind[place]), int(proof.attack[place])
        if node is not None and number > 0:
            node = _Node(node.inc, node.free, self._under_attack(node, number - 1))
        if kind == CLOSED:
            if node is not None:
                self._close(place, node)
        elif kind == CONES:
            if node is not None:
                self._cover(place, node)
        elif kind == LENGTHS:
            if node is not None and not self._crude(node) <= self._allowed(node):
                raise _Refused(f"leaf {place} stays open: its samples are long enough to exceed the claim.")
        elif node is None:
            yield from (None, None)
        else:
            feature = self.data.place_of[int(proof.feature[place])]
            if feature in node.inc:
                raise _Refused(f"node {place} splits on feature {proof.feature[place]}, which is included already.")
            yield self._including(node, feature)
            yield _Node(node.inc, node.free[node.free != feature], node.attacked)

    def _including(self, node: _Node, feature: int) -> _Node | None:
        if len(node.inc) == self.k or feature not in node.free:
            return None
        return _Node(np.append(node.inc, feature), node.free[node.free != feature], node.attacked)

    def _allowed(self, node: _Node) -> float:
        """Return at most what a sum may be for a direction that uses all included features: T, and their costs."""
        costs = self.data.costs[node.inc]
        return self.T + float(costs.sum()) * (1.0 - gamma(len(costs) + 4)) if costs.any() else self.T

    def _places(self, node: _Node) -> int:
        return min(self.k - len(node.inc), len(node.free))

    def _columns(self, node: _Node) -> IntArray:
        """Return the node's columns, the included ones first; without places the free ones do not count."""
        return np.concatenate([node.inc, node.free]) if self._places(node) else node.inc

    def _under_attack(self, node: _Node, number: int) -> _Attacked:
        """Bring an attack into force: entries that are not written down are 0, rows that are not are -y_i."""
        data, columns, size = self.data, self._columns(node), self.proof.size_of(number)
        self.allowance.need(self.held + 3 * len(data.Y) * len(columns) + 3 * size + 4 * len(columns) ** 2)
        Y = np.ascontiguousarray(data.Y[:, columns])
        E = -Y
        rows, features, values = self.proof.matrix(number)
        with np.errstate(over="ignore", under="ignore"):  # a row that overflows is not used
            values = np.ldexp(values, data.unit[rows, None] - data.exponent)
        rows, features = self.row_of[rows], data.place_of[features]
        within = np.full(len(data.columns), -1)
        within[columns] = np.arange(len(columns))
        to = np.where(features >= 0, within[features], -1)
        E[rows[rows >= 0]] = 0.0
        E[np.ix_(rows[rows >= 0], to[to >= 0])] = values[np.ix_(rows >= 0, to >= 0)]
        kernels.confine(Y, E, len(node.inc), self._places(node), data.r)
        # A pass over the samples, and the entries of the attack.
        self.allowance.spent(16.0 * Y.size + 8.0 * size)
        E += Y
        M, error = gram_of_blocks([E], len(E), len(columns), self.allowance.spent)
        # Y + E was rounded entry by entry: relatively by 2 ulps in each product.
        error += 3.0 * UNIT * float(M.diagonal().max(initial=0.0))
        return _Attacked(M, error, within)

    def _close(self, place: int, node: _Node) -> None:
        attacked, p = node.attacked, self._places(node)
        if attacked is None:
            raise _Refused(f"leaf {place} stays open: no attack is in force there.")
        free = attacked.position[node.free] if p else np.empty(0, dtype=np.int64)
        inc = attacked.position[node.inc]
        self.allowance.need(self.held + 4 * (len(inc) + len(free)) ** 2)
        work = min(max(_PASSES * len(free) ** 2, _WORK), _MOST_WORK)
        M, error = self._less_costs(attacked, node) if p else (attacked.M, attacked.error)
        left = kernels.closes(M, error, inc, free, p, self._allowed(node), work, self.allowance.clock)
        self.allowance.check_kernel()
        if left < 0:
            raise _Refused(f"leaf {place} stays open: its attack does not hold it below the claim.")

    def _less_costs(self, attacked: _Attacked, node: _Node) -> tuple[FloatArray, float]:
        """Take the costs of free features off the diagonal: a unit v pays at least v_j^2 times each that it uses."""
        costs = self.data.costs[node.free]
        if not costs.any():
            return attacked.M, attacked.error
        at, M = attacked.position[node.free], attacked.M.copy()
        self.allowance.need(self.held + M.size)
        own = M[at, at]
        M[at, at] = own - np.minimum(costs, np.maximum(own, 0.0))
        return M, attacked.error + UNIT * float(own.max(initial=0.0)) * 1.001

    def _crude(self, node: _Node) -> float:
        """Return at least the sum of (N(y_i) - rho_i)_+^2."""
        columns = self._columns(node)
        self.allowance.need(self.held + len(self.data.Y) * (len(columns) + 2))
        self.allowance.spent(8.0 * len(self.data.Y) * len(columns))
        Y = np.ascontiguousarray(self.data.Y[:, columns])
        x = np.maximum(kernels.lengths_up(Y, len(node.inc), self._places(node)) - self.data.r, 0.0)
        return float(x @ x) * (1.0 + gamma(len(x) + 8))

    def _cover(self, place: int, node: _Node) -> None:
        if self._places(node) < len(node.free) and self._places(node):
            raise _Refused(f"leaf {place} has more than one support: cones do not apply.")
        columns = self._columns(node)
        size = len(columns)
        if size > _MOST_FEATURES:
            raise _Refused(f"leaf {place} has more than {_MOST_FEATURES} features: too many for cones.")
        if size == 0:
            return
        self.allowance.need(self.held + len(self.data.Y) * (2 * size + 2))
        Y = np.ascontiguousarray(self.data.Y[:, columns])
        long = ~(kernels.lengths_up(Y, size, 0) <= self.data.r)
        Y, r = Y[long], self.data.r[long]
        most = min(_MOST_CONES, int(_CONE_WORK / (2 * Y.size + 1)))
        deepest = min(_DEEPEST, _MOST_SCORES // (len(Y) + 1))
        # A row of scores for every generator and for every cut, half of them twice while rows are added; the samples,
        # and those of an orthant.
        rows = (self.allowance.room - self.held) / (len(Y) + 1) - 4 * size - 2
        allowed = deepest if rows >= 1.5 * (size + deepest) else max(int(rows / 1.5) - size, 0)
        found = cones_hold(Y, r, self._allowed(node), most, allowed, self.allowance.clock)
        self.allowance.check_kernel()
        if found == DEEP and allowed < deepest:
            self.allowance.need(np.inf)
        if found < 0:
            raise _Refused(f"leaf {place} stays open: its cones do not fall below the claim.")
