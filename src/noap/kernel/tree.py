"""A proof is checked: levels of growing support size, each a tree whose leaves are closed by the rules.

The only loop of the kernel. It goes through the nodes once, in the order in which they stand.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from noap.kernel import definite, envelope
from noap.kernel.arithmetic import Refused, gamma, need, sum_up
from noap.kernel.conflicts import ChordMajorant, Cover, Demands, kept_features, pairs
from noap.kernel.data import Data, Features
from noap.kernel.majorant import Complement, Majorant, eliminate
from noap.kernel.samples import MOST_AT_ONCE, SampleData, SampleLine, SampleMajorant, check_samples_envelope
from noap.kernel.witness import (
    Beyond,
    Chord,
    Dominance,
    Envelope,
    Feature,
    Lengths,
    Level,
    Line,
    Listed,
    Matrix,
    Node,
    Response,
    SampleAttack,
    SampleEnvelope,
    Scaling,
    Sign,
    SmallClaim,
    Support,
)
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["Checked", "Graph", "check_claim", "check_leaf", "check_levels", "check_list", "check_tree", "lower_below"]

_T = TypeVar("_T")
# The threshold of the node, where it is not the level's; I, F, p; signs; whether no choice is left.
_Open: TypeAlias = tuple[float | None, IntArray, IntArray, int, np.ndarray, bool]


class Graph:
    """What features of a small claim demand of each other.

    Attributes
    ----------
    demands : Demands
        Of its features, numbered by their places.
    fit : bool array of shape (m, m)
        Which pairs may lie in one choice; of a rooted claim, in one with its first feature.
    """

    def __init__(self, demands: Demands, part: Data, rooted: bool) -> None:
        self.demands = demands
        self.fit: BoolArray = demands.graph(part)
        if rooted:
            near = self.fit[0].copy()
            near[0] = True
            self.fit &= near[:, None] & near

    def among(self, places: IntArray) -> "Graph":
        """Return the graph of some features, in this order."""
        made = object.__new__(Graph)
        made.demands, made.fit = self.demands.part(places), self.fit[np.ix_(places, places)]
        return made

    def too_few(self, I: IntArray, F: IntArray, p: int) -> bool:  # noqa: E741
        """Return whether no choice of a node has as many features as are needed."""
        return len(I) + min(p, len(F)) < self.demands.size


class Checked:
    """The witnesses of one claim, each made once however many leaves use it."""

    def __init__(self, data: Data | SampleData, graph: Graph | None = None) -> None:
        self.data, self.graph = data, graph
        self._made: dict[int, tuple[object, object]] = {}

    def _once(self, witness: object, make: Callable[[], _T]) -> _T:
        # The witness is held too: its address stays its own.
        if id(witness) not in self._made:
            self._made[id(witness)] = (witness, make())
        return self._made[id(witness)][1]  # type: ignore[return-value]  # what `make` gave

    def majorant(self, attack: Response | SampleAttack) -> Majorant | ChordMajorant | SampleMajorant:
        """Return the majorant of an attack, or of chords."""

        def make() -> Majorant | ChordMajorant | SampleMajorant:
            data = self.data
            if isinstance(data, SampleData):
                if not isinstance(attack, SampleAttack):
                    raise Refused("M: not an attack on samples")
                return data.majorant(attack)
            if isinstance(attack, SampleAttack):
                raise Refused("M: an attack on samples")
            if isinstance(attack, Chord):
                if self.graph is None:
                    raise Refused("M: chords outside a small claim")
                return ChordMajorant(data, self.graph.demands, attack.intercept)
            return Majorant(data, attack)

        return self._once(attack, make)

    def line(self, line: Line) -> envelope.VarianceLine:
        """Return the line above the variance, or refuse it."""
        data = self.data
        if isinstance(data, SampleData):
            raise Refused("E: not a line about samples")
        return self._once(line, lambda: envelope.VarianceLine(data, line))

    def sample_line(self, line: Line) -> SampleLine:
        """Return the line about samples, or refuse it."""
        data = self.data
        if not isinstance(data, SampleData):
            raise Refused("E: a line about samples")
        return self._once(line, lambda: SampleLine(data, line))

    def scaling(self, scaling: Scaling) -> FloatArray:
        """Return the factors of all features."""

        def make() -> FloatArray:
            z: FloatArray = np.ones(self.data.d)
            need((scaling.features < self.data.d).all(), "S: a feature that is not there")
            z[scaling.features] = scaling.values
            return z

        return self._once(scaling, make)


def check_levels(
    data: Features | SampleData,
    levels: Sequence[Level],
    checked: Checked | None = None,
    supports: Sequence[Support] = (),
) -> float:
    r"""Return the bound of the last level, T, or refuse: no choice of the claim has a value above it.

    :math:`\mathrm{below}_q` bounds every choice of at most q features: at first by lengths, then by the level of this
    size, and by q/(q - 1) times that of one less, since contributions for a fixed u add up. In a choice of q features
    above T each one contributes more than T less what the others can; features that cannot are left out.
    """
    need(len(levels) > 0, "no level")
    allowed = int(data.allowed.sum())
    plain = data.additive and len(data.include) == 0
    need(len(levels) == 1 or plain, "several levels need a definite matrix, no demanded feature and no directions")
    below = np.full(data.k + 1, np.inf)
    if isinstance(data, Features) and data.additive:
        below = data.sums_of_most(data.k)
    before = 0
    by_conflicts: list[tuple[Level, Demands]] = []
    for level in levels:
        q = level.size
        need(before < q <= data.k, "sizes of levels must rise")
        lower_below(below, before, q)
        need(level.target <= level.bound, "a target above the bound")
        if level.by_conflicts:
            if not isinstance(data, Features):
                raise Refused("C: contributions of features do not add up")
            by_conflicts.append((level, Demands(data, level.target, below, q)))
        elif not (len(level.nodes) == 0 and plain and _at_most(below, q) <= level.bound):
            if checked is None:
                checked = Checked(data.matrix() if isinstance(data, Features) else data)
            due = max(level.bound - below[q - 1] * (1 + gamma(4)), 0.0) if plain else 0.0
            _check_features(data, level.features, due)
            F = level.features[~np.isin(level.features, data.include)]
            check_tree(checked, level, data.include, F, q - len(data.include), supports)
        below[q] = min(below[q], max(level.bound, 0.0))
        before = q
    need(before >= min(data.k, allowed), "the last level is too small")
    # A choice of features that contribute nothing is worth no more than none: what is left out, and no unit vector.
    need(
        levels[-1].bound >= sum_up(-data.costs[data.include]),
        "the bound lies below what the demanded features alone are worth",
    )
    if by_conflicts:
        _check_conflicts(data, by_conflicts)  # type: ignore[arg-type]  # each level has been asked for features
    return levels[-1].bound


def lower_below(below: FloatArray, before: int, q: int) -> None:
    """Carry what is proved of `before` features on to all sizes below q."""
    for size in range(max(before, 2), q):
        below[size] = min(below[size], below[size - 1] * (size / (size - 1)) * (1 + gamma(4)))


def _check_conflicts(data: Features, levels: Sequence[tuple[Level, Demands]]) -> None:
    """Refuse unless small claims prove all levels: their graphs in one pass over the pairs, then each claim."""
    covers = [Cover(level, demands) for level, demands in levels]
    looked_at = [number for number, cover in enumerate(covers) if not cover.holds_all]
    if looked_at:
        for number, i, j, _ in pairs(data, [levels[number][1] for number in looked_at]):
            covers[looked_at[number]].take(i, j)
    for (level, demands), cover in zip(levels, covers, strict=True):
        cover.finish()
        for number, claim in enumerate(level.claims):
            try:
                check_claim(data, demands, level, claim)
            except Refused as refusal:
                raise Refused(f"level of {level.size}, claim {number}: {refusal}") from None


def check_claim(data: Features, demands: Demands, level: Level, claim: SmallClaim) -> None:
    """Refuse unless no choice within a small claim that meets the demands has a value above the level's bound."""
    if claim.kept == 0 and len(claim.nodes) == 0 and len(claim.features) < demands.size:
        return
    part = data.part(claim.features)
    graph = Graph(demands.part(claim.features), part, claim.rooted)
    kept_features(graph.fit, claim.kept, demands.size)
    first: IntArray = np.arange(min(int(claim.rooted), claim.kept))
    F: IntArray = np.arange(len(first), claim.kept)
    if claim.rooted:
        F = F[graph.fit[0][F]]
    checked, p = Checked(part, graph), level.size - len(first)
    if graph.too_few(first, F, p) and len(claim.nodes) == 0:
        return
    check_tree(checked, Level(level.size, level.bound, level.target, claim.features, claim.nodes), first, F, p)


