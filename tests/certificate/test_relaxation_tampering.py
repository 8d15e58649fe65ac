"""Tampered trees of the relaxation: refused in one sentence, or what is proved is true all the same."""

import dataclasses

import numpy as np
import pytest
from tampering import Honest, claiming, edited, put, sentence
from test_tampering_files import read

import noap
from noap.errors import InvalidProblem
from noap.exact.relaxation import relaxation as relaxation_module
from noap.proofs import container
from noap.proofs.certificate import Certificate
from noap.proofs.levels import LevelsProof
from noap.proofs.relaxation import GIVEN, LEAF, RelaxationProof
from relaxation_only import force_relaxation

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


class Tree(Honest):
    """A problem that the relaxation's tree alone has proved."""

    def __init__(self, X, k, rho):
        with pytest.MonkeyPatch.context() as patch:
            force_relaxation(patch)
            patch.setattr(relaxation_module, "_INEQUALITIES_AT_ROOT", 2)
            super().__init__(X, k, rho, gap=1e-6)
        assert isinstance(self.certificate.proof, RelaxationProof)


@pytest.fixture(scope="module")
def tree():
    made = Tree(np.random.default_rng(2).standard_normal((12, 8)), 3, 0.6)
    proof = made.certificate.proof
    assert len(proof) >= 5
    assert (proof.loads > 0).any()
    return made


def leaves(proof):
    """(included, allowed) of every leaf, in preorder."""
    found, m = [], len(proof.features)
    stack = [(frozenset(), frozenset(range(m)))]
    for branch in proof.branches.tolist():
        included, allowed = stack.pop()
        if branch == LEAF:
            found.append((included, allowed))
        else:
            stack += [(included, allowed - {branch - 1}), (included | {branch - 1}, allowed)]
    return found


def without_node(c, at):
    """A branch and its second child gone: nobody leaves the feature out."""
    proof = c.proof
    first = int(proof.counts[:at].sum())
    used = np.delete(proof.used, np.arange(first, first + int(proof.counts[at])))
    return edited(c, branches=np.delete(proof.branches, at), counts=np.delete(proof.counts, at), used=used)


def second_child_closed_by_nothing(c):
    """The child that leaves the first feature out is a leaf without lines."""
    proof = c.proof
    at, missing = 1, 1
    while missing:
        missing += (0 if proof.branches[at] == LEAF else 2) - 1
        at += 1
    kept = int(proof.counts[:at].sum())
    branches, counts = np.append(proof.branches[:at], LEAF), np.append(proof.counts[:at], 0)
    return edited(c, branches=branches.astype(np.uint32), counts=counts.astype(np.uint32), used=proof.used[:kept])


def only_the_first_child(c):
    """Nobody includes what the other child leaves out, or the other way round: one subtree in the place of both."""
    proof = c.proof
    at, missing = 1, 1
    while missing:
        missing += (0 if proof.branches[at] == LEAF else 2) - 1
        at += 1
    used = proof.used[: int(proof.counts[1:at].sum())]
    return edited(c, branches=proof.branches[1:at], counts=proof.counts[1:at], used=used)


def deeper(c):
    """The last leaf branches once more on what its ancestors decided."""
    proof = c.proof
    decided = int(proof.branches[0])
    count = int(proof.counts[-1])
    branches = np.concatenate([proof.branches[:-1], [decided, LEAF, LEAF]]).astype(np.uint32)
    counts = np.concatenate([proof.counts[:-1], [0, count, count]]).astype(np.uint32)
    return edited(c, branches=branches, counts=counts, used=np.append(proof.used, proof.used[-count:]))


