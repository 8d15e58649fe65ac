r"""Alternating ascent from many starts at once: good vectors for the tree to prove.

A step is exact in both halves: :math:`\hat u = Xv/\|Xv\|`, then v along the soft-thresholded :math:`X^\top \hat u` on
the features that contribute most, so values never fall. Everything is products with A; where A is indefinite, with
:math:`A - \lambda_{\min} I`, whose forms are larger by the same number for all unit vectors.

Where v is orthogonal to directions V (rows), v is along :math:`(X^\top \hat u - V^\top \lambda)_{\rho}` on its support,
soft-thresholded, with the :math:`\lambda` that makes it orthogonal: the dual of the same step, by Newton's method. The
support is chosen by what is left after :math:`\lambda`, so values may fall, and the best vector is kept.
"""

import numpy as np
from scipy.linalg import eigh

from noap.heuristics.metric import ascend_in_metric, climbed_in_metric, value_in_metric
from noap.kernel.data import Data
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.settings import Settings

__all__ = ["ascend", "best_in", "climbed", "climbed_within", "deflations", "multipliers_of", "value_of"]

_NEAR = 1e-8
# Newton steps to the multipliers of a step, and rounds in which the support follows them.
_NEWTON, _ROUNDS = 6, 2
# A vector of which projection leaves less than this part has nothing orthogonal in its support.
_GONE = 1e-7


def value_of(data: Data, v: FloatArray) -> float:
    """Return the value of the choice that v makes, in floating point."""
    if data.metric is not None:
        return value_in_metric(data, v)
    chosen = v != 0
    chosen[data.include] = True
    left = np.sqrt(max(float(v @ data.A @ v), 0.0)) - float(data.r @ np.abs(v))
    return float(max(left, 0.0) ** 2 - data.costs[chosen].sum())


def deflations(data: Data) -> FloatArray:
    """Return for each direction the multiplier that takes its own variance away."""
    V = data.directions
    own: FloatArray = np.maximum(np.einsum("id,id->i", V @ data.A, V), 1e-3 * data.top)
    return own


def ascend(
    data: Data,
    settings: Settings,
    starts: FloatArray | None = None,
    met: list[FloatArray] | None = None,
    *,
    few: bool = False,
) -> FloatArray:
    """Return the best unit vector found; zeros where no choice is worth more than using no feature.

    Parameters
    ----------
    starts : array of shape (m, d), optional
        Further vectors to start from.
    met : list, optional
        Gets the good vectors on the way.
    few : bool
        Fewer starts of its own, and one round of exchanges, where good ones are given.
    """
    if data.metric is not None:
        return ascend_in_metric(data, starts)
    climber = _climber(data)
    V = climber.rows(settings.ascent_few) if few else climber.starts(settings.ascent_starts)
    if starts is not None:
        V = np.concatenate([V, climber.projected(np.atleast_2d(starts))])
    nothing: FloatArray = np.zeros(len(data.A))
    if len(V) == 0:  # no start has anything that is orthogonal to the directions
        return nothing
    V, values = climber.climb(V, settings.ascent_first_steps)
    best = np.argsort(-values, kind="stable")[: settings.ascent_kept]
    V, values = climber.climb(V[best], settings.ascent_steps)
    if met is not None:
        met.extend(V[values > 0])
    at = int(np.argmax(values))
    v, value = V[at], float(values[at])
    for _ in range(min(settings.ascent_swaps, 1) if few else settings.ascent_swaps):
        candidates = climber.swapped(v)
        if len(candidates) == 0:
            break
        V, values = climber.climb(candidates, settings.ascent_first_steps)
        V, values = climber.climb(V[[int(np.argmax(values))]], settings.ascent_steps)
        if not values[0] > value + 1e-12 * abs(value):
            break
        v, value = V[0], float(values[0])
    if len(data.directions):
        v, value = climber.polished(v, value)
        return v if value > value_of(data, nothing) else nothing
    if not value > value_of(data, nothing):
        return nothing
    settled = climbed_within(data, v, settings.ascent_settling)
    return settled if value_of(data, settled) >= value * (1.0 - 1e-14) else v


def climbed(
    data: Data, start: FloatArray, steps: int, node: tuple[IntArray, IntArray, int] | None = None
) -> FloatArray:
    """Return where ascent leads from one vector, within a node (I, F, p); zeros where nothing is left of it."""
    if data.metric is not None:
        return climbed_in_metric(
            data, start, (data.include, np.flatnonzero(data.allowed), data.k) if node is None else node
        )
    climber = _climber(data, node)
    V = climber.projected(start[None, :])
    if len(V) == 0:
        return np.zeros(len(data.A))
    V, values = climber.climb(V, steps)
    found: FloatArray = V[0] if data.r_max > 0 else climber.polished(V[0], float(values[0]))[0]
    return found