def _at_most(below: FloatArray, q: int) -> float:
    """Return what is known of at most q features."""
    one_less = below[q - 1] * (q / (q - 1)) * (1 + gamma(4)) if q > 1 else np.inf
    return float(min(below[q], one_less))


def _check_features(data: Features | SampleData, features: IntArray, due: float) -> None:
    """Refuse unless every feature that a level leaves out may be left out, and every demanded one is there."""
    used = np.zeros(data.d, dtype=np.bool_)
    used[features] = True
    need(int(used.sum()) == len(features), "a feature is listed twice")
    need((data.allowed | ~used).all(), "a forbidden feature is listed")
    need(used[data.include].all(), "a demanded feature is missing")
    left = data.allowed & ~used
    if left.any():
        need(data.definite, "a feature is left out")
        # Where v is constrained a feature may be needed whatever its length.
        spare = data.needless if isinstance(data, Features) and data.constrained else data.most <= due
        need(spare[left].all(), "a feature that counts is left out")


def check_list(
    data: Data | SampleData, level: Level, supports: Sequence[Support], checked: Checked | None = None
) -> float:
    r"""Return a threshold T, or refuse: what any choice is worth beyond T it owes to one support on a list.

    For every choice S worth w(S) > T there is a listed L with :math:`w(S) \le w(S \cap L)`, or with :math:`L \subseteq
    S` and w(S) at most the `beyond` of L. With costs :math:`L \subseteq S` always.
    """
    need(len(data.include) == 0, "a list takes no demanded features")
    need(len(data.directions) == 0 and data.metric is None, "a list takes no directions and no metric")
    for number, one in enumerate(supports):
        need((one.weights != 0).all(), f"support {number} of the list has a weight of 0")
        need(one.value > 0, f"support {number} of the list is worth nothing")
        need(data.value_at_least(one.features, one.weights) >= one.value, f"support {number} of the list is worth less")
    return check_levels(data, [level], checked, supports)


