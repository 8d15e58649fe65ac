"""Certificates of feature-wise and vanilla problems: they verify, and what they say is right."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import judge
import noap
import older
from cases import SHAPES, budget, small_data
from noap.proofs.certificate import Certificate
from noap.proofs.feature_wise import AGAIN, ATTACK, CHORDS, CLOSED, EACH, INTERVAL, NO_TEST, SIGN, SPLIT, GramProof

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


def solved(problem, **options):
    result = older.solve(problem, **options)
    return result, Certificate.from_bytes(result.certificate.to_bytes())


def against(rho):
    return noap.FeatureWise(rho) if rho else noap.NoAdversary()


def check(problem, result, certificate):
    """Accepted, and right: value <= optimum <= bound."""
    report = noap.verify(problem, certificate)
    assert report.ok, report.message
    n, rho = problem.n_samples, float(problem.adversary.rho)
    _, v = judge.feature_wise_best(n * problem.covariance, n, problem.k, rho)
    tiny = 1e-12 * problem.scale
    # No tolerance: what a vector is worth is known to 36 digits, from below.
    assert v is None or judge.exact_worth(problem, v) <= Fraction(report.bound)
    assert Fraction(report.value) <= judge.may_be_worth(problem, certificate)
    # What is proved is what the search said, to the margins that docs/certificate-format-4.md allows.
    assert result.value * (1 - 1e-9) - tiny <= report.value <= result.value * (1 + 1e-12)
    assert report.bound <= result.bound * (1 + 1.1e-7) + 1e-8 * problem.scale
    assert report.nodes == certificate.nodes == len(certificate.proof)
    return report


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("source", ["samples", "covariance"])
def test_certificates_verify_and_agree_with_brute_force(shape, source):
    for seed in range(10):
        rng = np.random.default_rng([seed, SHAPES.index(shape), 2])
        X = small_data(rng, shape, int(rng.integers(1, 8)))
        if not X.any():
            continue
        k = int(rng.integers(1, min(4, X.shape[1]) + 1))
        rho = budget(rng, np.linalg.norm(X, axis=0).max())
        problem = noap.Problem(X, k=k, adversary=against(rho))
        if source == "covariance":
            n = int(rng.choice([1, len(X), 10**9]))
            S = X.T @ X / len(X)
            adversary = against(rho * math.sqrt(n / len(X)))
            problem = noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=adversary)
        result, certificate = solved(problem, gap=float(rng.choice([1e-2, 1e-4, 1e-6])))
        check(problem, result, certificate)


@pytest.fixture(scope="module")
def noise():
    """A problem whose tree has nodes of many kinds."""
    X = np.random.default_rng(4).standard_normal((12, 10))
    return noap.Problem(X, k=3, adversary=noap.FeatureWise(1.4))


def test_trees_with_every_kind_of_node_and_test_verify(noise):
    kinds, tests = set(), set()
    problems = [noise]
    for seed, (k, share) in enumerate([(2, 0.3), (2, 0.6), (3, 0.1), (3, 0.5), (4, 0.4), (4, 0.0), (2, 0.8)]):
        X = np.random.default_rng(seed).standard_normal((8, 9))
        problems.append(noap.Problem(X, k=k, adversary=against(share * np.linalg.norm(X, axis=0).max())))
    X = np.sign(np.random.default_rng(109).standard_normal((6, 6)))
    problems.append(noap.Problem(X, k=2, adversary=noap.FeatureWise(0.7 * 6**0.5)))
    for problem in problems:
        for result, certificate in (solved(problem, gap=1e-7), from_poor_start(problem)):
            check(problem, result, certificate)
            kinds |= set(certificate.proof.kind.tolist())
            tests |= set(certificate.proof.test.tolist())
    assert kinds == {CLOSED, SPLIT, SIGN, INTERVAL, EACH, AGAIN}
    assert tests == {NO_TEST, CHORDS, ATTACK}


def from_poor_start(problem):
    """The search has to find better vectors itself: nodes are looked at again, at a higher level."""
    from noap.exact.feature_wise.search import solve_gram
    from noap.runtime.controls import Controls
    from noap.runtime.limits import Limits

    v = np.zeros(problem.n_features)
    v[np.argmax(problem.column_norms)] = 1.0
    outcome = solve_gram(problem, Controls.checked(1e-4, None, 0, False), v, Limits(keep_proof=True))
    result = dataclasses.replace(
        noap.solve(problem, method="ascent"), v=outcome.v, bound=outcome.bound, bound_proof="rigorous",
        proof=outcome.proof,
    )  # fmt: skip
    return result, Certificate.from_bytes(result.certificate.to_bytes())


def test_files_and_bytes_bring_everything_back(noise, tmp_path):
    result = older.solve(noise)
    certificate = result.certificate
    path = tmp_path / "proof.noap"
    certificate.save(path)
    certificate.save(path)  # replaces
    loaded = Certificate.load(path)
    assert loaded.claim == certificate.claim
    assert loaded.to_bytes() == certificate.to_bytes() == path.read_bytes()
    assert (loaded.places == certificate.places).all()
    assert (loaded.weights == certificate.weights).all()
    for field in dataclasses.fields(GramProof):
        mine, theirs = getattr(certificate.proof, field.name), getattr(loaded.proof, field.name)
        assert mine.dtype == theirs.dtype
        assert (mine == theirs).all()
    assert noap.verify(noise, loaded).message == noap.verify(noise, certificate).message
    assert "FeatureWise" in repr(loaded)
    assert [entry.name for entry in tmp_path.iterdir()] == ["proof.noap"]
    with pytest.raises(noap.errors.InvalidProblem, match="cannot be read"):
        Certificate.load(tmp_path / "nothing.noap")
    with pytest.raises(noap.errors.InvalidProblem, match="cannot be written"):
        certificate.save(tmp_path / "no" / "folder.noap")


@pytest.mark.parametrize("source", ["samples", "covariance"])
def test_whatever_stops_the_search_the_bound_is_proved(noise, source):
    problem = noise
    if source == "covariance":
        problem = noap.Problem.from_covariance(noise.covariance, n_samples=12, k=3, adversary=noise.adversary)
    limits = [{"node_limit": nodes} for nodes in (1, 2, 3, 5, 10, 20, 50, 100)]
    limits += [{"memory_limit": 1e-6}, {"time_limit": 1e-6}]
    seen = []
    for limit in limits:
        result, certificate = solved(problem, gap=1e-7, **limit)
        check(problem, result, certificate)
        seen.append(result.limit)
    assert any(seen)
    bounds = [older.solve(problem, gap=1e-7, **limit).bound for limit in limits[:8]]
    assert bounds == sorted(bounds, reverse=True)


def test_an_interrupt_leaves_a_proved_bound(noise, monkeypatch):
    from noap.exact.feature_wise.refutation import Refutation

    original = Refutation.advance
    for count in (1, 2, 7, 30):
        calls = itertools.count(1)

        def stop(self, calls=calls, count=count):
            if next(calls) == count:
                raise KeyboardInterrupt
            return original(self)

        monkeypatch.setattr(Refutation, "advance", stop)
        result, certificate = solved(noise, gap=1e-7)
        check(noise, result, certificate)


def test_recording_changes_nothing_and_can_be_declined(noise):
    for options in ({}, {"node_limit": 20}, {"gap": 1e-7}):
        kept, plain = older.solve(noise, **options), older.solve(noise, certificate=False, **options)
        assert plain.certificate is None
        assert plain.proof is None
        assert (kept.v == plain.v).all()
        assert (kept.value, kept.bound, kept.nodes) == (plain.value, plain.bound, plain.nodes)
    with pytest.raises(noap.errors.InvalidProblem, match="certificate must be True or False"):
        older.solve(noise, certificate="yes")


def test_other_methods_prove_nothing(noise):
    assert noap.solve(noise, method="ascent").certificate is None


@pytest.mark.parametrize("rho", [0.0, 1.0, 3.0])
def test_sparse_single_and_double_precision_are_the_same_problem(rho):
    X = np.round(4 * np.random.default_rng(6).standard_normal((25, 7))) / 4
    X[np.abs(X) < 0.7] = 0.0
    given = X, X.astype(np.float32), csr_array(X), csr_array(X.astype(np.float32))
    problems = [noap.Problem(data, k=3, adversary=against(rho)) for data in given]
    certificates = [solved(problem) for problem in problems]
    check(problems[0], *certificates[0])
    for problem in problems:
        for _, certificate in certificates:
            assert noap.verify(problem, certificate).ok


def test_zero_optima():
    for X, k, rho in (
        (np.zeros((3, 2)), 1, 0.0),
        (np.zeros((3, 2)), 2, 1.0),
        (np.eye(3), 2, 1.0),
        (np.eye(3), 2, 7.0),
        (np.diag([1.0, 0, 0]), 3, 1e300),
    ):
        problems = [noap.Problem(X, k=k, adversary=against(rho))]
        S = X.T @ X / len(X)
        problems.append(noap.Problem.from_covariance(S, n_samples=len(X), k=k, adversary=against(rho)))
        for problem in problems:
            result, certificate = solved(problem)
            report = noap.verify(problem, certificate)
            assert report.ok, report.message
            assert result.value == report.value == 0.0
            assert report.bound <= 3e-12
            assert report.gap in (0.0, math.inf)


def test_many_samples():
    rng = np.random.default_rng(8)
    B = rng.standard_normal((20, 6))
    S = B.T @ B / 20
    for n in (1, 10**6, 10**12, 2**53 - 1):
        rho = 0.4 * math.sqrt(n * S.diagonal().max())
        problem = noap.Problem.from_covariance(S, n_samples=n, k=3, adversary=noap.FeatureWise(rho))
        check(problem, *solved(problem))
    X = rng.standard_normal((20_000, 5))  # several blocks of the checker's sums
    problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(30.0))
    check(problem, *solved(problem))


def test_one_feature_and_all_features():
    rng = np.random.default_rng(9)
    for d, k in ((1, 1), (4, 4), (6, 6), (6, 5)):
        X = rng.standard_normal((7, d))
        for share in (0.0, 0.3, 0.9):
            problem = noap.Problem(X, k=k, adversary=against(share * np.linalg.norm(X, axis=0).max()))
            check(problem, *solved(problem, gap=1e-5))


def test_a_sample_wise_adversary_without_a_budget_takes_a_gram_proof():
    X = np.random.default_rng(1).standard_normal((10, 4))
    vanilla = noap.Problem(X, k=2, adversary=noap.NoAdversary())
    proof = older.solve(vanilla).proof
    for rho, ok in ((0.0, True), (1e-9, False)):
        problem = noap.Problem(X, k=2, adversary=noap.SampleWise(rho))
        result = dataclasses.replace(older.solve(problem), proof=proof)
        report = noap.verify(problem, result.certificate)
        assert report.ok == ok
        if not ok:
            assert "samples one by one" in report.message


def test_reports_say_what_is_proved(noise):
    result, certificate = solved(noise)
    report = noap.verify(noise, certificate)
    assert report.require() is report
    assert report.message.startswith("Accepted: ")
    assert report.message.endswith("for all 10 features.")
    assert 0 <= report.gap < 2e-4
    other = noap.Problem(noise.X, k=2, adversary=noise.adversary)
    with pytest.raises(noap.errors.CertificateRejected, match=r"^Rejected: the certificate is about k = 3, and this"):
        noap.verify(other, certificate).require()
    with pytest.raises(noap.errors.InvalidProblem, match="problem must be"):
        noap.verify(noise.X, certificate)
    with pytest.raises(noap.errors.InvalidProblem, match="certificate must be"):
        noap.verify(noise, result)
