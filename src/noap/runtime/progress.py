"""One line on a terminal that says where a long search stands; silent anywhere else."""

import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from noap.metrics import gap

__all__ = ["SearchLine", "TracePoint"]


@dataclass(frozen=True)
class TracePoint:
    """Where a search stood: seconds since the call, best value, proved bound, nodes examined."""

    seconds: float
    value: float
    bound: float
    nodes: int


class SearchLine:
    """A context manager whose `report` keeps the line up to date; it does nothing unless wanted and on a terminal."""

    def __init__(self, wanted: bool, label: str = "") -> None:
        self._label = f"{label}  " if label else ""
        self._live: Any = None
        if wanted and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=5, transient=True)

    def __enter__(self) -> "SearchLine":
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def report(self, point: TracePoint, features_left: int) -> None:
        """Show time, nodes, value, bound, gap and how many features are still in play."""
        if self._live is None:
            return
        from rich.text import Text

        self._live.update(
            Text(
                f"{self._label}{point.seconds:7.1f} s  {point.nodes:>8} nodes  "
                f"value {point.value:.6g}  bound {point.bound:.6g}  "
                f"gap {gap(point.value, point.bound):.2%}  {features_left} features left"
            )
        )
