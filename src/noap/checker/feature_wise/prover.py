"""Re-prove one node of a Gram proof: tighten it, run its test, and cut it where rounding leaves it open."""

import numpy as np

from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.checker.feature_wise.kernels.semidefinite import MOST_FEATURES, definite
from noap.checker.feature_wise.kernels.test import ALL, ALONE, NOTHING, UNDOMINATED, schur_test
from noap.checker.feature_wise.kernels.tighten import tighten
from noap.checker.feature_wise.kernels.worth import chord
from noap.checker.feature_wise.node import GramNode
from noap.linalg.types import FloatArray
from noap.proofs.feature_wise import ATTACK, CHORDS, NO_TEST, GramProof

__all__ = ["GramProver", "NoLength"]

# Pieces into which a leaf that stays open may be cut, and cuts one within the other. Rounding leaves a leaf open by
# little: a few cuts will do, and where they do not the claim is false or the proof is poor. All pieces together may
# have so many entries of Schur complements before no more cuts are made: seconds on the largest problems. An entry
# counts for more where the semidefinite test may be taken; and four steps of tightening, of which there are |I|^2 for
# each feature, count for one.
_MOST_PIECES, _DEEPEST, _MOST_ENTRIES, _SEMIDEFINITE_PRICE, _STEPS = 256, 16, 1e7, 75, 4
# Responses kept at hand: neighbouring nodes share theirs.
_RESPONSES = 8


class NoLength(Exception):
    """A vector of the proof is too short to say where it points."""


