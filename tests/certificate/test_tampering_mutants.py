"""Tampering by the thousand: mutants and random trees, and what they may cost."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
from tampering import NODES, Honest, claiming, put, replaced, tree

import noap
import older
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
    GramProof,
)

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")

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
            most = {"kind": 7, "test": 3, "level": len(arrays["levels"]), "vector": len(arrays["starts"]) - 1}
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
        kinds_of = [CLOSED, SPLIT, SIGN, INTERVAL, EACH, AGAIN, ON]
        kind = int(rng.choice(kinds_of, p=[0.45, 0.1, 0.05, 0.05, 0.2, 0.05, 0.1]))
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
    from noap.checker.feature_wise import check as gram_check

    # Intervals cut in two, again and again: an open sibling at every level.
    cuts = 0.4 + 0.1 * 0.9 ** np.arange(300)
    kinds, cuts = [SPLIT] + [INTERVAL] * 299 + [CLOSED] * 301, np.append(put(cuts, 0, 0.0), np.zeros(301))
    lie = replaced(honest.certificate, kinds, [0] * 601, cut=cuts)
    monkeypatch.setattr(gram_check, "_MOST_HELD", 500)
    report = honest.judge(lie)
    assert not report.ok
    assert "too deep" in report.message


def test_long_lists_and_vectors_take_no_more_memory_than_the_file():
    wide = noap.Problem(np.random.default_rng(5).standard_normal((4, 300)), k=1, adversary=noap.FeatureWise(0.1))
    certificate = older.solve(wide).certificate
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
