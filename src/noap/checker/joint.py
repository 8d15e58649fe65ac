r"""Check a certificate of several components together.

For disjoint supports :math:`S_t` with values :math:`w_t` and any charges :math:`q_j \ge c_j`,

.. math:: \sum_t w_t \le \sum_j (q_j - c_j) + \sum_t \max(0, z_t), \qquad
    z_t \ge \max_S \Bigl(w_S + \sum_{j \in S} c_j - \sum_{j \in S} q_j\Bigr)
    \text{ over the supports that slot } t \text{ may use},

and :math:`z_t` is the bound of a problem whose costs do not exceed q on the features that the slot may use. The tree
gives a feature to one slot after the other. Where one inequality speaks of all components together, it bounds them as
well, and those that use a feature that was removed from the tree (docs/components.md).
"""

import math
from collections.abc import Iterator

import numpy as np

from noap.checker.about import other_problem
from noap.checker.allowance import Allowance, OutOfAllowance
from noap.checker.margins import Margins
from noap.checker.samples import largest_variance
from noap.checker.witness import value_below
from noap.linalg.types import FloatArray, IntArray
from noap.problem import Problem
from noap.proofs.joint import JointCertificate
from noap.proofs.known import moves_features, moves_samples
from noap.proofs.relaxation import RelaxationProof

__all__ = ["check_joint"]

# A feature that every slot may use, and one that none may.
_ANYONE, _NO_ONE = -1, -2
# Open nodes may hold this many numbers in all; a tree that needs more is refused.
_MOST_HELD = 2e8
# The pricing problems are proved with margins, up to so many times the usual ones.
_WIDEST = 200.0


def check_joint(
    problem: Problem, certificate: JointCertificate, margins: Margins, allowance: Allowance
) -> tuple[float, float, str | None]:
    """Return the proved value and bound of the sum, and the reason for a rejection."""
    value = 0.0
    try:
        reason = certificate.malformed()
        if reason is None and problem.metric is not None:
            reason = "there is no theorem about several components in a metric"
        if reason is None and certificate.claim.n_features != problem.n_features:
            reason = f"the certificate is about {certificate.claim.n_features} features, not {problem.n_features}"
        if reason is None:
            reason = other_problem(problem.with_sparsity(int(certificate.ks.max())), certificate.claim)
        if reason is None and not (moves_features(problem.adversary) or moves_samples(problem.adversary)):
            reason = "there is no theorem about several components against this adversary"
        if reason is not None:
            return 0.0, math.inf, reason
        allowance.keep(certificate.nbytes / 8)
        allowance.spent(20.0 * problem.n_samples * problem.n_features + 2.0 * certificate.nbytes)
        value, reason = _value(problem, certificate)
        if reason is not None:
            return value, math.inf, reason
        room = len(certificate.ks) * margins.absolute * largest_variance(problem)
        if value < certificate.value - margins.relative * certificate.value - room:
            return value, math.inf, f"its components are worth {value:.12g}, less than claimed"
        every, removed, reason = _together(problem, certificate, allowance)
        if reason is None:
            bound, reason = _Checker(problem, certificate, margins, allowance).bound()
        if reason is not None:
            return value, math.inf, reason
        bound = min(every, max(bound, removed))
        allowance.check()
    except OutOfAllowance as stopped:
        return value, math.inf, str(stopped)
    if not bound <= certificate.bound * (1.0 + _WIDEST * margins.relative) + 1e3 * room:
        return value, math.inf, f"its charges prove a bound of {bound:.12g}, more than claimed"
    if value > bound:
        return value, math.inf, "its bound lies below what its own components are worth"
    return value, bound, None


def _value(problem: Problem, certificate: JointCertificate) -> tuple[float, str | None]:
    """Return what the components are certainly worth together, and what is wrong with them."""
    slots, taken, values = set(), np.zeros(problem.n_features, dtype=np.bool_), [0.0]
    for i, slot in enumerate(certificate.slots.tolist()):
        part = slice(int(certificate.starts[i]), int(certificate.starts[i + 1]))
        places, weights = certificate.places[part].astype(np.int64), certificate.weights[part]
        if slot in slots:
            return 0.0, f"two components fill slot {slot}"
        if len(set(places.tolist())) < len(places) or len(places) > certificate.ks[slot] or not weights.any():
            return 0.0, f"component {i} is zero, or has more than {certificate.ks[slot]} non-zero entries"
        if taken[places].any():
            return 0.0, f"component {i} uses a feature of another one"
        slots.add(slot)
        taken[places] = True
        values.append(value_below(problem.with_sparsity(int(certificate.ks[slot])), places, weights))
    return max(math.nextafter(math.fsum(values), -math.inf), 0.0), None


def _together(problem: Problem, certificate: JointCertificate, allowance: Allowance) -> tuple[float, float, str | None]:
    """Return what no packing is worth more than, and none that uses a removed feature; and what is wrong."""
    if certificate.together is None:
        return math.inf, 0.0, None
    from noap.checker.feature_wise.data import GramData  # only here are the kernels loaded
    from noap.checker.relaxation.together import bounds_together
    from noap.runtime.kernels import timed

    ks: list[int] = certificate.ks.tolist()
    own = problem.with_sparsity(max(ks))
    reason = other_problem(own, certificate.together.claim)
    if reason is not None:
        return math.inf, math.inf, f"what is said of all components: {reason}"
    proof = certificate.together.proof
    if not moves_features(problem.adversary) or not isinstance(proof, RelaxationProof):
        return math.inf, math.inf, "there is no such inequality about all components"
    with allowance.passing(), timed(allowance.compiled):
        every, using, reason = bounds_together(GramData.of(own, allowance), ks, proof, allowance)
    if reason is not None:
        return math.inf, math.inf, f"what is said of all components: {reason}"
    return every, float(using[certificate.removed.astype(np.int64)].max(initial=0.0)), None


