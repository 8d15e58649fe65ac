"""The liar's suite: whatever is done to a certificate, no unsupported claim passes, and nothing crashes."""

import dataclasses
import hashlib
import json
import math
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import judge
import noap
from noap.certificate import container
from noap.certificate.certificate import Certificate
from noap.certificate.gram_proof import (
    AGAIN,
    ATTACK,
    CHORDS,
    CLOSED,
    EACH,
    INTERVAL,
    NO_TEST,
    SIGN,
    SPLIT,
    GramProof,
)
from noap.errors import InvalidProblem

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")

NODES = ("kind", "test", "vector", "feature", "cut", "nu", "level")


class Honest:
    """A problem, its certificate with nodes of many kinds, and the optimum by brute force."""

    def __init__(self, X, k, rho, gap=1e-7):
        self.problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rho) if rho else noap.NoAdversary())
        self.certificate = noap.solve(self.problem, gap=gap).certificate
        assert noap.verify(self.problem, self.certificate).ok
        G, n = self.problem.X.T @ self.problem.X, self.problem.n_samples
        self.optimum = judge.feature_wise_optimum(G, n, k, rho)
        assert self.certificate.value == pytest.approx(self.optimum, rel=1e-9)

    def judge(self, certificate):
        """A report on any certificate: right, or a rejection with a reason in one sentence."""
        report = noap.verify(self.problem, certificate)
        if report.ok:
            assert report.bound * (1 + 1e-9) + 1e-15 >= self.optimum
            assert report.value <= self.optimum * (1 + 1e-9) + 1e-15
            assert report.message.startswith("Accepted: ")
        else:
            sentence(report.message, "Rejected: ")
            assert report.bound == math.inf
        return report


def sentence(message, start):
    assert message.startswith(start)
    assert message.endswith(".")
    assert "\n" not in message
    assert len(start) + 10 < len(message) < 300


@pytest.fixture(scope="module")
def honest():
    X = np.sign(np.random.default_rng(28).standard_normal((7, 5)))
    made = Honest(X, 3, 0.3 * 7**0.5)
    assert {CLOSED, SPLIT, SIGN, INTERVAL, EACH} == set(made.certificate.proof.kind.tolist())
    return made


@pytest.fixture(scope="module")
def tests_of_both_kinds():
    made = Honest(np.random.default_rng(3).standard_normal((8, 6)), 3, 1.3)
    assert {CHORDS, ATTACK} <= set(made.certificate.proof.test.tolist())
    return made


def edited(certificate, **arrays):
    return dataclasses.replace(certificate, proof=dataclasses.replace(certificate.proof, **arrays))


def claiming(certificate, **fields):
    return dataclasses.replace(certificate, claim=dataclasses.replace(certificate.claim, **fields))


