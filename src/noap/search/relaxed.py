"""The relaxation at the nodes of a tree: lines where the bound is made, until it meets the target or does not pay."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from noap.kernel.witness import Envelope
from noap.linalg.types import FloatArray, IntArray
from noap.search.lines import Choices, KnownLine, line_of, lowest_bound, threshold_line
from noap.search.multipliers import Multipliers
from noap.search.relaxation_settings import RelaxationSettings
from noap.search.spectrum import largest_eigenvalue

__all__ = ["Relaxation", "RelaxedNode"]


@dataclass
class RelaxedNode:
    """What is known of a node (I, F, p).

    Attributes
    ----------
    choices : Choices
    signs : array of shape (m,)
        Known signs of the entries of v, 0 where unknown.
    lines : list of KnownLine
        From its ancestors as well; those that the bound needs.
    state : Multipliers or None
        To go on from, on the node's features in ascending order; None where nobody will.
    bound, t : float
        What follows, and where it is made.
    slope : float
        At which the state was last; 0 before.
    """

    choices: Choices
    signs: IntArray
    lines: list[KnownLine]
    state: Multipliers | None
    bound: float = math.inf
    t: float = 1.0
    slope: float = 0.0

    @property
    def features(self) -> IntArray:
        """Positions of the node's features, ascending."""
        return np.union1d(self.choices.included, self.choices.free)

    @property
    def witness(self) -> Envelope:
        """Return the lines as a rule that closes the node."""
        return Envelope(tuple(one.witness for one in self.lines))


@dataclass
class _Slope:
    """Slope of a norm; where nothing has to hold beyond its value `at`, it follows the relaxed vector."""

    value: float
    least: float
    at: float
    follows: bool
    factor: float
    direction: int = field(default=0)

    def follow(self, length: float, settled: bool, least_factor: float) -> None:
        """Become steeper if the norm of the relaxed vector is too large.

        As long as more could be paid for indices, that comes first: the norm falls with them.
        """
        if not self.follows or (length > self.at and not settled):
            return
        direction = 1 if length > self.at else -1
        if direction * self.direction < 0:
            self.factor = max(math.sqrt(self.factor), least_factor)
        self.direction = direction
        self.value = max(self.value * self.factor**direction, self.least)


@dataclass(frozen=True, eq=False)
class _Aim:
    """Where a line is wanted: slopes of the norm that counts and of the other, and which height is low enough."""

    counted: _Slope
    other: _Slope | None
    height: float
    kept: float


