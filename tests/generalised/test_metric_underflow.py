"""Data and budgets whose squares leave the range of doubles: proofs made by hand that try to profit from it."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import noap
import older
from noap.proofs.certificate import Certificate
from noap.proofs.claim import Claim
from noap.proofs.metric import MetricProof
from noap.proofs.metric_supports import BY_CELLS, SupportsProof


def by_supports(threshold, shift, supports=(), cells=0):
    """A proof that looks at all supports; those listed have so many closed cells each."""
    one, closed = np.empty(0), np.zeros(cells * len(supports), dtype=np.uint8)
    return SupportsProof(
        threshold, shift, 0.0, None, one, np.array(supports, dtype=np.uint32).ravel(),
        np.full(len(supports), BY_CELLS, dtype=np.uint8), one, closed, np.zeros(len(closed)), closed[:0],
    )  # fmt: skip


def verified(problem, T, proof):
    return noap.verify(problem, Certificate(Claim.about(problem, 0.0, T), np.array([0]), np.array([1.0]), proof))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_budgets_whose_squares_underflow(k):
    """The largest r'v, from squares, fell short of the smallest: cells seemed empty, and any bound was proved."""
    B = np.eye(3) + 0.1
    supports = list(combinations(range(3), k))
    for rho in np.linspace(2e-162, 6e-162, 25):
        problem = noap.Problem([[1e-30, 1.0, 0.5]], k, noap.FeatureWise([rho, rho, 1.0001 * rho]), metric=B)
        report = verified(problem, 1e-20, by_supports(1e-20, 0.0, supports, 2 ** (k - 1)))
        assert not report.ok
        assert "stays open" in report.message


def test_variances_that_underflow():
    """A shift made the numbers of a proof look large, which the matrices that it is about were not."""
    rng = np.random.default_rng(0)
    step = Fraction(5e-324)
    for _ in range(20):
        X = rng.standard_normal((3, 2)) * 1e-111
        G = rng.standard_normal((2, 2))
        problem = noap.Problem(X, 2, noap.NoAdversary(), metric=1e98 * (G @ G.T + np.eye(2)))
        (a, b), (_, c) = [[Fraction(float(x)) for x in row] for row in problem.metric]
        columns = [[Fraction(float(x)) for x in column] for column in X.T]
        p, q, r = (
            sum(x * y for x, y in zip(columns[i], columns[j], strict=True)) / 3 for i, j in ((0, 0), (0, 1), (1, 1))
        )
        # The larger root of (Ta - p)(Tc - r) = (Tb - q)^2, from above in steps of the smallest float.
        T = Fraction(0)
        while not (T * a >= p and T * c >= r and (T * a - p) * (T * c - r) >= (T * b - q) ** 2):
            T += step
        for below in range(1, 4):
            if below * step < T:
                assert not verified(problem, float(T - below * step), by_supports(float(T - below * step), 1.0)).ok


def test_a_covariance_that_underflows_over_a_diagonal():
    inner = older.solve(noap.Problem.from_covariance(np.eye(2), n_samples=1, k=1, adversary=noap.NoAdversary())).proof
    S = [[1e-222, 1e-223], [1e-223, 2e-222]]
    for size in (1e80, 1e99):
        problem = noap.Problem.from_covariance(
            S, n_samples=1, k=1, adversary=noap.NoAdversary(), metric=[size, 2 * size]
        )
        report = verified(problem, 1e-321, MetricProof(0.0, 0.0, 1e-321, inner))
        assert "leave the range of doubles" in report.message
