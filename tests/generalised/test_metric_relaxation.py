"""All supports at once by matrices near to the covariance: the bound, its certificate, and tampering."""

import math
from dataclasses import replace

import numpy as np
import pytest

import noap
from generalised_judge import random_pencil, robust_ratio
from noap.data.pencil import Pencil
from noap.exact.generalised import relaxation, robust, violators
from noap.proofs.metric_relaxation import MetricRelaxationProof


def made(seed=0, d=7, k=3, rho=2.5):
    X, B = random_pencil(np.random.default_rng(seed), d)
    return noap.Problem(X, k, noap.FeatureWise(rho * np.linspace(0.6, 1.4, d)), metric=B)


def optimum_of(problem):
    budgets = problem.adversary.budgets(problem.n_features) / math.sqrt(problem.n_samples)
    return robust_ratio(problem.covariance, problem.metric, budgets, problem.k, starts=2)


@pytest.fixture(scope="module")
def proved():
    problem = made()
    pencil = Pencil.of(problem)
    bound, proof = relaxation.relaxed_bound(pencil, 0.0, lambda: False)
    result = noap.solve(problem)
    claim = replace(result.certificate.claim, bound=bound)
    return problem, replace(result.certificate, claim=claim, proof=proof), optimum_of(problem)


def test_it_is_a_bound_with_a_certificate(proved):
    problem, certificate, optimum = proved
    read = noap.Certificate.from_bytes(certificate.to_bytes())
    report = noap.verify(problem, read)
    assert report.ok, report.message
    assert optimum * (1 - 1e-12) <= report.bound <= 1.2 * optimum
    # Better than no adversary at all, and than the first lines alone.
    assert report.bound < 0.9 * noap.solve(problem.with_adversary(noap.NoAdversary())).value


def test_other_matrices_prove_no_false_bound(proved):
    problem, certificate, optimum = proved
    rng = np.random.default_rng(0)
    accepted = 0
    for turn in range(40):
        size = [1e-9, 1e-3, 0.3][turn % 3]
        entries = certificate.proof.entries * np.exp(rng.normal(scale=size, size=len(certificate.proof.entries)))
        claim = replace(certificate.claim, bound=certificate.bound * (1.0 + 10 * size), value=0.0)
        report = noap.verify(problem, replace(certificate, claim=claim, proof=MetricRelaxationProof(entries)))
        accepted += report.ok
        assert not report.ok or report.bound >= optimum * (1 - 1e-12)
    assert accepted
    lower = replace(certificate, claim=replace(certificate.claim, bound=0.99 * optimum, value=0.0))
    assert "it proves a bound of" in noap.verify(problem, lower).message


def test_malformed_ones_are_refused(proved):
    problem, certificate, _ = proved
    entries = certificate.proof.entries
    for bad in (entries[:-1], entries[:0], np.full_like(entries, np.nan), entries.astype(np.float32)):
        assert "matrices" in noap.verify(problem, replace(certificate, proof=MetricRelaxationProof(bad))).message
    many = np.tile(entries[:28], 201)
    assert "malformed" in noap.verify(problem, replace(certificate, proof=MetricRelaxationProof(many))).message
    huge = noap.verify(problem, replace(certificate, proof=MetricRelaxationProof(1e300 * np.ones(28))))
    assert "none of its lines" in huge.message


def test_it_says_nothing_without_a_budget(proved):
    problem, certificate, _ = proved
    rho = problem.adversary.budgets(7).copy()
    for number in (0.0, np.inf):
        rho[3] = number
        other = problem.with_adversary(noap.FeatureWise(rho))
        assert relaxation.relaxed_bound(Pencil.of(other), 0.0, lambda: False) is None
    plain = problem.with_adversary(noap.NoAdversary())
    claim = noap.solve(plain).certificate.claim
    forged = noap.verify(plain, replace(certificate, claim=replace(claim, value=0.0)))
    assert "needs a finite budget" in forged.message


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_the_search_takes_it_where_lists_are_long(monkeypatch):
    monkeypatch.setattr(violators, "_FEW", 0)
    monkeypatch.setattr(robust, "_FAR", 1.0)
    monkeypatch.setattr(violators, "_MOST", 0)  # every list is too long
    problem = made(1)
    result = noap.solve(problem)
    assert isinstance(result.proof, MetricRelaxationProof)
    assert noap.verify(problem, result.certificate).ok
    assert optimum_of(problem) * (1 - 1e-12) <= result.bound
