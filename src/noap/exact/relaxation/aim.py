r"""What an inequality is wanted for: the t at which a bound is made, and the slope that does most there.

A node is closed at t once :math:`c + \sigma t \le (\sqrt T + \rho\sqrt t)^2`. The right side is concave in t, so the
slope of its tangent leaves most room around t. At the end, t = k, nothing has to hold beyond, and a steeper one may be
better: the one at which the relaxed vector has this l1 norm.
"""

import math
from dataclasses import dataclass, field

from noap.exact.relaxation.node import Node

__all__ = ["Aim"]

# An inequality is good enough when it leaves this much room below the target, relative to it.
_ROOM = 1e-5
# A target below this part of the bound is too low to go by.
_FAR = 0.9
# By what a slope at the end is changed: at first, and at least.
_FACTOR, _LEAST_FACTOR = 1.2, 1.003


@dataclass
class Aim:
    """Attributes: t, the slope, and the height c + slope t that is low enough."""

    t: float
    slope: float
    height: float
    least: float
    at_end: bool
    _factor: float = field(default=_FACTOR)
    _direction: int = field(default=0)

    @classmethod
    def at(cls, node: Node, target: float, top: float) -> "Aim":
        """Aim at the worst t of a node; top is the largest entry of the matrix."""
        rho = node.rho
        at_end = rho == 0.0 or node.worst >= node.span[1] * (1 - 1e-9)
        t = node.span[1] if at_end else node.worst
        # The tangent that touches is that of the bound to come: the target, if it is near.
        least = rho * (math.sqrt(max(target, _FAR * node.bound)) / math.sqrt(t) + rho)
        slope = max(least, node.slope or (0.1 * top if rho == 0.0 else 0.0)) if at_end else least
        height = (math.sqrt(target) + rho * math.sqrt(t)) ** 2 - _ROOM * target
        return cls(t, slope, height, least, at_end)

    def adjust(self, t: float, settled: bool) -> None:
        """At the end, let the slope follow the relaxed vector: steeper if its l1 norm is too large.

        As long as more could be paid for places, that comes first: the l1 norm falls with them.
        """
        if not self.at_end or (t > self.t and not settled):
            return
        direction = 1 if t > self.t else -1
        if direction * self._direction < 0:
            self._factor = max(math.sqrt(self._factor), _LEAST_FACTOR)
        self._direction = direction
        self.slope = max(self.slope * self._factor**direction, self.least)
