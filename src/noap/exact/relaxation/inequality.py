r"""An inequality above the variance: from a matrix near A, and what each place costs (docs/relaxation.md).

With :math:`R = B - A - \mathrm{diag}(q)`, :math:`|R_{ij}| \le \mu w_i w_j + (\lambda_i w_j + \lambda_j w_i)/2` and
:math:`B \preceq cI`, every unit v whose features take places worth :math:`\tau_i = \lambda_i^2/(4 q_i)` has

.. math:: v^\top A v \le c + \Big(\mu + \sum_{v_i \ne 0} \tau_i\Big) \Big(\sum_i w_i |v_i|\Big)^2 .
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noap.exact.relaxation.blocks import Blocks
from noap.exact.relaxation.eigenvalue import confirmed
from noap.exact.relaxation.envelope import Line
from noap.exact.relaxation.multiplier import Nearby
from noap.exact.relaxation.outer import Candidate, Outer, assembled, pairs_beyond
from noap.exact.relaxation.spectrum import largest_eigenvalue
from noap.exact.relaxation.thresholds import Threshold
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["Inequality"]


@dataclass(frozen=True, eq=False)
class Inequality:
    """What one matrix proves of every unit vector on its features.

    Attributes
    ----------
    features : array of shape (b,)
        Positions of the features that it speaks of; with `outer`, those of the core, and it speaks of all.
    c, mu : float
        mu may be negative: what counts is what it comes to with the places.
    prices : array of shape (m,)
        tau of each feature; 0 for those that it does not speak of.
    entries : array of float32, shape (b (b + 1)/2,), or None
        The upper triangle of B, over the largest entry of A; None for the soft threshold of A at mu.
    loads, lifts : arrays of shape (b,)
        lambda and q.
    dues : array of shape (m,)
        What a place takes whatever t is; 0 without costs.
    pulls : array of float32, shape (b, b), or None
        What is paid for with them, row by row.
    outer : Outer or None
        What the features outside the core have in common, where there is a core.
    """

    features: IntArray
    c: float
    mu: float
    prices: FloatArray
    entries: npt.NDArray[np.float32] | None
    loads: FloatArray
    lifts: FloatArray
    dues: FloatArray
    pulls: npt.NDArray[np.float32] | None = None
    outer: Outer | None = None

    @classmethod
    def of_threshold(cls, A: FloatArray, mu: float, weights: FloatArray | None = None) -> "Inequality | None":
        """Prove the one of the soft threshold of A, on all features; None if that fails."""
        return cls.of(Threshold(A, mu, weights))

    @classmethod
    def of(cls, threshold: Threshold) -> "Inequality | None":
        """Prove the one of a soft threshold; None if that fails."""
        c, m = threshold.proved(), threshold.size
        none: FloatArray = np.empty(0)
        return None if c is None else cls(np.arange(m), c, threshold.far, np.zeros(m), None, none, none, np.zeros(m))

    @classmethod
    def of_matrix(
        cls, A: FloatArray, features: IntArray, nearby: Nearby, weights: FloatArray | None = None
    ) -> "Inequality | None":
        """Prove the one of a matrix near a block of A; None if that fails."""
        top = float(np.abs(A).max())
        entries, B = _as_written(nearby.B, top)
        c = _largest_eigenvalue(B)
        if c is None:
            return None
        loads, lifts = nearby.loads, nearby.lifts
        w = np.ones(len(features)) if weights is None else weights[features]
        block, dues, pulls = A[np.ix_(features, features)], np.zeros(len(A)), None
        if nearby.dues is not None and nearby.pulls is not None:
            pulls = nearby.pulls.astype(np.float32)
            dues[features] = nearby.dues
            block = _less_pulls(block, nearby.dues, pulls.astype(np.float64))
        mu = _excess(B, block, loads, lifts, w)
        prices: FloatArray = np.zeros(len(A))
        prices[features] = _prices(loads, lifts)
        # A bound would not notice a NaN.
        payable = math.isfinite(mu + float(prices.max()))
        return cls(features, c, mu, prices, entries, loads, lifts, dues, pulls) if payable else None

    @classmethod
    def of_core(cls, A: FloatArray, candidate: Candidate, weights: FloatArray) -> "Inequality | None":
        """Prove the one of a matrix with a core; None if that fails."""
        by_place = np.argsort(candidate.features)
        core, outer, m = candidate.features[by_place], candidate.outer, len(A)
        loads, lifts = candidate.nearby.loads[by_place], candidate.nearby.lifts[by_place]
        top = float(np.abs(A).max())
        entries, inner = _as_written(candidate.nearby.B[np.ix_(by_place, by_place)], top)
        all_loads, all_lifts = outer.loads(core, loads, weights), outer.lifts(core, lifts, weights)
        # What is written down is the cut and the load, and mu is their difference.
        mu = outer.cut - outer.load
        pairs = pairs_beyond(A, core, weights, all_loads, mu).cut(weights, all_loads, mu)
        diagonal = np.diag(A) + (all_lifts - all_loads * weights - mu * weights * weights)
        c = Blocks(assembled(m, core, inner, diagonal, pairs), weights).proved()
        if c is None:
            return None
        far = _excess(inner, A[np.ix_(core, core)], loads, lifts, weights[core])
        # Outside the core thresholds are mu, or 0 where that is more; each is off by some ulps of all that it is made
        # of, and so is an entry.
        low = float(np.min(loads / weights[core], initial=math.inf))
        least = max(mu, -0.5 * (low + outer.load), -outer.load)
        sizes = top + float(all_loads.max()) + float(all_lifts.max()) + abs(mu)
        far = max(far, least + 2e-15 * sizes / float(weights.min()) ** 2)
        prices = _prices(all_loads, all_lifts)
        payable = math.isfinite(far + float(prices.max()))
        return cls(core, c, far, prices, entries, loads, lifts, np.zeros(m), outer=outer) if payable else None

    def line(self, included: BoolArray, free: BoolArray, places: int) -> Line:
        """Return what it says of vectors on the included features and at most so many of the free ones."""
        dearest = np.sort(self.prices[free])[::-1][:places]
        total = (float(self.prices[included].sum()) + float(dearest.sum())) * (1 + 2.3e-16 * (len(free) + 4))
        return Line(self.c, max((self.mu + total) * (1 + 2.3e-16), 0.0))

    @property
    def bytes(self) -> int:
        """Memory of its arrays."""
        given = 0 if self.entries is None else self.entries.nbytes
        given += 0 if self.pulls is None else self.pulls.nbytes + self.dues.nbytes
        return self.prices.nbytes + self.loads.nbytes + self.lifts.nbytes + self.features.nbytes + given


def _less_pulls(A: FloatArray, dues: FloatArray, pulls: FloatArray) -> FloatArray:
    """Return A less what the pulls come to: row i takes 2 v_i y_i'v + (1 - |y_i|^2) v_i^2 <= 1, times its due."""
    taken = dues[:, None] * pulls
    squares = (pulls * pulls).sum(axis=1)
    left: FloatArray = A - (taken + taken.T)
    left.flat[:: len(A) + 1] = A.diagonal() - dues * (1.0 - squares * (1 + 1e-15 * len(A)))
    return left


