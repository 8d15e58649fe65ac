"""What a refutation did, node by node, so that its tree can be handed over as a proof."""

from array import array
from collections.abc import Iterable

import numpy as np

from noap.exact.feature_wise.instance import GramInstance
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.feature_wise import (
    AGAIN,
    ATTACK,
    CHORDS,
    CLOSED,
    EACH,
    INTERVAL,
    NO_TEST,
    ON,
    SIGN,
    SPLIT,
    GramProof,
)

__all__ = ["GramRecord"]

# The kernels number their tests 0 chords, 1 and 2 the attack in response to the incumbent (best nu, nu = 0), 3 and 4
# the same in response to the node's own vector; -1 none.
_TEST_IN_PROOF = {-1: NO_TEST, 0: CHORDS, 1: ATTACK, 2: ATTACK, 3: ATTACK, 4: ATTACK}
_CHORDS, _OWN = 0, 3


class GramRecord:
    """A growing tree. Every node has a place; children stand next to each other.

    The tree is written as the search goes, in the order in which nodes are made; `proof` puts it in preorder.
    """

    def __init__(self) -> None:
        self.kind, self.test = bytearray([CLOSED]), bytearray([0])
        self.vector, self.feature, self.first = array("I", [0]), array("I", [0]), array("I", [0])
        self.cut, self.nu = array("d", [0.0]), array("d", [0.0])
        self.level, self.levels = array("I", [0]), array("d")
        self.starts, self.places, self.weights = array("I", [0]), array("I"), array("d")
        # The features of each EACH node, by place; the incumbent last written: its value, and its number.
        self._listed: dict[int, list[int]] = {}
        self._incumbent: tuple[float, int] = (-1.0, 0)

    @property
    def bytes(self) -> int:
        """Memory of the record."""
        return 34 * len(self.kind) + 4 * len(self.starts) + 12 * len(self.places)

    def test_at(
        self,
        place: int,
        test: int,
        nu: float,
        incumbent: tuple[float, FloatArray],
        own: tuple[IntArray, FloatArray],
    ) -> None:
        """Note which test closed a node or dropped features from it, and what the test rests on.

        Parameters
        ----------
        incumbent : value and vector over the kept features
        own : places and weights: of the chords, or of the node's own vector
        """
        self.test[place], self.nu[place] = _TEST_IN_PROOF[test], nu
        if test == _CHORDS or test >= _OWN:
            self.vector[place] = self._add_vector(*own)
        elif test > 0:
            value, v = incumbent
            if self._incumbent[0] != value:
                support = np.flatnonzero(v)
                self._incumbent = (value, self._add_vector(support, v[support]))
            self.vector[place] = self._incumbent[1]

    def visit(self, place: int, target: float) -> None:
        """Note at which target a node was examined; it rises with the incumbent."""
        if not self.levels or self.levels[-1] != target:
            self.levels.append(target)
        self.level[place] = len(self.levels) - 1

    def branch(self, place: int, kind: int, feature: int, cut: float, children: int) -> int:
        """Note a branch and make room for its children; returns the place of the first."""
        first = len(self.kind)
        self.kind[place], self.feature[place], self.cut[place], self.first[place] = kind, feature, cut, first
        level = self.level[place]
        self.kind.extend(bytes(children))
        self.test.extend(bytes(children))
        for numbers in (self.vector, self.feature, self.first, self.level):
            numbers.extend([level if numbers is self.level else 0] * children)
        self.cut.extend([0.0] * children)
        self.nu.extend([0.0] * children)
        return first

    def list_each(self, place: int, features: Iterable[int]) -> int:
        """Note a branch into one child per feature; returns the place of the first."""
        listed = list(features)
        first = self.branch(place, EACH, len(listed), 0.0, len(listed))
        self._listed[place] = listed
        return first

    def _add_vector(self, places: IntArray, weights: FloatArray) -> int:
        self.places.extend(places.tolist())
        self.weights.extend(weights.tolist())
        self.starts.append(len(self.places))
        return len(self.starts) - 2

    def proof(self, instance: GramInstance) -> GramProof:
        """Return the tree in preorder, with the features and units of the problem."""
        order, each = [], []
        stack = [0]
        while stack:
            place = stack.pop()
            order.append(place)
            kind = self.kind[place]
            if kind == CLOSED:
                continue
            count = {EACH: self.feature[place], AGAIN: 1}.get(kind, 2)
            if kind == EACH:
                each += self._listed[place]
            first = self.first[place]
            stack.extend(range(first + count - 1, first - 1, -1))
        chosen = np.array(order, dtype=np.int64)
        kinds = np.frombuffer(self.kind, dtype=np.uint8)[chosen]
        feature = np.array(self.feature, dtype=np.uint32)[chosen]
        named = (kinds == SPLIT) | (kinds == ON) | (kinds == SIGN) | (kinds == INTERVAL)
        features = instance.features.astype(np.uint32)
        feature[named] = features[feature[named]]
        # In one over units of a column; with budgets that differ as a number, what columns outside R grow by.
        nu_unit = 1.0 / float(np.sqrt(instance.unit)) if instance.one_budget else instance.largest_budget
        return GramProof(
            kinds,
            np.frombuffer(self.test, dtype=np.uint8)[chosen],
            np.array(self.vector, dtype=np.uint32)[chosen],
            feature,
            np.array(self.cut)[chosen] * float(np.sqrt(instance.unit)),
            np.array(self.nu)[chosen] * nu_unit,
            np.array(self.level, dtype=np.uint32)[chosen],
            np.maximum(np.array(self.levels) - instance.offset, 0.0) * instance.unit,
            features[np.array(each, dtype=np.int64)],
            np.array(self.starts, dtype=np.uint32),
            features[np.array(self.places, dtype=np.int64)],
            np.array(self.weights),
        )
