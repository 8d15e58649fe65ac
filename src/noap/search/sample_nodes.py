"""Nodes of the search against samples: their samples and features, what the solver left there, what is known."""

from dataclasses import dataclass

import numpy as np

from noap.kernel.witness import Node
from noap.linalg.types import FloatArray, IntArray

__all__ = ["Knot", "Local", "Played", "Triple", "places"]

Triple = tuple[IntArray, IntArray, int]


@dataclass(frozen=True, eq=False)
class Local:
    """The samples and features of a node, those of I first, as the solver takes them."""

    node: Triple
    columns: IntArray
    rows: IntArray
    X: FloatArray
    rho: FloatArray

    @property
    def inside(self) -> int:
        """How many features all of its choices have."""
        return len(self.node[0])

    @property
    def p(self) -> int:
        """How many others a choice may have."""
        return self.node[2]


@dataclass(frozen=True, eq=False)
class Played:
    """What the solver left behind at a node: moves of its samples, opponents, and their mixture."""

    local: Local
    E: FloatArray
    V: FloatArray
    weights: FloatArray

    def within(self, local: Local) -> "tuple[FloatArray, FloatArray, FloatArray]":
        """Return the moves of a node below, and those of the opponents that are its own, with their weights."""
        here = places(self.local.columns, local.columns)
        others = np.ones(len(self.local.columns), dtype=np.bool_)
        others[here] = False
        inside = ~(self.V[:, others] != 0).any(axis=1)
        V, weights = self.V[inside][:, here], self.weights[inside]
        fits = (V[:, local.inside :] != 0).sum(axis=1) <= local.p
        V, weights = V[fits], weights[fits]
        if not weights.sum() > 0:
            V, weights = V[:0], weights[:0]
        E = np.ascontiguousarray(self.E[np.ix_(places(self.local.rows, local.rows), here)])
        return E, V, weights / max(float(weights.sum()), 1e-300)


def places(numbers: IntArray, some: IntArray) -> IntArray:
    """Return where some numbers stand among others."""
    order = np.argsort(numbers)
    found: IntArray = order[np.searchsorted(numbers, some, sorter=order)]
    return found


@dataclass(eq=False)
class Knot:
    """A node of the tree that is kept.

    Attributes
    ----------
    node : (I, F, p)
    bound : float
        What is known of it by its own or by a node above.
    own, fallback : float, list of nodes
        A bound, and what proves it.
    proof : list of nodes and knots, or None while it is open
    key : float
        The larger, the earlier it is looked at: what the strongest opponent got above.
    played : Played or None
        What the solver of a node above goes on with here.
    """

    node: Triple
    bound: float
    own: float
    fallback: list[Node]
    proof: "list[Node | Knot] | None" = None
    key: float = np.inf
    played: Played | None = None

    @property
    def bytes(self) -> int:
        """About what it holds."""
        return 0 if self.played is None else self.played.E.nbytes + self.played.V.nbytes
