"""The relaxation: inequalities where the bound is made, and a tree over which features take the places."""

import heapq
import itertools
import math
from collections.abc import Generator

import numpy as np

from noap.exact.relaxation.aim import Aim
from noap.exact.relaxation.core import Core
from noap.exact.relaxation.costed import CostedMultiplier
from noap.exact.relaxation.costed_aim import CostedAim
from noap.exact.relaxation.envelope import Line, bound_of
from noap.exact.relaxation.inequality import Inequality
from noap.exact.relaxation.multiplier import Multiplier, Nearby
from noap.exact.relaxation.node import Node
from noap.exact.relaxation.outer import Candidate
from noap.exact.relaxation.record import proof_of_tree
from noap.exact.relaxation.spectrum import largest_eigenvalue
from noap.exact.relaxation.thresholds import Threshold
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.relaxation import RelaxationProof

__all__ = ["MOST_FEATURES", "Relaxation"]

# Up to here the multipliers of all features are looked for by ADMM, one eigendecomposition a step; beyond, thresholds
# stand for them, and then those of a core of the features.
MOST_FEATURES = 600
# Thresholds at most, and the ratio of two of them between which another one is not worth its cost.
_THRESHOLDS, _NEAR_THRESHOLDS = 24, 1.04
# Steps of ADMM between two looks at what they lead to, and at most for one inequality: at the root, and below.
_STEPS, _MOST_AT_ROOT, _MOST_BELOW = 5, 100, 10
# Inequalities at most: at the root or where all is decided, and below.
_INEQUALITIES_AT_ROOT, _INEQUALITIES_BELOW = 16, 3
# After the second, each has to take this part of what is left above the target: otherwise branching is better. Where
# nobody branches, little is better than nothing.
_WORTH_IT, _WORTH_IT_ALONE = 0.2, 0.02
# What an eigendecomposition costs, in units of the entries of the matrix: some, and some for each feature.
_PRICE, _PRICE_EACH = 0.6, 0.01
# With a core: how often nothing may come out of it, and the slope to begin with, as a part of that of the threshold.
_IDLE, _FIRST_SLOPE = 2, 0.25
# What a factorisation costs, per feature cubed.
_FACTORISING = 0.01
# By what a step costs more where rows pay for their places in two ways, and what it costs beside: costs often come with
# small problems, which trees close in a millisecond.
_COSTED, _STEP_OF_COSTED = 2.0, 1e5
# Bytes of open nodes and their inequalities, after which the tree does not grow.
_MOST_HELD = 400_000_000


