"""Whether a claim is about the problem at hand."""

from noap.problem import Problem
from noap.proofs.claim import Claim

__all__ = ["other_problem"]


def other_problem(problem: Problem, claim: Claim) -> str | None:
    """Return in what the claim is about another problem, None if it is about this one."""
    mine = Claim.about(problem, claim.value, claim.bound)
    for name, said in (
        ("adversary", "the adversary {}"),
        ("rho", "rho = {}"),
        ("k", "k = {}"),
        ("source", "data given as {}"),
        ("n_samples", "{} samples"),
        ("n_features", "{} features"),
    ):
        theirs, ours = getattr(claim, name), getattr(mine, name)
        if theirs != ours:
            return f"the certificate is about {said.format(theirs)}, and this problem has {said.format(ours)}"
    if claim.budgets != mine.budgets:
        return "the certificate is about other budgets of single features or samples"
    if claim.costs != mine.costs:
        return "the certificate is about other costs"
    if problem.metric is not None:
        return "the certificate is about no metric"
    # To the last bit: the same numbers centred and scaled by another formula are other data.
    other = (
        "the certificate is about other data: other entries, another order, centred and scaled otherwise, or deflated "
        "for a later component; prepare X with noap.standardize, whose last digits are those of the command line and "
        "the estimators"
    )
    return None if claim.sha256 == mine.sha256 else other
