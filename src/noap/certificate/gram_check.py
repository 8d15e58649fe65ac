"""Walk a Gram proof and re-prove every node."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from noap._compiled import is_compiled, tell
from noap.certificate._kernels_gram_test import ALL, NOTHING, schur_test
from noap.certificate._kernels_gram_tighten import tighten
from noap.certificate.gram_data import GramData
from noap.certificate.gram_proof import AGAIN, CHORDS, CLOSED, EACH, INTERVAL, ON, SIGN, SPLIT, GramProof
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["check_gram"]

# Open nodes may hold this many numbers in all; a proof that needs more is refused.
_MOST_HELD = 2e8
# How often a leaf that stays open is tightened and tested again.
_PATIENCE = 3
# Responses kept at hand: neighbouring nodes share theirs.
_RESPONSES = 8


class _Refused(Exception):
    """The proof does not hold; the message says where."""


@dataclass(frozen=True, eq=False)
class _Node:
    """A set of pairs (u, S): as in docs/certificate-format.md."""

    inc: IntArray
    sign: IntArray
    lo: FloatArray
    hi: FloatArray
    free: IntArray
    ceil: FloatArray

    @property
    def size(self) -> int:
        return 4 * len(self.inc) + 2 * len(self.free) + 64

    def including(self, feature: int, low: float) -> "_Node | None":
        """Return the pairs with the feature in S and s_j >= low; None if there are none."""
        at = np.flatnonzero(self.free == feature)
        if len(at) == 0 or self.ceil[at[0]] < low:
            return None
        # u and -u are worth the same, so the first feature may be taken with the sign +.
        first = 0 if len(self.inc) else 1
        rest = self.free != feature
        return _Node(
            np.append(self.inc, feature),
            np.append(self.sign, first),
            np.append(self.lo, low),
            np.append(self.hi, self.ceil[at[0]]),
            self.free[rest],
            self.ceil[rest],
        )

    def lowered(self, feature: int, cut: float) -> "_Node":
        """Return the pairs with s_j <= cut if the feature lies in S."""
        return _Node(
            self.inc, self.sign, self.lo, self.hi, self.free,
            np.where(self.free == feature, np.minimum(self.ceil, cut), self.ceil),
        )  # fmt: skip

    def only(self, free: BoolArray) -> "_Node":
        """Return the pairs whose free features are among these."""
        return _Node(self.inc, self.sign, self.lo, self.hi, self.free[free], self.ceil[free])

    def between(self, a: int, low: float, high: float) -> "_Node | None":
        """Return the pairs with low <= s_j <= high for included feature number a."""
        lo, hi = self.lo.copy(), self.hi.copy()
        lo[a], hi[a] = max(lo[a], low), min(hi[a], high)
        return None if lo[a] > hi[a] else _Node(self.inc, self.sign, lo, hi, self.free, self.ceil)

    def signed(self, a: int, sign: int) -> "_Node | None":
        """Return the pairs with this sign of a_j'u for included feature number a."""
        if self.sign[a] == -sign:
            return None
        signs = self.sign.copy()
        signs[a] = sign
        return _Node(self.inc, signs, self.lo, self.hi, self.free, self.ceil)


def check_gram(data: GramData, k: int, proof: GramProof, levels: FloatArray) -> str | None:
    """Return None if the proof shows that no pair is worth more than the largest level, else the reason why not.

    The levels are in the units of `data`.
    """
    if not is_compiled(schur_test):
        tell("compiling the checker's kernels, once; later runs start at once.")
    try:
        _Walk(data, k, proof, levels).run()
    except _Refused as reason:
        return str(reason)
    except (ArithmeticError, np.linalg.LinAlgError):
        return "its numbers leave the range of floating point."
    return None


