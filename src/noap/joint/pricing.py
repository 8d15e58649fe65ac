r"""Pricing: which support is worth most after prices, and how much at most.

With charges :math:`q_j = c_j + \pi_j` (the feature's own cost and its price) pricing is the problem itself with other
costs, so ascent and the exact search serve as they are. Features that a group of slots may not use are charged more
than they could ever be worth.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from noap.exact.prove import proved_result
from noap.heuristics.ascent import Funnel, search
from noap.heuristics.screened import screened_climber
from noap.joint.slots import Group
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.result import Result, zero_result
from noap.runtime.controls import Controls
from noap.runtime.limits import Limit, Limits

__all__ = ["Pricing", "Record", "charged", "charges_for", "climbed", "priced"]

# Ascent is called often, with other prices each time: fewer vectors go on than in a single call.
_FUNNEL = Funnel(keep=48, polish=16, max_steps=40)
# What a feature that may not be used is charged, in units of the largest variance of a feature.
_SHUT = 4.0


def charges_for(problem: Problem, prices: FloatArray) -> FloatArray:
    """Return costs and prices together, at least the costs.

    The price of a feature is then what its charge exceeds its cost by, exactly, whatever rounding did to the sum.
    """
    costs = np.zeros(problem.n_features) if problem.costs is None else problem.costs
    charges: FloatArray = np.maximum(costs + np.maximum(prices, 0.0), costs)
    return charges


def charged(problem: Problem, charges: FloatArray, group: Group) -> Problem:
    """Return the pricing problem of a group of slots."""
    shut = np.maximum(charges, _SHUT * problem.scale)
    return problem.with_sparsity(group.k).with_costs(np.where(group.allowed, charges, shut))


def climbed(problem: Problem, rng: np.random.Generator) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield directions on the supports that ascent meets at the end of its stages: places and weights."""
    if problem.optimum_is_zero:
        return
    climber, kept = screened_climber(problem)
    k = min(problem.k, len(kept))
    for best in search(climber, k, rng, _FUNNEL):
        for indices, weights in zip(best.batch.indices, best.batch.weights, strict=True):
            if weights.any():
                yield kept[indices], weights.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Pricing:
    """One pricing problem and what was proved of it: no support is worth more than the bound after charges."""

    result: Result

    @property
    def is_complete(self) -> bool:
        """Whether no limit stopped the search."""
        return self.result.limit is None

    @property
    def bound(self) -> float:
        """At least 0: a slot may stay empty."""
        return max(self.result.bound, 0.0)


def priced(
    problem: Problem,
    controls: Controls,
    start: FloatArray,
    target: float,
    seconds: float | None,
    nodes: int | None = None,
) -> Pricing:
    """Prove what a pricing problem is worth at most: the target if it is, or what a better start allows.

    Parameters
    ----------
    start : array of shape (d,)
        A direction to start from, or 0.
    target : float
        What the bound should come down to.
    nodes : int, optional
        How many of them the search may take.
    """
    if problem.optimum_is_zero:
        return Pricing(zero_result(problem, "exact", 0.0))
    value = problem.value(start) if start.any() else 0.0
    # The search counts its gap from its own value. Where that is next to nothing any gap will do.
    gap = max(target / value - 1.0, 0.0) if value > 0 else 1.0
    own = replace(
        controls,
        gap=min(gap, 1e6),
        time_limit=None if seconds is None else controls.seconds + max(seconds, 0.0),
        limit=None,
        progress=False,
    )
    result = proved_result(problem, own, start, Limits(nodes=nodes, keep_proof=True))
    controls.started = own.started  # the clock does not count compilation
    if own.limit is Limit.INTERRUPTED:
        controls.limit = own.limit
    return Pricing(result)


@dataclass(frozen=True, eq=False)
class Record:
    r"""Charges, a pricing for every slot, and the bound that follows for all packings of the slots.

    .. math:: \sum_t w_{S_t} \le \sum_j \pi_j + \sum_t \max(0, z_t) \quad
        \text{for disjoint } S_t \text{ and } \pi \ge 0,\quad z_t \ge \max_S \bigl(w_S - \textstyle\sum_S \pi_j\bigr) .
    """

    charges: FloatArray
    pricings: tuple[Pricing, ...]
    bound: float = field(init=False)
    costs: FloatArray | None = None

    def __post_init__(self) -> None:
        # Each cost beside its charge: what is dear in both would leave the range of floats on the way.
        paid = np.zeros(len(self.charges)) if self.costs is None else self.costs
        prices = np.column_stack([self.charges, -paid]).ravel().tolist()
        # The sum of floats, rounded once; and the next float above.
        total = math.fsum([*prices, *(pricing.bound for pricing in self.pricings)])
        object.__setattr__(self, "bound", math.nextafter(total, math.inf) if total > 0 else max(total, 0.0))
