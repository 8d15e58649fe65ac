r"""Attacks on samples: the saddle-point solver, and the smoothed attack on one support.

The adversary picks a row e_i for every sample with :math:`N(e_i) \le \rho_i` (docs/kernel.md, section 8), and the
opponent a unit vector v of the node. :math:`\min_E \max_v \|(X + E)v\|^2` is convex in E. A mixture of opponents plays
against E: their weights grow with what they get out of it, E goes down their weighted gradient, and new opponents come
from truncated power steps. Nothing here is a bound: the kernel takes the attack that comes out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.runtime.controls import never
from noap.search.sample_ascent import kept, portions, squares
from noap.settings import SampleSettings

__all__ = ["Cuts", "Duel", "climbed", "opponents", "smoothed", "spread"]

# No attack is worth finding for a smaller target: its smoothing would underflow.
_NOTHING = 1e-250


def opponents(M: FloatArray, inside: int, p: int, count: int, turn: int = 0) -> FloatArray:
    """Return vectors to climb from: rows of M, half of them with the largest diagonals, the others in turn."""
    m = len(M) - inside
    if p == 0 or m == 0:
        return np.linalg.eigh(M)[1][:, -1:].T.copy()
    rows = inside + np.argsort(-M.diagonal()[inside:], kind="stable")[:count]
    if m > count:
        others = inside + (7 * np.arange(count // 2) + turn) % m
        rows = np.unique(np.concatenate([rows[: count - count // 2], others]))
    return kept(M[rows], inside, p)


def climbed(M: FloatArray, V: FloatArray, inside: int, p: int, steps: int) -> tuple[FloatArray, FloatArray]:
    """Return the vectors after so many truncated power steps, and their v'Mv."""
    for _ in range(steps):
        V = kept(V @ M, inside, p)
    return V, np.einsum("ij,ij->i", V @ M, V)


def smoothed(
    X: FloatArray,
    rho: FloatArray,
    E: FloatArray,
    target: float,
    settings: SampleSettings,
    supports: IntArray | None = None,
    check: Callable[[], None] = never,
) -> FloatArray:
    r"""Return the best attack found on one support (all columns), or on several, from E on; stop below the target.

    The largest eigenvalue of (X + E)'(X + E) on a support is smoothed to :math:`\mu \log \sum_i \exp(\lambda_i/\mu)`,
    the sum over all eigenvalues on all supports, with smaller and smaller :math:`\mu`, and goes down by accelerated
    gradient steps that are put back on the balls of the rows.
    """
    c = X.shape[1]
    S: IntArray = np.arange(c)[None] if supports is None else supports
    pairs = (S[:, :, None] * c + S[:, None, :]).ravel()

    def at(E: FloatArray, mu: float) -> tuple[float, float, FloatArray]:
        Y = X + E
        eigenvalues, Q = np.linalg.eigh((Y.T @ Y).ravel()[pairs].reshape(*S.shape, S.shape[1]))
        top = float(eigenvalues.max())
        shares = np.exp((eigenvalues - top) / mu)
        total = float(shares.sum())
        blocks = (2.0 * shares / total)[:, None, :] * Q @ Q.transpose(0, 2, 1)
        W = np.bincount(pairs, blocks.ravel(), c * c).reshape(c, c)
        return top + mu * math.log(total), top, Y @ W

    def put_back(E: FloatArray) -> FloatArray:
        if rho.ndim > 1:
            return np.clip(E, -rho, rho)
        lengths = np.sqrt(np.einsum("ij,ij->i", E, E))
        within: FloatArray = E * np.minimum(1.0, rho / np.maximum(lengths, 1e-300))[:, None]
        return within

    if not target > _NOTHING:
        return E
    best, least, inverse = E, at(E, target)[1], 2.0
    for width in settings.widths:
        here = ahead = best
        momentum, last, mu = 1.0, math.inf, width * target
        for _ in range(settings.smooth_steps):
            check()
            if least < target:
                return best
            f, _, gradient = at(ahead, mu)
            while True:
                new = put_back(ahead - gradient / inverse)
                step = new - ahead
                g, largest, _ = at(new, mu)
                allowed = f + float((gradient * step).sum()) + 0.5 * inverse * float((step * step).sum())
                if g <= allowed + 1e-13 * f or inverse > 1e12:
                    break
                inverse *= 2.0
            if largest < least:
                best, least = new, largest
            if last - g < settings.smooth_progress * (g - target) and g <= last:
                break
            if g > last:  # momentum led astray: again without it
                ahead, momentum, last = here, 1.0, math.inf
                continue
            grown = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
            ahead = put_back(new + (momentum - 1.0) / grown * (new - here))
            here, momentum, last, inverse = new, grown, g, 0.9 * inverse
    return best


