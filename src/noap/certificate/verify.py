"""The checker's door: whether a certificate proves what it claims about a problem.

Nothing here, nor below, is shared with the methods that find answers. What is accepted is a theorem about the real
numbers in the data; docs/certificate-format.md states it.
"""

import math
import time
from dataclasses import dataclass

from noap._validate import as_seconds
from noap.certificate.certificate import Certificate, Claim
from noap.certificate.deadline import Deadline, OutOfTime
from noap.certificate.witness import value_below
from noap.errors import CertificateRejected, InvalidProblem
from noap.problem import Problem

__all__ = ["Verification", "verify"]

# The checker proves the claimed bound raised by these, relative to it and to the largest variance of a feature, and a
# value lowered by them: room for its own rounding. It reports what it proved.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12


@dataclass(frozen=True)
class Verification:
    """What the checker could prove.

    Attributes
    ----------
    ok : bool
        Whether the certificate is accepted.
    value : float
        The optimum is at least this: what the certificate's vector is certainly worth.
    bound : float
        The optimum is at most this: a hair above the claimed bound; inf if the proof does not hold.
    message : str
        The theorem, or the reason for the rejection, in one sentence.
    nodes : int
        Nodes of the tree.
    seconds : float
    """

    ok: bool
    value: float
    bound: float
    message: str
    nodes: int = 0
    seconds: float = 0.0

    @property
    def gap(self) -> float:
        """(bound - value)/value of what is proved."""
        return (self.bound - self.value) / self.value if self.value > 0 else (0.0 if self.bound <= 0 else math.inf)

    def require(self) -> "Verification":
        """Return itself, or raise CertificateRejected with the reason."""
        if not self.ok:
            raise CertificateRejected(self.message)
        return self


def verify(problem: Problem, certificate: Certificate, *, time_limit: float | None = None) -> Verification:
    """Check a certificate against a problem, with no help from the solver.

    Every node of the proof is looked at once, and a node's work is bounded by the size of the problem, so the time is
    bounded by the two together. A hostile file may still have millions of nodes: give a limit for files of strangers.

    Parameters
    ----------
    problem : Problem
    certificate : Certificate
    time_limit : float, optional
        Seconds after which the certificate is rejected as not proved within them. Looked at between nodes and at the
        end, so the rejection may come later by what one node takes.

    Returns
    -------
    Verification
        With ok = False and a reason if anything is not proved. It raises only if the arguments are of the wrong type,
        InvalidProblem if the adversary is of a type that the checker has no theorem about, or if the problem's X was
        changed.

    Examples
    --------
    >>> import noap
    >>> problem = noap.Problem([[3.0, 0.1], [4.0, 1.0]], k=1, adversary=noap.FeatureWise(1.0))
    >>> report = noap.verify(problem, noap.solve(problem).certificate)
    >>> report.ok, round(report.value, 6), round(report.bound, 3)
    (True, 8.0, 8.0)
    >>> other = noap.Problem([[3.0, 0.1], [4.0, 2.0]], k=1, adversary=noap.FeatureWise(1.0))
    >>> noap.verify(other, noap.solve(problem).certificate).message
    'Rejected: the certificate is about other data.'
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem must be a noap.Problem, got {type(problem).__name__}.")
    if not isinstance(certificate, Certificate):
        raise InvalidProblem(
            f"certificate must be a noap.Certificate, got {type(certificate).__name__}; read one with "
            "noap.Certificate.load, or take it from a Result of method 'exact'."
        )
    problem.check_unchanged()
    deadline = Deadline(as_seconds(time_limit))
    started = time.perf_counter()
    value, bound, reason = _check(problem, certificate, deadline)
    if reason is None:
        message = f"Accepted: {value:.17g} <= optimum <= {bound:.17g}, for all {problem.n_features} features."
    else:
        message = f"Rejected: {reason.rstrip('.')}."
    return Verification(reason is None, value, bound, message, certificate.nodes, time.perf_counter() - started)


def _check(problem: Problem, certificate: Certificate, deadline: Deadline) -> tuple[float, float, str | None]:
    """Return the proved value and bound, and the reason for a rejection."""
    reason = _other_problem(problem, certificate.claim)
    if reason is not None:
        return 0.0, math.inf, reason
    reason = certificate.malformed()
    if reason is not None:
        return 0.0, math.inf, reason
    if len(certificate.places) > problem.k or len(set(certificate.places.tolist())) < len(certificate.places):
        return 0.0, math.inf, f"its vector has more than k = {problem.k} non-zero entries"
    if not certificate.weights.any():
        return 0.0, math.inf, "its vector is zero"
    value = value_below(problem, certificate.places, certificate.weights)
    hair = _RELATIVE * certificate.value + _ABSOLUTE * problem.scale
    if not value >= certificate.value - hair:
        return value, math.inf, f"its vector is worth {value:.12g}, less than the claimed {certificate.value:.12g}"
    # Only here are the kernels loaded.
    from noap.certificate.bounds import bound_above

    try:
        bound, reason = bound_above(problem, certificate.proof, certificate.bound, _RELATIVE, _ABSOLUTE, deadline)
        if reason is None:
            deadline.check()  # the last node may have passed it
    except OutOfTime as late:
        return value, math.inf, str(late)
    if reason is None and value > bound:
        return value, math.inf, "its bound lies below what its own vector is worth"
    return value, bound, reason


def _other_problem(problem: Problem, claim: Claim) -> str | None:
    """Return in what the claim is about another problem, None if it is about this one."""
    mine = Claim.about(problem, claim.value, claim.bound)
    for name, what in (
        ("adversary", "adversary"),
        ("rho", "rho"),
        ("k", "k"),
        ("source", "kind of data"),
        ("n_samples", "number of samples"),
        ("n_features", "number of features"),
    ):
        theirs, ours = getattr(claim, name), getattr(mine, name)
        if theirs != ours:
            return f"the certificate is about {what} {theirs}, the problem has {ours}"
    return None if claim.sha256 == mine.sha256 else "the certificate is about other data"
