"""A point of a path, from what its neighbours found."""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noap.errors import NoapWarning
from noap.heuristics.alone import strongest_alone
from noap.heuristics.batch import truncate
from noap.heuristics.screened import screened_climber
from noap.linalg.types import FloatArray
from noap.linalg.vectors import unit
from noap.methods import is_for_the_tree, run_exact
from noap.problem import Problem
from noap.result import Limit, Result
from noap.runtime.controls import Controls
from noap.runtime.interrupts import raising_interrupts
from noap.runtime.limits import Limits
from noap.solving import checked_options, solve

__all__ = ["Task", "improved", "quietly"]

# A neighbour's vector is close to a fixed point already; a few steps bring it there.
_STEPS = 8
# What a search from a neighbour's vector may take before a full set of starts is worth its price: a full set costs
# as much as several hundred nodes.
_NODES_FROM_NEIGHBOUR = 1024
# The same for the tree, whose nodes are few and dear.
_NODES_OF_THE_TREE = 64
# Points are proved to this share of the gap where that is cheap: the rest is room for chords to prove their neighbours.
_SHARE = 0.25


def improved(problem: Problem, vectors: FloatArray) -> FloatArray:
    """Return the best k-sparse unit vector that ascent reaches from the given ones.

    Parameters
    ----------
    vectors : array of shape (m, d)
        Each with at most k non-zero entries.
    """
    climber, kept = screened_climber(problem)
    batch = truncate(vectors[:, kept], min(problem.k, len(kept))).alive()
    v = strongest_alone(problem)
    if len(batch):
        moved = climber.climb(climber.measured(batch), len(batch), _STEPS)
        if len(moved):
            best = climber.to_fixed_point(moved.best(1)).batch
            candidate = np.zeros(problem.n_features)
            candidate[kept] = best.first(len(kept))
            v = _better(problem, v, unit(candidate))
    for given in vectors:
        v = _better(problem, v, given)
    return v


def _better(problem: Problem, first: FloatArray, second: FloatArray) -> FloatArray:
    return second if second.any() and problem.value(second) > problem.value(first) else first


def quietly(problem: Problem, method: str, **options: Any) -> Result:
    """Solve without the warning that the optimum is 0: on a path that is an end point like any other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        return solve(problem, method, **options)


@dataclass(frozen=True)
class Task:
    """One point to solve: plain data, so that it can travel to another process.

    Attributes
    ----------
    problem : Problem
    method : str
    start : array of shape (d,) or None
        The best that the neighbours' vectors lead to.
    options : dict
        Those of `solve`.
    rho : float
        Its place on the path.
    """

    problem: Problem
    method: str
    start: FloatArray | None
    options: dict[str, Any]
    rho: float = math.nan

    def run(self) -> Result:
        """Solve the point; never worse than its start."""
        if self.method != "exact" or self.problem.optimum_is_zero:
            with raising_interrupts():
                return quietly(self.problem, self.method, **self.options)
        gap = float(self.options["gap"])
        limits = checked_options(self.problem, "exact", self.options)
        if is_for_the_tree(self.problem, limits.settings):
            return self._by_tree(gap, limits)
        with raising_interrupts():
            return self._exact(gap, limits)

    def _exact(self, gap: float, limits: Limits) -> Result:
        v = self._ascended() if self.start is None else self.start
        if self.problem.adversary.gram_suffices:  # sample by sample, a node is not cheap enough to try it twice
            nodes = _NODES_FROM_NEIGHBOUR if limits.nodes is None else min(_NODES_FROM_NEIGHBOUR, limits.nodes)
            few = replace(limits, nodes=nodes)
            first = self._proved(v, _SHARE * gap, few)
            # Whatever it proved counts, also if its own gap was not reached.
            if first.gap <= gap or first.limit is not Limit.NODES or few == limits:
                return first
            v = first.v
        if self.start is not None:
            v = _better(self.problem, v, self._ascended())
        return self._proved(v, gap, limits)

    def _by_tree(self, gap: float, limits: Limits) -> Result:
        nodes = _NODES_OF_THE_TREE if limits.nodes is None else min(_NODES_OF_THE_TREE, limits.nodes)
        few = replace(limits, nodes=nodes)
        first = run_exact(self.problem, self._controls(_SHARE * gap), few, self.start)
        if first.gap <= gap or first.limit is not Limit.NODES or few == limits:
            return replace(first, asked_gap=gap)
        return run_exact(self.problem, self._controls(gap), limits, first.v)

    def _controls(self, gap: float) -> Controls:
        return Controls.checked(gap, self.options["time_limit"], self.options["random_state"], self.options["progress"])

    def _ascended(self) -> FloatArray:
        shared = {name: self.options[name] for name in ("time_limit", "random_state")}
        return quietly(self.problem, "ascent", **shared).v

    def _proved(self, v: FloatArray, gap: float, limits: Limits) -> Result:
        if not self.problem.adversary.gram_suffices:
            return run_exact(self.problem, self._controls(gap), limits, v)
        from noap.exact.prove import proved_result  # loads Numba

        return proved_result(self.problem, self._controls(gap), v, limits, asked_gap=float(self.options["gap"]))
