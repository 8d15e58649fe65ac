r"""Dominance where features are many: exact rows for a pool of features, and one factor for the rest, the fringe.

With the included features eliminated, :math:`C = tI - M - W^\top W`. Of a feature i of the fringe the r-th largest
:math:`|M_{ij}|` within the fringe is known once for all nodes, so the r-th largest entry of its row of C there is at
most that and :math:`|W_i| \max_j |W_j|`. Entries beside the pool are exact. What this closes is dominance of C itself:
the kernel forms all of C and sees it. Features of the fringe that fail join the pool.
"""

import math
from collections.abc import Callable

import numpy as np

from noap.kernel.arithmetic import cholesky
from noap.kernel.majorant import Majorant
from noap.kernel.samples import SampleMajorant
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.settings import Settings

__all__ = ["Fringe"]


class Fringe:
    """The test of nodes by one majorant.

    Parameters
    ----------
    majorant : Majorant or SampleMajorant
        Of an attack on samples no matrix is formed.
    k : int
    T : float
        Threshold.
    settings : Settings
    check : callable
        Raises when a limit is reached; asked before each block of rows.

    Attributes
    ----------
    pool : bool array of shape (d,)
    """

    def __init__(
        self,
        majorant: Majorant | SampleMajorant,
        k: int,
        T: float,
        settings: Settings,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.majorant, self.settings, self.T, self.k = majorant, settings, T, max(k, 1)
        data = majorant.data
        self.pool: BoolArray = np.zeros(data.d, dtype=np.bool_)
        self.pool[data.include] = True
        self._M: FloatArray | None = None
        if isinstance(majorant, SampleMajorant):
            every: IntArray = np.sort(majorant.columns)
            self.pool[every[majorant.v[majorant.at[every]] != 0]] = True  # their entries change with the threshold
            self._diagonal: FloatArray = np.zeros(data.d)
            self._diagonal[every] = majorant.diagonal(every, T)
        else:
            every = np.arange(data.d)
            self._M = majorant.block(every)
            self._diagonal = self._M.diagonal()
        self._columns, self._largest = self._nearest(every, check)
        self._grow(every[np.argsort(-self.weakness(every), kind="stable")[: settings.fringe_pool]])

    def weakness(self, features: IntArray) -> FloatArray:
        """Return how far rows are from dominance."""
        room = np.maximum(self._threshold(0.0) - self._diagonal[features], 1e-9 * max(self.T, 1e-300))
        weak: FloatArray = self._largest[features, : self.k].sum(axis=1) / room
        return weak

    def _threshold(self, paid: float) -> float:
        return (1.0 + self.majorant.gain) * (self.T + paid) - self.majorant.loss

    def _entries(self, features: IntArray, others: IntArray, paid: float = 0.0) -> FloatArray:
        if self._M is None:
            assert isinstance(self.majorant, SampleMajorant)
            return self.majorant.entries(features, others, self.T + paid)
        M: FloatArray = self._M[np.ix_(features, others)]
        return M

    def _rows(self, I: IntArray, F: IntArray, paid: float) -> FloatArray:  # noqa: E741
        """Return the rows of included features."""
        both = np.concatenate([I, F])
        if isinstance(self.majorant, Majorant):
            return self.majorant.block(both, included=len(I), rows=len(I))
        return self._entries(I, both, paid)

    def _nearest(self, every: IntArray, check: Callable[[], None]) -> tuple[IntArray, FloatArray]:
        """Return the columns and sizes of each row's largest entries beside the diagonal, falling, in one pass."""
        d, count = len(self.pool), min(4 * self.k + _SPARE, len(every) - 1)
        columns, largest = np.zeros((d, count), dtype=np.intp), np.zeros((d, count))
        for at in range(0, len(every), _ROWS):
            check()
            rows = every[at : at + _ROWS]
            S = np.abs(self._entries(rows, every))
            S[np.arange(len(rows)), at + np.arange(len(rows))] = 0.0
            found = np.argpartition(S, len(every) - count, axis=1)[:, len(every) - count :]
            sizes = np.take_along_axis(S, found, axis=1)
            order = np.argsort(-sizes, axis=1, kind="stable")
            columns[rows] = every[np.take_along_axis(found, order, axis=1)]
            largest[rows] = np.take_along_axis(sizes, order, axis=1)
        self._beyond = largest[:, -1:] if count < len(every) - 1 else np.zeros((d, 1))
        return columns, largest

    def _grow(self, more: IntArray) -> None:
        """Let features join the pool; of the others the k - 1 largest entries among themselves are bounded anew."""
        self.pool[more] = True
        outside = np.where(self.pool[self._columns], 0.0, self._largest)
        near = -np.sort(-outside, axis=1)[:, : max(self.k - 1, 1)]
        self._near: FloatArray = np.maximum(near, self._beyond)

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
        P, O, costs = F[self.pool[F]], F[~self.pool[F]], self.majorant.costs  # noqa: E741
        paid = float(self.majorant.paid[I].sum())
        t = self._threshold(paid)
        F, b = np.concatenate([P, O]), len(P)
        W: FloatArray = np.zeros((0, len(F)))
        if len(I):
            from scipy.linalg.lapack import dtrtrs

            rows = self._rows(I, F, paid)
            L = cholesky(t * np.eye(len(I)) - rows[:, : len(I)])
            if L is None:
                return False, math.inf, -1, none
            W = dtrtrs(L, rows[:, len(I) :], lower=1)[0]
        own = t - self._diagonal[F] + costs[F] * self.majorant.priced - np.einsum("ij,ij->j", W, W)
        if not len(F) or p == 0:
            return True, 0.0, -1, none
        worst = int(np.argmin(own))
        if own[worst] <= 1e-13 * self.T:
            return False, 1e200, int(F[worst]), F[worst : worst + 1] if worst >= b else none
        count = min(p, len(F)) - 1
        if count == 0:
            return True, 0.0, -1, none
        s = 1.0 / np.sqrt(own)
        C = np.abs(self._entries(P, F, paid) + W[:, :b].T @ W) * s
        C *= s[:b, None]
        C[np.arange(b), np.arange(b)] = 0.0
        beside = C[:, b:]
        largest = np.partition(beside, len(O) - count, axis=1)[:, -count:] if count < len(O) else beside
        bounds: FloatArray = np.zeros((len(O), 0))
        if len(O):
            w = np.sqrt(np.einsum("ij,ij->j", W[:, b:], W[:, b:]))
            few = min(count, len(O) - 1)
            bounds = (self._near[O, :few] + (w * float(w.max()))[:, None]) * (s[b:] * float(s[b:].max()))[:, None]
        within = np.concatenate([C[:, :b], largest], axis=1)
        outside = np.concatenate([beside.T, bounds], axis=1)
        x, ratio = _least_factors(within, z[P], count, self.settings.dominance_steps)
        z[P] = x = x.astype(np.float32).astype(np.float64)
        feature = int(P[int(np.argmax(x))]) if b else -1
        if ratio >= 1.0 - _MARGIN:
            return False, ratio, feature, none
        sums = _top(outside * _and_ones(x, outside), count)
        bad = np.flatnonzero(sums >= 1 - _MARGIN)
        if not len(bad):
            z[F[b:]] = 1.0
            return True, ratio, -1, none
        # The fringe alone fails, at the least factors of the pool.
        return False, float(sums.max()), feature, O[bad[np.argsort(-sums[bad], kind="stable")]]


_MARGIN = 1e-9
# Rows of the pool are dominant by at least this part: single precision rounds their factors.
_SPARED = 1e-6
# So many rows at a time; entries kept of each row beyond four times k.
_ROWS, _SPARE = 512, 64


def _top(S: FloatArray, count: int) -> FloatArray:
    """Return the sums of the largest entries of each row."""
    if count < S.shape[1]:
        S = np.partition(S, S.shape[1] - count, axis=1)[:, S.shape[1] - count :]
    sums: FloatArray = S.sum(axis=1)
    return sums


def _and_ones(x: FloatArray, N: FloatArray) -> FloatArray:
    """Return the factors of all columns: those of the pool, and 1 for the fringe."""
    return np.concatenate([x, np.ones(N.shape[1] - len(x))])


def _least_factors(N: FloatArray, x: FloatArray, count: int, steps: int) -> tuple[FloatArray, float]:
    """Return about the least factors with which the rows of the pool are dominant, and the largest ratio of a row.

    The factors of the fringe, whose entries stand behind those of the pool, are 1. Of all choices of `count` entries in
    every row the worst is looked for in turn with its solution (policy iteration).
    """
    b, skipped = len(x), max(N.shape[1] - count, 0)
    for _ in range(steps if b else 0):
        chosen = np.argpartition(N * _and_ones(x, N), skipped, axis=1)[:, skipped:]
        own = np.zeros_like(N)
        np.put_along_axis(own, chosen, np.take_along_axis(N, chosen, 1), 1)
        fixed = own[:, b:].sum(axis=1) + _SPARED
        solved = np.linalg.solve(np.eye(b) * (1.0 - _SPARED) - own[:, :b], fixed)
        if not (solved > 0).all() or not (solved < 1e12).all():  # no factors will do (Perron, Frobenius)
            for _ in range(5):
                x = np.sqrt(x * np.maximum(own[:, :b] @ x, 1e-12))
            return np.maximum(x / x.max(), 1e-6), 1.5
        settled = bool((np.abs(solved - x) <= 1e-6 * solved).all())
        x = solved
        if settled:
            break
    return x, float((_top(N * _and_ones(x, N), count) / x).max(initial=0.0))
