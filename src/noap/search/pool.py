"""Good vectors of every size where features are many: ascent on a pool of features, which grows where they pull."""

import copy
import functools
from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import eigh

from noap.kernel.data import Columns, Data, Features
from noap.linalg.products import row_blocks, scores
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.threads import in_order
from noap.search.ascent import ascend, value_of
from noap.settings import Settings

__all__ = ["Pool", "of_size"]


def of_size(data: Data, q: int) -> Data:
    """Return the same data for choices of at most q features."""
    made = copy.copy(data)
    made.k = q
    return made


class Pool:
    """The best vectors known of at most 1, 2, ..., k features.

    Parameters
    ----------
    check : callable
        Asked between steps; it may raise.
    tell : callable
        Hears how many pairs of features are scanned, and of how many.

    Attributes
    ----------
    values : array of shape (k + 1,)
        What they are worth; 0 for no feature.
    """

    def __init__(
        self,
        data: Features,
        settings: Settings,
        check: Callable[[], None],
        tell: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self.data, self.settings, self.check, self._tell = data, settings, check, tell
        self.values: FloatArray = np.zeros(data.k + 1)
        self._best: list[tuple[IntArray, FloatArray]] = [(np.empty(0, np.intp), np.empty(0))] * (data.k + 1)
        usable = np.flatnonzero(data.allowed & (data.most > 0))
        if len(usable) > settings.pool_features:
            usable = self._promising(usable)
        self.features: IntArray = usable
        self._part = data.part(usable)

    def vector(self, q: int) -> tuple[IntArray, FloatArray]:
        """Return features and weights of the best vector of at most q features."""
        return self._best[q]

    def note(self, q: int, features: IntArray, weights: FloatArray, value: float) -> bool:
        """Take a vector for q features and more, where it is better; return whether it is, for q."""
        better = value > self.values[q] * (1 + 1e-12)
        for size in range(q, len(self.values)):
            if value <= self.values[size]:
                break
            self.values[size], self._best[size] = value, (features, weights)
        return bool(better)

    def search(self, start: tuple[IntArray, FloatArray] | None = None) -> None:
        """Ascend for each size, first the largest."""
        k = self.data.k
        self.climb(start)
        features, leading = self.features, self._leading()
        for q in range(1, k):
            self.check()
            starts = [self._within(*self._best[size]) for size in (q - 1, k) if len(self._best[size][0])]
            self._ascend(q, [*starts, *(self._within(features, one) for one in leading)], few=True)
            if self._grow(q):
                self._ascend(q, [self._within(*self._best[q])], few=True)

    def climb(self, start: tuple[IntArray, FloatArray] | None = None) -> None:
        """Ascend for the largest size alone."""
        k = self.data.k
        if start is not None and len(start[0]):
            self._widen(start[0])
        starts = [] if start is None else [self._within(*start)]
        for _ in range(4):
            self._ascend(k, starts, few=False)
            if not self._grow(k):
                break
            self.check()
            starts = [self._within(*self._best[k])]

    def _leading(self) -> list[FloatArray]:
        d = self._part.d
        found = eigh(self._part.A, subset_by_index=[max(d - 4, 0), d - 1], check_finite=False)[1]
        return list(found.T)

    def _within(self, features: IntArray, weights: FloatArray) -> FloatArray:
        v: FloatArray = np.zeros(self._part.d)
        v[np.searchsorted(self.features, features)] = weights
        return v

    def _ascend(self, q: int, starts: list[FloatArray], few: bool) -> None:
        part = of_size(self._part, min(q, self._part.d))
        v = ascend(part, self.settings, np.array(starts) if starts else None, few=few)
        at = np.flatnonzero(v)
        if len(at):
            self.note(q, self.features[at], v[at], value_of(part, v))

    def _grow(self, q: int) -> bool:
        """Take the features into the pool on which the best vector of q features pulls most; return if any is new."""
        if not isinstance(self.data, Columns) or not len(self._best[q][0]):
            return False
        features, weights = self._best[q]
        v: FloatArray = np.zeros(self.data.d)
        v[features] = weights
        u = scores(self.data.X, v)
        pulls = np.abs(_transposed(self.data.X, u)) / max(float(np.linalg.norm(u)), 1e-300)
        pulls /= np.sqrt(self.data.terms.n_samples) * 2.0**self.data.exponent
        gains = np.where(self.data.allowed, np.maximum(pulls - self.data.r, 0.0) ** 2 - self.data.costs, -np.inf)
        count = min(q + 8, len(gains))
        top = np.argpartition(-gains, count - 1)[:count]
        return self._widen(top[gains[top] > 0])

    def _widen(self, features: IntArray) -> bool:
        new = np.setdiff1d(features, self.features)
        if len(new):
            self.features = np.union1d(self.features, new).astype(np.intp)
            self._part = self.data.part(self.features)
        return len(new) > 0

    def _promising(self, usable: IntArray) -> IntArray:
        """Return features whose best neighbours promise most, with these neighbours."""
        settings, data = self.settings, self.data
        order = usable[np.argsort(-data.most[usable], kind="stable")][: settings.pool_longest]
        count = min(max(data.k - 1, 1), len(order) - 1)
        near, which = _nearest(data, np.sort(order), count, self.check, self._tell)
        order = np.sort(order)
        lengths = np.maximum(data.lengths[order], 1e-300)
        gains = np.maximum(near / lengths[:, None] - data.r[order[which]], 0.0) ** 2 - data.costs[order[which]]
        score = data.most[order] + np.maximum(gains, 0.0).sum(axis=1)
        taken = np.zeros(len(order), dtype=np.bool_)
        groups = 0
        for j in np.argsort(-score, kind="stable").tolist():
            if not taken[j]:
                taken[which[j]], taken[j] = True, True
                groups += 1
                if groups >= settings.pool_groups or int(taken.sum()) > settings.pool_features:
                    break
        taken[np.argsort(-score, kind="stable")[:100]] = True
        return order[taken]


def _transposed(X: object, u: FloatArray) -> FloatArray:
    """Return X'u."""
    if isinstance(X, np.ndarray) and X.dtype != np.float64:
        total, seen = np.zeros(X.shape[1]), 0
        for block in row_blocks(X):
            total += block.T @ u[seen : seen + len(block)]
            seen += len(block)
        return total
    found: FloatArray = np.asarray(X.T @ u)  # type: ignore[attr-defined]  # samples of any kind
    return found


def _nearest(
    data: Features, features: IntArray, count: int, check: Callable[[], None], tell: Callable[[int, int], None]
) -> tuple[FloatArray, IntArray]:
    """Return of every feature its largest products with others, in size, and with which: in one pass over blocks."""
    m, wide = len(features), data.width
    best: FloatArray = np.full((m, count), -1.0, np.float32)
    which: IntArray = np.zeros((m, count), np.intp)
    some = np.sort(np.random.default_rng(0).choice(m, min(m, 512), replace=False))
    starts = range(0, m, wide)
    least: FloatArray = np.zeros(m, np.float32)
    if len(some) > count + 1:  # products that a feature has with some others are a first threshold
        for a in starts:
            sizes = np.abs(data.products(features[a : a + wide], features[some]))
            least[a : a + wide] = np.partition(sizes, len(some) - count - 1, axis=1)[:, -count - 1]

    def merge(at: IntArray, others: IntArray, sizes: FloatArray) -> None:
        order = np.lexsort((-sizes, at))
        at, others, sizes = at[order], others[order], sizes[order]
        rows, first, lengths = np.unique(at, return_index=True, return_counts=True)
        rank = np.arange(len(at)) - np.repeat(first, lengths)
        kept, row = rank < count, np.repeat(np.arange(len(rows)), lengths)
        V = np.full((len(rows), count), -1.0, np.float32)
        W = np.zeros((len(rows), count), np.intp)
        V[row[kept], rank[kept]], W[row[kept], rank[kept]] = sizes[kept], others[kept]
        V, W = np.concatenate([V, best[rows]], axis=1), np.concatenate([W, which[rows]], axis=1)
        top = np.lexsort((W, -V), axis=1)[:, :count]  # of equal ones the first, whoever came first
        best[rows], which[rows] = np.take_along_axis(V, top, 1), np.take_along_axis(W, top, 1)
        least[rows] = np.maximum(least[rows], best[rows].min(axis=1))

    def looked(a: int, b: int) -> list[tuple[IntArray, IntArray, FloatArray]]:
        """Return who is near whom in two blocks: features of either, their neighbours, and the products."""
        with np.errstate(all="ignore"):  # a thread has its own word on that
            sizes = np.abs(data.products(features[a : a + wide], features[b : b + wide]))
            width = sizes.shape[1]
            if a == b:
                np.fill_diagonal(sizes, -1.0)
            at, to = np.divmod(np.flatnonzero(sizes >= least[a : a + wide, None]), width)
            found = [(at + a, to + b, sizes[at, to])]
            if b > a:
                at, to = np.divmod(np.flatnonzero(sizes >= least[None, b : b + width]), width)
                found.append((to + b, at + a, sizes[at, to]))
            return found

    blocks = [(a, b) for a in starts for b in range(a, m, wide)]

    def parts() -> Iterator[Callable[[], list[tuple[IntArray, IntArray, FloatArray]]]]:
        for a, b in blocks:
            check()
            yield functools.partial(looked, a, b)

    for number, found in enumerate(in_order(parts(), data.threads), start=1):
        for at, others, sizes in found:
            merge(at, others, sizes)
        tell(number * m * (m - 1) // 2 // len(blocks), m * (m - 1) // 2)
    return np.maximum(best, 0.0), which