class Relaxation:
    """The relaxation of one problem, for the nodes of a tree.

    Parameters
    ----------
    A : array of shape (m, m)
        Inner products of the features that the tree works on, in the units of the certificate.
    budgets : array of shape (m,)
        All 0 without an adversary.
    costs : array of shape (m,), optional
    features : array of int, shape (m,), optional
        Their numbers in the problem, ascending; 0 to m - 1 by default.
    settings : RelaxationSettings, optional
    largest : float, optional
        The largest budget of the problem, if that is not among these.
    """

    def __init__(
        self,
        A: FloatArray,
        budgets: FloatArray,
        costs: FloatArray | None = None,
        features: IntArray | None = None,
        settings: RelaxationSettings | None = None,
        largest: float | None = None,
    ) -> None:
        self.A, self.features = A, np.arange(len(A)) if features is None else features
        self.costs = costs if costs is not None and costs.any() else None
        self.settings = settings or RelaxationSettings()
        self.budget = float(np.max(budgets, initial=0.0)) if largest is None else largest
        self.weights: FloatArray = budgets / self.budget if self.budget > 0 else np.ones(len(A))
        self.top = float(np.abs(A).max(initial=0.0))
        alike = float(self.weights.min(initial=1.0)) >= self.settings.same_norm
        self.norm: FloatArray = self.weights if alike else np.ones(len(A))
        self.other: FloatArray | None = None if alike else self.weights

    def node(self, included: IntArray, free: IntArray, places: int) -> RelaxedNode:
        """Return a node to begin with, with the lines of no threshold and of the highest."""
        choices = self._choices(included, free, places)
        at = np.union1d(choices.included, choices.free)
        A, weights, norm = self.A[np.ix_(at, at)], self.weights[at], self.norm[at]
        steepest = float((np.abs(A) / np.outer(norm, norm)).max())
        slopes = [(0.0, 0.0), (0.0, steepest) if self.other is None else (steepest, 0.0)]
        made = [threshold_line(A, self.features[at], weights, *one, self.settings) for one in slopes]
        lines = [KnownLine.of(one, at, len(self.A)) for one in made]
        other, costs = (None if one is None else one[at] for one in (self.other, self.costs))
        state = Multipliers.of(A, norm, other, costs, self.settings)
        state.top = self.top
        node = RelaxedNode(choices, np.zeros(len(self.A), np.intp), lines, state)
        self._look(node)
        return node

    def child(
        self, node: RelaxedNode, included: IntArray, free: IntArray, places: int, signs: IntArray | None = None
    ) -> RelaxedNode:
        """Return a node below, with what is known above it."""
        choices = self._choices(included, free, places)
        state = node.state
        if state is not None:
            state = state.restricted(np.isin(node.features, np.concatenate([choices.included, choices.free])))
        made = RelaxedNode(choices, node.signs if signs is None else signs, node.lines, state, slope=node.slope)
        self._look(made, node.bound)
        return made

    def _choices(self, included: IntArray, free: IntArray, places: int) -> Choices:
        free = free if places else free[:0]
        return Choices(included, free, min(places, len(free)), self.weights, self.budget, self.costs)

    def _look(self, node: RelaxedNode, start: float = 0.0) -> None:
        """Bound a node by its lines, and forget those that say nothing new."""
        if not len(node.features):
            node.bound = -node.choices.paid  # there is no unit vector
            return
        node.bound, node.t, needed = lowest_bound(node.lines, node.choices, self.settings, start)
        node.lines = [node.lines[i] for i in needed]

    def improve(
        self,
        node: RelaxedNode,
        target: float,
        *,
        thorough: bool = False,
        alone: bool = False,
        expired: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Find lines at the t where the bound is made, as long as that pays; return whether it meets the target.

        Parameters
        ----------
        node : RelaxedNode
            With a state; changed in place.
        target : float
        thorough : bool
            Take the steps of a root: there, and where all is decided.
        alone : bool
            Nobody will branch on the node, so a little is better than nothing.
        expired : callable
            Asked between two looks.
        """
        settings, before = self.settings, math.inf
        worth_it = settings.worth_it_alone if alone else settings.worth_it
        for number in range(settings.lines_at_root if thorough else settings.lines_below):
            if node.bound <= target or not len(node.features) or node.state is None or expired():
                break
            if number >= 2 and node.bound - target > (1 - worth_it) * (before - target):
                break
            before = node.bound
            line = self._best(node, target, settings.most_steps_at_root if thorough else settings.most_steps_below, expired)
            node.lines = [*node.lines, line]
            self._look(node, node.bound)
        return node.bound <= target

    def _best(self, node: RelaxedNode, target: float, steps: int, expired: Callable[[], bool]) -> KnownLine:
        """Return the line that says most of the t at which the bound is made, of those that ADMM passes by."""
        state, settings, at = node.state, self.settings, node.features
        assert state is not None
        free, places = np.isin(at, node.choices.free), node.choices.places
        aim = self._aim(node, target, free)
        counted, other = aim.counted, aim.other
        signs = node.signs[at] if node.signs[at].any() else None
        best, lowest = None, math.inf
        for _ in range(0, steps, settings.steps):
            nu = 0.0 if other is None else other.value
            found = state.advance(counted.value, nu, free, places, counted.at, kept=aim.kept, signs=signs)
            height = largest_eigenvalue(found.B, settings) + counted.value * counted.at
            height += 0.0 if other is None else nu * other.at
            if height < lowest or best is None:
                lowest, best = height, found
            if lowest <= aim.height or expired():
                break
            excess = state.excess(free, places)
            settled = state.settled(excess)
            length = state.length(state.norm) * (1.0 + max(excess, 0.0))
            counted.follow(length, settled, settings.least_slope_factor)
            if other is not None and state.other is not None:
                other.follow(state.length(state.other), True, settings.least_slope_factor)
        assert best is not None
        node.slope = counted.value
        made = line_of(
            self.A[np.ix_(at, at)], self.features[at], state.norm, state.other, best, signs=signs, settings=settings
        )
        return KnownLine.of(made, at, len(self.A))

    def _aim(self, node: RelaxedNode, target: float, free: "np.ndarray") -> _Aim:
        r"""Aim at the worst t of a node.

        With x the costs of the features in use, a node is closed at t once the variance is at most
        :math:`h(t) = (\sqrt{T + x} + r\sqrt t)^2`. That is concave in t, so the slope of its tangent leaves most room
        around t. At the largest t nothing has to hold beyond, and a steeper one may be better.
        """
        settings, choices, r = self.settings, node.choices, self.budget
        least, most = choices.span
        at_end = r == 0.0 or node.t >= most * (1 - 1e-9)
        t = most if at_end else max(node.t, settings.least_t * most)
        others = 0.0
        if self.costs is not None and node.state is not None:
            others = float(self.costs[node.features][free] @ np.minimum(node.state.taken[free], 1.0))
        x = choices.paid + others
        distance = math.sqrt(max(target + x, settings.far * node.bound + x, 1e-12 * self.top))
        taken = r * math.sqrt(t)
        kept = distance / (distance + taken)
        tangent = r * r / (1.0 - kept) if taken > 0 else 0.0
        height = (math.sqrt(max(target + x, 0.0)) + taken) ** 2 - others / kept - settings.room * abs(target)
        first = settings.first_slope * self.top
        if self.other is None:
            slope = max(tangent, node.slope or (first if r == 0.0 else 0.0)) if at_end else tangent
            return _Aim(_Slope(slope, tangent, t, at_end, settings.slope_factor), None, height, kept)
        counted = _Slope(node.slope or first, 1e-9 * self.top, float(choices.size), True, settings.slope_factor)
        return _Aim(counted, _Slope(tangent, tangent, t, at_end, settings.slope_factor), height, kept)

    def undecided(self, node: RelaxedNode) -> int:
        """Return the free feature to branch on: the one for which the index that it takes in W is most undecided."""
        assert node.state is not None
        free = np.isin(node.features, node.choices.free)
        taken = np.minimum(node.state.taken, 1.0)
        score = np.minimum(taken, 1.0 - taken) + 1e-3 * node.state.W.diagonal()
        return int(node.features[np.argmax(np.where(free, score, -1.0))])
