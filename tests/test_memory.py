"""What works on a d x d matrix says so in one sentence where that would not fit; the rest goes on."""

import numpy as np
import pytest

import noap
from noap.errors import InvalidProblem
from noap.linalg import memory

X = np.random.default_rng(0).standard_normal((12, 6))


@pytest.fixture
def little(monkeypatch):
    """A machine that has no room for a 6 x 6 matrix."""
    monkeypatch.setattr(memory, "machine_bytes", lambda: 1000.0)


def problem(rho=0.5, costs=None):
    return noap.Problem(X, k=2, adversary=noap.FeatureWise(rho), costs=costs)


@pytest.mark.parametrize(
    ("what", "run"),
    [
        ("Method 'relaxation'", lambda: noap.solve(problem(), method="relaxation")),
        ("near_optimal", lambda: noap.near_optimal(problem(), within=0.1)),
        ("Method 'mip'", lambda: noap.solve(problem(), method="mip")),
        ("Method 'mip-r'", lambda: noap.solve(problem(), method="mip-r")),
        ("Problem.covariance", lambda: problem().covariance),
        ("Problem.covariance", lambda: noap.solve(problem(), method="spca")),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused_in_one_sentence(what, run, little):
    with pytest.raises(InvalidProblem) as refused:
        run()
    message = str(refused.value)
    assert message.startswith(what)
    assert message.endswith(".")
    assert "6 features" in message
    assert "keep fewer features" in message


def test_what_needs_no_such_matrix_goes_on(little):
    wide = np.random.default_rng(0).standard_normal((12, 2001))
    wide[:, :2] += 5 * wide[:, [2]]
    result = noap.solve(noap.Problem(wide, k=2, adversary=noap.FeatureWise(0.5)))
    assert result.status is noap.Status.OPTIMAL
    assert noap.verify(result.problem, result.certificate).ok
    assert noap.solve(result.problem, method="ascent").value == pytest.approx(result.value)


def test_a_covariance_that_is_there_is_no_question_of_room(little):
    S = X.T @ X / len(X)
    given = noap.Problem.from_covariance(S, n_samples=12, k=2, adversary=noap.FeatureWise(0.5))
    assert noap.solve(given, method="relaxation").bound > 0


def test_the_machine_says_how_much_it_has(monkeypatch, tmp_path):
    memory.machine_bytes.cache_clear()
    assert memory.machine_bytes() > 1e8
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_CONTAINER", limit)
    for text, most in (("123456789\n", 123456789.0), ("max\n", None)):
        limit.write_text(text)
        memory.machine_bytes.cache_clear()
        assert memory.machine_bytes() == most or (most is None and memory.machine_bytes() > 1e8)
    monkeypatch.delattr(memory.os, "sysconf")
    memory.machine_bytes.cache_clear()
    assert memory.machine_bytes() == float("inf")
    memory.machine_bytes.cache_clear()
