"""Ctrl-C, noticed also where the work that it stopped answered it: what runs several of them ends as a whole."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

__all__ = ["Interrupts", "noticing_interrupts"]


@dataclass
class Interrupts:
    """Whether Ctrl-C was pressed since this began to look."""

    seen: bool = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if it was: what did one thing of several has answered it, and the rest must hear."""
        if self.seen:
            raise KeyboardInterrupt


@contextlib.contextmanager
def noticing_interrupts() -> Iterator[Interrupts]:
    """Note every Ctrl-C, and leave what happens then as it is.

    `noap.solve` answers Ctrl-C with the best so far; if that happens to be proved, nothing in the result tells. Signals
    belong to the main thread: in any other nothing is noted.

    Examples
    --------
    >>> with noticing_interrupts() as interrupts:
    ...     try:
    ...         signal.raise_signal(signal.SIGINT)
    ...     except KeyboardInterrupt:
    ...         pass
    >>> interrupts.seen
    True
    """
    interrupts = Interrupts()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield interrupts
        return
    handler = before

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.seen = True
        handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