def best_in(data: Data, node: tuple[IntArray, IntArray, int], starts: FloatArray, settings: Settings) -> FloatArray:
    """Return the best vector found in a node (I, F, p), from a few starts; zeros where nothing is left of them.

    Parameters
    ----------
    starts : array of shape (m, d)
        Further vectors to start from.
    """
    climber, I = _climber(data, node), node[0]  # noqa: E741
    if climber.places <= 0:
        starts = starts[:0]
    V = [climber.projected(starts)]
    if len(I):
        start: FloatArray = np.zeros((1, len(data.A)))
        start[0, I] = _leading(data.A[np.ix_(I, I)], 1)[0]
        V.append(start)
        V.append(climber.projected(start @ climber.A))
    else:
        V.append(climber.starts(settings.ascent_kept))
    whole = np.concatenate(V)
    if not len(whole):
        return np.zeros(len(data.A))
    whole, values = climber.climb(whole, settings.ascent_steps)
    found: FloatArray = whole[int(np.argmax(values))]
    return found


def climbed_within(data: Data, v: FloatArray, steps: int = 2000) -> FloatArray:
    """Return the vector that ascent reaches on the features of v alone; those that lose all weight are dropped."""
    at = np.flatnonzero(v)
    x, B, r = v[at] / np.linalg.norm(v[at]), data.A[np.ix_(at, at)], data.r[at]
    if not data.definite:
        B = _raised(B)
    for _ in range(steps):
        g = B @ x
        g /= np.sqrt(max(float(x @ g), 1e-300))
        w = np.sign(g) * np.maximum(np.abs(g) - r, 0.0)
        length = float(np.linalg.norm(w))
        if length == 0:
            break
        w /= length
        near = float(np.abs(w - x).max()) < 1e-12
        x = w
        if near:
            break
    found: FloatArray = np.zeros(len(v))
    found[at] = x
    return found


def _raised(A: FloatArray) -> FloatArray:
    """Return a matrix without its negative eigenvalues' weight: A less its smallest eigenvalue, if that is negative."""
    least = float(eigh(A, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)[0])
    raised: FloatArray = A + max(-least, 0.0) * np.eye(len(A))
    return raised


def _leading(A: FloatArray, count: int) -> FloatArray:
    """Return the leading eigenvectors as rows."""
    d = len(A)
    found: FloatArray = eigh(A, subset_by_index=[d - count, d - 1], driver="evr", check_finite=False)[1].T
    return found


def multipliers_of(data: Data, v: FloatArray) -> FloatArray:
    """Return the multipliers of the directions in the best response to the attack on v, on its own support."""
    g = data.A @ v
    g /= np.sqrt(max(float(v @ g), 1e-300))
    found: FloatArray = _Orthogonal(data).balanced(
        g[None, :], (v != 0)[None, :], np.zeros((1, len(data.directions))), 30
    )[0]
    return found


def _climber(data: Data, node: tuple[IntArray, IntArray, int] | None = None) -> "_Climber":
    return (_Orthogonal if len(data.directions) else _Climber)(data, node)


