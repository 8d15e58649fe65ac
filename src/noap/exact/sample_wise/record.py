"""What the search did, node by node, so that its tree can be handed over as a proof."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from noap.exact.sample_wise.attack import Attack
from noap.exact.sample_wise.instance import SampleInstance
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.sample_wise import CLOSED, CONES, LENGTHS, SPLIT, SampleProof, units_of

__all__ = ["BY_CONES", "BY_LENGTHS", "MOST_BYTES", "How", "KeptAttack", "SampleRecord"]

# A record that grows beyond this is given up, and the result has no certificate.
MOST_BYTES = 1_000_000_000


@dataclass(frozen=True, eq=False)
class KeptAttack:
    """An attack as the proof will show it: rows and columns of the instance, and the entries."""

    rows: IntArray
    columns: IntArray
    values: FloatArray

    @classmethod
    def of(cls, attack: Attack, coarse: bool) -> "KeptAttack":
        """Copy an attack; in single precision if its entries were rounded to that."""
        return cls(attack.rows, attack.cols, attack.E.astype(np.float32 if coarse else np.float64))

    @property
    def nbytes(self) -> int:
        """Memory of the copy."""
        return self.rows.nbytes + self.columns.nbytes + self.values.nbytes


BY_LENGTHS, BY_CONES = "lengths", "cones"
How: TypeAlias = KeptAttack | str
"""What proves a node's bound: an attack, BY_LENGTHS or BY_CONES."""


@dataclass(frozen=True)
class _Family:
    """Supports that contain `chosen` and otherwise features of `rest`; the place of the node that looks at them."""

    chosen: tuple[int, ...]
    rest: frozenset[int]
    child: int


@dataclass(frozen=True)
class _Branch:
    """Features dropped by an attack, then one to branch on (-1: none is left), with the places of both children."""

    attack: KeptAttack | None
    dropped: tuple[int, ...]
    feature: int
    children: tuple[int, int]


@dataclass(frozen=True)
class _Listing:
    """All supports but those of the families are closed by the attack."""

    attack: KeptAttack
    families: tuple[_Family, ...]


class SampleRecord:
    """A growing tree. Every node of the search has a place, and something that proves its bound until it is replaced.

    An interrupt between any two lines leaves a record of what was proved before.
    """

    def __init__(self) -> None:
        self._how: dict[int, How] = {}
        self._below: dict[int, _Branch | _Listing] = {}
        self._count = 0
        self._replaced: list[int] = []
        self._lasting: dict[int, KeptAttack] = {}
        self.nbytes = 0

    def new(self, how: How) -> int:
        """Return the place of a new node whose bound is proved in this way."""
        self._count += 1
        self._how[self._count] = how
        return self._count

    def how(self, place: int) -> How:
        """Return what proves the bound of a node."""
        return self._how[place]

    def hold(self, place: int, how: How) -> None:
        """Note a better proof for a node."""
        self._how[place] = how
        if isinstance(how, KeptAttack):
            self._lasts(how)

    def prefer(self, place: int, how: How) -> None:
        """Note a better proof for a node that is still to be replaced: it is forgotten then."""
        self._how[place] = how

    @property
    def held(self) -> int:
        """Memory of all attacks that are kept, for a while or to the end."""
        kept = {id(how): how.nbytes for how in self._how.values() if isinstance(how, KeptAttack)}
        return sum((kept | {key: one.nbytes for key, one in self._lasting.items()}).values())

    def branch(
        self,
        place: int,
        attack: KeptAttack | None,
        dropped: IntArray,
        feature: int = -1,
        children: tuple[int, int] = (0, 0),
    ) -> None:
        """Note that features were dropped and that the node was branched on another (-1: all of it is closed)."""
        self._replace(place, _Branch(attack, tuple(dropped.tolist()), feature, children))

    def list_families(self, place: int, attack: KeptAttack, sets: list[tuple[IntArray, IntArray, int]]) -> None:
        """Note that the attack closes all but some families: features chosen, features that may join, child."""
        families = [_Family(tuple(chosen.tolist()), frozenset(rest.tolist()), child) for chosen, rest, child in sets]
        self._replace(place, _Listing(attack, tuple(families)))

    def tidy(self) -> None:
        """Forget the proofs of bounds that were replaced by a branch. To be called when no node is being examined."""
        while self._replaced:
            self._how.pop(self._replaced.pop(), None)

    def _replace(self, place: int, what: "_Branch | _Listing") -> None:
        if what.attack is not None:
            self._lasts(what.attack)
        self._below[place] = what
        self._replaced.append(place)

    def _lasts(self, kept: KeptAttack) -> None:
        if id(kept) not in self._lasting:
            self._lasting[id(kept)] = kept
            self.nbytes += kept.nbytes

    def proof(self, root: int, instance: SampleInstance, rho: FloatArray, unfinished: int = 0) -> SampleProof:
        """Return the tree in preorder, with the features and samples of the problem.

        Parameters
        ----------
        root : int
            The place of the first node.
        instance : SampleInstance
        rho : array of shape (n,)
            The budget of every sample, in the problem's units.
        unfinished : int
            The node that was being examined when the search was interrupted: its bound counts, not its branch.
        """
        writer = _Writer(self._how, self._below, unfinished)
        writer.write(root, frozenset(range(instance.d)))
        return writer.proof(instance, rho)


