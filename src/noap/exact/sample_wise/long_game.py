"""The game of `kernels.game.contest` on very many samples: the same moves, portion by portion."""

import math
from collections.abc import Callable

import numpy as np

from noap.exact.sample_wise.attack import Attack
from noap.exact.sample_wise.kernels.game import recruit
from noap.exact.sample_wise.kernels.portion import advance_portion, choose_step, face_portion
from noap.exact.sample_wise.portions import gram, portions
from noap.runtime.controls import Stopped, never

__all__ = ["long_contest"]


def long_contest(attack: Attack, target: float, rounds: int, patience: int, check: Callable[[], None] = never) -> float:
    """Improve the attack as `contest` does; returns the energy of the strongest opponent known.

    When `check` raises Stopped, the best attack so far stands: every row is feasible at any time. The energy is
    infinite if nothing was measured by then.
    """
    x, best, mark, mark_at = attack.mixture, math.inf, math.inf, 0
    best_E = np.empty_like(attack.E)
    try:
        for turn in range(rounds):
            M = gram(attack.Y, attack.E, check)
            mean = float(x.weights[: x.count] @ x.energies[: x.count])
            x.count, most = recruit(
                M, attack.n_inc, attack.p, x.places, x.values, x.sizes, x.weights, x.energies, x.count, mean
            )
            if most < best:
                best = most
                best_E[:] = attack.E
            if best <= target:
                break
            if best - target < 0.9 * (mark - target):
                mark, mark_at = best, turn
            elif turn - mark_at >= patience:
                break
            _play(attack, check)
            attack.clock += 1
    except Stopped:
        pass
    if best < math.inf:
        attack.E = best_E
    return float(best)


def _play(attack: Attack, check: Callable[[], None]) -> None:
    """Take a step of both players; scores are computed twice rather than kept."""
    x, Y, E = attack.mixture, attack.Y, attack.E
    m = x.count
    x.energies[:m] = 0.0
    R = np.empty((0, m))
    for rows in portions(Y.shape, check):
        part = Y[rows]
        R = R if len(R) >= len(part) else np.empty((len(part), m))
        face_portion(part, E[rows], x.places, x.values, x.sizes, m, R, x.energies)
    length = choose_step(x.places, x.values, x.sizes, x.weights, x.energies, m, Y.shape[1], attack.clock)
    if length == 0.0:
        return
    n_inc, p, rho = attack.n_inc, attack.p, attack.rho
    for rows in portions(Y.shape, check):
        advance_portion(Y[rows], E[rows], n_inc, p, rho[rows], x.places, x.values, x.sizes, x.weights, m, R, length)
