"""What the attempts of one search have taken together, and whether they may take more."""

from collections.abc import Callable
from typing import Protocol

from noap.result import Limit
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

__all__ = ["Meter"]


class _Measured(Protocol):
    @property
    def bytes(self) -> int:
        """Memory that is held."""


class Meter:
    """Counts nodes and holds limits for all attempts of a search; `report` is told after every turn."""

    def __init__(self, controls: Controls, limits: Limits, report: Callable[[int], None]) -> None:
        self.controls, self.limits, self.report = controls, limits, report
        self.nodes = 0
        self.held = 0
        """Bytes held by attempts other than the one whose turn it is."""

    def stopped(self) -> bool:
        """Whether a limit is reached."""
        if self.controls.expired():
            return True
        if self.limits.nodes is not None and self.nodes >= self.limits.nodes:
            self.controls.limit = Limit.NODES
        return self.controls.limit is not None

    def tell(self, attempt: _Measured, features_left: int) -> None:
        """Take note of a turn: of its memory, and of how many features its open nodes still consider."""
        if self.limits.bytes is not None and self.held + attempt.bytes > self.limits.bytes:
            self.controls.limit = Limit.MEMORY
        self.report(features_left)
