"""Tampered proofs and claims: whatever is done to a certificate, no unsupported claim passes."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from tampering import (
    Honest,
    claiming,
    closed_at,
    edited,
    every_support,
    first,
    nodes,
    put,
    relisted,
    replaced,
    sentence,
    swapped_children,
    tree,
    with_vector,
    without_subtree,
)

import judge
import noap
import older
from noap.errors import InvalidProblem
from noap.proofs.certificate import Certificate
from noap.proofs.feature_wise import (
    AGAIN,
    ATTACK,
    CHORDS,
    CLOSED,
    EACH,
    INTERVAL,
    NO_TEST,
    ON,
    SIGN,
    SPLIT,
)

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")

# Ways to tamper with the proof. The claim may stay true; the checker may accept only what is.
TAMPERS = {
    "the last leaf dropped": lambda c: nodes(c, slice(0, -1)),
    "the first leaf dropped": lambda c: nodes(c, np.delete(np.arange(len(c.proof)), first(c.proof, CLOSED))),
    "the root dropped": lambda c: nodes(c, slice(1, None)),
    "a subtree dropped": lambda c: without_subtree(c, 1),
    "a leaf twice": lambda c: nodes(c, np.sort([*range(len(c.proof)), first(c.proof, CLOSED)])),
    "trailing nodes": lambda c: nodes(c, [*range(len(c.proof)), len(c.proof) - 1]),
    "the tree twice": lambda c: nodes(c, [*range(len(c.proof)), *range(len(c.proof))]),
    "the root alone": lambda c: closed_at(c, 0),
    "a branch alone": lambda c: closed_at(c, 1),
    "children of a split swapped": lambda c: swapped_children(c, SPLIT),
    "children of a sign swapped": lambda c: swapped_children(c, SIGN),
    "children of an interval swapped": lambda c: swapped_children(c, INTERVAL),
    "backwards": lambda c: nodes(c, slice(None, None, -1)),
    "leaves without tests": lambda c: edited(c, test=np.zeros_like(c.proof.test)),
    "attacks as chords": lambda c: edited(c, test=np.where(c.proof.test == ATTACK, CHORDS, c.proof.test)),
    "chords as attacks": lambda c: edited(c, test=np.where(c.proof.test == CHORDS, ATTACK, c.proof.test)),
    "cuts of zero": lambda c: edited(c, cut=np.zeros_like(c.proof.cut)),
    "cuts below zero": lambda c: edited(c, cut=np.full_like(c.proof.cut, -1e308)),
    "cuts beyond everything": lambda c: edited(c, cut=np.full_like(c.proof.cut, 1e308)),
    "cuts of a denormal": lambda c: edited(c, cut=np.full_like(c.proof.cut, 5e-324)),
    "cuts elsewhere": lambda c: edited(c, cut=c.proof.cut * 1.3),
    "splits as intervals": lambda c: edited(c, kind=np.where(c.proof.kind == SPLIT, INTERVAL, c.proof.kind)),
    "signs as intervals": lambda c: edited(c, kind=np.where(c.proof.kind == SIGN, INTERVAL, c.proof.kind)),
    "intervals as signs": lambda c: edited(c, kind=np.where(c.proof.kind == INTERVAL, SIGN, c.proof.kind)),
    "everything again": lambda c: edited(c, kind=np.full_like(c.proof.kind, AGAIN)),
    "other features": lambda c: edited(
        c, feature=np.where(c.proof.kind == EACH, c.proof.feature, (c.proof.feature + 1) % 5)
    ),
    "one feature only": lambda c: edited(c, feature=np.where(c.proof.kind == EACH, c.proof.feature, 0)),
    "vectors turned round": lambda c: with_vector(c, lambda w: -w),
    "vectors shuffled": lambda c: with_vector(c, lambda w: w[::-1]),
    "vectors of ones": lambda c: with_vector(c, np.ones_like),
    "vectors of zeros": lambda c: with_vector(c, np.zeros_like),
    "vectors of 1e308": lambda c: with_vector(c, lambda w: np.full_like(w, 1e308)),
    "vectors of denormals": lambda c: with_vector(c, lambda w: np.full_like(w, 5e-324)),
    "one vector for all": lambda c: edited(c, vector=np.zeros_like(c.proof.vector)),
    "other places": lambda c: edited(c, places=(c.proof.places + 1) % 5),
    "nu of a denormal": lambda c: edited(c, nu=np.full_like(c.proof.nu, 5e-324)),
    "nu of 1": lambda c: edited(c, nu=np.ones_like(c.proof.nu)),
    "nu of 1e100": lambda c: edited(c, nu=np.full_like(c.proof.nu, 1e100)),
    "nu of 1e308": lambda c: edited(c, nu=np.full_like(c.proof.nu, 1e308)),
    "levels of zero": lambda c: edited(c, levels=np.zeros_like(c.proof.levels)),
    "levels above the bound": lambda c: edited(c, levels=np.full_like(c.proof.levels, 1e308)),
    "levels mixed up": lambda c: edited(c, level=np.zeros_like(c.proof.level)),
    "EACH without one": lambda c: relisted(c, lambda each: each[1:]),
    "EACH with one for another": lambda c: relisted(c, lambda each: [(each[0] + 1) % 5, *each[1:]]),
    "EACH with one twice": lambda c: relisted(c, lambda each: [*each, each[0]]),
    "EACH with one for two": lambda c: relisted(c, lambda each: [each[0]] * len(each)),
    "EACH of nothing": lambda c: relisted(c, lambda each: []),
    "EACH of everything": lambda c: relisted(c, lambda each: range(5)),
    "EACH lists swapped": lambda c: edited(c, each=c.proof.each[::-1].copy()),
    "EACH lists too long": lambda c: edited(c, each=np.append(c.proof.each, c.proof.each[:1])),
    "EACH lists too short": lambda c: edited(c, each=c.proof.each[:-1]),
    "EACH at the root, of nothing": lambda c: replaced(c, [EACH], [0]),
    "EACH of nothing in every leaf": lambda c: every_support(c, 5, 3),
    "EACH where the included stay open": lambda c: replaced(
        c, [SPLIT, SPLIT, EACH, CLOSED, CLOSED, CLOSED, CLOSED, CLOSED], [0, 1, 3, 0, 0, 0, 0, 0], each=[2, 3, 4]
    ),
    "excluded at both sides": lambda c: replaced(c, [SPLIT] * 5 + [CLOSED] * 6, [0, 1, 2, 3, 4] + [0] * 6, cut=1e308),
    "every feature split at 0": lambda c: replaced(
        c, [SPLIT, CLOSED] * 5 + [CLOSED], [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0]
    ),
    "one vector without a length": lambda c: replaced(c, [CLOSED], [0], tests=[ATTACK], vector=((0, 0.0),)),
    "one vector that cancels": lambda c: replaced(c, [CLOSED], [0], tests=[ATTACK], vector=((0, 1.0), (0, -1.0))),
    "one vector that almost cancels": lambda c: replaced(
        c, [CLOSED], [0], tests=[ATTACK], vector=((0, 1.0), (0, -1.0 + 3e-16)), nu=0.5
    ),
    "one empty vector": lambda c: replaced(c, [CLOSED], [0], tests=[ATTACK], vector=()),
}  # fmt: skip
# Those after which nothing is proved, whatever is claimed.
FATAL = {
    "the last leaf dropped", "the first leaf dropped", "the root dropped", "a subtree dropped", "a leaf twice",
    "trailing nodes", "the tree twice", "the root alone", "backwards", "leaves without tests", "everything again",
    "vectors of zeros", "EACH with one twice", "EACH of everything", "EACH lists too long", "EACH lists too short",
    "EACH at the root, of nothing", "EACH of nothing in every leaf", "EACH where the included stay open",
    "excluded at both sides", "every feature split at 0", "one vector without a length", "one vector that cancels",
    "one empty vector", "levels of zero",
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERS)
def test_tampering_with_the_proof_proves_nothing_false(honest, name):
    tampered = TAMPERS[name](honest.certificate)
    report = honest.judge(tampered)
    if name in FATAL:
        assert not report.ok
    # Through a file, the same.
    assert honest.judge(Certificate.from_bytes(tampered.to_bytes())).message == report.message
    # With a claim that is false the certificate must not pass, whatever was done to it.
    for share in (1 - 1e-6, 0.9, 0.0):
        lie = claiming(tampered, bound=share * honest.certificate.value, value=0.0)
        assert not honest.judge(lie).ok


def test_the_fatal_ways_are_among_them():
    assert set(TAMPERS) >= FATAL


@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_list_of_nothing_is_a_proof(k):
    made = Honest(np.random.default_rng(0).standard_normal((6, 4)), k, 0.5)
    for share in (0.0, 0.5, 0.9, 1 - 1e-6):
        lie = claiming(every_support(made.certificate, 4, k), value=0.0, bound=share * made.certificate.bound)
        assert not made.judge(lie).ok


def test_a_support_smaller_than_k_is_not_forgotten():
    # The best vector has one feature. With the second, whose s must be at least rho, nothing comes near it: a list of
    # second features covers less than the node.
    made = Honest(np.diag([1.0, 0.6, 0.55]), 2, 0.5)
    proof = tree([SPLIT, EACH, CLOSED, CLOSED, CLOSED], [0, 2, 0, 0, 0], each=[1, 2])
    for share in (0.1, 0.5, 0.99):
        lie = claiming(made.certificate, value=0.0, bound=share * made.optimum)
        for test in (NO_TEST, CHORDS, ATTACK):
            tests = np.array([NO_TEST, test, NO_TEST, NO_TEST, NO_TEST], dtype=np.uint8)
            assert not made.judge(dataclasses.replace(lie, proof=dataclasses.replace(proof, test=tests))).ok


@pytest.mark.parametrize("factor", [2.0, -2.0, 2.0**-500, 2.0**500, 1e-290, 1e200, 3.0])
def test_the_length_of_a_vector_does_not_matter(tests_of_both_kinds, factor):
    certificate = tests_of_both_kinds.certificate
    proof, weights = certificate.proof, certificate.proof.weights.copy()
    for number in proof.vector[proof.test == ATTACK]:
        weights[proof.starts[number] : proof.starts[number + 1]] = (
            factor * (proof.weights[proof.starts[number] : proof.starts[number + 1]])
        )
    assert tests_of_both_kinds.judge(edited(certificate, weights=weights)).ok


# Arrays that are no proof at all: refused on reading, and by the checker when they never were in a file.
MALFORMED = {
    "an unknown kind": lambda c: edited(c, kind=put(c.proof.kind, 0, 7)),
    "an unknown test": lambda c: edited(c, test=put(c.proof.test, 0, 3)),
    "no nodes": lambda c: nodes(c, slice(0, 0)),
    "nodes of unequal number": lambda c: edited(c, cut=c.proof.cut[:-1]),
    "a feature out of range": lambda c: edited(c, feature=put(c.proof.feature, 0, 5)),
    "a listed feature out of range": lambda c: edited(c, each=put(c.proof.each, 0, 2**32 - 1)),
    "a vector out of range": lambda c: edited(c, vector=np.full_like(c.proof.vector, 2**32 - 1)),
    "a level out of range": lambda c: edited(c, level=put(c.proof.level, 0, 2**31)),
    "no levels": lambda c: edited(c, levels=np.empty(0)),
    "a place out of range": lambda c: edited(c, places=put(c.proof.places, 0, 5)),
    "no starts": lambda c: edited(c, starts=np.empty(0, dtype=np.uint32)),
    "starts that run backwards": lambda c: edited(c, starts=c.proof.starts[::-1].copy()),
    "starts beyond the end": lambda c: edited(c, starts=put(c.proof.starts, -1, 2**32 - 1)),
    "weights without places": lambda c: edited(c, weights=np.append(c.proof.weights, 1.0)),
    "a vector longer than the features": lambda c: edited(
        c, starts=np.append(c.proof.starts, c.proof.starts[-1] + 6).astype(np.uint32),
        places=np.append(c.proof.places, [0] * 6).astype(np.uint32), weights=np.append(c.proof.weights, [1.0] * 6),
    ),
    "a negative nu": lambda c: edited(c, nu=put(c.proof.nu, 0, -1e-300)),
    "a negative level": lambda c: edited(c, levels=-1.0 - c.proof.levels),
    "NaN in the weights": lambda c: edited(c, weights=put(c.proof.weights, 0, np.nan)),
    "infinity in the weights": lambda c: edited(c, weights=put(c.proof.weights, 0, np.inf)),
    "NaN in the cuts": lambda c: edited(c, cut=put(c.proof.cut, 0, np.nan)),
    "infinity in the cuts": lambda c: edited(c, cut=put(c.proof.cut, 0, -np.inf)),
    "NaN in nu": lambda c: edited(c, nu=put(c.proof.nu, 0, np.nan)),
    "infinity in nu": lambda c: edited(c, nu=put(c.proof.nu, 0, np.inf)),
    "NaN in the levels": lambda c: edited(c, levels=put(c.proof.levels, 0, np.nan)),
    "kinds of another type": lambda c: edited(c, kind=c.proof.kind.astype(np.uint32)),
    "cuts in single precision": lambda c: edited(c, cut=c.proof.cut.astype(np.float32)),
    "two dimensions": lambda c: edited(c, weights=c.proof.weights[:, None]),
    "NaN in the answer": lambda c: dataclasses.replace(c, weights=put(c.weights, 0, np.nan)),
    "infinity in the answer": lambda c: dataclasses.replace(c, weights=put(c.weights, 0, np.inf)),
    "an answer out of range": lambda c: dataclasses.replace(c, places=put(c.places, 0, 5)),
    "an answer of unequal parts": lambda c: dataclasses.replace(c, places=c.places[:-1]),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_arrays_are_neither_read_nor_accepted(honest, name):
    tampered = MALFORMED[name](honest.certificate)
    assert not honest.judge(tampered).ok
    with pytest.raises(InvalidProblem) as refusal:
        Certificate.from_bytes(tampered.to_bytes())
    sentence(str(refusal.value), "The certificate cannot be read: ")


# Lies in the claim, and in the answer.
CLAIMS = {
    "a bound better by 1e-6": lambda c: claiming(c, bound=c.bound * (1 - 1e-6)),
    "a bound better by 1e-6, and no value": lambda c: claiming(c, bound=c.bound * (1 - 1e-6), value=0.0),
    "a bound of zero": lambda c: claiming(c, bound=0.0, value=0.0),
    "a bound of a denormal": lambda c: claiming(c, bound=5e-324, value=0.0),
    "a bound beyond everything": lambda c: claiming(c, bound=1e308),
    "a value better by 1e-6": lambda c: claiming(c, value=c.value * (1 + 1e-6)),
    "a value beyond everything": lambda c: claiming(c, value=1e308, bound=1e308),
    "another rho": lambda c: claiming(c, rho=c.claim.rho * (1 + 1e-15)),
    "no rho": lambda c: claiming(c, rho=0.0),
    "another k": lambda c: claiming(c, k=2),
    "a larger k": lambda c: claiming(c, k=4),
    "another number of samples": lambda c: claiming(c, n_samples=8),
    "another number of features": lambda c: claiming(c, n_features=6),
    "a covariance": lambda c: claiming(c, source="covariance"),
    "other data": lambda c: claiming(c, sha256="0" * 64),
    "no adversary": lambda c: claiming(c, adversary="NoAdversary"),
    "another adversary": lambda c: claiming(c, adversary="SampleWise"),
    "an answer of zeros": lambda c: dataclasses.replace(c, weights=np.zeros_like(c.weights)),
    "an empty answer": lambda c: dataclasses.replace(c, places=c.places[:0], weights=c.weights[:0]),
    "an answer with too many entries": lambda c: dataclasses.replace(c, places=np.arange(4), weights=np.ones(4)),
    "an answer with one place twice": lambda c: dataclasses.replace(
        c, places=np.repeat(c.places[:1], 3), weights=np.ones(3)
    ),
    "an answer turned away": lambda c: dataclasses.replace(c, weights=c.weights[::-1] * [1.0, -1.0, 0.1]),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_lies_in_the_claim_are_rejected(honest, name):
    lie = CLAIMS[name](honest.certificate)
    assert not honest.judge(lie).ok
    assert not honest.judge(Certificate.from_bytes(lie.to_bytes())).ok


@pytest.mark.parametrize("bound", [math.nan, math.inf, -math.inf, -1.0])
def test_bounds_that_are_no_numbers(honest, bound):
    for lie in (claiming(honest.certificate, bound=bound), claiming(honest.certificate, value=abs(bound), bound=bound)):
        assert not honest.judge(lie).ok
        with pytest.raises(InvalidProblem, match="is not a finite number of at least 0"):
            Certificate.from_bytes(lie.to_bytes())


def test_negative_places_are_no_way_round_the_support(honest):
    # In memory only: -5 and 0 are the same feature, which would count its weight twice.
    lie = dataclasses.replace(honest.certificate, places=np.array([0, -5, 1]), weights=np.ones(3))
    assert not honest.judge(lie).ok


@pytest.mark.parametrize(
    ("kind", "weights"), [("f2", [1.0, 0.0215]), ("f4", [1.0, 2.4e-4]), ("i1", [64, 3]), ("i2", [2048, 100])]
)
def test_an_answer_in_another_type_is_refused(kind, weights):
    # In memory only. One sample along the answer, whose length such a type rounds down, or lets wrap.
    weights = np.array(weights, dtype=kind)
    problem = noap.Problem(weights.astype(float)[None, :], k=2, adversary=noap.NoAdversary())
    honest = older.solve(problem).certificate
    lie = dataclasses.replace(honest, places=np.arange(2), weights=weights)
    assert "wrong type" in noap.verify(problem, lie).message
    assert noap.verify(problem, dataclasses.replace(lie, weights=weights.astype(np.float64))).ok
    assert not noap.verify(problem, dataclasses.replace(lie, weights=weights.tolist())).ok


@pytest.mark.parametrize("test", [NO_TEST, CHORDS, ATTACK])
@pytest.mark.parametrize("rho", [0.0, 0.2])
def test_no_support_has_more_than_k_features(test, rho):
    # ON branches without tightening, which would have dropped the free features: the second one includes nothing.
    made = Honest(np.eye(3), 1, rho)
    proof = tree(
        [ON, ON, CLOSED, CLOSED, CLOSED], [0, 1, 0, 0, 0], tests=[0, 0, test, 0, 0], vector=((0, 1.0), (1, 1.0))
    )
    for share in (0.9, 1.5):
        lie = claiming(dataclasses.replace(made.certificate, proof=proof), value=0.0, bound=share * made.optimum)
        assert made.judge(lie).ok == (share > 1)
        assert made.judge(Certificate.from_bytes(lie.to_bytes())).ok == (share > 1)


def test_certificates_of_other_problems_are_rejected(honest):
    c, X = honest.certificate, np.array(honest.problem.X)
    one = X.copy()
    one[3, 2] = math.nextafter(one[3, 2], 9.0)
    others = [
        noap.Problem(one, k=3, adversary=honest.problem.adversary),
        noap.Problem(X[:, [1, 0, 2, 3, 4]], k=3, adversary=honest.problem.adversary),
        noap.Problem(X[::-1], k=3, adversary=honest.problem.adversary),
        noap.Problem(X[:-1], k=3, adversary=honest.problem.adversary),
        noap.Problem(X[:, :4], k=3, adversary=honest.problem.adversary),
        noap.Problem(np.vstack([X, X]), k=3, adversary=honest.problem.adversary),
        noap.Problem(X, k=2, adversary=honest.problem.adversary),
        noap.Problem(X, k=3, adversary=noap.FeatureWise(0.8)),
        noap.Problem(X, k=3, adversary=noap.NoAdversary()),
        noap.Problem(X, k=3, adversary=noap.SampleWise(honest.problem.adversary.rho)),
        noap.Problem.from_covariance(X.T @ X / 7, n_samples=7, k=3, adversary=honest.problem.adversary),
    ]
    for other in others:
        report = noap.verify(other, c)
        assert not report.ok
        sentence(report.message, "Rejected: the certificate is about ")
        # With the names changed to those of the other problem, the proof itself has to stand.
        claim = type(c.claim).about(other, 0.0, c.bound)
        report = noap.verify(other, dataclasses.replace(c, claim=claim))
        if report.ok:
            G, n = other.covariance * other.n_samples, other.n_samples
            _, v = judge.feature_wise_best(G, n, other.k, float(other.adversary.rho))
            assert judge.exact_worth(other, v) <= Fraction(report.bound)
