"""The relaxation in the l1 norm: never below the truth, proved, as good as its ratio, and part of the exact search."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import noap
import older
from judge import exact_worth, feature_wise_best
from noap import Status
from noap.checker.relaxation.check import _above
from noap.exact.relaxation.envelope import Line, bound_of, useful
from noap.exact.relaxation.inequality import _largest_eigenvalue
from noap.exact.relaxation.relaxation import Relaxation
from noap.proofs.relaxation import RelaxationProof


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("seed", range(60))
def test_no_bound_is_below_brute_force(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 7)), int(rng.integers(1, 9))
    X = rng.standard_normal((n, d))
    if seed % 3 == 0:
        X[:, -1] = X[:, 0] * (1 + 1e-9 * (seed % 2))
    if seed % 5 == 0:
        X *= 10.0 ** rng.integers(-80, 80)
    k = int(rng.integers(1, d + 1))
    rho = float(rng.choice([0.0, 0.3, 0.8, 0.99])) * float(np.linalg.norm(X, axis=0).max())
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rho))
    result = older.solve(problem, method="relaxation", gap=0.0)
    scale = 2.0 ** np.round(np.log2(np.abs(X).max()))
    _, v = feature_wise_best((X / scale).T @ (X / scale), n, k, rho / scale)
    assert Fraction(result.bound) >= exact_worth(problem, v)
    assert result.bound_proof == "rigorous"
    # The ratio that holds before any search: no k features are worth more than k times the best one.
    assert result.value * k >= result.bound * (1 - 1e-9)
    report = noap.verify(problem, noap.Certificate.from_bytes(result.certificate.to_bytes()))
    assert report.ok, report.message
    assert Fraction(report.bound) >= exact_worth(problem, v)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0.0, 2.0))
def test_the_envelope_is_the_largest_of_the_lowest(seed, k, rho):
    rng = np.random.default_rng(seed)
    lines = [Line(float(c), float(mu)) for c, mu in rng.exponential(2.0, (int(rng.integers(1, 6)), 2))]
    bound, t = bound_of(lines, rho, k)
    grid = np.linspace(1.0, k, 4001)
    lowest = np.min([line.c + line.mu * grid for line in lines], axis=0)
    worths = np.maximum(np.sqrt(lowest) - rho * np.sqrt(grid), 0.0) ** 2
    assert bound >= worths.max() * (1 - 1e-12)
    assert bound <= worths.max() + 0.02 * (1 + worths.max())
    assert 1.0 <= t <= k
    # The checker goes from line to line; it may be above by rounding alone.
    checked = _above([(line.c, line.mu) for line in lines], rho, 1.0, float(k))
    assert worths.max() * (1 - 1e-12) <= checked <= bound * (1 + 1e-9) + 1e-12
    assert _above([(line.c, line.mu) for line in lines] * 2, rho, 1.0, float(k)) == checked
    kept = [lines[i] for i in useful(lines, k)]
    assert bound_of(kept, rho, k)[0] == pytest.approx(bound, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("noise", [0.3, 0.1])
def test_many_features_at_once_are_closed_by_the_exact_method(noise):
    X = load_breast_cancer().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = noap.Problem(X, k=30, adversary=noap.FeatureWise(noise * np.sqrt(len(X))))
    result = older.solve(problem, node_limit=5000)
    assert result.status is Status.OPTIMAL
    assert isinstance(result.proof, RelaxationProof)
    assert noap.verify(problem, result.certificate).ok


def test_noise_is_closed_at_the_root():
    X = np.random.default_rng(0).standard_normal((200, 40))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = noap.Problem(X, k=15, adversary=noap.FeatureWise(0.25 * np.sqrt(len(X))))
    assert older.solve(problem, method="relaxation").status is Status.OPTIMAL


def test_more_work_never_raises_the_bound_and_it_ends():
    X = np.random.default_rng(1).standard_normal((50, 12))
    relaxation = Relaxation(X.T @ X / 50, 0.1, 4)
    bounds = [relaxation.bound]
    while not relaxation.done:
        relaxation.advance()
        bounds.append(relaxation.bound)
    assert (np.diff(bounds) <= 1e-12).all()
    assert bounds[-1] < 0.8 * bounds[0]


def test_beyond_eigendecompositions_thresholds_stand_in(monkeypatch):
    monkeypatch.setattr("noap.exact.relaxation.relaxation.MOST_FEATURES", 5)
    X = np.random.default_rng(2).standard_normal((40, 20))
    X[:, :4] += 3 * np.random.default_rng(3).standard_normal((40, 1))
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(0.1 * np.sqrt(40)))
    result = older.solve(problem, method="relaxation")
    assert result.bound < 4 * result.problem.scale
    assert noap.verify(problem, result.certificate).ok
    assert older.solve(problem).value <= result.bound


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_time_limit():
    X = np.random.default_rng(4).standard_normal((30, 25))
    problem = noap.Problem(X, k=5, adversary=noap.FeatureWise(0.5))
    result = older.solve(problem, method="relaxation", gap=0.0, time_limit=1e-6)
    assert result.limit is noap.Limit.TIME
    assert noap.verify(problem, result.certificate).ok


@pytest.fixture(scope="module")
def proved():
    X = np.random.default_rng(5).standard_normal((60, 8))
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(0.3 * np.sqrt(60)))
    result = older.solve(problem, method="relaxation")
    assert noap.verify(problem, result.certificate).ok
    return problem, result.certificate


def changed(certificate, **arrays):
    return dataclasses.replace(certificate, proof=dataclasses.replace(certificate.proof, **arrays))


def claiming(certificate, bound):
    return dataclasses.replace(certificate, claim=dataclasses.replace(certificate.claim, bound=bound))


def test_a_lower_claim_is_rejected(proved):
    problem, certificate = proved
    for share in (1 - 1e-6, 0.9, 0.0):
        report = noap.verify(problem, claiming(certificate, certificate.bound * share))
        assert not report.ok
        assert "lines" in report.message or "worth" in report.message


def test_matrices_that_were_tampered_with_are_rejected(proved):
    problem, certificate = proved
    entries = certificate.proof.entries
    for at in range(0, len(entries), 7):
        for step in (0.05, -0.05):
            forged = entries.copy()
            forged[at] += step
            report = noap.verify(problem, changed(certificate, entries=forged))
            # What is accepted is proved: an entry may have room, the claim may not be lowered with it.
            if report.ok:
                assert report.bound >= certificate.bound
                lowered = claiming(changed(certificate, entries=forged), 0.999 * certificate.bound)
                assert not noap.verify(problem, lowered).ok
    assert not noap.verify(problem, changed(certificate, unit=certificate.proof.unit * 0.9)).ok


def test_features_that_matter_may_not_be_left_out(proved):
    problem, certificate = proved
    proof = certificate.proof
    kept = np.flatnonzero(proof.places < len(proof.features) - 1)
    starts = np.searchsorted(kept, proof.starts).astype(np.uint32)
    smaller = [triangle(matrix)[:-1, :-1] for matrix in matrices(proof)]
    forged = changed(
        certificate,
        features=proof.features[:-1],
        starts=starts,
        places=proof.places[kept],
        loads=proof.loads[kept],
        lifts=proof.lifts[kept],
        entries=np.concatenate([B[np.triu_indices(len(B))] for B in smaller]),
    )
    report = noap.verify(problem, forged)
    assert not report.ok
    assert "leaves out features" in report.message


def matrices(proof):
    sizes = np.diff(proof.starts.astype(int))
    ends = np.cumsum(sizes * (sizes + 1) // 2)
    return np.split(proof.entries, ends[:-1])


def triangle(entries):
    size = int((2 * len(entries)) ** 0.5)
    B = np.zeros((size, size), dtype=np.float32)
    B[np.triu_indices(size)] = entries
    return B


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("features", lambda p: p.features[::-1].copy()),
        ("features", lambda p: p.features + np.uint32(100)),
        ("kinds", lambda p: p.kinds + np.uint8(9)),
        ("kinds", lambda p: p.kinds[:0]),
        ("slopes", lambda p: -p.slopes),
        ("slopes", lambda p: p.slopes * np.nan),
        ("unit", lambda p: p.unit * 0.0),
        ("unit", lambda p: np.repeat(p.unit, 2)),
        ("entries", lambda p: p.entries[:-1]),
        ("entries", lambda p: p.entries.astype(np.float64)),
    ],
)
def test_broken_arrays_are_refused(proved, name, made):
    problem, certificate = proved
    report = noap.verify(problem, changed(certificate, **{name: made(certificate.proof)}))
    assert not report.ok
    assert report.message.startswith("Rejected: ")


def test_a_proof_of_another_problem_says_nothing(proved):
    problem, certificate = proved
    smaller = noap.FeatureWise(0.9 * problem.adversary.rho)
    moved = dataclasses.replace(certificate, claim=dataclasses.replace(certificate.claim, rho=smaller.rho))
    assert not noap.verify(problem.with_adversary(smaller), moved).ok
    assert not noap.verify(noap.Problem(problem.X * 1.01, k=4, adversary=problem.adversary), certificate).ok


def test_an_eigenvalue_is_proved_whatever_room_the_factorisation_needs():
    """The room grows with the square of the size, and the steps up to it with each try."""
    B = 0.03 * (1.0 - np.eye(1001))
    assert 30.0 <= _largest_eigenvalue(B) <= 30.0 * (1 + 1e-8)
