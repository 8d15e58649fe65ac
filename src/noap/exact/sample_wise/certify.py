"""From an attack to a bound: the smallest threshold, sought by bisection, that no support exceeds."""

import math
from collections.abc import Callable

from noap.exact.sample_wise.attack import Attack
from noap.exact.sample_wise.narrow_game import is_wide
from noap.linalg.types import FloatArray

__all__ = ["certify"]

# Where listings are dear, a threshold so little above an opponent's energy, relatively, is near enough.
_ENOUGH = 2e-3


def certify(attack: Attack, M: FloatArray, least: float, ceiling: float, expired: Callable[[], bool]) -> float:
    """Return a bound on the attack's node.

    Parameters
    ----------
    attack : Attack
    M : array of shape (m, m)
        Its Gram matrix.
    least : float
        No smaller threshold is of use, or holds: the energy of an opponent, or the target.
    ceiling : float
        A bound that holds already.
    expired : callable
        Asked between listings; the best so far is the answer then.
    """
    best = least
    enough = _ENOUGH if is_wide(attack) else 0.0
    low, high = 1e-6, ceiling / best - 1.0
    excess = low
    for _ in range(7):
        if high <= max(1.5 * low, enough) or expired():
            break
        t = best * (1.0 + excess)
        listing = attack.listing(M, t, 16)
        if listing.complete and not listing.sets:
            high = excess
            if excess == low:
                break
        else:
            low = max(excess, 1e-4)
            if listing.sets:
                # Found stronger ones: they join the game, and what was proved stays proved.
                stronger = attack.recruit(M, listing.sets)
                if stronger > best:
                    high = (1.0 + high) * best / stronger - 1.0
                    best, low = stronger, 1e-6
        excess = math.sqrt(low * high) if high > low else low
    bound = best * (1.0 + max(high, 0.0)) * (1.0 + 1e-15)
    return bound if bound < ceiling else ceiling  # so written that NaN gives the ceiling
