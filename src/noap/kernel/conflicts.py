r"""Rule C: which features can lie in one support above T at all, and how small claims cover their graph.

With :math:`\mathrm{below}_q` proved for fewer features, any e places of a choice of q features above T contribute more
than :math:`\mathrm{due}_e = T - \mathrm{below}_{q-e}` together, for one unit u. What contributes nothing is left out of
the choice. So each of its features has :math:`|a_j^\top u| > m_j`, any two contribute more than
:math:`\mathrm{due}_2`, and there are at least `size` of them: docs/kernel.md, section 10.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from noap.kernel.arithmetic import U, need
from noap.kernel.data import Data, Features
from noap.kernel.majorant import chord
from noap.kernel.witness import Level
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.runtime.threads import in_order

__all__ = ["ChordMajorant", "Cover", "Demands", "kept_features", "pairs"]

# The number of the demands, both features, and their product in size.
_Found: TypeAlias = tuple[int, IntArray, IntArray, FloatArray]
# More than what underflows in single precision.
_TINY_SINGLE = 2.0**-120


class Demands:
    r"""What a choice of at most q features with a value above T demands of its features, by themselves and in pairs.

    With the chord :math:`f_j(s) \le \alpha_j s^2 - b_j` on :math:`[m_j, |a_j|]`, :math:`\alpha_j = 1 - 2r_j/(|a_j| +
    m_j)`, :math:`b_j = \pi_j + 2 r_j m_j |a_j|/(|a_j| + m_j) - r_j^2`. All arrays are rounded so that no pair is lost.

    Attributes
    ----------
    size : int
        At least so many features contribute.
    fits : bool array of shape (d,)
        Which features may be among them.
    """

    def __init__(self, data: Features, T: float, below: FloatArray, q: int) -> None:
        plain = data.additive and len(data.include) == 0 and data.metric is None
        need(plain, "C: conflicts need columns, no demanded feature, no directions and no metric")
        need(0 < T < 1e100 and q >= 2, "C: conflicts need two features, and a threshold above 0")
        due: FloatArray = np.nextafter(T - below[:q][::-1], -np.inf)  # of one feature, of two, ..., of q
        empty = np.flatnonzero(due < 0)
        self.size = q - (int(empty[-1]) + 1 if len(empty) else 0)
        need(self.size >= 2, "C: a single feature may be enough")
        one, self.two = max(float(due[0]), 0.0), float(due[1])
        best = float(data.most.max())
        self.fits: BoolArray = data.allowed & (data.most > one)
        self.fits &= np.nextafter(data.most + best, np.inf) > self.two
        self.r, self.costs = data.r, data.costs
        m: FloatArray = (data.r + np.sqrt(one + data.costs)) * (1 - 4 * U)
        L: FloatArray = np.maximum(data.lengths, m)
        self.floors, self.lengths = m, L
        self.rest = np.sqrt((L - m) * (L + m)) * (1 + 4 * U)
        self.scale, self.back = chord(data.r, data.costs, m, L)
        most = (self.scale * L) ** 2
        self.short = (self.two - most) + self.back - 16 * U * (abs(self.two) + most + np.abs(self.back))

    def part(self, features: IntArray) -> "Demands":
        """Return what they say of some features, numbered by their places."""
        made = object.__new__(Demands)
        made.size, made.two = self.size, self.two
        for name in ("fits", "r", "costs", "floors", "lengths", "rest", "scale", "back", "short"):
            setattr(made, name, getattr(self, name)[features])
        return made

    def fit(self, sizes: FloatArray, error: float, i: IntArray, j: IntArray) -> BoolArray:
        r"""Return which pairs may lie in one choice: :math:`|a_i^\top a_j|` is within `error` of `sizes`.

        They do not where :math:`|a_i^\top a_j|` is below :math:`m_i m_j - (|a_i|^2 - m_i^2)^{1/2} (|a_j|^2 -
        m_j^2)^{1/2}`, or :math:`c_i c_j |a_i^\top a_j|` below :math:`(x_i x_j)^{1/2}`, :math:`c^2 = \alpha`, :math:`x_i
        = \mathrm{due}_2 + b_i + b_j - \alpha_i |a_i|^2 \ge 0`.
        """
        apart = self.lengths[i] * self.lengths[j]
        most = sizes + (error + 16 * U) * apart + _TINY_SINGLE
        reach = self.floors[i] * self.floors[j] - self.rest[i] * self.rest[j]
        x, y = self.short[i] + self.back[j], self.short[j] + self.back[i]
        least = np.sqrt(np.maximum(x, 0.0) * np.maximum(y, 0.0))
        far = (x > 0) & (y > 0) & (most * (self.scale[i] * self.scale[j]) < least * (1 - 16 * U))
        found: BoolArray = ~((most < reach) | far)
        return found

    def least(self, I: IntArray, J: IntArray, error: float) -> FloatArray:  # noqa: E741
        """Return for each feature of I what its product with any one of J must exceed in size, or be no pair."""
        m, p, L = self.floors[J].min(), self.rest[J].max(), self.lengths[J].max()
        reach = self.floors[I] * m - self.rest[I] * p
        x, y = self.short[I] + self.back[J].min(), self.short[J].min() + self.back[I]
        least = np.sqrt(np.maximum(x, 0.0) * np.maximum(y, 0.0)) / (self.scale[I] * self.scale[J].max())
        reach = np.maximum(reach, np.where((x > 0) & (y > 0), least, -np.inf))
        # A millionth, so that what is compared in single precision, or rounded here, loses no pair.
        found: FloatArray = reach - 1e-6 * np.abs(reach) - (error + 32 * U) * (self.lengths[I] * L) - _TINY_SINGLE
        return found

    def graph(self, part: Data) -> BoolArray:
        """Return which pairs of all features of a part fit."""
        at = np.arange(part.d)
        found = self.fit(np.abs(part.A), part.error, at[:, None], at[None, :])
        found &= self.fits[:, None] & self.fits
        np.fill_diagonal(found, False)
        return found

    def chord(self, intercept: float) -> FloatArray:
        r"""Return c with :math:`f_j(s) \le c_j^2 s^2 + \beta` at both ends of :math:`[m_j, |a_j|]`, and so between."""
        need(-1e100 < intercept < 0, "M: the intercept of chords must be below 0")
        need((self.floors > 1e-100).all(), "M: a chord without a floor")
        slopes = []
        for end in (self.floors, self.lengths):
            square = (end - self.r) ** 2
            room = 8 * U * (square + self.costs - intercept)
            slopes.append((square - self.costs - intercept + room) / (end * end))
        found: FloatArray = np.sqrt(np.maximum(np.maximum(*slopes), 0.0) * (1 + 8 * U)) * (1 + 4 * U)
        return found


class ChordMajorant:
    r"""Rule M where every feature of a choice has :math:`|a_j^\top u| > m_j`, as in a small claim.

    Contributions, costs included, are at most :math:`c_j^2 (a_j^\top u)^2 + \beta`, so :math:`M_{ij} = c_i c_j A_{ij}`
    with the threshold :math:`T - m\beta` for the m features that a choice has at least.

    Attributes
    ----------
    error : float
        By how much an entry of M may be off.
    loss : float
        What is taken off the threshold; below 0.
    costs, paid : array of shape (d,)
        Zeros: M contains them.
    """

    gain, priced = 0.0, 1.0

    def __init__(self, data: Data, demands: Demands, intercept: float) -> None:
        c = demands.chord(intercept)
        self.data, self.costs, self.paid = data, np.zeros(data.d), np.zeros(data.d)
        self.loss = demands.size * intercept * (1 - 2 * U)
        self.error = 4 * U * data.top * float(c.max()) ** 2
        self._whole: FloatArray = data.A * np.outer(c, c)

    def covers(self, I: IntArray, F: IntArray, p: int) -> None:  # noqa: E741
        """Refuse nothing: chords hold on every node of their claim."""

    def block(self, features: IntArray, level: float = 0.0, included: int = 0) -> FloatArray:
        """Return M on some features."""
        return self._whole[np.ix_(features, features)]


def pairs(
    data: Features, demands: Sequence[Demands], allowance: float = 1.0, check: Callable[[], None] = lambda: None
) -> Iterator[_Found]:
    """Yield the pairs that fit, block by block: the number of the demands, both features, and their product in size.

    Each product is formed once for all demands, or not at all where lengths are too short for any.

    Parameters
    ----------
    allowance : float
        Of the error of products, so many times: a search asks for more, so that rounding elsewhere adds no pair.
    check : callable
        Asked before each block; it may raise.
    """
    fits = np.logical_or.reduce([one.fits for one in demands])
    order = np.flatnonzero(fits)
    order = order[np.argsort(-data.most[order], kind="stable")]
    blocks = [order[at : at + data.width] for at in range(0, len(order), data.width)]
    error = allowance * data.error

    def looks() -> Iterator[Callable[[], list[_Found]]]:
        for a, I in enumerate(blocks):  # noqa: E741
            for J in blocks[a:]:
                longest = data.lengths[I] * (float(data.lengths[J].max()) * (1 + 1e-6))
                least = np.array([one.least(I, J, error) for one in demands])
                if not (least > longest).all():
                    check()
                    yield functools.partial(_looked, data, demands, I, J, least.min(axis=0), error)

    for found in in_order(looks(), data.threads):
        yield from found


def _looked(
    data: Features,
    demands: Sequence[Demands],
    I: IntArray,  # noqa: E741
    J: IntArray,
    least: FloatArray,
    error: float,
) -> list[_Found]:
    """Return the pairs of two blocks that fit."""
    with np.errstate(all="ignore"):  # a thread has its own word on that
        sizes = np.abs(data.products(I, J))
        rows, columns = np.divmod(np.flatnonzero(sizes >= least.astype(sizes.dtype)[:, None]), len(J))
        if I is J:
            upper = rows < columns
            rows, columns = rows[upper], columns[upper]
        sizes, i, j = sizes[rows, columns].astype(np.float64), I[rows], J[columns]
        fit = [one.fit(sizes, error, i, j) & one.fits[i] & one.fits[j] for one in demands]
        return [(number, i[own], j[own], sizes[own]) for number, own in enumerate(fit) if own.any()]


def kept_features(graph: BoolArray, kept: int, size: int) -> None:
    """Refuse unless no choice of at least `size` features that all fit uses one behind the first `kept`.

    Each one that is dropped has fewer than size - 1 neighbours before it, so it is the last of no such choice.
    """
    need(0 <= kept <= len(graph), "C: a claim keeps more features than it has")
    before = np.tril(graph, -1).sum(axis=1)[kept:]
    need((before < size - 1).all(), "C: a claim drops a feature with enough neighbours")


class Cover:
    """The order in which a level takes its features out, each with a claim about it and its later neighbours.

    A choice lies within the claim of its first feature: all others are later neighbours of that. A feature without a
    claim must have too few of them. A component is taken out at once, with a claim about all of it, if no pair leads
    from it to a later feature.
    """

    def __init__(self, level: Level, demands: Demands) -> None:
        d, order = len(demands.fits), level.order
        self.size, self.fits = demands.size, demands.fits
        need(len(np.unique(order)) == len(order), "C: a feature is twice in the order")
        # Features that are not in the order come before all others.
        self._place: IntArray = np.arange(d) - d
        self._place[order] = np.arange(len(order))
        self._owner: IntArray = np.full(d, -1)
        self._component: IntArray = np.full(d, -1)
        keys = []
        for number, claim in enumerate(level.claims):
            need(len(np.unique(claim.features)) == len(claim.features) > 0, "C: a feature is twice in a claim")
            taken = claim.features[:1] if claim.rooted else claim.features
            need((self._owner[taken] == -1).all(), "C: two claims take the same feature out")
            self._owner[taken] = number
            if claim.rooted:
                keys.append(int(taken[0]) * d + claim.features)
            else:
                self._component[taken] = number
        self._keys: IntArray = np.sort(np.concatenate(keys)) if keys else np.empty(0, np.intp)
        self._later: IntArray = np.zeros(d, np.intp)

    @property
    def holds_all(self) -> bool:
        """Whether one component has all features that fit: then no pair needs to be looked at."""
        within = self._component[self.fits]
        return len(within) > 0 and bool((within == within[0]).all()) and within[0] >= 0

    def take(self, i: IntArray, j: IntArray) -> None:
        """Refuse pairs that no claim covers."""
        first = np.where(self._place[i] < self._place[j], i, j)
        last = i + j - first
        component = self._component[first]
        need(((component == -1) | (component == self._component[last])).all(), "C: a pair leads out of a component")
        alone = self._owner[first] == -1
        self._later += np.bincount(first[alone], minlength=len(self._later))
        wanted = (first * len(self._later) + last)[~alone & (component == -1)]
        if len(wanted):
            need(len(self._keys) > 0, "C: a neighbour is not in the claim")
            at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            need((self._keys[at] == wanted).all(), "C: a neighbour is not in the claim")

    def finish(self) -> None:
        """Refuse features that have enough later neighbours, and no claim."""
        need((self._later < self.size - 1).all(), "C: a feature with enough neighbours has no claim")
