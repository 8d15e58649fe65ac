"""Data at the edge of floating point: a correct proof or an honest refusal."""

import math
from fractions import Fraction

import numpy as np
import pytest
from awkward import MATRICES

import judge
import noap
import older
from noap.checker.allowance import Allowance
from noap.checker.feature_wise.data import GramData
from noap.checker.feature_wise.kernels import tighten as kernels
from noap.proofs.certificate import Certificate

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


def problem_of(S, k, rho, n=100):
    adversary = noap.FeatureWise(rho) if rho else noap.NoAdversary()
    return noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=adversary)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("share", [0.0, 1e-9, 0.3, 0.9, 1 - 1e-9])
def test_a_correct_proof_or_an_honest_refusal(name, share):
    S = MATRICES[name]
    n = 100
    rho = share * math.sqrt(n * float(S.diagonal().max()))
    for k in (1, 2, 3):
        problem = problem_of(S, k, rho, n)
        certificate = older.solve(problem, gap=1e-6, node_limit=400).certificate
        report = noap.verify(problem, Certificate.from_bytes(certificate.to_bytes()))
        _, v = judge.feature_wise_best(n * S, n, k, rho, grid=60)
        assert v is None or judge.exact_worth(problem, v) <= Fraction(report.bound)
        assert Fraction(report.value) <= judge.may_be_worth(problem, certificate)
        # Everything that is not beyond double precision is proved.
        assert report.ok or "too far from positive semidefinite" in report.message, report.message


@pytest.mark.parametrize("unit", [1e-149, 2.0**-300, 1e-75, 1e75, 2.0**300, 1e150])
@pytest.mark.parametrize("source", ["samples", "covariance"])
def test_the_unit_does_not_matter(unit, source):
    X = np.random.default_rng(4).standard_normal((9, 6))
    X /= np.abs(X).max()
    X[:, 1] *= 1e-3
    for rho in (0.0, 0.4, 0.9):
        adversary = noap.FeatureWise(rho * unit) if rho else noap.NoAdversary()
        problem = noap.Problem(X * unit, k=3, adversary=adversary)
        if source == "covariance":
            S = (X * unit).T @ (X * unit) / 9
            problem = noap.Problem.from_covariance(S, n_samples=9, k=3, adversary=adversary)
        certificate = older.solve(problem).certificate
        report = noap.verify(problem, certificate)
        assert report.ok, report.message
        _, v = judge.feature_wise_best(X.T @ X, 9, 3, rho)
        assert Fraction(report.value) <= judge.may_be_worth(problem, certificate)
        assert judge.exact_worth(problem, v) <= Fraction(report.bound)
        lie = noap.verify(problem, certificate_with(certificate, bound=report.value * (1 - 1e-6)))
        assert not lie.ok


def certificate_with(certificate, **fields):
    from dataclasses import replace

    return replace(certificate, claim=replace(certificate.claim, **fields))


@pytest.mark.parametrize(
    ("size", "rho"), [(1e-140, 1e300), (1e-140, 1e-320), (1e140, 1e-300), (1e140, 1e300), (1.0, 5e-324), (1.0, 1e308)]
)
def test_a_budget_of_another_order_than_the_data(size, rho):
    X = np.random.default_rng(2).standard_normal((5, 4)) * size
    X[:, 3] *= 1e-160  # squares of this one vanish
    problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(rho))
    certificate = older.solve(problem).certificate
    assert noap.verify(problem, certificate).ok
    # Another vector may look at columns of quite another size than the budget's.
    from dataclasses import replace

    tiny = replace(certificate, places=np.array([3]), weights=np.array([1e-310]))
    assert not noap.verify(problem, tiny).ok or rho > size


def test_tiny_columns_that_overflow_say_nothing():
    # Two features of length 1e-160, one of length 1: multipliers of 1e160 have squares beyond all numbers, and the
    # inner product of the two is 0. What comes of it must not close anything.
    for tiny in (3e-161, 1e-160, 1e-155, 1e-150):
        data = GramData.of(noap.Problem(np.diag([1.0, tiny, tiny, 0.0]), k=3, adversary=noap.NoAdversary()))
        b = math.ldexp(tiny / 2, -data.exponent)
        inc, sign, lo, hi = np.array([1, 2]), np.array([1, 1]), np.full(2, 0.5 * b), np.full(2, b)
        free, ceil = np.array([0]), data.norms[:1].copy()
        closed, n_free, _, _ = kernels.tighten(
            data.A, data.eps, data.top, data.table, 0.4 * float(data.A[0, 0]), 1, np.empty(0),
            inc, sign, lo, hi, 2, free, ceil, 1, Allowance().clock,
        )  # fmt: skip
        assert not closed
        assert n_free == 1
        assert ceil[0] ** 2 >= 0.5 * data.A[0, 0]
