"""Tampering with certificates of sample-wise problems is caught, with a reason."""

import dataclasses
import math
import tracemalloc

import numpy as np
import pytest
from sample_cases import noise, solved, with_proof
from tampering import claiming, edited, put

import judge
import noap
import older
from noap.proofs.certificate import Certificate
from noap.proofs.sample_wise import CLOSED, CONES, LENGTHS, SPLIT, SampleProof

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")

NODES = ("kind", "attack", "feature")


@pytest.fixture(scope="module")
def honest():
    """Problem, certificate and optimum; the tree has splits, cones and several attacks."""
    problem = noise(10, 12, 8, 3, 1.0)
    _, certificate = solved(problem)
    assert noap.verify(problem, certificate).ok
    assert set(certificate.proof.kind) == {CLOSED, SPLIT, CONES}
    assert certificate.claim.bound > 0
    return problem, certificate, judge.sample_wise_optimum(problem.X, 3, 1.0)


def dropped(proof, at):
    return {name: np.delete(getattr(proof, name), at) for name in NODES}


def lower_claim(certificate, factor):
    return claiming(
        certificate, bound=certificate.bound * factor, value=min(certificate.value, certificate.bound * factor)
    )


LIES = {
    "a leaf dropped": lambda c: edited(c, **dropped(c.proof, len(c.proof) - 1)),
    "an inner leaf dropped": lambda c: edited(c, **dropped(c.proof, np.flatnonzero(c.proof.kind == CLOSED)[3])),
    "a node twice": lambda c: edited(
        c, **{n: np.append(getattr(c.proof, n), getattr(c.proof, n)[-1]) for n in NODES}
    ),
    "a subtree closed": lambda c: edited(c, **{n: getattr(c.proof, n)[:1] for n in ("attack", "feature")},
                                         kind=np.zeros(1, dtype=np.uint8)),
    "the root by cones": lambda c: edited(c, **{n: getattr(c.proof, n)[:1] for n in ("attack", "feature")},
                                          kind=np.full(1, CONES, dtype=np.uint8)),
    "the root by lengths": lambda c: edited(c, **{n: getattr(c.proof, n)[:1] for n in ("attack", "feature")},
                                            kind=np.full(1, LENGTHS, dtype=np.uint8)),
    "cones closed by the attack in force": lambda c: edited(
        c, kind=np.where(c.proof.kind == CONES, CLOSED, c.proof.kind).astype(np.uint8)
    ),
    "attacks forgotten": lambda c: edited(c, attack=np.zeros_like(c.proof.attack)),
    "attacks of zeros": lambda c: edited(c, values=np.zeros_like(c.proof.values)),
    "attacks turned round": lambda c: edited(c, values=-c.proof.values),
    "attacks swapped": lambda c: edited(c, attack=np.where(c.proof.attack > 0, 1, 0).astype(np.uint32)),
    "entries shuffled": lambda c: edited(c, values=np.random.default_rng(0).permutation(c.proof.values)),
    "samples shifted": lambda c: edited(c, rows=((c.proof.rows + 1) % c.claim.n_samples).astype(np.uint32)),
    "features shifted": lambda c: edited(c, columns=((c.proof.columns + 1) % 8).astype(np.uint32)),
    "split on a feature twice": lambda c: edited(c, feature=np.full_like(c.proof.feature, c.proof.feature[0])),
    "an unknown kind": lambda c: edited(c, kind=put(c.proof.kind, 0, 9)),
    "a feature beyond the data": lambda c: edited(c, feature=put(c.proof.feature, 0, 8)),
    "an attack beyond the table": lambda c: edited(c, attack=put(c.proof.attack, 0, 2**31)),
    "a sample beyond the data": lambda c: edited(c, rows=put(c.proof.rows, 0, 12)),
    "a column beyond the data": lambda c: edited(c, columns=put(c.proof.columns, 0, 8)),
    "rows that run backwards": lambda c: edited(c, row_starts=put(c.proof.row_starts, 1, 2**32 - 1)),
    "more attacks than nodes": lambda c: edited(
        c, **{n: np.append(getattr(c.proof, n), [getattr(c.proof, n)[-1]] * len(c.proof)).astype(np.uint32)
              for n in ("row_starts", "column_starts")}
    ),
    "an attack with more rows than samples": lambda c: edited(
        c, row_starts=np.append(c.proof.row_starts, c.proof.row_starts[-1] + 13).astype(np.uint32),
        rows=np.append(c.proof.rows, [0] * 13).astype(np.uint32),
        column_starts=np.append(c.proof.column_starts, c.proof.column_starts[-1]).astype(np.uint32),
    ),
    "an attack larger than all entries": lambda c: edited(
        c, row_starts=np.array([0, 12], dtype=np.uint32), rows=np.arange(12, dtype=np.uint32),
        column_starts=np.array([0, 8], dtype=np.uint32), columns=np.arange(8, dtype=np.uint32),
        values=c.proof.values[:95], attack=np.minimum(c.proof.attack, 1),
    ),
    "no starts": lambda c: edited(c, row_starts=c.proof.row_starts[:0], column_starts=c.proof.column_starts[:0]),
    "an entry missing": lambda c: edited(c, values=c.proof.values[:-1]),
    "NaN": lambda c: edited(c, values=put(c.proof.values, 3, np.nan)),
    "infinity": lambda c: edited(c, values=put(c.proof.values, 3, np.inf)),
    "no nodes": lambda c: edited(c, **{n: getattr(c.proof, n)[:0] for n in NODES}),
    "lengths differ": lambda c: edited(c, attack=c.proof.attack[:-1]),
    "two dimensions": lambda c: edited(c, values=c.proof.values[None, :]),
    "entries of another type": lambda c: edited(c, values=c.proof.values.astype(np.complex128)),
    "a bound below the value": lambda c: lower_claim(c, 0.99),
    "a bound lower by the gap and a little": lambda c: claiming(c, bound=c.value * (1 - 1e-6)),
    "a value too good": lambda c: claiming(c, value=c.value * (1 + 1e-6)),
    "another rho": lambda c: claiming(c, rho=1.01),
    "another k": lambda c: claiming(c, k=2),
    "another n": lambda c: claiming(c, n_samples=11),
    "another adversary": lambda c: claiming(c, adversary="FeatureWise"),
    "other data": lambda c: claiming(c, sha256="0" * 64),
    "a bound beyond all numbers": lambda c: claiming(c, bound=1e308),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_rejected_with_a_reason(honest, lie):
    problem, certificate, _ = honest
    report = noap.verify(problem, LIES[lie](certificate))
    assert not report.ok
    assert report.bound == math.inf
    assert report.message.startswith("Rejected: ")
    assert report.message.endswith(".")
    assert len(report.message) > 25


@pytest.mark.parametrize(
    "lie",
    [
        "no starts",
        "an entry missing",
        "NaN",
        "infinity",
        "rows that run backwards",
        "an unknown kind",
        "two dimensions",
    ],
)
def test_malformed_arrays_are_not_even_read(honest, lie):
    with pytest.raises(noap.errors.InvalidProblem, match=r"^The certificate cannot be read: "):
        Certificate.from_bytes(LIES[lie](honest[1]).to_bytes())


def test_an_attack_outside_its_ball_is_scaled_not_trusted(honest):
    problem, certificate, optimum = honest
    # E = -X would cancel everything, if the adversary could afford it.
    rows, columns = np.arange(12, dtype=np.uint32), np.arange(8, dtype=np.uint32)
    starts = np.array([0, 12], dtype=np.uint32), np.array([0, 8], dtype=np.uint32)
    one = np.ones(1, dtype=np.uint32)
    for size in (1.0, 1e3, 1e150, 1e300):
        values = (-problem.X * size).ravel()
        proof = SampleProof(
            np.zeros(1, dtype=np.uint8), one, 0 * one, starts[0], rows, starts[1], columns, values
        )  # fmt: skip
        for bound in (0.0, 0.5 * optimum, 0.999999 * optimum):
            lie = dataclasses.replace(claiming(certificate, value=0.0, bound=bound), proof=proof)
            assert not noap.verify(problem, lie).ok
    # Scaled down it is the shrinking attack, which proves something weaker.
    shrunk = with_proof(problem, 4 * optimum, dataclasses.replace(proof, values=(-problem.X * 1e3).ravel()))
    assert noap.verify(problem, shrunk).ok


def test_scaling_attacks_up_proves_nothing_more(honest):
    problem, certificate, optimum = honest
    for factor in (2.0, 1e6):
        lie = edited(certificate, values=certificate.proof.values * np.float32(factor))
        report = noap.verify(problem, lie)
        assert not report.ok or report.bound >= optimum


def test_a_proof_of_the_other_kind_is_rejected(honest):
    problem, certificate, _ = honest
    other = noap.Problem(problem.X, k=3, adversary=noap.FeatureWise(1.0))
    theirs = older.solve(other).certificate
    assert not noap.verify(problem, dataclasses.replace(certificate, proof=theirs.proof)).ok
    report = noap.verify(other, dataclasses.replace(theirs, proof=certificate.proof))
    assert not report.ok
    assert "says nothing about this adversary" in report.message


def test_no_bound_below_the_optimum_passes(honest):
    problem, certificate, optimum = honest
    for share in (0.0, 0.5, 0.99, 0.9999, 1 - 1e-6):
        lie = claiming(certificate, bound=share * optimum, value=0.0)
        assert not noap.verify(problem, lie).ok


def mutated(rng, certificate):
    """Change a few numbers of the proof and maybe lower the claim."""
    proof = certificate.proof
    arrays = {}
    for _ in range(int(rng.integers(1, 4))):
        name = str(rng.choice(["kind", "attack", "feature", "values", "rows", "columns", "row_starts"]))
        array = arrays.get(name, getattr(proof, name)).copy()
        at = int(rng.integers(len(array)))
        if name == "values":
            array[at] = rng.choice([0.0, -array[at], 10 * array[at], array[at] + rng.standard_normal(), 1e30])
        elif name == "kind":
            array[at] = rng.integers(4)
        else:
            array[at] = rng.integers(int(array.max()) + 1)
        arrays[name] = array
    if rng.random() < 0.3:
        at = int(rng.integers(len(proof)))
        many = {n: arrays.get(n, getattr(proof, n)) for n in NODES}
        arrays |= {n: np.delete(a, at) if rng.random() < 0.5 else np.insert(a, at, a[at]) for n, a in many.items()}
    share = rng.choice([1.0, 1.0, 1 - 1e-7, 1 - 1e-5, 0.9])
    return claiming(edited(certificate, **arrays), bound=certificate.bound * share, value=0.0)


def test_no_mutant_proves_a_bound_below_the_optimum(honest):
    problem, certificate, optimum = honest
    rng = np.random.default_rng(0)
    accepted = 0
    for _ in range(400):
        report = noap.verify(problem, mutated(rng, certificate))
        if report.ok:
            accepted += 1
            assert report.bound >= optimum
        else:
            assert report.message.startswith("Rejected: ")
    assert 0 < accepted < 400


def test_a_long_table_of_attacks_takes_no_more_memory_than_the_file(honest):
    _, certificate, _ = honest
    count = 300_000
    many = dataclasses.replace(
        certificate.proof, **{n: np.zeros(count, dtype=np.uint8 if n == "kind" else np.uint32) for n in NODES},
        **{n: put(np.full(count + 1, 300, dtype=np.uint32), 0, 0) for n in ("row_starts", "column_starts")},
        rows=np.zeros(300, dtype=np.uint32), columns=np.zeros(300, dtype=np.uint32), values=np.zeros(90_000),
    )  # fmt: skip
    data = claiming(dataclasses.replace(certificate, proof=many), n_samples=300, n_features=300).to_bytes()
    tracemalloc.start()
    assert Certificate.from_bytes(data).nodes == count
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 17 bytes per node and attack in the arrays.
    assert peak < 5 * 17 * count


def test_a_deep_tree_does_not_exhaust_anything(honest):
    problem, certificate, _ = honest
    count = 20_001
    kind = np.full(count, SPLIT, dtype=np.uint8)
    proof = dataclasses.replace(
        certificate.proof, kind=kind, attack=np.ones(count, dtype=np.uint32), feature=np.zeros(count, dtype=np.uint32)
    )
    assert not noap.verify(problem, dataclasses.replace(certificate, proof=proof)).ok
