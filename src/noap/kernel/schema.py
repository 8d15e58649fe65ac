"""The arrays of a certificate, declared once: name, type, meaning; and how witnesses are written into them.

Every list of lists is two arrays, the sizes and the entries one after the other. docs/certificate-format.md describes
them for those who write a checker; a test compares the two.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from noap.kernel.arithmetic import Refused, need
from noap.kernel.witness import (
    BOX,
    CORE,
    FREE,
    LENGTHS,
    PLAIN,
    THRESHOLD,
    Attack,
    Beyond,
    Chord,
    Dominance,
    Envelope,
    Fan,
    Feature,
    Level,
    Line,
    Listed,
    Matrix,
    Node,
    Owner,
    Packed,
    Packing,
    Priced,
    Response,
    SampleAttack,
    SampleEnvelope,
    Scaling,
    Sign,
    SmallClaim,
    Support,
)
from noap.linalg.types import FloatArray

__all__ = ["ARRAYS", "Array", "levels_from", "written"]


class Array(NamedTuple):
    """An array of the file."""

    dtype: str
    meaning: str


ARRAYS: dict[str, Array] = {
    "rho": Array("f8", "budgets, one or d"),
    "costs": Array("f8", "costs, d"),
    "include": Array("u4", "demanded features"),
    "exclude": Array("u4", "forbidden features"),
    "directions": Array("f8", "v is orthogonal to them, m d"),
    "metric": Array("f8", "B, d for a diagonal or d d"),
    "metric_least": Array("f8", "below its smallest eigenvalue, 1"),
    "mean": Array("f8", "subtracted from the samples, d"),
    "scale": Array("f8", "the samples are divided by, d"),
    "support": Array("u4", "features of the vector"),
    "weights": Array("f8", "weights of the vector"),
    "list_size": Array("u4", "features of a support on the list"),
    "list_value": Array("f8", "what its vector is worth at least"),
    "list_beyond": Array("f8", "what no choice that contains it is worth more than"),
    "list_features": Array("u4", "features of these supports"),
    "list_weights": Array("f8", "weights of their vectors"),
    "level_size": Array("u4", "features of a choice, at most"),
    "level_bound": Array("f8", "T"),
    "level_target": Array("f8", "T_0, for leaves with a majorant"),
    "level_features": Array("u4", "how many features the level works on"),
    "level_nodes": Array("u4", "how many nodes its tree has"),
    "features": Array("u4", "features of all levels"),
    "conflict_level": Array("u4", "levels that are proved by conflicts"),
    "conflict_order": Array("u4", "how many features such a level has in order"),
    "conflict_claims": Array("u4", "how many small claims it has"),
    "order": Array("u4", "features in the order in which they are taken out"),
    "claim_rooted": Array("u1", "1: a small claim takes its first feature out; 0: all of its features"),
    "claim_size": Array("u4", "features of a small claim"),
    "claim_kept": Array("u4", "how many of them its tree works on"),
    "claim_nodes": Array("u4", "how many nodes its tree has"),
    "claim_features": Array("u4", "features of all small claims"),
    "rule": Array("u1", "rules of all nodes"),
    "item": Array("u4", "feature, or number of a record or a support"),
    "majorant_size": Array("u4", "features of the vector that a majorant responds to"),
    "majorant_gain": Array("f8", "kappa"),
    "majorant_deflation": Array("f8", "sigma, m of each"),
    "majorant_multipliers": Array("f8", "lambda, m of each; in a metric one"),
    "majorant_chord": Array("f8", "intercept of chords, below 0; 0: none"),
    "majorant_features": Array("u4", "features of these vectors"),
    "majorant_weights": Array("f8", "their weights"),
    "attack_included": Array("u4", "features of I in the node of an attack on samples"),
    "attack_free": Array("u4", "features of F in it"),
    "attack_places": Array("u4", "p of it"),
    "attack_columns": Array("u4", "these features, those of I first"),
    "attack_spread": Array("f8", "share of a budget at right angles to the vector"),
    "attack_rows": Array("u4", "samples whose moves are given"),
    "attack_samples": Array("u4", "these samples"),
    "attack_moves": Array("f4", "their moves"),
    "dominance_majorant": Array("u4", "number of a majorant"),
    "dominance_scaling": Array("u4", "0, or 1 + number of a scaling"),
    "dominance_threshold": Array("f8", "0: T_0; else what the leaf shows instead"),
    "scaling_size": Array("u4", "features that a scaling names"),
    "scaling_features": Array("u4", "these features"),
    "scaling_values": Array("f4", "their factors"),
    "matrix_majorant": Array("u4", "number of a majorant"),
    "matrix_line": Array("u4", "number of a line"),
    "line_size": Array("u4", "features of a line"),
    "line_c": Array("f8", "c"),
    "line_plain": Array("f8", "mu_1"),
    "line_weighted": Array("f8", "mu_w"),
    "line_deflation": Array("f8", "sigma, m of each"),
    "line_counts": Array("u1", "norm in which cardinality is counted: 0 plain, 1 weighted"),
    "line_form": Array("u1", "0 THRESHOLD, 1 BOX, 2 FREE, 3 CORE; plus 4 with dues and pulls"),
    "line_features": Array("u4", "features of all lines"),
    "line_loads": Array("f4", "lambda"),
    "line_lifts": Array("f4", "q"),
    "line_core": Array("u1", "CORE: 1 for its features, 0 for all others"),
    "line_steps": Array("i2", "BOX and CORE: B - G' over the box, times 32767"),
    "line_free": Array("f4", "FREE: B - G'"),
    "line_signs": Array("i1", "FREE: signs of the entries of v"),
    "line_dues": Array("f4", "alpha"),
    "line_pulls": Array("f4", "y"),
    "envelope_size": Array("u4", "lines of an envelope"),
    "envelope_lines": Array("u4", "their numbers"),
    "envelope_scalings": Array("u4", "of lines about samples: 0, or 1 + number of a scaling"),
    "slots": Array("u4", "features of each of several choices, at most"),
    "slot_size": Array("u4", "entries of the vector that belong to each"),
    "claim_levels": Array("u4", "levels of a priced claim"),
    "claim_costs": Array("f8", "its costs, d"),
    "owner": Array("u4", "features that get an owner; d: a leaf"),
    "owner_claims": Array("u4", "numbers of the claims of each leaf, one for each slot"),
    "fan_line": Array("u4", "number of a line about all choices"),
    "fan_rank": Array("u4", "columns of its factor L"),
    "fan_factors": Array("f8", "these factors, row by row"),
}

# Codes of the rules.
_FEATURE, _SIGN, _LENGTHS, _DOMINANCE, _MATRIX, _ENVELOPE, _LISTED, _BEYOND = range(8)
_WITH_DUES = 4


class _Table:
    """Witnesses of one kind, each numbered when it is first met."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._numbers: dict[int, int] = {}

    def number(self, witness: object) -> int:
        """Return the number of a witness."""
        if id(witness) not in self._numbers:
            self._numbers[id(witness)] = len(self.rows)
            self.rows.append(witness)
        return self._numbers[id(witness)]


