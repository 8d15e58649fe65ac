r"""Rule E1: lines c + sigma t above the variance, and what they leave to the adversary's norm t = (sum w_i |v_i|)^2.

docs/kernel.md, section 5.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noap.kernel.arithmetic import Refused, U, gamma, need, proves_semidefinite
from noap.kernel.data import Data
from noap.kernel.directions import Penalty
from noap.kernel.witness import BOX, CORE, FREE, IN_PLAIN_NORM, IN_WEIGHTED_NORM, THRESHOLD, Line
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Bounded", "NearMatrix", "VarianceLine", "closes"]

# Into so many pieces the range of costs is cut: the square of the distance is concave in the cost, a chord lies below.
_PIECES = 16
# And the interval of t so often at most; any cuts would be right.
_CUTS = 100


class Bounded(NamedTuple):
    """What an envelope is held against: weights of a norm, costs, the largest budget; and no metric."""

    w: FloatArray
    costs: FloatArray
    r_max: float
    metric: None = None


class NearMatrix:
    r"""A matrix B near G with B <= cI, or B <= cI + LL' with a factor L, decoded from a line, and what nearness costs.

    For every v, with s its squared l1 norm and t the weighted one,

    .. math:: v^\top G v \le c\|v\|^2 + \mu_1 s + \mu_w t + \sum_{v_i \ne 0} (\tau_i\,[s \text{ or } t] + \alpha_i) .

    In a metric :math:`c v^\top \mathrm{metric}\, v` takes the place of the first term. The decoding is not trusted:
    mu_1 is what the difference of B and G takes, whose entries may be off by `error`.

    Attributes
    ----------
    c, plain, weighted : float
        c, mu_1 and mu_w.
    prices, dues : arrays of shape (b,)
        tau and alpha.
    B : array of shape (b, b)
    """

    def __init__(
        self,
        G: FloatArray,
        w: FloatArray,
        line: Line,
        error: float = 0.0,
        metric: FloatArray | None = None,
        factor: FloatArray | None = None,
    ) -> None:
        b = len(G)
        loads, lifts = line.loads.astype(np.float64), line.lifts.astype(np.float64)
        need(loads.shape == lifts.shape == (b,), "E: a line of another length")
        need((loads >= 0).all() and (lifts >= 0).all(), "E: negative multipliers")
        need(line.counts in (IN_PLAIN_NORM, IN_WEIGHTED_NORM), "E: an unknown norm")
        numbers = (line.c, line.plain, line.weighted, float(loads.max()), float(lifts.max()))
        need(all(abs(x) < 1e100 for x in numbers), "E: out of range")
        self.c, self.weighted, self.counts = line.c, line.weighted, line.counts
        self.dues: FloatArray = np.zeros(b)
        need(metric is None or line.dues is None, "E: dues in a metric")
        if line.dues is not None and line.pulls is not None:
            G, self.dues, more = _less_pulls(G, line.dues.astype(np.float64), line.pulls.astype(np.float64))
            error += more
        size = float(np.abs(G).max()) + sum(abs(x) for x in numbers[1:])
        n = np.ones(b) if line.counts == IN_PLAIN_NORM else w
        shared = np.outer(loads, n)
        box = line.plain + line.weighted * np.outer(w, w) + 0.5 * (shared + shared.T)
        B, far = _decoded(G, box, line)
        own = line.plain + line.weighted * (w * w) + loads * n - lifts
        np.fill_diagonal(B, G.diagonal() - own)  # v_i^2 has a sign: one side is enough
        self.B = B
        far -= box
        np.fill_diagonal(far, 0.0)
        # Box, differences and their comparison take 7u of the line's numbers and 2u of G and B; a G that is itself off
        # by 4u of its largest entry, as that of a complement, has room here. What underflows, c has room for.
        self.plain = line.plain + float(far.max()) + error + 16 * U * (size + float(np.abs(B).max()))
        self.prices = np.where(loads > 0, math.inf, 0.0)
        usable = lifts > 0
        self.prices[usable] = loads[usable] * (loads[usable] / (4.0 * lifts[usable])) * (1 + 4 * U)
        need(np.isfinite(self.prices).all(), "E: a multiplier without its lift")
        if metric is not None:  # two roundings of each entry
            off = b * 2 * U * (float(np.abs(B).max()) + 2.0 * abs(self.c) * float(np.abs(metric).max()))
            need(proves_semidefinite(self.c * metric - B, -off), "E: B is not below c times the metric")
        elif factor is not None:
            # The product of m numbers, and a difference; |L||L'| and |B| are no longer than these, in norm.
            length = float(np.einsum("ij,ij->", factor, factor))
            loss = gamma(factor.shape[1] + 8) * length + gamma(4) * b * float(np.abs(B).max())
            need(proves_semidefinite(factor @ factor.T - B, self.c - loss), "E: B is not below cI + LL'")
        else:
            need(proves_semidefinite(-B, self.c), "E: B is not below c")

    def _spread(self, places: IntArray, count: int) -> None:
        """Let prices and dues be about so many features, of which the line knows those of these places."""
        prices, dues = np.full(count, math.inf), np.zeros(count)
        prices[places], dues[places] = self.prices, self.dues
        self.prices, self.dues = prices, dues

    def at(self, s: float, t: float, features: IntArray) -> FloatArray:
        """Return what each of the features adds at these norms, beside v'Bv, up to 2u of it."""
        added: FloatArray = self.prices[features] * (s if self.counts == IN_PLAIN_NORM else t) + self.dues[features]
        return added


