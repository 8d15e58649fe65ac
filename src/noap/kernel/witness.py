"""Witnesses: what a leaf of a proof names, and nothing that has to be believed.

Numbers are in the units of the certificate (powers of 4 and 2, docs/certificate-format.md), features are those of the
problem, ascending in every list. A witness is shared by all leaves that use it: the file holds it once.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = [
    "BOX",
    "CORE",
    "FREE",
    "IN_PLAIN_NORM",
    "IN_WEIGHTED_NORM",
    "LENGTHS",
    "PLAIN",
    "THRESHOLD",
    "Attack",
    "Beyond",
    "Chord",
    "Dominance",
    "Envelope",
    "Fan",
    "Feature",
    "Lengths",
    "Level",
    "Line",
    "Listed",
    "Matrix",
    "Node",
    "Owner",
    "Packed",
    "Packing",
    "Priced",
    "Response",
    "SampleAttack",
    "SampleEnvelope",
    "Scaling",
    "Sign",
    "SmallClaim",
    "Support",
]

# Forms of a line's matrix, and the norm in which it counts the features that are used.
THRESHOLD, BOX, FREE, CORE = 0, 1, 2, 3
IN_PLAIN_NORM, IN_WEIGHTED_NORM = 0, 1

_NO_FEATURES: IntArray = np.empty(0, np.intp)
_NO_NUMBERS: FloatArray = np.empty(0)


@dataclass(frozen=True, eq=False)
class Attack:
    """The vector that a majorant responds to, and its gain; without features the majorant is A itself.

    `deflation` has sigma for each direction that v is orthogonal to, and `multipliers` lambda, the multiples of the
    directions that the attack leaves along the vector; either has none at all where that is 0 for each.
    """

    features: IntArray = field(default_factory=lambda: _NO_FEATURES)
    weights: FloatArray = field(default_factory=lambda: _NO_NUMBERS)
    gain: float = 0.0
    deflation: FloatArray = field(default_factory=lambda: _NO_NUMBERS)
    multipliers: FloatArray = field(default_factory=lambda: _NO_NUMBERS)


PLAIN = Attack()


@dataclass(frozen=True)
class Chord:
    """Chords of what features contribute, all with this intercept below 0: within a small claim, where floors hold."""

    intercept: float


Response: TypeAlias = Attack | Chord


@dataclass(frozen=True, eq=False)
class SampleAttack:
    """An attack on the rows of X that stays within their budgets on one node.

    Attributes
    ----------
    included, free : arrays of int
    places : int
        The node (I, F, p).
    features, weights : arrays of shape (m,)
        The vector that it responds to; none where moves are given.
    gain, spread : float
        Of a response: kappa, and the share of what is left of a budget that goes at right angles to the vector.
    rows : array of shape (r,)
    moves : float32 array of shape (r, |I| + |F|), or None
        The rows of E, columns of I first, for the samples with these numbers.
    """

    included: IntArray
    free: IntArray
    places: int
    features: IntArray = field(default_factory=lambda: _NO_FEATURES)
    weights: FloatArray = field(default_factory=lambda: _NO_NUMBERS)
    gain: float = 0.0
    spread: float = 0.0
    rows: IntArray = field(default_factory=lambda: _NO_FEATURES)
    moves: npt.NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class Scaling:
    """Factors of features in diagonal dominance; features that are not named have 1."""

    features: IntArray
    values: npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Line:
    """A matrix near G and its price: v'Gv is below a line in the squared norms s and t.

    Attributes
    ----------
    features : array of shape (b,)
    c, plain, weighted : float
        The constant, and the slopes mu_1 of s and mu_w of t before cardinality is paid for.
    counts : IN_PLAIN_NORM or IN_WEIGHTED_NORM
    form : THRESHOLD, BOX, FREE or CORE
    loads, lifts : float32 arrays of shape (b,)
    entries : int16 (BOX) or float32 (FREE) array of shape (b (b - 1)/2,), None for THRESHOLD
        For CORE those of the m features in the core, m (m - 1)/2 of type int16; all others are of THRESHOLD.
    signs : int8 array of shape (b,), for FREE
    dues : float32 array of shape (b,), pulls : float32 array of shape (b, b); both or none
    deflation : array of shape (m,)
        A multiplier for each direction that v is orthogonal to, or none at all.
    core : bool array of shape (b,), for CORE
    """

    features: IntArray
    c: float
    plain: float
    weighted: float
    counts: int
    form: int
    loads: npt.NDArray[np.float32]
    lifts: npt.NDArray[np.float32]
    entries: npt.NDArray[np.int16] | npt.NDArray[np.float32] | None = None
    signs: npt.NDArray[np.int8] | None = None
    dues: npt.NDArray[np.float32] | None = None
    pulls: npt.NDArray[np.float32] | None = None
    deflation: FloatArray = field(default_factory=lambda: _NO_NUMBERS)
    core: BoolArray | None = None


@dataclass(frozen=True)
class Feature:
    """Branch on a feature: with it, then without it."""

    feature: int


@dataclass(frozen=True)
class Sign:
    """Branch on the sign of an entry of v: +, then, unless no sign is known yet, -."""

    feature: int


@dataclass(frozen=True)
class Lengths:
    """Close by the lengths of the features."""


LENGTHS = Lengths()


@dataclass(frozen=True, eq=False)
class Dominance:
    """Close by diagonal dominance of the Schur complement; without a scaling all factors are 1.

    With a threshold above 0 it shows that one, which is at most the bound, in place of the level's target.
    """

    attack: Response | SampleAttack
    scaling: Scaling | None = None
    threshold: float = 0.0


@dataclass(frozen=True, eq=False)
class Matrix:
    """Close by a line above the scaled Schur complement."""

    attack: Response | SampleAttack
    line: Line


@dataclass(frozen=True, eq=False)
class Envelope:
    """Close by lines above the variance."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, eq=False)
