"""An honest certificate, and ways to change it."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

import judge
import noap
import older
from noap.proofs.feature_wise import (
    AGAIN,
    CLOSED,
    EACH,
    SPLIT,
    GramProof,
)

NODES = ("kind", "test", "vector", "feature", "cut", "nu", "level")


class Honest:
    """A problem, its certificate with nodes of many kinds, and the optimum by brute force."""

    def __init__(self, X, k, rho, gap=1e-7, costs=None):
        adversary = noap.FeatureWise(rho) if rho else noap.NoAdversary()
        self.problem = noap.Problem(X, k=k, adversary=adversary, costs=costs)
        self.certificate = older.solve(self.problem, gap=gap).certificate
        assert noap.verify(self.problem, self.certificate).ok
        G, n = self.problem.X.T @ self.problem.X, self.problem.n_samples
        self.optimum, v = judge.feature_wise_best(G, n, k, rho, costs=costs)
        self.worth = judge.exact_worth(self.problem, v)
        assert self.certificate.value == pytest.approx(self.optimum, rel=1e-9)

    def judge(self, certificate):
        """A report on any certificate: right, or a rejection with a reason in one sentence."""
        report = noap.verify(self.problem, certificate)
        if report.ok:
            assert Fraction(report.bound) >= self.worth
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