class _Walk:
    def __init__(self, data: GramData, k: int, proof: GramProof, levels: FloatArray) -> None:
        self.data, self.k, self.proof, self.levels = data, k, proof, levels
        with np.errstate(over="ignore", under="ignore"):  # infinity is as good as any other number here
            self.cuts = np.ldexp(proof.cut, -data.exponent)
            self.nus = np.ldexp(proof.nu, data.exponent)
        self.each = 0
        self.S = np.empty((0, 0))
        self.responses: dict[int, tuple[FloatArray, float, float]] = {}

    def run(self) -> None:
        none, empty = np.empty(0, dtype=np.int64), np.empty(0)
        free = np.flatnonzero(self.data.norms > self.data.r_lo)
        self.k = min(self.k, len(free))
        # None stands for a node without pairs: nothing is left to prove below it.
        stack: list[_Node | None] = [_Node(none, none, empty, empty, free, self.data.norms[free])]
        held = 0
        for place in range(len(self.proof)):
            if not stack:
                raise _Refused(f"node {place} belongs to no parent.")
            node = stack.pop()
            held -= node.size if node else 0
            children = list(self._children(place, node))[::-1]
            held += sum(child.size for child in children if child)
            if held > _MOST_HELD or len(stack) > _MOST_HELD / 64:
                raise _Refused("the tree is too deep.")
            stack += children
        if stack:
            raise _Refused(f"{len(stack)} nodes of the tree are missing.")
        if self.each != len(self.proof.each):
            raise _Refused("features are listed that belong to no node.")

    def _children(self, place: int, node: _Node | None) -> Iterator[_Node | None]:
        proof = self.proof
        kind, feature, cut = int(proof.kind[place]), int(proof.feature[place]), float(self.cuts[place])
        settled = False
        for _ in range({CLOSED: _PATIENCE, ON: 0}.get(kind, 1)):
            # Rounding may have left a leaf a hair other than the one the proof was made for: it gets another chance.
            node, settled = self._proved(place, node)
            if node is None:
                break
        if kind == CLOSED:
            if node is not None:
                raise _Refused(f"leaf {place} stays open: its bound exceeds the claim.")
        elif kind == EACH:
            listed = proof.each[self.each : self.each + feature].astype(np.int64)
            if len(listed) != feature:
                raise _Refused(f"node {place} lists features that are missing.")
            self.each += feature
            if node is not None:
                if len(np.unique(listed)) < feature:
                    raise _Refused(f"node {place} lists a feature twice.")
                if self.k - len(node.inc) > 1 or not np.isin(node.free, listed).all():
                    raise _Refused(f"node {place} has more supports than the ones it lists.")
                if not settled:
                    raise _Refused(f"node {place} lists what may be added, but leaves its own support open.")
            for each in listed:
                yield None if node is None else node.including(int(each), self.data.r_lo)
        elif kind == AGAIN:
            yield node
        elif node is None:
            yield from (None, None)
        elif kind in (SPLIT, ON):
            if feature in node.inc:
                raise _Refused(f"node {place} splits on feature {feature}, which is included already.")
            yield node.including(feature, max(cut, self.data.r_lo))
            yield node.lowered(feature, cut)
        else:
            at = np.flatnonzero(node.inc == feature)
            if len(at) == 0:
                raise _Refused(f"node {place} branches on feature {feature}, which is not included.")
            a = int(at[0])
            if kind == SIGN:
                yield node.signed(a, 1)
                yield node.signed(a, -1)
            elif kind == INTERVAL:
                yield node.between(a, -np.inf, cut)
                yield node.between(a, cut, np.inf)
            else:
                raise _Refused(f"node {place} is of an unknown kind.")

    def _proved(self, place: int, node: _Node | None) -> tuple[_Node | None, bool]:
        """Return what the node's own tightening and test leave of it, None if nothing.

        Also returns whether the pairs whose S has only the included features are shown not to be worth more. The test
        is run with shrunk columns for the free features where these have the larger diagonal. A leaf that this leaves
        open is tested again with the attack's columns for all of them.
        """
        node = self._tightened(place, node)
        settled = node is not None and len(node.inc) == 0
        if self.proof.test[place]:
            for shrink in (True, False) if self.proof.kind[place] == CLOSED else (True,):
                if node is not None:
                    node, alone = self._tested(place, node, shrink)
                    settled = settled or alone
        return node, settled

    def _level(self, place: int) -> float:
        return float(self.levels[self.proof.level[place]])

    def _tightened(self, place: int, node: _Node | None) -> _Node | None:
        """Return what is left of the node, None if nothing is."""
        if node is None:
            return None
        sign, lo, hi = node.sign.copy(), node.lo.copy(), node.hi.copy()
        free, ceil = node.free.copy(), node.ceil.copy()
        data = self.data
        closed, n_free = tighten(
            data.A, data.eps, data.top, data.r_lo, data.r_hi, self._level(place), self.k - len(node.inc),
            node.inc, sign, lo, hi, len(node.inc), free, ceil, len(free),
        )  # fmt: skip
        return None if closed else _Node(node.inc, sign, lo, hi, free[:n_free], ceil[:n_free])

    def _tested(self, place: int, node: _Node, shrink: bool) -> tuple[_Node | None, bool]:
        """Run the node's test.

        Returns the node with the free features that may still matter, None if closed; and whether the included features
        alone are settled.
        """
        data, m = self.data, len(node.free)
        chords = self.proof.test[place] == CHORDS
        roots = self._roots(place, node) if chords else np.empty(0)
        g, g_eps, w_eps = (np.zeros(0), 0.0, 0.0) if chords else self._response(place)
        if len(self.S) < m:
            self.S = np.empty((m, m))
        fails = np.zeros(m, dtype=np.bool_)
        shown = schur_test(
            data.A, data.eps, data.top, data.r_lo, data.r_hi, self._level(place), self.k, g, g_eps, w_eps,
            node.inc, node.lo, node.hi, len(node.inc), node.free, node.ceil, m,
            chords, roots, float(self.nus[place]), shrink, self.S, fails,
        )  # fmt: skip
        return None if shown == ALL else node.only(fails), shown != NOTHING

    def _roots(self, place: int, node: _Node) -> FloatArray:
        """Return the roots of the slopes of the chords for the included features; 0 where none is given."""
        number, proof = int(self.proof.vector[place]), self.proof
        entries = slice(int(proof.starts[number]), int(proof.starts[number + 1]))
        given = dict(zip(proof.places[entries].tolist(), proof.weights[entries].tolist(), strict=True))
        return np.array([given.get(int(j), 0.0) for j in node.inc])

    def _response(self, place: int) -> tuple[FloatArray, float, float]:
        number, proof = int(self.proof.vector[place]), self.proof
        if number not in self.responses:
            entries = slice(int(proof.starts[number]), int(proof.starts[number + 1]))
            made = self.data.response(proof.places[entries], proof.weights[entries])
            if made is None:
                raise _Refused(f"vector {number} of the proof has no length.")
            if len(self.responses) >= _RESPONSES:
                self.responses.pop(next(iter(self.responses)))
            self.responses[number] = made
        return self.responses[number]
