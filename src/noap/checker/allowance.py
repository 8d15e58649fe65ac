"""What a check may take: seconds and memory, and a refusal in one sentence when that is not enough."""

import contextlib
import math
import time
from collections.abc import Iterator

import numpy as np

__all__ = ["GONE", "MOMENT", "SINCE", "STRIDE", "Allowance", "OutOfAllowance", "now"]

# Places in the clock that the kernels share: the moment after which time is up; elementary operations since it was last
# looked at, and how many of them there may be before the next look; whether it was found to be late.
MOMENT, SINCE, STRIDE, GONE = range(4)
# Elementary operations between two looks at the clock: some hundredths of a second.
_STRIDE = 2e7


class OutOfAllowance(Exception):
    """The check needs more time or memory than it was given."""


def now() -> float:
    """Return the seconds on a clock that never goes back."""
    return time.perf_counter()


class Allowance:
    """So many seconds from now and so many megabytes; None for as many as it takes.

    Attributes
    ----------
    clock : array of shape (4,)
        What the kernels need to look at the time.
    compiling : float
        Seconds that went into compiling the checker, which are no part of the check.

    Examples
    --------
    >>> Allowance().check()
    >>> Allowance(1e-9).check()
    Traceback (most recent call last):
    noap.checker.allowance.OutOfAllowance: it could not be proved within 1e-09 seconds
    >>> Allowance(megabytes=1).need(130_000)
    Traceback (most recent call last):
    noap.checker.allowance.OutOfAllowance: it cannot be checked within 1 megabytes; allow more with memory_limit
    """

    def __init__(self, seconds: float | None = None, megabytes: float | None = None) -> None:
        self.seconds, self.megabytes = seconds, megabytes
        # Without a limit nobody looks.
        moment, stride = (math.inf, math.inf) if seconds is None else (now() + seconds, _STRIDE)
        self.clock = np.array([moment, 0.0, stride, 0.0])
        self.compiling = 0.0
        self._kept = 0.0

    def compiled(self, seconds: float) -> None:
        """Note that so many seconds went into compiling: the check may end so much later."""
        self.compiling += seconds
        self.clock[MOMENT] += seconds

    def check(self) -> None:
        """Raise OutOfAllowance if the time is up."""
        if self.seconds is not None and (self.clock[GONE] or now() > self.clock[MOMENT]):
            raise OutOfAllowance(f"it could not be proved within {self.seconds:g} seconds")

    def spent(self, operations: float) -> None:
        """Note so many elementary operations, and look at the clock when there were enough of them."""
        if self.seconds is None:
            return
        self.clock[SINCE] += operations
        if self.clock[SINCE] >= self.clock[STRIDE]:
            self.clock[SINCE] = 0.0
            self.check()

    def check_kernel(self) -> None:
        """Raise OutOfAllowance if a kernel that has just returned gave up."""
        if self.seconds is not None and self.clock[GONE]:
            self.check()

    @property
    def room(self) -> float:
        """How many numbers of eight bytes may still be held."""
        return math.inf if self.megabytes is None else 1.25e5 * self.megabytes - self._kept

    def need(self, numbers: float) -> None:
        """Raise OutOfAllowance if so many numbers of eight bytes are too many beside those that are kept."""
        if self.megabytes is not None and numbers > self.room:
            raise OutOfAllowance(
                f"it cannot be checked within {self.megabytes:g} megabytes; allow more with memory_limit"
            )

    @contextlib.contextmanager
    def passing(self) -> Iterator[None]:
        """Let go at the end of what was kept within."""
        kept = self._kept
        yield
        self._kept = kept

    def keep(self, numbers: float) -> None:
        """Note that so many numbers stay until the end."""
        self.need(numbers)
        self._kept += numbers