def _projected(E: FloatArray, inside: int, p: int, rho: FloatArray) -> None:
    """Put rows on their ball, nearly by the shortest way, in place; to single precision none is outside afterwards.

    The projection divides the largest entries by one number, puts those that tie at the p-th place on one level, and
    leaves the smaller ones; number and level are iterated a few times. Of entries the ball is a box.
    """
    if rho.ndim > 1:
        np.clip(E, -rho, rho, out=E)
        return
    m = E.shape[1] - inside
    scale = (rho * (1 - 3e-7)).astype(E.dtype)
    if p == 0 or m <= p:
        N = np.sqrt(np.einsum("ij,ij->i", E, E))
        E *= np.minimum(1.0, scale / np.maximum(N, 1e-30))[:, None]
        return
    x = np.abs(E[:, inside:])
    own = np.einsum("ij,ij->i", E[:, :inside], E[:, :inside])
    q = min(m, 4 * p + 4)
    if q < m:
        x = np.partition(x, m - q, axis=1)[:, m - q :]
    N2 = own + np.einsum("ij,ij->i", *(np.partition(x, q - p, axis=1)[:, q - p :] if q > p else x,) * 2)
    bad = np.flatnonzero(scale * scale < N2)
    if len(bad) == 0:
        return
    x, own, r, B = -np.sort(-x[bad], axis=1), own[bad], scale[bad], E[bad]
    at = np.arange(len(bad))
    divide = np.sqrt(N2[bad]) / np.maximum(r, 1e-30)
    sums = np.concatenate([np.zeros((len(bad), 1), E.dtype), np.cumsum(x, axis=1)], axis=1)
    parts = np.concatenate([np.zeros((len(bad), 1), E.dtype), np.cumsum(x[:, :p] ** 2, axis=1)], axis=1)
    level = x[:, p - 1].copy()
    for _ in range(3):
        for _ in range(4):
            above = np.minimum((x[:, :p] > (divide * level)[:, None]).sum(axis=1), p - 1)
            tied = np.maximum((x > level[:, None]).sum(axis=1), p)
            new = (sums[at, tied] - sums[at, above]) / ((divide - 1.0) * (p - above) + (tied - above))
            near = bool((np.abs(new - level) <= 1e-3 * r).all())
            level = new
            if near:
                break
        N = np.sqrt((own + parts[at, above]) / divide**2 + (p - above) * level * level)
        if (r * (1 + 2e-3) >= N).all():
            break
        divide = divide * np.maximum(N / np.maximum(r, 1e-30), 1.0)
    B[:, :inside] /= divide[:, None]
    free = B[:, inside:]
    size = np.abs(free)
    lower = np.maximum(size / divide[:, None], level[:, None])
    B[:, inside:] = np.where(size > level[:, None], np.copysign(lower, free), free)
    N = np.sqrt(squares(B, inside, p))
    B *= np.minimum(1.0, r / np.maximum(N, 1e-30))[:, None]
    E[bad] = B


def _settled(X: FloatArray, E: FloatArray, chosen: BoolArray, inside: int, p: int, rho: FloatArray) -> None:
    """Take the columns that are not chosen down by as much as N leaves room for, in place."""
    others = np.flatnonzero(~chosen)
    if rho.ndim > 1:
        E[:, others] = -np.clip(X[:, others], -rho[:, others], rho[:, others])
        return
    if p == 0 or not len(others):
        return
    taken = np.flatnonzero(chosen[inside:]) + inside
    top = E[:, taken] ** 2
    if top.shape[1] < p:
        top = np.concatenate([np.zeros((len(E), p - top.shape[1])), top], axis=1)
    elif top.shape[1] > p:
        top = np.partition(top, top.shape[1] - p, axis=1)[:, top.shape[1] - p :]
    top = np.sort(top, axis=1)
    low = rho * (1 - 3e-7)
    left = low * low - np.einsum("ij,ij->i", E[:, :inside], E[:, :inside])
    beyond = top.sum(axis=1)[:, None] - np.cumsum(top, axis=1)
    t2 = ((left[:, None] - beyond) / np.arange(1, p + 1)).min(axis=1)
    t = np.sqrt(np.maximum(t2, 0.0))[:, None]
    E[:, others] = -np.clip(X[:, others], -t, t)


