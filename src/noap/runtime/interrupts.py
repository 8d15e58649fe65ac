"""Propagation of Ctrl-C: a search that answers it with the best so far also ends the work that it is a part of."""

import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import ParamSpec, TypeVar

__all__ = [
    "Interrupts",
    "holding_interrupts",
    "interrupts_wait",
    "noticing_interrupts",
    "raising_interrupts",
]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(eq=False)
class Interrupts:
    """Whether Ctrl-C was pressed since this object was made."""

    seen: bool = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed: one part has answered it, and the others must end."""
        if self.seen:
            raise KeyboardInterrupt


# The objects in the main thread that currently notice Ctrl-C, and those among them that hold it.
_noticing: list[Interrupts] = []
_holding: list[Interrupts] = []


@contextlib.contextmanager
def noticing_interrupts() -> Iterator[Interrupts]:
    """Note every Ctrl-C, and leave the answer to it as it is.

    `noap.solve` answers Ctrl-C with the best so far; if that happens to be proved, the result does not show it. Signals
    belong to the main thread: any other notes nothing.

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
    _noticing.append(interrupts)
    try:
        yield interrupts
    finally:
        _noticing.remove(interrupts)
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def holding_interrupts() -> Iterator[Interrupts]:
    """Note Ctrl-C without raising anything: a search asks for it where it can stop, and keeps its answer.

    Outer contexts that hold or notice interrupts note it as well; an inner one that is entered later begins with it.

    Examples
    --------
    >>> with holding_interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     made = 1
    >>> interrupts.seen, made
    (True, 1)
    """
    interrupts = Interrupts(any(one.seen for one in _holding))
    with _handled(_tell):
        _noticing.append(interrupts)
        _holding.append(interrupts)
        try:
            yield interrupts
        finally:
            _noticing.remove(interrupts)
            _holding.remove(interrupts)


@contextlib.contextmanager
def raising_interrupts() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt even while it is held: for work that answers it by itself.

    Examples
    --------
    >>> with holding_interrupts() as interrupts:
    ...     try:
    ...         with raising_interrupts():
    ...             signal.raise_signal(signal.SIGINT)
    ...     except KeyboardInterrupt:
    ...         pass
    >>> interrupts.seen
    True
    """

    def tell_and_raise() -> None:
        _tell()
        raise KeyboardInterrupt

    with _handled(tell_and_raise) if _holding else contextlib.nullcontext():
        for one in _holding:
            one.check()
        yield


def interrupts_wait(function: Callable[P, R]) -> Callable[P, R]:
    """Hold interrupts throughout a call, which asks `holding_interrupts` or a search whether to stop."""

    @functools.wraps(function)
    def held(*arguments: P.args, **options: P.kwargs) -> R:
        with holding_interrupts():
            return function(*arguments, **options)

    return held


def _tell() -> None:
    for one in _noticing:
        one.seen = True


@contextlib.contextmanager
def _handled(answer: Callable[[], None]) -> Iterator[None]:
    """Answer Ctrl-C with a function, in the main thread and if Python handles the signal."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: answer())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