class _Checker:
    """Goes through the tree; every pricing problem is proved once, when a leaf first needs it."""

    def __init__(self, problem: Problem, certificate: JointCertificate, margins: Margins, allowance: Allowance) -> None:
        self.problem, self.certificate, self.margins, self.allowance = problem, certificate, margins, allowance
        self.ks: list[int] = certificate.ks.tolist()
        d = problem.n_features
        self.costs: FloatArray = np.zeros(d) if problem.costs is None else problem.costs
        self.charges, self.priced = certificate.charges.reshape(-1, d), certificate.priced.reshape(-1, d)
        self.uses = certificate.uses.reshape(-1, len(self.ks))
        self.proved: dict[int, float] = {}

    def bound(self) -> tuple[float, str | None]:
        """Return what no packing exceeds, or inf and the reason why that is not proved."""
        most, leaves = 0.0, 0
        d = self.problem.n_features
        root = np.full(d, _ANYONE, dtype=np.int64)
        root[self.certificate.removed.astype(np.int64)] = _NO_ONE
        stack: list[IntArray] = [root]
        for feature in self.certificate.branches.tolist():
            if not stack:
                return math.inf, "its tree has nodes that belong to no parent"
            owner = stack.pop()
            self.allowance.spent(10.0 * d * len(self.ks))
            if feature < d:
                if owner[feature] != _ANYONE:
                    return math.inf, f"its tree gives feature {feature} away twice"
                slots = list(self._owners(owner))
                held = (len(stack) + len(slots)) * (d + 64.0)
                self.allowance.need(held)
                if held > _MOST_HELD:
                    return math.inf, "its tree is too deep"
                stack += [_given(owner, feature, slot) for slot in reversed(slots)]
                continue
            if leaves == len(self.certificate.leaves):
                return math.inf, "a leaf of its tree has no charges"
            bound, reason = self._leaf(owner, int(self.certificate.leaves[leaves]))
            if reason is not None:
                return math.inf, reason
            most, leaves = max(most, bound), leaves + 1
        if stack or leaves < len(self.certificate.leaves):
            return math.inf, "its tree is not whole"
        return most, None

    def _owners(self, owner: IntArray) -> Iterator[int]:
        """Yield the slots that a feature may be given to; of those alike that own nothing, only the first."""
        seen = set()
        for slot, k in enumerate(self.ks):
            if (owner == slot).any():
                yield slot
            elif k not in seen:
                seen.add(k)
                yield slot

    def _leaf(self, owner: IntArray, record: int) -> tuple[float, str | None]:
        """Return what no packing of a leaf exceeds."""
        charges = self.charges[record]
        if (charges < self.costs).any():
            return math.inf, f"record {record} charges less than a feature costs"
        # Each price beside its charge: what is dear in both would leave the range of floats on the way.
        terms = np.column_stack([charges, -self.costs]).ravel().tolist()
        for slot, pricing in enumerate(self.uses[record].tolist()):
            allowed = (owner == _ANYONE) | (owner == slot)
            if self.certificate.pricings[pricing].claim.k < self.ks[slot]:
                return math.inf, f"pricing problem {pricing} is about fewer features than slot {slot} may use"
            if (self.priced[pricing][allowed] > charges[allowed]).any():
                return math.inf, f"pricing problem {pricing} charges more than record {record} does"
            bound, reason = self._pricing(pricing)
            if reason is not None:
                return math.inf, f"pricing problem {pricing}: {reason}"
            terms.append(bound)
        # The exact sum, rounded once, and the next float above; a sum that is rounded to 0 is 0.
        try:
            total = math.fsum(terms)
        except OverflowError:
            return math.inf, f"record {record} charges more than floating point can add up"
        return (math.nextafter(total, math.inf) if total > 0 else 0.0), None

    def _pricing(self, pricing: int) -> tuple[float, str | None]:
        """Return what no support is worth more than after charges, at least 0."""
        if pricing in self.proved:
            return self.proved[pricing], None
        from noap.checker.bounds import bound_above  # only here are the kernels loaded
        from noap.runtime.kernels import timed

        certificate = self.certificate.pricings[pricing]
        k = certificate.claim.k
        if not 1 <= k <= self.problem.n_features:
            return math.inf, "its number of features makes no sense"
        problem = self.problem.with_sparsity(k).with_costs(self.priced[pricing])
        reason = other_problem(problem, certificate.claim)
        if reason is not None:
            return math.inf, reason
        with self.allowance.passing(), timed(self.allowance.compiled):
            bound, reason = bound_above(problem, certificate.proof, certificate.bound, self.margins, self.allowance)
        if reason is None:
            self.proved[pricing] = max(bound, 0.0)
        return bound, reason


def _given(owner: IntArray, feature: int, slot: int) -> IntArray:
    owner = owner.copy()
    owner[feature] = slot
    return owner
