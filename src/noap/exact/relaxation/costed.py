r"""The multipliers where features cost something: of the l1 norm, of the number of places, and of what places cost.

For a slope :math:`\sigma` and a t the best inequality of docs/relaxation.md minimises the largest eigenvalue of B. Its
dual is

.. math:: \max_{W \succeq 0,\ \mathrm{tr}\,W = 1}\ \langle A, W\rangle - \sum_i \pi_i z_i - \sigma\, t(W) , \qquad
   z_i = \max\Big(\frac{(\sum_j w_j |W_{ij}|)^2}{t\, W_{ii}}, \frac{\sum_j W_{ij}^2}{W_{ii}}\Big) ,

where both sides of z are 1 for a feature of v if W is vv'. ADMM goes on as without costs, with a step row by row that
pays for both; what part is paid for the second, the mix, is moved to where both sides are the same.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from noap.exact.relaxation.multiplier import FURTHER, Multiplier, Nearby
from noap.exact.relaxation.rows import nearest_rows
from noap.exact.relaxation.spectrum import on_spectahedron
from noap.linalg.types import BoolArray, FloatArray

__all__ = ["CostedMultiplier"]

# The mix stays between these.
_LEAST_MIX, _MOST_MIX = 0.02, 0.98
# A place that costs less than this part of the largest entry is free: its row only pays for the l1 norm.
_FREE = 1e-6
# A diagonal entry below this belongs to no feature.
_NOTHING = 1e-9


@dataclass
class _Step:
    """How far a multiplier moves: further as long as the direction stays, less far where it turns."""

    size: float
    least: float
    most: float
    direction: float = 0.0

    def towards(self, excess: float) -> float:
        """Return the step for so much too much, relatively; small where that is."""
        direction = float(np.sign(excess))
        if direction * self.direction > 0:
            self.size = min(1.3 * self.size, self.most)
        elif direction * self.direction < 0:
            self.size = max(0.5 * self.size, self.least)
        self.direction = direction
        return direction * self.size * min(1.0, 10.0 * abs(excess))


@dataclass
class CostedMultiplier(Multiplier):
    """The state of the iteration for one matrix.

    Attributes
    ----------
    costs : array of shape (m,)
        In units of the variance that is bounded, which is what they are over how much of it the adversary leaves.
    t : float
        At which the inequality is wanted.
    kept : float
        What part of a variance the adversary leaves there.
    at_end : bool
        Whether nothing has to hold beyond t: then the prices of the l1 norm and of a place find their own height.
    mix : float
        The part of the price of a place that is paid for the sum of squares of a row; the rest is for its l1 norm.
    mu, each : float
        The price of the l1 norm, and what a place costs beside its feature.
    above : float
        What the prices of the last steps come to at t, beside the largest eigenvalue.
    """

    costs: FloatArray = field(default_factory=lambda: np.empty(0))
    t: float = 1.0
    kept: float = 1.0
    at_end: bool = True
    mix: float = 0.45
    mu: float = 0.0
    each: float = 0.0
    above: float = 0.0
    _mu_step: _Step = field(default_factory=lambda: _Step(0.02, 1e-4, 0.05))
    _each_step: _Step = field(default_factory=lambda: _Step(0.02, 1e-4, 0.05))
    _mix_step: _Step = field(default_factory=lambda: _Step(0.08, 2e-3, 0.15))

    @classmethod
    def with_costs(cls, A: FloatArray, costs: FloatArray, weights: FloatArray | None = None) -> "CostedMultiplier":
        """Start from the leading eigenvector."""
        plain = Multiplier.of(A, weights)
        parts = (plain.A, plain.Z, plain.U, plain.penalty, plain.W, plain.ratios, plain.top, plain.weights)
        return cls(*parts, costs=costs, mu=0.03 * plain.top, each=0.02 * plain.top)

    def restricted(self, kept: BoolArray) -> "CostedMultiplier":
        """Return the state on some of the features, to go on from."""
        plain = super().restricted(kept)
        assert isinstance(plain, CostedMultiplier)
        steps = (replace(step, direction=0.0) for step in (self._mu_step, self._each_step, self._mix_step))
        mu_step, each_step, mix_step = steps
        return replace(plain, costs=self.costs[kept], _mu_step=mu_step, _each_step=each_step, _mix_step=mix_step)

    def advance(self, slope: float, free: BoolArray, places: int, steps: int) -> Nearby:
        """Take so many steps, and return the matrix that they lead to.

        Parameters
        ----------
        slope : float
            What mu and the prices of places come to together; only where it is not at the end.
        free : array of shape (m,)
            The features that share the places; the others have theirs.
        places : int
        """
        counted = 0 < places < int(free.sum())
        if not counted:
            self.each = 0.0
        if not self.at_end:
            self.each = min(self.each, slope * self.t / max(places, 1))
            self.mu = slope - self.each * places / self.t
        self.above = self.mu * self.t + self.each * places
        prices = np.where(free, self.costs + self.each, 0.0)
        rows = np.flatnonzero(prices > _FREE * self.top)
        a, tau, w, mu = self.mix * prices[rows], (1.0 - self.mix) * prices[rows] / self.t, self.weights, self.mu
        size = len(self.A)
        pulls: FloatArray = np.zeros((len(rows), size))
        pull, before = self.A / self.penalty, self.Z
        for _ in range(steps):
            target = self.Z - self.U + pull
            self.W = self._projected((target + target.T) / 2)
            reached = FURTHER * self.W + (1.0 - FURTHER) * self.Z + self.U
            cut = mu / self.penalty * w
            Z = np.sign(reached) * np.maximum(np.abs(reached) - cut[:, None] * w, 0.0)
            Z.flat[:: size + 1] = np.maximum(reached.diagonal() - cut * w, 0.0)
            if len(rows):
                # The rows are numbers of the size of W: prices are over the penalty there.
                p = self.penalty
                found = nearest_rows(reached, rows, a / p, tau / p, mu / p, self.ratios[rows], w)
                pulls, self.ratios[rows] = found.pulls, found.ratios
                Z[rows] = found.s[:, None] * pulls
                Z[rows, rows] = found.s
            self.U = reached - Z
            before, self.Z = self.Z, Z
        far = float(np.linalg.norm(self.W - self.Z))
        change = float(np.linalg.norm(self.Z - before)) / max(float(np.linalg.norm(self.U)), 1e-300)
        B: FloatArray = self.A - self.penalty * (self.U + self.U.T) / 2
        loads, lifts, dues = np.zeros(size), np.zeros(size), np.zeros(size)
        loads[rows], lifts[rows], dues[rows] = 2.0 * tau * self.ratios[rows], tau * self.ratios[rows] ** 2, a
        every: FloatArray = np.zeros((size, size))
        every[rows] = pulls
        self._move(prices, free, places if counted else 0)
        self._balance(far, change)
        return Nearby(B, loads, lifts, dues, every)

    def _projected(self, M: FloatArray) -> FloatArray:
        """Return the nearest relaxed matrix."""
        W, self.n_leading = on_spectahedron(M, self.n_leading)
        return W

    def _move(self, prices: FloatArray, free: BoolArray, places: int) -> None:
        """Pay more for the side of z that says more, for places where too many are taken, for the l1 norm likewise."""
        by_squares, by_sums = self._sides()
        sides = float(prices @ by_squares), float(prices @ by_sums)
        uneven = (sides[0] - sides[1]) / max(sum(sides), 1e-300)
        # What all of it comes to is of the size of the variance.
        size = float(np.sum(self.A * self.Z)) / max(float(self.Z.trace()), _NOTHING)
        size = min(max(size, self.top), self.top * len(self.A))
        if places:
            taken = float((self.mix * by_squares + (1.0 - self.mix) * by_sums)[free].sum())
            self.each = max(self.each + self._each_step.towards(taken / places - 1.0) * size / places, 0.0)
        if self.at_end:
            length = float((np.abs(self.Z) * np.outer(self.weights, self.weights)).sum())
            self.mu = max(self.mu + self._mu_step.towards(length / self.t - 1.0) * size / self.t, 0.0)
        self.mix = min(max(self.mix + self._mix_step.towards(0.5 * uneven), _LEAST_MIX), _MOST_MIX)

    def _sides(self) -> tuple[FloatArray, FloatArray]:
        """Return both sides of z, by sums of squares and by l1 norms."""
        own = self.Z.diagonal()
        some = own > _NOTHING
        sums, squares = (np.abs(self.Z) * self.weights).sum(axis=1), np.einsum("ij,ij->i", self.Z, self.Z)
        by_squares: FloatArray = np.zeros(len(own))
        by_sums: FloatArray = np.zeros(len(own))
        by_squares[some], by_sums[some] = squares[some] / own[some], sums[some] ** 2 / own[some] / self.t
        return by_squares, by_sums

    @property
    def taken(self) -> FloatArray:
        """What part of a place each feature takes: 1 for a feature of v if Z is vv'."""
        by_squares, by_sums = self._sides()
        return self.mix * by_squares + (1.0 - self.mix) * by_sums

    def cost(self, free: BoolArray) -> float:
        """Return about what the free features cost that are in the relaxed vector."""
        return float(self.costs[free] @ np.minimum(self.taken[free], 1.0))
