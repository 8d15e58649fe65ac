r"""Rule W: a bound on what several disjoint choices are worth together; docs/kernel.md, section 11.

For disjoint choices :math:`S_t`, charges :math:`q_j \ge c_j` where c are the costs, and what slot t is worth at most,

.. math:: \sum_t w_{S_t} \le \sum_j (q_j - c_j) + \sum_t \max(0, z_t), \qquad
    z_t \ge \max_S \Bigl(w_S + \sum_{j \in S} c_j - \sum_{j \in S} q_j\Bigr)
    \text{ over the supports that slot } t \text{ may use}.

Each :math:`z_t` is the bound of a claim about one choice whose costs are at most q where the slot may use a feature. A
tree gives features to one slot after the other. A line whose matrix is below cI + LL' bounds all choices at once, and
tells which features none of them uses beyond the bound.
"""

import math
from fractions import Fraction

import numpy as np

from noap.kernel.arithmetic import Refused, U, gamma, need, sum_up
from noap.kernel.data import Data
from noap.kernel.envelope import NearMatrix
from noap.kernel.samples import SampleData
from noap.kernel.tree import check_levels
from noap.kernel.witness import Fan, Owner, Packed, Packing
from noap.linalg.types import FloatArray, IntArray

__all__ = ["FanBound", "check_packing", "owners", "value_of_packing"]

# A feature that every slot may use, and one that none may.
ANYONE, NO_ONE = -1, -2


class FanBound:
    r"""What a line says of all choices together: none are worth more than J, and none with feature j more than J_j.

    Unit vectors with disjoint supports are orthogonal, so that :math:`\sum v^\top B v \le rc + \|L\|_F^2`; a feature is
    in one of them at most, and all have at most K features, so that what features add is at most the K largest.

    Attributes
    ----------
    bound : float
    using : array of shape (d,)
        Infinite where nothing is said.
    """

    def __init__(self, data: Data | SampleData, fan: Fan, slots: tuple[int, ...]) -> None:
        if isinstance(data, SampleData) or data.r_max > 0:
            raise Refused("W: no line is about all choices against an adversary with a budget")
        features, line, L = fan.line.features, fan.line, fan.factor.astype(np.float64)
        need(len(features) > 0, "W: a line about no feature")
        left = data.allowed.copy()
        left[features] = False
        need(not left.any() or (data.definite and (data.most[left] <= 0).all()), "W: a line leaves out a feature")
        need(line.signs is None or not line.signs.any(), "W: a line with signs")
        need(line.c >= 0 and L.ndim == 2 and len(L) == len(features), "W: no factor for the line")
        need((np.abs(L) < 1e100).all(), "W: a factor out of range")
        near = NearMatrix(data.A[np.ix_(features, features)], np.ones(len(features)), line, factor=L)
        places, costs = sum(slots), data.costs[features]
        taken: FloatArray = near.prices * max(slots) + near.dues
        adds = taken - costs + 8 * U * (taken + costs)
        falling = np.sort(np.maximum(adds, 0.0))[::-1]
        most = len(slots) * line.c + float(np.einsum("ij,ij->", L, L)) + float(falling[:places].sum())
        most += max(near.plain + near.weighted + U * (abs(near.plain) + abs(near.weighted)), 0.0) * places
        self.bound = most * (1 + gamma(L.size + len(adds) + 16))
        # A choice that uses j has its term for certain, and one place less for the others.
        last = float(falling[places - 1]) if places <= len(adds) else 0.0
        self.using: FloatArray = np.full(data.d, np.inf)
        self.using[features] = self.bound + np.minimum(adds - last, 0.0) + 8 * U * (self.bound + np.abs(adds) + last)
        need(math.isfinite(self.bound), "W: a line that says nothing")


def owners(owner: IntArray, slots: tuple[int, ...]) -> list[int]:
    """Return the slots that a feature has to be given to in turn; of those alike that own nothing only the first."""
    found: list[int] = []
    seen = set()
    for slot, k in enumerate(slots):
        if (owner == slot).any():
            found.append(slot)
        elif k not in seen:
            seen.add(k)
            found.append(slot)
    return found


