r"""Lines above the variance: from a proposal of the relaxation to a witness, and what lines say of a node.

A `Line` proves :math:`v^\top A v \le c + \mu_1 s + \mu_w t + \sum_{S} g_i` for unit v with the features S, s and t the
squares of its plain and its weighted l1 norm (docs/certificate-format.md, "Lines" and "ENVELOPE"). A node is closed at
t once that is at most :math:`(\sqrt{T + \sum_S \pi_i} + r\sqrt t)^2`; the least such T is its bound at t.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noap.kernel.arithmetic import proves_semidefinite
from noap.kernel.witness import BOX, CORE, FREE, IN_PLAIN_NORM, IN_WEIGHTED_NORM, THRESHOLD, Line
from noap.linalg.outward import gamma
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.search.multipliers import Proposal
from noap.search.spectrum import largest_eigenvalue
from noap.settings import RelaxationSettings

__all__ = ["FAINT", "Choices", "KnownLine", "SteepLines", "decoded", "line_of", "lowest_bound", "threshold_line"]

_STEPS = 32767  # of a 16-bit entry on either side of 0
FAINT = 1e-60  # a weight that steeper lines take for none


@dataclass(frozen=True, eq=False)
class Choices:
    """A node (I, F, p) and the data that lines are measured with; features are positions in A.

    Attributes
    ----------
    included, free : arrays of int
    places : int
    weights : array of shape (m,)
        Budgets over the largest one, `budget`; 1 where that is 0.
    budget : float
    costs : array of shape (m,) or None
    spread : array of shape (m,) or None
        In a metric v has a squared weighted l1 norm of at most the sum of these times the squared weights.
    lowest : float
        And a squared l1 norm of at least this.
    """

    included: IntArray
    free: IntArray
    places: int
    weights: FloatArray
    budget: float
    costs: FloatArray | None
    spread: FloatArray | None = None
    lowest: float = 1.0

    @property
    def size(self) -> float:
        """At most the squared l1 norm of a vector."""
        if self.spread is not None:
            return float(self.spread[self.included].sum()) + float(_most(self.spread[self.free], self.places))
        return len(self.included) + min(self.places, len(self.free))

    @property
    def paid(self) -> float:
        """Return what the included features cost."""
        return 0.0 if self.costs is None else float(self.costs[self.included].sum())

    @property
    def span(self) -> tuple[float, float]:
        """Return between which numbers t lies."""
        squares = self.weights * self.weights
        least = float(squares[np.concatenate([self.included, self.free])].min()) * self.lowest
        squares = squares if self.spread is None else squares * self.spread
        return least, float(squares[self.included].sum()) + float(_most(squares[self.free], self.places))


@dataclass(frozen=True, eq=False)
class KnownLine:
    """A witness, and the tau and the dues at the positions of all features, 0 for those that it does not speak of."""

    witness: Line
    prices: FloatArray
    dues: FloatArray

    @classmethod
    def of(cls, witness: Line, at: IntArray, size: int) -> "KnownLine":
        """Spread out the prices of a line; `at` are the positions of its features among so many."""
        loads, lifts = witness.loads.astype(np.float64), witness.lifts.astype(np.float64)
        prices, dues = np.zeros(size), np.zeros(size)
        prices[at] = np.where(loads > 0, loads**2 / np.where(loads > 0, 4.0 * lifts, 1.0), 0.0)
        if witness.dues is not None:
            dues[at] = witness.dues
        return cls(witness, prices, dues)

    def among(self, at: IntArray) -> "KnownLine":
        """Return the line for the features at some positions."""
        return KnownLine(self.witness, self.prices[at], self.dues[at])

    def slopes(self, node: Choices) -> tuple[float, float, float]:
        """Return the constant and the slopes of s and t for the vectors of a node, without dues."""
        indices = float(self.prices[node.included].sum()) + float(_most(self.prices[node.free], node.places))
        plain, weighted = self.witness.plain, self.witness.weighted
        if self.witness.counts == IN_PLAIN_NORM:
            return self.witness.c, plain + indices, weighted
        return self.witness.c, plain, weighted + indices

    def least_bound(self, node: Choices, t: float, settings: RelaxationSettings) -> float:
        """Return the least T for which the line closes the node at t, chord by chord of its costs."""
        return float(_LeastBounds([self], node, settings).at(t)[0])


class _LeastBounds:
    """The least T for which each of some lines closes a node at a t; all lines in one pass over arrays."""

    def __init__(self, lines: Sequence[KnownLine], node: Choices, settings: RelaxationSettings) -> None:
        # A line with a negative price of the plain norm counts at both ends of its range.
        rows = [(i, s) for i, one in enumerate(lines) for s in _ends(one, node)]
        self.node, self.settings = node, settings
        self.starts = np.flatnonzero(np.diff([-1, *(i for i, _ in rows)]))
        self.s: FloatArray = np.array([s for _, s in rows])
        made = [lines[i] for i, _ in rows]
        self.prices, self.dues = np.array([one.prices for one in made]), np.array([one.dues for one in made])
        known = [(one.witness.c, one.witness.plain, one.witness.weighted, one.witness.counts) for one in made]
        self.c, self.plain, self.weighted, counts = np.array(known).T
        self.in_plain_norm = counts == IN_PLAIN_NORM
        self.costs = np.zeros(len(node.free)) if node.costs is None else node.costs[node.free]
        self.paid, self.spread = node.paid, float(_most(self.costs, node.places))

    def at(self, t: float) -> FloatArray:
        """Return one number for each line."""
        found: FloatArray = np.maximum.reduceat(self._at(t), self.starts)
        return found

    def _at(self, t: float) -> FloatArray:
        node, settings, costs, paid = self.node, self.settings, self.costs, self.paid
        taken = node.budget * math.sqrt(t)
        gains = self.prices * np.where(self.in_plain_norm, self.s, t)[:, None] + self.dues
        height = self.c + self.plain * self.s + self.weighted * t + gains[:, node.included].sum(axis=1)
        free = gains[:, node.free]
        if (
            self.spread <= 1e-12 * paid or self.spread <= 0.0 or taken <= 0.0
        ):  # costs that are to be chosen do not count
            y = height + _most(np.maximum(free - costs, 0.0), node.places)
            alone: FloatArray = np.maximum(np.sqrt(np.maximum(y, 0.0)) - taken, 0.0) ** 2 - paid
            return alone
        edges = np.linspace(paid, paid + self.spread, settings.chords + 1)
        whole = np.sqrt(np.maximum(height + _most(free, node.places), 0.0))
        least, every = 1e-9 * height - paid, np.arange(len(height))
        T, step = np.maximum(np.maximum(whole - taken, 0.0) ** 2 - paid, least), np.zeros(len(height))
        for _ in range(settings.newton_steps):
            roots = np.sqrt(np.maximum(T[:, None] + edges, 0.0))
            above = (roots + taken) ** 2
            slopes = np.diff(above) / (edges[1] - edges[0])
            chosen = _most(np.maximum(free[:, None, :] - slopes[:, :, None] * costs, 0.0), node.places)
            short = height[:, None] + chosen - above[:, :-1] + slopes * (edges[:-1] - paid)
            worst = np.argmax(short, axis=1)
            root = roots[every, worst]
            step = short[every, worst] * root / (root + taken)
            T = np.maximum(T + step, least)
            if (np.abs(step) <= settings.flat * np.abs(T)).all():
                break
        found: FloatArray = T + np.abs(step)
        return found


def _ends(line: KnownLine, node: Choices) -> list[float]:
    return [float(node.size), node.lowest] if line.witness.plain < 0 else [float(node.size)]


def _most(values: FloatArray, count: int) -> FloatArray:
    """Return the sum of the `count` largest values, along the last axis."""
    if count < values.shape[-1]:
        values = np.partition(values, -count)[..., -count:] if count else values[..., :0]
    total: FloatArray = values.sum(axis=-1)
    return total


def lowest_bound(
    lines: Sequence[KnownLine], node: Choices, settings: RelaxationSettings, enough: float = -math.inf
) -> tuple[float, float, list[int]]:
    """Return the bound of a node, the t at which it is made, and the positions of the lines that are lowest somewhere.

    The interval of t is cut where the lowest lines of the ends of a piece cross; on every piece one line is used. A
    bound below `enough` need not be lower.
    """
    least, most = node.span
    r, paid = node.budget, node.paid
    plain = node.costs is None and not any(one.dues.any() for one in lines)
    several = _LeastBounds(lines, node, settings)
    slopes = np.array([one.slopes(node) for one in lines]) if plain else np.empty((0, 3))
    lowered = np.array([one.witness.plain < 0 for one in lines])
    ends = slopes[:, 1] * np.where(lowered & (slopes[:, 1] < 0), node.lowest, node.size) if plain else np.empty(0)

    def bounds(t: float) -> FloatArray:
        if not plain:
            return several.at(t)
        y = np.maximum(slopes[:, 0] + ends + slopes[:, 2] * t, 0.0)
        left = np.sqrt(y) - r * math.sqrt(t)
        # Below 0 too it says how low the line is, and so where lines cross.
        found: FloatArray = left * np.abs(left)
        return found

    if r == 0.0:  # everything is linear in t; few lines fall, so one of them does
        known = np.maximum(bounds(least), bounds(most))
        return float(known.min()), most, [int(known.argmin())]

    def variance(T: FloatArray, t: float) -> FloatArray:
        root = np.sqrt(np.abs(T + paid))
        found: FloatArray = (np.copysign(root, T + paid) + r * math.sqrt(t)) ** 2
        return found

    bound, t, used = _cut(bounds, variance, (least, most), enough, settings)
    return max(bound, 0.0) if plain else bound, t, used


def _cut(
    bounds: Callable[[float], FloatArray],
    variance: Callable[[FloatArray, float], FloatArray],
    span: tuple[float, float],
    enough: float,
    settings: RelaxationSettings,
) -> tuple[float, float, list[int]]:
    """Cut the interval of t where the highest piece can become lower: where the variances of two lines cross."""
    known = {t: bounds(t) for t in span}
    pieces, final = [span], []

    def height(piece: tuple[float, float]) -> float:
        # For every support what a line says falls and then rises with t: it is largest at an end.
        return float(np.maximum(known[piece[0]], known[piece[1]]).min())

    for _ in range(settings.cuts):
        if not pieces:
            break
        piece = max(pieces, key=height)
        pieces.remove(piece)
        left, right = piece
        ends = max(known[left].min(), known[right].min())
        floor = max(float(worst.min()) for worst in known.values())
        if (
            height(piece) <= max(enough, floor, ends + settings.flat * abs(ends))
            or right - left <= settings.flat * right
        ):
            final.append(piece)
            continue
        i, j = int(known[left].argmin()), int(known[right].argmin())
        before, after = variance(known[left], left), variance(known[right], right)
        rise = (before[j] - before[i]) + (after[i] - after[j])
        share = float((before[j] - before[i]) / rise) if rise > 0 else 0.5
        t = left + min(max(share, 1e-6), 1 - 1e-6) * (right - left)
        known[t] = bounds(t)
        pieces += [(left, t), (t, right)]
    final += pieces
    used = {int(np.maximum(known[left], known[right]).argmin()) for left, right in final}
    used |= {int(worst.argmin()) for worst in known.values() if worst.min() > enough}
    worst = max(final, key=height)
    return height(worst), max(worst, key=lambda t: float(known[t].min())), sorted(used)


def line_of(
    G: FloatArray,
    features: IntArray,
    weights: FloatArray,
    counts: int,
    proposal: Proposal,
    *,
    signs: IntArray | None = None,
    settings: RelaxationSettings | None = None,
    metric: FloatArray | None = None,
    core: BoolArray | None = None,
) -> Line:
    """Write a proposal down as a witness: first what is rounded, then what follows from it.

    Parameters
    ----------
    G : array of shape (b, b)
        The matrix that the proposal is near to.
    features : array of shape (b,)
        Numbers of the features in the witness, ascending.
    weights : array of shape (b,)
    counts : IN_PLAIN_NORM or IN_WEIGHTED_NORM
        The proposal's first norm; the second one is the other.
    signs : array of shape (b,), optional
        Known signs of v: the witness is of form FREE.
    metric : array of shape (b, b), optional
    core : bool array of shape (b,), optional
        The features that the proposal's matrix is about; all by default. Beside it A is cut by thresholds.
    """
    loads, lifts = proposal.loads.astype(np.float32), proposal.lifts.astype(np.float32)
    loads[lifts <= 0] = 0.0
    dues = pulls = None
    if proposal.dues is not None and proposal.pulls is not None and proposal.dues.any():
        dues, pulls = proposal.dues.astype(np.float32), proposal.pulls.astype(np.float32)
    mu, norm = proposal.mu, np.ones(len(G)) if counts == IN_PLAIN_NORM else weights
    plain, weighted = (mu, proposal.nu) if counts == IN_PLAIN_NORM else (proposal.nu, mu)
    near, box = _near(G, dues, pulls), _box(plain, weighted, loads, weights, counts)
    if mu < 0.0:  # a box below 0, by rounding of the loads, is raised
        some = norm > 0
        short = float((box[np.ix_(some, some)] / norm[some] / norm[some, None]).min(initial=0.0)) * (1 + 1e-9)
        plain, weighted = (mu - short, weighted) if counts == IN_PLAIN_NORM else (plain, mu - short)
        box = _box(plain, weighted, loads, weights, counts)
    upper, within = np.triu_indices(len(proposal.B), 1), _within(core, len(G))
    away, size = (proposal.B - near[within])[upper], box[within][upper]
    if signs is None:
        form = BOX if core is None else CORE
        steps = np.clip(np.divide(away, size, out=np.zeros_like(away), where=size > 0), -1.0, 1.0) * _STEPS
        entries: npt.NDArray[Any] = np.rint(steps).astype(np.int16)
    else:
        form, known = FREE, np.outer(signs, signs)[upper]
        size = np.maximum(size, 0.0) * (1 - 1e-6)  # single precision rounds by less
        low, high = np.where(known < 0, -np.inf, -size), np.where(known > 0, np.inf, size)
        entries = np.clip(away, low, high).astype(np.float32)
    written = None if signs is None else signs.astype(np.int8)
    made = Line(features, 0.0, plain, weighted, counts, form, loads, lifts, entries, written, dues, pulls, core=core)
    return _with_constant(made, decoded(made, G, weights), settings, float(np.abs(G).max()), metric)


def threshold_line(
    G: FloatArray,
    features: IntArray,
    weights: FloatArray,
    plain: float,
    weighted: float,
    settings: RelaxationSettings,
    metric: FloatArray | None = None,
) -> Line:
    """Return the line of the soft threshold of G at plain + weighted w_i w_j, nothing paid for indices."""
    none = np.zeros(len(G), np.float32)
    made = Line(features, 0.0, plain, weighted, IN_WEIGHTED_NORM, THRESHOLD, none, none)
    return _with_constant(made, decoded(made, G, weights), settings, float(np.abs(G).max()), metric)


class SteepLines:
    r"""Steeper lines made of one, for small t, where some features have no budget.

    With E these features and N the others, cI - B is positive semidefinite for a c above the largest eigenvalue of
    :math:`B_{EE}` once :math:`B_{NN}` is lowered by minus its Schur complement. With W the weights of N, the positive
    part of that between two factors :math:`W^{-1}` has its largest entry on the diagonal: so much steeper is the line.
    ADMM comes to the same, but slowly: its entries have to grow to the slope.
    """

    def __init__(self, line: Line, G: FloatArray, weights: FloatArray, signs: IntArray | None) -> None:
        self.line, self.G, self.weights, self.signs = line, G, weights, signs
        self.B = decoded(line, G, weights)
        # Squares of smaller weights would leave the range of doubles where they divide; such features stay as they are.
        exact = np.flatnonzero(weights <= FAINT)
        self.noisy = np.flatnonzero(weights > FAINT)
        self.values, vectors = np.linalg.eigh(self.B[np.ix_(exact, exact)])
        self.cross = self.B[np.ix_(self.noisy, exact)] @ vectors
        self.own = self.B[np.ix_(self.noisy, self.noisy)]
        self.w: FloatArray = np.outer(weights[self.noisy], weights[self.noisy])

    def _away(self, above: float) -> FloatArray:
        c = float(self.values[-1]) + above
        # Summed in this order no divisor is 0, however little `above` is.
        short = self.own + (self.cross / ((self.values[-1] - self.values) + above)) @ self.cross.T
        short.flat[:: len(short) + 1] -= c
        scaled, turned = np.linalg.eigh(short / self.w)
        away: FloatArray = (turned * np.maximum(scaled, 0.0)) @ turned.T
        return away

    def at(self, t: float, settings: RelaxationSettings) -> Line:
        """Return about the lowest of these lines at t > 0, by golden sections of log(c less the eigenvalue)."""
        top, golden = float(np.abs(self.G).max()), 0.5 * (math.sqrt(5.0) - 1.0)
        low, high = math.log(1e-9 * top), math.log(top)

        def height(x: float) -> float:
            return math.exp(x) + float(self._away(math.exp(x)).diagonal().max()) * t

        x, y = high - golden * (high - low), low + golden * (high - low)
        at_x, at_y = height(x), height(y)
        for _ in range(settings.sections):
            if at_x < at_y:
                high, y, at_y = y, x, at_x
                x = high - golden * (high - low)
                at_x = height(x)
            else:
                low, x, at_x = x, y, at_y
                y = low + golden * (high - low)
                at_y = height(y)
        away, line = self._away(math.exp(0.5 * (low + high))), self.line
        steeper = float(away.diagonal().max()) * (1.0 + len(away) / _STEPS)  # and what 16 bits leave open
        B = self.B.copy()
        B[np.ix_(self.noisy, self.noisy)] -= away * self.w
        plain, weighted = line.plain, line.weighted + steeper
        mu, nu = (plain, weighted) if line.counts == IN_PLAIN_NORM else (weighted, plain)
        loads, lifts = line.loads.astype(np.float64), line.lifts.astype(np.float64)
        dues = None if line.dues is None else line.dues.astype(np.float64)
        pulls = None if line.pulls is None else line.pulls.astype(np.float64)
        made = Proposal(B, mu, nu, loads, lifts, dues, pulls)
        return line_of(self.G, line.features, self.weights, line.counts, made, signs=self.signs, settings=settings)


def _with_constant(
    line: Line, B: FloatArray, settings: RelaxationSettings | None, top: float, metric: FloatArray | None
) -> Line:
    """Return the line with its c: the largest eigenvalue, and the room that the kernel's factorisation takes."""
    b, c = len(B), largest_eigenvalue(B, settings or RelaxationSettings(), metric)
    if metric is not None:
        room = 1e-14
        while room < 1.0:
            size = float(np.abs(B.diagonal()).sum()) + b * abs(c) * float(np.abs(metric).max())
            if proves_semidefinite(c * metric - B, -2.0 * gamma(b + 8) * size):
                break
            c += room * max(abs(c), 1e-3 * top)
            room *= 2.0
        return replace(line, c=c)
    c += 4.0 * gamma(b + 8) * (float(np.abs(B.diagonal()).sum()) + b * abs(c)) + 4e-16 * b * top
    return replace(line, c=c)


