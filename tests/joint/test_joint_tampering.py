"""Joint certificates that were tampered with: rejected, or what is accepted is still true."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from packings import joint_optimum
from test_components import triangles

import noap
import older
from noap.errors import InvalidProblem

ARRAYS = ["ks", "slots", "starts", "places", "weights", "branches", "leaves", "charges", "uses", "priced"]


@pytest.fixture(scope="module")
def problem():
    return triangles()


@pytest.fixture(scope="module")
def certificate(problem):
    made = noap.solve_components(problem, 3, gap=1e-6).certificate
    assert noap.verify(problem, made).ok
    assert len(made.pricings) > 1
    assert len(made.leaves) > 1
    return made


@pytest.fixture(scope="module")
def plain():
    """One leaf, one pricing problem, and costs."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12, 6))
    problem = noap.Problem(X - X.mean(axis=0), k=2, adversary=noap.FeatureWise(0.3), costs=rng.uniform(0, 0.1, 6))
    joint = noap.solve_components(problem, 2, gap=1e-6)
    assert joint.branches == 1
    assert (joint.certificate.charges > problem.costs).any()
    return problem, joint.certificate


def with_entry(certificate, name, place, entry):
    array = getattr(certificate, name).copy()
    array[place] = entry
    return replace(certificate, **{name: array})


def rejected(problem, certificate, why=""):
    report = noap.verify(problem, certificate)
    assert not report.ok
    assert report.bound == np.inf
    assert why in report.message


def test_a_price_lowered_by_an_ulp(plain):
    problem, certificate = plain
    priced = int(np.argmax(certificate.charges - problem.costs))
    lowered = np.nextafter(certificate.charges[priced], 0)
    rejected(problem, with_entry(certificate, "charges", priced, lowered), "charges more than record 0 does")
    both = with_entry(with_entry(certificate, "charges", priced, lowered), "priced", priced, lowered)
    rejected(problem, both, "about other costs")


def test_a_charge_below_the_cost(plain):
    problem, certificate = plain
    lowered = np.nextafter(problem.costs[0], 0)
    rejected(problem, with_entry(certificate, "charges", 0, lowered), "charges less than a feature costs")


def test_pricing_certificates_exchanged(problem, certificate):
    first = next(
        i for i, one in enumerate(certificate.pricings) if one.claim.costs != certificate.pricings[0].claim.costs
    )
    swapped = list(certificate.pricings)
    swapped[0], swapped[first] = swapped[first], swapped[0]
    rejected(problem, replace(certificate, pricings=tuple(swapped)))
    # With their charges, so that each is a proof, but not of what the records need.
    d = problem.n_features
    rows = certificate.priced.reshape(-1, d).copy()
    rows[[0, first]] = rows[[first, 0]]
    rejected(problem, replace(certificate, pricings=tuple(swapped), priced=rows.ravel()))


def test_a_pricing_bound_lowered(plain):
    problem, certificate = plain
    pricing = certificate.pricings[0]
    lower = replace(pricing, claim=replace(pricing.claim, bound=pricing.bound * (1 - 1e-4)))
    rejected(problem, replace(certificate, pricings=(lower,)), "pricing problem 0")


def test_claims_beyond_the_proof(problem, certificate, plain):
    for one, made in ((problem, certificate), plain):
        rejected(one, replace(made, claim=replace(made.claim, bound=made.bound * (1 - 1e-5))), "more than claimed")
        rejected(one, replace(made, claim=replace(made.claim, value=made.value * (1 + 1e-5))), "less than claimed")


def test_a_support_twice_or_overlapping(problem, certificate):
    end = int(certificate.starts[1])
    twice = certificate.places.copy()
    twice[end : 2 * end] = twice[:end]
    rejected(problem, replace(certificate, places=twice), "uses a feature of another one")
    rejected(problem, with_entry(certificate, "places", end, certificate.places[0]), "uses a feature of another one")
    rejected(problem, with_entry(certificate, "places", 1, certificate.places[0]), "component 0")
    rejected(problem, with_entry(certificate, "slots", 0, certificate.slots[1]), "two components fill slot")


def test_r_changed(problem, certificate, plain):
    other, made = plain
    more = replace(made, ks=np.append(made.ks, made.ks[0]).astype(np.uint32), uses=np.append(made.uses, made.uses[0]))
    rejected(other, more, "more than claimed")
    fewer = replace(made, ks=made.ks[:1], uses=made.uses[:1])
    rejected(other, fewer, "malformed")
    rejected(other, replace(made, ks=made.ks[:1]), "")
    rejected(problem, replace(certificate, ks=np.append(certificate.ks, 2).astype(np.uint32)), "")


def test_more_features_than_were_priced(plain):
    problem, made = plain
    wider = replace(made, ks=made.ks + np.uint32(1), claim=replace(made.claim, k=made.claim.k + 1))
    rejected(problem, wider, "fewer features than slot")


def test_other_trees(problem, certificate):
    d = np.uint32(problem.n_features)
    branched = int(np.argmax(certificate.branches < d))
    rejected(problem, replace(certificate, branches=certificate.branches[:-1]), "not whole")
    rejected(problem, replace(certificate, branches=np.append(certificate.branches, d)), "belong to no parent")
    rejected(problem, with_entry(certificate, "branches", branched, d))
    rejected(problem, replace(certificate, leaves=certificate.leaves[:-1]), "no charges")
    same = np.full_like(certificate.branches, certificate.branches[branched])
    rejected(problem, replace(certificate, branches=same), "twice")