def _less_pulls(G: FloatArray, dues: FloatArray, pulls: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    r"""Return G less what the pulls of all rows come to, the dues, and the rounding.

    :math:`2 v_i y_i^\top v + (1 - |y_i|^2) v_i^2 \le 1` for unit v and :math:`y_{ii} = 0`, with 0 on the left where
    :math:`v_i = 0`: so :math:`v^\top G v \le v^\top G' v + \sum_{v_i \ne 0} \alpha_i`.
    """
    b = len(G)
    need(dues.shape == (b,) and pulls.shape == (b, b), "E: pulls of another shape")
    need((dues >= 0).all() and (dues < 1e100).all() and (np.abs(pulls) < 1e100).all(), "E: pulls out of range")
    need((pulls.diagonal() == 0).all(), "E: a pull of a feature on itself")
    taken = dues[:, None] * pulls
    squares = np.einsum("ij,ij->i", pulls, pulls)
    less: FloatArray = G - (taken + taken.T)
    less.flat[:: b + 1] = G.diagonal() - dues * (1.0 - squares)
    # 2 |y| <= 1 + y^2, so this is the size of what is taken off beside the diagonal too: b squares, and 3 roundings.
    size = float(np.abs(G).max()) + float((dues * (1.0 + squares)).max())
    return less, dues, gamma(b + 4) * size


def _decoded(G: FloatArray, box: FloatArray, line: Line) -> tuple[FloatArray, FloatArray]:
    """Return B off the diagonal, and by how much G may exceed it there, in the sense that the line's signs leave."""
    every = line.form not in (THRESHOLD, CORE)
    need((line.form == CORE) == (line.core is not None), "E: a core is missing, or one too many")
    need(line.core is None or line.core.shape == (len(G),), "E: a core of another length")
    at = np.arange(len(G) if every else 0) if line.core is None else np.flatnonzero(line.core)
    need((line.entries is None) == (line.form == THRESHOLD), "E: entries are missing, or those of a threshold")
    far = np.maximum(box, 0.0)
    B = G - np.clip(G, -far, far)
    if line.entries is not None:
        b, within = len(at), np.ix_(at, at)
        need(line.entries.shape == (b * (b - 1) // 2,), "E: entries are missing")
        entries = np.zeros((b, b))
        entries[np.triu_indices(b, 1)] = line.entries
        entries += entries.T
        B[within] = G[within] + (box[within] * (entries / 32767.0) if line.form in (BOX, CORE) else entries)
        far[within] = np.abs(B - G)[within]
    if line.signs is not None:
        known = np.outer(line.signs, line.signs).astype(np.float64)
        far = np.where(known == 0, far, known * (G - B))
    return B, far


class VarianceLine(NearMatrix):
    """A line above v'Av, for the vectors on its features that are orthogonal to the directions of the data."""

    def __init__(self, data: Data, line: Line) -> None:
        features = line.features
        need(len(features) > 0 and features[-1] < data.d, "E: a line without features, or with one that is not there")
        penalty = Penalty(data.directions, line.deflation, data.top)
        G = data.A[np.ix_(features, features)]
        metric = None if data.metric is None else data.metric.B[np.ix_(features, features)]
        super().__init__(G - penalty.block(features), data.w[features], line, penalty.error, metric)
        self.c = math.nextafter(self.c + penalty.loss, math.inf)
        self._spread(features, data.d)
        self.signs = np.zeros(data.d, np.int8)
        if line.signs is not None:
            need(line.form == FREE and np.isin(line.signs, (-1, 0, 1)).all(), "E: signs of another kind")
            self.signs[features] = line.signs


def _top(numbers: FloatArray, count: int) -> float:
    """Return the sum of the largest numbers, those below 0 left out."""
    if 0 < count < len(numbers):
        numbers = np.partition(numbers, len(numbers) - count)
    return float(np.maximum(numbers[len(numbers) - count :], 0.0).sum())


def closes(
    data: Data | Bounded,
    lines: Sequence[NearMatrix],
    T: float,
    I: IntArray,  # noqa: E741
    F: IntArray,
    p: int,
) -> None:
    r"""Refuse unless no choice of a node has a value above T, by lines that all speak of its features.

    With h(x) the square of :math:`\sqrt{T + x} + r\sqrt t`, x what S costs, the variance must stay below h. At both
    ends of an interval of t one line does (it is linear in t, h is concave), for every S: on a piece of the range of x
    h lies above its chord, so that features count by what they add less their share of the chord's slope.
    """
    count = min(p, len(F))
    m, lowest = float(len(I) + count), 1.0
    error = gamma(len(I) + count + 4)
    paid, dearest = float(data.costs[I].sum()), _top(data.costs[F], count)
    least, most = paid * (1 - error), (paid + dearest) * (1 + error)
    need(T + least > 1e-200, "E: nothing is left of the threshold")
    squares = data.w * data.w
    low = min(float(squares[I].min(initial=math.inf)), float(squares[F].min(initial=math.inf)))
    if data.metric is not None:  # v'Bv is at most its largest entry times s, and at least the sum of below_j v_j^2
        spread = 1.0 / data.metric.below
        m, lowest = float(spread[I].sum()) + _top(spread[F], count), 1.0 / data.metric.largest
        low, squares = low * lowest, squares * spread
    high = float(squares[I].sum()) + _top(squares[F], count)
    pieces = _PIECES if dearest > 0 and data.r_max > 0 else 1
    cuts = np.linspace(least, most, pieces + 1)

    def excess(line: NearMatrix, t: float) -> float:
        """Return at most 0 only if the line closes every set of the node at this t; NaN refuses."""
        found = []
        h = (np.sqrt(T + cuts) + data.r_max * math.sqrt(t)) ** 2
        for s in (m,) if line.plain >= 0 else (m, lowest):
            slopes = line.plain * s, line.weighted * t
            fixed, each = float(line.at(s, t, I).sum()), line.at(s, t, F)
            Y = line.c + slopes[0] + slopes[1] + fixed
            whole = _top(each, count)
            size = abs(line.c) + abs(slopes[0]) + abs(slopes[1]) + fixed + whole
            for i in range(pieces):
                theta = (h[i + 1] - h[i]) / (cuts[i + 1] - cuts[i]) if dearest > 0 else 0.0
                gained = _top(each - theta * data.costs[F], count) if dearest > 0 else whole
                right = h[i] - theta * (cuts[i] - least)
                found.append(Y + gained - right + gamma(2 * (len(I) + count) + 60) * (size + h[i + 1]))
        return float(np.max(found))  # NaN stays NaN, and refuses

    known = {t: np.array([excess(line, t) for line in lines]) for t in (low, high)}
    need(np.isfinite([*known.values()]).all(), "E: a line does not speak of these features")
    stack = [(low, high)]
    for _ in range(_CUTS):
        left, right = stack.pop()
        if not (np.maximum(known[left], known[right]) <= 0).any():
            need(known[left].min() <= 0 and known[right].min() <= 0, "E: the envelope")
            # Where the line that is best at one end is as good as that which is best at the other.
            i, j = int(known[left].argmin()), int(known[right].argmin())
            before, after = known[left][j] - known[left][i], known[right][i] - known[right][j]
            t = left + min(max(before / (before + after), 0.001), 0.999) * (right - left)
            known[t] = np.array([excess(line, t) for line in lines])
            stack += [(left, t), (t, right)]
        if not stack:
            return
    raise Refused("E: the envelope")
