"""The exact search for many features, from X alone: no d x d array anywhere.

Levels 1, 2, ..., k in turn. What is proved of fewer features says which features, and which two of them, may lie in one
support; what is left is a sparse graph, and small problems on it ("Many features" of docs/exact.md).
"""

from collections.abc import Callable

import numpy as np

from noap.exact.feature_wise.instance import Incumbent
from noap.exact.feature_wise.meter import Meter
from noap.exact.many.compatible import Compatible
from noap.exact.many.forest import LevelTrees
from noap.exact.many.level import Level
from noap.exact.many.levels_found import found_levels
from noap.exact.many.pairs import MOST_PAIRS, Pairs, density, scan
from noap.exact.many.record import many_proof
from noap.exact.many.small import SmallProblems
from noap.exact.outcome import SearchOutcome, TracePoint
from noap.heuristics.pool import pool_of
from noap.heuristics.scaled_terms import scaled_columns
from noap.linalg.outward import scaled_up
from noap.linalg.types import FloatArray
from noap.linalg.vectors import unit
from noap.problem import Problem
from noap.proofs.fingerprint import begin_fingerprint
from noap.result import Limit
from noap.runtime.controls import Controls, Stopped
from noap.runtime.limits import Limits
from noap.runtime.threads import one_thread

__all__ = ["solve_many"]

# Roots' worth of work that a place of a level gets in the first round; so many times more in every later one.
_ROOTS, _MORE = 256.0, 4.0
# Lower levels are proved to a gap of at least this: closer they would cost more than their floors are worth.
_FINEST = 1e-6
# By how much, relative to what was found, a level may be worth more without a new pass for those above it.
_LOOSER = 3e-3
# Pairs for each feature, on average. Measured: 210 of them are solved in a millisecond for each feature and level.
_MOST_EACH = 400
# Nodes after which another way gets its turn: by then problems whose pairs are few are done.
_PATIENCE = 4000
# What a pair takes, with the graph that is made of it.
_BYTES_OF_A_PAIR = 40


def solve_many(
    problem: Problem,
    controls: Controls,
    v: FloatArray,
    limits: Limits,
    report: Callable[..., None] | None = None,
    rounds: int | None = None,
    aside: "Callable[[FloatArray], bool] | None" = None,
) -> SearchOutcome:
    """Prove the optimum to the gap of the controls, or as far as the limits allow.

    As `solve_gram` does, for problems with samples X whose inner products are too many to be held. With `rounds`, all
    levels get so many turns at most. `aside` is another way: called once, between two levels, with the best vector,
    where many nodes or a level with too many pairs say that it may be the shorter one; returns whether it was.
    """
    return _ManySearch(problem, controls, v, limits, report, aside).run(rounds)


