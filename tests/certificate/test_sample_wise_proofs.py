"""Sample-wise certificates: they verify, they are right, and whatever stops the search leaves one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sample_cases import noise, solved, with_proof
from scipy.sparse import csr_array

import judge
import noap
import older
from cases import SHAPES, budget, small_data
from noap.proofs.certificate import Certificate
from noap.proofs.claim import Claim
from noap.proofs.sample_wise import CLOSED, CONES, LENGTHS, SPLIT, SampleProof

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


@pytest.mark.parametrize("shape", SHAPES)
def test_certificates_verify_and_agree_with_brute_force(shape):
    for seed in range(12):
        rng = np.random.default_rng([seed, SHAPES.index(shape)])
        X = small_data(rng, shape, int(rng.integers(1, 8)))
        if not X.any():
            continue
        k = int(rng.integers(1, min(3, X.shape[1]) + 1))
        rho = budget(rng, noap.SampleWise(1.0).rho_max(X, k))
        problem = noap.Problem(X, k=k, adversary=noap.SampleWise(rho))
        gap = float(rng.choice([1e-2, 1e-4, 1e-6]))
        result, certificate = solved(problem, gap=gap)
        report = noap.verify(problem, certificate)
        assert report.ok, report.message
        optimum = judge.sample_wise_optimum(X, k, rho, points=1500)
        assert report.value <= optimum * (1 + 1e-9) + 1e-12 * problem.scale
        assert optimum <= report.bound * (1 + 1e-12)
        assert report.bound <= result.bound * (1 + 1.1e-9) + 1.1e-12 * problem.scale


def test_trees_with_splits_cones_and_several_attacks_verify():
    kinds = np.zeros(4, dtype=int)
    for seed, shape in ((0, (20, 10, 3, 1.5)), (10, (12, 8, 3, 1.0)), (5, (20, 8, 4, 1.5))):
        problem = noise(seed, *shape)
        _, certificate = solved(problem)
        report = noap.verify(problem, certificate)
        assert report.ok, report.message
        kinds += np.bincount(certificate.proof.kind, minlength=4)
    assert (kinds[[CLOSED, SPLIT, CONES]] > 0).all()


def test_units_types_and_sparse_data_do_not_matter():
    X = np.round(4 * np.random.default_rng(6).standard_normal((25, 7))) / 4
    for data, unit in (
        (X.astype(np.float32), 1.0), (csr_array(X), 1.0), (X * 2.0**480, 2.0**480), (X * 1e-150, 1e-150),
    ):  # fmt: skip
        problem = noap.Problem(data, k=3, adversary=noap.SampleWise(1.0 * unit))
        _, certificate = solved(problem)
        assert noap.verify(problem, certificate).ok


@pytest.mark.parametrize(("size", "rho"), [(1e-150, 1e200), (1e-100, 1e300), (0.0, 1e300)])
def test_a_budget_beyond_all_numbers_in_units_of_the_data(size, rho):
    problem = noap.Problem(np.full((2, 2), size), k=1, adversary=noap.SampleWise(rho))
    report = noap.verify(problem, trivially(problem, 0.0))
    assert report.ok
    assert report.value == 0.0 <= report.bound <= 1e-11 * size**2


def test_a_bound_among_the_smallest_numbers_is_rounded_up():
    # One sample of 1e5, an optimum of 1e-315 and a claim that is true by less than its last digit.
    rng, n = np.random.default_rng(0), 100_000
    accepted = 0
    for _ in range(60):
        x, b = 1e-150 * float(rng.uniform(1, 1.5)), 1e-315 * float(rng.uniform(1, 9))
        T = n * Fraction(b) * (1 + Fraction(1e-9)) + Fraction(1e-12) * Fraction(x) ** 2
        rho = x - 1e-155 * math.sqrt(float(T * 10**310)) * (1 - 10.0 ** -rng.uniform(9.2, 10.8))
        X = csr_array(([x], ([0], [0])), shape=(n, 1))
        problem = noap.Problem(X, k=1, adversary=noap.SampleWise(rho))
        report = noap.verify(problem, trivially(problem, b))
        accepted += report.ok
        assert not report.ok or Fraction(report.bound) >= (Fraction(x) - Fraction(rho)) ** 2 / n
    assert accepted > 10


def trivially(problem, bound):
    """A certificate of one node, with a vector that claims to be worth nothing."""
    return Certificate(Claim.about(problem, 0.0, bound), np.arange(1), np.ones(1), SampleProof.trivial())


def test_no_budget_and_more_budget_than_data():
    X = np.random.default_rng(1).standard_normal((10, 4))
    for rho in (0.0, 100.0, 1e-200, float(noap.SampleWise(1.0).rho_max(X, 2)) * (1 - 1e-12)):
        problem = noap.Problem(X, k=2, adversary=noap.SampleWise(rho))
        _, certificate = solved(problem)
        assert noap.verify(problem, certificate).ok
    # A sample-wise proof may also speak of rho = 0.
    problem = noap.Problem(X, k=2, adversary=noap.SampleWise(0.0))
    crude = float((np.sort(X**2, axis=1)[:, -2:]).sum()) / 10
    assert noap.verify(problem, with_proof(problem, crude, SampleProof.trivial())).ok
    assert not noap.verify(problem, with_proof(problem, crude * 0.999, SampleProof.trivial())).ok


@pytest.fixture(scope="module")
def hard():
    """A problem whose root does not close."""
    X = noap.theory.spiked_wishart(100, 40, 4, 3.0, k1=2, c=0.8, random_state=7).X
    return noap.Problem(X, k=4, adversary=noap.SampleWise(2.0))


def test_whatever_stops_the_search_the_bound_is_proved(hard):
    seen = []
    for limits in (*({"node_limit": nodes} for nodes in (1, 2, 3, 5, 9)), {"memory_limit": 1e-6}, {"time_limit": 1e-6}):
        result, certificate = solved(hard, **limits)
        report = noap.verify(hard, certificate)
        assert report.ok, (limits, report.message)
        seen.append(result.limit)
    assert None not in seen


@pytest.mark.parametrize(
    "method", ["play", "certify", "branch", "examine_support", "close", "push", "narrow", "hold", "ascend"]
)
def test_an_interrupt_anywhere_leaves_a_proved_bound(hard, monkeypatch, method):
    from noap.exact.sample_wise import tree as module

    original = getattr(module.Tree, method)
    for count in (1, 2, 5):
        calls = iter(range(10**6))

        def stop(self, *args, calls=calls, count=count, **kwargs):
            if next(calls) == count - 1:
                raise KeyboardInterrupt
            return original(self, *args, **kwargs)

        monkeypatch.setattr(module.Tree, method, stop)
        _, certificate = solved(hard, node_limit=12)
        report = noap.verify(hard, certificate)
        assert report.ok, (count, report.message)


def test_recording_can_be_declined_and_changes_nothing(hard):
    with_record, _ = solved(hard)
    without = older.solve(hard, certificate=False)
    assert without.certificate is None
    assert (without.v == with_record.v).all()
    assert (without.bound, without.nodes) == (with_record.bound, with_record.nodes)


def test_what_is_recorded_is_what_was_tested():
    from noap.exact.sample_wise.attack import Attack

    Y = np.random.default_rng(8).standard_normal((6, 5))
    attack = Attack.at_root(Y, 2, np.full(6, 0.7), np.eye(5)[0])
    before = attack.E.copy()
    attack.coarsen()
    assert (attack.E.astype(np.float32) == attack.E).all()
    assert (np.abs(attack.E) <= np.abs(before)).all()
    np.testing.assert_allclose(attack.E, before, rtol=2.0**-23)
    # A gap that single precision cannot serve is served in double precision.
    for gap, kind in ((1e-3, np.float32), (1e-8, np.float64)):
        assert older.solve(noise(1, 20, 8, 2, 0.5), gap=gap).proof.values.dtype == kind


def test_a_record_that_grows_too_large_is_given_up(hard, monkeypatch):
    from noap.exact.sample_wise import tree as module

    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    assert older.solve(hard).certificate is None


def test_leaves_without_an_attack_are_written_as_such():
    # One node is not enough, and no bound was proved below the root: the children inherit the lengths of the samples.
    problem = noise(0, 20, 10, 3, 1.5)
    _, certificate = solved(problem, node_limit=1)
    assert noap.verify(problem, certificate).ok
    kind, attack = certificate.proof.kind, certificate.proof.attack
    assert (kind == LENGTHS).sum() > 1
    assert (attack[kind == LENGTHS] == 0).all()
    # Only the root has an attack, so nothing below it can be closed by one of its own.
    assert (attack > 0).nonzero()[0].tolist() == [0]
