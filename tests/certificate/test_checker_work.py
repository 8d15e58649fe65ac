"""What a check may cost: every node once, nothing at all for a broken tree, and an honest refusal when time is up."""

import itertools
from collections import Counter

import numpy as np
import pytest
from tampering import claiming, closed_at, edited, end_of_subtree, first, nodes, put, replaced, sentence

import noap
import older
from noap.checker import allowance
from noap.checker.feature_wise import prover as gram_prover
from noap.checker.feature_wise.prover import GramProver
from noap.proofs.feature_wise import AGAIN, CHORDS, CLOSED, EACH, INTERVAL, ON, SIGN, SPLIT

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


@pytest.fixture
def looks(monkeypatch):
    """How often each node is looked at, and how many pieces are."""
    seen = Counter()

    def counted(name, key):
        original = getattr(GramProver, name)

        def call(self, place, *rest, **options):
            seen[key(place)] += 1
            return original(self, place, *rest, **options)

        monkeypatch.setattr(GramProver, name, call)

    counted("narrowed", int)
    counted("_sharply", lambda place: "pieces")
    return seen


@pytest.fixture
def ticking(monkeypatch):
    """A clock that moves on by a second whenever someone looks at it."""
    ticks = itertools.count()
    monkeypatch.setattr(allowance.time, "perf_counter", lambda: float(next(ticks)))


def test_an_honest_proof_looks_at_every_node_at_most_once(honest, looks):
    assert honest.judge(honest.certificate).ok
    assert max(looks.values()) == 1
    assert set(looks) <= set(range(honest.certificate.nodes))


BROKEN = {
    "too few nodes": lambda c: nodes(c, slice(0, -1)),
    "too many nodes": lambda c: nodes(c, [*range(len(c.proof)), len(c.proof) - 1]),
    "too many listed features": lambda c: edited(c, each=np.append(c.proof.each, c.proof.each[:1])),
    "too few listed features": lambda c: edited(c, each=c.proof.each[:-1]),
    "a list beyond the file": lambda c: edited(c, feature=put(c.proof.feature, first(c.proof, EACH), 2**32 - 1)),
    "a chain without an end": lambda c: replaced(c, [AGAIN] * 100_000, [0] * 100_000),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_tree_is_refused_before_anything_is_proved(honest, looks, name):
    assert not honest.judge(BROKEN[name](honest.certificate)).ok
    assert not looks


def test_a_branch_that_makes_no_sense_ends_the_check_where_it_stands(honest, looks):
    # Feature 0 is split on, then again where it is included: node 1 is the last that is looked at.
    kinds, features = [SPLIT, SPLIT, CLOSED, CLOSED, CLOSED], [0, 0, 0, 0, 0]
    report = honest.judge(replaced(honest.certificate, kinds, features))
    assert "included already" in report.message
    assert looks == {0: 1, 1: 1}


@pytest.mark.parametrize("share", [1 - 1e-6, 0.9])
def test_a_false_claim_costs_one_walk_and_a_few_pieces(honest, looks, share):
    lie = claiming(honest.certificate, bound=share * honest.certificate.value, value=0.0)
    assert not honest.judge(lie).ok
    pieces = looks.pop("pieces")
    assert max(looks.values()) == 1
    # At the claim and at two wider ones.
    assert pieces <= 3 * gram_prover._MOST_PIECES


def test_a_leaf_is_cut_into_pieces_where_that_closes_it(honest, looks, monkeypatch):
    # The last cut of an interval is taken out of the proof: its leaf stays open until it is cut again.
    proof = honest.certificate.proof
    cuts = [at for at in np.flatnonzero(proof.kind == INTERVAL) if end_of_subtree(proof, int(at)) == at + 3]
    shorter = closed_at(honest.certificate, int(cuts[0]))
    shorter = edited(shorter, test=put(shorter.proof.test, int(cuts[0]), CHORDS))
    assert honest.judge(shorter).ok
    assert 1 < looks["pieces"] < 50
    for name, few in (("_MOST_PIECES", 1), ("_DEEPEST", 0), ("_MOST_ENTRIES", 1)):
        with monkeypatch.context() as context:
            context.setattr(gram_prover, name, few)
            looks.clear()
            assert "stays open" in honest.judge(shorter).message
            assert looks["pieces"] == 3


def test_a_proof_that_takes_too_long_is_refused(honest, looks, ticking):
    report = noap.verify(honest.problem, honest.certificate, time_limit=5)
    assert not report.ok
    assert report.bound == np.inf
    assert report.message == "Rejected: it could not be proved within 5 seconds."
    # One second per node: the start of the check, and its own clock, take some.
    assert 0 < sum(looks.values()) <= 5
    assert noap.verify(honest.problem, honest.certificate, time_limit=1000).ok


def test_a_proof_that_ends_too_late_is_refused(honest, ticking):
    # One node, which the claim closes: the clock shows 2 before it and 3 after it.
    easy = claiming(replaced(honest.certificate, [CLOSED], [0]), bound=1e3 * honest.certificate.bound)
    assert noap.verify(honest.problem, easy, time_limit=3).ok
    report = noap.verify(honest.problem, easy, time_limit=2)
    assert report.bound == np.inf
    assert report.message == "Rejected: it could not be proved within 2 seconds."


def test_pieces_are_charged_for_their_tightening(looks, monkeypatch):
    # A leaf with every feature included and every sign known: no Schur complement is left to pay for.
    k = 40
    problem = noap.Problem(np.eye(k) + 0.01, k=k, adversary=noap.NoAdversary())
    certificate = older.solve(problem, method="exact").certificate
    kinds, features = [ON] * k + [SIGN] * (k - 1) + [CLOSED] * 2 * k, [*range(k), *range(1, k), *[0] * 2 * k]
    lie = claiming(replaced(certificate, kinds, features), value=0.0, bound=0.9 * certificate.value)
    counts = []
    for most in (1e7, 5e4, 1e4):
        monkeypatch.setattr(gram_prover, "_MOST_ENTRIES", most)
        looks.clear()
        assert "stays open" in noap.verify(problem, lie).message
        counts.append(looks["pieces"])
    # A piece has 40^2 entries, and 40^3/4 for its tightening; at the claim and at two wider ones.
    assert counts[0] > counts[1] == 3 * 3 > counts[2] == 3


def test_pieces_are_no_way_round_the_time_limit(honest, looks, ticking):
    lie = claiming(honest.certificate, bound=(1 - 1e-6) * honest.certificate.value, value=0.0)
    assert not honest.judge(lie).ok
    spent = sum(looks.values())
    report = noap.verify(honest.problem, lie, time_limit=spent - 5)
    assert "could not be proved within" in report.message


# 10^5000 has more digits than Python will write.
@pytest.mark.parametrize("limit", [0, -1, float("nan"), "soon", 10**5000], ids=["0", "-1", "nan", "soon", "10^5000"])
def test_time_limits_that_make_no_sense(honest, limit):
    with pytest.raises(noap.errors.InvalidProblem) as refusal:
        noap.verify(honest.problem, honest.certificate, time_limit=limit)
    sentence(str(refusal.value), "time_limit must be a positive number of seconds")