class SampleEnvelope:
    """Close by lines whose features are samples; where features are undecided, each with a scaling for dominance."""

    lines: tuple[Line, ...]
    scalings: tuple[Scaling | None, ...]


@dataclass(frozen=True, eq=False)
class Support:
    """A support on a list, in the units of the certificate.

    Attributes
    ----------
    features, weights : arrays of shape (m,)
        A vector that uses all of it: no weight is 0.
    value : float
        The vector is worth at least this.
    beyond : float
        No choice that contains the support is worth more than this, or than the threshold of the list.
    """

    features: IntArray
    weights: FloatArray
    value: float
    beyond: float


@dataclass(frozen=True)
class Listed:
    """Close: every choice of the node is part of a support on the list."""

    support: int


@dataclass(frozen=True)
class Beyond:
    """Refute below only what exceeds the `beyond` of a support on the list that all choices of the node contain."""

    support: int


Node: TypeAlias = Feature | Sign | Lengths | Dominance | Matrix | Envelope | SampleEnvelope | Listed | Beyond


@dataclass(frozen=True, eq=False)
class Level:
    """No choice of at most `size` features has a value above `bound`.

    Attributes
    ----------
    size : int
    bound, target : float
        In the units of the certificate. Leaves that are closed by a majorant show the target, which is at most the
        bound: dominance at one threshold is not dominance at a larger one.
    features : array of int
        Those that the tree works on.
    nodes : tuple of Node
        In preorder; none where the lengths of all features suffice.
    by_conflicts : bool
        Whether it is proved by what features demand of each other, and by small claims; then it has no features and no
        nodes of its own.
    order : array of int
        In which features are taken out; all others come before.
    claims : tuple of SmallClaim
    """

    size: int
    bound: float
    target: float
    features: IntArray
    nodes: tuple[Node, ...]
    by_conflicts: bool = False
    order: IntArray = field(default_factory=lambda: _NO_FEATURES)
    claims: "tuple[SmallClaim, ...]" = ()


@dataclass(frozen=True, eq=False)
class SmallClaim:
    """No choice of features that fit together, all of them in this claim, has a value above the bound of the level.

    Attributes
    ----------
    rooted : bool
        Whether it speaks of the choices with its first feature only.
    features : array of shape (m,)
        In any order; witnesses speak of their places, 0 to m - 1.
    kept : int
        The tree works on so many of them; those behind have too few neighbours before them.
    nodes : tuple of Node
        In preorder.
    """

    rooted: bool
    features: IntArray
    kept: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Owner:
    """Branch on the slot that alone may use a feature."""

    feature: int


@dataclass(frozen=True)
class Packed:
    """Close by weak duality: the number of a priced claim for each slot."""

    claims: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Priced:
    """No choice of at most as many features as the last level says is worth more than its bound after these costs.

    Costs are in the user's units, one for each feature.
    """

    costs: FloatArray
    levels: tuple[Level, ...]


@dataclass(frozen=True, eq=False)
class Fan:
    """A line that holds for all components together: its matrix is at most cI + LL', L of shape (b, m)."""

    line: Line
    factor: FloatArray


@dataclass(frozen=True, eq=False)
class Packing:
    """What a claim about several disjoint choices has instead of levels.

    Attributes
    ----------
    slots : tuple of int
        How many features each may have.
    sizes : tuple of int
        How many entries of the certificate's vector belong to each, one after the other.
    priced : tuple of Priced
    nodes : tuple of Owner and Packed
        In preorder; none where a fan proves the bound.
    fans : tuple of Fan
    """

    slots: tuple[int, ...]
    sizes: tuple[int, ...]
    priced: tuple[Priced, ...] = ()
    nodes: "tuple[Owner | Packed, ...]" = ()
    fans: tuple[Fan, ...] = ()
