"""A line that counts the parts of a long computation: on a terminal written over, in a log once a minute."""

import sys
import time
from types import TracebackType

__all__ = ["CountLine"]

# How often a log hears of it, in seconds.
_EVERY = 60.0


class CountLine:
    """A context manager whose `step` says that one part more is done; silent unless wanted.

    Parameters
    ----------
    what : str
        What is counted: "resample 12 of 100".
    total : int
    wanted : bool

    Examples
    --------
    >>> with CountLine("resample", 2, wanted=False) as line:
    ...     line.step()
    """

    def __init__(self, what: str, total: int, wanted: bool) -> None:
        self._what, self._total, self._wanted = what, total, wanted
        self._done = 0
        self._said = time.monotonic()

    def __enter__(self) -> "CountLine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._wanted and self._done and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def step(self) -> None:
        """Count one part, and say so where someone reads along."""
        self._done += 1
        if not self._wanted:
            return
        text = f"noap: {self._what} {self._done} of {self._total}"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{text}\x1b[K")
            sys.stderr.flush()
        elif time.monotonic() - self._said >= _EVERY:
            self._said = time.monotonic()
            sys.stderr.write(f"{text}\n")
