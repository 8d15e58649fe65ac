"""Tampered chains of levels: refused in one sentence, or what is proved is true all the same."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from tampering import Honest, claiming, edited, put, sentence, tree
from test_tampering_files import file_of, parts, read
from test_tampering_mutants import mutated

import judge
import noap
from levels_only import force_levels
from noap.errors import InvalidProblem
from noap.proofs import container
from noap.proofs.certificate import Certificate
from noap.proofs.feature_wise import CLOSED, EACH, GramProof
from noap.proofs.levels import LevelsProof
from noap.proofs.relaxation import GIVEN, LEAF, SOFT, RelaxationProof

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


class Chain(Honest):
    """A problem that was solved by levels alone, and the optima of fewer features by brute force."""

    def __init__(self, X, k, rho):
        with pytest.MonkeyPatch.context() as patch:
            force_levels(patch)
            super().__init__(X, k, rho)
        assert isinstance(self.certificate.proof, LevelsProof)
        G, n = X.T @ X, len(X)
        self.optima = [judge.feature_wise_best(G, n, q, rho)[0] for q in range(1, k + 1)]


@pytest.fixture(scope="module")
def chain():
    made = Chain(np.random.default_rng(3).standard_normal((12, 7)), 4, 1.0)
    assert made.certificate.proof.ks.tolist() == [2, 3, 4]
    return made


def levels(c, **arrays):
    return edited(c, **arrays)


def order(c, which):
    proof = c.proof
    return levels(c, ks=proof.ks[which], bounds=proof.bounds[which], trees=tuple(proof.trees[i] for i in which))


def with_trees(c, change):
    return levels(c, trees=tuple(change(list(c.proof.trees))))


def trivial(bound):
    return GramProof.trivial(bound)


# -- chains that say something else ------------------------------------------------------------------------------------

# Refused whatever the claim is, because the last level needs what was changed, or because nothing is left.
FATAL = {
    "no level but the first": lambda c: order(c, [0]),
    "no last level": lambda c: order(c, [0, 1]),
    "a level about more features than k": lambda c: levels(c, ks=put(c.proof.ks, 2, 5)),
    "the last level about fewer features": lambda c: levels(c, ks=put(c.proof.ks, 2, 3)),
    "the last level about one feature": lambda c: levels(c, ks=put(c.proof.ks, 2, 1)),
    "all levels about one feature": lambda c: levels(c, ks=np.ones(3, dtype=np.uint32)),
    "a level lower by 1e-3": lambda c: levels(c, bounds=c.proof.bounds * np.array([1 - 1e-3, 1, 1])),
    "the middle level lower by 1e-3": lambda c: levels(c, bounds=c.proof.bounds * np.array([1, 1 - 1e-3, 1])),
    "the last level lower by 1e-5": lambda c: levels(c, bounds=c.proof.bounds * np.array([1, 1, 1 - 1e-5])),
    "levels worth nothing": lambda c: levels(c, bounds=np.zeros(3)),
    "levels worth a denormal": lambda c: levels(c, bounds=np.full(3, 5e-324)),
    "the last level worth nothing": lambda c: levels(c, bounds=put(c.proof.bounds, 2, 0.0)),
    "trees of other levels": lambda c: with_trees(c, lambda t: [t[1], t[0], t[2]]),
    "no trees to speak of": lambda c: with_trees(c, lambda t: [trivial(b) for b in c.proof.bounds]),
    "one tree that says nothing": lambda c: with_trees(c, lambda t: [t[0], trivial(c.bound), t[2]]),
    "the last tree says nothing": lambda c: with_trees(c, lambda t: [t[0], t[1], trivial(c.bound)]),
    "an empty list for a proof": lambda c: with_trees(c, lambda t: [*t[:2], tree([EACH], [0])]),
    "a broken tree": lambda c: with_trees(c, lambda t: [*t[:2], tree([CLOSED, CLOSED], [0, 0])]),
    "a relaxation without features": lambda c: with_trees(c, lambda t: [*t[:2], relaxation([])]),
    "a relaxation of nothing": lambda c: with_trees(c, lambda t: [*t[:2], relaxation(range(7), slope=1e308)]),
    "a relaxation that is not near": lambda c: with_trees(c, lambda t: [*t[:2], relaxation(range(7), kind=GIVEN)]),
}  # fmt: skip
# Changed, but a valid chain perhaps: whatever is proved must be true.
HARMLESS = {
    "a level lower by an ulp": lambda c: levels(c, bounds=np.nextafter(c.proof.bounds, [0, np.inf, np.inf])),
    "all levels lower by an ulp": lambda c: levels(c, bounds=np.nextafter(c.proof.bounds, 0)),
    "all levels lower by 1e-12": lambda c: levels(c, bounds=c.proof.bounds * (1 - 1e-12)),
    "all levels lower by 1e-6": lambda c: levels(c, bounds=c.proof.bounds * (1 - 1e-6)),
    "levels swapped": lambda c: order(c, [1, 0, 2]),
    "the last level first": lambda c: order(c, [2, 0, 1]),
    "the first level missing": lambda c: order(c, [1, 2]),
    "the middle level missing": lambda c: order(c, [0, 2]),
    "the last level alone": lambda c: order(c, [2]),
    "every level twice": lambda c: order(c, [0, 0, 1, 1, 2, 2]),
    "all again": lambda c: order(c, [0, 1, 2, 0, 1, 2]),
    "a level about one feature": lambda c: levels(c, ks=put(c.proof.ks, 0, 1)),
    "two levels about three features": lambda c: levels(c, ks=put(c.proof.ks, 0, 3)),
    "levels about k features": lambda c: levels(c, ks=np.full(3, 4, dtype=np.uint32)),
    "levels that say nothing": lambda c: levels(c, bounds=c.proof.bounds * np.array([1e3, 1, 1])),
    "levels out of this world": lambda c: levels(c, bounds=np.array([1e308, math.nextafter(math.inf, 0), 1e300])),
    "the same tree for all": lambda c: with_trees(c, lambda t: [t[2]] * 3),
    "a garbled tree behind a level that says nothing": lambda c: levels(
        with_trees(c, lambda t: [tree([CLOSED] * 3, [0] * 3), *t[1:]]), bounds=put(c.proof.bounds, 0, 1e9)
    ),
}


def relaxation(features, slope=0.5, kind=SOFT):
    m = len(features) if kind == GIVEN else 0
    return RelaxationProof(
        np.array(features, dtype=np.uint32),
        np.array([kind], dtype=np.uint8),
        np.array([slope]),
        np.ones(1),
        np.array([0, m], dtype=np.uint32),
        np.arange(m, dtype=np.uint32),
        np.zeros(m),
        np.zeros(m),
        np.zeros(m * (m + 1) // 2, dtype=np.float32),
        np.array([LEAF], dtype=np.uint32),
        np.ones(1, dtype=np.uint32),
        np.zeros(1, dtype=np.uint32),
    )


@pytest.mark.parametrize("name", [*FATAL, *HARMLESS])
def test_a_chain_that_was_changed_proves_nothing_false(chain, name):
    tampered = (FATAL | HARMLESS)[name](chain.certificate)
    report = chain.judge(tampered)
    assert not (report.ok and name in FATAL), name
    for share in (1 - 1e-6, 0.999, 0.9, 0.5, 0.0):
        assert not chain.judge(claiming(tampered, bound=share * chain.optimum, value=0.0)).ok
    # A claim so wide that nothing is needed holds whatever the chain says, if it is a chain at all.
    chain.judge(claiming(tampered, bound=1e3 * chain.certificate.bound))
    read(tampered.to_bytes())


def test_what_is_honest_is_accepted(chain):
    report = chain.judge(chain.certificate)
    assert report.ok
    assert chain.certificate.bound <= report.bound <= chain.certificate.bound * (1 + 2e-9)


def test_the_reason_names_the_level(chain):
    for number in range(3):
        lower = levels(
            chain.certificate, bounds=chain.certificate.proof.bounds * np.where(np.arange(3) == number, 0.99, 1)
        )
        message = chain.judge(lower).message
        assert f"level {number}, of {number + 2} features: " in message


@pytest.mark.parametrize("number", [0, 1, 2])
def test_no_level_is_proved_below_its_optimum(chain, number):
    c = chain.certificate
    truth = chain.optima[number + 1]
    for short in (0.5, 0.1, 1e-2, 1e-4, 1e-6):
        lower = levels(c, bounds=put(c.proof.bounds, number, truth * (1 - short)))
        assert not chain.judge(lower).ok, short
    # By less than the margins of the checker: what it proves is wider than the level, and true.
    for short in (1e-8, 3e-9, 1e-12):
        chain.judge(levels(c, bounds=put(c.proof.bounds, number, truth * (1 - short))))


def test_a_claim_below_the_last_level_is_refused(chain):
    c = chain.certificate
    for short in (3e-7, 1e-4, 0.1):
        report = chain.judge(claiming(c, bound=c.bound * (1 - short), value=0.0))
        assert not report.ok
        assert "do not prove the claim" in report.message


def test_a_proof_that_ends_below_k_claims_its_share(chain):
    """From three features alone: 4/3 of their bound for four, or one more of the fourth longest column; not less."""
    c = order(chain.certificate, [0, 1])
    sizes = np.sort(np.maximum(chain.problem.column_norms - chain.problem.adversary.rho, 0.0))[::-1]
    three = float(c.proof.bounds[1])
    least = min(4 / 3 * three, three + sizes[3] ** 2 / chain.problem.n_samples)
    assert chain.judge(claiming(c, bound=least * (1 + 1e-8))).ok
    assert not chain.judge(claiming(c, bound=least * (1 - 1e-6), value=0.0)).ok


def test_a_proof_of_fewer_features_is_none_of_more():
    """The last level of a chain about three features is no proof about four, whatever the claim says."""
    X = np.random.default_rng(3).standard_normal((12, 7))
    three, four = Chain(X, 3, 1.0), Chain(X, 4, 1.0)
    for ks in ([2, 3], [2, 4], [3, 4]):
        proof = dataclasses.replace(three.certificate.proof, ks=np.array(ks, dtype=np.uint32))
        lie = dataclasses.replace(four.certificate, proof=proof)
        assert not four.judge(claiming(lie, bound=three.certificate.bound, value=0.0)).ok


# -- malformed chains --------------------------------------------------------------------------------------------------

MALFORMED = {
    "level zero": lambda c: levels(c, ks=put(c.proof.ks, 0, 0)),
    "more features than there are": lambda c: levels(c, ks=put(c.proof.ks, 2, 8)),
    "far more": lambda c: levels(c, ks=put(c.proof.ks, 2, 2**32 - 1)),
    "NaN": lambda c: levels(c, bounds=put(c.proof.bounds, 1, np.nan)),
    "infinity": lambda c: levels(c, bounds=put(c.proof.bounds, 1, np.inf)),
    "a negative bound": lambda c: levels(c, bounds=put(c.proof.bounds, 1, -1.0)),
    "fewer bounds": lambda c: levels(c, bounds=c.proof.bounds[:-1]),
    "fewer sizes": lambda c: levels(c, ks=c.proof.ks[:-1]),
    "fewer trees": lambda c: levels(c, trees=c.proof.trees[:-1]),
    "more trees": lambda c: levels(c, trees=(*c.proof.trees, c.proof.trees[0])),
    "no levels": lambda c: order(c, []),
    "bounds in single precision": lambda c: levels(c, bounds=c.proof.bounds.astype(np.float32)),
    "sizes of another type": lambda c: levels(c, ks=c.proof.ks.astype(np.uint8)),
    "a tree with NaN": lambda c: with_trees(
        c, lambda t: [t[0], dataclasses.replace(t[1], cut=put(t[1].cut, 0, np.nan)), t[2]]
    ),
    "a tree that points at nothing": lambda c: with_trees(
        c, lambda t: [t[0], dataclasses.replace(t[1], level=put(t[1].level, 0, 10**6)), t[2]]
    ),
    "a tree of another type": lambda c: with_trees(
        c, lambda t: [t[0], dataclasses.replace(t[1], kind=t[1].kind.astype(np.uint32)), t[2]]
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_chains_are_neither_read_nor_accepted(chain, name):
    tampered = MALFORMED[name](chain.certificate)
    assert not chain.judge(tampered).ok
    with pytest.raises(InvalidProblem) as refusal:
        Certificate.from_bytes(tampered.to_bytes())
    sentence(str(refusal.value), "The certificate cannot be read: ")


@pytest.mark.parametrize("trees", [[], "tree", (1, 2, 3), None, (None, None, None)])
def test_trees_that_are_none_are_not_accepted(chain, trees):
    assert not chain.judge(levels(chain.certificate, trees=trees)).ok


@pytest.mark.parametrize("numbers", [None, [2, 3, 4], np.array(2), np.array([[2, 3, 4]])])
@pytest.mark.parametrize("name", ["ks", "bounds"])
def test_numbers_that_are_no_arrays_are_not_accepted(chain, name, numbers):
    assert not chain.judge(levels(chain.certificate, **{name: numbers})).ok


# -- the file ----------------------------------------------------------------------------------------------------------


def header(name, value):
    def change(data):
        made, blocks = parts(data)
        made[name] = value
        return file_of(made, blocks)

    return change


def arrays(change):
    """The file with other arrays under the same header."""

    def made(data):
        old, blocks = container.unpack(data)
        kept = {name: old[name] for name in ("claim", "proof", "trees")}
        return container.pack(kept, change(dict(blocks)))

    return made


def renamed(blocks, old, new):
    return {new if name == old else name: array for name, array in blocks.items()}


FILES = {
    "trees missing": header("trees", None),
    "trees are no list": header("trees", "gram"),
    "trees are a number": header("trees", 3),
    "trees are named": header("trees", {"0": "gram", "1": "gram", "2": "gram"}),
    "no trees": header("trees", []),
    "too few trees": header("trees", ["gram"] * 2),
    "too many trees": header("trees", ["gram"] * 4),
    "far too many trees": header("trees", ["gram"] * 20_000),
    "trees of another kind": header("trees", ["gram", "relaxation", "gram"]),
    "trees of an unknown kind": header("trees", ["gram", "tree", "gram"]),
    "trees of samples": header("trees", ["gram", "samples", "gram"]),
    "levels within levels": header("trees", ["gram", "levels", "gram"]),
    "trees that are lists": header("trees", [["gram"], ["gram"], ["gram"]]),
    "trees that are nothing": header("trees", [None, None, None]),
    "trees that are numbers": header("trees", [1, math.nan, {}]),
    "not called levels": header("proof", "gram"),
    "called something else": header("proof", "level"),
    "called a list": header("proof", ["levels"]),
    "an array too many": arrays(lambda a: a | {"3.kind": a["0.kind"]}),
    "an array of no tree": arrays(lambda a: a | {"kind": a["0.kind"]}),
    "no sizes": arrays(lambda a: {name: x for name, x in a.items() if name != "ks"}),
    "no bounds": arrays(lambda a: {name: x for name, x in a.items() if name != "bounds"}),
    "a tree without cuts": arrays(lambda a: {name: x for name, x in a.items() if name != "1.cut"}),
    "a number with a zero before it": arrays(lambda a: renamed(a, "1.cut", "01.cut")),
    "sizes as floats": arrays(lambda a: a | {"ks": a["ks"].astype(np.float64)}),
    "bounds as integers": arrays(lambda a: a | {"bounds": a["ks"]}),
    "kinds as floats": arrays(lambda a: a | {"2.kind": a["2.kind"].astype(np.float64)}),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_not_read(chain, name):
    with pytest.raises(InvalidProblem) as refusal:
        Certificate.from_bytes(FILES[name](chain.certificate.to_bytes()))
    sentence(str(refusal.value), "The certificate cannot be read: ")


def test_a_single_tree_with_a_list_of_trees_is_not_read(chain):
    single = dataclasses.replace(chain.certificate, proof=chain.certificate.proof.trees[2])
    assert isinstance(read(single.to_bytes()), Certificate)
    for trees in (["gram"], [], "gram"):
        with pytest.raises(InvalidProblem):
            Certificate.from_bytes(header("trees", trees)(single.to_bytes()))


def test_bounds_beyond_all_numbers_say_nothing():
    """On data of small units a level's bound leaves the range of floats when it is scaled."""
    tiny = Chain(1e-3 * np.random.default_rng(3).standard_normal((12, 7)), 4, 1e-3)
    c = tiny.certificate
    for number in range(len(c.proof.ks)):
        for bound in (1e308, math.nextafter(math.inf, 0), 1e200, 1.0):
            tiny.judge(levels(c, bounds=put(c.proof.bounds, number, bound)))