def written(
    levels: Sequence[Level],
    supports: Sequence[Support] = (),
    directions: int = 0,
    normals: int = 0,
    packing: Packing | None = None,
) -> dict[str, np.ndarray]:
    """Return the arrays of a proof about vectors orthogonal to so many directions; in a metric there is one normal.

    A packing, about several choices, takes the place of levels.
    """
    counts = {"deflation": directions, "multipliers": normals}

    def directed(witness: Any, name: str) -> FloatArray:
        """Return a number for each direction or normal, 0 where the witness has none."""
        found: FloatArray = getattr(witness, name, np.empty(0))
        return found if len(found) else np.zeros(counts[name])

    attacks, scalings, lines, dominances, matrices, envelopes = (_Table() for _ in range(6))
    if packing is not None:
        levels = [level for claim in packing.priced for level in claim.levels]
    rules: list[int] = []
    items: list[int] = []
    claims = [claim for level in levels for claim in level.claims]
    by_conflicts = [i for i, level in enumerate(levels) if level.by_conflicts]
    for nodes in (*(level.nodes for level in levels), *(claim.nodes for claim in claims)):
        for node in nodes:
            rule, item = _LENGTHS, 0
            if isinstance(node, Feature | Sign):
                rule, item = (_FEATURE if isinstance(node, Feature) else _SIGN), node.feature
            elif isinstance(node, Dominance):
                rule, item = _DOMINANCE, dominances.number(node)
            elif isinstance(node, Matrix):
                rule, item = _MATRIX, matrices.number(node)
            elif isinstance(node, Envelope | SampleEnvelope):
                rule, item = _ENVELOPE, envelopes.number(node)
            elif isinstance(node, Listed | Beyond):
                rule, item = (_LISTED if isinstance(node, Listed) else _BEYOND), node.support
            rules.append(rule)
            items.append(item)
    made: dict[str, Any] = {
        "list_size": [len(one.features) for one in supports],
        "list_value": [one.value for one in supports],
        "list_beyond": [one.beyond for one in supports],
        "list_features": _joined(one.features for one in supports),
        "list_weights": _joined(one.weights for one in supports),
        "level_size": [one.size for one in levels],
        "level_bound": [one.bound for one in levels],
        "level_target": [one.target for one in levels],
        "level_features": [len(one.features) for one in levels],
        "level_nodes": [len(one.nodes) for one in levels],
        "features": _joined(one.features for one in levels),
        "conflict_level": by_conflicts,
        "conflict_order": [len(levels[i].order) for i in by_conflicts],
        "conflict_claims": [len(levels[i].claims) for i in by_conflicts],
        "order": _joined(levels[i].order for i in by_conflicts),
        "claim_rooted": [one.rooted for one in claims],
        "claim_size": [len(one.features) for one in claims],
        "claim_kept": [one.kept for one in claims],
        "claim_nodes": [len(one.nodes) for one in claims],
        "claim_features": _joined(one.features for one in claims),
        "rule": rules,
        "item": items,
        "dominance_majorant": [attacks.number(one.attack) for one in dominances.rows],
        "dominance_scaling": [
            0 if one.scaling is None else 1 + scalings.number(one.scaling) for one in dominances.rows
        ],
        "dominance_threshold": [one.threshold for one in dominances.rows],
        "matrix_majorant": [attacks.number(one.attack) for one in matrices.rows],
        "matrix_line": [lines.number(one.line) for one in matrices.rows],
        "envelope_size": [len(one.lines) for one in envelopes.rows],
        "envelope_lines": [lines.number(line) for one in envelopes.rows for line in one.lines],
        "envelope_scalings": [
            0 if z is None else 1 + scalings.number(z)
            for one in envelopes.rows
            if isinstance(one, SampleEnvelope)
            for z in one.scalings
        ],
    }
    if packing is not None:
        made |= _packed(packing, lines)
    on_samples = [one for one in attacks.rows if isinstance(one, SampleAttack)]
    made |= {
        "attack_included": [len(one.included) for one in on_samples],
        "attack_free": [len(one.free) for one in on_samples],
        "attack_places": [one.places for one in on_samples],
        "attack_columns": _joined(part for one in on_samples for part in (one.included, one.free)),
        "attack_spread": [one.spread for one in on_samples],
        "attack_rows": [len(one.rows) for one in on_samples],
        "attack_samples": _joined(one.rows for one in on_samples),
        "attack_moves": _joined(one.moves.ravel() for one in on_samples if one.moves is not None),
    }
    vectors = [PLAIN if isinstance(one, Chord) else one for one in attacks.rows]
    chords = [one.intercept if isinstance(one, Chord) else 0.0 for one in attacks.rows]
    made |= {
        "majorant_size": [len(one.features) for one in vectors],
        "majorant_gain": [one.gain for one in vectors],
        "majorant_chord": chords if any(chords) else [],
        "majorant_deflation": _joined(directed(one, "deflation") for one in vectors),
        "majorant_multipliers": _joined(directed(one, "multipliers") for one in vectors),
        "majorant_features": _joined(one.features for one in vectors),
        "majorant_weights": _joined(one.weights for one in vectors),
        "scaling_size": [len(one.features) for one in scalings.rows],
        "scaling_features": _joined(one.features for one in scalings.rows),
        "scaling_values": _joined(one.values for one in scalings.rows),
        "line_size": [len(one.features) for one in lines.rows],
        "line_c": [one.c for one in lines.rows],
        "line_plain": [one.plain for one in lines.rows],
        "line_weighted": [one.weighted for one in lines.rows],
        "line_deflation": _joined(directed(one, "deflation") for one in lines.rows),
        "line_counts": [one.counts for one in lines.rows],
        "line_form": [one.form + (0 if one.dues is None else _WITH_DUES) for one in lines.rows],
        "line_features": _joined(one.features for one in lines.rows),
        "line_loads": _joined(one.loads for one in lines.rows),
        "line_lifts": _joined(one.lifts for one in lines.rows),
        "line_core": _joined(one.core for one in lines.rows if one.core is not None),
        "line_steps": _joined(one.entries for one in lines.rows if one.form in (BOX, CORE)),
        "line_free": _joined(one.entries for one in lines.rows if one.form == FREE),
        "line_signs": _joined(
            np.zeros(len(one.features)) if one.signs is None else one.signs for one in lines.rows if one.form == FREE
        ),
        "line_dues": _joined(one.dues for one in lines.rows if one.dues is not None),
        "line_pulls": _joined(one.pulls.ravel() for one in lines.rows if one.pulls is not None),
    }
    return {name: np.asarray(numbers, dtype="<" + ARRAYS[name].dtype) for name, numbers in made.items()}


