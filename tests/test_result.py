"""Result: the numbers decide the status, and impossible results cannot be made."""

import io
import math
import re

import numpy as np
import pytest
from rich.console import Console

import noap
from noap import Limit, Result, Status
from noap.cli.result import print_result

X = np.random.default_rng(0).standard_normal((12, 4))
PROBLEM = noap.Problem(X, k=2, adversary=noap.FeatureWise(0.5))
V = np.array([0.6, 0.0, -0.8, 0.0])
VALUE = PROBLEM.value(V)


def test_nothing_proved_is_the_default():
    result = Result(PROBLEM, "test", V)
    assert result.status is Status.HEURISTIC
    assert (result.bound, result.gap, result.bound_proof) == (math.inf, math.inf, None)
    assert "nothing is proved" in result.claim


def test_value_support_and_sign_follow_from_v():
    result = Result(PROBLEM, "test", V)
    assert result.value == VALUE
    assert result.support.tolist() == [0, 2]
    np.testing.assert_array_equal(result.v, -V)  # the entry of largest magnitude is positive
    with pytest.raises(ValueError, match="read-only"):
        result.v[0] = 1.0


@pytest.mark.parametrize(
    ("slack", "proof", "status"),
    [
        (0.5e-4, "rigorous", Status.OPTIMAL),
        (0.0, "rigorous", Status.OPTIMAL),
        (2e-4, "rigorous", Status.FEASIBLE),
        (0.5e-4, "solver", Status.FEASIBLE),
    ],
)
def test_status(slack, proof, status):
    result = Result(PROBLEM, "test", V, bound=VALUE * (1 + slack), bound_proof=proof, limit=Limit.TIME)
    assert result.status is status
    assert result.gap == pytest.approx(slack, abs=1e-12)
    assert result.limit is (None if status is Status.OPTIMAL else Limit.TIME)


def test_a_bound_below_the_value_is_a_bug_that_is_heard():
    with pytest.raises(noap.errors.NoapError, match="lies below the value"):
        Result(PROBLEM, "test", V, bound=VALUE * (1 - 1e-6), bound_proof="rigorous")
    rounded = Result(PROBLEM, "test", V, bound=VALUE * (1 - 1e-12), bound_proof="rigorous")
    assert rounded.bound == rounded.value


@pytest.mark.parametrize(
    "bad", [{"bound": 1e9}, {"bound_proof": "rigorous"}, {"bound": 1e9, "bound_proof": "trust me"}]
)
def test_a_bound_without_its_proof_cannot_be_built(bad):
    with pytest.raises(ValueError, match="bound"):
        Result(PROBLEM, "test", V, **bad)


def test_claims_name_their_scope():
    feasible = Result(PROBLEM, "test", V, bound=2 * VALUE, bound_proof="solver")
    assert "solver's tolerances" in feasible.claim
    restricted = Result(PROBLEM, "test", V, restricted_bound=VALUE, restricted_to=np.array([0, 1, 2]))
    assert restricted.status is Status.HEURISTIC
    assert "nothing is proved about the whole problem" in restricted.claim


@pytest.mark.parametrize("adversary", [noap.FeatureWise(0.5), noap.FeatureWise(50.0), noap.SampleWise(0.5)])
def test_attacked_covariance_is_that_of_the_attacked_samples(adversary):
    result = Result(noap.Problem(X, k=2, adversary=adversary), "test", V)
    E = result.attack()
    np.testing.assert_allclose(result.attacked_covariance(), (X + E).T @ (X + E) / 12, atol=1e-12)
    assert result.v @ result.attacked_covariance() @ result.v == pytest.approx(result.value, abs=1e-12)


@pytest.mark.parametrize("method", ["ascent", "ppm", "spca"])
@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise])
@pytest.mark.parametrize("share", [1.0, 1.5])
def test_too_much_noise_is_an_answer(method, kind, share):
    rho = share * kind(0).rho_max(X, 2)
    with pytest.warns(noap.errors.NoapWarning, match="cancel every direction") as caught:
        result = noap.solve(noap.Problem(X, k=2, adversary=kind(rho)), method=method)
    assert len(caught) == 1
    assert (result.value, result.bound, result.gap, result.status) == (0.0, 0.0, 0.0, Status.OPTIMAL)
    assert np.linalg.norm(result.v) == pytest.approx(1.0)


