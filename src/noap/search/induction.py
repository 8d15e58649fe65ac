"""Induction over the number of features: each level a sparse graph of features that fit together, and small claims.

for q = 2, ..., k: what fewer features can do bounds what each feature of a good choice must contribute, and any two
                   -> pairs that fit, taken apart into small claims -> the one tree on each of them
"""

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from noap.kernel.arithmetic import Refused
from noap.kernel.conflicts import Demands
from noap.kernel.data import Data, Features
from noap.kernel.tree import Graph, check_levels, lower_below
from noap.kernel.witness import Level, Node, SmallClaim
from noap.linalg.types import FloatArray, IntArray
from noap.search.ascent import ascend, best_in, value_of
from noap.search.cheap import Better
from noap.search.conflicts import Edges, Pairs, expected_pairs, outlined, peeled
from noap.search.pool import Pool, of_size
from noap.search.prove import Search
from noap.settings import Settings

__all__ = ["Improved", "Induction"]

_NONE: IntArray = np.empty(0, np.intp)


class _Enough(Exception):
    """A small claim has had its nodes."""


class Improved(Exception):
    """A small claim met a vector that is worth more than the level's threshold."""

    def __init__(self, features: IntArray, weights: FloatArray, value: float) -> None:
        super().__init__("a better vector")
        self.features, self.weights, self.value = features, weights, value


