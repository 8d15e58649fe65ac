"""Parallel columns and a poor start: search and checker see a node by other roundings, and the proof holds nonetheless.

With columns that are equal up to sign the intervals of a node are known to the root of an ulp only, and ties decide
what is tested. Each of these problems has a certificate that a checker which follows the search to the letter rejects.
"""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from tampering import claiming

import judge
import noap
from noap.exact.feature_wise.search import solve_gram
from noap.proofs.certificate import Certificate
from noap.runtime.controls import Controls
from noap.runtime.limits import Limits

# X, k, rho/sqrt(n), gap, and the one feature of the vector to start from.
CASES = {
    "levels of many vectors": (
        [[0, -2, 0, 0, 0, 0, -2, 0, 0], [2, 1, -2, 2, -2, -2, 1, 2, 2]], 4, 0.4 * 2.5**0.5, 1e-6, 1,
    ),
    "a leaf closed by chords": (
        [[1, 1, -1, -1, 1, -1], [-1, 1, -1, -1, 1, -1], [-1, 1, 1, -1, -1, 1]], 5, 0.25, 1e-9, 0,
    ),
    "a leaf closed without a test": (
        [
            [-1, 1, 1, -1, -1, -1, 1, 1],
            [1, -1, -1, -1, 1, 1, -1, -1],
            [1, 1, 1, 1, 1, -1, -1, 1],
            [1, -1, 1, -1, -1, -1, 1, -1],
        ], 5, 0.1, 1e-9, 0,
    ),
    "a list of what may be added": (
        [
            [2, 1, 2, -2, -1, 0, 2],
            [-1, 1, 0, 0, -1, 1, 0],
            [2, -2, 2, -2, 2, -1, 2],
            [-2, 0, 2, -2, 0, 2, 1],
            [-2, 0, 0, 0, 0, 2, -1],
            [-1, 2, 2, -2, -2, -2, -1],
        ], 5, 0.3, 1e-7, 0,
    ),
    "an inner product that equals rho": (
        [[0, 0.5, 0, 0, -0.5, -0.5, -0.5], [0, 0, 0.5, 1, 1, 1, 0]], 4, 0.4**0.5, 1e-7, 4,
    ),
}  # fmt: skip


def made(name):
    """The problem, and the certificate of a search that starts from one feature."""
    X, k, share, gap, start = CASES[name]
    X = np.array(X, dtype=float)
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(share * math.sqrt(len(X))))
    outcome = solve_gram(
        problem, Controls.checked(gap, None, 0, False), np.eye(X.shape[1])[start], Limits(10_000, keep_proof=True)
    )
    result = dataclasses.replace(
        noap.solve(problem, method="ascent"), v=outcome.v, bound=outcome.bound, bound_proof="rigorous",
        proof=outcome.proof,
    )  # fmt: skip
    return problem, result.certificate


@pytest.mark.parametrize("name", CASES)
def test_proofs_of_parallel_columns_from_poor_starts_hold(name):
    problem, certificate = made(name)
    report = noap.verify(problem, Certificate.from_bytes(certificate.to_bytes()))
    assert report.ok, report.message
    assert report.bound <= certificate.bound * (1 + 1.1e-7) + 1e-11 * problem.scale
    n, rho = problem.n_samples, float(problem.adversary.rho)
    _, v = judge.feature_wise_best(n * problem.covariance, n, problem.k, rho)
    assert Fraction(report.value) <= judge.may_be_worth(problem, certificate)
    assert judge.exact_worth(problem, v) <= Fraction(report.bound)
    # What is mended is rounding: a claim below the optimum stays unproved.
    for share in (1 - 1e-6, 0.99, 0.5):
        assert not noap.verify(problem, claiming(certificate, bound=share * certificate.value, value=0.0)).ok
