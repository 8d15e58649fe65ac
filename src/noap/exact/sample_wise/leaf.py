r"""The attack on one support.

Here the game is :math:`\min_E \lambda_{\max}((Y+E)^\top(Y+E))` over rows of length at most rho: a few dimensions, so
the maximum is smoothed,

.. math:: \mu \log \operatorname{tr} \exp((Y+E)^\top(Y+E)/\mu) \quad\text{(less a constant)},

and minimised by accelerated projected gradient steps for falling mu. Whatever comes out is feasible, and is judged
elsewhere.
"""

import numpy as np

from noap.exact.sample_wise._kernels_ball import project_rows
from noap.exact.sample_wise._kernels_game import respond
from noap.linalg.types import FloatArray
from noap.linalg.vectors import norms, soft, unit

__all__ = ["best_direction", "hold_down"]

# Widths of the smoothing relative to the target, and steps at each.
_WIDTHS, _STEPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5), 150


def best_direction(Y: FloatArray, rho: float, starts: FloatArray) -> FloatArray:
    """Alternate from the rows of `starts`; returns the direction of largest value."""
    V = unit(starts)
    for _ in range(60):
        moved = unit(soft(V @ Y.T, rho) @ Y)
        V = np.where((norms(moved) > 0)[:, None], moved, V)
    best: FloatArray = V[int(np.argmax((soft(V @ Y.T, rho) ** 2).sum(axis=1)))]
    return best


def hold_down(Y: FloatArray, rho: float, v: FloatArray, target: float) -> FloatArray:
    """Return an attack with small lambda_max((Y+E)'(Y+E)), rows of length at most rho.

    Parameters
    ----------
    Y : array of shape (n, k)
    rho : float
    v : array of shape (k,)
        A good direction: the search starts from the response to it, which is often optimal.
    target : float
        Good enough.
    """
    k = Y.shape[1]
    E: FloatArray = np.zeros(Y.shape)
    respond(Y, np.ascontiguousarray(v), k, 0, rho, E)
    best, lowest = E, _largest(Y, E)
    for width in _WIDTHS:
        if lowest <= target:
            break
        E = _descend(Y, rho, E, width * target, target)
        reached = _largest(Y, E)
        if reached < lowest:
            best, lowest = E, reached
    best = np.ascontiguousarray(best)
    project_rows(best, k, 0, rho)
    return best


def _largest(Y: FloatArray, E: FloatArray) -> float:
    B = Y + E
    return float(np.linalg.eigvalsh(B.T @ B)[-1])


def _smooth(Y: FloatArray, E: FloatArray, mu: float) -> tuple[float, float, FloatArray]:
    """Return the smoothed maximum, lambda_max itself, and the gradient in E."""
    B = Y + E
    eigenvalues, Q = np.linalg.eigh(B.T @ B)
    weights = np.exp((eigenvalues - eigenvalues[-1]) / mu)
    total = float(weights.sum())
    gradient: FloatArray = 2.0 * (B @ ((Q * (weights / total)) @ Q.T))
    return float(eigenvalues[-1]) + mu * float(np.log(total)), float(eigenvalues[-1]), gradient


def _descend(Y: FloatArray, rho: float, E: FloatArray, mu: float, target: float) -> FloatArray:
    """Accelerated projected gradient with backtracking, restarted when it goes up."""
    here, ahead, momentum, curvature, last = E, E, 1.0, 2.0, np.inf
    for _ in range(_STEPS):
        value, _, gradient = _smooth(Y, ahead, mu)
        while True:
            new = ahead - gradient / curvature
            new = new * np.minimum(1.0, rho / np.maximum(norms(new), 1e-300))[:, None]
            step = new - ahead
            reached, largest, _ = _smooth(Y, new, mu)
            model = value + float((gradient * step).sum()) + 0.5 * curvature * float((step * step).sum())
            if reached <= model + 1e-15 * abs(value) or curvature > 1e12:
                break
            curvature *= 2.0
        if largest <= target * (1.0 - 1e-9):
            return new
        if reached > last:
            ahead, momentum, last, curvature = here, 1.0, np.inf, 0.8 * curvature
            continue
        grown = 0.5 * (1.0 + (1.0 + 4.0 * momentum**2) ** 0.5)
        ahead = new + (momentum - 1.0) / grown * (new - here)
        here, momentum, last, curvature = new, grown, reached, 0.9 * curvature
    return here