class _Climber:
    """Steps on one problem; rows are vectors."""

    def __init__(self, data: Data, node: tuple[IntArray, IntArray, int] | None = None) -> None:
        self.data, self.A = data, data.A if data.definite else _raised(data.A)
        self.guide = self.A  # starts and exchanges are made of it
        d = len(data.A)
        included, free, places = (data.include, data.allowed, data.k - len(data.include)) if node is None else node
        self.demanded: BoolArray = np.zeros(d, dtype=np.bool_)
        self.demanded[included] = True
        self.free: BoolArray = np.zeros(d, dtype=np.bool_)
        self.free[free] = True
        self.free &= ~self.demanded
        self.places = min(places, int(self.free.sum()))

    def kept(self, W: FloatArray, gains: FloatArray) -> FloatArray:
        """Return the rows of W on the demanded features and those of largest positive gain."""
        Z = np.where(self.demanded, W, 0.0)
        if self.places > 0:
            gains = np.where(self.free, gains, -np.inf)
            chosen = np.argpartition(-gains, self.places - 1, axis=1)[:, : self.places]
            taken = np.take_along_axis(W, chosen, 1) * (np.take_along_axis(gains, chosen, 1) > 0)
            np.put_along_axis(Z, chosen, taken, 1)
        return Z

    def projected(self, V: FloatArray) -> FloatArray:
        """Return k-sparse unit vectors near those given; what has nothing left is dropped."""
        V = self.kept(V, np.abs(V))
        lengths = np.linalg.norm(V, axis=1)
        some = lengths > 0
        unit: FloatArray = V[some] / lengths[some, None]
        return unit

    def starts(self, most: int) -> FloatArray:
        """Return the rows of A with the largest sums, leading eigenvectors, and the longest features."""
        A, d = self.guide, len(self.guide)
        k = max(min(self.data.k, d), 1)
        sums = np.partition(np.abs(A), d - k, axis=1)[:, d - k :].sum(axis=1)
        rows = np.argsort(-sums, kind="stable")[:most]
        leading = _leading(A, min(4, d)) if d <= 600 else A[rows[:1]]
        longest = np.argsort(np.where(self.free, -self.data.most, np.inf), kind="stable")[: min(4, d)]
        V = np.concatenate([A[rows], leading, np.eye(d)[longest], self.demanded[None, :] * 1.0])
        return self.projected(V)

    def rows(self, most: int) -> FloatArray:
        """Return the rows of A with the largest sums."""
        A, d = self.data.A, self.data.d
        k = max(min(self.data.k, d), 1)
        sums = np.partition(np.abs(A), d - k, axis=1)[:, d - k :].sum(axis=1)
        return self.projected(A[np.argsort(-sums, kind="stable")[:most]])

    def climb(self, V: FloatArray, steps: int) -> tuple[FloatArray, FloatArray]:
        """Return the vectors after so many steps, or when none moves any more, and their values."""
        data = self.data
        for _ in range(steps):
            G = V @ self.A
            lengths = np.sqrt(np.maximum((V * G).sum(axis=1), 1e-300))
            W = G / lengths[:, None]
            W = np.sign(W) * np.maximum(np.abs(W) - data.r, 0.0)
            W = self.kept(W, W * W - data.costs)
            norms = np.linalg.norm(W, axis=1)
            moved = norms > 0
            W[moved] /= norms[moved, None]
            W[~moved] = V[~moved]
            still = bool(np.abs(W - V).max(initial=0.0) < _NEAR)
            V = W
            if still:
                break
        forms = ((V @ data.A) * V).sum(axis=1)
        left = np.maximum(np.sqrt(np.maximum(forms, 0.0)) - np.abs(V) @ data.r, 0.0)
        values: FloatArray = left * left - ((V != 0) | self.demanded) @ data.costs
        return V, values

    def polished(self, v: FloatArray, value: float) -> tuple[FloatArray, float]:
        """Return a vector and its value, after more steps where they pay."""
        return v, value

    def swapped(self, v: FloatArray) -> FloatArray:
        """Return vectors with one feature of v replaced by one of the three that would contribute most."""
        data, found = self.data, []
        support = np.flatnonzero((v != 0) & ~self.demanded)
        for j in support:
            w = v.copy()
            w[j] = 0.0
            if not w.any():
                continue
            g = self.guide @ w
            g /= np.sqrt(max(float(w @ g), 1e-300))
            gains = np.maximum(np.abs(g) - data.r, 0.0) ** 2 - data.costs
            gains[support], gains[~self.free] = -np.inf, -np.inf
            for i in np.argsort(-gains, kind="stable")[:3]:
                if gains[i] > 0:
                    x = w.copy()
                    x[i] = 0.5 * g[i]
                    found.append(x / np.linalg.norm(x))
        return np.array(found).reshape(-1, len(v))


