r"""Which features a path cannot do without, and where another would do as well.

At a budget with the vector v found there, feature j is *needed* when every k-sparse direction w within the asked gap,

.. math:: (1 + \mathrm{gap})\,\mathrm{value}(w) \ge \mathrm{value}(v),

uses j. That is a statement about the problem without j: its optimum lies below value(v)/(1 + gap). A rigorous bound on
that optimum proves it, one direction without j that is worth so much refutes it. The problems without j are a family
over rho of their own, so a bound at two budgets proves something at all budgets between (`between.py`), and every
vector found anywhere may refute at every budget: few of the questions need a search.
"""

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.errors import NoapWarning
from noap.linalg.types import FloatArray, IntArray
from noap.methods import unfinished
from noap.result import Limit, Result
from noap.runtime.interrupts import holding_interrupts
from noap.sweep.between import convex_bounds
from noap.sweep.family import Family
from noap.sweep.point import Task, improved

if TYPE_CHECKING:
    from noap.sweep.path import Path

__all__ = ["NEEDED", "OPEN", "SHARED", "standings"]

# How a feature stands at a point that selects it; 0 where it is not selected.
NEEDED, SHARED, OPEN = 1, 2, 3

# A search without a feature may take as many nodes as the dearest point of the path, and at least these; all searches
# together as many as the path, and at least so many times these.
_NODES, _SEARCHES = 1024, 32
# Where the vector without a feature is almost as good, its bound is asked for no more than this share of the gap.
_SHARE = 0.25
# The loosest gap that a search is asked for: what is nearly nothing has no useful gap of its own.
_LOOSEST = 10.0
# So many of the vectors that do without a feature are where the search for a better one starts.
_RIVALS = 4
# A division and a product are off by an ulp each.
_DOWN = 1 - 1e-15


def standings(path: "Path") -> IntArray:
    """Return an array of shape (m, d): how every feature stands at every point that selects it.

    NEEDED: every direction within the asked gap uses it; proved with method "exact", with others nothing as good was
    found without it. SHARED: a direction without it is worth as much, to the gap. OPEN: the searches could not settle
    it within their limits.
    """
    marks: IntArray = np.zeros(path.selected.shape, dtype=np.int64)
    floors = path.values / (1 + np.array([result.asked_gap for result in path.results])) * _DOWN
    pool, purse = _Pool(path.family, path.rhos, path.vectors), _Purse.of(path)
    # The longest-lived first: they are what is looked at, should the purse run dry.
    lives = np.nan_to_num(path.lifetimes, nan=-1.0)
    with holding_interrupts() as interrupts:
        for j in np.argsort(-lives, kind="stable")[: int((lives >= 0).sum())].tolist():
            asked = np.flatnonzero(path.selected[:, j])
            marks[asked, j] = _Without(path, j, floors, pool, purse).settled(asked)
            if interrupts.seen:
                purse.nodes = 0
    if interrupts.seen:
        warnings.warn(
            "Interrupted: which features the path cannot do without is left open where that was not settled yet.",
            NoapWarning,
            stacklevel=2,
        )
    return marks


@dataclass
class _Purse:
    """What all searches together may still take.

    Attributes
    ----------
    nodes : int
    seconds : float
        Of search; without bound unless the path had a time limit, for then it is that of the path itself.
    """

    nodes: int
    seconds: float

    @classmethod
    def of(cls, path: "Path") -> "_Purse":
        if path.options is None:
            return cls(0, 0.0)
        limit = path.options.get("time_limit")
        seconds = np.inf if limit is None else max(float(limit), sum(result.seconds for result in path.results))
        return cls(max(_SEARCHES * _NODES, sum(result.nodes for result in path.results)), seconds)

    @property
    def empty(self) -> bool:
        return self.nodes <= 0 or self.seconds <= 0

    def pay(self, result: Result) -> None:
        self.nodes -= max(result.nodes, 1)
        self.seconds -= result.seconds


