r"""From inequalities with costs to a bound on the optimum (docs/relaxation.md, "Costs").

A vector with features S has :math:`v^\top A v \le c + \mu t + \sum_S (\tau_i t + a_i)`, and is worth at most
:math:`(\sqrt{v^\top A v} - \rho\sqrt t)_+^2 - \sum_S \pi_i`. Without a budget that is a sum over S, and the best S
takes the features that add most. With one, it is convex in what the features add to the square: between two points it
lies below its chord, and the best S for a chord is found likewise.
"""

from typing import NamedTuple

import numpy as np

from noap.exact.relaxation.inequality import Inequality
from noap.linalg.types import BoolArray, FloatArray

__all__ = ["Places", "worth_of", "worths_below"]

# Chords between the least and the largest square; the checker has twice as many.
_CHORDS = 24
# The interval of t is cut so many times at most, and not where that could lower the bound by no more than this.
_CUTS, _FLAT = 40, 1e-6
# What rounding may take off a sum of so many terms, each with a sign.
_EACH = 4e-16


class Places(NamedTuple):
    """Who has a place for certain, who may take one of the others, and what features cost."""

    included: BoolArray
    free: BoolArray
    number: int
    costs: FloatArray

    def span(self, weights: FloatArray) -> tuple[float, float]:
        """Return between which numbers (sum_i w_i |v_i|)^2 lies for unit vectors of these places."""
        squares = weights * weights
        most = float(squares[self.included].sum() + np.sort(squares[self.free])[::-1][: self.number].sum())
        least = float(squares[self.included | self.free].min())
        return least * (1 - 1e-15), most * (1 + 1e-15 * (len(weights) + 2))


def worths_below(
    inequalities: list[Inequality], places: Places, rho: float, span: tuple[float, float]
) -> tuple[float, float, list[int]]:
    """Return a bound on what vectors of these places are worth, at which t it is made, and who was needed for it.

    Parameters
    ----------
    inequalities : list
    places : Places
    rho : float
        The largest budget.
    span : tuple of two floats
        Between these lies t.
    """
    least, most = span
    if rho == 0.0:
        # Nothing falls as t grows.
        worths = [worth_of(one, places, rho, most) for one in inequalities]
        best = int(np.argmin(worths))
        return max(worths[best], 0.0), most, [best]
    known = {t: np.array([worth_of(one, places, rho, t) for one in inequalities]) for t in (least, most)}
    pieces = [(least, most)]
    done: list[tuple[float, float]] = []

    def height(piece: tuple[float, float]) -> float:
        # For every support what one inequality says falls and then rises with t: it is largest at an end.
        return float(np.maximum(known[piece[0]], known[piece[1]]).min())

    for _ in range(_CUTS):
        piece = max(pieces, key=height, default=None)
        if piece is None or (done and height(piece) <= max(map(height, done))):
            break
        pieces.remove(piece)
        left, right = piece
        if height(piece) <= max(known[left].min(), known[right].min()) * (1 + _FLAT) or right - left < 1e-9 * right:
            done.append(piece)
            continue
        t = _crossing(known[left], known[right], left, right)
        known[t] = np.array([worth_of(one, places, rho, t) for one in inequalities])
        pieces += [(left, t), (t, right)]
    done += pieces
    bound = max(map(height, done)) * (1 + _FLAT)  # others may cut elsewhere
    used = {int(np.maximum(known[left], known[right]).argmin()) for left, right in done}
    worst = max(done, key=height)
    return max(bound, 0.0), max(worst, key=lambda t: float(known[t].min())), sorted(used)


def _crossing(at_left: FloatArray, at_right: FloatArray, left: float, right: float) -> float:
    """Return about where the lowest inequality of the left end is as high as that of the right end."""
    i, j = int(at_left.argmin()), int(at_right.argmin())
    before, after = at_left[j] - at_left[i], at_right[i] - at_right[j]
    share = before / (before + after) if before + after > 0 else 0.5
    return left + min(max(float(share), 0.05), 0.95) * (right - left)


def worth_of(one: Inequality, places: Places, rho: float, t: float) -> float:
    """Return what an inequality says of every vector of these places at t, rounded up; it may be below 0."""
    included, free, count, costs = places
    adds: FloatArray = one.prices * t + one.dues
    slope = max(one.mu, 0.0)
    base = one.c + slope * t
    size = base + float(np.abs(adds[included]).sum() + costs[included].sum())
    if rho == 0.0:
        gains = np.sort(np.maximum(adds[free] - costs[free], 0.0))[::-1][:count]
        total = base + float((adds[included] - costs[included]).sum() + gains.sum())
        return total + _EACH * (len(costs) + 8) * (size + float(gains.sum()) + float(costs.max()))
    fixed = base + float(adds[included].sum())
    highest = fixed + float(np.sort(adds[free])[::-1][:count].sum())
    taken = rho * float(np.sqrt(t)) * (1 - 4e-16)
    squares = np.linspace(fixed, max(highest * (1 + 1e-12), fixed), _CHORDS + 1)
    left = np.maximum(np.sqrt(squares) - taken, 0.0) ** 2
    widths = np.diff(squares)
    chords = np.where(widths > 0, np.diff(left) / np.where(widths > 0, widths, 1.0), 1.0)
    gains = np.maximum(chords[:, None] * adds[free] - costs[free], 0.0)
    gains = np.sort(gains, axis=1)[:, ::-1][:, :count].sum(axis=1)
    totals = left[:-1] + chords * (fixed - squares[:-1]) + gains
    paid = float(costs[included].sum())
    return float(totals.max()) - paid + _EACH * (len(costs) + 16) * (2.0 * highest + paid + float(costs.max()))
