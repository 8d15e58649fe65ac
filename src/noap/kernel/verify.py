"""Whether a certificate proves what it claims about a problem: the kernel, run once over the file's witnesses."""

import math
import sys
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from noap.adversaries import require_served
from noap.data.arguments import as_jobs, as_megabytes, as_seconds
from noap.errors import CertificateRejected, InvalidProblem
from noap.kernel.arithmetic import TINY, Refused, U, need
from noap.kernel.certificate import Certificate
from noap.kernel.claim import SERVES, data_of, difference, matrix_of, serves
from noap.kernel.data import Features
from noap.kernel.directions import TOLERANCE
from noap.kernel.limited import verify_within
from noap.kernel.packing import check_packing, value_of_packing
from noap.kernel.samples import SampleData
from noap.kernel.tree import check_levels, check_list
from noap.linalg.memory import MANY_FEATURES
from noap.linalg.types import IntArray
from noap.problem import Problem
from noap.runtime.notebook import html_table
from noap.runtime.threads import one_thread, threads_for

__all__ = ["Verification", "verify", "verify_certificate"]

# A vector proves its claimed value to this, relative to it and to the largest variance of a feature.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12
# What further features add to a support of a list counts as nothing up to this share: where they cost something, it is
# then not among those shown.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Verification:
    """What the checker could prove.

    Attributes
    ----------
    ok : bool
        Whether the certificate is accepted.
    value : float
        The optimum is at least this: the proved value of the certificate's vector.
    bound : float
        The optimum is at most this; inf if the proof does not hold.
    message : str
        The theorem, or the reason for the rejection, in one sentence.
    nodes : int
        Nodes of the tree.
    seconds : float
    threshold : float or None
        Of a list of supports: every other support is worth at most this; inf if the proof does not hold.
    supports : int or None
        How many supports the list has, without those that are part of another one on it; with costs, without those
        that have a part on it worth as much.
    """

    ok: bool
    value: float
    bound: float
    message: str
    nodes: int = 0
    seconds: float = 0.0
    threshold: float | None = None
    supports: int | None = None

    @property
    def gap(self) -> float:
        """(bound - value)/value of what is proved."""
        return (self.bound - self.value) / self.value if self.value > 0 else (0.0 if self.bound <= 0 else math.inf)

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        rows = [
            ("certificate", "accepted" if self.ok else "rejected"),
            ("optimum at least", f"{self.value:.17g}"),
            ("optimum at most", f"{self.bound:.17g}"),
            *([] if self.supports is None else [("supports on the list", self.supports)]),
            *([] if self.threshold is None else [("every other support at most", f"{self.threshold:.17g}")]),
            ("nodes checked", self.nodes),
            ("seconds", f"{self.seconds:.2f}"),
        ]
        return html_table(self.message, rows)

    def require(self) -> "Verification":
        """Return itself, or raise CertificateRejected with the reason."""
        if not self.ok:
            raise CertificateRejected(self.message)
        return self


