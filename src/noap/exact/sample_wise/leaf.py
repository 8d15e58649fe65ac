r"""The attack on one support.

Here the game is :math:`\min_E \lambda_{\max}((Y+E)^\top(Y+E))` over rows of length at most rho_i: a few dimensions, so
the maximum is smoothed,

.. math:: \mu \log \operatorname{tr} \exp((Y+E)^\top(Y+E)/\mu) \quad\text{(less a constant)},

and minimised by accelerated projected gradient steps for falling mu. Whatever comes out is feasible, and is judged
elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noap.exact.sample_wise.kernels.ball import project_rows
from noap.exact.sample_wise.kernels.game import respond
from noap.exact.sample_wise.portions import gram, portions
from noap.linalg.types import FloatArray
from noap.linalg.vectors import norms, soft, unit
from noap.runtime.controls import Stopped, never

__all__ = ["best_direction", "hold_down"]

# Widths of the smoothing relative to the target, and steps at each.
_WIDTHS, _STEPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5), 150


def best_direction(Y: FloatArray, rho: FloatArray, starts: FloatArray, check: Callable[[], None] = never) -> FloatArray:
    """Alternate from the rows of `starts`; returns the direction of largest value."""
    V = unit(starts)
    try:
        for _ in range(60):
            moved = unit(_pulled(Y, rho, V, check))
            V = np.where((norms(moved) > 0)[:, None], moved, V)
    except Stopped:
        pass  # any direction will do
    values = np.zeros(len(V))
    for rows in portions(Y.shape):
        values += (soft(V @ Y[rows].T, rho[rows]) ** 2).sum(axis=1)
    best: FloatArray = V[int(np.argmax(values))]
    return best


def _pulled(Y: FloatArray, rho: FloatArray, V: FloatArray, check: Callable[[], None]) -> FloatArray:
    """Return the sums of soft(y_i'v) y_i, one row per row of V."""
    total = np.zeros(V.shape)
    for rows in portions(Y.shape, check):
        total += soft(V @ Y[rows].T, rho[rows]) @ Y[rows]
    return total


def hold_down(
    Y: FloatArray, rho: FloatArray, v: FloatArray, target: float, check: Callable[[], None] = never
) -> FloatArray:
    """Return an attack with small lambda_max((Y+E)'(Y+E)), row i of length at most rho_i.

    Parameters
    ----------
    Y : array of shape (n, k)
    rho : array of shape (n,)
    v : array of shape (k,)
        A good direction: the search starts from the response to it, which is often optimal.
    target : float
        Good enough.
    check : callable, optional
        Called between portions; when it raises Stopped, the best attack so far is the answer.
    """
    k = Y.shape[1]
    v = np.ascontiguousarray(v)
    E: FloatArray = np.zeros(Y.shape)
    for rows in portions(Y.shape):
        respond(Y[rows], v, k, 0, rho[rows], E[rows], 0)
    best, lowest = E, _largest(Y, E)
    try:
        for width in _WIDTHS:
            if lowest <= target:
                break
            E = _descend(Y, rho, E, width * target, target, check)
            reached = _largest(Y, E)
            if reached < lowest:
                best, lowest = E, reached
    except Stopped:
        pass
    best = np.ascontiguousarray(best)
    for rows in portions(Y.shape):
        project_rows(best[rows], k, 0, rho[rows])
    return best


def _largest(Y: FloatArray, E: FloatArray) -> float:
    return float(np.linalg.eigvalsh(gram(Y, E))[-1])


@dataclass(frozen=True)
class _Smooth:
    """The smoothed maximum at an attack, lambda_max itself, and the matrix W with gradient (Y+E)W in E."""

    value: float
    largest: float
    W: FloatArray

    @classmethod
    def at(cls, Y: FloatArray, E: FloatArray, mu: float, check: Callable[[], None]) -> "_Smooth":
        eigenvalues, Q = np.linalg.eigh(gram(Y, E, check))
        weights = np.exp((eigenvalues - eigenvalues[-1]) / mu)
        total = float(weights.sum())
        return cls(
            float(eigenvalues[-1]) + mu * float(np.log(total)),
            float(eigenvalues[-1]),
            (Q * (weights / total)) @ Q.T,
        )


def _descend(
    Y: FloatArray, rho: FloatArray, E: FloatArray, mu: float, target: float, check: Callable[[], None]
) -> FloatArray:
    """Accelerated projected gradient with backtracking, restarted when it goes up."""
    here, ahead, momentum, curvature, last = E, E, 1.0, 2.0, np.inf
    for _ in range(_STEPS):
        check()
        before = _Smooth.at(Y, ahead, mu, check)
        while True:
            new, slope, length = _stepped(Y, rho, ahead, before.W, curvature, check)
            after = _Smooth.at(Y, new, mu, check)
            model = before.value + slope + 0.5 * curvature * length
            if after.value <= model + 1e-15 * abs(before.value) or curvature > 1e12:
                break
            curvature *= 2.0
        if after.largest <= target * (1.0 - 1e-9):
            return new
        if after.value > last:
            ahead, momentum, last, curvature = here, 1.0, np.inf, 0.8 * curvature
            continue
        grown = 0.5 * (1.0 + (1.0 + 4.0 * momentum**2) ** 0.5)
        ahead = _beyond(new, here, (momentum - 1.0) / grown)
        here, momentum, last, curvature = new, grown, after.value, 0.9 * curvature
    return here


def _stepped(
    Y: FloatArray, rho: FloatArray, E: FloatArray, W: FloatArray, curvature: float, check: Callable[[], None]
) -> tuple[FloatArray, float, float]:
    """Return the projected gradient step from E, its inner product with the gradient, and its squared length."""
    new, slope, length = np.empty_like(E), 0.0, 0.0
    for rows in portions(Y.shape, check):
        part = E[rows]
        gradient = 2.0 * ((Y[rows] + part) @ W)
        moved = part - gradient / curvature
        moved = moved * np.minimum(1.0, rho[rows] / np.maximum(norms(moved), 1e-300))[:, None]
        step = moved - part
        new[rows] = moved
        slope += float((gradient * step).sum())
        length += float((step * step).sum())
    return new, slope, length


def _beyond(new: FloatArray, old: FloatArray, share: float) -> FloatArray:
    """Return new + share (new - old)."""
    ahead = np.empty_like(new)
    for rows in portions(new.shape):
        ahead[rows] = new[rows] + share * (new[rows] - old[rows])
    return ahead
