r"""Ascent in a metric: good k-sparse vectors for :math:`(\sqrt{v^\top A v} - \sum_j r_j |v_j|)_+^2 / v^\top B v`.

Supports are made by exchanges of one feature, and by power steps on :math:`A - TB` with T the value so far
(Dinkelbach: :math:`v^\top (A - TB) v > 0` says that v is worth more), with A as the worst attack on the best vector
leaves it. On one support the best vector is the leading generalised eigenvector; against an adversary
:math:`h(v) = \sqrt{v^\top A v} - \sum_j r_j |v_j|` is climbed on :math:`v^\top B v = 1`. With
:math:`g = Av/\sqrt{v^\top A v}` Cauchy and Schwarz give :math:`\sqrt{w^\top A w} \ge g^\top w` for every w, with
equality at v. So the w that maximises :math:`(g^\top w - \sum_j r_j |w_j|)/\sqrt{w^\top B w}` is worth at least as much
as v; it has the direction of the minimiser of :math:`\tfrac12 w^\top B w - g^\top w + \sum_j r_j |w_j|`, which
coordinate descent finds.
"""

from collections.abc import Callable

import numpy as np

from noap.kernel.data import Data
from noap.linalg.types import FloatArray, IntArray
from noap.runtime.controls import never

__all__ = ["ascend_in_metric", "climbed_in_metric", "multiplier_of", "value_in_metric"]

# Steps of the climb on a support, and sweeps of coordinate descent in each.
_STEPS, _SWEEPS = 12, 12
# Supports that are handled at once: some megabytes of blocks.
_AT_ONCE = 4096
# Dinkelbach steps at most: they converge faster than any geometric sequence. Power steps in each.
_DINKELBACH, _POWER = 6, 40
# Features that are tried in the place of each one of the support, those that look best first.
_CANDIDATES = 64
# Supports that are climbed further against an adversary.
_FINALISTS = 16


def value_in_metric(data: Data, v: FloatArray) -> float:
    """Return the value of v, in floating point."""
    at = np.flatnonzero(v)
    if not len(at):
        return 0.0
    assert data.metric is not None
    both = np.ix_(at, at)
    left = np.sqrt(max(float(v[at] @ data.A[both] @ v[at]), 0.0)) - float(data.r[at] @ np.abs(v[at]))
    square = float(v[at] @ data.metric.B[both] @ v[at])
    return max(left, 0.0) ** 2 / square if square > 0 else 0.0


def multiplier_of(data: Data, v: FloatArray) -> float:
    r"""Return the :math:`\lambda` with which :math:`g - \lambda B v` is what the adversary takes at a stationary v."""
    assert data.metric is not None
    return float(np.sqrt(value_in_metric(data, v) / max(float(v @ data.metric.B @ v), 1e-300)))


def ascend_in_metric(data: Data, starts: FloatArray | None = None, check: Callable[[], None] = never) -> FloatArray:
    """Return the best vector found; zeros where none is worth anything.

    Parameters
    ----------
    data : Data
        With a metric.
    starts : array of shape (m, d), optional
        Further vectors to start from.
    check : callable
        What it raises ends the ascent with the best vector so far, if that is left in its `v`.
    """
    assert data.metric is not None
    usable = np.flatnonzero(data.allowed & ~data.needless)
    k = min(data.k, len(usable))
    best = _Best(data)
    if k == 0:
        return best.v
    best.offer(usable[:, None])
    B = data.metric.B[np.ix_(usable, usable)]
    L = np.linalg.cholesky(B)
    C = np.linalg.solve(L, np.linalg.solve(L, data.A[np.ix_(usable, usable)]).T)
    leading = np.linalg.solve(L.T, np.linalg.eigh((C + C.T) / 2)[1][:, -min(4, len(usable)) :]).T
    best.offer(usable[_largest(leading * np.sqrt(B.diagonal()), k)])
    for start in () if starts is None else np.atleast_2d(starts):
        given = np.intersect1d(np.flatnonzero(start), usable)
        best.offer(np.sort(np.append(given, np.setdiff1d(usable, given))[:k])[None, :], start)
    chosen = np.empty(0, dtype=np.intp)
    for _ in range(k):
        check()
        rest = np.setdiff1d(usable, chosen)
        grown = np.column_stack([np.tile(chosen, (len(rest), 1)), rest])
        chosen = grown[int(np.argmax(_best_on(data, grown, steps=3)[1]))]
    best.offer(chosen[None, :])
    if k < len(usable):
        _exchange(data, best, usable, k, check)
        for _ in range(_DINKELBACH):
            check()
            if not best.offer(_power_steps(data, best, usable, k)):
                break
            _exchange(data, best, usable, k, check)
    at = np.flatnonzero(best.v)
    if data.r_max > 0 and len(at):
        best.offer(at[None, :], best.v, steps=200)
    # A climb may lose to rounding what was known.
    known = [] if starts is None else list(np.atleast_2d(starts))
    return max([best.v, *known], key=lambda v: value_in_metric(data, v))


