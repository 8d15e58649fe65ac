r"""The multipliers of the l1 norm and of the number of places, by ADMM.

For a slope :math:`\sigma` the best inequality of docs/relaxation.md minimises the largest eigenvalue of B. Its dual is

.. math:: \max_{W \succeq 0,\ \mathrm{tr}\,W = 1}\ \langle A, W\rangle - \sigma t(W) , \qquad
   t(W) = \max\Big(\sum_{ij} w_i w_j |W_{ij}|,\ \frac 1p \sum_{i \in F} \frac{(\sum_j w_j |W_{ij}|)^2}{W_{ii}}\Big) ,

with weights w that are 1 where all features have the same budget.

ADMM alternates between the projection on the spectahedron (one eigendecomposition) and a step row by row, with a price
for each of the two sides of t. Its scaled multiplier U is within these prices at every moment, so that B = A - varrho U
may always be used: nothing rests on convergence. Hence single precision will do for the eigenvectors, and a step may go
further than the projection.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from noap.exact.relaxation.ratios import ratios
from noap.exact.relaxation.spectrum import on_spectahedron
from noap.linalg.types import BoolArray, FloatArray

__all__ = ["FURTHER", "Multiplier", "Nearby"]

FURTHER = 1.6
"""A step goes so many times as far as the projection (over-relaxation): half as many of them are needed."""
# The penalty is doubled or halved where one residual is so many times the other.
_UNBALANCED = 5.0
# It stays within these multiples of the largest entry: further away one of the two steps does nothing.
_LEAST_PENALTY, _MOST_PENALTY = 1e-3, 1e6
# How far the share of the places moves at first, at least and at most, in one go; it is a share of the slope.
_STEP, _LEAST_STEP, _MOST_STEP = 0.05, 1e-3, 0.1
# Beyond 1 the l1 norm is paid back; so much at most.
_MOST_SHARE = 3.0
# Its step grows as long as the direction stays and shrinks where it turns.
_LONGER, _SHORTER = 1.2, 0.6
# So many more places than there are, relative to them, are too many.
_TOO_MANY = 0.01
# A diagonal entry below this belongs to no feature.
_NOTHING = 1e-9


class Nearby(NamedTuple):
    """A matrix near A, and what its entries may be away from it by.

    B is A + R + diag(lifts) with R_ij within mu w_i w_j + (loads_i w_j + loads_j w_i)/2; docs/relaxation.md says what
    follows from its largest eigenvalue. Where features cost something, A is taken less what the pulls of each row come
    to, times its due.
    """

    B: FloatArray
    loads: FloatArray
    lifts: FloatArray
    dues: FloatArray | None = None
    pulls: FloatArray | None = None


@dataclass
class Multiplier:
    """The state of the iteration for one matrix; slopes may change on the way.

    Attributes
    ----------
    A : array of shape (m, m)
    Z, U : arrays of shape (m, m)
        The sparse copy of W and the scaled multiplier.
    penalty : float
    W : array of shape (m, m)
        Positive semidefinite, of trace 1.
    ratios : array of shape (m,)
        Of the rows of Z, as the places count them.
    top : float
        The largest entry of the matrix that all began with.
    weights : array of shape (m,)
        Of the features in the l1 norm.
    share : float
        The part of the slope that is paid for places; the rest, which may be negative, is for the l1 norm.
    n_leading : int
        How many eigenvectors W is made of, 0 before the first step.
    """

    A: FloatArray
    Z: FloatArray
    U: FloatArray
    penalty: float
    W: FloatArray
    ratios: FloatArray
    top: float
    weights: FloatArray
    share: float = 0.0
    n_leading: int = 0
    _step: float = field(default=_STEP)
    _direction: float = field(default=0.0)

    @classmethod
    def of(cls, A: FloatArray, weights: FloatArray | None = None) -> "Multiplier":
        """Start from the leading eigenvector."""
        leading = np.linalg.eigh(A)[1][:, -1]
        W, top = np.outer(leading, leading), float(np.abs(A).max())
        weights = np.ones(len(A)) if weights is None else weights
        return cls(A, W, np.zeros_like(A), top, W, np.full(len(A), 2.0), top, weights)

    def restricted(self, kept: BoolArray) -> "Multiplier":
        """Return the state on some of the features, to go on from."""
        block = np.ix_(kept, kept)
        A, Z, U, W = (M[block] for M in (self.A, self.Z, self.U, self.W))
        ratios, weights = self.ratios[kept], self.weights[kept]
        return replace(self, A=A, Z=Z, U=U, W=W, ratios=ratios, weights=weights, _direction=0.0)

    def advance(self, slope: float, free: BoolArray, places: int, steps: int) -> Nearby:
        """Take so many steps at a slope, and return the matrix that they lead to.

        Parameters
        ----------
        slope : float
        free : array of shape (m,)
            The features that share the places; the others have theirs.
        places : int
        """
        rows = np.flatnonzero(free)
        counted = 0 < places < len(rows)
        taken, w = np.flatnonzero(~free), self.weights
        tau = self.share * slope / places if counted else 0.0
        mu = slope - tau * places if counted else slope
        own: FloatArray = np.maximum(self.ratios[taken], 2.0 * len(taken))
        if mu < 0.0:
            # The l1 norm is paid back. No entry may be cut by less than nothing, so the rows that pay for no place have
            # a load of -mu at their own ratio. It costs -mu/(2 ratio), which the slope has to cover as well.
            mu = mu / (1.0 - float((0.5 * w[taken] ** 2 / own).sum()))
        size = len(self.A)
        g: FloatArray = np.zeros(size)
        loads, lifts = g.copy(), g.copy()
        pull, before = self.A / self.penalty, self.Z
        for _ in range(steps):
            target = self.Z - self.U + pull
            self.W, self.n_leading = on_spectahedron((target + target.T) / 2, self.n_leading)
            reached = FURTHER * self.W + (1.0 - FURTHER) * self.Z + self.U
            if tau > 0:
                g[rows] = self.ratios[rows] = ratios(
                    reached, rows, tau / self.penalty, mu / self.penalty, self.ratios[rows], w
                )
            loads, lifts = 2.0 * tau * g, tau * g * g
            if mu < 0.0:
                loads[taken], lifts[taken] = -mu * w[taken], -0.5 * mu * own
            cut = (mu * w + loads) / self.penalty
            Z = np.sign(reached) * np.maximum(np.abs(reached) - cut[:, None] * w, 0.0)
            Z.flat[:: size + 1] = np.maximum(reached.diagonal() + lifts / self.penalty - cut * w, 0.0)
            self.U = reached - Z
            before, self.Z = self.Z, Z
        far = float(np.linalg.norm(self.W - self.Z))
        change = float(np.linalg.norm(self.Z - before)) / max(float(np.linalg.norm(self.U)), 1e-300)
        B: FloatArray = self.A - self.penalty * (self.U + self.U.T) / 2
        if counted:
            self._move_share(self.excess(free, places))
        self._balance(far, change)
        self.ratios[taken] = self._ratios_of_rows()[taken]
        return Nearby(B, loads, lifts)

    def _balance(self, far: float, change: float) -> None:
        """Double or halve the penalty where one residual is many times the other."""
        if far > _UNBALANCED * change and self.penalty < _MOST_PENALTY * self.top:
            self.penalty, self.U = 2.0 * self.penalty, self.U / 2.0
        elif change > _UNBALANCED * far and self.penalty > _LEAST_PENALTY * self.top:
            self.penalty, self.U = self.penalty / 2.0, 2.0 * self.U

    def _ratios_of_rows(self) -> FloatArray:
        """Return the weighted sum of the absolute values of a row over its diagonal entry, within reason."""
        sums = (np.abs(self.Z) * self.weights).sum(axis=1)
        found: FloatArray = np.clip(sums / np.maximum(self.Z.diagonal(), _NOTHING), self.weights, 1e3)
        return found

    def _move_share(self, excess: float) -> None:
        """Pay more for places where too many are taken, less where too few are."""
        direction = float(np.sign(excess))
        if direction * self._direction > 0:
            self._step *= _LONGER
        elif direction * self._direction < 0:
            self._step *= _SHORTER
        self._step = min(max(self._step, _LEAST_STEP), _MOST_STEP)
        self._direction = direction
        moved = self.share + direction * self._step * min(1.0, 10.0 * abs(excess))
        self.share = min(max(moved, 0.0), _MOST_SHARE)

    def excess(self, free: BoolArray, places: int) -> float:
        """By what part more places are taken than there are for the free features; 0 where all of them have one."""
        return float(self.taken[free].sum()) / places - 1.0 if 0 < places < int(free.sum()) else 0.0

    @property
    def taken(self) -> FloatArray:
        """What part of a place each feature takes: 1 for a feature of v if Z is vv'."""
        sums, own = (np.abs(self.Z) * self.weights).sum(axis=1), self.Z.diagonal()
        some = own > _NOTHING
        parts: FloatArray = np.zeros(len(own))
        parts[some] = sums[some] ** 2 / own[some] / (sums * self.weights).sum()
        return parts

    def spread(self, free: BoolArray, places: int) -> tuple[float, bool]:
        """Return t(Z), the square of the l1 norm of v that Z stands for, and whether more for places cannot lower it.

        It falls as the slope grows.
        """
        excess = self.excess(free, places)
        t = float((np.abs(self.Z) * np.outer(self.weights, self.weights)).sum())
        return t * (1.0 + max(excess, 0.0)), excess <= _TOO_MANY or self.share >= _MOST_SHARE