def check_tree(
    checked: Checked,
    level: Level,
    I: IntArray,  # noqa: E741
    F: IntArray,
    p: int,
    supports: Sequence[Support] = (),
) -> None:
    """Refuse unless the nodes, in preorder, prove that no choice of the root has a value above the level's bound.

    Of a list: none but those that rule L leaves to its supports. Where a graph is known: none whose features all fit
    together.
    """
    need(p >= 0, "more features are demanded than k")
    d, graph = checked.data.d, checked.graph
    stack: list[_Open] = [(None, I, F if p > 0 else F[:0], p, np.zeros(d, np.int8), False)]
    for number, node in enumerate(level.nodes):
        if not stack:
            raise Refused("no node is open", number)
        T, I, F, p, signs, empty = stack.pop()  # noqa: E741
        if isinstance(node, Feature):
            j = node.feature
            is_free = j in F
            # A feature that does not fit to an included one is in no choice of the node.
            if (not is_free and graph is None) or j in I or j >= d:
                raise Refused(f"feature {j} is decided", number)
            rest = F[j != F]
            stack.append((T, I, rest, p, signs, empty))
            near = rest if graph is None else rest[graph.fit[j][rest]]
            stack.append((T, np.append(I, j), near if p > 1 else rest[:0], p - 1, signs, empty or not is_free))
        elif isinstance(node, Sign):
            j = node.feature
            if j >= d or signs[j] != 0 or not (j in F or j in I):
                raise Refused(f"the sign of feature {j} is known", number)
            # v and -v have the same value: the first sign may be taken for +.
            for sign in (-1, 1) if signs.any() else (1,):
                known = signs.copy()
                known[j] = sign
                stack.append((T, I, F, p, known, empty))
        else:
            try:
                if isinstance(node, Listed | Beyond):
                    need(node.support < len(supports), "list: no support of this number")
                if isinstance(node, Listed):
                    _is_part(checked.data, I, F, supports[node.support])
                elif isinstance(node, Beyond):
                    one = supports[node.support]
                    need(np.isin(one.features, I).all(), "list: the support is not part of all choices")
                    stack.append((max(one.beyond, level.bound), I, F, p, signs, empty))
                elif not (empty or (graph is not None and graph.too_few(I, F, p))):
                    own = level.target if isinstance(node, Dominance | Matrix) else level.bound
                    own = own if T is None else T
                    if isinstance(node, Dominance) and node.threshold > 0:
                        need(node.threshold <= (level.bound if T is None else T), "S: a threshold above the bound")
                        own = node.threshold
                    check_leaf(checked, own, node, I, F, p, signs)
            except Refused as refusal:
                raise Refused(str(refusal), number) from None
    need(not stack, "nodes are missing")


