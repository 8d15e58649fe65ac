"""Whether a certificate proves what it claims about a problem.

No code that finds answers is used here or below: no heuristic, no bound, no search. What the checker shares with the
rest of noap is the problem as it was validated (its arrays, k, costs, the adversary's kind and budgets) and elementary
helpers (errors, types, the file writer); products, norms and rounding are its own, the last in `noap.linalg.outward`.
What is accepted is a theorem about the real numbers in the data; docs/certificate-format-4.md states it.
"""

import math
import time

from noap.checker.about import other_problem
from noap.checker.allowance import Allowance, OutOfAllowance
from noap.checker.margins import Margins
from noap.checker.samples import largest_variance
from noap.checker.witness import value_below
from noap.data.arguments import as_megabytes, as_seconds
from noap.errors import InvalidProblem
from noap.kernel import certificate as kernel
from noap.kernel.claim import MANY_FEATURES
from noap.kernel.verify import Verification, verify_certificate
from noap.problem import Problem
from noap.proofs.certificate import Certificate
from noap.runtime.threads import one_thread
from noap.runtime.workers import Workers

__all__ = ["Verification", "verify"]

# The checker proves the claimed bound raised by these, relative to it and to the largest variance of a feature, and a
# value lowered by them: room for its own rounding. It reports what it proved.
_MARGINS = Margins(relative=1e-9, absolute=1e-12)


def verify(
    problem: Problem,
    certificate: Certificate | kernel.Certificate,
    *,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    n_jobs: int | None = None,
) -> Verification:
    """Check a certificate against a problem, with no help from the solver.

    Every node of the proof is looked at once, and a node's work is bounded by the size of the problem, so time and
    memory are bounded by the two together. A hostile file may still ask for much of both: give limits for files of
    strangers.

    Parameters
    ----------
    problem : Problem
    certificate : Certificate
        Of several components together the report's value and bound are those of their sum; of a list of supports it
        also has the threshold, and how many they are.
    time_limit : float, optional
        Seconds after which the certificate is rejected as not proved within them; those in which the checker itself is
        compiled, once per machine, do not count, neither here nor in `seconds` of the answer. The rejection comes a
        fraction of a second later at most, or what one step takes if that is longer: a pass over the data or the proof,
        a factorisation of the covariance, an eigendecomposition of k x k numbers.
    memory_limit : float, optional
        Megabytes that the certificate's arrays and what is made in the check may take together, beside the problem
        itself; a certificate that needs more is rejected. Without one the check may hold some gigabytes.
    n_jobs : int, optional
        With many features: threads that share the pass over all pairs of them, -1 for one per core; as many as the
        linear algebra library uses by default.

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
    'Rejected: the certificate is about other data: other entries, another order, centred and scaled otherwise, or \
deflated for a later component; prepare X with noap.standardize, whose last digits are those of the command line and \
the estimators.'
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem must be a noap.Problem, got {type(problem).__name__}.")
    if not isinstance(certificate, Certificate | kernel.Certificate):
        raise InvalidProblem(
            f"certificate must be a noap.Certificate, got {type(certificate).__name__}; read one with "
            "noap.Certificate.load, or take it from a Result of method 'exact'."
        )
    problem.check_unchanged()
    if isinstance(certificate, kernel.Certificate):
        rows = 0 if problem.n_features > MANY_FEATURES else problem.n_features  # small claims are small matrices
        with one_thread(rows):
            return verify_certificate(problem, certificate, as_seconds(time_limit), as_megabytes(memory_limit))
    allowance = Allowance(as_seconds(time_limit), as_megabytes(memory_limit))
    workers = Workers.checked(n_jobs, None)
    started = time.perf_counter()
    value, bound, reason = _check(problem, certificate, allowance, workers)
    if reason is None:
        message = f"Accepted: {value:.17g} <= optimum <= {bound:.17g}, for all {problem.n_features} features."
    else:
        message = f"Rejected: {reason.rstrip('.')}."
    seconds = time.perf_counter() - started - allowance.compiling
    return Verification(reason is None, value, bound, message, certificate.nodes, seconds)


def _check(
    problem: Problem, certificate: Certificate, allowance: Allowance, workers: Workers
) -> tuple[float, float, str | None]:
    """Return the proved value and bound, and the reason for a rejection."""
    value = 0.0
    try:
        reason = other_problem(problem, certificate.claim) or certificate.malformed()
        if reason is not None:
            return 0.0, math.inf, reason
        size = certificate.nbytes
        allowance.keep(size / 8)
        # The passes over data and proof so far.
        allowance.spent(20.0 * problem.n_samples * problem.n_features + 2.0 * size)
        places, weights = certificate.places, certificate.weights
        if len(places) > problem.k or len(set(places.tolist())) < len(places):
            return 0.0, math.inf, f"its vector has more than k = {problem.k} non-zero entries"
        if problem.costs is None and not weights.any():
            return 0.0, math.inf, "its vector is zero"
        # Where features cost something, using none of them is worth 0.
        value = value_below(problem, places, weights) if weights.any() else 0.0
        short, margin = certificate.value - value, _MARGINS.relative * certificate.value
        if not (short <= margin or short <= margin + _MARGINS.absolute * largest_variance(problem)):
            return value, math.inf, f"its vector is worth {value:.12g}, less than the claimed {certificate.value:.12g}"
        # Only here are the kernels loaded.
        from noap.checker.bounds import bound_above
        from noap.runtime.kernels import timed

        with timed(allowance.compiled):
            bound, reason = bound_above(problem, certificate.proof, certificate.bound, _MARGINS, allowance, workers)
        if reason is None:
            allowance.check()  # the last node may have passed it
    except OutOfAllowance as stopped:
        return value, math.inf, str(stopped)
    if reason is None and value > bound:
        return value, math.inf, "its bound lies below what its own vector is worth"
    return value, bound, reason
