"""A moment after which a check is given up."""

import time

__all__ = ["Deadline", "OutOfTime"]


class OutOfTime(Exception):
    """The check took longer than it was given."""


class Deadline:
    """So many seconds from now, or never.

    Examples
    --------
    >>> Deadline(None).check()
    >>> Deadline(1e-9).check()
    Traceback (most recent call last):
    noap.certificate.deadline.OutOfTime: it could not be proved within 1e-09 seconds
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._started = time.perf_counter()

    def check(self) -> None:
        """Raise OutOfTime if the moment has passed."""
        if self.seconds is not None and time.perf_counter() - self._started > self.seconds:
            raise OutOfTime(f"it could not be proved within {self.seconds:g} seconds")
