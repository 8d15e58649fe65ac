"""What works on a d x d matrix says so in one sentence where that would not fit; the rest goes on."""

import math

import numpy as np
import pytest

import noap
from noap.errors import InvalidProblem
from noap.linalg.memory import machine_bytes

D = math.ceil(math.sqrt(machine_bytes() / 32)) + 1
"""Features whose covariance takes more than a quarter of this machine's memory."""


@pytest.fixture(scope="module")
def wide():
    return np.random.default_rng(0).standard_normal((12, D))


def problem(X):
    return noap.Problem(X, k=2, adversary=noap.FeatureWise(0.5))


@pytest.mark.parametrize(
    ("what", "run"),
    [
        ("Method 'relaxation'", lambda problem: noap.solve(problem, method="relaxation")),
        ("near_optimal", lambda problem: noap.near_optimal(problem, within=0.1)),
        ("Method 'mip'", lambda problem: noap.solve(problem, method="mip")),
        ("Method 'mip-r'", lambda problem: noap.solve(problem, method="mip-r")),
        ("Problem.covariance", lambda problem: problem.covariance),
        ("Problem.covariance", lambda problem: noap.solve(problem, method="spca")),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused_in_one_sentence(what, run, wide):
    with pytest.raises(InvalidProblem) as refused:
        run(problem(wide))
    message = str(refused.value)
    assert message.startswith(what)
    assert message.endswith(".")
    assert f"{D} features" in message
    assert "keep fewer features" in message


def test_what_needs_no_such_matrix_goes_on(wide):
    spiked = wide.copy()
    spiked[:, :2] += 5 * spiked[:, [2]]
    result = noap.solve(noap.Problem(spiked, k=2, adversary=noap.FeatureWise(0.5)))
    assert result.status is noap.Status.OPTIMAL
    assert noap.verify(result.problem, result.certificate).ok
    assert noap.solve(result.problem, method="ascent").value == pytest.approx(result.value)
