"""Where a search stands, and the line that says so."""

from dataclasses import dataclass

from noap.metrics import gap
from noap.runtime.line import Part

__all__ = ["SearchLine", "TracePoint"]


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
            f"bound {point.bound:.6g}, gap {gap(point.value, point.bound):.2%}{left}"
        )