def _packed(packing: Packing, lines: _Table) -> dict[str, Any]:
    """Return the arrays of a claim about several choices beside levels and witnesses."""
    d = len(packing.priced[0].costs) if packing.priced else 0
    return {
        "slots": packing.slots,
        "slot_size": packing.sizes,
        "claim_levels": [len(claim.levels) for claim in packing.priced],
        "claim_costs": _joined(claim.costs for claim in packing.priced),
        "owner": [node.feature if isinstance(node, Owner) else d for node in packing.nodes],
        "owner_claims": [number for node in packing.nodes if isinstance(node, Packed) for number in node.claims],
        "fan_line": [lines.number(fan.line) for fan in packing.fans],
        "fan_rank": [fan.factor.shape[1] for fan in packing.fans],
        "fan_factors": _joined(fan.factor.ravel() for fan in packing.fans),
    }


def _joined(parts: Iterable[Any]) -> np.ndarray:
    listed = list(parts)
    return np.concatenate(listed) if listed else np.empty(0)


class _Reader:
    """Takes arrays apart, each number once.

    `samples` is their number where the proof is about them, `directions` that of those that v is orthogonal to,
    `normals` that of multipliers of an attack.
    """

    def __init__(
        self, arrays: dict[str, np.ndarray], d: int, samples: int | None, directions: int, normals: int
    ) -> None:
        self.arrays, self.d, self.samples, self.directions, self.normals = arrays, d, samples, directions, normals
        self._at: dict[str, int] = {}

    def whole(self, name: str, count: int | None = None) -> np.ndarray:
        """Return an array as doubles or indices; it must have so many numbers, all finite."""
        found = self.arrays.get(name, np.empty(0, "<" + ARRAYS[name].dtype))
        need(count is None or len(found) == count, f"array {name} has {len(found)} numbers")
        self._at[name] = len(found)
        if found.dtype.kind == "f":
            need(np.isfinite(found).all(), f"array {name} has a number that is not finite")
            return found if found.dtype.itemsize == 4 else found.astype(np.float64)
        return found if found.dtype.itemsize < 4 else found.astype(np.intp)

    def part(self, name: str, count: int) -> np.ndarray:
        """Return the next numbers of an array."""
        if name not in self._at:
            self.arrays[name] = self.whole(name)
            self._at[name] = 0
        at = self._at[name]
        found = self.arrays[name][at : at + count]
        need(len(found) == count, f"array {name} is too short")
        self._at[name] = at + count
        return found

    def features(self, name: str, count: int, most: int | None = None) -> np.ndarray:
        """Return the next features of an array, ascending."""
        found, most = self.part(name, count), self.d if most is None else most
        need((np.diff(found) > 0).all() and (found < most).all(), f"array {name}: numbers must ascend, in range")
        return found

    def below_d(self, name: str, count: int) -> np.ndarray:
        """Return the next features of an array, in any order."""
        found = self.part(name, count)
        need((found < self.d).all(), f"array {name}: features must be below d")
        return found

    def finish(self) -> None:
        """Refuse numbers that nothing has asked for."""
        for name, found in self.arrays.items():
            need(self._at.get(name, 0) == len(found), f"array {name} is too long")