def _largest_eigenvalue(B: FloatArray) -> float | None:
    """Return at least the largest eigenvalue, proved by a factorisation; None if that fails."""
    if not B.any():
        return 0.0
    step = 1e-14 * len(B) * float(np.abs(B).max())
    return confirmed(B, max(largest_eigenvalue(B), 0.0) + step, step)[0]


def _as_written(B: FloatArray, top: float) -> tuple[npt.NDArray[np.float32], FloatArray]:
    """Return the upper triangle as the proof will hold it, over the largest entry of A, and the matrix that is."""
    upper = np.triu_indices(len(B))
    # Single precision moves an entry by less than 1e-7 of the largest.
    entries = (B[upper] / top).astype(np.float32)
    meant: FloatArray = np.zeros_like(B)
    meant[upper] = entries.astype(np.float64) * top
    return entries, meant + np.triu(meant, 1).T


def _excess(B: FloatArray, A: FloatArray, loads: FloatArray, lifts: FloatArray, w: FloatArray) -> float:
    """Return the least mu that the entries of B allow, rounded up."""
    over = np.abs(B - A) - 0.5 * (loads[:, None] * w[None, :] + w[:, None] * loads[None, :])
    # v_i^2 has a sign: on the diagonal one side is enough.
    over.flat[:: len(A) + 1] = (A.diagonal() + lifts) - B.diagonal() - loads * w
    over /= np.outer(w, w)
    sizes = float(np.abs(A).max()) + float(np.abs(B).max()) + float(lifts.max()) + float(loads.max())
    return float(over.max()) + 1e-15 * sizes / float(w.min()) ** 2


def _prices(loads: FloatArray, lifts: FloatArray) -> FloatArray:
    """Return lambda^2/(4 q), rounded up: nothing where lambda is 0, and where only q is, nothing would be enough."""
    prices: FloatArray = np.where(loads > 0, math.inf, 0.0)
    some = lifts > 0
    prices[some] = loads[some] ** 2 / (4.0 * lifts[some]) * (1 + 1e-15)
    return prices
