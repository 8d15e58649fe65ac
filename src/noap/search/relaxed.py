"""The relaxation at the nodes of a tree: lines where the bound is made, until it meets the target or does not pay."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from noap.kernel.metric import Metric
from noap.kernel.witness import IN_PLAIN_NORM, IN_WEIGHTED_NORM, Envelope, Line
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.search.core import Completed, Core
from noap.search.lines import FAINT, Choices, KnownLine, SteepLines, line_of, lowest_bound, threshold_line
from noap.search.multipliers import Multipliers, Proposal
from noap.search.spectrum import largest_eigenvalue
from noap.settings import RelaxationSettings

__all__ = ["Relaxation", "RelaxedNode"]

# The state of a decided node has minus so many times the largest entry along directions that v is orthogonal to.
_ALONG = 10.0


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
    beside : array or None
        What A has beside the matrix of the state, on the node's features: where v is orthogonal to directions and all
        is decided, the state works on A projected off them.
    core : Core or None
        Where features are many, of a root: the state is about these features only.
    """

    choices: Choices
    signs: IntArray
    lines: list[KnownLine]
    state: Multipliers | None
    bound: float = math.inf
    t: float = 1.0
    slope: float = 0.0
    beside: FloatArray | None = None
    core: Core | None = None

    @property
    def at(self) -> IntArray:
        """Positions of the features that the state is about, ascending."""
        return self.features if self.core is None else self.core.features

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
    """Slope of a norm, between two limits; where it is free, it follows the relaxed vector."""

    value: float
    least: float
    most: float
    at: float
    factor: float
    direction: int = 0

    def follow(self, length: float, settled: bool, least_factor: float) -> None:
        """Become steeper if the norm of the relaxed vector is too large.

        As long as more could be paid for indices, that comes first: the norm falls with them.
        """
        if self.least >= self.most or (length > self.at and not settled):
            return
        direction = 1 if length > self.at else -1
        if direction * self.direction < 0:
            self.factor = max(math.sqrt(self.factor), least_factor)
        self.direction = direction
        self.value = min(max(self.value * self.factor**direction, self.least), self.most)