class _ManySearch:
    def __init__(
        self,
        problem: Problem,
        controls: Controls,
        v: FloatArray,
        limits: Limits,
        report: Callable[..., None] | None,
        aside: "Callable[[FloatArray], bool] | None" = None,
    ) -> None:
        self.problem, self.controls, self.limits, self.report, self.v = problem, controls, limits, report, v
        self.aside = aside
        self.meter = Meter(controls, limits, lambda features_left: None)
        self.small = SmallProblems(problem, scaled_columns(problem))
        self.k = self.small.k
        self.below: FloatArray = self.small.largest_worths()
        self.best: dict[int, Incumbent] = {}
        self.proved: list[LevelTrees] = []
        self.pairs: Pairs | None = None
        self.levels: dict[int, Level] = {}
        self.trace: list[TracePoint] = []
        self.doing = ""

    def run(self, rounds: int | None = None) -> SearchOutcome:
        """Prove as much as the limits allow."""
        if self.limits.keep_proof:
            begin_fingerprint(self.problem)
        support = np.flatnonzero(self.v)
        self.best[self.k] = self.small.measured(support, self.v[support])
        self._note()
        try:
            self.doing = "looking for good vectors"
            pool = pool_of(self.problem, self.controls.check, self.limits.workers)
            self.best |= found_levels(self.small, pool, self.v, self.controls.rng, self.controls.check)
            self._note()
            self._prove(rounds)
        except Stopped:
            pass
        except KeyboardInterrupt:
            self.controls.limit = Limit.INTERRUPTED
        self._note()
        proof = many_proof(self.proved, self.small.columns.exponent) if self.limits.keep_proof else None
        return SearchOutcome(
            self._vector(), self._bound(), self.meter.nodes, self.controls.limit, tuple(self.trace), proof
        )

    def _prove(self, rounds: int | None) -> None:
        open_ones, allowed, number = list(range(2, self.k + 1)), _ROOTS, 0
        hopeful = True  # whether more work may prove more
        while hopeful and number != rounds and not self.meter.stopped():
            number += 1
            left, hopeful = [], False
            for k in open_ones:
                if self.below[self.k] <= self._goal():
                    return
                if self.meter.nodes > _PATIENCE and self._aside():
                    return
                level = self._level(k)
                if self.below[k] <= level.target:
                    continue
                news = self._advance(level, allowed, open_ones)
                if self.meter.stopped():
                    return
                hopeful = hopeful or news or (level.begun and not level.closed)
                if not level.closed:
                    left.append(k)
                    if not level.begun and self._aside():
                        return
            open_ones, allowed = left, allowed * _MORE

    def _aside(self) -> bool:
        """Give the other way its turn, if there is one that has not had it; returns whether it proves what is asked."""
        aside, self.aside = self.aside, None
        return aside is not None and aside(self._vector())

    def _vector(self) -> FloatArray:
        """Return the best vector of k features."""
        best = self.best[self.k]
        found = np.zeros(self.problem.n_features)
        found[best.instance.features] = best.v
        return unit(found)

    def _level(self, k: int) -> Level:
        """Return the level as it was left, or a new one if more is known of the levels below it by now."""
        level = self.levels.get(k)
        if level is None or not level.begun or not (level.below == self.below[:k]).all():
            level = Level(self.small, k, self.below, self.best[k], self._gap(k), self.meter)
            self.levels[k] = level
        return level

    def _advance(self, level: Level, allowed: float, levels: list[int]) -> bool:
        """Prove as much of a level as the work allows; returns whether anything is new."""

        def tell() -> None:
            self.doing = f"{level.k} features at a time, {level.done} of {level.places} places closed"
            self._tell(level.features_left)

        pairs = None if level.begun else self._pairs(level, levels)
        # Thousands of small products: a second thread would only make the first one wait.
        with one_thread(rows=1):
            if not level.begun and (pairs is None or not level.begin(pairs, tell)):
                return False
            level.go_on(allowed, tell)
        self.best[level.k] = level.best
        return self._take(level.trees())

    def _goal(self) -> float:
        return self.best[self.k].target(self.controls.gap)

    def _gap(self, k: int) -> float:
        gap = self.controls.gap if k == self.k else max(self.controls.gap, _FINEST)
        # With costs levels often share their optimum: each a little nearer to it than the next, so that every feature
        # of a better support still owes something.
        return gap if self.problem.costs is None else gap * (0.5 + 0.5 * k / self.k)

    def _pairs(self, level: Level, levels: list[int]) -> Pairs | None:
        """Return all pairs that fit together in the level, from the last pass or a new one; None if they are many."""
        test = level.test()
        if self.pairs is None or not self.pairs.covers(test):
            # With more pairs for each feature, neighbourhoods are no small problems any more.
            sparse, limit = min(MOST_PAIRS, _MOST_EACH * self.problem.n_features), self.limits.bytes
            most = sparse if limit is None else min(sparse, int(limit / _BYTES_OF_A_PAIR))
            pairs = self._scan(test, self._expected(level.k, [k for k in levels if k > level.k]), most)
            if pairs is None:
                if most < sparse:
                    self.controls.limit = Limit.MEMORY
                return None
            self.pairs = pairs
        return self.pairs

    def _scan(self, test: Compatible, expected: list[Compatible], most: int) -> Pairs | None:
        """Return all pairs that fit together by the test, and by those that are expected and leave few."""
        columns, check, rng = self.small.columns, self.controls.check, np.random.default_rng(0)
        own = self.small.own
        (count,) = density(columns, [test], rng, own)
        if count > most:
            return None
        # One pass for as many levels as possible. What a level is thought to prove it may not prove.
        sizes = density(columns, expected, rng, own)
        others = [one for one, few in zip(expected, sizes, strict=True) if few <= most / 4]
        workers = self.limits.workers
        pairs = scan(columns, [test, *others], check, self._scanned, most, workers, own) if others else None
        return scan(columns, [test], check, self._scanned, most, workers, own) if pairs is None else pairs

    def _expected(self, k: int, levels: list[int]) -> list[Compatible]:
        """Return what higher levels will demand if all of them are proved."""
        below = np.array([self.below[0], *(self.best[q].target(self._gap(q)) for q in range(1, self.k + 1))])
        below[:k] = self.below[:k]
        # A little less than that: a level may turn out to be worth more than was found, and then another pass is due.
        below[k:] *= 1.0 + _LOOSER
        below = np.minimum(below, self.below)
        return [Compatible.at(q, self.best[q].target(self._gap(q)), below, self.small.rho) for q in levels]

    def _scanned(self, done: int, total: int) -> None:
        self.doing = f"{done} of {total} pairs scanned"
        self._tell(0)

    def _take(self, trees: LevelTrees) -> bool:
        """Take what a level proved, and what follows for those above it; returns whether anything is new."""
        k, bound = trees.k, trees.bound
        if not bound < self.below[k]:
            return False
        self.proved.append(trees)
        self.below[k] = bound
        for q in range(k + 1, self.k + 1):
            # Leave out the weakest q - k features of a support: what stays is worth at least k/q of it.
            self.below[q] = min(self.below[q], bound * q / k * (1.0 + 1e-14))
        self._note()
        return True

    def _bound(self) -> float:
        return scaled_up(float(self.below[self.k]) * (1 + 1e-14), 2 * self.small.columns.exponent)

    def _note(self) -> None:
        self.trace.append(self._point())
        self._tell(0)

    def _point(self) -> TracePoint:
        value = self.best[self.k].worth * self.small.columns.unit
        return TracePoint(self.controls.seconds, value, self._bound(), self.meter.nodes)

    def _tell(self, features_left: int) -> None:
        if self.report is not None:
            self.report(self._point(), features_left, self.doing)
