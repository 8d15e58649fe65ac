"""Which component may use which feature: the nodes of the search for a packing.

Components are slots, one for each number of features that they may have. A node gives some features an owner: only that
slot may use them. A feature is in one support at most, so giving it to each slot in turn loses no packing; slots of the
same size that own nothing are one another's mirror image, and the first of them stands for all.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from noap.linalg.types import BoolArray, IntArray

__all__ = ["NOBODY", "REMOVED", "Group", "Slots"]

NOBODY = -1
"""The owner of a feature that every slot may use."""
REMOVED = -2
"""That of a feature that no slot may use, because no better packing does."""


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
    def free(cls, ks: tuple[int, ...], d: int) -> "Slots":
        """Return the slots of which none owns anything."""
        return cls(ks, np.full(d, NOBODY, dtype=np.int64))

    def groups(self) -> list[Group]:
        """Return the slots, those that are alike together."""
        made: dict[tuple[int, int], list[int]] = {}
        for slot, k in enumerate(self.ks):
            made.setdefault((k, slot if (self.owner == slot).any() else NOBODY), []).append(slot)
        unowned = self.owner == NOBODY
        return [Group(k, tuple(slots), unowned | (self.owner == slots[0])) for (k, _), slots in made.items()]

    def owners(self) -> Iterator[int]:
        """Yield the slots that a feature has to be given to in turn: one of every group, in rising order."""
        yield from sorted(group.slots[0] for group in self.groups())

    def given(self, feature: int, slot: int) -> "Slots":
        """Return the node in which only this slot may use the feature."""
        owner = self.owner.copy()
        owner[feature] = slot
        return Slots(self.ks, owner)
