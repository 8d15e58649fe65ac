r"""Dominance where features are many: exact rows for a pool of features, and one factor for the rest, the fringe.

With the included features eliminated, :math:`C = tI - M - W^\top W`. Of a feature i of the fringe the r-th largest
:math:`|M_{ij}|` within the fringe is known once for all nodes, so the r-th largest entry of its row of C there is at
most that and :math:`|W_i| \max_j |W_j|`. Entries beside the pool are exact. What this closes is dominance of C itself:
the kernel forms all of C and sees it. Features of the fringe that fail join the pool.
"""

import math

import numpy as np

from noap.kernel.arithmetic import cholesky
from noap.kernel.majorant import Majorant
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.settings import Settings

__all__ = ["Fringe"]


class Fringe:
    """The test of nodes by one majorant.

    Parameters
    ----------
    majorant : Majorant
    k : int
    settings : Settings
    T : float
        Threshold.

    Attributes
    ----------
    pool : bool array of shape (d,)
    """

    def __init__(self, majorant: Majorant, k: int, T: float, settings: Settings) -> None:
        self.majorant, self.settings, self.T, self.k = majorant, settings, T, max(k, 1)
        data, every = majorant.data, np.arange(majorant.data.d)
        self.M = majorant.block(every)
        self.own = self.M.diagonal() - majorant.costs * majorant.priced
        self.t = (1.0 + majorant.gain) * T - majorant.loss
        self.pool: BoolArray = np.zeros(data.d, dtype=np.bool_)
        self.pool[data.include] = True
        self._near = self._largest(every)
        room = np.maximum(self.t - self.own, 1e-9 * max(self.t, 1e-300))
        self._grow(np.argsort(-self._near.sum(axis=1) / room, kind="stable")[: settings.fringe_pool])

    def _largest(self, features: IntArray) -> FloatArray:
        """Return the k - 1 largest entries beside the diagonal among some features, in size and falling."""
        S = np.abs(self.M[np.ix_(features, features)])
        np.fill_diagonal(S, 0.0)
        count = max(min(self.k - 1, len(S) - 1), 1)
        largest: FloatArray = -np.sort(-np.partition(S, len(S) - count, axis=1)[:, -count:], axis=1)
        return largest

    def _grow(self, more: IntArray) -> None:
        self.pool[more] = True
        outside = np.flatnonzero(~self.pool)
        self._near = np.zeros((len(self.pool), max(self.k - 1, 1)))
        if len(outside):
            near = self._largest(outside)
            self._near[outside, : near.shape[1]] = near

    def test(self, I: IntArray, F: IntArray, p: int, z: FloatArray) -> tuple[bool, float, int]:  # noqa: E741
        """Return whether a node is closed, with the scaling left in z; the ratio, and which feature to branch on.

        A ratio is infinite where the included features alone are too much; then the feature is -1.
        """
        while True:
            closed, ratio, feature, failing = self._look(I, F, p, z)
            if closed or len(failing) == 0:
                return closed, ratio, feature
            size = int(self.pool.sum())
            if size + len(failing) > self.settings.fringe_most:
                return False, ratio, feature if feature >= 0 else int(failing[0])
            self._grow(failing[: max(3 * size, self.settings.fringe_pool)])

    def _look(
        self,
        I: IntArray,  # noqa: E741
        F: IntArray,
        p: int,
        z: FloatArray,
    ) -> tuple[bool, float, int, IntArray]:
        """Return the same, and the features of the fringe that fail, worst first."""
        none: IntArray = np.empty(0, np.intp)
        M, P, O = self.M, F[self.pool[F]], F[~self.pool[F]]  # noqa: E741
        t = self.t + (1.0 + self.majorant.gain) * float(self.majorant.paid[I].sum())
        F, b = np.concatenate([P, O]), len(P)
        W: FloatArray = np.zeros((0, len(F)))
        if len(I):
            from scipy.linalg.lapack import dtrtrs

            own_rows = self.majorant.block(np.concatenate([I, F]), included=len(I), rows=len(I))
            L = cholesky(t * np.eye(len(I)) - own_rows[:, : len(I)])
            if L is None:
                return False, math.inf, -1, none
            W = dtrtrs(L, own_rows[:, len(I) :], lower=1)[0]
        own = t - self.own[F] - np.einsum("ij,ij->j", W, W)
        if not len(F) or p == 0:
            return True, 0.0, -1, none
        worst = int(np.argmin(own))
        if own[worst] <= 1e-13 * self.T:
            return False, 1e200, int(F[worst]), F[worst : worst + 1] if worst >= b else none
        count = min(p, len(F)) - 1
        if count == 0:
            return True, 0.0, -1, none
        s = 1.0 / np.sqrt(own)
        C = np.abs(M[np.ix_(P, F)] + W[:, :b].T @ W) * s
        C *= s[:b, None]
        C[np.arange(b), np.arange(b)] = 0.0
        beside = C[:, b:]
        largest = np.partition(beside, len(O) - count, axis=1)[:, -count:] if count < len(O) else beside
        bounds: FloatArray = np.zeros((len(O), 0))
        if len(O):
            w = np.sqrt(np.einsum("ij,ij->j", W[:, b:], W[:, b:]))
            few = min(count, len(O) - 1)
            bounds = (self._near[O, :few] + (w * float(w.max()))[:, None]) * (s[b:] * float(s[b:].max()))[:, None]
        x: FloatArray = z[P]
        ratio, bad = math.inf, none
        within = np.concatenate([C[:, :b], largest], axis=1)
        outside = np.concatenate([beside.T, bounds], axis=1)
        factors = np.ones(within.shape[1])
        wide = np.ones(outside.shape[1])
        for step in range(self.settings.dominance_steps):
            factors[:b] = wide[:b] = x
            sums = _top(within * factors, count)
            ratios = sums / np.maximum(x, 1e-300)
            high = float(ratios.max(initial=0.0))
            rows: FloatArray = np.zeros(0)
            if len(O) and (high < 1 - _MARGIN or step % 8 == 0):
                rows = _top(outside * wide, count)
                bad = np.flatnonzero(rows >= 1 - _MARGIN)
            ratio = max(high, float(rows.max(initial=0.0)))
            if high < 1 - _MARGIN and not len(bad):
                z[F], z[P] = 1.0, x
                return True, ratio, -1, none
            if b == 0 or (ratios.min() > 1.0 and (not len(O) or len(bad) == len(O))):
                break
            x = np.maximum(np.sqrt(x * np.maximum(sums, 1e-12)), 1e-6)
            if len(rows):
                x /= max(math.sqrt(float(rows.max())), 1e-6)
            x = np.clip(x, 1e-6, 1e6).astype(np.float32).astype(np.float64)
        z[P] = x
        if high < 1 - _MARGIN and len(bad):  # the fringe alone fails
            return False, ratio, int(P[int(np.argmax(x))]) if b else -1, O[bad[np.argsort(-rows[bad], kind="stable")]]
        return False, ratio, int(P[int(np.argmax(x))]) if b else -1, O if b == 0 else none


_MARGIN = 1e-9


def _top(S: FloatArray, count: int) -> FloatArray:
    """Return the sums of the largest entries of each row."""
    if count < S.shape[1]:
        S = np.partition(S, S.shape[1] - count, axis=1)[:, S.shape[1] - count :]
    sums: FloatArray = S.sum(axis=1)
    return sums
