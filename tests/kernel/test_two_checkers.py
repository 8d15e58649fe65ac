"""The kernel and tools/noap_check.py say the same of every certificate: honest ones, and ones tampered with.

Both round outwards, each in its own way, so that a witness without any room may be taken by one of them alone; what
either takes is judged by brute force.
"""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from kernel_cases import certificate_of, drawn, every_kind, problem_of, truth_of
from test_kernel_tampering import tampered

import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.kernel.certificate import Certificate
from second_checker import second_verdict


def problem_from(seed):
    """Return a random problem, or None where noap takes none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        try:
            return problem_of(**drawn(np.random.default_rng(seed)))
        except InvalidProblem:
            return None


def solved(problem):
    """Return the certificate of a problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        return noap.solve(problem).certificate


def verdicts(problem, raw):
    """Return why the kernel refuses a file, and why the second checker does; None where they do not."""
    try:
        found = noap.verify(problem, Certificate.from_bytes(raw))
        ours = None if found.ok else found.message
    except InvalidProblem as refusal:
        ours = str(refusal)
    data = problem.X if problem.X is not None else problem.covariance
    return ours, second_verdict(raw, np.asarray(data))


def spoken_of(problem, raw):
    """Return the problem that a file speaks of, None where noap takes no such problem, and whether it is another one.

    noap is told the problem; the second checker knows the data alone, and takes the rest from the file.
    """
    try:
        claim = Certificate.from_bytes(raw).claim
    except InvalidProblem:
        return problem, False
    d, known = problem.n_features, problem.X is not None
    if claim.costs is not None and not claim.costs.any():
        return None, True  # no costs have no array
    if claim.directions is not None:
        return None, True  # none of these problems has any
    if claim.adversary == "spectral" or claim.n_features != d or (known and claim.n_samples != problem.n_samples):
        return problem, False
    try:
        adversary = noap.NoAdversary() if claim.rho is None else noap.FeatureWise(np.broadcast_to(claim.rho, d))
        if claim.adversary == "sample-wise":
            adversary = noap.SampleWise(np.broadcast_to(claim.rho, claim.n_samples))
        if claim.adversary == "entry-wise":
            adversary = noap.EntryWise(claim.rho.reshape(-1, d) if claim.rho.size % d == 0 else claim.rho[0])
        terms = {"costs": claim.costs, "include": claim.include.tolist(), "exclude": claim.exclude.tolist()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoapWarning)
            if known:
                found = noap.Problem(problem.X, claim.k, adversary, **terms)
            else:
                found = noap.Problem.from_covariance(
                    problem.covariance, n_samples=claim.n_samples, k=claim.k, adversary=adversary, **terms
                )
    except InvalidProblem:
        return None, True
    rows = claim.adversary in ("sample-wise", "entry-wise")
    return found, rows or not np.array_equal(digest_of(found), digest_of(problem))


def digest_of(problem):
    """Return what tells problems with the same data apart."""
    rho = None if isinstance(problem.adversary, noap.NoAdversary) else problem.adversary.budgets(problem.n_features)
    parts = (problem.costs, rho, problem.include, problem.exclude, [problem.k, problem.n_samples])
    return np.concatenate([[-1.0] if part is None else np.append(np.asarray(part, float), -2.0) for part in parts])


def compared(problem, certificate, rng, many=6):
    """Tamper with a certificate; return how many files both refuse and both accept, and what they differ about."""
    best, counts, apart = truth_of(problem).best()[0], [0, 0], []
    for what, raw in tampered(certificate, rng, many):
        other, is_other = spoken_of(problem, raw)
        if other is None:
            continue
        ours, theirs = verdicts(other, raw)
        if (ours is None) != (theirs is None):
            apart.append((what, ours, theirs))
        else:
            counts[ours is None] += 1
        # Attacks on samples and entries have other judges.
        if theirs is None and not isinstance(other.adversary, noap.SampleWise | noap.EntryWise):
            claim, most = Certificate.from_bytes(raw), truth_of(other).best()[0] if is_other else best
            assert Fraction(claim.bound) >= most, what
            room = abs(most) * Fraction(2, 10**9) + Fraction(other.scale) * Fraction(2, 10**12)
            assert Fraction(claim.value) <= most + room, what
    return counts, apart


def is_of_doubles(what, ours, theirs):
    """Return whether the kernel alone refuses, for numbers that its doubles are not meant for or cannot tell apart."""
    reasons = (
        "M: the vector is", "M: the gain is out of range", "S: the scaling", "E: out of range", "E: B is not below c",
        "E: nothing is left",
        "the exponent does not fit the data", "not positive semidefinite", "the shift must be",
    )  # fmt: skip
    too_large = what.startswith("costs") and what.endswith("times 1e+30")
    return ours is not None and theirs is None and (too_large or any(reason in ours for reason in reasons))


def agree(seeds):
    """Return of how many random problems both accept the certificate; none of them is refused by either."""
    accepted = 0
    for seed in seeds:
        problem = problem_from(seed)
        if problem is not None:
            assert verdicts(problem, solved(problem).to_bytes()) == (None, None), seed
            accepted += 1
    return accepted


def test_sixty_problems():
    assert agree(range(60)) > 30


def test_every_rule_and_array_tampered_with():
    problem, certificate = every_kind()
    (refused, accepted), apart = compared(problem, certificate, np.random.default_rng(0), 2)
    assert min(refused, accepted) > 100
    assert not [each for each in apart if not is_of_doubles(*each)]


@pytest.mark.slow
def test_a_thousand_problems():
    assert agree(range(1000, 2400)) > 1000


@pytest.mark.slow
def test_twenty_thousand_files():
    rng, total, apart, seed = np.random.default_rng(1), np.zeros(2, int), [], 0
    while total.sum() < 20_000:
        seed += 1
        problem = problem_from(seed)
        if problem is None or problem.optimum_is_zero:
            continue
        certificates = [solved(problem)]
        if problem.X is not None and problem.n_features - len(problem.exclude) >= 3 and problem.k >= 3:
            certificates.append(certificate_of(problem, rng))
        for one in certificates:
            counts, more = compared(problem, one, rng, 4)
            total += counts
            apart += [(seed, *each) for each in more]
    print(total, apart)  # noqa: T201
    assert not [each for each in apart if not is_of_doubles(*each[1:])]