class _Orthogonal(_Climber):
    """Steps among the vectors that are orthogonal to the directions."""

    def __init__(self, data: Data, node: tuple[IntArray, IntArray, int] | None = None) -> None:
        super().__init__(data, node)
        self.V = data.directions
        self.guide = self.A - (self.V.T * deflations(data)) @ self.V

    def projected(self, V: FloatArray) -> FloatArray:
        """Return k-sparse unit vectors near those given, orthogonal to the directions."""
        V = super().projected(V)
        return self._unit(self._on_support(V)) if len(V) else V

    def climb(self, V: FloatArray, steps: int, supports: BoolArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the best vectors of so many steps, and their values; on given supports alone if there are any."""
        data = self.data
        best, values = V, np.full(len(V), -np.inf)
        for _ in range(steps + 1):
            own = np.maximum(((V @ data.A) * V).sum(axis=1), 0.0)
            left = np.maximum(np.sqrt(own) - np.abs(V) @ data.r, 0.0)
            now = left * left - ((V != 0) | self.demanded) @ data.costs
            better = now > values
            best, values = np.where(better[:, None], V, best), np.maximum(now, values)
            G = V @ self.A
            forms = np.maximum((V * G).sum(axis=1), 1e-300)
            W = self._stepped(G / np.sqrt(forms)[:, None], supports)
            moved = W.any(axis=1)
            W[~moved] = V[~moved]
            still = bool(np.abs(W - V).max(initial=0.0) < _NEAR)
            V = W
            if still:
                break
        return best, values

    def swapped(self, v: FloatArray) -> FloatArray:
        """Return vectors with one feature of v replaced by one of the three that would contribute most."""
        return self.projected(super().swapped(v))

    def polished(self, v: FloatArray, value: float) -> tuple[FloatArray, float]:
        """Return the best vector on the support of v and its value: an eigenvector where no feature has a budget."""
        at = np.flatnonzero(v)
        if len(at) == 0:
            return v, value
        if self.data.r_max > 0:
            V, values = self.climb(v[None, :], 500, (v != 0)[None, :])
            return V[0], float(values[0])
        basis = _complement(self.V[:, at])
        w: FloatArray = np.zeros(len(v))
        w[at] = basis @ np.linalg.eigh(basis.T @ self.data.A[np.ix_(at, at)] @ basis)[1][:, -1]
        own = value_of(self.data, w)
        return (w, own) if own > value else (v, value)

    def _stepped(self, G: FloatArray, supports: BoolArray | None) -> FloatArray:
        """Return unit vectors along the soft-thresholded G less multiples of the directions; 0 if nothing is left."""
        r = self.data.r
        multipliers: FloatArray = np.zeros((len(G), len(self.V)))
        W: FloatArray = np.zeros_like(G)
        for _ in range(_ROUNDS if supports is None else 1):
            left = G - multipliers @ self.V
            soft = np.sign(left) * np.maximum(np.abs(left) - r, 0.0)
            own = self.kept(soft, soft * soft - self.data.costs) != 0 if supports is None else supports
            multipliers = self.balanced(G, own, multipliers, _NEWTON)
            left = G - multipliers @ self.V
            W[...] = np.where(own, np.sign(left) * np.maximum(np.abs(left) - r, 0.0), 0.0)
        projected = self._on_support(W)
        lengths = np.linalg.norm(projected, axis=1)
        unit: FloatArray = projected / np.maximum(lengths, 1e-300)[:, None]
        return unit

    def balanced(self, G: FloatArray, own: BoolArray, multipliers: FloatArray, steps: int) -> FloatArray:
        """Return the multipliers that make what the soft threshold leaves of G orthogonal: Newton's method."""
        for _ in range(steps):
            left = G - multipliers @ self.V
            W = np.where(own, np.sign(left) * np.maximum(np.abs(left) - self.data.r, 0.0), 0.0)
            excess = W @ self.V.T
            if not np.abs(excess).max(initial=0.0) > 1e-14:
                break
            gram = np.einsum("id,bd,jd->bij", self.V, (W != 0).astype(np.float64), self.V, optimize=True)
            gram += 1e-12 * np.eye(len(self.V))
            multipliers = multipliers + np.linalg.solve(gram, excess[:, :, None])[:, :, 0]
        return multipliers

    def _on_support(self, W: FloatArray) -> FloatArray:
        """Return the rows projected off the directions within their supports; 0 where next to nothing is left."""
        found: FloatArray = np.zeros_like(W)
        for row, w in enumerate(W):
            at = np.flatnonzero(w)
            basis = _complement(self.V[:, at])
            x = basis @ (basis.T @ w[at])
            if len(at) and np.linalg.norm(x) > _GONE * np.linalg.norm(w):
                found[row, at] = x
        return found

    def _unit(self, W: FloatArray) -> FloatArray:
        lengths = np.linalg.norm(W, axis=1)
        unit: FloatArray = W[lengths > 0] / lengths[lengths > 0, None]
        return unit


def _complement(V: FloatArray) -> FloatArray:
    """Return an orthonormal basis (columns) of the vectors orthogonal to the rows."""
    _, singular, rows = np.linalg.svd(V, full_matrices=True)
    rank = int((singular > 1e-13 * max(float(singular[0]) if len(singular) else 0.0, 1.0)).sum())
    basis: FloatArray = rows[rank:].T
    return basis