class Relaxation:
    """A bound on the robust variance from the Gram matrix of the features alone; it can be paused at any time.

    Parameters
    ----------
    A, rho, k
        As an instance has them.
    branching : bool
        Without it, the bound is that of the root: polynomial time.
    weights : array of shape (m,), optional
        What share of rho the budget of each feature is; above 0, and 1 for the largest. All have rho by default.
    costs : array of shape (m,), optional
        Taken off for every feature that is used; for no more than MOST_FEATURES features.

    Attributes
    ----------
    work : float
        What it has cost, in entries of matrices.
    done : bool
        Whether more work would not lower the bound.
    nodes : int
    """

    def __init__(
        self,
        A: FloatArray,
        rho: float,
        k: int,
        *,
        branching: bool = True,
        weights: FloatArray | None = None,
        costs: FloatArray | None = None,
    ) -> None:
        self.A, self.rho, self.k, self.branching, self.weights, self.costs = A, rho, k, branching, weights, costs
        self.top = float(np.abs(A).max())
        self.steepest = self.top if weights is None else float((np.abs(A) / np.outer(weights, weights)).max())
        self.work, self.nodes, self.bytes = 0.0, 1, 0
        self.done = False
        self.target = 0.0
        slopes = (self.steepest, 0.0) if len(A) <= MOST_FEATURES else (self.steepest,)
        known = [one for mu in slopes if (one := Inequality.of_threshold(A, mu, weights)) is not None]
        state = _state(A, weights, costs) if len(A) <= MOST_FEATURES else None
        every = np.ones(len(A), dtype=np.bool_)
        span = None if weights is None else _span(weights, k)
        self.root = Node(~every, every, known, state, rho, k, span=span, costs=costs, weights=weights)
        self._pending: Node | None = self.root  # the node that is looked at, or whose children are
        self._open: list[tuple[float, int, Node]] = []
        self._numbers = itertools.count()
        self._search = self._by_core() if state is None else self._by_tree()
        self.W: FloatArray | None = None if state is None else state.W
        """The relaxed vv' at the root, None where only thresholds were used."""

    @property
    def bound(self) -> float:
        """The bound so far: the largest of a leaf."""
        highest = -self._open[0][0] if self._open else 0.0
        return highest if self._pending is None else max(highest, self._pending.bound)

    def advance(self, target: float = 0.0) -> None:
        """Work for a moment; what is below the target is good enough."""
        self.target = target
        if not self.done and next(self._search, self) is self:
            self.done = True

    def rest(self) -> None:
        """Stop for good, and keep only what the proof needs."""
        self.done = True
        self._search.close()
        for node in (self._pending, *(node for *_, node in self._open)):
            if node is not None:
                node.state = None

    def proof(self, features: IntArray, unit: float) -> RelaxationProof:
        """Return what proves the bound.

        Parameters
        ----------
        features : which features of the problem the matrix is about
        unit : what values here are in the units of the problem
        """
        return proof_of_tree(self.root, features, unit, self.top)

    def _by_thresholds(self) -> Generator[None, None, None]:
        """Try thresholds around the one whose line touches the lowest curve where the bound is made."""
        # Slopes and what t they are good for; at slope 0 nothing holds it together, at the top it is one feature.
        spreads = [(0.0, math.inf), (self.steepest, self.root.span[0])]
        while len(spreads) <= _THRESHOLDS:
            below = max(mu for mu, spread in spreads if spread > self.root.worst)
            above = min(mu for mu, spread in spreads if spread <= self.root.worst)
            if above <= _NEAR_THRESHOLDS * below:
                return
            # From above, where the thresholded matrix is sparse and falls into small blocks.
            mu = math.sqrt(max(below, above / 2) * above)
            threshold = Threshold(self.A, mu, self.weights)
            spreads.append((mu, threshold.spread))
            if self._would_lower(Line(threshold.guess, threshold.far)):
                made = Inequality.of(threshold)
                if made is not None:
                    self.root.add(made)
            self.work += threshold.cost
            yield

    def _by_core(self) -> Generator[None, None, None]:
        """Try thresholds, and then multipliers on the features that these do not do with."""
        yield from self._by_thresholds()
        if self.root.bound <= self.target or self.costs is not None:
            return  # a core says nothing of costs
        weights = np.ones(len(self.A)) if self.weights is None else self.weights
        lowest = min(self.root.inequalities, key=lambda one: one.c + one.mu * self.root.worst)
        core = Core(self.A, weights, self.k, Threshold(self.A, lowest.mu, self.weights).matrix)
        if self.rho == 0.0:
            self.root.slope = _FIRST_SLOPE * lowest.mu
        idle = 0
        while idle < _IDLE:
            before = self.root.bound - self.target
            if before <= 0:
                return
            for found in core.improve(self.root, Aim.at(self.root, self.target, self.top)):
                self.work += core.work
                core.work = 0.0
                if found is not None:
                    self._learn(found, weights)
                yield
            idle = idle + 1 if self.root.bound - self.target > (1 - _WORTH_IT_ALONE) * before else 0

    def _learn(self, found: Candidate, weights: FloatArray) -> None:
        """Prove what a matrix with a core says, where it says more than is known."""
        if self._would_lower(Line(found.guess, found.slope)):
            self.root.add(Inequality.of_core(self.A, found, weights))
            self.work += _FACTORISING * float(len(self.A)) ** 3

    def _would_lower(self, guess: Line) -> bool:
        """Whether a line would lower the bound: a factorisation of all features costs far more than the guess."""
        lines = [one.line(self.root.included, self.root.free, self.k) for one in self.root.inequalities]
        return bound_of([*lines, guess], self.rho, *self.root.span[::-1])[0] < self.root.bound

    def _by_tree(self) -> Generator[None, None, None]:
        """Look at the root, then branch where the bound is largest; ends where that cannot be."""
        yield from self._look_at(self.root, _INEQUALITIES_AT_ROOT, _MOST_AT_ROOT)
        assert self.root.state is not None
        self.W = self.root.state.W
        self._keep(self.root)
        while self.branching and self.bytes <= _MOST_HELD:
            node = self._open[0][2]
            children = node.branched()
            if children is None:
                return
            # In this order: whatever interrupts, no leaf is forgotten.
            self._pending = node
            heapq.heappop(self._open)
            for child in children:
                decided = not child.free.any()
                lines = _INEQUALITIES_AT_ROOT if decided else _INEQUALITIES_BELOW
                yield from self._look_at(child, lines, _MOST_AT_ROOT if decided else _MOST_BELOW)
            # Only now: whatever interrupts before, the node itself is a leaf.
            node.children, node.state = children, None
            self.nodes += 2
            for child in children:
                self._keep(child)
            self._pending = None

    def _keep(self, node: Node) -> None:
        """Put a node among those to branch on."""
        if node.bound <= self.target:
            node.state = None
        elif node.state is not None:
            self.bytes += 4 * node.state.W.nbytes
        heapq.heappush(self._open, (-node.bound, next(self._numbers), node))
        if node is self.root:
            self._pending = None

    def _look_at(self, node: Node, most: int, steps: int) -> Generator[None, None, None]:
        """Find inequalities at the t where the bound is made, as long as they lower it."""
        before, worth_it = math.inf, _WORTH_IT if self.branching else _WORTH_IT_ALONE
        for number in range(most):
            if node.bound <= self.target or not node.allowed.any():
                return  # of no features there is no matrix
            if number >= 2 and node.bound - self.target > (1 - worth_it) * (before - self.target):
                return
            before = node.bound
            best = yield from self._best(node, steps)
            made = Inequality.of_matrix(self.A, node.features, best, self.weights)
            if made is not None:
                self.bytes += made.bytes
                node.add(made)

    def _best(self, node: Node, steps: int) -> Generator[None, None, Nearby]:
        """Return the matrix that says most of the t at which the bound is made, of those that ADMM passes by."""
        assert node.state is not None
        if isinstance(node.state, CostedMultiplier):
            return (yield from self._best_with_costs(node, node.state, steps))
        state, aim = node.state, Aim.at(node, self.target, self.top)
        free, m = node.free[node.allowed], len(state.A)
        best: Nearby | None = None
        lowest = math.inf
        for _ in range(0, steps, _STEPS):
            found = state.advance(aim.slope, free, node.places, _STEPS)
            self.work += _STEPS * m * m * (_PRICE + _PRICE_EACH * m)
            height = largest_eigenvalue(found.B) + aim.slope * aim.t
            if height < lowest or best is None:
                lowest, best = height, found
            yield
            if lowest <= aim.height:
                break
            aim.adjust(*state.spread(free, node.places))
        node.slope = aim.slope
        assert best is not None
        return best

    def _best_with_costs(self, node: Node, state: CostedMultiplier, steps: int) -> Generator[None, None, Nearby]:
        """Return the same where features cost something."""
        assert node.costs is not None
        free, m = node.free[node.allowed], len(state.A)
        aim = CostedAim.at(node, self.target, state.cost(free) * state.kept)
        state.t, state.kept, state.at_end = aim.t, aim.kept, aim.at_end
        state.costs = node.costs[node.allowed] / aim.kept
        best: Nearby | None = None
        lowest = math.inf
        for _ in range(0, steps, _STEPS):
            found = state.advance(aim.slope, free, node.places, _STEPS)
            self.work += _STEPS * (_COSTED * m * m * (_PRICE + _PRICE_EACH * m) + _STEP_OF_COSTED)
            height = largest_eigenvalue(found.B) + state.above
            if height < lowest or best is None:
                lowest, best = height, found
            yield
            if lowest <= aim.height:
                break
        assert best is not None
        return best


def _state(A: FloatArray, weights: FloatArray | None, costs: FloatArray | None) -> Multiplier:
    return Multiplier.of(A, weights) if costs is None else CostedMultiplier.with_costs(A, costs, weights)


def _span(weights: FloatArray, k: int) -> tuple[float, float]:
    """Return between which numbers (sum_i w_i |v_i|)^2 lies for unit vectors of at most k features."""
    squares = np.sort(weights)[::-1] ** 2
    return float(squares[-1]) * (1 - 1e-15), float(squares[:k].sum()) * (1 + 1e-15 * (k + 2))
