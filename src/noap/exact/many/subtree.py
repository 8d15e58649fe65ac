"""One place where a support may lie: a small problem, of which one feature may be known to be in the support."""

from noap.exact.feature_wise.attempt import Attempt, proof_of
from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.meter import Meter
from noap.exact.feature_wise.node import Node
from noap.exact.feature_wise.refutation import Manner, Refutation
from noap.proofs.feature_wise import GramProof

__all__ = ["Subtree"]


class Subtree(Attempt):
    """Proves bounds on the supports within a few features; with `rooted`, only on those that have the first of them.

    The incumbent's vector lies within the features; its value may be that of a better vector elsewhere.
    """

    def __init__(self, instance: GramInstance, incumbent: Incumbent, gap: float, meter: Meter, rooted: bool) -> None:
        super().__init__(instance, incumbent, gap, meter)
        self.rooted = rooted

    def refutation(self, gap: float, manner: Manner) -> Refutation:
        """Return a refutation of the gap that has not begun."""
        made = super().refutation(gap, manner)
        if self.rooted:
            made.stack = [Node.root(self.instance.norms).include(0, float(self.instance.terms.entry[0]))]
        return made

    def advance_to(self, work: float) -> None:
        """Go on until so much work is done, or nothing more can be proved."""
        for _ in self.turns():
            if self.work >= work or self.meter.stopped():
                return

    def proof(self) -> GramProof:
        """Return what proves the bound."""
        if self.prover is None:
            return GramProof.trivial(self.instance.outward(self.bound))
        proof = proof_of(self.prover, self.instance)
        assert isinstance(proof, GramProof)  # the instance is not clear-cut, so there is no relaxation
        return proof
