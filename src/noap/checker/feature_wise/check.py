"""Walk a Gram proof and re-prove every node, each of them once."""

import math
from collections.abc import Iterator

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.checker.feature_wise.kernels.test import schur_test
from noap.checker.feature_wise.kernels.tighten import tighten
from noap.checker.feature_wise.node import GramNode
from noap.checker.feature_wise.prover import GramProver, NoLength
from noap.linalg.types import FloatArray, IntArray
from noap.proofs.feature_wise import AGAIN, CLOSED, EACH, ON, SIGN, SPLIT, GramProof
from noap.runtime.compilation import compiling

__all__ = ["Walk", "check_gram"]

# Open nodes may hold this many numbers in all; a proof that needs more is refused.
_MOST_HELD = 2e8


class _Refused(Exception):
    """The proof does not hold; the message says where."""


def check_gram(
    data: GramData,
    k: int,
    below: FloatArray,
    proof: GramProof,
    raised: FloatArray,
    lift: float,
    claims: FloatArray,
    allowance: Allowance,
    *,
    free: IntArray | None = None,
    included: int | None = None,
) -> tuple[float, str | None]:
    """Return the first of the claims that the proof shows no pair to exceed and None, or inf and the reason why not.

    Parameters
    ----------
    below : array of shape (k,), or empty
        Proved bounds on the optima of 0, 1, ..., k - 1 features, in the units of `data`.
    raised : array of shape (W,)
    lift : float
        A node is proved at its level times one of these, plus this, and at no more than the claim that belongs to it.
    claims : array of shape (W,), increasing
        The claim, and wider ones for leaves that rounding keeps open. In the units of `data`.
    free : array of int, optional
        The features that a support may have, increasing; all of them by default.
    included : int, optional
        One of these that every support has.
    """
    reason = proof.broken_tree()
    if reason is not None:
        return math.inf, reason
    walk = Walk(data, k, below, proof, raised, lift, claims, allowance, free, included)
    reason = walk.refused()
    return (walk.proved, None) if reason is None else (math.inf, reason)


class Walk:
    """Goes through the nodes of a proof, which is one tree; `proved` is the claim that was needed."""

    def __init__(
        self,
        data: GramData,
        k: int,
        below: FloatArray,
        proof: GramProof,
        raised: FloatArray,
        lift: float,
        claims: FloatArray,
        allowance: Allowance,
        free: IntArray | None = None,
        included: int | None = None,
    ) -> None:
        self.data, self.proof, self.allowance = data, proof, allowance
        self.lift = lift
        self.raised: list[float] = raised.tolist()
        self.claims: list[float] = claims.tolist()
        self.proved = self.claims[0]
        # Numbers of the proof are multiplied by these; where that overflows infinity is as good as any other number.
        self.unit, self.square = math.ldexp(1.0, -data.exponent), math.ldexp(1.0, -2 * data.exponent)
        allowed = np.arange(len(data.norms)) if free is None else free
        self.free, self.included = allowed[data.norms[allowed] > data.terms.entry[allowed]], included
        self.k = min(k, len(self.free))
        self.prover = GramProver(data, self.k, below[: self.k].copy(), proof, allowance)
        self.each = 0

    def refused(self) -> str | None:
        """Return where the proof does not hold, None if it does."""
        try:
            with compiling((schur_test, tighten), "the checker"):
                self._run()
        except (_Refused, NoLength) as refused:
            return str(refused)
        except (ArithmeticError, np.linalg.LinAlgError):
            return "its numbers leave the range of floating point."
        return None

    def _run(self) -> None:
        # None stands for a node without pairs: nothing is left to prove below it.
        root: GramNode | None = GramNode.root(self.free, self.data.norms[self.free])
        if root is not None and self.included is not None:
            root = root.including(self.included, self.data.terms.entry.item(self.included), self.k)
        stack = [root]
        held = 0
        for place in range(len(self.proof)):
            self.allowance.check()
            node = stack.pop()
            held -= node.size if node else 0
            children, most = [], min(_MOST_HELD, self.allowance.room)
            for child in self._children(place, node):
                children.append(child)
                held += child.size if child else 0
                # Within the loop: a node may list all features, each with a child that holds as many numbers.
                if held > most or len(stack) + len(children) > _MOST_HELD / 64:
                    self.allowance.need(held)
                    raise _Refused("the tree is too deep.")
            stack += children[::-1]

    def _children(self, place: int, node: GramNode | None) -> Iterator[GramNode | None]:
        kind, feature = int(self.proof.kind[place]), int(self.proof.feature[place])
        cut = self.proof.cut.item(place) * self.unit
        alone_closed = False
        if node is not None and kind != ON:
            node, alone_closed = self.prover.narrowed(place, node, self._level(place, 0, node))
        if kind == CLOSED:
            if node is not None:
                self._close(place, node, f"leaf {place} stays open: its bound exceeds the claim.")
        elif kind == EACH:
            listed = self.proof.each[self.each : self.each + feature].astype(np.int64)
            self.each += feature
            if node is not None:
                self._cover(place, node, listed, alone_closed)
            for each in listed:
                self.allowance.spent(8.0 * node.size if node else 1.0)
                yield None if node is None else node.including(int(each), self.data.terms.entry.item(each), self.k)
        elif kind == AGAIN:
            yield node
        elif node is None:
            yield from (None, None)
        elif kind in (SPLIT, ON):
            if feature in node.inc:
                raise _Refused(f"node {place} splits on feature {feature}, which is included already.")
            yield node.including(feature, max(cut, self.data.terms.entry.item(feature)), self.k)
            yield node.lowered(feature, cut)
        else:
            at = np.flatnonzero(node.inc == feature)
            if len(at) == 0:
                raise _Refused(f"node {place} branches on feature {feature}, which is not included.")
            a = int(at[0])
            if kind == SIGN:
                yield node.signed(a, 1)
                yield node.signed(a, -1)
            else:  # INTERVAL
                yield node.between(a, -np.inf, cut)
                yield node.between(a, cut, np.inf)

    def _cover(self, place: int, node: GramNode, listed: IntArray, alone_closed: bool) -> None:
        """Show that an EACH node has no pair worth more but those with one of the listed features."""
        if len(np.unique(listed)) < len(listed):
            raise _Refused(f"node {place} lists a feature twice.")
        if self.k - len(node.inc) > 1:
            raise _Refused(f"node {place} has more supports than the ones it lists.")
        rest = node.only(~np.isin(node.free, listed))
        if len(rest.free):
            self._close(place, rest, f"node {place} has more supports than the ones it lists.")
        elif not alone_closed:
            self._close(place, rest, f"node {place} lists what may be added, but leaves its own support open.")

    def _close(self, place: int, node: GramNode, reason: str) -> None:
        """Close what rounding left of a node, at the narrowest claim that does it."""
        for wider in range(len(self.claims)):
            if self.prover.closes_in_pieces(place, node, self._level(place, wider, node)):
                self._widened(wider)
                return
        raise _Refused(reason)

    def _widened(self, wider: int) -> None:
        """Note that a claim so much wider was needed."""
        self.proved = max(self.proved, self.claims[wider])

    def _level(self, place: int, wider: int, node: GramNode) -> float:
        """Return the threshold at which pairs of the node may be dropped."""
        level: float = self.proof.levels.item(self.proof.level.item(place)) * self.square
        return min(self.raised[wider] * level + self.lift, self._claim(wider, level, node))

    def _claim(self, wider: int, level: float, node: GramNode) -> float:
        """Return what the claim says of the node's pairs: all that is needed at this level, for a lower one."""
        return self.claims[wider]
