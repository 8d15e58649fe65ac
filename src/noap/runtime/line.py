"""The line of progress of a long computation: on a terminal, under the cell of a notebook, or in a log."""

import sys
import time
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

__all__ = ["Line", "Part"]

# Seconds between updates: a person reads a few lines a second; a log needs one a minute.
_BLINK, _LOG_EVERY = 0.2, 60.0


class Line:
    """A line that is overwritten on a terminal and in a notebook; elsewhere the logger "noap" gets one every minute.

    Records are of level INFO, which logging hides by default. A computation of less than a minute logs nothing.
    """

    def __init__(self) -> None:
        self._in_notebook = _in_notebook()
        self._on_terminal = not self._in_notebook and sys.stderr.isatty()
        self._cell: Any = None
        self._said = time.monotonic()

    def due(self) -> bool:
        """Return whether an update is due."""
        seen = self._in_notebook or self._on_terminal
        return time.monotonic() - self._said >= (_BLINK if seen else _LOG_EVERY)

    def show(self, text: str) -> None:
        """Show the text after the name of the program; a log takes it if a minute has passed."""
        named = f"noap: {text}"
        if self._in_notebook:
            from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

            if self._cell is None:
                self._cell = display({"text/plain": named}, raw=True, display_id=True)
            else:
                self._cell.update({"text/plain": named}, raw=True)
        elif self._on_terminal:
            # Back to the first column, and erase the rest of a longer line; a wrapped line could not be erased.
            sys.stderr.write(f"\r{named[: _width() - 1]}\x1b[K")
            sys.stderr.flush()
        elif self.due():
            import logging  # `import noap` stays quick

            logging.getLogger("noap").info("%s", text)
        else:
            return
        self._said = time.monotonic()

    def close(self, last: str = "") -> None:
        """Erase the line; a notebook keeps the last text."""
        if self._cell is not None:
            self._cell.update({"text/plain": last}, raw=True)
        elif self._on_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Part:
    """The part of the line of one computation, after those around it: "point 3 of 9: 12 nodes".

    A context manager that does nothing unless wanted.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._around: Part | None = None
        self._own: Line | None = None
        self.line: Line | None = None

    def __enter__(self) -> Self:
        if self._wanted:
            self._around = _innermost.get()
            if self._around is not None:
                self.line = self._around.line
            else:
                # A part that is entered again keeps its line, and with it the minute of a log.
                self.line = self._own = self._own or Line()
            _innermost.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.line is not None:
            _innermost.set(self._around)
            if self._around is None:
                self.line.close()
            self.line = None

    @property
    def doing(self) -> str:
        """The current step of this part, for the parts within it."""
        return ""

    def say(self, text: str) -> None:
        """Show the text of this part."""
        if self.line is None:
            return
        parts, around = [text], self._around
        while around is not None:
            parts.append(around.doing)
            around = around._around
        self.line.show(": ".join(filter(None, reversed(parts))))


_innermost: ContextVar[Part | None] = ContextVar("noap_innermost_part", default=None)


def _width() -> int:
    import shutil  # `import noap` stays quick

    return shutil.get_terminal_size().columns


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