def spread(X: FloatArray, E: FloatArray, some: IntArray, inside: int, p: int, rho: FloatArray) -> FloatArray:
    """Return moves of all features, by those of some: the others go down by as much as N leaves room for."""
    chosen = np.zeros(X.shape[1], dtype=np.bool_)
    chosen[some] = True
    moves = np.zeros(X.shape, dtype=np.float32)
    for rows in portions(*X.shape):
        whole: FloatArray = np.zeros(X[rows].shape)
        whole[:, some] = E[rows]
        _settled(X[rows], whole, chosen, inside, p, rho[rows])
        moves[rows] = whole
        _projected(moves[rows], inside, p, rho[rows])
    return moves


@dataclass
class Duel:
    """The saddle-point solver on one node.

    Attributes
    ----------
    X : array of shape (m, c)
        Samples that can contribute on the node's features, those of I first.
    rho : array of shape (m,), against entries (m, c)
    inside, p : int
    E : float32 array of shape (m, c)
        The attack so far, within its ball.
    V, weights : arrays of shape (o, c) and (o,)
        The opponents, unit vectors of the node, and their mixture.
    clock : int
        Steps so far: they become smaller.
    """

    X: FloatArray
    rho: FloatArray
    inside: int
    p: int
    E: FloatArray
    V: FloatArray
    weights: FloatArray
    settings: SampleSettings
    clock: int = 0
    M: FloatArray = field(init=False)
    turn: int = 0

    def gram(self, E: FloatArray) -> FloatArray:
        """Return (X + E)'(X + E)."""
        M = np.zeros((self.X.shape[1],) * 2)
        for rows in portions(*self.X.shape):
            Y = self.X[rows] + E[rows]
            M += Y.T @ Y
        return M

    def strongest(self, count: int) -> FloatArray:
        """Return those opponents that got most out of the last attack."""
        gets = np.einsum("ij,ij->i", self.V @ self.M, self.V)
        return self.V[np.argsort(-gets, kind="stable")[:count]]

    def play(self, target: float, looks: int, check: Callable[[], None]) -> float:
        """Play until no known opponent gets the target out of E, or it does not pay; return what the strongest gets."""
        settings, c = self.settings, self.X.shape[1]
        best, best_E, mark, mark_at = math.inf, self.E, math.inf, 0
        used = np.full(c, -99)
        for look in range(looks):
            check()
            M = self.gram(self.E)
            strongest = self._meet(M)
            if strongest < best:
                best, best_E, self.M = strongest, self.E.copy(), M
            if best <= target:
                break
            if best - target < 0.9 * (mark - target):
                mark, mark_at = best, look
            elif look - mark_at >= settings.patience:
                break
            used[(self.V != 0).any(axis=0)] = look
            chosen: BoolArray = used >= look - 5
            chosen[: self.inside] = True
            short = self.inside + 3 * self.p - int(chosen.sum())
            if short > 0:
                others = np.flatnonzero(~chosen)
                chosen[others[np.argsort(-M.diagonal()[others], kind="stable")[:short]]] = True
            self._steps(chosen)
        self.E = best_E
        return best

    def _meet(self, M: FloatArray) -> float:
        """Take in strong opponents that are unlike those known; return what the strongest gets."""
        settings, inside, p = self.settings, self.inside, self.p
        C, gets = climbed(M, opponents(M, inside, p, settings.anchors, self.turn), inside, p, settings.far)
        self.turn += settings.anchors // 2
        mean = 0.0
        if len(self.V):
            known, theirs = climbed(M, self.V, inside, p, 3)
            C, gets = np.concatenate([known, C]), np.concatenate([theirs, gets])
            mean = float(self.weights @ np.einsum("ij,ij->i", self.V @ M, self.V))
        strongest = float(gets.max())
        order = np.argsort(-gets, kind="stable")
        C = C[order[gets[order] >= mean][: 3 * settings.new_opponents]]
        alike, old = np.abs(C @ C.T), np.abs(C @ self.V.T) if len(self.V) else np.zeros((len(C), 0))
        new: list[int] = []
        for i in range(len(C)):
            if new and alike[i, new].max() > 0.999:
                continue
            if old.shape[1] and old[i].max() > 0.999:
                self.V[int(np.argmax(old[i]))] = C[i]
                continue
            new.append(i)
            if len(new) == settings.new_opponents:
                break
        if new:
            share = 0.1 / len(new) if len(self.weights) else 1.0
            self.V = np.concatenate([self.V, C[new]])
            self.weights = np.concatenate([self.weights, np.full(len(new), share)])
            if len(self.V) > settings.most_opponents:
                stay = np.sort(np.argsort(-self.weights, kind="stable")[: settings.most_opponents])
                self.V, self.weights = self.V[stay], self.weights[stay]
        self.weights = self.weights / self.weights.sum()
        return strongest

    def _steps(self, chosen: BoolArray) -> None:
        """Take steps on the chosen columns, in single precision and portion by portion; the others follow."""
        settings, J = self.settings, np.flatnonzero(chosen)
        V = np.ascontiguousarray(self.V[:, J], dtype=np.float32)
        parts = list(portions(len(self.X), max(len(J), len(V))))
        X = [self.X[rows][:, J].astype(np.float32) for rows in parts]
        E = [self.E[rows][:, J].astype(np.float32) for rows in parts]
        budgets = [self.rho[rows] if self.rho.ndim == 1 else self.rho[rows][:, J] for rows in parts]
        lead = V[int(np.argmax(self.weights))]
        for _ in range(settings.inner_steps):
            moves = [x + e for x, e in zip(X, E, strict=True)] if len(parts) == 1 else None
            scores = [Y @ V.T for Y in moves] if moves is not None else None
            gets = np.zeros(len(V))
            for i in range(len(parts)):
                R = scores[i] if scores is not None else (X[i] + E[i]) @ V.T
                gets += np.einsum("ij,ij->j", R, R)
            rate = settings.rate / math.sqrt(1.0 + settings.decay * self.clock)
            self.clock += 1
            w = self.weights * np.exp(rate * (gets - gets.max()) / max(gets.max(), 1e-300))
            self.weights = w / w.sum()
            mixed = self.weights.astype(np.float32)
            for _ in range(2):  # of the mixture's largest eigenvalue: steps are far shorter than that allows
                lead = (mixed * (V @ lead)) @ V
                largest = float(np.sqrt(lead @ lead))
                lead /= np.float32(max(largest, 1e-30))
            step = settings.step * (1.0 if self.clock > settings.warm else 3.0) / max(largest, 1e-30)
            pull = (self.weights * step).astype(np.float32)
            for i in range(len(parts)):
                R = scores[i] if scores is not None else (X[i] + E[i]) @ V.T
                E[i] -= (R * pull) @ V
                _projected(E[i], self.inside, self.p, budgets[i])
        moved = np.empty_like(self.E)
        for i, rows in enumerate(parts):
            whole = self.E[rows].astype(np.float64)
            whole[:, J] = E[i]
            _settled(self.X[rows], whole, chosen, self.inside, self.p, self.rho[rows])
            moved[rows] = whole
            _projected(moved[rows], self.inside, self.p, self.rho[rows])
        self.E = moved


