r"""The multipliers of the l1 norms and of cardinality, by ADMM (docs/tree.md, "Lines").

A line above the variance consists of a matrix B near A and of prices: :math:`\mu` for :math:`|v|_n^2`, the norm in
which cardinality is counted, :math:`\nu` for :math:`|v|_o^2`, another norm, and :math:`\pi_i` for the index of each
free feature i. The best B minimises the largest eigenvalue. Its dual is

.. math:: \max_{W \succeq 0,\ \mathrm{tr}\,W = 1}\ \langle A, W\rangle - \mu |W|_n - \nu |W|_o - \sum_i \pi_i z_i ,
   \qquad z_i = (1 - \theta) \frac{(\sum_j n_j |W_{ij}|)^2}{y\, W_{ii}} + \theta \frac{\sum_j W_{ij}^2}{W_{ii}} ,

where y is the value of :math:`|v|_n^2` at which the line is wanted and both fractions are 1 for a feature of v if W is
vv'. Without costs :math:`\theta = 0`: then all indices have one price, whose sum is a share of the slope.

ADMM alternates between the projection on the spectahedron and a step row by row. Its scaled multiplier U is within the
prices at every moment, so :math:`B = A - \varrho U` may always be used: nothing rests on convergence. Hence single
precision suffices for eigenvectors, and a step may go further than the projection.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from noap.kernel.witness import IN_WEIGHTED_NORM
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.search.spectrum import on_spectahedron
from noap.settings import RelaxationSettings

__all__ = ["Multipliers", "Proposal"]

_LARGEST_RATIO = 1e3  # of a row's l1 norm to its diagonal entry


class Proposal(NamedTuple):
    r"""A matrix near A and what its entries may differ by, as in docs/certificate-format.md, "Lines".

    Off the diagonal B is A less the pulls times their dues, within
    :math:`\mu n_i n_j + \nu o_i o_j + (\lambda_i n_j + \lambda_j n_i)/2`.
    """

    B: FloatArray
    mu: float
    nu: float
    loads: FloatArray
    lifts: FloatArray
    dues: FloatArray | None
    pulls: FloatArray | None


@dataclass
class _Moving:
    """Step length of a share: longer as long as the direction stays, shorter where it turns."""

    size: float
    least: float
    most: float
    direction: float = 0.0

    def towards(self, excess: float, settings: RelaxationSettings) -> float:
        """Return the step for a relative excess; small where that is."""
        direction = float(np.sign(excess))
        if direction * self.direction > 0:
            self.size *= settings.longer
        elif direction * self.direction < 0:
            self.size *= settings.shorter
        self.size, self.direction = min(max(self.size, self.least), self.most), direction
        return direction * self.size * min(1.0, 10.0 * abs(excess))


@dataclass
class Multipliers:
    r"""State of the iteration for one matrix; slopes may change on the way.

    Attributes
    ----------
    A, Z, U, W : arrays of shape (m, m)
        The matrix; the sparse copy of W and the scaled multiplier; W, positive semidefinite and of trace 1.
    norm : array of shape (m,)
        Weights n of the norm in which cardinality is counted.
    other : array of shape (m,) or None
        Weights o of the other norm.
    costs : array of shape (m,) or None
    ratios : array of shape (m,)
        :math:`\sum_j n_j |Z_{ij}| / Z_{ii}`, of each row.
    penalty, top : float
        top is the largest entry of the matrix that all began with.
    share, mix : float
        Part of the slope that is paid for indices (the rest, mu, may be negative); part of a price that is a due.
    rank : int
        Of W, 0 before the first step.
    other_share : float
        The share when cardinality was last counted in the other norm.
    counts : IN_PLAIN_NORM or IN_WEIGHTED_NORM
        Which of the two `norm` is.
    """

    A: FloatArray
    Z: FloatArray
    U: FloatArray
    W: FloatArray
    norm: FloatArray
    other: FloatArray | None
    costs: FloatArray | None
    ratios: FloatArray
    penalty: float
    top: float
    settings: RelaxationSettings
    share_step: _Moving
    mix_step: _Moving
    share: float = 0.0
    mix: float = 0.0
    rank: int = 0
    other_share: float = 0.0
    counts: int = IN_WEIGHTED_NORM

    @classmethod
    def of(
        cls,
        A: FloatArray,
        norm: FloatArray,
        other: FloatArray | None = None,
        costs: FloatArray | None = None,
        settings: RelaxationSettings | None = None,
    ) -> "Multipliers":
        """Start from the leading eigenvector."""
        one = settings or RelaxationSettings()
        leading = np.linalg.eigh(A)[1][:, -1]
        W, top = np.outer(leading, leading), float(np.abs(A).max())
        share_step = _Moving(one.share_step, one.least_share_step, one.most_share_step)
        mix_step = _Moving(one.mix_step, one.least_mix_step, one.most_mix_step)
        start = (np.full(len(A), 2.0), top, top, one, share_step, mix_step)
        return cls(A, W, np.zeros_like(A), W, norm, other, costs, *start, mix=0.0 if costs is None else one.mix)

    def restricted(self, kept: BoolArray) -> "Multipliers":
        """Return the state on some of the features, to go on from."""
        block = np.ix_(kept, kept)
        A, Z, U, W = (M[block] for M in (self.A, self.Z, self.U, self.W))
        other = None if self.other is None else self.other[kept]
        costs = None if self.costs is None else self.costs[kept]
        rows = {"norm": self.norm[kept], "other": other, "costs": costs, "ratios": self.ratios[kept]}
        steps = {name: replace(getattr(self, name), direction=0.0) for name in ("share_step", "mix_step")}
        return replace(self, A=A, Z=Z, U=U, W=W, **rows, **steps)  # type: ignore[arg-type]

    def count(self, counts: int) -> None:
        """Count cardinality in the plain or in the weighted norm."""
        assert self.other is not None
        if counts != self.counts:
            self.norm, self.other, self.counts = self.other, self.norm, counts
            self.share, self.other_share = self.other_share, self.share
            self.ratios = self._ratios_of(np.arange(len(self.A)))

    def advance(
        self,
        slope: float,
        nu: float,
        free: BoolArray,
        places: int,
        at: float,
        *,
        kept: float = 1.0,
        signs: IntArray | None = None,
    ) -> Proposal:
        r"""Take some steps, and return the matrix that they lead to.

        Parameters
        ----------
        slope : float
            What the line may rise by with :math:`|v|_n^2`: mu and the prices of all places together.
        nu : float
            Price of the other norm.
        free : array of shape (m,)
            The features that share the places; the others have theirs.
        places : int
        at : float
            The value of :math:`|v|_n^2` at which the line is wanted.
        kept : float
            Part of a variance that the adversary leaves: costs count for so much more.
        signs : array of shape (m,), optional
            Known signs of the entries of v, 0 where unknown.
        """
        settings, m, n = self.settings, len(self.A), self.norm
        limited = 0 < places < int(free.sum())
        each = self.share * slope * at / places if limited else 0.0
        mu = slope * (1.0 - self.share) if limited else slope
        prices: FloatArray = np.where(free, each + (0.0 if self.costs is None else self.costs / kept), 0.0)
        rows = np.flatnonzero(prices > (0.0 if self.costs is None else settings.negligible * self.top))
        tau, dues = (1.0 - self.mix) * prices[rows] / at, self.mix * prices[rows] if self.mix else None
        loads, lifts = np.zeros(m), np.zeros(m)
        if mu < 0.0:
            # No entry may be cut by less than nothing, so the features that pay for no index have a load of -mu at
            # their own ratio. It costs -mu n^2/(2 ratio), which the slope has to cover as well.
            taken = np.flatnonzero(prices <= 0.0)
            own = np.maximum(self.ratios[taken], 2.0 * len(taken))
            mu /= 1.0 - float((0.5 * n[taken] ** 2 / own).sum())
            loads[taken], lifts[taken] = -mu * n[taken], -0.5 * mu * own
        p, wrong = self.penalty, None if signs is None else np.outer(signs, signs)
        base = mu * np.outer(n, n)
        if self.other is not None:
            base += nu * np.outer(self.other, self.other)
        base /= p
        whole = None  # the quotients of entries and diagonals, where there are dues
        pull, before = self.A / p, self.Z
        for _ in range(settings.steps):
            target = self.Z - self.U + pull
            self.W = self._projected((target + target.T) / 2)
            reached = settings.further * self.W + (1.0 - settings.further) * self.Z + self.U
            entries = reached if wrong is None else np.where(reached * wrong < 0.0, 0.0, reached)
            over = np.abs(entries)
            over -= base
            over.flat[:: m + 1] = 0.0
            diagonal = reached.diagonal() - base.diagonal()
            if len(rows):
                due = None if dues is None else dues / p
                part = over if len(rows) == m else over[rows]
                g = self._ratios(part, diagonal[rows], tau / p, due, mu / p, rows)
                self.ratios[rows], loads[rows], lifts[rows] = g, 2.0 * tau * g, tau * g * g
            over -= (loads / p)[:, None] * n
            np.maximum(over, 0.0, out=over)
            over.flat[:: m + 1] = 0.0
            diagonal += (lifts - loads * n) / p
            if dues is not None:
                whole = self._wholes(over[rows], diagonal[rows], dues / p)
                diagonal[rows] = whole - 2.0 * dues / p
                over[rows] *= (diagonal[rows] / whole)[:, None]
            Z = np.copysign(over, entries)
            Z.flat[:: m + 1] = np.maximum(diagonal, 0.0)
            self.U, before, self.Z = reached - Z, self.Z, Z
        far = float(np.linalg.norm(self.W - self.Z))
        change = float(np.linalg.norm(self.Z - before)) / max(float(np.linalg.norm(self.U)), 1e-300)
        B: FloatArray = self.A - p * (self.U + self.U.T) / 2
        all_dues = pulls = None
        if dues is not None and whole is not None:
            all_dues, pulls = np.zeros(m), np.zeros((m, m))
            all_dues[rows] = dues
            shrunk = np.maximum(np.abs(entries[rows]) - base[rows] - (loads[rows] / p)[:, None] * n, 0.0)
            pulls[rows] = np.sign(entries[rows]) * shrunk / whole[:, None]
            np.fill_diagonal(pulls, 0.0)
        self._move(prices, free, places if limited else 0, at)
        self._balance(far, change)
        others = np.setdiff1d(np.arange(m), rows)
        self.ratios[others] = self._ratios_of(others)
        return Proposal(B, mu, nu, loads, lifts, all_dues, pulls)

    def _projected(self, M: FloatArray) -> FloatArray:
        """Return the nearest relaxed matrix."""
        W, self.rank, _ = on_spectahedron(M, self.rank, self.settings)
        return W

    def _ratios_of(self, rows: IntArray) -> FloatArray:
        """Return the ratios of rows of Z, within reason."""
        sums, own = np.abs(self.Z[rows]) @ self.norm, np.maximum(self.Z.diagonal()[rows], self.settings.negligible)
        found: FloatArray = np.clip(sums / own, self.norm[rows], _LARGEST_RATIO)
        return found

    def _ratios(
        self, sizes: FloatArray, own: FloatArray, tau: FloatArray, dues: FloatArray | None, mu: float, rows: IntArray
    ) -> FloatArray:
        r"""Return the ratio :math:`g = |z|_n / z_i` of the row z nearest to each row x, prices included.

        z has the entries of x cut by :math:`2\tau g n_j`, beside what the norms cut, then shrunk by
        :math:`s/(s + 2a)`, a the due and s its diagonal entry. With :math:`e = s + 2a` and h the cut entries,
        :math:`(g - n_i) e = |h|_n` and :math:`e = x_i + \tau (g^2 - 2 g n_i) + a + a |h|^2/e^2`. Any g from n_i on
        would do, the root is the best.

        Parameters
        ----------
        sizes : array of shape (f, m)
            Absolute values of the rows less what the norms cut, 0 on the diagonal.
        own : array of shape (f,)
            Diagonal entries less what the norms cut.
        tau, dues : arrays of shape (f,)
        """
        n, w = self.norm, self.norm[rows]
        # What is cut off must not be negative, and below the second number nothing is left of the diagonal: the root is
        # not there. Where the whole row goes, that number is the root itself.
        low: FloatArray = w * np.maximum(1.0, -0.5 * mu / tau)
        least = low
        if dues is None:
            low = np.maximum(low, w + np.sqrt(np.maximum(w * w - own / tau, 0.0)))
        high = low + 1.0 + np.sqrt((np.abs(own) + np.maximum(sizes, 0.0).sum(axis=1) + abs(mu)) / tau)
        g = np.clip(self.ratios[rows], low, high)
        # The same arrays in every step: most of its time is in going over them.
        over, inside, squares = np.empty_like(sizes), np.empty(sizes.shape, dtype=bool), n * n
        for _ in range(self.settings.row_steps):
            np.multiply((2.0 * tau * g)[:, None], n, out=over)
            np.subtract(sizes, over, out=over)
            np.greater(over, 0.0, out=inside)
            np.maximum(over, 0.0, out=over)
            total, count, x = over @ n, inside @ squares, g - w
            whole, rise = own + tau * (g * g - 2.0 * g * w), 2.0 * tau * x
            if dues is None:
                np.maximum(whole, 0.0, out=whole)
            else:
                energy = np.einsum("ij,ij->i", over, over)
                some = (total > 1e-140) & (x > 1e-140)
                inverse, inverse_x = np.where(some, 1.0 / np.where(some, total, 1.0), 0.0), 1.0 / np.where(some, x, 1.0)
                pulled = dues * energy * (x * inverse) ** 2
                rise += pulled * (2.0 * inverse_x + 4.0 * tau * (count * inverse - total / np.where(some, energy, 1.0)))
                whole += dues + pulled
                rise[whole < 2.0 * dues] = 0.0
                np.maximum(whole, 2.0 * dues, out=whole)
            excess = total - x * whole
            low, high = np.where(excess > 0, g, low), np.where(excess > 0, high, g)
            fall = 2.0 * tau * count + whole + x * rise
            newton = g + excess / np.where(fall > 0, fall, 1.0)
            # An end of the interval counts as inside: a root that has been reached stays.
            usable = (fall > 0) & (newton >= low) & (newton <= high)
            moved = np.where(usable, newton, 0.5 * (low + high))
            near = bool(np.max(np.abs(moved - g) / np.maximum(g, 1e-9), initial=0.0) < self.settings.row_accuracy)
            g = moved
            if near:
                break
        if dues is None and self.other is not None:
            # Where nothing is left of a row, a smaller ratio takes more off its diagonal: beside a steep slope of the
            # other norm 16 bits would be too few for its entries.
            cut = np.max(sizes / np.where(n > 0, n, 1e-300), axis=1) / (2.0 * tau)
            g = np.where(cut < low, np.clip(cut, least, low), g)
        return g

    def _wholes(self, over: FloatArray, own: FloatArray, dues: FloatArray) -> FloatArray:
        """Return e = s + 2a of each row, from its cut entries: the root of a cubic, by Newton's method from above."""
        b, c = own + dues, dues * np.einsum("ij,ij->i", over, over)
        e: FloatArray = np.maximum(b, 0.0) + np.cbrt(c) + 1e-90
        for _ in range(self.settings.cubic_steps):
            e = e - (e * e * (e - b) - c) / (e * (3.0 * e - 2.0 * b))
        np.maximum(e, 2.0 * dues, out=e)  # below that nothing is left of the diagonal
        return e

    def _move(self, prices: FloatArray, free: BoolArray, places: int, at: float) -> None:
        """Pay more for indices where too many are taken, and for the side of z that says more."""
        settings = self.settings
        if places:
            moved = self.share + self.share_step.towards(self.excess(free, places), settings)
            self.share = min(max(moved, 0.0), settings.most_share)
        if self.costs is not None:
            by_sums, by_squares = self._sides()
            sums, squares = float(prices @ by_sums) * self.length(self.norm) / at, float(prices @ by_squares)
            step = self.mix_step.towards(0.5 * (squares - sums) / max(squares + sums, 1e-300), settings)
            self.mix = min(max(self.mix + step, settings.least_mix), settings.most_mix)

    def _balance(self, far: float, change: float) -> None:
        """Double or halve the penalty where one residual is many times the other."""
        settings = self.settings
        if far > settings.unbalanced * change and self.penalty < settings.most_penalty * self.top:
            self.penalty, self.U = 2.0 * self.penalty, self.U / 2.0
        elif change > settings.unbalanced * far and self.penalty > settings.least_penalty * self.top:
            self.penalty, self.U = self.penalty / 2.0, 2.0 * self.U

    def _sides(self) -> tuple[FloatArray, FloatArray]:
        """Return both sides of z, the first relative to the norm of Z itself."""
        own, sums = self.Z.diagonal(), np.abs(self.Z) @ self.norm
        some = own > self.settings.negligible
        whole, inverse = max(float(sums @ self.norm), 1e-300), np.where(some, 1.0 / np.where(some, own, 1.0), 0.0)
        return sums * sums * inverse / whole, np.einsum("ij,ij->i", self.Z, self.Z) * inverse

    @property
    def taken(self) -> FloatArray:
        """What part of an index each feature takes: 1 for a feature of v if Z is vv'."""
        by_sums, by_squares = self._sides()
        return by_sums if not self.mix else (1.0 - self.mix) * by_sums + self.mix * by_squares

    def excess(self, free: BoolArray, places: int) -> float:
        """Return by what part more indices are taken than there are for the free features; 0 where each has one."""
        return float(self.taken[free].sum()) / places - 1.0 if 0 < places < int(free.sum()) else 0.0

    def length(self, norm: FloatArray) -> float:
        """Return the square of the norm of v that Z stands for."""
        return float(norm @ np.abs(self.Z) @ norm)

    def settled(self, excess: float) -> bool:
        """Return whether paying more for indices cannot shorten Z."""
        most = self.settings.most_share
        return excess <= self.settings.settled or self.share >= most