FATAL = {
    "the first leaf missing": lambda c: without_node(c, int(np.flatnonzero(c.proof.branches == LEAF)[0])),
    "the last leaf missing": lambda c: without_node(c, len(c.proof) - 1),
    "the root missing": lambda c: edited(c, branches=c.proof.branches[1:], counts=c.proof.counts[1:]),
    "only the first child": only_the_first_child,
    "a leaf without lines": second_child_closed_by_nothing,
    "a feature decided twice": deeper,
    "prices of nothing": lambda c: edited(c, lifts=np.zeros_like(c.proof.lifts)),
    "loads raised": lambda c: edited(c, loads=c.proof.loads * 1.5),
    "loads raised by little": lambda c: edited(c, loads=c.proof.loads * (1 + 1e-4)),
    "no loads": lambda c: edited(c, loads=np.zeros_like(c.proof.loads)),
    "lifts raised": lambda c: edited(c, lifts=c.proof.lifts * 1.5),
    "lifts lowered": lambda c: edited(c, lifts=c.proof.lifts * 0.9),
    "matrices lowered": lambda c: edited(c, entries=c.proof.entries * np.float32(0.99)),
    "matrices of nothing": lambda c: edited(c, entries=np.zeros_like(c.proof.entries)),
    "matrices out of their box": lambda c: edited(c, entries=c.proof.entries - np.float32(1e-2)),
    "a smaller unit": lambda c: edited(c, unit=c.proof.unit * 0.99),
    "thresholds for matrices": lambda c: edited(
        c,
        kinds=np.zeros_like(c.proof.kinds),
        starts=np.zeros_like(c.proof.starts),
        places=c.proof.places[:0],
        loads=c.proof.loads[:0],
        lifts=c.proof.lifts[:0],
        entries=c.proof.entries[:0],
    ),
}
HARMLESS = {
    "loads raised by an ulp": lambda c: edited(c, loads=np.nextafter(c.proof.loads, np.inf)),
    "lifts lowered by an ulp": lambda c: edited(c, lifts=np.nextafter(c.proof.lifts, 0)),
    "matrices lowered by an ulp": lambda c: edited(c, entries=np.nextafter(c.proof.entries, np.float32(0))),
    "matrices lowered by 1e-5": lambda c: edited(c, entries=c.proof.entries - np.float32(1e-5)),
    "slopes of nothing": lambda c: edited(c, slopes=np.zeros_like(c.proof.slopes)),
    "lines of other leaves": lambda c: edited(c, used=c.proof.used[::-1].copy()),
    "other branches": lambda c: edited(c, branches=np.where(c.proof.branches == 0, 0, 1).astype(np.uint32)),
    "branches exchanged": lambda c: edited(
        c, branches=np.where(c.proof.branches == 0, 0, 1 + (c.proof.branches % 8)).astype(np.uint32)
    ),
    "numbers out of this world": lambda c: edited(
        c, loads=np.full_like(c.proof.loads, 1e308), lifts=np.full_like(c.proof.lifts, 1e308)
    ),
    "lifts that vanish": lambda c: edited(c, lifts=np.full_like(c.proof.lifts, 5e-324)),
    "loads that vanish": lambda c: edited(c, loads=np.full_like(c.proof.loads, 5e-324)),
    "a unit out of this world": lambda c: edited(c, unit=np.array([1e308])),
    "entries out of this world": lambda c: edited(c, entries=np.full_like(c.proof.entries, 3e38)),
}


@pytest.mark.parametrize("name", [*FATAL, *HARMLESS])
def test_a_tree_that_was_changed_proves_nothing_false(tree, name):
    tampered = (FATAL | HARMLESS)[name](tree.certificate)
    report = tree.judge(tampered)
    assert not (report.ok and name in FATAL), name
    for share in (1 - 1e-6, 0.999, 0.9, 0.5, 0.0):
        assert not tree.judge(claiming(tampered, bound=share * tree.optimum, value=0.0)).ok
    tree.judge(claiming(tampered, bound=1e3 * tree.certificate.bound))
    read(tampered.to_bytes())


def test_what_is_honest_is_accepted_and_speaks_of_every_support(tree):
    report = tree.judge(tree.certificate)
    assert report.ok
    assert tree.certificate.bound <= report.bound <= tree.certificate.bound * (1 + 2e-9)
    assert report.nodes == len(tree.certificate.proof) == 2 * len(leaves(tree.certificate.proof)) - 1


def test_a_feature_that_one_child_leaves_out_is_taken_by_the_other(tree):
    """A leaf may use an inequality only if that speaks of all features that the leaf may use."""
    c = tree.certificate
    proof = c.proof
    sizes = np.diff(proof.starts.astype(int))
    short = np.flatnonzero((proof.kinds == GIVEN) & (sizes < len(proof.features)))
    assert len(short)
    for number in short:
        speaks = set(proof.places[proof.starts[number] : proof.starts[number + 1]].tolist())
        counts, at = proof.counts[proof.branches == LEAF].tolist(), 0
        for count, (included, allowed) in zip(counts, leaves(proof), strict=True):
            has = allowed if len(included) < tree.problem.k else included
            if not has <= speaks:
                # This inequality alone says nothing about the leaf.
                used = proof.used.copy()
                used[at : at + count] = number
                assert not tree.judge(claiming(edited(c, used=used), bound=1e3 * c.bound, value=0.0)).ok
            at += count


def test_a_claim_below_is_refused(tree):
    c = tree.certificate
    for short in (3e-7, 1e-4, 0.1):
        report = tree.judge(claiming(c, bound=c.bound * (1 - short), value=0.0))
        assert not report.ok
        assert "lines do not fall below" in report.message


def test_more_places_than_were_counted():
    """A tree about k features is none about k + 1, whatever the claim says."""
    X = np.random.default_rng(2).standard_normal((12, 8))
    three, four = Tree(X, 3, 0.6), Tree(X, 4, 0.6)
    lie = dataclasses.replace(four.certificate, proof=three.certificate.proof)
    assert not four.judge(claiming(lie, bound=three.certificate.bound, value=0.0)).ok


