r"""Ascent in a metric: supports that are good for some threshold, then swaps.

With T the worth of a direction found, :math:`v^\top (A - TB) v > 0` says that v is worth more, so plain ascent on
:math:`A - TB + \tau I` (Dinkelbach's step) never makes T smaller. Whatever it finds is exchanged feature by feature,
with the best direction on every support. Against an adversary the same is done with the covariance under the worst
attack on the direction found, and every candidate is judged by what the adversary leaves of it.
"""

from collections.abc import Callable, Iterator

import numpy as np

from noap.adversaries import NoAdversary
from noap.data.pencil import Pencil
from noap.heuristics.ascent import ascent
from noap.heuristics.generalised.supports import best_on
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.runtime.controls import never

__all__ = ["metric_ascent", "shifted_problem"]

# Dinkelbach steps at most: they converge faster than any geometric sequence.
_DINKELBACH = 6
# Against an adversary: so many of the best supports from before are climbed further.
_FINALISTS = 16


def metric_ascent(pencil: Pencil, rng: np.random.Generator, check: Callable[[], None] = never) -> Iterator[FloatArray]:
    """Yield ever better k-sparse directions of the pencil, of length 1 in its metric."""
    d, k = len(pencil.B), pencil.k
    singles = np.arange(d)[:, None]
    weights, worths = best_on(pencil, singles)
    best = _Best(d)
    if best.offer(singles, weights, worths):
        yield best.w
    for supports in _first_supports(pencil, k):
        check()
        if best.offer(supports, *best_on(pencil, supports)):
            yield best.w
    if k < d:
        yield from _exchanged(pencil, best, check)
        idle = Pencil(pencil.A, pencil.B, np.zeros(d), k, pencil.exponents, pencil.error)
        for _ in range(_DINKELBACH):
            form = pencil.A if pencil.is_idle else attacked(pencil, best.w)
            found = _dinkelbach(Pencil(form, idle.B, idle.rho, k, idle.exponents, 0.0), best.worth, rng, check)
            supports = _leading(pencil, found)
            if not best.offer(supports, *best_on(pencil, supports)):
                break
            yield best.w
            yield from _exchanged(pencil, best, check)
    support = np.flatnonzero(best.w)[None, :]
    if not pencil.is_idle and best.offer(support, *best_on(pencil, support, best.w[support], steps=200)):
        yield best.w


class _Best:
    """The best direction so far."""

    def __init__(self, d: int) -> None:
        self.w: FloatArray = np.zeros(d)
        self.worth = -np.inf

    def offer(self, supports: IntArray, weights: FloatArray, worths: FloatArray) -> bool:
        """Take the best of these if it is better."""
        at = int(np.argmax(worths))
        if not worths[at] > self.worth + 1e-13 * abs(self.worth) and np.isfinite(self.worth):
            return False
        self.w = np.zeros(len(self.w))
        self.w[supports[at]] = weights[at]
        self.worth = float(worths[at])
        return True


def _first_supports(pencil: Pencil, k: int) -> Iterator[IntArray]:
    """Yield supports of k features: of dense generalised eigenvectors, and one feature after the other."""
    d = len(pencil.B)
    L = np.linalg.cholesky(pencil.B)
    C = np.linalg.solve(L, np.linalg.solve(L, pencil.A).T)
    vectors = np.linalg.solve(L.T, np.linalg.eigh((C + C.T) / 2)[1][:, -min(4, d) :])
    # What a feature adds is seen in units in which all are of length 1.
    yield np.unique(_leading(pencil, (vectors * np.sqrt(pencil.B.diagonal())[:, None]).T), axis=0)
    chosen = np.empty((1, 0), dtype=np.intp)
    for _ in range(k):
        rest = np.setdiff1d(np.arange(d), chosen[0])
        grown = np.column_stack([np.repeat(chosen, len(rest), axis=0), rest])
        chosen = grown[[int(np.argmax(best_on(pencil, grown, steps=3)[1]))]]
    yield chosen


def _exchanged(pencil: Pencil, best: _Best, check: Callable[[], None]) -> Iterator[FloatArray]:
    """Exchange one feature for another while that helps."""
    d, k = len(pencil.B), pencil.k
    for _ in range(4 * k + 8):
        check()
        support = _padded(pencil, np.flatnonzero(best.w))
        rest = np.setdiff1d(np.arange(d), support)
        swaps = np.repeat(support[None, :], k * len(rest), axis=0)
        swaps[np.arange(len(swaps)), np.repeat(np.arange(k), len(rest))] = np.tile(rest, k)
        weights, worths = best_on(pencil, swaps, steps=4)
        if not pencil.is_idle:
            last = np.argsort(-worths)[:_FINALISTS]
            swaps, (weights, worths) = swaps[last], best_on(pencil, swaps[last], weights[last])
        if not best.offer(swaps, weights, worths):
            return
        yield best.w


def _padded(pencil: Pencil, support: IntArray) -> IntArray:
    """Return the support, with the first other features where it has fewer than k."""
    others = np.setdiff1d(np.arange(len(pencil.B)), support)
    return np.append(support, others[: pencil.k - len(support)])


def _leading(pencil: Pencil, vectors: FloatArray) -> IntArray:
    """Return supports of k features, of the largest entries of each vector."""
    places: IntArray = np.argsort(-np.abs(vectors), axis=1, kind="stable")[:, : pencil.k]
    return np.sort(places)


def attacked(pencil: Pencil, w: FloatArray) -> FloatArray:
    r"""Return the covariance under the worst attack on w: of columns :math:`a_j - \rho_j\,\mathrm{sgn}(w_j)\,u`."""
    S = np.flatnonzero(w)
    pulled = pencil.A[:, S] @ w[S]
    s = pulled / np.sqrt(max(float(pulled[S] @ w[S]), 1e-300))
    # Features that w does not use are moved towards what would make w stationary.
    length = max(np.sqrt(max(pencil.worth(w), 0.0)), 0.0) * pencil.length(w)
    aim = s - (pencil.B[:, S] @ w[S]) * length / pencil.length(w) ** 2
    c = np.clip(aim, -pencil.rho, pencil.rho)
    c[S] = np.where(np.isfinite(pencil.rho[S]), pencil.rho[S] * np.sign(w[S]), s[S])
    moved: FloatArray = pencil.A - np.outer(s, s) + np.outer(s - c, s - c)
    return moved


def shifted_problem(form: FloatArray, B: FloatArray, T: float, k: int) -> tuple[Problem, float]:
    """Return the plain problem of form - TB + tau I, and a tau for which that is positive semidefinite, to rounding."""
    C = form - T * B
    low = float(np.linalg.eigvalsh(C)[0])
    tau = -low * (1.0 + 1e-10) if low < 0 else 1e-3 * float(np.abs(C).max())
    S = C.copy()
    S[np.diag_indices_from(S)] += tau
    return Problem.from_covariance(S, n_samples=1, k=k, adversary=NoAdversary()), tau


def _dinkelbach(pencil: Pencil, T: float, rng: np.random.Generator, check: Callable[[], None]) -> FloatArray:
    """Return good directions for the form less T times the metric, one per row."""
    problem, _ = shifted_problem(pencil.A, pencil.B, T, pencil.k)
    best: FloatArray = np.zeros(len(pencil.B))
    for found in ascent(problem, rng, check=check):
        best = found
    return best[None, :]