def levels_from(
    arrays: dict[str, np.ndarray],
    d: int,
    samples: int | None = None,
    directions: int = 0,
    normals: int = 0,
    several: bool = False,
) -> tuple[tuple[Level, ...], tuple[Support, ...], Packing | None]:
    """Return the levels, the list and the packing that the arrays hold; raises Refused where they make no sense.

    Parameters
    ----------
    d : int
    samples : int, optional
        How many there are, where attacks and envelopes are about them.
    directions : int
        How many there are that v is orthogonal to.
    normals : int
        As many, or one in a metric.
    several : bool
        Whether the claim is about several choices: a packing takes all levels.
    """
    if len(arrays.get("majorant_chord", ())) == 0:  # left out where no majorant has chords
        arrays = {**arrays, "majorant_chord": np.zeros(len(arrays.get("majorant_size", ())))}
    reader = _Reader(dict(arrays), d, samples, directions, normals)
    supports = tuple(_rows(reader, "list_size", _support))
    attacks = _rows(reader, "majorant_size", _attack)
    scalings = _rows(reader, "scaling_size", _scaling)
    lines = _rows(reader, "line_size", _line)
    by_majorant, by_scaling = reader.whole("dominance_majorant"), reader.whole("dominance_scaling")
    thresholds = reader.whole("dominance_threshold")
    need(len(by_majorant) == len(by_scaling) == len(thresholds), "dominance records of different lengths")
    need((thresholds >= 0).all(), "a negative threshold of a leaf")
    dominances = [
        Dominance(_of(attacks, a), None if z == 0 else _of(scalings, z - 1), float(t))
        for a, z, t in zip(by_majorant, by_scaling, thresholds, strict=True)
    ]
    with_majorant, with_line = reader.whole("matrix_majorant"), reader.whole("matrix_line")
    need(len(with_majorant) == len(with_line), "matrix records of different lengths")
    matrices = [Matrix(_of(attacks, a), _of(lines, b)) for a, b in zip(with_majorant, with_line, strict=True)]
    counts = reader.whole("envelope_size")
    need((counts > 0).all(), "an envelope without lines")
    envelopes = [_envelope(reader, int(n), lines, scalings) for n in counts]
    sizes = reader.whole("level_size")
    count = len(sizes)
    bounds, targets = reader.whole("level_bound", count), reader.whole("level_target", count)
    widths, lengths = reader.whole("level_features", count), reader.whole("level_nodes", count)

    def node(rule: int, item: int) -> Node:
        if rule in (_FEATURE, _SIGN):
            need(item < d, "a node branches on no feature")
            return Feature(int(item)) if rule == _FEATURE else Sign(int(item))
        if rule in (_LISTED, _BEYOND):
            need(item < len(supports), "a support that is not there")
            return Listed(int(item)) if rule == _LISTED else Beyond(int(item))
        if rule == _LENGTHS:
            need(item == 0, "an item that means nothing")
            return LENGTHS
        tables: dict[int, Sequence[Node]] = {_DOMINANCE: dominances, _MATRIX: matrices, _ENVELOPE: envelopes}
        if rule not in tables:
            raise Refused(f"an unknown rule: {rule}")
        found: Node = _of(tables[rule], item)
        return found

    def nodes(count: int) -> tuple[Node, ...]:
        pairs = zip(reader.part("rule", count), reader.part("item", count), strict=True)
        return tuple(node(int(rule), int(item)) for rule, item in pairs)

    own = [(reader.features("features", int(widths[i])), nodes(int(lengths[i]))) for i in range(count)]
    conflicts: dict[int, tuple[np.ndarray, tuple[SmallClaim, ...]]] = {}
    numbers = reader.whole("conflict_level")
    need((np.diff(numbers) > 0).all() and (numbers < count).all(), "levels by conflicts must ascend")
    orders, claims = reader.whole("conflict_order", len(numbers)), reader.whole("conflict_claims", len(numbers))
    for i, some, many in zip(numbers.tolist(), orders.tolist(), claims.tolist(), strict=True):
        need(widths[i] == 0 and lengths[i] == 0, "a level by conflicts has a tree")
        conflicts[i] = (reader.below_d("order", some), tuple(_small_claim(reader, nodes) for _ in range(many)))
    levels = tuple(
        Level(int(sizes[i]), float(bounds[i]), float(targets[i]), *own[i], i in conflicts, *conflicts.get(i, ()))
        for i in range(count)
    )
    packing = _packing(reader, levels, lines) if several else None
    reader.finish()
    return () if several else levels, supports, packing