def climbed_in_metric(data: Data, start: FloatArray, node: tuple[IntArray, IntArray, int]) -> FloatArray:
    """Return a good vector of a node (I, F, p) near one: the best on its support, and on those of power steps."""
    assert data.metric is not None
    (I, F, p), best = node, _Best(data)  # noqa: E741
    v, p = start, min(p, len(F))
    for _ in range(3):
        largest = _largest(np.abs(v[F])[None, :] * np.sqrt(data.metric.B.diagonal()[F]), p)[0] if p else F[:0]
        support = np.sort(np.concatenate([I, F[largest]])).astype(np.intp)
        if not len(support) or not best.offer(support[None, :], steps=4):
            break
        C = _attacked(data, best.v) - best.value * data.metric.B
        v = C @ best.v / max(float(np.abs(C).max()), 1e-300) + best.v
    return best.v


class _Best:
    """The best vector so far, of length 1 in the metric."""

    def __init__(self, data: Data) -> None:
        self.data, self.value = data, 0.0
        self.v: FloatArray = np.zeros(data.d)

    def offer(self, supports: IntArray, start: FloatArray | None = None, steps: int = _STEPS) -> bool:
        """Take the best vector on some supports if it is better; `start` is one on the only support."""
        weights, values = _best_on(self.data, supports, None if start is None else start[supports], steps)
        at = int(np.argmax(values))
        if not values[at] > self.value * (1.0 + 1e-13):
            return False
        self.v, self.value = np.zeros(self.data.d), float(values[at])
        self.v[supports[at]] = weights[at]
        return True


def _largest(V: FloatArray, k: int) -> IntArray:
    """Return the positions of the k largest entries of each row, ascending."""
    found: IntArray = np.sort(np.argsort(-np.abs(V), axis=1, kind="stable")[:, :k])
    return found


def _attacked(data: Data, v: FloatArray) -> FloatArray:
    r"""Return A after the worst attack on v: of columns :math:`a_j - c_j \hat u`, moved towards a stationary v."""
    if data.r_max == 0 or not v.any():
        return data.A
    assert data.metric is not None
    g = data.A @ v
    g = g / np.sqrt(max(float(v @ g), 1e-300))
    c = np.clip(g - multiplier_of(data, v) * (data.metric.B @ v), -data.r, data.r)
    c = np.where(v != 0, data.r * np.sign(v), c)
    moved: FloatArray = data.A - np.outer(g, g) + np.outer(g - c, g - c)
    return moved


def _power_steps(data: Data, best: _Best, usable: IntArray, k: int) -> IntArray:
    """Return supports that truncated power steps on A - TB come to, from its rows and leading eigenvectors."""
    assert data.metric is not None
    both = np.ix_(usable, usable)
    C = _attacked(data, best.v)[both] - best.value * data.metric.B[both]
    values, vectors = np.linalg.eigh(C)
    C = C - min(float(values[0]), 0.0) * np.eye(len(C))
    rows = np.argsort(-C.diagonal(), kind="stable")[:32]
    V = np.concatenate([vectors[:, -2:].T, C[rows], best.v[usable][None, :]])
    for _ in range(_POWER):
        chosen = _largest(V, k)
        W = np.zeros_like(V)
        np.put_along_axis(W, chosen, np.take_along_axis(V, chosen, 1), 1)
        V = W @ C
        V /= np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-300)
    return usable[np.unique(_largest(V, k), axis=0)]


def _exchange(data: Data, best: _Best, usable: IntArray, k: int, check: Callable[[], None]) -> None:
    """Exchange one feature for another while that helps."""
    assert data.metric is not None
    for _ in range(4 * k + 8):
        check()
        support = np.flatnonzero(best.v)
        rest = np.setdiff1d(usable, support)
        if len(rest) > _CANDIDATES:
            pulled = (_attacked(data, best.v) - best.value * data.metric.B)[rest] @ best.v
            rest = rest[np.argsort(-np.abs(pulled), kind="stable")[:_CANDIDATES]]
        support = np.concatenate([support, np.setdiff1d(usable, support)[: k - len(support)]])
        rest = np.setdiff1d(rest, support)
        swaps = np.repeat(support[None, :], k * len(rest), axis=0)
        swaps[np.arange(len(swaps)), np.repeat(np.arange(k), len(rest))] = np.tile(rest, k)
        if not len(swaps):
            return
        if data.r_max > 0:
            values = _best_on(data, swaps, steps=4)[1]
            swaps = swaps[np.argsort(-values, kind="stable")[:_FINALISTS]]
        if not best.offer(np.sort(swaps, axis=1)):
            return


