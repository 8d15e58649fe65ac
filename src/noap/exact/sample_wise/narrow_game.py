"""The game on very many features: played on those that an opponent uses, while the others follow.

A row's N counts its p largest free entries only, so an entry no larger than the p-th largest is free of charge.
Features that no opponent uses are therefore moved towards 0 by as much as every row allows, in one pass, and the moves
of `kernels.game.contest` are made on the others: a few dozen, however many there are. This is no bound; the attack that
comes out is feasible, row by row, and is judged elsewhere. This is Section 3, The game, of docs/exact-sample-wise.md.
"""

import math
from collections.abc import Callable

import numpy as np

from noap.exact.sample_wise.attack import Attack, Mixture
from noap.exact.sample_wise.kernels.ball import project_rows
from noap.exact.sample_wise.kernels.game import recruit
from noap.exact.sample_wise.long_game import long_contest
from noap.exact.sample_wise.portions import gram, portions
from noap.linalg.types import BoolArray, FloatArray
from noap.runtime.controls import Stopped, never

__all__ = ["is_wide", "narrow_contest", "settle"]

# Free features from which on the game is played on some of them only.
_WIDE = 150
# Rounds on the features in play between two looks at all of them, and looks for which a feature stays in play.
_ROUNDS, _STAYS = 10, 5
# Looks after which attacks are averaged, and the least share of a new one in the average.
_FROM, _SHARE = 2, 0.1
# Features in play at least, per place of a direction.
_EACH = 3
# Halvings of the interval in which a row's room is looked for.
_HALVINGS = 30


def is_wide(attack: Attack) -> bool:
    """Whether the features are so many that most of them should follow."""
    return attack.p > 0 and len(attack.cols) - attack.n_inc >= max(_WIDE, 2 * _EACH * attack.p)


def narrow_contest(
    attack: Attack, target: float, turns: int, patience: int, check: Callable[[], None] = never
) -> float:
    """Improve the attack; returns the energy of the strongest opponent known.

    The players circle, so the average of the attacks is looked at as well: the ball is convex. When `check` raises
    Stopped, the best attack so far stands, and the energy is infinite if nothing was measured by then.
    """
    best, mark, mark_at = math.inf, math.inf, 0
    best_E, mean_E = attack.E, None
    used_at = np.full(len(attack.cols), -_STAYS - 1)
    try:
        for turn in range(turns):
            check()
            M = attack.gram(check)
            energy = _meet(attack, M)
            if energy < best:
                best, best_E = energy, attack.E.copy()
            if turn >= _FROM:
                mean_E = attack.E.copy() if mean_E is None else _averaged(attack, mean_E, turn, check)
                energy = _meet(attack, gram(attack.Y, mean_E, check))
                if energy < best:
                    best, best_E = energy, mean_E.copy()
            if best <= target:
                break
            if best - target < 0.9 * (mark - target):
                mark, mark_at = best, turn
            elif turn - mark_at >= patience:
                break
            x = attack.mixture
            for a in range(x.count):
                used_at[x.places[a, : x.sizes[a]]] = turn
            _play(attack, _in_play(attack, M, used_at >= turn - _STAYS), target, check)
    except Stopped:
        pass
    attack.E = best_E
    return best


def _meet(attack: Attack, M: FloatArray) -> float:
    """Let directions above the average join the mixture; returns the largest energy met."""
    x = attack.mixture
    mean = float(x.weights[: x.count] @ x.energies[: x.count])
    x.count, most = recruit(
        M, attack.n_inc, attack.p, x.places, x.values, x.sizes, x.weights, x.energies, x.count, mean
    )
    return float(most)


def _averaged(attack: Attack, mean_E: FloatArray, turn: int, check: Callable[[], None]) -> FloatArray:
    """Move the average towards the attack, in place."""
    share = max(1.0 / (turn - _FROM + 1), _SHARE)
    for rows in portions(mean_E.shape, check):
        mean_E[rows] += share * (attack.E[rows] - mean_E[rows])
        project_rows(mean_E[rows], attack.n_inc, attack.p, attack.rho[rows])
    return mean_E


def _in_play(attack: Attack, M: FloatArray, used: BoolArray) -> BoolArray:
    """Return which columns are in play: the included, the used, and the largest if those are few."""
    chosen = used.copy()
    chosen[: attack.n_inc] = True
    missing = attack.n_inc + _EACH * attack.p - int(chosen.sum())
    if missing > 0:
        others = np.flatnonzero(~chosen)
        chosen[others[np.argsort(-M.diagonal()[others], kind="stable")[:missing]]] = True
    return chosen


def _play(attack: Attack, chosen: BoolArray, target: float, check: Callable[[], None]) -> None:
    """Play on the chosen columns, then let the others follow."""
    columns, x = np.flatnonzero(chosen), attack.mixture
    position = np.zeros(len(chosen), dtype=np.int64)
    position[columns] = np.arange(len(columns))
    part = Attack(
        np.ascontiguousarray(attack.Y[:, columns]),
        attack.rows,
        attack.cols[columns],
        attack.n_inc,
        attack.p,
        attack.rho,
        np.ascontiguousarray(attack.E[:, columns]),
        Mixture(position[x.places], x.values, x.sizes, x.weights, x.energies, x.count),
        attack.clock,
    )
    goal = 0.999 * target
    if part.is_long:
        long_contest(part, goal, _ROUNDS, _ROUNDS, check)
    else:
        part.improve(goal, _ROUNDS, _ROUNDS)
    attack.clock, x.count = part.clock, part.mixture.count
    x.places[:] = columns[part.mixture.places]
    for rows in portions(attack.E.shape, check):
        attack.E[rows, columns] = part.E[rows]
        settle(attack.Y[rows], attack.E[rows], chosen, attack.n_inc, attack.p, attack.rho[rows])


def settle(Y: FloatArray, E: FloatArray, chosen: BoolArray, n_inc: int, p: int, rho: FloatArray) -> None:
    """Move the columns that are not chosen towards -Y as far as the ball allows with the chosen ones as they are.

    Row i gets -clip(y_ij, +-t_i) there, with t_i the largest for which p entries of that size would fit.
    """
    top = np.abs(E[:, n_inc:][:, chosen[n_inc:]])
    top = np.partition(top, top.shape[1] - p, axis=1)[:, -p:]
    inside = np.einsum("ij,ij->i", E[:, :n_inc], E[:, :n_inc])
    low, high = top.min(axis=1), rho
    for _ in range(_HALVINGS):
        t = 0.5 * (low + high)
        fits = inside + (np.maximum(top, t[:, None]) ** 2).sum(axis=1) <= rho * rho
        low, high = np.where(fits, t, low), np.where(fits, high, t)
    E[:, ~chosen] = np.clip(-Y[:, ~chosen], -low[:, None], low[:, None])
    project_rows(E, n_inc, p, rho)