# What is still to be written: a node by its place, or families of a node; the features that are free there, and the
# number of the attack that comes into force.
_Todo: TypeAlias = tuple[int | tuple[_Family, ...], frozenset[int], int]


class _Writer:
    """Nodes in preorder, and the attacks they name."""

    def __init__(self, how: dict[int, How], below: dict[int, _Branch | _Listing], unfinished: int) -> None:
        self.how, self.below, self.unfinished = how, below, unfinished
        self.kind, self.attack, self.feature = bytearray(), list[int](), list[int]()
        self.numbers: dict[int, int] = {}
        self.kept: list[KeptAttack] = []

    def write(self, root: int, free: frozenset[int]) -> None:
        # Last first.
        todo: list[_Todo] = [(root, free, 0)]
        while todo:
            what, free, attack = todo.pop()
            if isinstance(what, tuple):
                todo += self._families(what, free, attack)
            else:
                todo += self._node(what, free)

    def _emit(self, kind: int, attack: int = 0, feature: int = 0) -> None:
        self.kind.append(kind)
        self.attack.append(attack)
        self.feature.append(feature)

    def _drop(self, features: "tuple[int, ...] | list[int]", attack: int = 0) -> int:
        """Write that the attack closes the supports with each of the features; returns 0: it is in force by then."""
        for feature in features:
            self._emit(SPLIT, attack, feature)
            self._emit(CLOSED)
            attack = 0
        return attack

    def _number(self, kept: KeptAttack | None) -> int:
        if kept is None:
            return 0
        if id(kept) not in self.numbers:
            self.kept.append(kept)
            self.numbers[id(kept)] = len(self.kept)
        return self.numbers[id(kept)]

    def _node(self, place: int, free: frozenset[int]) -> list[_Todo]:
        below = self.below.get(place)
        if below is None or place == self.unfinished:
            how = self.how[place]
            if isinstance(how, KeptAttack):
                self._emit(CLOSED, self._number(how))
            else:
                self._emit(CONES if how == BY_CONES else LENGTHS)
            return []
        attack = self._number(below.attack)
        if isinstance(below, _Listing):
            return [(below.families, free, attack)]
        attack = self._drop(below.dropped, attack)
        if below.feature < 0:
            self._emit(CLOSED, attack)
            return []
        self._emit(SPLIT, attack, below.feature)
        free = free - frozenset(below.dropped) - {below.feature}
        return [(below.children[1], free, 0), (below.children[0], free, 0)]

    def _families(self, families: tuple[_Family, ...], free: frozenset[int], attack: int) -> list[_Todo]:
        """Split on the features of the first family until each stands alone; what none contains, the attack closes."""
        if not families:
            self._emit(CLOSED, attack)
            return []
        open_ones = [family for family in families if family.chosen]
        if not open_ones:
            # Families are disjoint, so this is the only one. What may not join it has been closed in another order.
            only = families[0]
            self._drop(sorted(free - only.rest), attack)
            return [(only.child, only.rest, 0)]
        feature = open_ones[0].chosen[0]
        self._emit(SPLIT, attack, feature)
        inside, outside = [], []
        for family in families:
            if feature in family.chosen:
                left = tuple(other for other in family.chosen if other != feature)
                inside.append(_Family(left, family.rest, family.child))
                continue
            rest = family.rest - {feature}
            outside.append(_Family(family.chosen, rest, family.child))
            if feature in family.rest:
                inside.append(_Family(family.chosen, rest, family.child))
        free = free - {feature}
        return [(tuple(outside), free, 0), (tuple(inside), free, 0)]

    def proof(self, instance: SampleInstance, rho: FloatArray) -> SampleProof:
        # From units of the instance to the power of two next to the budget of each sample.
        shift = instance.exponent - units_of(rho[instance.rows])
        kind = np.frombuffer(bytes(self.kind), dtype=np.uint8)
        feature = np.array(self.feature, dtype=np.int64)
        feature = np.where(kind == SPLIT, instance.features[feature], 0)
        # One copy, filled piece by piece: attacks on very many samples are large.
        kinds = [one.values.dtype for one in self.kept]
        values = np.empty(sum(one.values.size for one in self.kept), np.result_type(*kinds) if kinds else np.float32)
        at = 0
        for one in self.kept:
            into = values[at : at + one.values.size].reshape(one.values.shape)
            np.ldexp(one.values, shift[one.rows, None], out=into)
            at += one.values.size
        return SampleProof(
            kind,
            np.array(self.attack, dtype=np.uint32),
            feature.astype(np.uint32),
            _starts([len(one.rows) for one in self.kept]),
            _joined([instance.rows[one.rows] for one in self.kept]),
            _starts([len(one.columns) for one in self.kept]),
            _joined([instance.features[one.columns] for one in self.kept]),
            values,
        )


def _starts(sizes: list[int]) -> "np.ndarray[tuple[int], np.dtype[np.uint32]]":
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)


def _joined(parts: list[IntArray]) -> "np.ndarray[tuple[int], np.dtype[np.uint32]]":
    return np.concatenate(parts).astype(np.uint32) if parts else np.empty(0, dtype=np.uint32)