class GramProver:
    """What closes the nodes of one proof; k is the number of features a support may have.

    `below` has bounds on the optima of 0, 1, ..., k - 1 features, empty where none are proved.
    """

    def __init__(self, data: GramData, k: int, below: FloatArray, proof: GramProof, allowance: Allowance) -> None:
        self.data, self.k, self.below, self.proof, self.allowance = data, k, below, proof, allowance
        self._S = np.empty((0, 0))
        # What made the last test hold: neighbouring nodes need much the same.
        self._scaling = np.ones(len(data.norms))
        self._responses: dict[int, tuple[FloatArray, float, float]] = {}

    def narrowed(self, place: int, node: GramNode, T: float) -> tuple[GramNode | None, bool]:
        """Return what tightening and the test of the record at `place` leave of the node, None if nothing.

        Also returns whether the pairs whose S has only the included features are shown not to be worth more than T.
        """
        left = self._tightened(node, T)
        alone_closed = left is not None and len(left.inc) == 0
        if left is not None and self.proof.test[place] != NO_TEST:
            left, alone = self._tested(place, left, T, shrink=True)
            alone_closed = alone_closed or alone
        return left, alone_closed

    def closes_in_pieces(self, place: int, node: GramNode, T: float) -> bool:
        """Whether every piece of a node that stayed open is closed, cut as far as that takes.

        The search saw the node by other roundings: where columns are parallel, its intervals may differ by the root of
        an ulp, and what tightening makes of that by much more. So the test of the record may fail where it held for the
        search; on smaller intervals it has more room.
        """
        pieces, entries = [(node, 0)], 0
        for _ in range(_MOST_PIECES):
            piece, cuts = pieces.pop()
            entries += self._entries(piece)
            self.allowance.check()
            left = self._sharply(place, piece, T)
            if left is not None:
                halves = left.halves(self.k, self.data.terms.entry)
                if not halves or cuts == _DEEPEST or entries > _MOST_ENTRIES:
                    return False
                pieces += [(half, cuts + 1) for half in halves if half is not None]
            if not pieces:
                return True
        return False

    def _entries(self, node: GramNode) -> int:
        """Return what a piece costs, in entries of a Schur complement."""
        included, features = len(node.inc), len(node.inc) + len(node.free)
        semidefinite = self.k - included >= 3 and len(node.free) <= MOST_FEATURES
        return features**2 * (_SEMIDEFINITE_PRICE if semidefinite else 1) + included**2 * features // _STEPS

    def _sharply(self, place: int, node: GramNode, T: float) -> GramNode | None:
        """Return what is left of a piece: chords are its own, and attacks are tried with either kind of column.

        A leaf without a test was empty for the search. Where rounding leaves one support of it and there is no budget,
        chords decide, because then they are exact.
        """
        left, test = self._tightened(node, T), self.proof.test[place]
        alone = left is not None and not self.data.terms.r_hi.any() and (len(left.free) == 0 or len(left.inc) == self.k)
        if left is not None and (test == CHORDS or (test == NO_TEST and alone)):
            r_lo, costs = self.data.terms.r_lo[left.inc], self.data.terms.cost[left.inc]
            roots = np.array([chord(*ends)[0] for ends in zip(left.lo, left.hi, r_lo, costs, strict=True)])
            left, _ = self._schur(left, T, roots, None, 0.0, True)
        elif left is not None and test == ATTACK:
            left, _ = self._tested(place, left, T, shrink=True)
            if left is not None:
                left, _ = self._tested(place, left, T, shrink=False)
        return left

    def _tightened(self, node: GramNode, T: float) -> GramNode | None:
        """Return what is left of the node, None if nothing is."""
        sign, lo, hi = node.sign.copy(), node.lo.copy(), node.hi.copy()
        free, ceil = node.free.copy(), node.ceil.copy()
        data = self.data
        closed, n_free, carried, n_high = tighten(
            data.A, data.eps, data.top, data.terms, T, self.k - len(node.inc), self.below,
            node.inc, sign, lo, hi, len(node.inc), free, ceil, len(free), self.allowance.clock,
        )  # fmt: skip
        self.allowance.check_kernel()
        return None if closed else GramNode(node.inc, sign, lo, hi, free[:n_free], ceil[:n_free], carried, n_high)

    def _tested(self, place: int, node: GramNode, T: float, shrink: bool) -> tuple[GramNode | None, bool]:
        """Run the test of the record at `place`.

        With `shrink`, free features take shrunk columns where these have the larger diagonal.
        """
        if self.proof.test[place] == CHORDS:
            return self._schur(node, T, self._roots(place, node), None, 0.0, shrink)
        # May overflow to infinity, which is as good as any other number here.
        nu = self.proof.nu.item(place) * self.data.nu_unit
        return self._schur(node, T, np.empty(0), self._response(place), nu, shrink)

    def _schur(
        self,
        node: GramNode,
        T: float,
        roots: FloatArray,
        response: tuple[FloatArray, float, float] | None,
        nu: float,
        shrink: bool,
    ) -> tuple[GramNode | None, bool]:
        """Run a test: of the attack in response to a vector or, without one, of chords with these roots.

        Returns the node with the free features that may still matter, None if closed; and whether the included features
        alone are shown to be worth no more than T.
        """
        data, m = self.data, len(node.free)
        if len(self._S) < m:
            self.allowance.keep(m * m - self._S.size)
            self._S = np.empty((m, m))
        fails = np.zeros(m, dtype=np.bool_)
        chords = response is None
        g, g_eps, w_eps = response or (np.zeros(0), 0.0, 0.0)
        shown = schur_test(
            data.A, data.eps, data.top, data.terms, T, self.k, g, g_eps, w_eps,
            node.inc, node.lo, node.hi, len(node.inc), node.free, node.ceil, m, node.carried, node.n_high,
            chords, roots, nu, shrink, self._S, fails, self._scaling, self.allowance.clock,
        )  # fmt: skip
        self.allowance.check_kernel()
        if shown == UNDOMINATED:
            shown = ALL if definite(self._S, m, self.k - len(node.inc), self.allowance.clock) else ALONE
            self.allowance.check_kernel()
        return None if shown == ALL else node.only(fails), shown != NOTHING

    def _roots(self, place: int, node: GramNode) -> FloatArray:
        """Return the roots of the slopes of the chords for the included features; 0 where none is given."""
        number, proof = int(self.proof.vector[place]), self.proof
        entries = slice(int(proof.starts[number]), int(proof.starts[number + 1]))
        given = dict(zip(proof.places[entries].tolist(), proof.weights[entries].tolist(), strict=True))
        return np.array([given.get(int(j), 0.0) for j in node.inc])

    def _response(self, place: int) -> tuple[FloatArray, float, float]:
        number, proof = int(self.proof.vector[place]), self.proof
        if number not in self._responses:
            entries = slice(int(proof.starts[number]), int(proof.starts[number + 1]))
            self.allowance.need(2 * len(self.data.A) * (entries.stop - entries.start))
            made = self.data.response(proof.places[entries], proof.weights[entries])
            if made is None:
                raise NoLength(f"vector {number} of the proof has no length.")
            if len(self._responses) >= _RESPONSES:
                self._responses.pop(next(iter(self._responses)))
            self._responses[number] = made
        return self._responses[number]
