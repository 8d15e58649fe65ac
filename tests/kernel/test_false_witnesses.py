"""The kernel refuses false witnesses, and those found by hand; without its error terms it would not."""

import numpy as np
import pytest
from false_witnesses import RULES, run, table, without_rounding

import noap
from noap.kernel.arithmetic import Refused, proves_semidefinite
from noap.kernel.certificate import Certificate, Proof
from noap.kernel.claim import Claim
from noap.kernel.data import Data, Terms
from noap.kernel.tree import check_levels
from noap.kernel.verify import verify_certificate
from noap.kernel.witness import FREE, IN_PLAIN_NORM, LENGTHS, PLAIN, Level, Line, Matrix


def attacked(count, seed):
    return {rule: run(rule, count // len(RULES), seed) for rule in RULES}


def test_no_false_witness_is_accepted():
    tallies = attacked(3000, 1)
    assert not any(tally.accepted for tally in tallies.values()), table(tallies)
    # They are good ones: many of them are accepted a hair above.
    assert all(tally.near >= 0.05 * tally.asked for tally in tallies.values()), table(tallies)


@pytest.mark.slow
def test_no_false_witness_of_a_million_is_accepted():
    tallies = attacked(1_000_000, 2)
    print(table(tallies))  # noqa: T201
    assert not any(tally.accepted for tally in tallies.values()), table(tallies)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_without_error_terms_every_rule_lies(rule):
    with without_rounding():
        assert run(rule, 20_000, 3).accepted > 0


def test_without_error_terms_the_kernel_lies():
    with without_rounding():
        assert run("dominance", 500, 3).accepted > 0


def test_the_matrix_rule_takes_no_line_for_some_signs():
    S = np.array([[1.0, -0.5], [-0.5, 1.0]])  # (1, -1) is worth 1.5; no vector of two equal signs more than 1
    none, T = np.zeros(2, np.float32), 1.25
    signs, entries = np.array([1, 1], np.int8), np.array([2.0], np.float32)
    line = Line(np.arange(2), -0.99, 0.0, 0.0, IN_PLAIN_NORM, FREE, none, none, entries, signs)
    data = Data.from_covariance(S, Terms(2, 1), None)
    with pytest.raises(Refused, match="another kind"):
        check_levels(data, [Level(2, T, T, np.arange(2), (Matrix(PLAIN, line),))])


def test_no_bound_lies_below_no_vector():
    # Without a contribution every feature may be left out, and then no unit vector is left: which proves nothing.
    problem = noap.Problem.from_covariance(
        np.eye(2), n_samples=1, k=1, adversary=noap.FeatureWise(2.0), costs=[10.0, 1.0]
    )
    level = Level(1, -5.0, -5.0, np.empty(0, np.intp), (LENGTHS,))
    proof = Proof((level,), 0, 1e-10)
    found = verify_certificate(
        problem, Certificate(Claim.about(problem, -11.0, -5.0), np.array([0]), np.array([1.0]), proof)
    )
    assert not found.ok
    assert "demanded features alone" in found.message


def test_a_factorisation_that_overflows_proves_nothing():
    P = np.array([[1e-200, 0.0, 1e250], [0.0, 1e-200, 0.0], [1e250, 0.0, 1e-200]])
    assert not proves_semidefinite(P)  # the last pivot is NaN


def test_a_vector_pays_costs_too_small_for_bounds_and_names_no_feature_twice():
    data = Data.from_covariance(np.eye(1), Terms(1, 1, rho=np.array([2.0]), costs=np.array([9e-251])), 1e-12, 0)
    assert data.value_at_least(np.array([0]), np.array([1.0])) <= -9e-251
    data = Data.from_covariance(np.eye(1), Terms(1, 1), None)
    with pytest.raises(Refused, match="twice"):
        data.value_at_least(np.array([0, 0]), np.array([1.0, 1.0]))


def test_sizes_beyond_the_doubles_are_rejected():
    problem = noap.Problem.from_covariance(np.eye(2) * 1e150, n_samples=1, k=2, adversary=noap.NoAdversary())
    levels = (Level(2, 1e7, 1e7, np.arange(2), (LENGTHS,)),)
    claim = Claim.about(problem, 0.0, 1e150)
    assert not verify_certificate(problem, Certificate(claim, np.arange(2), np.ones(2), Proof(levels, 512, 9e5))).ok
