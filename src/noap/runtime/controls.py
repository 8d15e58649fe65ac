"""The clock, the gap, the seed and the line of progress that every method shares."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noap.data.arguments import as_seconds
from noap.errors import InvalidProblem
from noap.runtime.limits import Limit

__all__ = ["Controls", "Stopped", "never"]


class Stopped(Exception):
    """A limit was reached in the middle of a step; earlier results still hold."""


def never() -> None:
    """Check nothing: for work without limits."""


@dataclass
class Controls:
    """The gap at which a result counts as optimal, the seconds of wall clock, random numbers, and progress.

    The line of progress begins with `label` if one search of several is running; `limit` is the limit that was reached.
    """

    gap: float
    time_limit: float | None
    rng: np.random.Generator
    progress: bool
    started: float = field(default_factory=time.perf_counter)
    limit: Limit | None = None
    label: str = ""

    @classmethod
    def checked(cls, gap: Any, time_limit: Any, random_state: Any, progress: Any) -> "Controls":
        """Validate what the user passed."""
        try:
            wanted = math.nan if isinstance(gap, bool | np.bool_) else float(gap)
        except (TypeError, ValueError):
            wanted = math.nan
        if not (wanted >= 0 and math.isfinite(wanted)):
            raise InvalidProblem(f"gap must be a finite number of at least 0, got {gap!r}.")
        seconds = as_seconds(time_limit)
        try:
            # None means 0, not entropy: the same call gives the same answer unless asked otherwise.
            rng = np.random.default_rng(0 if random_state is None else random_state)
        except (TypeError, ValueError):
            raise InvalidProblem(
                f"random_state must be an integer of at least 0, a numpy Generator or None, got {random_state!r}."
            ) from None
        return cls(wanted, seconds, rng, bool(progress))

    @property
    def seconds(self) -> float:
        """Seconds since the call began."""
        return time.perf_counter() - self.started

    def share(self, parts: int) -> float | None:
        """Return the seconds for one of several parts that share the remaining time evenly; None without a limit."""
        return None if self.time_limit is None else max(self.time_limit - self.seconds, 0.0) / parts

    def expired(self) -> bool:
        """Return whether a limit is reached, and remember it."""
        if self.limit is None and self.time_limit is not None and self.seconds > self.time_limit:
            self.limit = Limit.TIME
        return self.limit is not None

    def check(self) -> None:
        """Raise Stopped if a limit is reached."""
        if self.expired():
            raise Stopped

    def within(self, share: float) -> Callable[[], None]:
        """Return a check that raises Stopped once this share of the time is used, and remembers no limit."""

        def check() -> None:
            if self.time_limit is not None and self.seconds > share * self.time_limit:
                raise Stopped

        return check