def test_a_level_on_its_own_is_no_proof(chain):
    """Without the bounds of fewer features there are no floors: the tree of the last level is not enough."""
    c = chain.certificate
    single = dataclasses.replace(c, proof=c.proof.trees[2])
    for bound in (c.bound, 0.999 * chain.optimum):
        chain.judge(claiming(single, bound=bound, value=0.0))


# -- many mutants ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["plain", "tied", "no budget", "small support"])
def test_no_mutant_proves_a_bound_below_the_optimum(which):
    rng = np.random.default_rng(1)
    made = {
        "plain": lambda: Chain(np.random.default_rng(3).standard_normal((12, 7)), 4, 1.0),
        "tied": lambda: Chain(np.sign(np.random.default_rng(1).standard_normal((9, 6))), 4, 0.9),
        "no budget": lambda: Chain(np.random.default_rng(6).standard_normal((8, 6)), 4, 0.0),
        "small support": lambda: Chain(np.diag([1.0, 0.9, 0.8, 0.7]) + 0.3, 3, 0.8),
    }[which]()
    accepted = 0
    for _ in range(400):
        c = made.certificate
        proof = c.proof
        ks, bounds, trees = proof.ks.copy(), proof.bounds.copy(), list(proof.trees)
        for _ in range(int(rng.integers(1, 4))):
            at, other = (int(x) for x in rng.integers(len(trees), size=2))
            change = rng.integers(6)
            if change == 0:
                bounds[at] *= rng.choice([1 - 1e-15, 1 - 1e-9, 1 - 1e-6, 1 - 1e-3, 0.9, 0.1, 0.0, 1.1, 1e9])
            elif change == 1:
                ks[at] = rng.integers(1, made.problem.k + 1)
            elif change == 2:
                trees[at], trees[other] = trees[other], trees[at]
            elif change == 3:
                ks[[at, other]], bounds[[at, other]] = ks[[other, at]], bounds[[other, at]]
            elif change == 4 and len(trees) > 1:
                ks, bounds = np.delete(ks, at), np.delete(bounds, at)
                del trees[at]
            elif len(trees[at]) and isinstance(trees[at], GramProof):
                inner = dataclasses.replace(c, proof=trees[at])
                trees[at] = mutated(rng, inner).proof
        share = rng.choice([1.0, 1.0, 1.3, 1 - 1e-6, 1 - 1e-4, 0.9])
        lie = dataclasses.replace(c, proof=LevelsProof(ks, bounds, tuple(trees)))
        accepted += made.judge(claiming(lie, bound=share * c.bound, value=0.0)).ok
    assert 10 < accepted < 390


def test_claims_are_judged_without_tolerance(chain):
    """So that the judge above could fail: it knows what the best vector is worth to 36 digits."""
    assert abs(float(chain.worth) / chain.optimum - 1) < 1e-9
    report = noap.verify(chain.problem, chain.certificate)
    assert Fraction(report.bound) > chain.worth
    assert (np.diff(chain.optima) > 0).all()