def put(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def nodes(certificate, order):
    """The nodes in another order: dropped, doubled or moved."""
    return edited(certificate, **{name: getattr(certificate.proof, name)[order] for name in NODES})


def end_of_subtree(proof, at):
    missing = 1
    while missing:
        kind = int(proof.kind[at])
        missing += {CLOSED: 0, AGAIN: 1, EACH: int(proof.feature[at])}.get(kind, 2) - 1
        at += 1
    return at


def first(proof, kind):
    return int(np.flatnonzero(proof.kind == kind)[0])


def swapped_children(c, kind):
    at = first(c.proof, kind)
    middle = end_of_subtree(c.proof, at + 1)
    end = end_of_subtree(c.proof, middle)
    n = len(c.proof)
    return nodes(c, [*range(at + 1), *range(middle, end), *range(at + 1, middle), *range(end, n)])


def without_subtree(c, at):
    return nodes(c, [*range(at), *range(end_of_subtree(c.proof, at), len(c.proof))])


def closed_at(c, at):
    """A whole subtree replaced by a leaf."""
    short = nodes(c, [*range(at + 1), *range(end_of_subtree(c.proof, at), len(c.proof))])
    return edited(short, kind=put(short.proof.kind, at, CLOSED))


def relisted(c, change):
    """Another list at the first EACH node; `change` maps the old list to the new one."""
    proof, at = c.proof, first(c.proof, EACH)
    count = int(proof.feature[at])
    listed = np.array(change(proof.each[:count].tolist()), dtype=np.uint32)
    return edited(c, each=np.concatenate([listed, proof.each[count:]]), feature=put(proof.feature, at, len(listed)))


def with_vector(c, change):
    return edited(c, weights=np.asarray(change(c.proof.weights.copy()), dtype=np.float64))


def tree(kinds, features, cut=0.0, each=(), tests=None, vector=((0, 1.0),), nu=0.0):
    """A proof from a list of kinds and features; one vector, and one level: the claim itself."""
    n = len(kinds)

    def numbers(x):
        return np.array(x, dtype=np.uint32)

    return GramProof(
        np.array(kinds, dtype=np.uint8),
        np.zeros(n, dtype=np.uint8) if tests is None else np.array(tests, dtype=np.uint8),
        numbers([0] * n),
        numbers(features),
        np.broadcast_to(np.asarray(cut, dtype=np.float64), n).copy(),
        np.broadcast_to(np.asarray(nu, dtype=np.float64), n).copy(),
        numbers([0] * n),
        np.array([1e308]),
        numbers(list(each)),
        numbers([0, len(vector)]),
        numbers([p for p, _ in vector]),
        np.array([w for _, w in vector]),
    )


def replaced(c, *args, **kwargs):
    return dataclasses.replace(c, proof=tree(*args, **kwargs))


def every_support(c, d, k):
    """A tree down to every support, where a list of nothing stands for a proof."""
    kinds, features, each = [], [], []

    def visit(feature, included):
        if included == k - 1:
            rest = list(range(feature, d))
            each.extend(rest)
            kinds.extend([EACH] * (1 + len(rest)))
            features.extend([len(rest)] + [0] * len(rest))
        elif feature == d:
            kinds.append(CLOSED)
            features.append(0)
        else:
            kinds.append(SPLIT)
            features.append(feature)
            visit(feature + 1, included + 1)
            visit(feature + 1, included)

    visit(0, 0)
    return replaced(c, kinds, features, each=each)


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


def test_there_are_many_ways():
    assert len(TAMPERS) + len(MALFORMED) + len(CLAIMS) + len(HEADERS) > 30
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
            assert judge.feature_wise_optimum(G, n, other.k, float(other.adversary.rho)) <= report.bound * (1 + 1e-9)


# -- the file ---------------------------------------------------------------------------------------------------------

PREFIX = struct.Struct("<8sHI")


def sealed(body):
    return body + hashlib.sha256(body).digest()


def parts(data):
    """Header as a dictionary, and what follows it."""
    _, _, length = PREFIX.unpack_from(data)
    at = PREFIX.size + length
    return json.loads(data[PREFIX.size : at]), data[at:-32]


def file_of(header, blocks):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return sealed(PREFIX.pack(b"NOAP\0CRT", 1, len(text)) + text + blocks)


def header_with(change):
    def made(data):
        header, blocks = parts(data)
        changed = change(header)
        return file_of(header if changed is None else changed, blocks)

    return made


def setting(*path, to):
    def change(header):
        at = header
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = to

    return header_with(change)


def inflating(size, declared):
    """The first array as so many zeros, declared with another shape."""

    def made(data):
        header, blocks = parts(data)
        entry = header["arrays"][0]
        block = zlib.compress(bytes(size), 9)
        rest = blocks[entry["bytes"] :]
        entry["bytes"], entry["shape"] = len(block), [declared]
        return file_of(header, block + rest)

    return made


HEADERS = {
    "nothing": lambda data: b"",
    "the magic alone": lambda data: data[:8],
    "another magic": lambda data: sealed(b"PK\3\4" + data[4:-32]),
    "another version": lambda data: sealed(data[:8] + b"\2\0" + data[10:-32]),
    "half of it": lambda data: data[: len(data) // 2],
    "half of it, sealed": lambda data: sealed(data[: len(data) // 2]),
    "the last byte missing": lambda data: data[:-1],
    "a byte too many": lambda data: data + b"\0",
    "a byte too many, sealed": lambda data: sealed(data[:-32] + b"\0"),
    "a header longer than the file": lambda data: sealed(
        PREFIX.pack(b"NOAP\0CRT", 1, 2**32 - 1) + data[PREFIX.size : -32]
    ),
    "a header of no length": lambda data: sealed(PREFIX.pack(b"NOAP\0CRT", 1, 0) + data[PREFIX.size : -32]),
    "a header that is not JSON": lambda data: file_of(b"claim: true", parts(data)[1]),
    "a header that is not text": lambda data: file_of(b"\xff\xfe\0", parts(data)[1]),
    "a header of brackets": lambda data: file_of(b"[" * 500_000, parts(data)[1]),
    "a header of objects": lambda data: file_of(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, parts(data)[1]),
    "a header of a huge number": lambda data: file_of(b"1" * 900_000, parts(data)[1]),
    "a header that is a list": lambda data: file_of([], parts(data)[1]),
    "a header that is NaN": lambda data: file_of(b"NaN", parts(data)[1]),
    "no arrays": header_with(lambda header: {k: v for k, v in header.items() if k != "arrays"}),
    "arrays that are a text": setting("arrays", to="kind"),
    "arrays that are numbers": setting("arrays", to=[1, 2, 3]),
    "a list of no arrays": setting("arrays", to=[]),
    "an array twice": header_with(lambda header: header["arrays"].append(header["arrays"][0])),
    "an array of another name": setting("arrays", 0, "name", to="more"),
    "an array without a name": setting("arrays", 0, "name", to=None),
    "a type that runs code": setting("arrays", 0, "dtype", to="O8"),
    "a type that is a number": setting("arrays", 0, "dtype", to=4),
    "the type of another array": setting("arrays", 0, "dtype", to="f4"),
    "no shape": setting("arrays", 0, "shape", to=None),
    "a shape of no dimensions": setting("arrays", 0, "shape", to=[]),
    "a negative shape": setting("arrays", 0, "shape", to=[-1]),
    "a huge shape": setting("arrays", 0, "shape", to=[2**39]),
    "a shape beyond all memory": setting("arrays", 0, "shape", to=[2**39, 2**39, 2**39]),
    "a shape of a fraction": setting("arrays", 0, "shape", to=[2.5]),
    "a shape that is true": setting("arrays", 0, "shape", to=[True]),
    "a shape in two dimensions": setting("arrays", 0, "shape", to=[3, 1]),
    "a shape of nothing": setting("arrays", 0, "shape", to=[0]),
    "a length beyond the file": setting("arrays", 0, "bytes", to=2**39),
    "a negative length": setting("arrays", 0, "bytes", to=-1),
    "a bomb": inflating(50_000_000, 3),
    "a bomb that says so": inflating(50_000_000, 12_500_000),
    "a block too short": inflating(4, 3),
    "no claim": header_with(lambda header: {k: v for k, v in header.items() if k != "claim"}),
    "a claim that is a list": setting("claim", to=[1]),
    "a claim with more": setting("claim", "more", to=1),
    "a claim with less": header_with(lambda header: {**header, "claim": {"k": 3}}),
    "k as a text": setting("claim", "k", to="3"),
    "k as a fraction": setting("claim", "k", to=3.0),
    "k of zero": setting("claim", "k", to=0),
    "k beyond all": setting("claim", "n_features", to=2**60),
    "a bound in decimal": setting("claim", "bound", to=1.0),
    "a bound of NaN": setting("claim", "bound", to="nan"),
    "a bound of infinity": setting("claim", "bound", to="inf"),
    "a bound below zero": setting("claim", "bound", to="-0x1p+0"),
    "a bound that overflows": setting("claim", "bound", to="0x1p+99999999"),
    "rho of nothing": setting("claim", "rho", to=None),
    "an adversary with an escape": setting("claim", "adversary", to="\x1b[2J\n"),
    "an adversary without end": setting("claim", "adversary", to="Feature" * 100_000),
    "a source that is a number": setting("claim", "source", to=1),
    "a fingerprint too short": setting("claim", "sha256", to="ab"),
    "a fingerprint of surrogates": setting("claim", "sha256", to="\ud800" * 64),
    "another proof": setting("proof", to="samples"),
    "an unknown proof": setting("proof", to="oath"),
    "a proof that is a list": setting("proof", to=["gram"]),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_damaged_files_are_not_read(honest, name, tmp_path):
    data = HEADERS[name](honest.certificate.to_bytes())
    tracemalloc.start()
    with pytest.raises(InvalidProblem) as refusal:
        Certificate.from_bytes(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sentence(str(refusal.value), "The certificate cannot be read: ")
    assert str(refusal.value).isprintable()
    # Nothing is allocated that the file does not account for: deflate shrinks by 1032 at most.
    assert peak < 4_000_000 + 60 * len(data) or name == "a bomb that says so"
    path = tmp_path / "file.noap"
    path.write_bytes(data)
    with pytest.raises(InvalidProblem):
        Certificate.load(path)


def test_arrays_are_bounded_in_all(honest, monkeypatch):
    data = honest.certificate.to_bytes()
    monkeypatch.setattr(container, "_MOST_HELD", 500)
    with pytest.raises(InvalidProblem, match="inflated"):
        Certificate.from_bytes(data)
    monkeypatch.setattr(container, "_MOST_HELD", 10**6)
    assert Certificate.from_bytes(data).nodes == honest.certificate.nodes


def test_files_beyond_two_gigabytes_are_not_even_opened(tmp_path, monkeypatch):
    path = tmp_path / "large.noap"
    path.write_bytes(b"NOAP" * 100)
    monkeypatch.setattr(container, "_MOST_FILE", 300)
    with pytest.raises(InvalidProblem, match="larger than"):
        Certificate.load(path)
    with pytest.raises(InvalidProblem, match="cannot be read"):
        Certificate.load(tmp_path)


def read(data):
    """The certificate, or None: nothing else may happen."""
    try:
        return Certificate.from_bytes(data)
    except InvalidProblem as refusal:
        sentence(str(refusal), "The certificate cannot be read: ")
        return None


def test_every_bit_flipped(honest):
    data = honest.certificate.to_bytes()
    body = data[:-32]
    survivors = 0
    for at in range(len(data)):
        assert read(data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]) is None
    for at in range(len(body)):
        for bit in range(8):
            certificate = read(sealed(body[:at] + bytes([body[at] ^ (1 << bit)]) + body[at + 1 :]))
            if certificate is not None:
                survivors += 1
                honest.judge(certificate)
    assert survivors > 50  # flips in the claim's numbers are not seen by the reader


def test_every_byte_of_the_arrays_changed(honest):
    # Behind the compression, where a flip in the file seldom reaches.
    rng = np.random.default_rng(0)
    certificate = honest.certificate
    for field in dataclasses.fields(GramProof):
        array = getattr(certificate.proof, field.name)
        raw = array.tobytes()
        for at in range(len(raw)):
            byte = bytes([raw[at] ^ int(rng.integers(1, 256))])
            other = np.frombuffer(raw[:at] + byte + raw[at + 1 :], dtype=array.dtype)
            tampered = edited(certificate, **{field.name: other})
            if not honest.judge(tampered).ok:
                continue
            assert not honest.judge(claiming(tampered, bound=certificate.value * (1 - 1e-6), value=0.0)).ok


# -- many mutants -----------------------------------------------------------------------------------------------------

ODD = [0.0, 5e-324, 1e-300, 1e-9, 0.5, 1.0, 2.0, 1e9, 1e150, 1e308]


def mutated(rng, certificate):
    """Change a few numbers or nodes of the proof, and maybe lower the claim."""
    arrays = {field.name: getattr(certificate.proof, field.name) for field in dataclasses.fields(GramProof)}
    for _ in range(int(rng.integers(1, 4))):
        name = str(rng.choice([*NODES, *NODES, "levels", "each", "places", "weights"]))
        array = arrays[name].copy()
        if len(array) == 0:
            continue
        at = int(rng.integers(len(array)))
        if array.dtype.kind == "f":
            array[at] = rng.choice([*ODD, float(array[at] * rng.uniform(0, 2)), float(array[rng.integers(len(array))])])
        else:
            most = {"kind": 6, "test": 3, "level": len(arrays["levels"]), "vector": len(arrays["starts"]) - 1}
            array[at] = rng.integers(max(most.get(name, 5), 1))
        arrays[name] = array
    if rng.random() < 0.4:
        n = len(arrays["kind"])
        at, length = int(rng.integers(n)), int(rng.integers(1, 4))
        order = [*range(n)]
        piece = order[at : at + length]
        if rng.random() < 0.6:
            del order[at : at + length]
        if rng.random() < 0.6:
            to = int(rng.integers(len(order) + 1))
            order[to:to] = piece
        arrays |= {name: arrays[name][order] for name in NODES}
    share = rng.choice([1.0, 1.0, 1 - 1e-6, 1 - 1e-4, 0.9, 0.1])
    proof = GramProof(**arrays)
    return claiming(dataclasses.replace(certificate, proof=proof), bound=certificate.bound * share, value=0.0)


@pytest.mark.parametrize("which", ["honest", "tests_of_both_kinds"])
def test_no_mutant_proves_a_bound_below_the_optimum(which, request):
    made = request.getfixturevalue(which)
    rng = np.random.default_rng(1)
    accepted = 0
    for _ in range(2000):
        accepted += made.judge(mutated(rng, made.certificate)).ok
    assert 50 < accepted < 1500


def grown(rng, d, budget, best):
    """A random tree: every kind, every test, vectors good and bad."""
    kinds, features, cuts, tests, vectors, marks, each = [], [], [], [], [], [], []
    pending = 1
    while pending and len(kinds) < budget:
        kind = int(rng.choice([CLOSED, SPLIT, SIGN, INTERVAL, EACH, AGAIN], p=[0.45, 0.2, 0.05, 0.05, 0.2, 0.05]))
        feature = int(rng.integers(d))
        if kind == EACH:
            listed = rng.permutation(d)[: int(rng.choice([0, 0, 1, d - 1, d]))].tolist()
            each += listed
            feature = len(listed)
        kinds.append(kind)
        features.append(feature)
        cuts.append(float(rng.choice([0.0, 0.0, rng.uniform(), *ODD, -1.0])))
        tests.append(int(rng.choice([NO_TEST, CHORDS, ATTACK], p=[0.4, 0.3, 0.3])))
        vectors.append(int(rng.integers(4)))
        marks.append(float(rng.choice([0.0, rng.uniform(0, 3), *ODD])))
        pending += {CLOSED: 0, AGAIN: 1, EACH: feature}.get(kind, 2) - 1
    for _ in range(pending):
        for column, entry in ((kinds, CLOSED), (features, 0), (cuts, 0.0), (tests, ATTACK), (vectors, 0), (marks, 0.0)):
            column.append(entry)
    weights = np.concatenate([best, np.ones(d), rng.standard_normal(2 * d)])
    proof = tree(kinds, features, cut=cuts, each=each, tests=tests, nu=marks)
    return dataclasses.replace(
        proof, vector=np.array(vectors, dtype=np.uint32), starts=np.arange(0, 4 * d + 1, d, dtype=np.uint32),
        places=np.tile(np.arange(d, dtype=np.uint32), 4), weights=weights,
    )  # fmt: skip


def test_no_random_tree_proves_a_bound_below_the_optimum():
    rng = np.random.default_rng(2)
    problems = [
        (np.diag([1.0, 0.6, 0.5]), 2, 0.5),  # the best support is smaller than k
        (np.random.default_rng(0).standard_normal((4, 3)), 1, 0.5),
        (np.random.default_rng(1).standard_normal((4, 3)), 2, 0.3),
        (np.random.default_rng(2).standard_normal((3, 4)), 2, 0.0),
        (np.random.default_rng(3).standard_normal((5, 4)), 3, 0.8),
        (np.ones((2, 2)), 2, 0.1),
    ]
    accepted = 0
    for X, k, rho in problems:
        made = Honest(X, k, rho)
        d = X.shape[1]
        best = np.zeros(d)
        best[made.certificate.places] = made.certificate.weights
        for _ in range(500):
            share = rng.choice([0.0, 0.5, 0.99, 1 - 1e-6, 1.2, 3.0])
            lie = claiming(made.certificate, bound=share * made.certificate.value, value=0.0)
            lie = dataclasses.replace(lie, proof=grown(rng, d, 12, best))
            report = made.judge(lie)
            accepted += report.ok
            assert not (report.ok and share < 1)
    assert accepted > 100  # of the claims that are true


# -- time and memory --------------------------------------------------------------------------------------------------


def peak_of(call):
    tracemalloc.start()
    answer = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return answer, peak


@pytest.mark.parametrize("kind", [SPLIT, SIGN, INTERVAL, AGAIN, EACH])
def test_deep_and_endless_trees(honest, kind):
    count = 4000
    lie = replaced(honest.certificate, [kind] * count, [0 if kind != EACH else 1] * count, each=[0] * count)
    report, peak = peak_of(lambda: honest.judge(lie))
    assert not report.ok
    assert peak < 50_000_000


def test_a_tree_that_holds_too_much_is_refused(honest, monkeypatch):
    from noap.certificate import gram_check

    # Intervals cut in two, again and again: an open sibling at every level.
    cuts = 0.4 + 0.1 * 0.9 ** np.arange(300)
    lie = replaced(honest.certificate, [SPLIT] + [INTERVAL] * 299, [0] * 300, cut=put(cuts, 0, 0.0))
    monkeypatch.setattr(gram_check, "_MOST_HELD", 500)
    report = honest.judge(lie)
    assert not report.ok
    assert "too deep" in report.message


def test_long_lists_and_vectors_take_no_more_memory_than_the_file():
    wide = noap.Problem(np.random.default_rng(5).standard_normal((4, 300)), k=1, adversary=noap.FeatureWise(0.1))
    certificate = noap.solve(wide).certificate
    certificate = claiming(certificate, value=0.0, bound=0.5 * certificate.value)
    count = 1_000_000
    listed = replaced(certificate, [EACH] + [CLOSED] * 5, [count] + [0] * 5, each=[0] * count)
    report, peak = peak_of(lambda: noap.verify(wide, listed))
    assert not report.ok
    assert peak < 100_000_000
    long = replaced(certificate, [CLOSED], [0], tests=[ATTACK], vector=[(0, 1.0)] * 100_000)
    report, peak = peak_of(lambda: noap.verify(wide, long))
    assert not report.ok
    assert peak < 100_000_000


# -- fuzzing the reader -----------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(st.binary(max_size=400), st.booleans(), st.booleans())
def test_arbitrary_bytes_are_refused(data, magic, seal):
    body = (b"NOAP\0CRT\1\0" if magic else b"") + data
    assert read(sealed(body) if seal else body) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_arbitrary_edits_of_a_file_are_harmless(honest, data):
    original = honest.certificate.to_bytes()
    header, blocks = parts(original)
    kind = data.draw(st.sampled_from(["bytes", "header", "array"]))
    if kind == "bytes":
        body = bytearray(original[:-32])
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(body)))
            body[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
        made = sealed(bytes(body))
    elif kind == "header":
        at = data.draw(st.sampled_from([header, header["claim"], *header["arrays"]]))
        at[data.draw(st.sampled_from(sorted(at)))] = data.draw(JSON)
        made = file_of(header, blocks)
    else:
        number = data.draw(st.integers(0, len(header["arrays"]) - 1))
        start = sum(entry["bytes"] for entry in header["arrays"][:number])
        entry = header["arrays"][number]
        raw = data.draw(st.binary(max_size=64))
        block = zlib.compress(raw)
        after = blocks[start + entry["bytes"] :]
        entry["bytes"] = len(block)
        entry["dtype"] = data.draw(st.sampled_from(["u1", "u4", "f4", "f8", entry["dtype"]]))
        entry["shape"] = [len(raw) // int(entry["dtype"][1])]
        made = file_of(header, blocks[:start] + block + after)
    certificate = read(made)
    if certificate is not None:
        honest.judge(certificate)
