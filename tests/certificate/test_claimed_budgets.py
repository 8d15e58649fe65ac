"""Certificates about one budget per sample: what they hold, and that none is about other budgets."""

import dataclasses

import numpy as np
import pytest
from sample_cases import solved
from tampering import claiming

import judge
import noap
from noap.proofs import container
from noap.proofs.certificate import Certificate
from noap.proofs.claim import Claim
from noap.proofs.sample_wise import CONES, SPLIT, units_of

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


@pytest.fixture(scope="module")
def honest():
    """Problem, certificate and optimum; the tree has splits and cones."""
    rng = np.random.default_rng(10)
    X = rng.standard_normal((12, 8))
    rho = rng.choice([0.0, 0.9, 1.1, 1.3], 12, p=[0.1, 0.3, 0.3, 0.3])
    rho[3] = np.inf
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(rho))
    _, certificate = solved(problem)
    assert noap.verify(problem, certificate).ok
    assert {SPLIT, CONES} <= set(certificate.proof.kind)
    return problem, certificate, judge.sample_wise_optimum(X, 3, rho)


def against(problem, rho):
    return problem.with_adversary(noap.SampleWise(rho))


def changed(rho, at, to):
    other = rho.copy()
    other[at] = to
    return other


OTHERS = {
    "an ulp less": lambda rho: changed(rho, 1, np.nextafter(rho[1], 0.0)),
    "an ulp more": lambda rho: changed(rho, 1, np.nextafter(rho[1], 2.0)),
    "an exact sample that is none": lambda rho: changed(rho, int(np.argmin(rho)), 5e-324),
    "permuted": lambda rho: np.roll(rho, 1),
    "two exchanged": lambda rho: changed(changed(rho, 3, rho[4]), 4, rho[3]),
    "a dropped sample that is not": lambda rho: changed(rho, 3, 1e300),
    "a sample dropped": lambda rho: changed(rho, 5, np.inf),
    "none": np.zeros_like,
    "a number": lambda rho: float(rho[1]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_certificate_is_about_its_budgets_and_no_others(honest, name):
    problem, certificate, _ = honest
    other = against(problem, OTHERS[name](problem.adversary.rho))
    report = noap.verify(other, certificate)
    assert not report.ok
    assert "other budgets" in report.message or "about rho" in report.message
    # What is claimed of other budgets is not about these.
    lie = dataclasses.replace(certificate, claim=Claim.about(other, certificate.value, certificate.bound))
    assert not noap.verify(problem, lie).ok


@pytest.mark.parametrize("factor", [0.999, 0.9, 0.5])
def test_smaller_budgets_are_not_proved_by_the_attacks_of_larger_ones(honest, factor):
    problem, certificate, _ = honest
    for sample in range(12):
        rho = changed(problem.adversary.rho, sample, factor * problem.adversary.rho[sample])
        other = against(problem, rho)
        lie = dataclasses.replace(certificate, claim=Claim.about(other, 0.0, certificate.bound))
        report = noap.verify(other, lie)
        assert not report.ok or judge.sample_wise_optimum(problem.X, 3, rho) <= report.bound * (1 + 1e-12)


def test_no_bound_below_the_optimum_passes(honest):
    problem, certificate, optimum = honest
    for share in (0.0, 0.5, 0.99, 0.9999, 1 - 1e-6):
        assert not noap.verify(problem, claiming(certificate, bound=share * optimum, value=0.0)).ok


def test_a_number_and_as_many_equal_budgets_are_one_claim():
    X = np.random.default_rng(1).standard_normal((20, 6))
    number = noap.Problem(X, k=2, adversary=noap.SampleWise(0.5))
    each = against(number, np.full(20, 0.5))
    for mine, theirs in ((number, each), (each, number)):
        assert noap.verify(theirs, solved(mine)[1]).ok


def test_the_file_names_the_budgets(honest):
    _, certificate, _ = honest
    header, _ = container.unpack(certificate.to_bytes())
    assert Certificate.from_bytes(certificate.to_bytes()).claim == certificate.claim
    assert header["claim"]["budgets"] == certificate.claim.budgets
    assert header["claim"]["rho"] == (1.3).hex()


def test_attacks_are_written_in_units_of_each_samples_budget():
    assert units_of(np.array([1.0, 0.75, 3.0, 2.0**-30, 0.0, np.inf])).tolist() == [1, 0, 2, -29, 0, 0]
    # Budgets of very different sizes: each row keeps its digits in single precision.
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 8)) * 10.0 ** rng.integers(-30, 1, 30)[:, None]
    problem = noap.Problem(X, k=3, adversary=noap.SampleWise(0.4 * np.linalg.norm(X, axis=1)))
    _, certificate = solved(problem, gap=1e-3)
    assert certificate.proof.values.dtype == np.float32
    assert 0.1 < np.abs(certificate.proof.values).max() <= 1.0
    assert noap.verify(problem, certificate).ok
