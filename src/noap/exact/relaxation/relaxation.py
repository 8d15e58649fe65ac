"""The relaxation: lines above phi, more of them where the bound is made, until it is good enough or does not move."""

import math

import numpy as np

from noap.exact.relaxation.envelope import Line, bound_of, useful
from noap.exact.relaxation.multiplier import Multiplier
from noap.exact.relaxation.thresholds import Threshold
from noap.linalg.outward import is_definite
from noap.linalg.types import FloatArray, IntArray
from noap.linalg.vectors import soft
from noap.proofs.relaxation import GIVEN, SOFT, RelaxationProof

__all__ = ["MOST_FEATURES", "Relaxation"]

# Up to here the multiplier is looked for by ADMM, one eigendecomposition a step; beyond, thresholds stand for it.
MOST_FEATURES = 600
# Steps of ADMM in one go, at most for one slope, and gap between its two sides at which a slope is done.
_STEPS, _MOST_STEPS, _DONE = 10, 150, 2e-5
# Slopes at most, and how near to each other they may come, relative to the largest entry.
_MOST_SLOPES, _NEAREST = 24, 1e-5
# The ratio of two thresholds between which another one is not worth its cost.
_NEAR_THRESHOLDS = 1.04
# How often a largest eigenvalue that a factorisation does not confirm is raised.
_TRIES = 40
# What an eigendecomposition costs, in units of the entries of the matrix: some, and some for each feature.
_PRICE, _PRICE_EACH = 0.6, 0.01


class Relaxation:
    """A bound on the robust variance from the Gram matrix of the features alone; it can be paused at any time.

    Attributes
    ----------
    work : float
        What it has cost, in entries of matrices.
    done : bool
        Whether more work would not lower the bound.
    """

    def __init__(self, A: FloatArray, rho: float, k: int) -> None:
        self.A, self.rho, self.k = A, rho, k
        self.top = float(np.abs(A).max())
        self.work = 0.0
        self.done = False
        self._lines: list[Line] = []
        self._matrices: list[FloatArray | None] = []
        # Slopes and the spreads that W had there; at slope 0 nothing holds it together, at the top it is one feature.
        self._spreads: list[tuple[float, float]] = [(0.0, math.inf), (self.top, 1.0)]
        self._slope: float | None = None
        self._steps = 0
        self._add(self.top, None)
        self._multiplier = Multiplier.of(A) if len(A) <= MOST_FEATURES else None
        if self._multiplier is not None:
            self._add(0.0, None)

    @property
    def W(self) -> FloatArray | None:  # noqa: N802 - the paper's name for a matrix
        """The relaxed vv', None where only thresholds were used."""
        return None if self._multiplier is None else self._multiplier.W

    def advance(self) -> None:
        """Work for a moment: some steps at one slope, and a new line if they were the last ones."""
        if self.done:
            return
        if self._multiplier is None:
            self._advance_by_thresholds()
            return
        if self._slope is None:
            self._slope, self._steps = self._next_slope(), 0
            if self._slope is None:
                self.done = True
                return
        assert self._slope is not None
        mu, state = self._slope, self._multiplier
        state.advance(mu, _STEPS)
        self._steps += _STEPS
        m = len(self.A)
        self.work += _STEPS * m * m * (_PRICE + _PRICE_EACH * m)
        B = state.nearby(mu)
        top = float(np.linalg.eigvalsh(B)[-1])
        if self._steps < _MOST_STEPS and top - state.value(mu) > _DONE * abs(top):
            return
        self._spreads.append((mu, state.spread))
        self._add(mu, B)
        self._slope = None

    def _advance_by_thresholds(self) -> None:
        mu = self._next_slope()
        if mu is None:
            self.done = True
            return
        threshold = Threshold(self.A, mu)
        self._spreads.append((mu, threshold.spread))
        # A factorisation of the largest block costs far more than the guess: only for a line that would be used.
        if bound_of([*self._lines, Line(threshold.guess, threshold.far)], self.rho, self.k)[0] < self.bound:
            c = threshold.proved()
            if c is not None:
                self._lines.append(Line(c, threshold.far))
                self._matrices.append(None)
        self.work += threshold.cost

    def _next_slope(self) -> float | None:
        """Return a slope whose W would have the spread at which the bound is made, None if it is known well enough."""
        if len(self._spreads) > _MOST_SLOPES:
            return None
        _, t = bound_of(self._lines, self.rho, self.k)
        below = max(mu for mu, spread in self._spreads if spread > t)
        above = min(mu for mu, spread in self._spreads if spread <= t)
        if self._multiplier is None:
            # From above, where the thresholded matrix is sparse and falls into small blocks.
            return None if above <= _NEAR_THRESHOLDS * below else math.sqrt(max(below, above / 2) * above)
        if not above - below > _NEAREST * self.top:
            return None
        return math.sqrt(below * above) if below > 0 else above / 8

    def _add(self, mu: float, B: FloatArray | None) -> None:
        """Prove a line: for a matrix near A or, without one, for the soft threshold at mu."""
        given = B is not None
        # As the proof will hold it: single precision moves an entry by less than 1e-7 of the largest.
        B = soft(self.A, mu) if B is None else (B / self.top).astype(np.float32).astype(np.float64) * self.top
        far = float(np.abs(B - self.A).max()) * (1 + 4e-16) + 1e-16 * self.top
        c = _largest_eigenvalue(B)
        if c is None:
            return
        self._lines.append(Line(c, far))
        self._matrices.append(B if given else None)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def bound(self) -> float:
        """The bound so far."""
        return bound_of(self._lines, self.rho, self.k)[0]

    def proof(self, features: IntArray, unit: float) -> RelaxationProof:
        """Return what proves the bound.

        Parameters
        ----------
        features : which features of the problem the matrix is about
        unit : what values here are in the units of the problem
        """
        chosen = useful(self._lines, self.k)
        matrices = [self._matrices[i] for i in chosen]
        upper = np.triu_indices(len(self.A))
        entries = [(B[upper] / self.top).astype(np.float32) for B in matrices if B is not None]
        return RelaxationProof(
            np.asarray(features, dtype=np.uint32),
            np.array([SOFT if B is None else GIVEN for B in matrices], dtype=np.uint8),
            np.array([self._lines[i].mu for i in chosen]) * unit,
            np.array([self.top * unit]),
            np.concatenate(entries) if entries else np.empty(0, dtype=np.float32),
        )


def _largest_eigenvalue(B: FloatArray) -> float | None:
    """Return at least the largest eigenvalue, proved by a factorisation; None if that fails."""
    if not B.any():
        return 0.0
    c, step = max(float(np.linalg.eigvalsh(B)[-1]), 0.0), 1e-14 * len(B) * float(np.abs(B).max())
    for _ in range(_TRIES):
        # The room that a factorisation needs grows with the square of the size: each step is twice the last.
        c, step = c + step, 2.0 * step
        if is_definite(-B, c):
            return c
    return None
