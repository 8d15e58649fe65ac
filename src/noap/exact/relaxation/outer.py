r"""A matrix near A that is free on some features, the core, and cut down entry by entry on all others.

With loads :math:`\lambda` and lifts q (docs/relaxation.md) an entry outside the core is soft-thresholded at
:math:`T_{ij} = \mu w_i w_j + (\lambda_i w_j + \lambda_j w_i)/2`, and a diagonal entry there is
:math:`A_{jj} + q_j - \lambda_j w_j - \mu w_j^2`. The outer features share one load and one lift, in units of their
weights.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from noap.exact.relaxation.multiplier import Nearby
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["Candidate", "Outer", "Pairs", "assembled", "pairs_beyond"]

# Rows of A that are looked at together.
_ROWS = 256


@dataclass(frozen=True)
class Outer:
    """What the features outside the core have in common: mu, their load and their lift."""

    mu: float
    load: float
    lift: float

    @property
    def cut(self) -> float:
        """What an entry between two of them is cut by."""
        return max(self.mu + self.load, 0.0)

    def loads(self, core: IntArray, own: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the loads of all features, those of the core being its own."""
        loads: FloatArray = self.load * weights
        loads[core] = own
        return loads

    def lifts(self, core: IntArray, own: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the lifts of all features, those of the core being its own."""
        lifts: FloatArray = self.lift * weights * weights
        lifts[core] = own
        return lifts


@dataclass(frozen=True)
class Candidate:
    """A matrix near A: its core, what the outer features have in common, and about its largest eigenvalue."""

    features: IntArray
    nearby: Nearby
    outer: Outer
    guess: float
    slope: float


@dataclass(frozen=True)
class Pairs:
    """Entries of A above the diagonal, not both in the core, that some thresholds leave something of."""

    rows: IntArray
    columns: IntArray
    values: FloatArray

    def cut(self, weights: FloatArray, loads: FloatArray, mu: float) -> "Pairs":
        """Return what higher thresholds leave of them."""
        i, j = self.rows, self.columns
        over = np.abs(self.values) - _thresholds(weights[i], weights[j], loads[i], loads[j], mu)
        left = over > 0
        return Pairs(i[left], j[left], np.sign(self.values[left]) * over[left])

    def between(self, chosen: BoolArray) -> "Pairs":
        """Return those of which both features are chosen."""
        both = chosen[self.rows] & chosen[self.columns]
        return Pairs(self.rows[both], self.columns[both], self.values[both])


def pairs_beyond(A: FloatArray, core: IntArray, weights: FloatArray, loads: FloatArray, mu: float) -> Pairs:
    """Return the entries of A that the thresholds leave something of, as they are in A."""
    inside = np.zeros(len(A), dtype=np.bool_)
    inside[core] = True
    found: list[tuple[IntArray, IntArray, FloatArray]] = []
    for start in range(0, len(A), _ROWS):
        here = slice(start, min(start + _ROWS, len(A)))
        block = A[here, start:]
        least = _thresholds(weights[here, None], weights[None, start:], loads[here, None], loads[None, start:], mu)
        rows, columns = np.nonzero(np.abs(block) > least)
        upper = columns > rows
        rows, columns = rows[upper], columns[upper]
        outside = ~(inside[start + rows] & inside[start + columns])
        rows, columns = rows[outside], columns[outside]
        found.append((start + rows, start + columns, block[rows, columns]))
    i, j, values = (np.concatenate([one[part] for one in found]) for part in range(3))
    return Pairs(i, j, values)


def assembled(size: int, core: IntArray, inner: FloatArray, diagonal: FloatArray, pairs: Pairs) -> csr_array:
    """Return the symmetric matrix: `inner` on the core, the pairs elsewhere, and the diagonal outside the core."""
    outside = np.ones(size, dtype=np.bool_)
    outside[core] = False
    others = np.flatnonzero(outside)
    rows, columns = np.repeat(core, len(core)), np.tile(core, len(core))
    every = (
        np.concatenate([inner.ravel(), pairs.values, pairs.values, diagonal[others]]),
        (
            np.concatenate([rows, pairs.rows, pairs.columns, others]),
            np.concatenate([columns, pairs.columns, pairs.rows, others]),
        ),
    )
    made = csr_array(coo_array(every, shape=(size, size)))
    made.eliminate_zeros()
    return made


def _thresholds(w: FloatArray, w_too: FloatArray, load: FloatArray, load_too: FloatArray, mu: float) -> FloatArray:
    """Return the thresholds of pairs of features with these weights and loads, none below 0."""
    least: FloatArray = np.maximum(mu * (w * w_too) + 0.5 * (load * w_too + load_too * w), 0.0)
    return least