def test_another_problem(problem, certificate):
    rejected(problem.with_costs(np.full(6, 0.01)), certificate, "about other costs")
    S = np.array(problem.covariance)
    S[0, 1] = S[1, 0] = np.nextafter(S[0, 1], 2)
    other = noap.Problem.from_covariance(S, n_samples=5, k=2, adversary=noap.NoAdversary())
    rejected(other, certificate, "about other data")


@pytest.mark.parametrize("name", ARRAYS)
def test_what_is_accepted_is_true(problem, certificate, name):
    rng = np.random.default_rng(ARRAYS.index(name))
    array = getattr(certificate, name)
    for _ in range(40):
        changed = array.copy()
        for place in rng.integers(0, len(array), int(rng.integers(1, 3))):
            if array.dtype == np.float64:
                factor = rng.choice([0.0, 0.5, 1 - 1e-7, 1 + 1e-7, 2.0, -1.0, np.inf])
                changed[place] = changed[place] * factor if np.isfinite(factor) else rng.choice([np.nan, np.inf])
            else:
                changed[place] = rng.choice([0, 1, 2, 3, 5, 6, 7, 2**32 - 1])
        report = noap.verify(problem, replace(certificate, **{name: changed}))
        if report.ok:
            best = joint_optimum(problem, tuple((changed if name == "ks" else certificate.ks).tolist()))
            assert report.value <= best + 1e-9
            assert report.bound >= best - 1e-9


def test_files(problem, certificate, plain, tmp_path):
    for one, made in ((problem, certificate), plain):
        made.save(tmp_path / "joint.noap")
        read = noap.JointCertificate.load(tmp_path / "joint.noap")
        assert noap.verify(one, read).ok
        assert read.to_bytes() == made.to_bytes()
        with pytest.raises(InvalidProblem, match="read it with noap"):
            noap.Certificate.load(tmp_path / "joint.noap")
    older.solve(problem).certificate.save(tmp_path / "single.noap")
    with pytest.raises(InvalidProblem, match="not one of several components"):
        noap.JointCertificate.load(tmp_path / "single.noap")
    with pytest.raises(InvalidProblem, match="memory_limit"):
        noap.JointCertificate.load(tmp_path / "joint.noap", memory_limit=0.0001)


def test_many_small_files_within_one_ask_for_much_together(plain):
    _, made = plain
    pricing = made.pricings[0]
    # Each takes eight megabytes, and a few kilobytes in the file.
    zeros = np.zeros(1_000_000)
    large = replace(pricing, proof=replace(pricing.proof, levels=np.append(pricing.proof.levels, zeros)))
    d = len(made.charges)
    many = replace(made, pricings=(large,) * 30, priced=np.tile(made.priced[:d], 30))
    with pytest.raises(InvalidProblem, match="memory_limit"):
        noap.JointCertificate.from_bytes(many.to_bytes())


def test_damaged_files_are_refused(certificate):
    data = certificate.to_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(data)
        damaged[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        with pytest.raises(InvalidProblem, match="cannot be read"):
            noap.JointCertificate.from_bytes(bytes(damaged))


def test_limits_of_the_check(problem, certificate):
    report = noap.verify(problem, certificate, time_limit=1e-9)
    assert not report.ok
    assert "within 1e-09 seconds" in report.message
    report = noap.verify(problem, certificate, memory_limit=1e-4)
    assert not report.ok
    assert "memory_limit" in report.message


def test_charges_that_add_up_to_more_than_floats_hold(plain, monkeypatch):
    problem, made = plain
    rejected(problem, replace(made, charges=np.full_like(made.charges, 1.7e308)), "charges more than any feature")
    rejected(problem, replace(made, priced=np.full_like(made.priced, 1.7e308)), "charges more than any feature")
    monkeypatch.setattr("noap.proofs.joint.MOST_COST", 1.8e308)
    lie = replace(made, charges=np.full_like(made.charges, 1.7e308))
    rejected(problem, lie, "charges more than floating point can add up")


def test_what_is_dear_beside_what_is_not():
    d = 2400
    X = np.zeros((4, d))
    X[:, :3] = np.random.default_rng(1).standard_normal((4, 3))
    dear = noap.Problem(X, k=1, adversary=noap.NoAdversary(), costs=np.where(np.arange(d) < 3, 0.01, 1e305))
    joint = noap.solve_components(dear, 2)
    report = noap.verify(dear, joint.certificate)
    assert report.ok, report.message
    assert report.bound <= joint.bound * (1 + 1e-8)


def test_a_tree_that_holds_too_much(monkeypatch):
    d = 300
    problem = noap.Problem(np.random.default_rng(0).standard_normal((3, d)), k=1, adversary=noap.NoAdversary())
    made = noap.solve_components(problem, 2).certificate
    # Slots of all sizes, and a branch for every feature: each leaves a node for each of them.
    lie = replace(
        made,
        claim=replace(made.claim, k=d),
        ks=np.arange(1, d + 1, dtype=np.uint32),
        branches=np.arange(d, dtype=np.uint32),
        leaves=made.leaves[:0],
        uses=np.zeros(d, dtype=np.uint32),
        charges=made.charges[:d],
    )
    assert len(lie.to_bytes()) < 10_000
    tracemalloc.start()
    report = noap.verify(problem, lie, memory_limit=20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
    assert "memory_limit" in report.message
    monkeypatch.setattr("noap.checker.joint._MOST_HELD", 1e6)
    rejected(problem, lie, "too deep")


def test_a_problem_of_fewer_features_is_another(plain):
    problem, _ = plain
    wide = noap.Problem(np.random.default_rng(0).standard_normal((12, 9)), k=7, adversary=noap.NoAdversary())
    rejected(problem, noap.solve_components(wide, 1).certificate, "about 9 features, not 6")