def _packing(reader: _Reader, levels: Sequence[Level], lines: list[Line]) -> Packing:
    slots, counts = reader.whole("slots"), reader.whole("claim_levels")
    sizes, r, d = reader.whole("slot_size", len(slots)), len(slots), reader.d
    need(int(counts.sum()) == len(levels), "levels that belong to no claim")
    starts = np.append(0, np.cumsum(counts))
    priced = tuple(
        Priced(reader.part("claim_costs", d), tuple(levels[int(starts[i]) : int(starts[i + 1])]))
        for i in range(len(counts))
    )
    need(all((claim.costs >= 0).all() for claim in priced), "a negative cost")
    branches = reader.whole("owner")
    need((branches <= d).all(), "a feature that is not there gets an owner")
    nodes = tuple(Owner(int(j)) if j < d else Packed(tuple(reader.part("owner_claims", r).tolist())) for j in branches)
    about, ranks = reader.whole("fan_line"), reader.whole("fan_rank")
    need(len(about) == len(ranks), "fans of different lengths")
    fans = []
    for number, rank in zip(about, ranks, strict=True):
        line = _of(lines, number)
        b = len(line.features)
        fans.append(Fan(line, reader.part("fan_factors", b * int(rank)).reshape(b, int(rank))))
    return Packing(tuple(slots.tolist()), tuple(sizes.tolist()), priced, nodes, tuple(fans))


