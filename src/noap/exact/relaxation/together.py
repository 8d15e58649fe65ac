r"""The multipliers for several components at once, by ADMM (docs/components.md).

For r orthonormal vectors with disjoint supports :math:`W = \frac1r \sum_t v_t v_t^\top` is positive semidefinite, of
trace 1, and has no eigenvalue above 1/r; no feature takes more than one place in all, which is 1/r of W. So the
relaxation of one component with costs goes on, with another projection, and with a price for every feature that takes
more than its place.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh

from noap.exact.relaxation.costed import CostedMultiplier
from noap.linalg.types import FloatArray

__all__ = ["JointMultiplier", "on_fantope"]

# Shares of what a place is worth on average: what the l1 norm and a place cost to begin with.
_MU, _EACH = 0.05, 0.08
# How far the price of a feature moves, as a share of what a place is worth on average: at first, at least and at most.
_STEP, _LEAST_STEP, _MOST_STEP = 0.05, 1e-3, 0.2
# It moves so far for a place that is taken one and a third times, less where less is missing.
_FULL = 3.0
# Halvings of an interval that holds the shift of the eigenvalues.
_HALVINGS = 50
# A feature that takes less of a place than the first is not used: what it pays falls. Above the second it rises.
_UNUSED, _USED, _FALL, _RISE = 1e-6, 1e-3, 0.05, 0.2
# Nobody is let in for nothing: those that come in then do so in crowds.
_MOST_SPARED = 0.85


@dataclass
class JointMultiplier(CostedMultiplier):
    """The state of the iteration.

    Attributes
    ----------
    rank : int
        How many components.
    own : array of shape (m,)
        What features cost; `costs` are these and the prices of features that several components want.
    prices : array of shape (m,)
    sparing : bool
        Whether features that are not used pay less for a place, as little as keeps them out: what is left then tells
        which of them no good packing uses.
    spared : array of shape (m,)
        The part of the price of a place that they do not pay.
    """

    rank: int = 1
    own: FloatArray = field(default_factory=lambda: np.empty(0))
    prices: FloatArray = field(default_factory=lambda: np.empty(0))
    sparing: bool = False
    spared: FloatArray = field(default_factory=lambda: np.empty(0))
    _sizes: FloatArray = field(default_factory=lambda: np.empty(0))
    _directions: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of_components(cls, A: FloatArray, k: int, r: int, costs: FloatArray | None) -> "JointMultiplier":
        """Start from the leading eigenvectors.

        Parameters
        ----------
        A : array of shape (m, m)
        k, r : int
            Features of a component at most, and components, no more than features.
        costs : array of shape (m,), optional
        """
        m, top = len(A), float(np.abs(A).max())
        values, vectors = np.linalg.eigh(A)
        W = vectors[:, -r:] @ vectors[:, -r:].T / r
        each = max(float(values[-r:].sum()) / r, top) / k
        own = np.zeros(m) if costs is None else costs
        return cls(
            A, W, np.zeros_like(A), top, W, np.full(m, 2.0), top, np.ones(m), costs=own, t=float(k),
            mu=_MU * each, each=_EACH * each, rank=r, own=own, prices=np.zeros(m), spared=np.zeros(m),
            _sizes=np.full(m, _STEP), _directions=np.zeros(m),
        )  # fmt: skip

    def _projected(self, M: FloatArray) -> FloatArray:
        return on_fantope(M, self.rank)

    def _move(self, prices: FloatArray, free: np.ndarray, places: int) -> None:
        """Move the prices of features as well: up where more than one place is taken."""
        super()._move(prices, free, places)
        taken = self.rank * self.taken
        excess = taken - 1.0
        direction = np.sign(excess)
        same = direction * self._directions
        self._sizes = np.clip(self._sizes * np.where(same > 0, 1.3, np.where(same < 0, 0.5, 1.0)), _LEAST_STEP, None)
        self._sizes = np.minimum(self._sizes, _MOST_STEP)
        self._directions = direction
        size = float(np.sum(self.A * self.Z)) / max(float(self.Z.trace()), 1e-9)
        size = min(max(size, self.top), self.top * len(self.A)) / self.t
        step = direction * self._sizes * np.minimum(_FULL * np.abs(excess), 1.0) * size
        self.prices = np.maximum(self.prices + step, 0.0)
        if self.sparing:
            moved = np.where(taken < _UNUSED, _FALL, np.where(taken > _USED, -_RISE, 0.0))
            self.spared = np.clip(self.spared + moved, 0.0, _MOST_SPARED)
        # A row is charged its cost and the price of a place: less of the latter where it is spared.
        self.costs = self.own + self.prices - self.spared * (self.own + self.each)


def on_fantope(M: FloatArray, r: int) -> FloatArray:
    """Return the nearest matrix of trace 1 with eigenvalues between 0 and 1/r, to single precision."""
    values, vectors = eigh(M.astype(np.float32), driver="evd", overwrite_a=True, check_finite=False)
    # One number is taken off all eigenvalues, before they are cut off.
    known = values.astype(np.float64)
    low, high = float(known[0]) - 1.0, float(known[-1])
    for _ in range(_HALVINGS):
        shift = 0.5 * (low + high)
        if float(np.clip(known - shift, 0.0, 1.0 / r).sum()) > 1.0:
            low = shift
        else:
            high = shift
    weights = np.clip(known - 0.5 * (low + high), 0.0, 1.0 / r)
    used = weights > 0
    leading = vectors[:, used]
    nearest: FloatArray = ((leading * weights[used].astype(np.float32)) @ leading.T).astype(np.float64)
    return nearest
