"""Certificates of problems with a metric: their file, and what the checker says of other metrics and of tampering."""

from dataclasses import replace

import numpy as np
import pytest

import noap
import older
from generalised_judge import random_pencil
from noap.errors import InvalidProblem
from noap.proofs.metric import MetricProof


def made(diagonal=False, seed=4):
    X, B = random_pencil(np.random.default_rng(seed), 8)
    adversary = noap.FeatureWise(1.0) if diagonal else noap.NoAdversary()
    problem = noap.Problem(X, 3, adversary, metric=np.diag(B).copy() if diagonal else B)
    return problem, noap.solve(problem).certificate


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_file_holds_it(diagonal, tmp_path):
    problem, certificate = made(diagonal)
    certificate.save(tmp_path / "one.noap")
    read = noap.Certificate.load(tmp_path / "one.noap")
    assert read.claim == certificate.claim
    assert isinstance(read.proof, MetricProof)
    first, second = noap.verify(problem, certificate), noap.verify(problem, read)
    assert first.ok
    assert second.ok
    assert (first.value, first.bound) == (second.value, second.bound)


@pytest.mark.parametrize("diagonal", [False, True])
def test_another_metric_is_another_problem(diagonal):
    problem, certificate = made(diagonal)
    B = problem.metric * 1.5
    assert "another metric" in noap.verify(problem.with_metric(B), certificate).message
    assert "another metric" in noap.verify(problem.with_metric(None), certificate).message
    plain = problem.with_metric(None)
    ordinary = older.solve(plain).certificate
    assert "another metric" in noap.verify(problem, ordinary).message
    forged = replace(ordinary, claim=replace(ordinary.claim, metric=certificate.claim.metric, value=0.0))
    assert "without a metric" in noap.verify(problem, forged).message
    forged = replace(certificate, claim=replace(certificate.claim, metric=None, value=0.0))
    assert "without a metric" in noap.verify(plain, forged).message


def changed(certificate, bound=None, **numbers):
    claim = certificate.claim if bound is None else replace(certificate.claim, bound=bound)
    return replace(certificate, claim=claim, proof=replace(certificate.proof, **numbers))


def test_a_lower_threshold_is_not_proved():
    problem, certificate = made()
    value, T = certificate.value, certificate.proof.threshold
    for share in (0.5, 0.9, 0.999):
        forged = changed(certificate, bound=share * value, threshold=share * value)
        assert not noap.verify(problem, forged).ok
    # The claim alone.
    assert not noap.verify(problem, changed(certificate, bound=0.999 * T)).ok


def test_other_numbers_prove_no_false_bound():
    problem, certificate = made()
    proof, optimum = certificate.proof, noap.solve(problem, gap=1e-9).value
    rng = np.random.default_rng(0)
    for _ in range(60):
        factors = np.exp(rng.normal(scale=rng.choice([1e-9, 1e-4, 1.0]), size=4))
        forged = replace(
            certificate,
            claim=replace(certificate.claim, bound=certificate.bound * factors[0]),
            proof=MetricProof(
                proof.threshold * factors[1], proof.shift * factors[2], proof.bound * factors[3], proof.inner
            ),
        )
        report = noap.verify(problem, forged)
        assert not report.ok or report.bound >= optimum * (1 - 1e-12)


@pytest.mark.parametrize("number", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize("name", ["threshold", "shift", "bound"])
def test_numbers_that_make_no_sense_are_refused(name, number):
    problem, certificate = made()
    forged = replace(certificate, proof=replace(certificate.proof, **{name: number}))
    assert "make no sense" in noap.verify(problem, forged).message
    with pytest.raises(InvalidProblem, match="make no sense"):
        noap.Certificate.from_bytes(forged.to_bytes())


def test_huge_numbers_are_refused():
    problem, certificate = made()
    for name in ("threshold", "shift", "bound"):
        forged = replace(certificate, proof=replace(certificate.proof, **{name: 1e300}))
        assert not noap.verify(problem, forged).ok


def test_a_diagonal_metric_needs_no_threshold():
    problem, certificate = made(diagonal=True)
    forged = replace(certificate, proof=replace(certificate.proof, threshold=1.0))
    assert "diagonal" in noap.verify(problem, forged).message
    lower = changed(certificate, bound=0.99 * certificate.value)
    lower = replace(lower, proof=replace(lower.proof, bound=0.99 * certificate.value))
    assert not noap.verify(problem, lower).ok


def test_a_threshold_says_nothing_against_an_adversary():
    problem, certificate = made()
    attacked = problem.with_adversary(noap.FeatureWise(0.1))
    claim = replace(certificate.claim, adversary="FeatureWise", rho=0.1, value=0.0)
    assert "without an attack" in noap.verify(attacked, replace(certificate, claim=claim)).message


def under_attack(source="samples"):
    X, B = random_pencil(np.random.default_rng(3), 8)
    adversary = noap.FeatureWise(0.3 * np.linspace(0.5, 1.5, 8))
    problem = noap.Problem(X, 3, adversary, metric=B)
    if source == "covariance":
        S = problem.covariance
        problem = noap.Problem.from_covariance(S, n_samples=30, k=3, adversary=adversary, metric=B)
    return problem, noap.solve(problem).certificate


@pytest.mark.parametrize("source", ["samples", "covariance"])
def test_one_attack_is_a_certificate(source):
    problem, certificate = under_attack(source)
    assert len(certificate.proof.attack) == 24
    for one in (certificate, noap.Certificate.from_bytes(certificate.to_bytes())):
        report = noap.verify(problem, one)
        assert report.ok, report.message
        assert report.gap < 2e-4


def test_an_attack_beyond_the_budgets_is_refused():
    problem, certificate = under_attack()
    w, c, alpha = certificate.proof.attack.reshape(3, 8)
    for stronger in ((w, 1.01 * c, alpha), (w, c, 0.5 * alpha), (0 * w, c, alpha), (w, c, alpha - 2.0)):
        forged = replace(certificate, proof=replace(certificate.proof, attack=np.concatenate(stronger)))
        assert "beyond the budgets" in noap.verify(problem, forged).message


def test_other_attacks_prove_no_false_bound():
    problem, certificate = under_attack()
    optimum, proof = noap.solve(problem, gap=1e-6).value, certificate.proof
    rng = np.random.default_rng(1)
    accepted = 0
    for _ in range(60):
        size = rng.choice([1e-13, 1e-6, 0.1])
        attack = proof.attack * np.exp(rng.normal(scale=size, size=24)) * np.repeat([1.0, 1.0 - 2 * size, 1.0], 8)
        attack[16:] = np.minimum(attack[16:] + size, 1.0)
        forged = replace(
            certificate,
            claim=replace(certificate.claim, bound=certificate.bound * (1 + 10 * size)),
            proof=replace(proof, attack=attack, threshold=proof.threshold * np.exp(rng.normal(scale=size))),
        )
        report = noap.verify(problem, forged)
        accepted += report.ok
        assert not report.ok or report.bound >= optimum * (1 - 1e-12)
    assert accepted


def test_malformed_attacks_are_refused():
    problem, certificate = under_attack()
    for attack in (np.zeros(7), np.full(24, np.nan), np.zeros(24, dtype=np.float32)):
        forged = replace(certificate, proof=replace(certificate.proof, attack=attack))
        assert "attack" in noap.verify(problem, forged).message


def test_the_vector_is_judged_in_the_metric():
    problem, certificate = made()
    claim = replace(certificate.claim, value=certificate.value * 1.001)
    assert "its vector is worth" in noap.verify(problem, replace(certificate, claim=claim)).message
