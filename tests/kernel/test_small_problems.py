"""Many small problems by brute force: nothing false is accepted, nothing honest is refused, and nothing crashes."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from kernel_cases import drawn, problem_of, truth_of

import noap
from noap.errors import InvalidProblem, NoapWarning
from noap.kernel.certificate import Certificate


def check(seed):
    """Solve, write, read and verify one problem; return whether there was one."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        try:
            problem = problem_of(**drawn(rng))
        except InvalidProblem:
            return False
        result = noap.solve(problem)
    if problem.optimum_is_zero:
        assert result.value == result.bound == result.gap == 0, seed
    certificate = Certificate.from_bytes(result.certificate.to_bytes())
    verification = noap.verify(problem, certificate)
    assert verification.ok, (seed, verification.message)
    truth = truth_of(problem)
    best = truth.best()[0]
    assert Fraction(verification.bound) >= best, seed
    v = np.zeros(problem.n_features)
    v[certificate.support] = certificate.weights
    assert Fraction(verification.value) <= max(truth.worth(v)[1] if v.any() else -truth.demanded, -truth.demanded), seed
    assert verification.value >= result.value - 1e-9 * abs(result.value) - 1e-12 * problem.scale, seed
    return True


def test_three_hundred():
    assert sum(check(seed) for seed in range(300)) > 150


@pytest.mark.slow
def test_ten_thousand():
    assert sum(check(seed) for seed in range(300, 13000)) > 9000