class _Pool:
    """Every vector found so far and its worth at every budget of the path."""

    def __init__(self, family: Family, rhos: FloatArray, vectors: FloatArray) -> None:
        self.family, self.rhos = family, rhos
        self.vectors, self.worths = vectors, self._worth(vectors)

    def _worth(self, vectors: FloatArray) -> FloatArray:
        return self.family.worths(vectors, self.rhos)

    def add(self, v: FloatArray) -> None:
        self.vectors = np.vstack([self.vectors, v])
        self.worths = np.hstack([self.worths, self._worth(v[None, :])])

    def best_without(self, j: int) -> FloatArray:
        """Return per budget the most that a vector without feature j is worth; 0 if there is none."""
        others = self.vectors[:, j] == 0
        best: FloatArray = self.worths[:, others].max(axis=1, initial=0.0)
        return best

    def rivals(self, j: int, i: int) -> FloatArray:
        """Return the vectors without feature j that are worth most at budget i."""
        others = np.flatnonzero(self.vectors[:, j] == 0)
        return self.vectors[others[np.argsort(-self.worths[i, others], kind="stable")[:_RIVALS]]]


@dataclass
class _Without:
    """The questions about one feature: its family is the path's without it.

    Attributes
    ----------
    path : Path
    feature : int
    floors : array of shape (m,)
        What a direction must be worth at each budget to be within the asked gap of the one found.
    pool : _Pool
    purse : _Purse
    bounds : dict
        Proved bounds on the optimum without the feature, by position on the path.
    """

    path: "Path"
    feature: int
    floors: FloatArray
    pool: _Pool
    purse: _Purse
    bounds: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        d = self.path.family.base.n_features
        self.others: IntArray = np.delete(np.arange(d), self.feature)
        self.family = self.path.family.restricted(self.others) if d > 1 else None

    def settled(self, asked: IntArray) -> IntArray:
        """Return how the feature stands at the asked positions."""
        if self.family is None:
            return np.full(len(asked), NEEDED)
        while True:
            shared = self.pool.best_without(self.feature)[asked] >= self.floors[asked]
            needed = self._limits(asked) < self.floors[asked]
            left = [int(i) for i in asked[~shared & ~needed] if i not in self.bounds]
            if not left or self.path.options is None:
                return np.where(shared, SHARED, np.where(needed | (not self.path.proves), NEEDED, OPEN))
            # The ends first: a bound at each proves the middle if a chord can.
            self._ask(left[(0, -1, len(left) // 2)[min(len(self.bounds), 2)]])

    def _limits(self, asked: IntArray) -> FloatArray:
        assert self.family is not None
        places = sorted(self.bounds)
        rhos, bounds = self.path.rhos[places], np.array([self.bounds[i] for i in places], dtype=np.float64)
        roots = self.family.base.costs is None
        return convex_bounds(rhos, bounds, self.family.rho_max, self.path.rhos[asked], roots=roots)

    def _ask(self, i: int) -> None:
        """Look for a direction without the feature, and prove that none is worth enough if none is found."""
        assert self.family is not None
        problem = self.family.at(float(self.path.rhos[i]))
        near = np.vstack([self.path.vectors[i], self.pool.rivals(self.feature, i)])[:, self.others]
        near = near[near.any(axis=1)]
        v = improved(problem, near / np.linalg.norm(near, axis=1)[:, None])
        self.bounds[i] = np.inf
        if problem.value(v) < self.floors[i] and self.path.proves and not self.purse.empty:
            result = self._searched(Task(problem, "exact", v, self._options(i, problem.value(v))))
            self.bounds[i], v = result.bound, result.v
        whole = np.zeros(self.path.family.base.n_features)
        whole[self.others] = v
        self.pool.add(whole)

    def _searched(self, task: Task) -> Result:
        try:
            result = task.run()
        except KeyboardInterrupt:
            result = unfinished(task.problem, "exact", float(task.options["gap"]), task.start)
        self.purse.pay(result)
        if result.limit is Limit.INTERRUPTED:
            self.purse.nodes = 0
        return result

    def _options(self, i: int, value: float) -> dict[str, Any]:
        """Ask for half the distance to the floor: enough to settle the question, and the rest helps the neighbours."""
        room = min(self.floors[i] / value - 1, _LOOSEST) if value > 0 else _LOOSEST
        gap = max(room / 2, _SHARE * self.path.results[i].asked_gap)
        dearest = max(result.nodes for result in self.path.results)
        shared = {"time_limit": None, "random_state": None, "progress": False}
        own = {"node_limit": max(_NODES, dearest), "certificate": False}
        return shared | own | dict(self.path.options or {}) | {"gap": gap, "certificate": False, "progress": False}
