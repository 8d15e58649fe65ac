"""One support, bounded by cones: state that can be resumed with a larger budget."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noap.exact.sample_wise.kernels.cones import open_cones, orthants, split_cones
from noap.exact.sample_wise.portions import MOST_ROWS
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.controls import never

__all__ = ["MOST_FEATURES", "Cones"]

# There are 2^(k-1) orthants to start from.
MOST_FEATURES = 12
# Cones made in one go, and products of entries in one go where samples are very many.
_PORTION, _WORK = 20_000, 500_000_000


@dataclass
class Cones:
    """Open cones over the directions of one support.

    Attributes
    ----------
    Y : array of shape (n, k)
        The columns of the support, without samples that cannot exceed their budget there.
    rho : array of shape (n,)
        The budgets of these samples.
    pool : array of shape (capacity, k, k + 1)
        Cones by their unit generators and bounds on the rounding of each; keys and ids are a heap over the `size`
        open ones of the `used` made so far.
    """

    Y: FloatArray
    rho: FloatArray
    pool: FloatArray
    keys: FloatArray
    ids: IntArray
    size: int
    used: int
    finest: bool = False

    @classmethod
    def over(cls, Y: FloatArray, rho: FloatArray, target: float, check: Callable[[], None] = never) -> "Cones":
        """Start from the orthants."""
        k = Y.shape[1]
        capacity = 1 << (k - 1)
        pool = np.empty((capacity, k, k + 1))
        cones = cls(Y, rho, pool, np.empty(capacity), np.empty(capacity, dtype=np.int64), 0, orthants(k, pool))
        lengths, step = cones.lengths, cones.portion
        for first in range(0, cones.used, step):
            check()
            last = min(first + step, cones.used)
            cones.size = open_cones(Y, lengths, rho, target, pool, cones.keys, cones.ids, first, last, cones.size)
        return cones

    @property
    def portion(self) -> int:
        """How many cones to make between two looks at the clock."""
        n, k = self.Y.shape
        return _PORTION if n <= MOST_ROWS else max(1, _WORK // (2 * n * k * k))

    @property
    def lengths(self) -> FloatArray:
        """Norms of the rows, for the rounding of scores."""
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", self.Y, self.Y))
        return norms

    @property
    def bound(self) -> float:
        """The largest bound of an open cone; -inf when none is open."""
        return float(self.keys[0]) if self.size else -np.inf

    def bytes_of(self, more: int) -> int:
        """Memory that so many more cones take while the pool grows."""
        each = 8 * self.pool.shape[1] * (self.pool.shape[1] + 1) + 16
        return each * (self.used + more) if self.used + more > len(self.pool) else 0

    def split(self, target: float, budget: int) -> tuple[FloatArray, float]:
        """Make up to `budget` more cones while a bound exceeds `target`; returns the best direction met and its worth.

        That is -1 if none was met.
        """
        capacity, k = self.used + budget, self.pool.shape[1]
        if capacity > len(self.pool):
            pool, keys, ids = np.empty((capacity, k, k + 1)), np.empty(capacity), np.empty(capacity, dtype=np.int64)
            pool[: self.used], keys[: self.size], ids[: self.size] = (
                self.pool[: self.used],
                self.keys[: self.size],
                self.ids[: self.size],
            )
            self.pool, self.keys, self.ids = pool, keys, ids
        best = np.zeros(k)
        self.size, self.used, worth = split_cones(
            self.Y,
            self.lengths,
            self.rho,
            target,
            self.pool[:capacity],
            self.keys,
            self.ids,
            self.size,
            self.used,
            best,
        )
        # It stops early only when the cone of largest bound cannot be split in floating point.
        self.finest = self.used < capacity and self.bound > target
        return best, float(worth)
