"""Every number that steers the search, in one place, with the measurement that chose it."""

import math
from dataclasses import dataclass, fields

from noap.errors import InvalidProblem

__all__ = ["Settings"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Numbers that steer the search; no proof depends on them.

    Attributes
    ----------
    ascent_starts : int
        Rows of A from which ascent starts.
    ascent_first_steps, ascent_steps : int
        Steps of all starts, and of the best ones.
    ascent_kept : int
        How many starts go on.
    ascent_swaps : int
        Rounds in which one feature is exchanged.
    hair : float
        The search aims below the asked threshold by this part of the gap, so that rounding of witnesses does no harm.
    cheap_nodes : int
        Nodes of majorants and dominance before the relaxation begins.
    cheap_nodes_vanilla : int
        The same without a budget, where no attack can be at fault.
    cheap_nodes_unequal, alike : int, float
        The same where a budget is below `alike` times another one: there lines are weaker.
    holes : int
        So many nodes that no majorant closes may be left to the relaxation.
    cheap_nodes_below : int
        The same at a node of the relaxation's tree.
    last_rounds : int
        Rounds of lines for a node where features and signs are decided.
    dominance_steps : int
        Steps of the iteration for the scaling of a node.
    own_response : float
        A node gets majorants in response to its own best vector if the ratio of its best test is above this.
    kernel_attempts : int
        How often a bound that the kernel refuses is raised, or the leaf that it refuses counted as open.
    smaller_bounds : int
        How many smaller bounds are tried with the witnesses of a finished proof.
    """

    ascent_starts: int = 48
    ascent_first_steps: int = 6
    ascent_steps: int = 60
    ascent_kept: int = 8
    ascent_swaps: int = 2
    hair: float = 1e-3
    cheap_nodes: int = 256
    cheap_nodes_vanilla: int = 600
    cheap_nodes_unequal: int = 4000
    alike: float = 0.02
    holes: int = 64
    cheap_nodes_below: int = 8
    last_rounds: int = 2
    dominance_steps: int = 25
    own_response: float = 1.3
    kernel_attempts: int = 60
    smaller_bounds: int = 6

    def __post_init__(self) -> None:
        for one in fields(self):
            given = getattr(self, one.name)
            if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < math.inf:
                raise InvalidProblem(f"Settings.{one.name} must be a number of at least 0, got {given!r}.")