def check_packing(data: Data | SampleData, packing: Packing, bound: Fraction) -> None:
    """Refuse unless no disjoint choices, one for each slot at most, are worth more than the bound together.

    The bound is in the user's units; data are those of the claim with the largest slot.
    """
    slots, unit = packing.slots, Fraction(4) ** data.exponent
    need(len(slots) > 0 and min(slots) >= 1 and max(slots) == data.k, "W: slots that do not fit the claim")
    need(len(data.include) == 0 and len(data.directions) == 0, "W: no theorem about such a problem")
    owner: IntArray = np.where(data.allowed, ANYONE, NO_ONE)
    for fan in packing.fans:
        said = FanBound(data, fan, slots)
        if Fraction(said.bound) * unit <= bound:
            return
        known = np.flatnonzero(np.isfinite(said.using))
        owner[[j for j in known if Fraction(said.using[j]) * unit <= bound]] = NO_ONE
    proved: dict[int, Fraction] = {}
    stack = [owner]
    for number, node in enumerate(packing.nodes):
        if not stack:
            raise Refused("no node is open", number)
        owner = stack.pop()
        try:
            if isinstance(node, Owner):
                need(owner[node.feature] < 0, "W: a feature that has an owner")
                for slot in reversed(owners(owner, slots)):
                    given = owner.copy()
                    given[node.feature] = slot
                    stack.append(given)
            else:
                need(_bound_of(data, packing, node, owner, proved) <= bound, "W: the prices prove a larger bound")
        except Refused as refusal:
            raise Refused(str(refusal), number) from None
    need(not stack, "nodes are missing")


def _bound_of(
    data: Data | SampleData, packing: Packing, leaf: Packed, owner: IntArray, proved: dict[int, Fraction]
) -> Fraction:
    """Return what no choices of a leaf are worth more than together, in the user's units."""
    need(len(leaf.claims) == len(packing.slots), "W: a claim for each slot")
    own = np.zeros(data.d) if data.terms.costs is None else data.terms.costs
    charges, total = own.copy(), Fraction(0)
    for slot, (number, k) in enumerate(zip(leaf.claims, packing.slots, strict=True)):
        need(number < len(packing.priced), "W: no claim of this number")
        claim = packing.priced[number]
        need(len(claim.levels) > 0 and k <= claim.levels[-1].size <= data.k, "W: a claim about fewer features")
        if number not in proved:
            T = check_levels(data.priced(claim.levels[-1].size, claim.costs), claim.levels)
            proved[number] = Fraction(max(T, 0.0)) * Fraction(4) ** data.exponent
        allowed = (owner == ANYONE) | (owner == slot)
        charges[allowed] = np.maximum(charges[allowed], claim.costs[allowed])
        total += proved[number]
    raised = charges != own
    try:
        return total + Fraction(sum_up([*charges[raised].tolist(), *(-own[raised]).tolist()]))
    except (OverflowError, ValueError):
        raise Refused("W: prices out of range") from None


def value_of_packing(data: Data | SampleData, packing: Packing, features: IntArray, weights: FloatArray) -> Fraction:
    """Return at most what the vectors are worth together, in the units of the data; refuse those that are not disjoint.

    A slot may stay empty.
    """
    need(len(packing.sizes) == len(packing.slots) and sum(packing.sizes) == len(features), "W: vectors without a slot")
    need(len(np.unique(features)) == len(features), "W: two vectors use a feature")
    total, at = Fraction(0), 0
    for k, size in zip(packing.slots, packing.sizes, strict=True):
        part = slice(at, at + size)
        need((np.diff(features[part]) > 0).all(), "W: features of a vector that do not ascend")
        worth = data.priced(k, data.terms.costs).value_at_least(features[part], weights[part]) if size else 0.0
        need(math.isfinite(worth), "W: a vector is worth too little for a number")
        total, at = total + Fraction(worth), at + size
    return total
