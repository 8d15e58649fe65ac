"""Which game is played against an attack: all of it at once, in portions of samples, or on some of the features."""

import math

import numpy as np

from noap.exact.sample_wise.attack import Attack
from noap.exact.sample_wise.long_game import long_contest
from noap.exact.sample_wise.narrow_game import is_wide, narrow_contest
from noap.runtime.controls import Controls, Stopped

__all__ = ["GAME_SHARE", "PLAYED", "play"]

# Rounds without progress after which the game stops.
_PATIENCE = 15
# The same for a game on some of the features: so many rounds are worth a look at all, and looks without progress.
_LOOKS, _LOOKED = 6, 8
# Matrix entries touched in one go, so that limits are heard every few tenths of a second.
_PORTION = 3e8
# Where samples are very many, and at the root, the game stops at this share of the time: the rest is for judging what
# it came to.
GAME_SHARE = 0.85
# Attacks that a game on some of the features keeps at a time.
PLAYED = 4


def play(attack: Attack, rounds: int, goal: float, controls: Controls, room: bool) -> float:
    """Improve the attack; returns the energy of the strongest opponent known.

    Parameters
    ----------
    attack : Attack
    rounds : int
        Rounds at most.
    goal : float
        Weak enough.
    controls : Controls
        The time limit.
    room : bool
        Whether PLAYED more attacks fit into memory.
    """
    narrow = room and is_wide(attack)
    if narrow or attack.is_long:
        # At the root nothing is proved yet.
        late = controls.within(GAME_SHARE) if attack.is_long or attack.clock == 0 else controls.check
        if narrow:
            strongest = narrow_contest(attack, goal, rounds // _LOOKS, _LOOKED, late)
        else:
            strongest = long_contest(attack, goal, rounds, _PATIENCE, late)
        if strongest == math.inf:
            raise Stopped
        return strongest
    portion = int(np.clip(_PORTION / (attack.E.size * len(attack.cols) + 1), 3, rounds))
    strongest = math.inf
    while rounds > 0:
        before = strongest
        strongest = attack.improve(goal, min(portion, rounds), _PATIENCE)
        rounds -= portion
        stalled = portion >= _PATIENCE and before - strongest < 0.02 * (before - goal)
        if strongest <= goal or stalled or controls.expired():
            break
    return strongest
