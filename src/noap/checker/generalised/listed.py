"""Walk a tree whose leaves are closed, or are supports on a list: what no other support is worth more than."""

import math

import numpy as np

from noap.adversaries import NoAdversary
from noap.checker.allowance import Allowance
from noap.checker.bounds import gram_lift
from noap.checker.feature_wise.check import Walk
from noap.checker.feature_wise.data import GramData
from noap.checker.feature_wise.node import GramNode
from noap.checker.feature_wise.prover import GramProver
from noap.checker.levels import NO_LEVELS
from noap.checker.margins import Margins
from noap.linalg.outward import scaled_up, up
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.feature_wise import GramProof

__all__ = ["unlisted_bound"]


def unlisted_bound(
    S: FloatArray,
    k: int,
    tree: GramProof,
    claimed: float,
    supports: IntArray,
    margins: Margins,
    allowance: Allowance,
) -> tuple[float, str | None]:
    """Return what no direction on a support that is part of none on the list is worth more than in plain sparse PCA.

    The bound is a little above the claimed one, and comes with None; or it is inf, with the reason.

    Parameters
    ----------
    S : array of shape (d, d), symmetric
    supports : array of int, shape (m, k)
    """
    plain = Problem.from_covariance(S, n_samples=1, k=k, adversary=NoAdversary())
    data = GramData.of(plain, allowance)
    lift, reason = gram_lift(plain, data, claimed, margins)
    if reason is not None:
        return math.inf, reason
    raised = margins.raised
    claims = math.ldexp(claimed, -2 * data.exponent) * raised + lift
    walk = _ListedWalk(data, k, tree, supports, raised, lift, claims, allowance)
    if len(walk.free) < len(S):
        return math.inf, "a feature without a single entry is left out of its tree"
    reason = walk.refused()
    if reason is not None:
        return math.inf, reason
    return scaled_up(max(up(walk.proved - data.raised), 0.0), 2 * data.exponent), None


class _ListedWalk(Walk):
    """Goes through a tree in which a node with nothing left to decide may be part of a support on the list."""

    def __init__(
        self,
        data: GramData,
        k: int,
        tree: GramProof,
        supports: IntArray,
        raised: FloatArray,
        lift: float,
        claims: FloatArray,
        allowance: Allowance,
    ) -> None:
        super().__init__(data, k, NO_LEVELS, tree, raised, lift, claims, allowance)
        allowance.keep(16 * supports.size)
        self.prover = _ListedProver(data, self.k, tree, supports, allowance)


class _ListedProver(GramProver):
    """Closes nodes at the threshold, or because nothing is left to decide and the support is part of a listed one."""

    def __init__(self, data: GramData, k: int, tree: GramProof, supports: IntArray, allowance: Allowance) -> None:
        super().__init__(data, k, NO_LEVELS, tree, allowance)
        self.supports = supports
        self.names = {tuple(row) for row in supports.tolist()}

    def _sharply(self, place: int, node: GramNode, T: float) -> GramNode | None:
        if self._is_listed(node):
            return None
        left = super()._sharply(place, node, T)
        return None if left is None or self._is_listed(left) else left

    def _is_listed(self, node: GramNode) -> bool:
        """Whether the only S of the node is part of a support on the list."""
        decided = len(node.inc) == self.k or not (node.ceil > self.data.terms.entry[node.free]).any()
        if not decided:
            return False
        if tuple(sorted(node.inc.tolist())) in self.names:
            return True
        self.allowance.spent(4.0 * self.supports.size)
        shared = np.isin(self.supports, node.inc).sum(axis=1)
        return bool((shared == len(node.inc)).any())
