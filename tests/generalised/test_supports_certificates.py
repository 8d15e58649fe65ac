"""Certificates support by support: against an adversary with any metric."""

import math
from dataclasses import replace

import numpy as np
import pytest

import noap
from generalised_judge import random_pencil, robust_ratio
from noap.errors import InvalidProblem
from noap.exact.generalised import robust, violators
from noap.proofs.metric import MetricProof
from noap.proofs.metric_supports import BY_CELLS, BY_FORM, BY_OWN, CLOSED, CONE, SupportsProof


def made(seed=0, d=5, k=4, rho=3.0):
    X, B = random_pencil(np.random.default_rng(seed), d)
    budgets = rho * np.linspace(0.6, 1.4, d)
    return noap.Problem(X, k, noap.FeatureWise(budgets), metric=B)


@pytest.fixture(scope="module", params=["every support", "a tree"])
def proved(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "a tree":
            patch.setattr(violators, "_FEW", 0)
            patch.setattr(robust, "_FAR", math.inf)  # no relaxation before the list
        problem = made()
        result = noap.solve(problem)
    assert isinstance(result.proof, SupportsProof)
    assert (result.proof.tree is None) == (request.param == "every support")
    return problem, result.certificate


def optimum_of(problem):
    budgets = problem.adversary.budgets(problem.n_features) / math.sqrt(problem.n_samples)
    return robust_ratio(problem.covariance, problem.metric, budgets, problem.k, starts=3)


@pytest.mark.parametrize("few", [300_000, 0])
@pytest.mark.parametrize(("seed", "d", "k", "rho"), [(0, 6, 3, 3.0), (1, 6, 3, 3.0), (2, 5, 4, 1.5), (1, 5, 4, 3.0)])
def test_what_is_proved_has_a_certificate(seed, d, k, rho, few, monkeypatch):
    monkeypatch.setattr(violators, "_FEW", few)
    monkeypatch.setattr(robust, "_FAR", math.inf)
    problem = made(seed, d, k, rho)
    result = noap.solve(problem)
    report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    assert report.ok, report.message
    assert report.gap < 1.1e-4
    assert report.bound >= optimum_of(problem) * (1 - 1e-12)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_from_a_covariance_and_after_a_limit():
    problem = made()
    S = problem.covariance
    other = noap.Problem.from_covariance(S, n_samples=30, k=4, adversary=problem.adversary, metric=problem.metric)
    for result in (noap.solve(other), noap.solve(other, node_limit=3), noap.solve(other, gap=0.2)):
        report = noap.verify(other, result.certificate)
        assert report.ok, report.message
        assert report.bound == pytest.approx(result.bound, rel=1e-6)
    assert noap.solve(other, certificate=False).certificate is None


def test_a_file_holds_it(proved, tmp_path):
    problem, certificate = proved
    certificate.save(tmp_path / "one.noap")
    read = noap.Certificate.load(tmp_path / "one.noap")
    first, second = noap.verify(problem, certificate), noap.verify(problem, read)
    assert first.ok
    assert (first.value, first.bound, first.nodes) == (second.value, second.bound, second.nodes)


def forged(certificate, bound=None, **parts):
    claim = certificate.claim if bound is None else replace(certificate.claim, bound=bound, value=0.0)
    return replace(certificate, claim=claim, proof=replace(certificate.proof, **parts))


def test_a_lower_threshold_is_not_proved(proved):
    problem, certificate = proved
    optimum = optimum_of(problem)
    for share in (0.5, 0.9, 1.0 - 1e-6):
        T = share * optimum
        assert not noap.verify(problem, forged(certificate, bound=T, threshold=T)).ok
    assert not noap.verify(problem, forged(certificate, bound=optimum * (1 - 1e-5))).ok


def test_every_support_is_needed(proved):
    problem, certificate = proved
    proof, k = certificate.proof, problem.k
    for number, how in list(enumerate(proof.how.tolist()))[-3:]:
        kept = np.arange(len(proof.how)) != number
        shorter = {"supports": proof.supports.reshape(-1, k)[kept].ravel(), "how": proof.how[kept]}
        if how == BY_OWN:
            shorter["own"] = proof.own.reshape(-1, k + 1)[1:].ravel()
        assert not noap.verify(problem, forged(certificate, **shorter)).ok
        # Another one in its place.
        supports = proof.supports.copy().reshape(-1, k)
        supports[number] = supports[number - 1] if len(supports) > 1 else [0, 1, 2, 4][:k]
        assert not noap.verify(problem, forged(certificate, supports=supports.ravel())).ok


def test_other_means_do_not_close_a_support(proved):
    problem, certificate = proved
    proof = certificate.proof
    cells = np.flatnonzero(proof.how == BY_CELLS)
    assert len(cells)
    how = proof.how.copy()
    how[cells] = BY_FORM
    assert not noap.verify(problem, forged(certificate, how=how)).ok
    assert (
        "belong to no support"
        in noap.verify(
            problem,
            forged(certificate, cells=np.append(proof.cells, np.uint8(CLOSED)), numbers=np.append(proof.numbers, 1.0)),
        ).message
    )
    for short in (0, 1, len(proof.cells) - 1):
        fewer = {"cells": proof.cells[:short], "numbers": proof.numbers[:short]}
        fewer["edges"] = proof.edges[: 2 * np.count_nonzero(fewer["cells"] == CONE)]
        assert "cells are missing" in noap.verify(problem, forged(certificate, **fewer)).message
    closed = np.zeros(2 ** (problem.k - 1) * len(cells), dtype=np.uint8)
    none = {"cells": closed, "numbers": np.ones(len(closed)), "edges": np.empty(0, dtype=np.uint8)}
    assert "stays open" in noap.verify(problem, forged(certificate, **none)).message


def test_changed_numbers_prove_no_false_bound(proved):
    problem, certificate = proved
    proof, optimum = certificate.proof, optimum_of(problem)
    rng = np.random.default_rng(0)
    accepted = 0
    for turn in range(40):
        size = rng.choice([1e-14, 1e-7, 0.2])

        def moved(numbers, size=size):
            return numbers * np.exp(rng.normal(scale=size, size=np.shape(numbers)))

        parts = {
            "threshold": {"threshold": float(moved(proof.threshold))},
            "shift": {"shift": float(moved(proof.shift)), "bound": float(moved(proof.bound))},
            "numbers": {"numbers": moved(proof.numbers)},
            "edges": {"edges": rng.permutation(proof.edges)},
            "own": {"own": moved(proof.own)},
            "attacks": {"attacks": moved(proof.attacks)},
        }[["threshold", "shift", "numbers", "edges", "own", "attacks"][turn % 6]]
        claim = replace(certificate.claim, bound=certificate.bound * (1.0 + size), value=0.0)
        report = noap.verify(problem, replace(certificate, claim=claim, proof=replace(proof, **parts)))
        accepted += report.ok
        assert not report.ok or report.bound >= optimum * (1 - 1e-12)
    assert accepted


def test_malformed_ones_are_refused(proved):
    problem, certificate = proved
    proof = certificate.proof
    for parts in (
        {"threshold": -1.0},
        {"threshold": math.nan},
        {"attacks": proof.attacks[:-1]},
        {"attacks": np.full_like(proof.attacks, np.inf)},
        {"supports": proof.supports[:-1]},
        {"supports": proof.supports + np.uint32(7)},
        {"supports": proof.supports.astype(np.int64)},
        {"supports": proof.supports[::-1]},
        {"how": proof.how + np.uint8(3)},
        {"own": np.append(proof.own, 1.0)},
        {"numbers": proof.numbers[:-1]},
        {"cells": np.full_like(proof.cells, 9)},
        {"edges": np.append(proof.edges, np.uint8(0))},
        {"edges": np.full_like(proof.edges, 200)},
        {"tree": "none"},
    ):
        assert not noap.verify(problem, forged(certificate, **parts)).ok
    assert not noap.verify(problem, forged(certificate, threshold=1e300)).ok
    with pytest.raises(InvalidProblem, match="cannot be read"):
        noap.Certificate.from_bytes(forged(certificate, threshold=math.nan).to_bytes())


def test_limits_of_a_check(proved):
    problem, certificate = proved
    assert "seconds" in noap.verify(problem, certificate, time_limit=1e-9).message
    assert "megabytes" in noap.verify(problem, certificate, memory_limit=1e-5).message


def test_an_optimum_of_nothing_has_a_certificate():
    X, B = random_pencil(np.random.default_rng(2), 4)
    S = X.T @ X / 30
    most = noap.Problem(X, 2, noap.FeatureWise(1.0)).rho_max
    least = noap.Problem.from_covariance(S, n_samples=30, k=2, adversary=noap.FeatureWise(1.0)).rho_max
    for metric in (B, np.diag(B).copy()):
        for rho in (most, 2 * most, np.full(4, most), np.array([np.inf, most, most, np.inf])):
            check_nothing(noap.Problem(X, 2, noap.FeatureWise(rho), metric=metric))
        for rho in (least, np.full(4, 2 * least)):
            check_nothing(
                noap.Problem.from_covariance(S, n_samples=30, k=2, adversary=noap.FeatureWise(rho), metric=metric)
            )
        below = noap.Problem(X, 2, noap.FeatureWise(np.nextafter(most, 0.0)), metric=metric)
        claim = noap.proofs.claim.Claim.about(below, 0.0, 0.0)
        nothing = noap.solve(below.with_adversary(noap.FeatureWise(1e-3))).certificate
        assert "does not cancel" in noap.verify(below, replace(nothing, claim=claim)).message


def check_nothing(problem):
    with pytest.warns(noap.errors.NoapWarning, match="cancel every direction"):
        result = noap.solve(problem)
    assert isinstance(result.proof, MetricProof)
    report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    assert report.ok, report.message
    assert (report.value, report.bound) == (0.0, 0.0)