def _best_on(
    data: Data, supports: IntArray, starts: FloatArray | None = None, steps: int = _STEPS
) -> tuple[FloatArray, FloatArray]:
    """Return vectors on the supports, one per row, of length 1 in the metric, and their values."""
    parts = [slice(first, first + _AT_ONCE) for first in range(0, len(supports), _AT_ONCE)]
    found = [_some(data, supports[part], None if starts is None else starts[part], steps) for part in parts]
    return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])


def _some(data: Data, supports: IntArray, starts: FloatArray | None, steps: int) -> tuple[FloatArray, FloatArray]:
    assert data.metric is not None
    A, B = (M[supports[:, :, None], supports[:, None, :]] for M in (data.A, data.metric.B))
    L = np.linalg.cholesky(B)
    C = np.linalg.solve(L, np.linalg.solve(L, A).transpose(0, 2, 1))
    values, vectors = np.linalg.eigh((C + C.transpose(0, 2, 1)) / 2)
    back = L.transpose(0, 2, 1)
    leading: FloatArray = np.linalg.solve(back, vectors[:, :, -1:])[:, :, 0]
    if data.r_max == 0:
        return leading, values[:, -1]
    r = data.r[supports]
    if starts is None and supports.shape[1] > 1 and steps > 4:
        starts = np.linalg.solve(back, vectors[:, :, -2:-1])[:, :, 0]
    v, value = _climbed(A, B, r, leading, steps)
    if starts is not None:
        w, other = _climbed(A, B, r, starts, steps)
        better = other > value
        v[better], value[better] = w[better], other[better]
    return v, value


def _climbed(A: FloatArray, B: FloatArray, r: FloatArray, v: FloatArray, steps: int) -> tuple[FloatArray, FloatArray]:
    v, value = _measured(A, B, r, v)
    for _ in range(steps):
        pulled = np.einsum("mij,mj->mi", A, v)
        length = np.sqrt(np.maximum(np.einsum("mi,mi->m", pulled, v), 1e-300))
        w, other = _measured(A, B, r, _shrunk(B, pulled / length[:, None], r, v))
        better = other > value * (1.0 + 1e-13)
        if not better.any():
            break
        v[better], value[better] = w[better], other[better]
    return v, np.sign(value) * value**2


def _measured(A: FloatArray, B: FloatArray, r: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the vectors with v'Bv = 1, and sqrt(v'Av) - sum r |v|, also where that is negative."""
    square = np.einsum("mi,mij,mj->m", v, B, v)
    alive = square > 0
    v = np.where(alive[:, None], v / np.sqrt(np.where(alive, square, 1.0))[:, None], 0.0)
    length = np.sqrt(np.maximum(np.einsum("mi,mij,mj->m", v, A, v), 0.0))
    return v, np.where(alive, length - (r * np.abs(v)).sum(axis=1), -np.inf)


def _shrunk(B: FloatArray, g: FloatArray, r: FloatArray, v: FloatArray) -> FloatArray:
    """Return about the minimisers of w'Bw/2 - g'w + sum r |w|, by coordinate descent from multiples of v.

    Where the solution without signs but those of v keeps them, it is the minimiser.
    """
    whole: FloatArray = np.linalg.solve(B, (g - r * np.sign(v))[:, :, None])[:, :, 0]
    other = (whole * np.sign(v) <= 0).any(axis=1)
    if other.any():
        whole[other] = _descended(B[other], g[other], r[other], v[other])
    return whole


def _descended(B: FloatArray, g: FloatArray, r: FloatArray, v: FloatArray) -> FloatArray:
    gains = np.maximum(np.einsum("mi,mi->m", g, v) - (r * np.abs(v)).sum(axis=1), 0.0)
    w: FloatArray = v * gains[:, None]
    rest = g - np.einsum("mij,mj->mi", B, w)
    for _ in range(_SWEEPS):
        for j in range(w.shape[1]):
            own = B[:, j, j]
            aim = rest[:, j] + own * w[:, j]
            new = np.sign(aim) * np.maximum(np.abs(aim) - r[:, j], 0.0) / own
            rest -= B[:, :, j] * (new - w[:, j])[:, None]
            w[:, j] = new
    return w
