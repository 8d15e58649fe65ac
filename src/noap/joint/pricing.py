r"""Pricing: which support is worth most after prices, and how much at most.

With costs :math:`q_j = c_j + \pi_j` (the feature's own cost and its price) pricing is the problem itself, so ascent and
the tree serve as they are. Features that a group of slots may not use are charged more than they could ever be worth.
"""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noap.joint.slots import Group
from noap.kernel.arithmetic import Refused, sum_up
from noap.kernel.data import Data
from noap.kernel.samples import SampleData
from noap.kernel.witness import Priced
from noap.linalg.types import FloatArray
from noap.search.ascent import ascend, value_of
from noap.search.cheap import Better
from noap.search.prove import Search, Stop
from noap.search.sample_ascent import ascend_samples, sample_value
from noap.search.sample_tree import SampleSearch
from noap.search.solve import in_users_units
from noap.settings import Settings

__all__ = ["Pricing", "Record", "ascended", "charged", "priced"]

# What a feature that may not be used is charged, in units of the largest variance of a feature.
_SHUT = 4.0


def charged(data: Data | SampleData, prices: FloatArray, group: Group) -> Data | SampleData:
    """Return the data of a pricing problem, with prices in the units of the data."""
    own = np.zeros(data.d) if data.terms.costs is None else data.terms.costs
    costs = np.maximum(own + np.ldexp(np.maximum(prices, 0.0), 2 * data.exponent), own)
    shut = np.maximum(costs, _SHUT * math.ldexp(data.top, 2 * data.exponent))
    return data.priced(group.k, np.where(group.allowed, costs, shut))


def ascended(data: Data | SampleData, settings: Settings, start: FloatArray | None = None) -> list[FloatArray]:
    """Return good directions of a pricing problem, the best one last."""
    if isinstance(data, SampleData):
        return [ascend_samples(data, settings, start)]
    met: list[FloatArray] = []
    best = ascend(data, settings, start, met)
    return [*met, best]


@dataclass(frozen=True, eq=False)
class Pricing:
    """One pricing problem and what was proved of it.

    Attributes
    ----------
    claim : Priced
    bound : float
        No support is worth more after charges, in the units of the data; at least 0: a slot may stay empty.
    complete : bool
        Whether no limit stopped the search.
    nodes : int
    found : list of arrays
        Directions that the search met above its target.
    """

    claim: Priced
    bound: float
    complete: bool
    nodes: int
    found: list[FloatArray]


def priced(
    data: Data | SampleData,
    v: FloatArray,
    target: float,
    slack: float,
    settings: Settings,
    check: Callable[[int], None],
) -> Pricing:
    """Prove what a pricing problem is worth at most: the target if it is, or what a better direction allows.

    Parameters
    ----------
    v : array of shape (d,)
        A direction to respond to, or 0.
    target : float
        What the bound should come down to.
    slack : float
        By how much it may exceed the value of a better direction.
    check : callable
        Given the number of nodes; raises Stop when a limit is reached.
    """
    complete, closed, before, found = True, False, 0, list[FloatArray]()
    value = _value(data, v)
    while True:
        target = max(target, value + slack, 1e-12 * data.top)
        search = _Counted(data, v, target, settings, before, check).search
        try:
            closed = search.run()
            break
        except Better as better:
            before += search.nodes
            v = ascended(data, settings, better.v)[-1]
            value = _value(data, v)
            found.append(v)
        except Stop:
            complete = False
            break
    proved = search.found()
    if closed:
        with contextlib.suppress(Refused):
            proved = search.smaller(proved, max(value, 0.0))
    costs = data.terms.costs
    assert costs is not None
    return Pricing(Priced(costs, proved.levels), max(proved.bound, 0.0), complete, before + search.nodes, found)


class _Counted:
    """A search that reports its nodes, and those of the searches before it, whenever it asks whether to go on."""

    def __init__(
        self,
        data: Data | SampleData,
        v: FloatArray,
        target: float,
        settings: Settings,
        before: int,
        check: Callable[[int], None],
    ) -> None:
        self.search: Search | SampleSearch
        if isinstance(data, SampleData):
            self.search = SampleSearch(data, v, target, settings, lambda: check(before + self.search.nodes))
        else:
            self.search = Search(data, v, target, settings, lambda: check(before + self.search.nodes))


def _value(data: Data | SampleData, v: FloatArray) -> float:
    return sample_value(data, v) if isinstance(data, SampleData) else value_of(data, v)


@dataclass(frozen=True, eq=False)
class Record:
    """A pricing for every slot, and the bound that follows for all packings, in the units of the data (rule W)."""

    pricings: tuple[Pricing, ...]
    bound: float

    @classmethod
    def of(cls, data: Data | SampleData, pricings: tuple[Pricing, ...], groups: list[Group]) -> "Record":
        """Add up prices and bounds, rounded up."""
        own = np.zeros(data.d) if data.terms.costs is None else data.terms.costs
        charges = own.copy()
        for group in groups:
            costs = pricings[group.slots[0]].claim.costs
            charges[group.allowed] = np.maximum(charges[group.allowed], costs[group.allowed])
        raised = charges != own
        prices = sum_up([*charges[raised].tolist(), *(-own[raised]).tolist()])
        total = sum_up([prices, *(in_users_units(one.bound, data.exponent) for one in pricings)])
        return cls(pricings, math.ldexp(total, -2 * data.exponent))
