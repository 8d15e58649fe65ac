r"""Check that a list of supports is complete at a threshold.

Write :math:`w(S)` for the best value of a direction on the features S. The tree is that of a bound, and every pair
(u, S) that it drops at a node, with features I included there, is shown not to exceed what the node is entitled to:

- the bound on the optimum, where every S of the node is part of one support on the list (with costs: is on the list);
- otherwise the threshold, or what a support on the list is worth that lies in I, if that is more.

So :math:`w(S) \le T`, or S has no more than :math:`w(S \cap L)` for a support L on the list, up to the margins of the
checker: docs/exact.md, "Every good support".
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noap.checker.about import other_problem
from noap.checker.allowance import Allowance, OutOfAllowance
from noap.checker.bounds import gram_lift
from noap.checker.feature_wise.check import Walk
from noap.checker.feature_wise.data import GramData
from noap.checker.feature_wise.node import GramNode
from noap.checker.levels import NO_LEVELS
from noap.checker.margins import WIDER, Margins
from noap.checker.samples import largest_variance
from noap.checker.witness import value_below
from noap.linalg.outward import scaled_up, up
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.known import moves_features
from noap.proofs.supports import ListCertificate
from noap.runtime.kernels import timed

__all__ = ["ListReport", "check_list"]

_WORD = 64
# Numbers that a set of features takes, and each of its features.
_SET, _MEMBER = 32, 8
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class ListReport:
    """What is proved of a list, or why it is rejected; `slack` is the share to which values are told apart."""

    value: float
    bound: float = math.inf
    threshold: float = math.inf
    supports: int = 0
    slack: float = 0.0
    reason: str | None = None


def check_list(problem: Problem, certificate: ListCertificate, margins: Margins, allowance: Allowance) -> ListReport:
    """Return what a certificate proves of its list."""
    value = 0.0
    try:
        reason = other_problem(problem, certificate.claim) or certificate.malformed()
        if reason is None and problem.metric is not None:
            reason = "there is no theorem about lists of supports in a metric"
        if reason is None and not moves_features(problem.adversary):
            reason = "lists of supports are about no adversary, or one that moves features"
        if reason is None:
            reason = certificate.proof.broken_tree()
        if reason is not None:
            return ListReport(0.0, reason=reason)
        allowance.keep(certificate.nbytes / 8)
        allowance.spent(20.0 * problem.n_samples * problem.n_features + 2.0 * certificate.nbytes)
        supports, worths, reason = _listed(problem, certificate, margins, allowance)
        value = float(worths.max(initial=0.0))
        if reason is not None:
            return ListReport(value, reason=reason)
        report = _proved(problem, certificate, supports, worths, margins, allowance)
        allowance.check()
    except OutOfAllowance as stopped:
        return ListReport(value, reason=str(stopped))
    if report.reason is None and value > report.bound:
        return ListReport(value, reason="its bound lies below what its own vectors are worth")
    return report


def _listed(
    problem: Problem, certificate: ListCertificate, margins: Margins, allowance: Allowance
) -> tuple[list[frozenset[int]], FloatArray, str | None]:
    """Return the supports, what each is certainly worth, and what is wrong with them."""
    supports: list[frozenset[int]] = []
    allowance.keep(_SET * len(certificate) + _MEMBER * len(certificate.places))
    worths: FloatArray = np.zeros(len(certificate))
    room = margins.absolute * largest_variance(problem)
    for i, claimed in enumerate(certificate.values.tolist()):
        part = slice(int(certificate.starts[i]), int(certificate.starts[i + 1]))
        places, weights = certificate.places[part].astype(np.int64), certificate.weights[part]
        supports.append(frozenset(places.tolist()))
        if len(supports[-1]) < len(places):
            return supports, worths, f"vector {i} names a feature twice"
        allowance.spent(20.0 * problem.n_samples * len(places))
        worths[i] = value_below(problem, places, weights)
        margin = margins.relative * claimed + room
        if not abs(worths[i] - claimed) <= margin:
            return supports, worths, f"support {i} is worth {worths[i]:.12g}, not the claimed {claimed:.12g}"
        if not worths[i] >= certificate.threshold * (1.0 - margins.relative * WIDER[-1]) - margin:
            return supports, worths, f"support {i} is worth {worths[i]:.12g}, less than the threshold"
    if len(set(supports)) < len(supports):
        return supports, worths, "it lists a support twice"
    if certificate.value != certificate.values.max(initial=0.0):
        return supports, worths, "the value it claims is not that of the best on its list"
    return supports, worths, None


def _proved(
    problem: Problem,
    certificate: ListCertificate,
    supports: list[frozenset[int]],
    worths: FloatArray,
    margins: Margins,
    allowance: Allowance,
) -> ListReport:
    """Follow the tree; the list itself is as it should be."""
    value = float(worths.max(initial=0.0))
    if certificate.threshold > certificate.bound:
        return ListReport(value, reason="its threshold lies above its bound")
    data = GramData.of(problem, allowance)
    lift, reason = gram_lift(problem, data, certificate.bound, margins)
    if reason is not None:
        return ListReport(value, reason=reason)
    allowance.keep(len(supports) * (len(data.norms) / _WORD + len(WIDER) + 2))
    raised = margins.raised
    with timed(allowance.compiled):
        walk = _ListWalk(data, problem, certificate, supports, worths, raised, lift, allowance)
        reason = walk.refused()
    if reason is not None:
        return ListReport(value, reason=reason)
    exactly = problem.adversary.is_idle

    def given(T: float) -> float:
        return scaled_up(max(up(T - data.raised), 0.0) if exactly else up(T), 2 * data.exponent)

    return ListReport(
        value,
        given(walk.bounds[walk.widest]),
        given(walk.claims[walk.widest]),
        walk.count(certificate.values),
        margins.relative * WIDER[walk.widest],
    )


class _ListWalk(Walk):
    """Goes through a tree in which a node may be entitled to more than the threshold."""

    def __init__(
        self,
        data: GramData,
        problem: Problem,
        certificate: ListCertificate,
        supports: list[frozenset[int]],
        worths: FloatArray,
        raised: FloatArray,
        lift: float,
        allowance: Allowance,
    ) -> None:
        square = math.ldexp(1.0, -2 * data.exponent)
        thresholds = certificate.threshold * square * raised + lift
        super().__init__(data, problem.k, NO_LEVELS, certificate.proof, raised, lift, thresholds, allowance)
        self.bounds: list[float] = (certificate.bound * square * raised + lift).tolist()
        self.threshold = certificate.threshold * square
        # With costs a part of a support may be worth more than all of it.
        self.exactly = problem.costs is not None
        self.supports = frozenset(supports)
        self.bits: Bits = np.array([self._bits(np.array(sorted(one), dtype=np.int64)) for one in supports])
        self.worths: FloatArray = worths * square
        self.widest = 0

    def count(self, values: FloatArray) -> int:
        """Return how many supports are no part of another one; with costs, how many have no part worth as much."""
        found = 0
        for mine, value in zip(self.bits, values.tolist(), strict=True):
            self.allowance.spent(4.0 * self.bits.size)
            if self.exactly:
                parts = ((self.bits & ~mine) == 0).all(axis=1) & (values >= value)
                found += int(np.count_nonzero(parts) == 1)
            else:
                found += int(np.count_nonzero(((mine & ~self.bits) == 0).all(axis=1)) == 1)
        return found

    def _widened(self, wider: int) -> None:
        self.widest = max(self.widest, wider)

    def _claim(self, wider: int, level: float, node: GramNode) -> float:
        least = self.claims[wider]
        if level <= self.threshold or not self.supports:
            return least
        self.allowance.spent(4.0 * self.bits.size)
        if self._is_listed(node):
            return max(least, self.bounds[wider])
        within = ((self.bits & ~self._bits(node.inc)) == 0).all(axis=1)
        most = float(self.worths[within].max(initial=0.0))
        return max(least, self.raised[wider] * most + self.lift)

    def _is_listed(self, node: GramNode) -> bool:
        """Whether every S of the node is part of one support on the list; with costs, whether it has one, a listed."""
        # A feature whose ceiling is no higher than its entry lies in no S.
        free = node.free[node.ceil > self.data.terms.entry[node.free]]
        decided = len(node.inc) == self.k or len(free) == 0
        if self.exactly:
            return decided and frozenset(node.inc.tolist()) in self.supports
        reach = self._bits(node.inc if decided else np.append(node.inc, free))
        return bool(((reach & ~self.bits) == 0).all(axis=1).any())

    def _bits(self, features: IntArray) -> Bits:
        mask = np.zeros(-(-len(self.data.norms) // _WORD) * _WORD, dtype=np.bool_)
        mask[features] = True
        return np.packbits(mask).view(np.uint64)
