r"""What the lines of a leaf say where features cost something, rounding outwards.

For row i of an inequality any numbers y (the pulls) with :math:`y_i = 1` and any :math:`a_i \ge 0` (the due) have
:math:`a_i (2 v_i\, y^\top v - |y|^2 v_i^2) \le a_i (y^\top v)^2 / |y|^2 \le a_i` for unit v. So a place takes
:math:`\tau_i t + a_i`, and a vector with the features S is worth at most

.. math:: \Big(\sqrt{c + \mu t + \sum_S (\tau_i t + a_i)} - \rho\sqrt t\Big)_+^2 - \sum_S \pi_i .

The square is convex in what is under the root: between two points it is below its chord, and for a chord the best S
takes the features that add most. For each S it falls and then rises as t grows, so that an interval of t may be cut
anywhere, and each piece may take any line: its ends decide. Without a budget the end of the interval decides.
"""

import math
from typing import NamedTuple

import numpy as np

from noap.linalg.outward import UNIT, down, gamma, up
from noap.linalg.types import BoolArray, FloatArray

__all__ = ["CostedLine", "less_pulls", "most_above"]

# Any numbers would be right: chords (twice those of the search), how often the interval of t is cut, and how flat a
# piece is left.
_CHORDS, _CUTS, _FLAT = 48, 60, 1e-7


class CostedLine(NamedTuple):
    """What one matrix proves of a leaf: fixed parts, and what every feature adds and costs.

    Included features are all used, of the others at most `places`.
    """

    c: float
    mu: float
    prices: FloatArray
    dues: FloatArray
    costs: FloatArray
    included: BoolArray
    places: int

    def worth(self, r: float, t: float) -> float:
        """Return at least what a vector of the leaf is worth at t, and at least 0."""
        adds: FloatArray = (self.prices * t + self.dues) * (1.0 + 4.0 * UNIT)
        sure, others = self.included, ~self.included
        m = len(adds)
        fixed = up(self.c + self.mu * t + float(adds[sure].sum()), m + 4)
        paid = down(float(self.costs[sure].sum()), m + 4)
        if r == 0.0:
            gains = np.sort(np.maximum(adds[others] - self.costs[others], 0.0))[::-1][: self.places]
            total = up(fixed + float(gains.sum()), m + 8) - paid
            return up(total) if total > 0.0 else 0.0
        highest = up(fixed + float(np.sort(adds[others])[::-1][: self.places].sum()), m + 8)
        lowest = down(fixed, 2 * m + 16)
        ends = np.linspace(lowest, highest, _CHORDS + 1)
        ends[-1] = highest
        taken = down(r * down(math.sqrt(t)))
        left = np.maximum(np.sqrt(ends) * (1.0 + 4.0 * UNIT) - taken, 0.0) ** 2 * (1.0 + 8.0 * UNIT)
        widths = np.diff(ends)
        if not (widths > 0.0).all():
            total = float(left[-1]) + up(highest - fixed, 8) - paid
            return up(total) if total > 0.0 else 0.0
        chords = np.diff(left) / widths * (1.0 + 8.0 * UNIT) + 1e-15
        gains = np.maximum(chords[:, None] * adds[others] - self.costs[others], 0.0)
        best = np.sort(gains, axis=1)[:, ::-1][:, : self.places].sum(axis=1)
        total = float((left[:-1] + chords * (fixed - ends[:-1]) + best).max()) - paid
        # Chords are at most about 1: every term and every partial sum is below this.
        sizes = 4.0 * highest + paid + float(self.costs.max(initial=0.0))
        total += up(gamma(2 * m + 40) * sizes * 4.0)
        return total if total > 0.0 else 0.0


def most_above(lines: list[CostedLine], r: float, w: FloatArray) -> float:
    """Return at least what a vector of the leaf is worth; infinity where nothing is proved. w weighs its features."""
    squares, sure = w * w, lines[0].included
    least = down(float(squares.min()))
    highest = np.sort(squares[~sure])[::-1][: lines[0].places]
    most = up(float(squares[sure].sum()) + float(highest.sum()), len(w) + 8)
    if r == 0.0:
        worth = min(line.worth(r, most) for line in lines)
        return worth if math.isfinite(worth) else math.inf
    known = {t: np.array([line.worth(r, t) for line in lines]) for t in (least, most)}
    for t in known:
        known[t][~np.isfinite(known[t])] = math.inf
    pieces, settled = [(least, most)], 0.0
    for _ in range(_CUTS):
        heights = [float(np.maximum(known[a], known[b]).min()) for a, b in pieces]
        at = int(np.argmax(heights))
        left, right = pieces[at]
        low = max(float(known[left].min()), float(known[right].min()))
        if heights[at] <= settled or not math.isfinite(heights[at]):
            break
        if heights[at] <= low * (1.0 + _FLAT) or not right - left > 1e-9 * right:
            settled = heights[at]
            break
        i, j = int(known[left].argmin()), int(known[right].argmin())
        before, after = float(known[left][j] - known[left][i]), float(known[right][i] - known[right][j])
        share = before / (before + after) if 0.0 < before + after < math.inf else 0.5
        t = left + min(max(share, 0.05), 0.95) * (right - left)
        worths = np.array([line.worth(r, t) for line in lines])
        worths[~np.isfinite(worths)] = math.inf
        known[t] = worths
        pieces[at : at + 1] = [(left, t), (t, right)]
    return max(float(np.maximum(known[a], known[b]).min()) for a, b in pieces)


def less_pulls(A: FloatArray, dues: FloatArray, pulls: FloatArray) -> tuple[FloatArray, float]:
    """Return A less what the pulls of all rows come to, and what rounding may have taken off an entry."""
    taken = dues[:, None] * pulls
    squares = (pulls * pulls).sum(axis=1)
    left: FloatArray = A - (taken + taken.T)
    left.flat[:: len(A) + 1] = A.diagonal() - dues + dues * squares
    largest = float(np.abs(taken).max(initial=0.0)) + float((dues * (1.0 + squares)).max(initial=0.0))
    return left, up(gamma(len(A) + 16) * (4.0 * largest + float(np.abs(A).max(initial=0.0))))