class Cuts(Duel):
    """The solver where moves are in boxes: the smoothed attack on the supports of all known opponents."""

    def play(self, target: float, looks: int, check: Callable[[], None]) -> float:
        """Add the supports of strong opponents, attack all of them, until no known opponent gets the target, or no new.

        Return what the strongest gets.
        """
        settings, inside, p = self.settings, self.inside, self.p
        best, best_E = math.inf, self.E
        known = np.empty((0, inside + min(p, self.X.shape[1] - inside)), np.intp)
        for _ in range(looks):
            check()
            M = self.gram(self.E)
            V = np.concatenate([self.V, opponents(M, inside, p, settings.anchors_of_cuts)])
            V, gets = climbed(M, V, inside, p, settings.far)
            if gets.max() < best:
                best, best_E, self.M = float(gets.max()), self.E, M
            order = np.argsort(-gets, kind="stable")
            S, first = np.unique(self._supports(V[order]), axis=0, return_index=True)
            first = np.sort(first)[: settings.most_opponents]
            self.V, gets = V[order[first]], gets[order[first]]
            strong = np.exp((gets - gets[0]) / max(settings.widths[-1] * gets[0], 1e-300))
            self.weights = strong / strong.sum()
            S = self._supports(self.V)[gets > target * (1 - settings.near_cuts)]
            both = np.unique(np.concatenate([known, S]), axis=0)
            if best <= target or len(both) == len(known):
                break
            known = both
            J = np.unique(known)
            E = self.E.astype(np.float64)
            places = np.searchsorted(J, known)
            E[:, J] = smoothed(self.X[:, J], self.rho[:, J], E[:, J], target * (1 - 1e-5), settings, places, check)
            self.E = E
        self.E = best_E
        return best

    def _supports(self, V: FloatArray) -> IntArray:
        """Return the columns of vectors, as many for each: those of I, and the largest others."""
        free = np.abs(V[:, self.inside :])
        p = min(self.p, free.shape[1])
        others = np.sort(np.argsort(-free, axis=1, kind="stable")[:, :p], axis=1) + self.inside
        return np.concatenate([np.broadcast_to(np.arange(self.inside), (len(V), self.inside)), others], axis=1)
