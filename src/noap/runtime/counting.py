"""A line that counts the parts of a long computation: "point 12 of 33"."""

from noap.runtime.line import Part

__all__ = ["CountLine"]


class CountLine(Part):
    """A context manager whose `step` says that one part more is done; silent unless wanted.

    A part that has a line of its own is shown behind the count.

    Parameters
    ----------
    what : str
        What is counted, in the singular.
    total : int
        How many there are, as far as is known; `expect` adds to it.
    wanted : bool

    Examples
    --------
    >>> with CountLine("resample", 2, wanted=False) as line:
    ...     line.step()
    """

    def __init__(self, what: str, total: int, wanted: bool) -> None:
        super().__init__(wanted)
        self._what, self._total, self._done = what, total, 0

    @property
    def doing(self) -> str:
        """Which part is being worked on."""
        return f"{self._what} {min(self._done + 1, self._total)} of {self._total}"

    def expect(self, more: int) -> None:
        """Count with so many parts more."""
        self._total += more

    def step(self, parts: int = 1, note: str = "") -> None:
        """Count parts that are done, and say so with a note behind the count."""
        self._done += parts
        if parts and self.line is not None:
            self.say(f"{self._what} {self._done} of {self._total}{f', {note}' if note else ''}")