def _is_part(data: Data | SampleData, I: IntArray, F: IntArray, one: Support) -> None:  # noqa: E741
    """Refuse unless every choice of a node is part of a support; with costs it must be the only one."""
    reach = np.concatenate([I, F])
    need(np.isin(reach, one.features).all(), "list: the node has choices beyond the support")
    if data.has_costs:
        need(len(F) == 0 and len(I) == len(one.features), "list: with costs a part may be worth more")


def check_leaf(
    checked: Checked,
    T: float,
    leaf: Node,
    I: IntArray,  # noqa: E741
    F: IntArray,
    p: int,
    signs: np.ndarray | None = None,
) -> None:
    """Refuse unless a rule shows that no choice of the node has a value above its threshold."""
    data = checked.data
    if len(I) + len(F) == 0:
        return
    if isinstance(data, SampleData) and p >= len(F) and not data.costs[F].any():
        I, F, p = np.concatenate([I, F]).astype(np.intp), F[:0], 0  # noqa: E741  # all may be used, at no cost
    if isinstance(leaf, Dominance):
        majorant = checked.majorant(leaf.attack)
        C: Complement | FloatArray
        if isinstance(majorant, SampleMajorant) and len(F) > MOST_AT_ONCE:
            C = Complement(majorant, T, I, F, p)
        else:
            C = eliminate(majorant, T, I, F, p)
        z = None if leaf.scaling is None else checked.scaling(leaf.scaling)[F]
        definite.dominance(C, p, z)
    elif isinstance(leaf, Matrix):
        ordered = np.sort(F)
        definite.matrix(eliminate(checked.majorant(leaf.attack), T, I, ordered, p), ordered, p, leaf.line)
    elif isinstance(leaf, Envelope):
        need(len(leaf.lines) > 0, "E: no line")
        lines = [checked.line(line) for line in leaf.lines]
        for line in lines:
            known = line.signs != 0
            need(not known.any() or (signs is not None and (line.signs == signs)[known].all()), "E: other signs")
        envelope.closes(data, lines, T, I, F, p)  # type: ignore[arg-type]  # `line` has refused samples
    elif isinstance(leaf, SampleEnvelope):
        need(len(leaf.lines) > 0 and len(leaf.lines) == len(leaf.scalings), "E: no line")
        about = [checked.sample_line(line) for line in leaf.lines]
        scalings = [None if z is None else checked.scaling(z) for z in leaf.scalings]
        check_samples_envelope(about[0].data, about, scalings, T, I, F, p)
    elif isinstance(leaf, Lengths):
        need(data.definite, "L: the matrix is not known to be definite")
        need(data.sum_of_most(I, F, p) <= T, "L: the lengths")
    else:
        raise Refused("an unknown rule")