def verify(
    problem: Problem,
    certificate: Certificate,
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
        Seconds after which the certificate is rejected as not proved within them.
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
        InvalidProblem if the adversary is of a type that no theorem is about, or if the problem's X was changed.

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
    if not isinstance(certificate, Certificate):
        raise InvalidProblem(
            f"certificate must be a noap.Certificate, got {type(certificate).__name__}; read one with "
            "noap.Certificate.load, or take it from a Result of method 'exact'."
        )
    require_served(problem.adversary, SERVES, "A certificate", "build the problem with one of these")
    problem.check_unchanged()
    rows = 0 if problem.n_features > MANY_FEATURES else problem.n_features  # small claims are small matrices
    threads, seconds, megabytes = threads_for(as_jobs(n_jobs)), as_seconds(time_limit), as_megabytes(memory_limit)
    with one_thread(rows):
        return verify_certificate(problem, certificate, seconds, megabytes, threads)


def verify_certificate(
    problem: Problem,
    certificate: Certificate,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    threads: int = 1,
) -> Verification:
    """Check a certificate of the kernel against a problem; in a process of its own where limits are asked for.

    Parameters
    ----------
    problem : Problem
    certificate : Certificate
    time_limit, memory_limit : float, optional
        Seconds and megabytes, after which it is rejected as not proved within them.
    threads : int
        How many share a pass over pairs of features.
    """
    started = time.perf_counter()
    if time_limit is not None or memory_limit is not None:
        answer = verify_within(problem, certificate, time_limit, memory_limit, threads)
        if isinstance(answer, str):
            seconds = time.perf_counter() - started
            return Verification(False, 0.0, math.inf, f"Rejected: {answer}.", certificate.nodes, seconds)
        return answer
    value, bound, threshold, supports, slack, reason = 0.0, math.inf, None, None, 0.0, None
    try:
        with np.errstate(all="ignore"):  # NaN refuses, whatever it came from
            value, bound = (
                _proved_joint(problem, certificate)
                if certificate.kind == "joint"
                else _proved(problem, certificate, threads)
            )
            if certificate.kind == "list":
                threshold, supports, slack = _proved_list(problem, certificate)
        message = f"{value:.17g} <= {_optimum(certificate)} <= {bound:.17g}, for all {problem.n_features} features"
        directions = 0 if certificate.claim.directions is None else len(certificate.claim.directions)
        if directions:
            given = "1 given direction" if directions == 1 else f"{directions} given directions"
            message += f" and all vectors orthogonal, to {TOLERANCE:.0e}, to {given}"
        message += "."
        if threshold is not None:
            listed = "1 support" if supports == 1 else f"{supports} supports"
            message = (
                f"a complete list of {listed}; any other of at most {problem.k} features is worth at most "
                f"{threshold:.17g}, or no more than its features on the list (to {slack:.1e}); {message}"
            )
        message = f"Accepted: {message}"
    except Refused as refusal:
        reason = str(refusal)
        message = f"Rejected: {reason}."
        if certificate.kind == "list":
            value, bound, threshold, supports = 0.0, math.inf, math.inf, 0
    ok, seconds = reason is None, time.perf_counter() - started
    return Verification(ok, value, bound, message, certificate.nodes, seconds, threshold, supports)


def _optimum(certificate: Certificate) -> str:
    """Return what value and bound enclose, as it stands in a sentence."""
    if certificate.proof.packing is None:
        return "optimum"
    sizes = certificate.proof.packing.slots
    each = f"{sizes[0]}" if len(set(sizes)) == 1 else ", ".join(map(str, sizes))
    # One attack on all components is one on each where it moves features; where it moves samples it is not.
    apart = ", each attacked by itself" if certificate.claim.adversary == "sample-wise" else ""
    return f"joint optimum of {len(sizes)} disjoint components of at most {each} features{apart}"


def _proved(problem: Problem, certificate: Certificate, threads: int) -> tuple[float, float]:
    """Return value and bound that are proved, or refuse."""
    claim = certificate.claim
    other = difference(problem, claim)
    if other is not None:
        raise Refused(other)
    need(problem.X is None or certificate.proof.shift == 0, "the shift of samples is not 0")
    made, proof = matrix_of if certificate.kind == "list" else data_of, certificate.proof
    data, _ = made(problem, proof.exponent, proof.shift, proof.least)
    if isinstance(data, Features):
        data.threads = threads
    unit = Fraction(4) ** certificate.proof.exponent
    # The vector, or none at all: no bound may lie below either.
    none: IntArray = np.empty(0, np.intp)
    least = max(data.value_at_least(certificate.support, certificate.weights), data.value_at_least(none, np.empty(0)))
    need(math.isfinite(least), "its vector is worth too little for a number")
    taken = Fraction(0)
    if claim.adversary == "spectral" and claim.rho is not None:
        rho = float(claim.rho[0])
        # (|Xv| - rho)_+^2, with roundings that cannot raise it: a root, a quotient, a root, a difference, a square.
        r = math.ldexp(rho / math.sqrt(claim.n_samples), -certificate.proof.exponent) * (1 + 8 * U)
        least = max(math.sqrt(max(least, 0.0)) * (1 - 8 * U) - r, 0.0) ** 2 * (1 - 8 * U)
        taken = Fraction(rho) ** 2 / claim.n_samples if math.isfinite(rho) else Fraction(sys.float_info.max) ** 2
    value = rounded_down(Fraction(least) * unit)
    short = Fraction(claim.value) - Fraction(least) * unit
    need(
        short <= Fraction(_RELATIVE) * abs(Fraction(claim.value)) + _room(data, unit),
        f"its vector has the value {value:.12g}, less than the claimed {claim.value:.12g}",
    )
    levels = certificate.proof.levels
    T = Fraction(check_levels(data, levels[:-1] if certificate.kind == "list" else levels)) * unit
    # Against the spectral norm: root T at most root bound + rho/root n, in squares.
    beyond = T - taken - Fraction(claim.bound)
    below = beyond <= 0 or (taken > 0 and beyond * beyond <= 4 * taken * Fraction(claim.bound))
    need(below, "its proof is about a larger bound")
    need(value <= claim.bound, "its bound lies below the value of its own vector")
    return value, claim.bound


def _proved_joint(problem: Problem, certificate: Certificate) -> tuple[float, float]:
    """Return value and bound of several choices together, or refuse."""
    claim, proof = certificate.claim, certificate.proof
    need(problem.metric is None, "no theorem is about several components in a metric")
    need(serves(problem), f"no theorem is about {problem.adversary!r} with this metric")
    need(claim.adversary != "spectral", "no theorem is about several components against the spectral norm")
    need(len(problem.include) == 0, "no theorem is about several components and demanded features")
    need(claim.k <= problem.n_features, "the certificate is about more features than there are")
    other = difference(problem.with_sparsity(claim.k), claim)
    if other is not None:
        raise Refused(other)
    need(problem.X is None or proof.shift == 0, "the shift of samples is not 0")
    assert proof.packing is not None
    data, _ = matrix_of(problem.with_sparsity(claim.k), proof.exponent, proof.shift)
    unit = Fraction(4) ** proof.exponent
    exact = max(value_of_packing(data, proof.packing, certificate.support, certificate.weights), Fraction(0)) * unit
    value, room = rounded_down(exact), _room(data, unit) * len(proof.packing.slots)
    need(
        Fraction(claim.value) - exact <= Fraction(_RELATIVE) * abs(Fraction(claim.value)) + room,
        f"its components are worth {value:.12g}, less than the claimed {claim.value:.12g}",
    )
    need(value <= claim.bound, "its bound lies below what its own components are worth")
    check_packing(data, proof.packing, Fraction(claim.bound))
    return value, claim.bound


def _room(data: Features | SampleData, unit: Fraction) -> Fraction:
    """Return by how much a value may be missed beside roundings: what is taken off the form, and what underflows."""
    room = (Fraction(_ABSOLUTE) * Fraction(data.top) + Fraction(data.added) + Fraction(TINY)) * unit
    if data.metric is not None:  # v'Bv may be so much smaller than |v|^2
        room /= Fraction(float(data.metric.below.min()))
    return room + data.terms.n_samples * Fraction(5e-324)  # the claimed value is a sum of doubles


def _proved_list(problem: Problem, certificate: Certificate) -> tuple[float, int, float]:
    """Return the threshold of a list, how many supports it shows, and what more features may add; or refuse."""
    need(certificate.claim.adversary != "spectral", "no theorem is about lists against the spectral norm")
    proof = certificate.proof
    data, _ = matrix_of(problem, proof.exponent, proof.shift)
    T = check_list(data, proof.levels[-1], proof.supports)
    threshold = -rounded_down(-Fraction(T) * Fraction(4) ** proof.exponent)
    sets = [(frozenset(one.features.tolist()), one.value) for one in proof.supports]
    if data.has_costs:  # where features cost something a part may be worth as much
        shown = [
            own
            for own, value in sets
            if not any(part < own and worth >= (1 - _NOTHING) * value for part, worth in sets)
        ]
    else:
        shown = [own for own, _ in sets if not any(own < other for other, _ in sets)]
    slack = max((one.beyond / one.value - 1.0 for one in proof.supports), default=0.0)
    return threshold, len(set(shown)), max(slack, 0.0)


def rounded_down(x: Fraction) -> float:
    """Return the largest double of at most x, or nearly."""
    most = Fraction(sys.float_info.max)
    near = float(max(min(x, most), -most))
    return near if Fraction(near) <= x else math.nextafter(near, -math.inf)