def test_zero_data_is_an_answer():
    with pytest.warns(noap.errors.NoapWarning):
        result = noap.solve(noap.Problem(np.zeros((3, 2)), k=1, adversary=noap.NoAdversary()), method="ascent")
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("times", [1.5, 5.4144, 1e9])
def test_an_open_gap_is_said_rounded_up(times):
    claim = Result(PROBLEM, "test", V, bound=VALUE * times, bound_proof="rigorous").claim
    said = float(claim.split("feasible: within ")[1].split(" %")[0])
    assert 100 * (times - 1) * (1 - 1e-12) <= said <= 110 * (times - 1)
    nothing = np.eye(4)[int(np.argmin(np.linalg.norm(X, axis=0)))]
    drowned = noap.Problem(X, k=2, adversary=noap.FeatureWise(0.999 * np.linalg.norm(X, axis=0).max()))
    assert drowned.value(nothing) == 0
    assert "worth nothing" in Result(drowned, "test", nothing, bound=2.5, bound_proof="rigorous").claim


@pytest.mark.parametrize("gap", [1.24e-5, 9.94e-5, 1.0000001e-5, 9.999e-7, 0.0])
def test_the_gap_of_an_optimum_is_not_rounded_down(gap):
    result = Result(PROBLEM, "test", V, bound=VALUE * (1 + gap), bound_proof="rigorous")
    said = float(result.claim.split("within ")[1].split(" ")[0])
    assert 100 * result.gap <= said <= 120 * result.gap


def test_every_limit_has_a_sentence_that_reads():
    told = [limit.sentence for limit in Limit]
    assert told == [
        "Stopped early by the time limit.",
        "Stopped early by the node limit.",
        "Interrupted: this is the best so far.",
        "Stopped early by the memory limit.",
    ]
    for limit in Limit:
        console = Console(file=io.StringIO(), width=200)
        print_result(Result(PROBLEM, "test", V, limit=limit), ("a", "b", "c", "d"), console)
        assert limit.sentence in console.file.getvalue()


def test_a_result_names_its_features_and_prints_as_a_table():
    named = noap.Problem(X, k=2, adversary=noap.FeatureWise(0.5), feature_names=("a", "b", "long name", "d"))
    result = noap.solve(named)
    assert result.features == tuple(named.feature_names[j] for j in result.support)
    nameless = noap.solve(noap.Problem(X, k=2, adversary=noap.FeatureWise(0.5)), method="ascent")
    assert nameless.features == tuple(f"feature {j}" for j in nameless.support)
    terms, *rows, said = str(result).splitlines()
    assert terms == named.terms == "FeatureWise, noise 0.144338 (rho = 0.5), k = 2 of 4"
    assert said == f"exact, {result.claim}"
    told = dict(re.split(r"\s{2,}", row) for row in rows)
    assert {name: told[name] for name in result.features} == {
        name: f"{result.v[j]:+.4f}" for name, j in zip(result.features, result.support, strict=True)
    }
    assert told["robust variance"] == f"{result.value:.6g}"
    assert told["proved bound"] == f"{result.bound:.6g}"
    assert float(told["gap"].removesuffix(" %")) >= 100 * result.gap
    assert {len(row) for row in rows} == {len(rows[0])}  # the numbers stand under each other
    assert "none" in str(nameless)
    assert repr(result).startswith("Result(FeatureWise")


def test_the_plain_variance_is_that_of_the_data_without_the_adversary():
    result = noap.solve(PROBLEM, method="ascent")
    assert result.plain_variance == pytest.approx(float(np.mean((X @ result.v) ** 2)))
    S = noap.Problem.from_covariance(X.T @ X / len(X), n_samples=len(X), k=2, adversary=PROBLEM.adversary)
    assert noap.solve(S, method="ascent").plain_variance == pytest.approx(result.plain_variance)
