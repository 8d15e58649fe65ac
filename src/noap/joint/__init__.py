"""Several components at once: the best packing of disjoint supports, with a bound for all of them together."""

from noap.joint.components import solve_components
from noap.joint.result import JointResult

__all__ = ["JointResult", "solve_components"]
