"""Progress of a search, of a pass over the data, and of counted parts such as "point 12 of 33"."""

from dataclasses import dataclass

from noap.metrics import gap
from noap.runtime.digits import percent_up
from noap.runtime.line import Part

__all__ = ["CountLine", "PassLine", "SearchLine", "TracePoint"]


@dataclass(frozen=True)
class TracePoint:
    """State of a search: seconds since the call, best value, proved bound, nodes examined."""

    seconds: float
    value: float
    bound: float
    nodes: int


class SearchLine(Part):
    """A context manager whose `report` shows the state of a search; it does nothing unless wanted."""

    def __init__(self, wanted: bool, label: str = "") -> None:
        super().__init__(wanted)
        self._label = f"{label}, " if label else ""

    def report(self, point: TracePoint, features_left: int, doing: str = "") -> None:
        """Show time, nodes, value, bound, gap, the number of features left, and the current step."""
        if self.line is None or not self.line.due():
            return
        left = f", {features_left} features left" if features_left else ""
        left += f", {doing}" if doing else ""
        self.say(
            f"{self._label}{point.seconds:.1f} s, {point.nodes} nodes, value {point.value:.6g}, "
            f"bound {point.bound:.6g}, gap {percent_up(gap(max(point.value, 0.0), max(point.bound, 0.0)))}{left}"
        )


class PassLine(Part):
    """A context manager whose `scanned` shows a pass over pairs of features; `what` names its purpose."""

    def __init__(self, wanted: bool, label: str, what: str) -> None:
        super().__init__(wanted)
        self._label, self.what = f"{label}, " if label else "", what

    def scanned(self, done: int, total: int) -> None:
        """Show the number of pairs that are scanned."""
        if self.line is not None and self.line.due():
            self.say(f"{self._label}{self.what}, {done} of {total} pairs scanned")


class CountLine(Part):
    """A context manager whose `step` counts parts, named in the singular; it does nothing unless wanted.

    A part that has a line of its own is shown behind the count.

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
        """The current part."""
        return f"{self._what} {min(self._done + 1, self._total)} of {self._total}"

    def expect(self, more: int) -> None:
        """Add parts to the total."""
        self._total += more

    def step(self, parts: int = 1, note: str = "") -> None:
        """Count finished parts, and show the count with a note behind it."""
        self._done += parts
        if parts and self.line is not None:
            self.say(f"{self._what} {self._done} of {self._total}{f', {note}' if note else ''}")
