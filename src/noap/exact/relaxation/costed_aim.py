r"""What an inequality is wanted for where features cost something.

With a budget the square of the distance is :math:`\max_\kappa \kappa (y - \rho^2 t / (1 - \kappa))` for a variance y:
the adversary leaves the part :math:`\kappa` of what a feature adds, so that a cost of :math:`\pi` asks for
:math:`\pi/\kappa` of variance.
"""

import math
from dataclasses import dataclass

from noap.exact.relaxation.node import Node

__all__ = ["CostedAim"]

# An inequality is good enough when it leaves this much room below the target, relative to it.
_ROOM = 1e-5
# A target below this part of the bound is too low to go by.
_FAR = 0.9


@dataclass(frozen=True)
class CostedAim:
    """Attributes: t, the slope, the height of c + slope t that is low enough, and which part the adversary leaves.

    At the end of the interval nothing has to hold beyond t, and the slope is free.
    """

    t: float
    slope: float
    height: float
    kept: float
    at_end: bool

    @classmethod
    def at(cls, node: Node, target: float, others: float) -> "CostedAim":
        """Aim at the worst t of a node; the features that are not included cost about so much."""
        rho, goal = node.rho, target * (1.0 - _ROOM) + node.paid
        if rho == 0.0:
            return cls(node.span[1], 0.0, goal, 1.0, True)
        at_end = node.worst >= node.span[1] * (1 - 1e-9)
        t = node.span[1] if at_end else node.worst
        distance = math.sqrt(max(target, _FAR * node.bound) + node.paid + others)
        kept = max(distance / (distance + rho * math.sqrt(t)), 1e-3)
        tangent = rho * rho / (1.0 - kept)
        return cls(t, tangent, goal / kept + tangent * t, kept, at_end)
