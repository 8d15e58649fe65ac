"""Where a search stands, and the line that says so."""

from dataclasses import dataclass

from noap.metrics import gap
from noap.runtime.line import Part

__all__ = ["PassLine", "SearchLine", "TracePoint"]


@dataclass(frozen=True)
class TracePoint:
    """Where a search stood: seconds since the call, best value, proved bound, nodes examined."""

    seconds: float
    value: float
    bound: float
    nodes: int


class SearchLine(Part):
    """A context manager whose `report` keeps the line up to date; it does nothing unless wanted."""

    def __init__(self, wanted: bool, label: str = "") -> None:
        super().__init__(wanted)
        self._label = f"{label}, " if label else ""

    def report(self, point: TracePoint, features_left: int, doing: str = "") -> None:
        """Show time, nodes, value, bound, gap, how many features are still in play, and what is being done."""
        if self.line is None or not self.line.due():
            return
        left = f", {features_left} features left" if features_left else ""
        left += f", {doing}" if doing else ""
        self.say(
            f"{self._label}{point.seconds:.1f} s, {point.nodes} nodes, value {point.value:.6g}, "
            f"bound {point.bound:.6g}, gap {gap(max(point.value, 0.0), max(point.bound, 0.0)):.2%}{left}"
        )


class PassLine(Part):
    """A context manager whose `scanned` says how far a pass over pairs of features is; it does nothing unless wanted.

    Attributes
    ----------
    what : str
        What the pass is for.
    """

    def __init__(self, wanted: bool, label: str, what: str) -> None:
        super().__init__(wanted)
        self._label, self.what = f"{label}, " if label else "", what

    def scanned(self, done: int, total: int) -> None:
        """Show how many pairs are scanned, and of how many."""
        if self.line is not None and self.line.due():
            self.say(f"{self._label}{self.what}, {done} of {total} pairs scanned")