def _rows(reader: _Reader, sizes: str, make: Callable[[_Reader, int, int], Any]) -> list[Any]:
    return [make(reader, i, int(size)) for i, size in enumerate(reader.whole(sizes))]


def _of(table: Sequence[Any], number: int) -> Any:
    need(number < len(table), "a record that is not there")
    return table[int(number)]


def _support(reader: _Reader, i: int, size: int) -> Support:
    value, beyond = (float(reader.part(name, 1)[0]) for name in ("list_value", "list_beyond"))
    return Support(reader.features("list_features", size), reader.part("list_weights", size), value, beyond)


def _small_claim(reader: _Reader, nodes: Callable[[int], tuple[Node, ...]]) -> SmallClaim:
    rooted, size, kept, count = (
        int(reader.part(f"claim_{name}", 1)[0]) for name in ("rooted", "size", "kept", "nodes")
    )
    need(rooted <= 1, "a claim is rooted or not")
    return SmallClaim(bool(rooted), reader.below_d("claim_features", size), kept, nodes(count))


def _envelope(reader: _Reader, size: int, lines: list[Line], scalings: list[Scaling]) -> Envelope | SampleEnvelope:
    about = tuple(_of(lines, number) for number in reader.part("envelope_lines", size))
    if reader.samples is None:
        return Envelope(about)
    numbers = reader.part("envelope_scalings", size)
    return SampleEnvelope(about, tuple(None if z == 0 else _of(scalings, z - 1) for z in numbers))


