"""Cheap nodes: majorants in response to good vectors, closed by scaled diagonal dominance; depth first."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from noap.heuristics.metric import multiplier_of
from noap.kernel.arithmetic import Refused
from noap.kernel.conflicts import ChordMajorant
from noap.kernel.data import Data
from noap.kernel.majorant import Majorant, eliminate
from noap.kernel.samples import SampleData, SampleMajorant
from noap.kernel.tree import Graph
from noap.kernel.witness import (
    LENGTHS,
    PLAIN,
    Attack,
    Chord,
    Dominance,
    Feature,
    Node,
    Response,
    SampleAttack,
    Scaling,
)
from noap.linalg.types import FloatArray, IntArray
from noap.search.ascent import climbed, deflations, multipliers_of, value_of
from noap.search.fringe import Fringe
from noap.settings import Settings

__all__ = ["Better", "Bounder", "CheapTree", "Hole", "Outlook", "children", "deflated"]


class Better(Exception):  # good news
    """A vector was found whose value is above the threshold."""

    def __init__(self, v: FloatArray) -> None:
        super().__init__("a better vector")
        self.v = v


# Dominance that holds by less than this is left to the next step: the kernel rounds otherwise.
_MARGIN = 1e-10
# A diagonal entry below this part of the threshold fails.
_NOTHING = 1e-13


@dataclass
class Bounder:
    """A majorant with the scaling that closed the last node: nodes that follow are much alike."""

    attack: Response | SampleAttack
    majorant: Majorant | ChordMajorant | SampleMajorant
    z: FloatArray
    written: Scaling | None = None
    fringe: Fringe | None = None

    def leaf(self, F: IntArray, p: int) -> Dominance:
        """Return the witness of a node that is closed with the present scaling."""
        if min(p, len(F)) < 2 or (self.z[F] == 1.0).all():
            return Dominance(self.attack)
        if self.written is None or not _covers(self.written, F, self.z):
            others = np.flatnonzero(self.z != 1.0)
            self.written = Scaling(others, self.z[others].astype(np.float32))
        return Dominance(self.attack, self.written)


def _covers(scaling: Scaling, F: IntArray, z: FloatArray) -> bool:
    every = np.ones(len(z))
    every[scaling.features] = scaling.values
    return bool((every[F] == z[F]).all())


@dataclass(frozen=True, eq=False)
class Hole:
    """A node that majorants do not close, whatever is branched on."""

    included: IntArray
    free: IntArray
    places: int


@dataclass
class Outlook:
    """What a test saw of a node that it could not close: how far from dominance, by which attack; what to branch on."""

    ratio: float = np.inf
    feature: int = -1
    attack: Response | SampleAttack = PLAIN

    def see(self, ratio: float, feature: int, attack: Response | SampleAttack) -> None:
        """Keep the better one."""
        if ratio < self.ratio or self.feature < 0:
            self.ratio, self.feature, self.attack = ratio, feature, attack


@dataclass
class CheapTree:
    """Closes nodes at a threshold T, or says that it could not within a budget.

    Attributes
    ----------
    data : Data or SampleData
        Against samples the bounders are given, and nodes get none of their own.
    T : float
    settings : Settings
    check : callable
        Raises when a limit is reached.
    graph : Graph or None
        What features demand of each other, in a small claim.
    count : int
        Features of the root.
    nodes : int
        Nodes looked at so far.
    """

    data: Data | SampleData
    T: float
    settings: Settings
    check: Callable[[], None]
    graph: Graph | None = None
    count: int = 0
    nodes: int = 0
    bounders: list[Bounder] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._own_z = np.ones(self.data.d)
        settings, in_metric = self.settings, self.data.metric is not None and self.data.constrained
        self._own_response = settings.own_response_in_metric if in_metric else settings.own_response

    def respond_to(self, v: FloatArray) -> None:
        """Take the majorants in response to v into those that every node is tried with; without budgets A itself.

        In a small claim chords come first, with the intercept of the feature that contributes most.
        """
        data = self._features()
        if self.graph is not None:
            demands = self.graph.demands
            intercept = -float(demands.back[int(np.argmax(data.most))])
            if intercept < -_NOTHING * self.T:
                with contextlib.suppress(Refused):
                    chords = ChordMajorant(data, demands, intercept)
                    self.bounders.append(Bounder(Chord(intercept), chords, np.ones(data.d)))
        if data.r_max == 0 or (len(data.directions) and not v.any()):
            self.bounders.extend(self._bounder(attack, keep=True) for attack in deflated(data, PLAIN, self.settings))
        elif v.any():
            self.bounders.extend(self._responses(v, keep=True))

    def _bounder(self, attack: Attack, keep: bool = False) -> Bounder:
        data = self._features()
        majorant = Majorant(data, attack)
        if keep and self.has_fringe:
            fringe = Fringe(majorant, data.k, self.T, self.settings)
            return Bounder(attack, majorant, np.ones(data.d), fringe=fringe)
        return Bounder(attack, majorant, np.ones(data.d) if keep else self._own_z)

    @property
    def has_fringe(self) -> bool:
        """Whether features are so many that nodes are tested on a pool of them."""
        return self.count > self.settings.fringe_features and not self.data.constrained and self.data.metric is None

    def _features(self) -> Data:
        assert isinstance(self.data, Data)
        return self.data

    def _responses(self, v: FloatArray, keep: bool = False) -> Iterator[Bounder]:
        """Yield the majorants in response to v that the kernel takes: none of a vector with next to no variance."""
        data = self._features()
        for attack in self._attacks(v):
            for one in deflated(data, attack, self.settings):
                with contextlib.suppress(Refused):
                    yield self._bounder(one, keep)

    def _attacks(self, v: FloatArray) -> Iterator[Attack]:
        """Yield the response without gain, and with the largest one that all features with a budget in reach allow."""
        data = self._features()
        at = np.flatnonzero(v)
        x = v[at].astype(np.float32).astype(np.float64)
        g = data.A[:, at] @ x
        length = np.sqrt(max(float(x @ g[at]), 0.0))
        if length == 0:
            return
        if len(data.directions):
            yield Attack(at, x, multipliers=multipliers_of(data, v))
            return
        if data.constrained:
            yield Attack(at, x, multipliers=np.array([multiplier_of(data, v)]))
            yield Attack(at, x)
            return
        yield Attack(at, x)
        g /= length
        spare = data.lengths - data.r
        gains = (np.abs(g) >= data.r) & (data.r > 0) & (spare > 0) & (data.most > 0)
        if gains.any():
            largest = float(np.float32((data.r[gains] / spare[gains]).min() * (1 - 1e-7)))
            if 1e-9 < largest < 1e5:
                yield Attack(at, x, largest)

    def close(
        self,
        I: IntArray,  # noqa: E741
        F: IntArray,
        p: int,
        budget: int,
        holes: int = 0,
    ) -> "list[Node | Hole] | None":
        """Return the subtree in preorder that closes a node; None where the budget of nodes was not enough.

        Parameters
        ----------
        I, F, p
            The node.
        budget : int
        holes : int
            So many nodes may stay open where no majorant closes the included features alone.
        """
        stack, nodes, found = [(I, F if p > 0 else F[:0], p)], 0, list[Node | Hole]()
        while stack:
            self.check()
            I, F, p = stack.pop()  # noqa: E741
            nodes += 1
            self.nodes += 1
            if self.graph is not None and self.graph.too_few(I, F, p):
                found.append(LENGTHS)
                continue
            outlook = Outlook()
            leaf = self.leaf(I, F, p, outlook)
            if leaf is not None:
                found.append(leaf)
                continue
            if outlook.feature < 0 and holes > 0 and nodes < budget:
                holes -= 1
                found.append(Hole(I, F, p))
                continue
            if outlook.feature < 0 and isinstance(self.data, Data) and self.data.r_max == 0 and self.data.additive:
                self._own_vector(I, F, p)  # included features alone are worth more
            if outlook.feature < 0 or nodes >= budget:
                return None
            found.append(Feature(outlook.feature))
            stack.extend(children(I, F, p, outlook.feature, self.graph))
        return found

    def leaf(self, I: IntArray, F: IntArray, p: int, outlook: Outlook) -> Node | None:  # noqa: E741
        """Return what closes a node, or None; the outlook learns what to branch on."""
        if len(I) + len(F) == 0:
            return LENGTHS
        for bounder in self.bounders:
            if self.holds(bounder, I, F, p, outlook):
                return bounder.leaf(F, p)
        if (
            isinstance(self.data, Data)
            and self.data.r_max > 0
            and len(I)
            and not self.has_fringe  # responses of a node's own would each need a matrix of all features
            and not outlook.ratio <= self._own_response
        ):
            v = self._own_vector(I, F, p)
            for bounder in self._responses(v) if v is not None else ():
                if self.holds(bounder, I, F, p, outlook):
                    return bounder.leaf(F, p)
        return None

    def holds(self, bounder: Bounder, I: IntArray, F: IntArray, p: int, outlook: Outlook) -> bool:  # noqa: E741
        """Return whether a majorant closes a node; the outlook learns what to branch on."""
        if bounder.fringe is not None:
            bounder.fringe.T = self.T
            closed, ratio, feature = bounder.fringe.test(I, F, p, bounder.z)
            if feature >= 0:
                outlook.see(ratio, feature, bounder.attack)
            return closed
        try:
            C = eliminate(bounder.majorant, self.T, I, F, p)
        except Refused:
            return False
        if len(C) == 0:
            return True
        own = C.diagonal()
        worst = int(np.argmin(own))
        if own[worst] <= _NOTHING * self.T:
            outlook.see(1e200, int(F[worst]), bounder.attack)
            return False
        count = min(p, len(F)) - 1
        if count == 0:
            return True
        s = 1.0 / np.sqrt(own)
        N = np.abs(C) * s
        N *= s[:, None]
        m = len(N)
        N.flat[:: m + 1] = 0.0
        if count == 1:
            bounder.z[F] = 1.0
            sums = N.max(axis=1)
            ratio = float(sums.max())
            if ratio < 1 - _MARGIN:
                return True
            outlook.see(ratio, int(F[int(np.argmax(sums))]), bounder.attack)
            return False
        z = bounder.z[F]
        ratio = np.inf
        for _ in range(self.settings.dominance_steps):
            Y = N * z
            sums = np.partition(Y, m - count, axis=1)[:, m - count :].sum(axis=1) if count < m - 1 else Y.sum(axis=1)
            ratios = sums / z
            ratio = float(ratios.max())
            if ratio < 1 - _MARGIN:
                return True
            if ratios.min() > 1.0:  # no scaling will do (Perron, Frobenius)
                break
            z = np.maximum(np.sqrt(z * np.maximum(sums, 1e-12)), 1e-6)
            z = (z / z.max()).astype(np.float32).astype(np.float64)
            bounder.z[F] = z
        outlook.see(ratio, int(F[int(np.argmax(z))]), bounder.attack)
        return False

    def _own_vector(self, I: IntArray, F: IntArray, p: int) -> FloatArray | None:  # noqa: E741
        """Return a good vector of the node: a few steps of ascent from the included features' leading one."""
        data, n = self._features(), len(I)
        if len(data.directions) or data.metric is not None:
            start: FloatArray = np.zeros(len(data.A))
            start[I] = np.linalg.eigh(data.A[np.ix_(I, I)])[1][:, -1]
            found = climbed(data, start, 10, (I, F, p))
            if value_of(data, found) > self.T:
                raise Better(found)
            return found if found.any() else None
        features = np.concatenate([I, F])
        B, r, costs = data.A[np.ix_(features, features)], data.r[features], data.costs[features]
        v: FloatArray = np.zeros(len(features))
        v[0] = 1.0
        if n > 1:
            v[:n] = np.linalg.eigh(B[:n, :n])[1][:, -1]
        for _ in range(10 if p else 300):
            g = B @ v
            form = float(v @ g)
            if form <= 0:
                return None
            g /= np.sqrt(form)
            w = np.sign(g) * np.maximum(np.abs(g) - r, 0.0)
            gains = w[n:] ** 2 - costs[n:]
            out = gains <= 0
            if p < len(F):
                out[np.argpartition(-gains, p)[p:] if p > 0 else slice(None)] = True
            w[n:][out] = 0.0
            length = float(np.linalg.norm(w))
            if length == 0:
                return None
            w /= length
            if np.abs(w - v).max() < 1e-9:
                break
            v = w
        whole: FloatArray = np.zeros(len(data.A))
        whole[features] = v
        if value_of(data, whole) > self.T:
            raise Better(whole)
        return whole


def children(
    I: IntArray,  # noqa: E741
    F: IntArray,
    p: int,
    feature: int,
    graph: Graph | None = None,
) -> list[tuple[IntArray, IntArray, int]]:
    """Return the two nodes that a feature leads to, the one with it last: a stack takes that one first."""
    rest = F[feature != F]
    near = rest if graph is None else rest[graph.fit[feature][rest]]
    return [(I, rest, p), (np.append(I, feature), near if p > 1 else near[:0], p - 1)]


def deflated(data: Data, attack: Attack, settings: Settings) -> list[Attack]:
    """Return an attack with rising multiples of the directions that v is orthogonal to; itself where there are none."""
    if not len(data.directions):
        return [attack]
    own = deflations(data)
    factors = settings.deflation_factor ** np.arange(max(int(settings.deflations), 1))
    return [replace(attack, deflation=factor * own) for factor in factors]
