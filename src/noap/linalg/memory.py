"""How much memory the machine has, and what a matrix of all pairs of features would take of it."""

import contextlib
import functools
import os
from pathlib import Path

__all__ = ["MANY_FEATURES", "covariance_is_too_large", "machine_bytes"]

MANY_FEATURES = 2000
"""With samples of more features than this X'X is not formed where less will do: it takes 32 MB there."""

# A method that works on a d x d matrix holds some of them, and others need memory too.
_SHARE = 0.25
# Where a container says how much it may take.
_CONTAINER = Path("/sys/fs/cgroup/memory.max")


@functools.cache
def machine_bytes() -> float:
    """Return the memory that this process may count on; infinite where the system does not say."""
    try:
        most = float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
    with contextlib.suppress(OSError, ValueError):  # there is no container, or it says "max"
        most = min(most, float(_CONTAINER.read_text(encoding="ascii")))
    return most if most > 0 else float("inf")


def covariance_is_too_large(d: int) -> bool:
    """Whether a d x d matrix of doubles takes more than a quarter of the memory.

    Examples
    --------
    >>> covariance_is_too_large(10)
    False
    """
    return 8.0 * d * d > _SHARE * machine_bytes()
