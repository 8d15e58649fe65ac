r"""The features that a path cannot do without, with proof.

That feature j is essential (`Path.essential`) is a statement about the problem without j: its optimum lies below
value(v)/(1 + gap). A rigorous bound on that optimum proves it; one direction without j of at least that value refutes
it. The problems without j are a family over rho of their own, so bounds at two budgets prove something at all budgets
between (`family.py`), and every vector found anywhere may refute at every budget: few of the questions need a search.
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.analysis.family import Family
from noap.analysis.sweep import Point, improved
from noap.data.centring import outside
from noap.errors import NoapWarning
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.methods import unfinished
from noap.result import Limit, Result
from noap.runtime.interrupts import holding_interrupts

if TYPE_CHECKING:
    from noap.analysis.path import Path

__all__ = ["essential_features"]

# A search without a feature may take as many nodes as the costliest point of the path, and at least these; all searches
# together as many as the path, and at least this multiple.
_NODES, _SEARCHES = 1024, 32
# The bound without a feature is asked for to this share of the gap at the least, and to the loosest gap at most: what
# is nearly 0 has no useful gap of its own.
_SHARE, _LOOSEST = 0.25, 10.0
# The number of vectors without the feature that the search for a better one starts from.
_STARTS = 4
# A division and a product are off by an ulp each.
_DOWN = 1 - 1e-15


def essential_features(path: "Path") -> BoolArray:
    """Return a mask of shape (m, d): the features that each point of the path cannot do without.

    A question that the searches leave open is False; if a limit ended one of them, a warning counts such features.
    """
    mask: BoolArray = np.zeros(path.selected.shape, dtype=bool)
    questions, unsettled = _Questions(path), 0
    # Features with long lives come first: readers look at them, should the limits end the searches.
    lives = np.nan_to_num(path.lifetimes, nan=-1.0)
    with holding_interrupts() as interrupts:
        for j in np.argsort(-lives, kind="stable")[: int((lives >= 0).sum())].tolist():
            asked = np.flatnonzero(path.selected[:, j])
            mask[asked, j], left_open = questions.answered(j, asked)
            unsettled += left_open
            if interrupts.seen:
                questions.nodes = 0
    if unsettled and questions.stopped:
        why = "Interrupted" if interrupts.seen or path.options is None else "The limits ended the searches"
        warnings.warn(
            f"{why}: whether the path can do without them was not settled at every budget for {unsettled} of the "
            "features, which count as not essential there; run it again, or with a larger node_limit or time_limit.",
            NoapWarning,
            stacklevel=outside(),
        )
    mask.flags.writeable = False
    return mask


class _Questions:
    """The questions whether features are essential, with the vectors that all searches share and their limits.

    Attributes
    ----------
    floors : array of shape (m,)
        The value at each budget from which on a direction is within the asked gap of the one found.
    vectors, values : arrays of shape (p, d) and (m, p)
        Every vector found so far, and its value at every budget.
    nodes : int
    seconds : float
        Left to all searches together; a path without a time limit sets none.
    stopped : bool
        Whether a limit ended a search, or none is allowed.
    """

    def __init__(self, path: "Path") -> None:
        self.path, self.vectors = path, path.vectors
        self.values = path.family.values(path.vectors, path.rhos)
        self.floors = path.values / (1 + np.array([result.asked_gap for result in path.results])) * _DOWN
        # An interrupted path asks for no searches.
        self.nodes, self.seconds, self.stopped = 0, np.inf, path.options is None
        if path.options is not None:
            self.nodes = max(_SEARCHES * _NODES, sum(result.nodes for result in path.results))
            limit = path.options.get("time_limit")
            if limit is not None:
                self.seconds = max(float(limit), sum(result.seconds for result in path.results))

    def answered(self, j: int, asked: IntArray) -> tuple[BoolArray, bool]:
        """Return at which of the asked positions feature j is essential, and whether some were left open."""
        d = self.path.family.base.n_features
        if d == 1:
            return np.ones(len(asked), dtype=bool), False
        others: IntArray = np.delete(np.arange(d), j)
        family, bounds = self.path.family.restricted(others), dict[int, float]()
        while True:
            refuted = self._best_without(j)[asked] >= self.floors[asked]
            places = sorted(bounds)
            known = np.array([bounds[i] for i in places], dtype=np.float64)
            proved = family.bounds(self.path.rhos[places], known, self.path.rhos[asked]) < self.floors[asked]
            left = [int(i) for i in asked[~refuted & ~proved] if i not in bounds]
            if not left or self.path.options is None:
                essential: BoolArray = ~refuted if not self.path.proves else ~refuted & proved
                return essential, bool((~refuted & ~essential).any())
            # The ends first: a bound at each proves the middle if a chord can.
            i = left[(0, -1, len(left) // 2)[min(len(bounds), 2)]]
            bounds[i] = self._bound_without(j, i, family, others)

    def _best_without(self, j: int) -> FloatArray:
        """Return, per budget, the largest value of a vector without feature j; 0 if there is none."""
        best: FloatArray = self.values[:, self.vectors[:, j] == 0].max(axis=1, initial=0.0)
        return best

    def _bound_without(self, j: int, i: int, family: Family, others: IntArray) -> float:
        """Look for a direction without feature j at budget i; return the bound of a search if none is good enough."""
        problem, bound, gap = family.at(float(self.path.rhos[i])), np.inf, np.inf
        without = np.flatnonzero(self.vectors[:, j] == 0)
        best = without[np.argsort(-self.values[i, without], kind="stable")[:_STARTS]]
        near = np.vstack([self.path.vectors[i], self.vectors[best]])[:, others]
        near = near[near.any(axis=1)]
        v = improved(problem, near / np.linalg.norm(near, axis=1)[:, None])
        # A search that finds a better vector may stop above the floor: it is asked again, for a smaller gap.
        while self.path.proves and problem.value(v) < self.floors[i] <= bound and not self._exhausted():
            options = self._options(i, problem.value(v))
            if options["gap"] >= gap:
                break
            gap, result = options["gap"], self._searched(Point(problem, "exact", v, options))
            bound, v = min(bound, result.bound), result.v
        whole = np.zeros((1, self.path.family.base.n_features))
        whole[0, others] = v
        self.vectors = np.vstack([self.vectors, whole])
        self.values = np.hstack([self.values, self.path.family.values(whole, self.path.rhos)])
        return bound

    def _exhausted(self) -> bool:
        empty = self.nodes <= 0 or self.seconds <= 0
        self.stopped |= empty
        return empty

    def _searched(self, point: Point) -> Result:
        try:
            result = point.solved()
        except KeyboardInterrupt:
            result = unfinished(point.problem, "exact", float(point.options["gap"]), point.start)
        self.nodes -= max(result.nodes, 1)
        self.seconds -= result.seconds
        if result.limit is Limit.INTERRUPTED:
            self.nodes = 0
        self.stopped |= result.limit is not None
        return result

    def _options(self, i: int, value: float) -> dict[str, Any]:
        """Return options that ask for half the distance to the floor: the rest helps the neighbours."""
        room = min(self.floors[i] / value - 1, _LOOSEST) if value > 0 else _LOOSEST
        gap = max(room / 2, _SHARE * self.path.results[i].asked_gap)
        dearest = max(result.nodes for result in self.path.results)
        shared = {"time_limit": None, "random_state": None, "node_limit": max(_NODES, dearest)}
        return shared | dict(self.path.options or {}) | {"gap": gap, "certificate": False, "progress": False}