def _attack(reader: _Reader, i: int, size: int) -> Response | SampleAttack:
    gain, chord = (float(reader.part(name, 1)[0]) for name in ("majorant_gain", "majorant_chord"))
    sigma = reader.part("majorant_deflation", reader.directions)
    multipliers = reader.part("majorant_multipliers", reader.normals)
    need(gain >= 0, "a negative gain")
    if reader.samples is not None:
        need(chord == 0, "chords where samples are attacked")
        return _attack_on_samples(reader, size, gain, reader.samples)
    if chord != 0:
        need(size == 0 and gain == 0 and chord < 0, "chords with a vector or a gain, or not below 0")
        return Chord(chord)
    if size == 0 and gain == 0 and not sigma.any() and not multipliers.any():
        return PLAIN
    features, weights = reader.features("majorant_features", size), reader.part("majorant_weights", size)
    return Attack(features, weights, gain, sigma, multipliers)


def _attack_on_samples(reader: _Reader, size: int, gain: float, n: int) -> SampleAttack:
    inside, free, places, given = (
        int(reader.part(f"attack_{name}", 1)[0]) for name in ("included", "free", "places", "rows")
    )
    I, F = (reader.features("attack_columns", count) for count in (inside, free))  # noqa: E741
    spread = float(reader.part("attack_spread", 1)[0])
    features, weights = reader.features("majorant_features", size), reader.part("majorant_weights", size)
    rows, moves = reader.features("attack_samples", given, n), None
    if size == 0:
        moves = reader.part("attack_moves", given * (inside + free)).reshape(given, inside + free)
    else:
        need(given == 0, "moves of a response")
    return SampleAttack(I, F, places, features, weights, gain, spread, rows, moves)


def _scaling(reader: _Reader, i: int, size: int) -> Scaling:
    features, values = reader.features("scaling_features", size), reader.part("scaling_values", size)
    need((values > 0).all(), "a factor of a scaling that is not positive")
    return Scaling(features, values)


def _line(reader: _Reader, i: int, b: int) -> Line:
    c, plain, weighted = (float(reader.part(name, 1)[0]) for name in ("line_c", "line_plain", "line_weighted"))
    sigma = reader.part("line_deflation", reader.directions)
    counts, code = int(reader.part("line_counts", 1)[0]), int(reader.part("line_form", 1)[0])
    form = code % _WITH_DUES
    need(code < 2 * _WITH_DUES and form in (THRESHOLD, BOX, FREE, CORE), "a line of an unknown form")
    features = reader.features("line_features", b, max(reader.d, reader.samples or 0))
    loads, lifts = reader.part("line_loads", b), reader.part("line_lifts", b)
    entries = signs = core = dues = pulls = None
    if form == CORE:
        core = reader.part("line_core", b)
        need((core <= 1).all(), "a feature is in the core or not")
        core = core == 1
    m = b if core is None else int(core.sum())
    pairs = m * (m - 1) // 2
    if form in (BOX, CORE):
        entries = reader.part("line_steps", pairs)
        need((entries > -32768).all(), "a step out of the box")
    if form == FREE:
        entries, signs = reader.part("line_free", pairs), reader.part("line_signs", b)
    if code >= _WITH_DUES:
        dues, pulls = reader.part("line_dues", b), reader.part("line_pulls", b * b).reshape(b, b)
    signless = (loads, lifts) if dues is None else (loads, lifts, dues)
    need(all((part >= 0).all() for part in signless), "a negative multiplier of a line")
    return Line(features, c, plain, weighted, counts, form, loads, lifts, entries, signs, dues, pulls, sigma, core)
