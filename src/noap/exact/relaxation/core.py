r"""The best matrix near A for many features: multipliers on a few of them, thresholds on all others.

The relaxed :math:`W` of docs/relaxation.md has few features. So ADMM works on a core of some hundreds that it may need,
and outside it entries are cut down. What the outer features take away from the core,
:math:`B_{FR}(cI - B_{RR})^{-1} B_{RF}`, is added to its matrix beforehand, about. Where the largest eigenvalue of the
whole exceeds that of the core, the features of its vector join the core.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from noap.exact.relaxation.aim import Aim
from noap.exact.relaxation.multiplier import Multiplier, Nearby
from noap.exact.relaxation.node import Node
from noap.exact.relaxation.outer import Candidate, Outer, Pairs, assembled, pairs_beyond
from noap.exact.relaxation.spectrum import largest_eigenvalue
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Core"]

# Features of the core at first, that join it at once, and at most.
_FIRST, _MORE, MOST_CORE = 200, 80, 700
# Steps of ADMM between two looks; looks at first and after the core has grown.
_STEPS, _LOOKS_AT_FIRST, _LOOKS = 5, 20, 8
# How often the core may grow for one inequality.
_ROUNDS = 6
# The diagonal of the outer features as parts of c: the higher, the lower are their entries.
_PARTS = (0.64, 0.7, 0.76, 0.82, 0.88, 0.93)
# Eigenvectors whose features may join, and to what accuracy.
_VECTORS, _ACCURACY = 8, 1e-4
# What a pass over A costs, in units of its entries; an eigendecomposition of the core: some, and some for each feature.
_PASS, _PRICE, _PRICE_EACH = 6.0, 0.6, 0.01
# The whole may exceed the core by this part of what is missing to the aim.
_NEAR = 0.1
# Beyond this part of the aim more than a correction is missing: then features join, and nothing is taken away.
_FAR = 0.05
# What part of the slope is paid for places at first.
_SHARE = 1.5


class Core:
    """The state of the search for one matrix; it goes on from inequality to inequality.

    Parameters
    ----------
    A : array of shape (m, m)
    weights : array of shape (m,)
        Of the features in the l1 norm.
    k : int
    start : csr array of shape (m, m)
        A soft threshold of A, whose leading vectors say where to begin.

    Attributes
    ----------
    features : array of int
        The core.
    work : float
        What it has cost, in entries of matrices.
    """

    def __init__(self, A: FloatArray, weights: FloatArray, k: int, start: csr_array) -> None:
        self.A, self.weights, self.k = A, weights, k
        self.work = 0.0
        values, vectors = _leading(start)
        carried = (vectors**2) @ np.maximum(values - 0.9 * values.min(), 0.0) + 1e-9 * np.diag(A) / np.diag(A).max()
        self.features: IntArray = np.argsort(-carried, kind="stable")[:_FIRST]
        self.state: Multiplier | None = None
        self._outer: Outer | None = None
        self._loads: FloatArray = np.empty(0)
        self._part = 2
        self._over = math.inf  # by how much the whole exceeded the core

    def improve(self, node: Node, aim: Aim) -> Iterator[Candidate | None]:
        """Look for the matrix that says most of the t of the aim; yields it at last, and None in between."""
        best: Candidate | None = None
        for number in range(_ROUNDS):
            coupling = self._coupling(aim)
            found: tuple[float, float, Nearby] | None = None
            for step in self._climbed(coupling, aim, _LOOKS_AT_FIRST if self.state is None else _LOOKS):
                if found is None or step[0] + step[1] * aim.t < found[0] + found[1] * aim.t:
                    found = step
                yield None
            assert found is not None
            c, slope, nearby = found
            nearby = Nearby(nearby.B - coupling, nearby.loads, nearby.lifts)
            candidate, whole = self._completed(c, slope, nearby)
            if best is None or candidate.guess + slope * aim.t < best.guess + best.slope * aim.t:
                best = candidate
            missing = best.guess + best.slope * aim.t - aim.height
            if missing <= 0 or number == _ROUNDS - 1:
                break
            if candidate.guess - c > _NEAR * missing and len(self.features) < MOST_CORE:
                self._grow(c, whole)
            yield None
        node.slope = aim.slope
        yield best

    def _climbed(self, coupling: FloatArray, aim: Aim, looks: int) -> Iterator[tuple[float, float, Nearby]]:
        """Take steps of ADMM on the core; yields the largest eigenvalue, the slope and the matrix of each look."""
        F = self.features
        A = self.A[np.ix_(F, F)] + coupling
        m = len(F)
        state = self._state(A)
        free = np.ones(m, dtype=np.bool_)
        for _ in range(looks):
            slope = aim.slope
            nearby = state.advance(slope, free, self.k, _STEPS)
            self.work += _STEPS * m * m * (_PRICE + _PRICE_EACH * m)
            c = max(largest_eigenvalue(nearby.B), 0.0)
            yield c, slope, nearby
            if c + slope * aim.t <= aim.height:
                return
            aim.adjust(*state.spread(free, self.k))

    def _state(self, A: FloatArray) -> Multiplier:
        """Return the iteration on the core as it is now, from where it was on a smaller one."""
        before, w = self.state, self.weights[self.features]
        made = Multiplier.of(A, w)
        self.state = made
        if before is None:
            made.share = _SHARE
            return made
        assert self._outer is not None
        old, outer = len(before.A), self._outer
        loads, lifts = outer.load * w, outer.lift * w * w
        loads[:old] = self._loads
        made.penalty, made.share = before.penalty, before.share
        made.ratios = np.append(before.ratios, 0.5 * loads[old:] / max(self._price(outer), 1e-300))
        box = np.maximum(outer.mu * np.outer(w, w) + 0.5 * (np.outer(loads, w) + np.outer(w, loads)), 0.0)
        made.U = np.clip(A, -box, box)
        np.fill_diagonal(made.U, loads * w + outer.mu * w * w - lifts)
        made.U /= made.penalty
        made.Z = np.zeros_like(A)
        made.U[:old, :old], made.Z[:old, :old] = before.U, before.Z
        made.W = made.Z.copy()
        return made

    @staticmethod
    def _price(outer: Outer) -> float:
        return outer.load**2 / (4.0 * outer.lift) if outer.lift > 0 else 0.0

    def _coupling(self, aim: Aim) -> FloatArray:
        """Return about what the outer features take away from the core; nothing as long as nothing is known of them."""
        F, outer = self.features, self._outer
        if outer is None or self._over > _FAR * aim.height:
            return np.zeros((len(F), len(F)))
        w = self.weights
        others = np.setdiff1d(np.arange(len(w)), F)
        own = outer.load * w[F]
        own[: len(self._loads)] = self._loads
        box = outer.mu * np.outer(w[F], w[others]) + 0.5 * np.outer(own, w[others])
        box += 0.5 * np.outer(w[F], outer.load * w[others])
        entries = self.A[np.ix_(F, others)]
        left = csr_array(np.sign(entries) * np.maximum(np.abs(entries) - np.maximum(box, 0.0), 0.0))
        height = max(aim.height - aim.slope * aim.t, 1e-3 * aim.height)
        room = np.maximum(height - self._diagonal(outer)[others], 0.1 * height)
        self.work += _PASS * entries.size
        taken: FloatArray = (left.multiply(1.0 / room[None, :]).tocsr() @ left.T).toarray()
        return taken

    def _diagonal(self, outer: Outer) -> FloatArray:
        w = self.weights
        diagonal: FloatArray = np.diag(self.A) + w * w * (outer.lift - outer.load - outer.mu)
        return diagonal

    def _completed(self, c: float, slope: float, nearby: Nearby) -> tuple[Candidate, tuple[FloatArray, FloatArray]]:
        """Return the matrix of all features and the leading vectors of it, with the best diagonal outside the core."""
        F, w = self.features, self.weights
        price = float(np.max(nearby.loads**2 / np.maximum(4.0 * nearby.lifts, 1e-300), initial=0.0))
        mu = slope - self.k * price
        outside = np.ones(len(w), dtype=np.bool_)
        outside[F] = False
        tried = range(max(self._part - 1, 0), min(self._part + 2, len(_PARTS))) if price > 0 else (0,)
        choices = [self._outer_at(_PARTS[part] * c, mu, price, outside) for part in tried]
        least = min(choices, key=lambda one: one.load)
        all_pairs = pairs_beyond(self.A, F, w, least.loads(F, nearby.loads, w), mu)
        self.work += _PASS * self.A.size
        chosen: tuple[float, Outer, Pairs, int] | None = None
        for part, outer in zip(tried, choices, strict=True):
            pairs = all_pairs.cut(w, outer.loads(F, nearby.loads, w), mu)
            diagonal = self._diagonal(outer)
            others = np.flatnonzero(outside)
            alone = assembled(len(w), F, np.zeros((len(F), len(F))), diagonal, pairs.between(outside))
            top = float(_leading(alone[others][:, others], 1)[0][-1]) if len(others) else 0.0
            # Of those that stay below the core, the one with the smallest entries.
            if chosen is None or max(top, 0.97 * c) <= chosen[0]:
                chosen = (max(top, 0.97 * c), outer, pairs, part)
        assert chosen is not None
        _, outer, pairs, self._part = chosen
        whole = _leading(assembled(len(w), F, nearby.B, self._diagonal(outer), pairs))
        self._outer, self._loads = outer, nearby.loads
        self._over = float(whole[0][-1]) - c
        return Candidate(F, nearby, outer, float(whole[0][-1]), slope), whole

    def _outer_at(self, height: float, mu: float, price: float, outside: "np.ndarray") -> Outer:
        """Return load and lift with which the diagonal outside the core reaches the height, or nearly so."""
        if price <= 0:
            return Outer(mu, 0.0, 0.0)
        squares = self.weights[outside] ** 2
        room = float(np.min((height - np.diag(self.A)[outside]) / squares, initial=height))
        load = 2.0 * price * (1.0 + math.sqrt(max(1.0 + (room + mu) / price, 0.0)))
        # Below 0 nothing would be cut between two of them.
        load = max(load, -mu)
        return Outer(mu, load, load * load / (4.0 * price))

    def _grow(self, c: float, whole: tuple[FloatArray, FloatArray]) -> None:
        """Let the outer features that carry most in the leading vectors join the core."""
        values, vectors = whole
        carried = (vectors**2) @ np.maximum(values - 0.98 * c, 1e-9 * c)
        carried[self.features] = -1.0
        more = np.argsort(-carried, kind="stable")[: min(_MORE, MOST_CORE - len(self.features))]
        self.features = np.concatenate([self.features, more[carried[more] > 0]])


def _leading(B: csr_array, number: int = _VECTORS) -> tuple[FloatArray, FloatArray]:
    """Return about the largest eigenvalues of a sparse matrix, rising, and their vectors."""
    m = B.shape[0]
    if m > 4 * number:
        try:
            values, vectors = eigsh(
                B, k=number, which="LA", v0=np.random.default_rng(0).random(m), tol=_ACCURACY, maxiter=20 * m
            )
            order = np.argsort(values)
            return values[order], vectors[:, order]
        except ArpackNoConvergence:
            pass
    values, vectors = np.linalg.eigh(B.toarray())
    return values[-number:], vectors[:, -number:]
