"""Which component may use which feature: the nodes of the search for a packing.

Components are slots, one for each number of features that they may have. A node gives some features an owner: only that
slot may use them (docs/kernel.md, section 11).
"""

from dataclasses import dataclass

import numpy as np

from noap.kernel.packing import ANYONE, NO_ONE, owners
from noap.linalg.types import BoolArray, IntArray

__all__ = ["Group", "Slots"]


@dataclass(frozen=True)
class Group:
    """Slots that are alike: as many features, and the same ones to choose from.

    Attributes
    ----------
    k : int
    slots : tuple of int
    allowed : mask of the features that they may use
    """

    k: int
    slots: tuple[int, ...]
    allowed: BoolArray

    def __len__(self) -> int:
        return len(self.slots)


@dataclass(frozen=True)
class Slots:
    """How many features each component may use, and who owns each feature."""

    ks: tuple[int, ...]
    owner: IntArray

    @classmethod
    def free(cls, ks: tuple[int, ...], allowed: BoolArray) -> "Slots":
        """Return the slots of which none owns anything."""
        return cls(ks, np.where(allowed, ANYONE, NO_ONE))

    @property
    def undecided(self) -> BoolArray:
        """Features that every slot may use."""
        free: BoolArray = self.owner == ANYONE
        return free

    def groups(self) -> list[Group]:
        """Return the slots, those that are alike together."""
        made: dict[tuple[int, int], list[int]] = {}
        for slot, k in enumerate(self.ks):
            made.setdefault((k, slot if (self.owner == slot).any() else ANYONE), []).append(slot)
        return [Group(k, tuple(slots), self.undecided | (self.owner == slots[0])) for (k, _), slots in made.items()]

    def children(self, feature: int) -> list["Slots"]:
        """Return the nodes in which only one slot may use the feature, for each that it has to be given to."""
        made = []
        for slot in owners(self.owner, self.ks):
            owner = self.owner.copy()
            owner[feature] = slot
            made.append(Slots(self.ks, owner))
        return made