@dataclass(frozen=True, eq=False)
class _Aim:
    """Where a line is wanted: slopes of the two norms (the plain one may be absent), and which height is low enough.

    Attributes
    ----------
    weighted, plain : _Slope
    counts : IN_PLAIN_NORM or IN_WEIGHTED_NORM
        The norm in which cardinality is counted.
    height : float
    kept : float
        Part of a variance that the adversary leaves.
    """

    weighted: _Slope
    plain: _Slope | None
    counts: int
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
    deflation : array of shape (m,), optional
        Multipliers of the directions that v is orthogonal to, which A is less of.
    top : float, optional
        Size of A to begin slopes with, its largest entry by default.
    metric : Metric, optional
        Of all features of the problem. ADMM then works on A - TB, with T the constant of the best line so far: what is
        positive semidefinite there is so for every length of v.
    dense : bool
        Whether no line has a core.
    """

    def __init__(
        self,
        A: FloatArray,
        budgets: FloatArray,
        costs: FloatArray | None = None,
        features: IntArray | None = None,
        settings: RelaxationSettings | None = None,
        largest: float | None = None,
        deflation: FloatArray | None = None,
        top: float | None = None,
        metric: Metric | None = None,
        dense: bool = False,
    ) -> None:
        self.deflation, self.lowest, self.dense = deflation, 1.0, dense
        self.metric: FloatArray | None = None
        self.spread: FloatArray | None = None
        if metric is not None and features is not None:
            self.metric, self.spread = metric.B[np.ix_(features, features)], 1.0 / metric.below[features]
            self.lowest = 1.0 / metric.largest
        self.A, self.features = A, np.arange(len(A)) if features is None else features
        self.costs = costs if costs is not None and costs.any() else None
        self.settings = settings or RelaxationSettings()
        self.budget = float(np.max(budgets, initial=0.0)) if largest is None else largest
        self.weights: FloatArray = budgets / self.budget if self.budget > 0 else np.ones(len(A))
        self.top = float(np.abs(A).max(initial=0.0)) if top is None else top
        self.alike = float(self.weights.min(initial=1.0)) >= self.settings.same_norm

    def node(self, included: IntArray, free: IntArray, places: int, known: Sequence[KnownLine] = ()) -> RelaxedNode:
        """Return a node to begin with, with the lines of no threshold and of the highest.

        With many features there is a core, and no line without a threshold: that is a matter of all eigenvectors.
        """
        choices = self._choices(included, free, places)
        at = np.union1d(choices.included, choices.free)
        A, weights = self.A[np.ix_(at, at)], self.weights[at]
        steepest = (0.0, float((np.abs(A) / np.outer(weights, weights)).max())) if self.alike else (self.top, 0.0)
        slopes = [(0.0, 0.0), steepest]
        metric = None if self.metric is None else self.metric[np.ix_(at, at)]
        if self.has_core:
            del slopes[0]
        made = [threshold_line(A, self.features[at], weights, *one, self.settings, metric) for one in slopes]
        lines = [*known, *(self._known(one, at) for one in made)]
        costs = None if self.costs is None else self.costs[at]
        state = None
        core = None
        if A.any() and self.has_core:
            core = Core(A, weights, self.settings, self.settings.first_slope * self.top)
            state = core.state
        elif A.any():
            begun = A if metric is None else A - made[0].c * metric
            state = Multipliers.of(begun, weights, None if self.alike else np.ones(len(at)), costs, self.settings)
        node = RelaxedNode(choices, np.zeros(len(self.A), np.intp), lines, state, core=core)
        self._look(node)
        return node

    @property
    def has_core(self) -> bool:
        """Whether features are so many that lines are made of a core and thresholds."""
        plain = self.alike and self.costs is None and self.metric is None and self.deflation is None
        return plain and not self.dense and len(self.A) > self.settings.dense_features

    def decided(self, included: IntArray, V: FloatArray) -> RelaxedNode:
        """Return a node of which all features are decided, whose state works on A projected off directions.

        Parameters
        ----------
        V : array of shape (m, |included|)
            On the node's features, ascending.
        """
        node = self.node(included, included[:0], 0)
        at = node.features
        rows = np.linalg.svd(V, full_matrices=False)
        basis = rows[2][rows[1] > 1e-9]
        off = np.eye(len(at)) - basis.T @ basis
        A = self.A[np.ix_(at, at)]
        projected = off @ A @ off
        # The l1 norm feels the directions too: what lies along them is punished, but no more than the norm can gain.
        projected -= _ALONG * self.top * (basis.T @ basis)
        projected = 0.5 * (projected + projected.T)
        if node.state is not None and projected.any():
            costs = None if self.costs is None else self.costs[at]
            other = None if self.alike else np.ones(len(at))
            node.state = Multipliers.of(projected, self.weights[at], other, costs, self.settings)
            node.beside = A - projected
        return node

    def child(
        self, node: RelaxedNode, included: IntArray, free: IntArray, places: int, signs: IntArray | None = None
    ) -> RelaxedNode:
        """Return a node below, with what is known above it."""
        choices = self._choices(included, free, places)
        state = None if node.core is not None else node.state
        if state is not None:
            state = state.restricted(np.isin(node.features, np.concatenate([choices.included, choices.free])))
        beside = node.beside if signs is not None else None  # signs are decided last: the features stay
        signs = node.signs if signs is None else signs
        made = RelaxedNode(choices, signs, node.lines, state, slope=node.slope, beside=beside)
        self._look(made)
        return made

    def _choices(self, included: IntArray, free: IntArray, places: int) -> Choices:
        free = free if places else free[:0]
        return Choices(
            included, free, min(places, len(free)), self.weights, self.budget, self.costs, self.spread, self.lowest
        )

    def _look(self, node: RelaxedNode, enough: float = -math.inf) -> None:
        """Bound a node by its lines, and forget those that are nowhere needed for a bound that is low enough."""
        if not len(node.features):
            node.bound = -node.choices.paid  # there is no unit vector
            return
        node.bound, node.t, needed = lowest_bound(node.lines, node.choices, self.settings, enough)
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
        settings, before, reached = self.settings, math.inf, math.inf
        worth_it = settings.worth_it_alone if alone else settings.worth_it
        steps = settings.most_steps_at_root if thorough else settings.most_steps_below
        if not len(node.choices.free) and node.bound > target:
            at = node.features
            A, none = self.A[np.ix_(at, at)], np.zeros(len(at))
            plain = Proposal(A, 0.0, 0.0, none, none, None, None)
            self._steeper(node, target, line_of(A, self.features[at], self.weights[at], IN_PLAIN_NORM, plain))
        for number in range(settings.lines_at_root if thorough else settings.lines_below):
            if node.bound <= target or not len(node.features) or node.state is None or expired():
                break
            if number >= 2 and reached - target > (1 - worth_it) * (before - target):
                break
            before, t = node.bound, node.t
            if node.core is None:
                line = self._best(node, target, steps, expired)
            else:
                line = self._best_with_core(node, node.core, target, expired)
            node.lines = [*node.lines, line]
            self._look(node)
            if (
                node.core is not None
                and not alone
                and len(self.needless(node, target)) >= len(node.features) - len(node.at)
            ):
                break
            reached = max(line.least_bound(node.choices, t, settings), target)
            if line.witness.counts == IN_PLAIN_NORM:
                self._steeper(node, target, line.witness)
        closed = node.bound <= target
        if closed and len(node.features):
            self._look(node, target)
        return closed

    def _steeper(self, node: RelaxedNode, target: float, line: Line) -> None:
        """Add steeper lines made of one, as long as they meet the target at the small t where the bound is made."""
        at = node.features
        weights = self.weights[at]
        if weights.all() or not (weights > FAINT).any() or not node.bound > target or self.metric is not None:
            return
        signs = node.signs[at] if node.signs[at].any() else None
        lines = SteepLines(line, self.A[np.ix_(at, at)], weights, signs)
        for _ in range(self.settings.steep_lines):
            most = node.choices.span[1]
            if node.bound <= target or node.t > self.settings.counted_plainly * most:
                return
            known = self._known(lines.at(max(node.t, 1e-10 * most), self.settings), at)
            if known.least_bound(node.choices, node.t, self.settings) > target:
                return
            node.lines = [*node.lines, known]
            self._look(node)

    def _best(self, node: RelaxedNode, target: float, steps: int, expired: Callable[[], bool]) -> KnownLine:
        """Return the line that says most of the t at which the bound is made, of those that ADMM passes by."""
        state, settings, at = node.state, self.settings, node.features
        assert state is not None
        free, places = np.isin(at, node.choices.free), node.choices.places
        aim = self._aim(node, target, free)
        counted, other = aim.weighted, aim.plain
        if aim.plain is not None:
            state.count(aim.counts)
            if aim.counts == IN_PLAIN_NORM:
                counted, other = aim.plain, aim.weighted
        signs = node.signs[at] if node.signs[at].any() else None
        A, weights = self.A[np.ix_(at, at)], self.weights[at]
        metric = None if self.metric is None else self.metric[np.ix_(at, at)]
        # The soft threshold of A comes first: where single features are worth as much as any choice, it is the best.
        slopes = (0.0 if aim.plain is None else aim.plain.value, aim.weighted.value)
        threshold = threshold_line(A, self.features[at], weights, *slopes, settings, metric)
        lowest = threshold.c + counted.value * counted.at + (0.0 if other is None else other.value * other.at)
        best, T = None, threshold.c
        for _ in range(0, steps if lowest > aim.height else 0, settings.steps):
            nu = 0.0 if other is None else other.value
            if metric is not None:
                state.A = A - T * metric
            found = state.advance(counted.value, nu, free, places, counted.at, kept=aim.kept, signs=signs)
            if metric is not None:
                found = found._replace(B=found.B + T * metric)
            c = largest_eigenvalue(found.B, settings, metric)
            T, height = min(T, c), c + counted.value * counted.at
            height += 0.0 if other is None else nu * other.at
            if height < lowest:
                lowest, best = height, found if node.beside is None else found._replace(B=found.B + node.beside)
            if lowest <= aim.height or expired():
                break
            excess = state.excess(free, places)
            whole = 1.0 if metric is None else max(float((metric * state.W).sum()), 1e-300)  # the length of v
            length = state.length(state.norm) / whole * (1.0 + max(excess, 0.0))
            counted.follow(length, state.settled(excess), settings.least_slope_factor)
            if other is not None and state.other is not None:
                other.follow(state.length(state.other) / whole, True, settings.least_slope_factor)
        node.slope = aim.weighted.value if aim.plain is None else aim.plain.value
        made = threshold
        if best is not None:
            made = line_of(
                A, self.features[at], weights, aim.counts, best, signs=signs, settings=settings, metric=metric
            )
        return self._known(made, at)

    def _best_with_core(self, node: RelaxedNode, core: Core, target: float, expired: Callable[[], bool]) -> KnownLine:
        """Return the same of a root with a core, which grows as long as the whole exceeds it."""
        settings, every, places = self.settings, node.features, node.choices.places
        aim = self._aim(node, target, np.ones(len(every), dtype=np.bool_))
        slope, lowest = aim.weighted, math.inf
        best: Completed | None = None
        for _ in range(settings.core_rounds):
            state, low = core.state, math.inf
            free: BoolArray = np.ones(len(core.features), dtype=np.bool_)
            for _ in range(settings.core_looks):
                used = slope.value
                one = state.advance(used, 0.0, free, places, slope.at)
                c = largest_eigenvalue(one.B, settings)
                if c + used * slope.at < low:
                    low, own, found = c + used * slope.at, c, one
                if low <= aim.height or expired():
                    break
                excess = state.excess(free, places)
                length = state.length(state.norm) * (1.0 + max(excess, 0.0))
                slope.follow(length, state.settled(excess), settings.least_slope_factor)
            whole = core.completed(found, own)
            exceeds = whole.c - own
            if low + exceeds < lowest:
                lowest, best = low + exceeds, whole
            missing = lowest - aim.height
            if missing <= whole.spare * slope.at or expired():
                break
            if exceeds <= settings.core_near * missing or not core.grow(whole):
                break
        node.slope, node.state = slope.value, core.state
        assert best is not None
        line = line_of(
            self.A, self.features, self.weights, aim.counts, best.proposal, settings=settings, core=best.core
        )
        return self._known(line, every)

    def needless(self, node: RelaxedNode, target: float) -> IntArray:
        """Return the free features without which a node may go on: its lines close what includes one of them."""
        free, choices = node.choices.free, node.choices
        rows = np.array([self.weights[free], *(line.prices[free] for line in node.lines)])
        _, first, alike = np.unique(rows, axis=1, return_index=True, return_inverse=True)
        closed: BoolArray = np.zeros(len(first), dtype=np.bool_)
        for number, j in enumerate(free[first]):
            with_it = self._choices(np.append(choices.included, j), free[free != j], choices.places - 1)
            closed[number] = lowest_bound(node.lines, with_it, self.settings, target)[0] <= target
        found: IntArray = free[closed[alike]]
        return found

    def _known(self, line: Line, at: IntArray) -> KnownLine:
        if self.deflation is not None:
            line = replace(line, deflation=self.deflation)
        return KnownLine.of(line, at, len(self.A))

    def _aim(self, node: RelaxedNode, target: float, free: BoolArray) -> _Aim:
        r"""Aim at the t at which the bound of a node is made.

        With x the costs of the features in use, a node is closed at t once the variance is at most
        :math:`h(t) = (\sqrt{T + x} + r\sqrt t)^2`. That is concave in t, so the slope of its tangent leaves most room
        around t. At the largest t nothing has to hold beyond, and a steeper one may be better; near 0, where tangents
        become infinitely steep, nothing has to hold before.
        """
        settings, choices, r = self.settings, node.choices, self.budget
        most = choices.span[1]
        at_end = r == 0.0 or node.t >= most * (1 - 1e-9)
        t = most if at_end else node.t
        others = 0.0
        if self.costs is not None and node.state is not None:
            others = float(self.costs[node.features][free] @ np.minimum(node.state.taken[free], 1.0))
        x = choices.paid + others
        distance = math.sqrt(max(target + x, settings.far * node.bound + x, 1e-12 * self.top))
        taken = r * math.sqrt(t)
        kept = distance / (distance + taken)
        height = (math.sqrt(max(target + x, 0.0)) + taken) ** 2 - others / kept - settings.room * abs(target)
        first, steep = settings.first_slope * self.top, settings.steep * self.top
        tangent = min(r * (r + distance / math.sqrt(t)), steep) if t > 0.0 else steep if r > 0.0 else 0.0
        if at_end:
            value = max(tangent, (node.slope or (first if r == 0.0 else 0.0)) if self.alike else 0.0)
            weighted = _Slope(value, tangent, math.inf, t, settings.slope_factor)
        else:
            limit = settings.steepest * self.top if tangent == steep else tangent
            weighted = _Slope(tangent, tangent, limit, t, settings.steepening)
        if self.alike:
            return _Aim(weighted, None, IN_WEIGHTED_NORM, height, kept)
        plain = _Slope(node.slope or first, 1e-9 * self.top, math.inf, float(choices.size), settings.slope_factor)
        counts = IN_PLAIN_NORM if t <= settings.counted_plainly * most else IN_WEIGHTED_NORM
        return _Aim(weighted, plain, counts, height, kept)

    def undecided(self, node: RelaxedNode) -> int:
        """Return the free feature to branch on: the one for which the index that it takes in W is most undecided."""
        assert node.state is not None
        free = np.isin(node.features, node.choices.free)
        taken = np.minimum(node.state.taken, 1.0)
        score = np.minimum(taken, 1.0 - taken) + 1e-3 * node.state.W.diagonal()
        return int(node.features[np.argmax(np.where(free, score, -1.0))])
