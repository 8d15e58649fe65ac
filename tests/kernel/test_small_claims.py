"""Small problems by levels of small claims: judged by brute force, tampered with, and shown to both checkers."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from kernel_cases import drawn, problem_of, truth_of
from test_kernel_tampering import counted

import noap
from noap.kernel.explain import explained
from second_checker import refusal, words

# Levels wherever they are possible, and next to nothing before or beside them.
LEVELS = noap.Settings(
    levels_from=1, few_features=1, sparse=1e9, first_nodes=0, cheap_nodes=0, cheap_nodes_vanilla=0, least_nodes=0,
    small_component=1, whole_core=0,
)  # fmt: skip


def by_conflicts(certificate):
    return [level for level in certificate.proof.levels if level.by_conflicts]


def small_problem(seed):
    rng = np.random.default_rng(seed)
    while True:
        given = drawn(rng, 7)
        if given["k"] > 1 and not given["include"]:
            break
    return problem_of(**given)


def test_small_problems():
    """By levels alone where they will do: the bound is true, and both checkers accept it."""
    used = 0
    for seed in range(160):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", noap.errors.NoapWarning)
            try:
                problem = small_problem(seed)
            except noap.errors.InvalidProblem:
                continue
            result = noap.solve(problem, settings=LEVELS)
        truth = truth_of(problem).best()[0]
        assert Fraction(result.bound) >= truth, seed
        assert result.value >= float(truth) * (1 - 1e-3) - 1e-9 * problem.scale, seed
        assert noap.verify(problem, result.certificate).ok, seed
        if by_conflicts(result.certificate):
            used += 1
            assert refusal(problem, result.certificate) is None, seed
    assert used >= 20


def small_proof(seed=0, noise=0.25):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 7)) + rng.standard_normal((12, 7))
    rho = noise * float(np.median(np.linalg.norm(X, axis=0)))
    problem = noap.Problem(X, 4, noap.FeatureWise(rho) if noise else noap.NoAdversary())
    result = noap.solve(problem, settings=LEVELS)
    assert any(claim.nodes for level in by_conflicts(result.certificate) for claim in level.claims)
    return problem, result.certificate


@pytest.mark.parametrize("noise", [0.0, 0.25])
def test_tampering_with_levels_by_conflicts(noise):
    problem, certificate = small_proof(0, noise)
    counts = counted(problem, certificate, np.random.default_rng(0), 2)
    assert counts["rejected"] > 30


def test_both_checkers_refuse_what_is_missing():
    """A claim, a neighbour, a node, an edge: what the first checker needs the second one needs too."""
    refused = 0
    for seed in (0, 1):
        problem, certificate = small_proof(seed)
        proof = certificate.proof
        for at, level in enumerate(proof.levels):
            if not level.by_conflicts:
                continue
            variants = [
                replace(level, claims=level.claims[:i] + level.claims[i + 1 :]) for i in range(len(level.claims))
            ]
            variants.append(replace(level, order=level.order[::-1]))
            for i, claim in enumerate(level.claims):
                for changed in (
                    replace(claim, features=claim.features[:-1], kept=min(claim.kept, len(claim.features) - 1)),
                    replace(claim, kept=claim.kept - 1) if claim.kept else claim,
                    replace(claim, rooted=not claim.rooted),
                    replace(claim, nodes=claim.nodes[:-1]),
                ):
                    variants.append(replace(level, claims=(*level.claims[:i], changed, *level.claims[i + 1 :])))
            for other in variants:
                levels = (*proof.levels[:at], other, *proof.levels[at + 1 :])
                changed = replace(certificate, proof=replace(proof, levels=levels))
                accepted = noap.verify(problem, changed).ok
                # Margins differ: the second checker may know a little more.
                assert not accepted or refusal(problem, changed) is None
                refused += not accepted
    assert refused > 20


def test_explained_in_words():
    problem, certificate = small_proof()
    text = "\n".join(explained(certificate))
    assert "small claims" in text
    assert "small claims" in words(certificate.to_bytes(), problem.X)


@pytest.mark.slow
def test_the_second_checker_on_thousands_of_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 2100))
    X[:, :5] += 2.5 * rng.standard_normal((8, 1))
    problem = noap.Problem((X - X.mean(axis=0)) / X.std(axis=0), 3, noap.FeatureWise(0.8))
    certificate = noap.solve(problem).certificate
    assert by_conflicts(certificate)
    assert refusal(problem, certificate) is None