MALFORMED = {
    "a branch on nothing": lambda p: {"branches": put(p.branches, 0, len(p.features) + 1)},
    "no tree": lambda p: {"branches": p.branches[:0], "counts": p.counts[:0], "used": p.used[:0]},
    "fewer counts": lambda p: {"counts": p.counts[:-1]},
    "a branch with lines": lambda p: {"counts": put(p.counts, 0, 1)},
    "more lines than there are": lambda p: {"used": np.append(p.used, np.uint32(0))},
    "a line that is not there": lambda p: {"used": put(p.used, 0, len(p.kinds))},
    "starts that fall": lambda p: {"starts": p.starts[::-1].copy()},
    "starts too short": lambda p: {"starts": p.starts[:-1]},
    "places out of order": lambda p: {"places": p.places[::-1].copy()},
    "a place twice": lambda p: {"places": put(p.places, 1, p.places[0])},
    "a place beyond": lambda p: {"places": put(p.places, 0, len(p.features))},
    "negative loads": lambda p: {"loads": -p.loads},
    "negative lifts": lambda p: {"lifts": -p.lifts},
    "NaN": lambda p: {"loads": p.loads * np.nan},
    "infinity": lambda p: {"lifts": p.lifts + np.inf},
    "fewer loads": lambda p: {"loads": p.loads[:-1]},
    "fewer entries": lambda p: {"entries": p.entries[:-1]},
    "entries in double precision": lambda p: {"entries": p.entries.astype(np.float64)},
    "branches of another type": lambda p: {"branches": p.branches.astype(np.uint8)},
    "a threshold with features": lambda p: {"kinds": np.zeros_like(p.kinds)},
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_trees_are_neither_read_nor_accepted(tree, name):
    tampered = edited(tree.certificate, **MALFORMED[name](tree.certificate.proof))
    assert not tree.judge(tampered).ok
    with pytest.raises(InvalidProblem) as refusal:
        Certificate.from_bytes(tampered.to_bytes())
    sentence(str(refusal.value), "The certificate cannot be read: ")


def test_the_older_arrays_alone_are_refused_in_one_sentence(tree):
    header, arrays = container.unpack(tree.certificate.to_bytes())
    older = {name: arrays[name] for name in ("features", "kinds", "slopes", "unit", "entries", "v_places", "v_weights")}
    with pytest.raises(InvalidProblem) as refusal:
        Certificate.from_bytes(container.pack({name: header[name] for name in ("claim", "proof")}, older))
    sentence(str(refusal.value), "The certificate cannot be read: ")


def test_a_tree_may_prove_a_level(tree):
    """In a chain it stands for a level as any other proof does, and no lower."""
    c = tree.certificate
    ks = np.array([tree.problem.k], dtype=np.uint32)
    chain = dataclasses.replace(c, proof=LevelsProof(ks, np.array([c.bound]), (c.proof,)))
    assert tree.judge(chain).ok
    for lower in (1 - 1e-5, 0.9):
        proof = LevelsProof(ks, np.array([c.bound * lower]), (c.proof,))
        assert not tree.judge(dataclasses.replace(c, proof=proof)).ok


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_no_mutant_proves_a_bound_below_the_optimum(rho):
    rng = np.random.default_rng(1)
    made = Tree(np.random.default_rng(2).standard_normal((12, 8)), 3, rho)
    c, accepted = made.certificate, 0
    for _ in range(300):
        changes = {}
        for name in rng.choice(["entries", "loads", "lifts", "branches", "used", "unit"], size=int(rng.integers(1, 4))):
            array = getattr(c.proof, name).copy()
            at = int(rng.integers(len(array)))
            if array.dtype.kind == "f":
                array[at] = abs(array[at] * rng.choice([0.0, 0.5, 1 - 1e-6, 1 + 1e-6, 2.0, 1e6]))
            else:
                most = len(c.proof.kinds) if name == "used" else len(c.proof.features) + 1
                array[at] = rng.integers(most)
            changes[str(name)] = array
        share = rng.choice([1.0, 1.0, 1.3, 1 - 1e-6, 1 - 1e-4, 0.9])
        accepted += made.judge(claiming(edited(c, **changes), bound=share * c.bound, value=0.0)).ok
    assert 5 < accepted < 295


def test_a_leaf_with_very_many_lines_takes_no_time_to_speak_of(tree):
    proof = tree.certificate.proof
    count, last = 20_000, int(proof.counts[-1])
    used = np.append(proof.used, np.full(count, proof.used[-1], dtype=np.uint32))
    report = noap.verify(
        tree.problem,
        edited(tree.certificate, used=used, counts=put(proof.counts, len(proof) - 1, last + count)),
        time_limit=20,
    )
    assert report.ok


def test_the_check_is_stopped_by_its_limits(tree):
    for limit in ({"time_limit": 1e-9}, {"memory_limit": 1e-3}):
        report = noap.verify(tree.problem, tree.certificate, **limit)
        assert not report.ok
        sentence(report.message, "Rejected: ")
