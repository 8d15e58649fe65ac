"""What closes the supports that attacks on all features leave, as it is written in a proof."""

from collections.abc import Callable

import numpy as np

from noap.data.pencil import Pencil
from noap.exact.generalised.leaf import CellRecord, closes
from noap.exact.generalised.own_attack import closing_shares
from noap.exact.generalised.violators import Violators
from noap.heuristics.generalised.supports import best_on
from noap.linalg.types import FloatArray
from noap.proofs.metric_supports import BY_CELLS, BY_FORM, BY_OWN, SupportsProof

__all__ = ["Closing"]


class Closing:
    """Closes listed supports at a threshold, and notes how.

    Attributes
    ----------
    left : list of int
        The supports that are still open, by their numbers on the list, the hardest first.
    """

    def __init__(self, pencil: Pencil, listed: Violators, T: float) -> None:
        self.pencil, self.listed, self.T = pencil, listed, T
        self.left: list[int] = []
        self._own: FloatArray = np.empty((0, pencil.k + 1))
        self._cells = CellRecord()
        self._in_order: list[int] = []

    def by_own_attacks(self, weights: FloatArray, worths: FloatArray) -> None:
        """Try attacks of their own on directions of the supports."""
        shares = closing_shares(self.pencil, self.listed.supports, weights, self.T)
        self._own = np.column_stack([weights, shares])
        left = np.flatnonzero(shares == 0.0)
        # The ones that are worth most first: they are the hardest.
        self.left = left[np.argsort(-worths[left])].tolist()

    def by_cells(self, number: int, cells: int, late: Callable[[], bool]) -> bool:
        """Return whether so many cells close a support."""
        support = self.listed.supports[number]
        own = self.pencil.restricted(support, len(support))
        closed = closes(own, self.T, cells, late, self._cells)
        if closed:
            self._in_order.append(number)
        return closed

    def better(self, number: int) -> FloatArray | None:
        """Return a direction on a support that cells did not close which is worth more than T, if they met one."""
        if self._cells.met is None:
            return None
        support = self.listed.supports[[number]]
        w: FloatArray = np.zeros(len(self.pencil.B))
        w[support[0]] = best_on(self.pencil, support, self._cells.met[None, :], steps=200)[0][0]
        return w

    def proof(self, attacks: list[FloatArray]) -> SupportsProof:
        """Return the proof, once all supports are closed; the listed ones that cells close come last."""
        listed, by_cells = self.listed, self._in_order
        shares = self._own[:, -1] if len(self._own) else np.zeros(len(listed.supports))
        by_own = np.flatnonzero(shares > 0.0)
        by_form = listed.named[~listed.open] if listed.tree is not None else listed.named[:0]
        supports = np.concatenate([by_form, listed.supports[by_own], listed.supports[by_cells]])
        how = np.repeat([BY_FORM, BY_OWN, BY_CELLS], [len(by_form), len(by_own), len(by_cells)])
        cells = self._cells
        return SupportsProof(
            self.T,
            float(listed.shift),
            float(listed.bound),
            listed.tree,
            np.concatenate(attacks),
            supports.astype(np.uint32).ravel(),
            how.astype(np.uint8),
            self._own[by_own].ravel(),
            np.frombuffer(bytes(cells.kinds), dtype=np.uint8),
            np.array(cells.numbers),
            np.frombuffer(bytes(cells.edges), dtype=np.uint8),
        )