def decoded(line: Line, G: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the matrix B that a witness stands for.

    Parameters
    ----------
    G : array of shape (b, b)
    weights : array of shape (b,)
    """
    near = _near(G, line.dues, line.pulls)
    box = _box(line.plain, line.weighted, line.loads, weights, line.counts)
    B = near - np.clip(near, -box, box) if line.form in (THRESHOLD, CORE) else near.copy()
    if line.entries is not None:
        within = _within(line.core, len(G))
        own = near[within]
        upper = np.triu_indices(len(own), 1)
        away = np.zeros_like(own)
        steps = line.entries.astype(np.float64)
        away[upper] = steps if line.form == FREE else box[within][upper] * steps / _STEPS
        B[within] = own + away + away.T
    np.fill_diagonal(B, near.diagonal() + line.lifts - box.diagonal())
    return B


def _within(core: BoolArray | None, b: int) -> tuple[Any, ...]:
    """Return the block of the features that a line has entries for."""
    at = np.arange(b) if core is None else np.flatnonzero(core)
    return np.ix_(at, at)


def _near(G: FloatArray, dues: FloatArray | None, pulls: FloatArray | None) -> FloatArray:
    """Return G less what the pulls come to: row i takes 2 v_i y_i'v + (1 - |y_i|^2) v_i^2 <= 1, times its due."""
    if dues is None or pulls is None:
        return G
    a, y = dues.astype(np.float64), pulls.astype(np.float64)
    taken = a[:, None] * y
    left: FloatArray = G - (taken + taken.T)
    np.fill_diagonal(left, G.diagonal() - a * (1.0 - (y * y).sum(axis=1)))
    return left


def _box(plain: float, weighted: float, loads: FloatArray, weights: FloatArray, counts: int) -> FloatArray:
    """Return how far entries may be away; its diagonal is what the diagonal loses."""
    half = 0.5 * loads.astype(np.float64)
    alike = bool((weights == 1.0).all())
    if alike or counts == IN_PLAIN_NORM:
        box: FloatArray = half[:, None] + half
    else:
        box = np.outer(half, weights)
        box = box + box.T
    box += plain + (weighted if alike or weighted == 0.0 else weighted * np.outer(weights, weights))
    return box