class Induction:
    """Levels q = 2, ..., k, each proved to a little more than the best vector known of its size.

    Parameters
    ----------
    data : Features
    pool : Pool
        Of good vectors; a better one that a claim meets is noted there.
    gap : float
        Relative gap to which levels below k are proved.
    settings : Settings
    check : callable
        Raises when a limit is reached.

    Attributes
    ----------
    levels : list of Level
        Those that are proved.
    below : array of shape (k + 1,)
        What they, and lengths, prove of at most 0, 1, ..., k features.
    nodes : int
    """

    def __init__(self, data: Features, pool: Pool, gap: float, settings: Settings, check: Callable[[], None]) -> None:
        self.data, self.pool, self.settings, self.check = data, pool, settings, check
        self.gap = max(gap, settings.finer)
        self._own = _with_nodes(settings, settings.claim_nodes, settings.least_nodes)
        self.pairs = Pairs(data, min(settings.most_pairs, int(settings.most_each * data.d)))
        self.levels: list[Level] = []
        self.nodes = self.bytes = 0
        self.below: FloatArray = data.sums_of_most(data.k)
        self._before = 0

    def density(self, target: float) -> float:
        """Return the pairs for each feature that the densest level is expected to have."""
        worst = 0.0
        for q in range(2, self.data.k + 1):
            demands = self._expected(q, target)
            if demands is None:
                return np.inf
            if demands.fits.any():
                self.check()
                fits, pairs = expected_pairs(self.data, demands)
                worst = max(worst, pairs / max(fits, 1))
        return worst

    def run(self, target: float) -> bool:
        """Prove levels up to k, that one at a target; return whether it is proved."""
        k = self.data.k
        for q in range(2, k + 1):
            lower_below(self.below, self._before, q)
            T = target if q == k else self._target(q)
            if min(self.below[q], self._ratio(q)) <= T:
                continue
            level = self._level(q, T, target) or self._coarser(q, T, target)
            if level is not None:
                self.levels.append(level)
                self.below[q], self._before = min(self.below[q], level.bound), q
        return bool(self.bound <= target)

    @property
    def bound(self) -> float:
        """What is proved of k features."""
        below = self.below.copy()
        lower_below(below, self._before, len(below))
        return float(below[-1])

    def proof(self) -> tuple[float, tuple[Level, ...]]:
        """Return the bound that the kernel accepts, and its proof: without the last levels where it refuses those."""
        k = self.data.k
        while True:
            levels = tuple(self.levels)
            if not levels or levels[-1].size < k:
                bound = self.bound
                levels = (*levels, Level(k, bound, bound, _NONE, ()))
            try:
                return check_levels(self.data, levels), levels
            except Refused:
                if not self.levels:
                    raise
                self.levels.pop()
                self.below, self._before = self.data.sums_of_most(k), 0
                for level in self.levels:
                    lower_below(self.below, self._before, level.size)
                    self.below[level.size], self._before = min(self.below[level.size], level.bound), level.size

    def _target(self, q: int) -> float:
        return float(self.pool.values[q]) * (1 + self.gap * (1 - self.settings.hair))

    def _ratio(self, q: int) -> float:
        return float(self.below[q - 1]) * q / (q - 1) * (1 + 1e-15)

    def _demands(self, q: int, T: float, below: FloatArray) -> Demands | None:
        try:
            return Demands(self.data, T, below, q)
        except Refused:  # a single feature may be enough
            return None

    def _expected(self, q: int, target: float) -> Demands | None:
        """Return the demands of a level if those before it are proved to what is known, or to a little more."""
        below = self.below.copy()
        for size in range(1, q):
            below[size] = min(below[size], self._target(size) * (1 + 3e-3) if size > self._before else below[size])
        lower_below(below, self._before, q)
        return self._demands(q, target if q == self.data.k else self._target(q), below)

    def _coarser(self, q: int, T: float, target: float) -> Level | None:
        """Prove a level at a larger threshold: the least one with a sparse graph, then halfway up from there."""
        settings, known = self.settings, float(min(self.below[q], self._ratio(q)))
        low, high = 0.0, 1.0  # shares of the way up to what is known, in ratios
        for _ in range(settings.coarser_looks):
            middle = 0.5 * (low + high)
            demands = self._demands(q, T * (known / T) ** middle, self.below)
            fits, pairs = (1, np.inf) if demands is None else expected_pairs(self.data, demands)
            low, high = (low, middle) if pairs <= settings.sparse * max(fits, 1) else (middle, high)
        for _ in range(settings.coarser_levels):
            if high > 1 - 1e-3:
                break
            level = self._level(q, T * (known / T) ** max(high, settings.coarser_least), target)
            if level is not None:
                return level
            high = 0.5 * (max(high, settings.coarser_least) + 1)
        return None

    def _later(self, q: int, target: float) -> list[Demands]:
        """Return the demands that the levels above one are expected to have, where they leave few pairs."""
        others = [self._expected(size, target) for size in range(q + 1, self.data.k + 1)]
        return [one for one in others if one is not None and expected_pairs(self.data, one)[1] < self.pairs.most / 4]

    def _level(self, q: int, T: float, target: float) -> Level | None:
        """Prove one level; None if it stays open. Where a better vector of its size is met, its threshold rises."""
        while True:
            demands = self._demands(q, T, self.below)
            if demands is None:
                return None
            edges = self.pairs.of(demands, functools.partial(self._later, q, target), self.check)
            if edges is None:
                return None
            try:
                return self._proved(q, T, demands, edges)
            except Improved as better:
                if not self.pool.note(q, better.features, better.weights, better.value):
                    return None
                if q == self.data.k:
                    raise
                T = max(T, self._target(q))

    def _proved(self, q: int, T: float, demands: Demands, edges: Edges) -> Level | None:
        settings, small = self.settings, self.settings.small_component * demands.size
        outline = outlined(edges, demands.size, small)
        heavy = outline.work > settings.whole_work and len(outline.core) <= settings.whole_core
        if heavy:
            whole = self._claim(q, T, demands, outline.core, False, most=min(int(outline.work / 2), 64), relaxed=0)
            if whole is not None:
                return Level(q, T, T, _NONE, (), True, outline.order, (whole,))
        claims = []
        largest = max((len(features) for _, features in outline.claims), default=0)
        if largest > settings.claim_features and q < self.data.k:
            return None
        for rooted, features in outline.claims:
            claim = self._claim(q, T, demands, features, rooted)
            if claim is None:
                return None
            claims.append(claim)
        return Level(q, T, T, _NONE, (), True, outline.order, tuple(claims))

    def _claim(
        self,
        q: int,
        T: float,
        demands: Demands,
        features: IntArray,
        rooted: bool,
        most: int | None = None,
        relaxed: int | None = None,
    ) -> SmallClaim | None:
        """Prove a small claim; None if it stays open."""
        self.check()
        part = self.data.part(features)
        graph = Graph(demands.part(features), part, rooted)
        kept, dropped = peeled(graph.fit, demands.size)
        if rooted and not len(kept):  # its root stays in its place
            dropped = np.concatenate([[0], dropped[dropped != 0]])
        order = np.concatenate([kept, dropped]).astype(np.intp)
        features, part, graph = features[order], part.part(order), graph.among(order)
        first: IntArray = np.arange(min(int(rooted), len(kept)))
        F: IntArray = np.arange(len(first), len(kept))
        if rooted and len(kept):
            F = F[graph.fit[0][F]]
        node = (first, F, q - len(first))
        if graph.too_few(*node):
            return SmallClaim(rooted, features, len(kept), ())
        try:
            nodes = self._closed(of_size(part, q), graph, T, node, most, relaxed)
        except Better as better:
            at = np.flatnonzero(better.v)
            raise Improved(features[at], better.v[at], value_of(part, better.v)) from None
        if nodes is None:
            return None
        return SmallClaim(rooted, features, len(kept), tuple(nodes))

    def _closed(
        self,
        part: Data,
        graph: Graph,
        T: float,
        node: tuple[IntArray, IntArray, int],
        most: int | None,
        relaxed: int | None,
    ) -> list[Node] | None:
        """Return a tree that proves a small claim, or None; raises Better with a vector of the part."""
        settings = self.settings
        cheap = settings.claim_nodes if most is None else most
        limit = settings.claim_relaxed if relaxed is None else relaxed
        if part.d > settings.claim_features:
            limit = 0
        own = self._own if most is None else _with_nodes(settings, cheap, cheap)

        def check() -> None:
            self.check()
            if search is not None and search.relaxed_nodes > limit:
                raise _Enough

        search = None
        try:
            # Chords, and responses to the nodes' own vectors, close most claims: no vector is climbed for first.
            search = Search(part, np.zeros(part.d), T, own, check, node, graph)
            if search.run(cheap_only=limit == 0 or part.r_max > 0):
                return search.proof()
            if part.r_max > 0:
                self.nodes += search.nodes
                v = best_in(part, node, np.empty((0, part.d)), own)
                if v.any() and value_of(part, v) > T:
                    raise Better(v)
                search = Search(part, v, T, own, check, node, graph)
                if search.run(cheap_only=limit == 0):
                    return search.proof()
        except _Enough:
            pass
        except Better as better:
            v = ascend(part, settings, better.v[None, :])
            v = v if value_of(part, v) > value_of(part, better.v) else better.v
            raise Better(v) from None
        finally:
            if search is not None:
                self.nodes += search.nodes
        return None


def _with_nodes(settings: Settings, cheap: int, least: int) -> Settings:
    """Return the settings of a small claim: so many nodes of majorants and dominance, whatever its budgets are."""
    return replace(
        settings,
        cheap_nodes=cheap,
        cheap_nodes_vanilla=cheap,
        cheap_nodes_unequal=cheap,
        least_nodes=least,
        holes=0,
    )
