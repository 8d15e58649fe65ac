"""Tampered proofs for many features: refused in one sentence, or what is proved is true all the same."""

import dataclasses
import sys
import time
import tracemalloc

import numpy as np
import pytest
from tampering import Honest, claiming, edited, put, sentence
from test_tampering_files import read

import judge
import noap
import older
from many_only import force_many
from noap.checker.allowance import Allowance, OutOfAllowance
from noap.checker.many import pairs as pairs_module
from noap.errors import InvalidProblem
from noap.proofs.certificate import Certificate
from noap.proofs.many import ManyProof

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
NODES = ("kind", "test", "vector", "feature", "cut", "nu", "level")


class Many(Honest):
    """A problem that was solved by the search for many features, and the optima of fewer features by brute force."""

    def __init__(self, X, k, rho, whole=0):
        with pytest.MonkeyPatch.context() as patch:
            force_many(patch, whole)
            super().__init__(X, k, rho)
        assert isinstance(self.certificate.proof, ManyProof)
        self.optima = [judge.feature_wise_best(X.T @ X, len(X), q, rho)[0] for q in range(1, k + 1)]


def data(seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((12, 3))[:, rng.integers(0, 3, 9)] + 0.6 * rng.standard_normal((12, 9))


@pytest.fixture(scope="module", params=[0.0, 0.6])
def many(request):
    made = Many(np.random.default_rng(3).standard_normal((12, 8)), 4, request.param)
    proof = made.certificate.proof
    assert proof.ks.tolist() == [2, 3, 4]
    assert (proof.counts[1:] >= 2).all()
    assert all(len(array) for array in (proof.sizes, proof.kind, proof.places, proof.weights))
    return made


def level_of_trees(proof):
    return np.repeat(np.arange(len(proof.ks)), proof.counts)


def with_trees(c, which):
    """The same proof with these of its trees, in this order; those of one level must stay together."""
    proof = c.proof
    slices = list(proof.slices())
    nodes = np.concatenate([np.r_[slices[i].nodes] for i in which] or [np.empty(0, int)]).astype(int)
    each = np.concatenate([np.r_[slices[i].each] for i in which] or [np.empty(0, int)]).astype(int)
    arrays = {name: getattr(proof, name)[which] for name in ("roots", "whole", "sizes")}
    arrays |= {name: getattr(proof, name)[nodes] for name in NODES} | {"each": proof.each[each]}
    counts = np.bincount(level_of_trees(proof)[which], minlength=len(proof.ks)).astype(np.uint32)
    return edited(c, counts=counts, **arrays)


def without_tree(c, i):
    return with_trees(c, [j for j in range(len(c.proof.roots)) if j != i])


def without_nodes(c, i):
    """A tree that is there but says nothing."""
    kept = [j for j in range(len(c.proof.roots)) if j != i]
    bare = with_trees(c, kept)
    at = int(np.searchsorted(kept, i))
    proof = bare.proof
    level = level_of_trees(c.proof)[i]
    return edited(
        bare,
        roots=np.insert(proof.roots, at, c.proof.roots[i]),
        whole=np.insert(proof.whole, at, c.proof.whole[i]),
        sizes=np.insert(proof.sizes, at, 0),
        counts=put(proof.counts, level, proof.counts[level] + 1),
    )


def needed(made):
    """The trees without which something is left open: all that have nodes."""
    return np.flatnonzero(made.certificate.proof.sizes > 0)


def test_what_is_honest_is_accepted(many):
    report = many.judge(many.certificate)
    assert report.ok
    assert many.certificate.bound <= report.bound <= many.certificate.bound * (1 + 2e-9)
    assert many.certificate.to_bytes() == Certificate.from_bytes(many.certificate.to_bytes()).to_bytes()


def test_a_tree_that_is_missing_is_missed(many):
    proof = many.certificate.proof
    refused = np.zeros(len(proof.roots), dtype=bool)
    for i in needed(many):
        for change in (without_tree, without_nodes):
            # A support that has this feature may have one whose tree comes later: then nothing is missing.
            report = many.judge(change(many.certificate, int(i)))
            refused[i] |= not report.ok
            if not report.ok:
                assert f"level {level_of_trees(proof)[i]}" in report.message
    assert refused[needed(many)].mean() > 0.5
    # Without any tree of a level nothing is left of its proof.
    for level in set(level_of_trees(proof)[needed(many)].tolist()):
        others = np.flatnonzero(level_of_trees(proof) != level).tolist()
        assert "its trees leave supports out" in many.judge(with_trees(many.certificate, others)).message


def test_trees_in_another_order_prove_nothing_false(many):
    rng, proof = np.random.default_rng(0), many.certificate.proof
    accepted = 0
    for _ in range(30):
        # Within each level: a tree is about the feature and those that are left.
        which = np.lexsort((rng.random(len(proof.roots)), level_of_trees(proof)))
        accepted += many.judge(with_trees(many.certificate, which.tolist())).ok
    assert accepted < 30


def test_roots_of_other_trees(many):
    proof = many.certificate.proof
    accepted = 0
    for shift in range(1, len(proof.roots)):
        accepted += many.judge(edited(many.certificate, roots=np.roll(proof.roots, shift))).ok
    assert accepted < len(proof.roots) - 1


def test_whole_components_are_not_what_was_proved(many):
    proof = many.certificate.proof
    many.judge(edited(many.certificate, whole=1 - proof.whole))
    for i in range(len(proof.roots)):
        many.judge(edited(many.certificate, whole=put(proof.whole, i, 1)))


def test_a_component_alone_is_not_its_feature():
    made = Many(data(5), 3, 0.0, whole=50)
    proof = made.certificate.proof
    assert proof.whole.all()
    # Taken as trees about one feature, they leave the rest of each component.
    report = made.judge(edited(made.certificate, whole=np.zeros_like(proof.whole)))
    assert not report.ok


@pytest.mark.parametrize("number", [0, 1, 2])
def test_no_level_is_proved_below_its_optimum(many, number):
    c, truth = many.certificate, many.optima[number + 1]
    for short in (0.5, 0.1, 1e-2, 1e-4, 1e-6):
        lower = edited(c, bounds=put(c.proof.bounds, number, truth * (1 - short)))
        assert not many.judge(lower).ok, short
    for short in (1e-8, 3e-9, 1e-12):
        many.judge(edited(c, bounds=put(c.proof.bounds, number, truth * (1 - short))))
    many.judge(edited(c, bounds=put(c.proof.bounds, number, np.nextafter(c.proof.bounds[number], 0))))


def test_a_claim_below_the_last_level_is_refused(many):
    c = many.certificate
    for short in (3e-7, 1e-4, 0.1):
        assert not many.judge(claiming(c, bound=c.bound * (1 - short), value=0.0)).ok


def test_levels_in_another_order_or_missing(many):
    proof, c = many.certificate.proof, many.certificate
    for ks in ([3, 2, 4], [4, 4, 4], [2, 3, 3], [1, 1, 1]):
        report = many.judge(edited(c, ks=np.array(ks, dtype=np.uint32)))
        assert not report.ok, ks
    assert not many.judge(edited(c, bounds=np.zeros(3))).ok
    assert not many.judge(edited(c, counts=np.roll(proof.counts, 1))).ok


def test_a_proof_without_levels_is_the_worths_of_single_features(many):
    c = dataclasses.replace(many.certificate, proof=ManyProof.trivial())
    worths = np.sort(np.maximum(many.problem.column_norms - many.problem.adversary.rho, 0.0) ** 2)[::-1]
    most = float(worths[:4].sum()) / many.problem.n_samples
    assert many.judge(claiming(c, bound=most * (1 + 1e-8))).ok
    assert not many.judge(claiming(c, bound=most * (1 - 1e-6), value=0.0)).ok
    read(c.to_bytes())


def test_a_proof_about_other_pairs_is_none():
    """Where the proof was made without a feature, the checker still sees that it fits with the others."""
    X = data(12)
    fewer, all_of_them = Many(X[:, :-1], 3, 0.0), Many(X, 3, 0.0)
    lie = dataclasses.replace(all_of_them.certificate, proof=fewer.certificate.proof)
    assert fewer.optimum < all_of_them.optimum * (1 - 1e-6)
    assert not all_of_them.judge(claiming(lie, bound=fewer.certificate.bound, value=0.0)).ok
    for seed in range(6):
        other = Many(data(seed + 20), 3, 0.0)
        lie = dataclasses.replace(all_of_them.certificate, proof=other.certificate.proof)
        for share in (1.0, 1 - 1e-4, 0.9):
            all_of_them.judge(claiming(lie, bound=share * all_of_them.optimum, value=0.0))


def test_mutants_prove_nothing_false(many):
    rng, proof = np.random.default_rng(7), many.certificate.proof
    fields = [field.name for field in dataclasses.fields(ManyProof)]
    accepted = 0
    for _ in range(400):
        arrays = {}
        for name in rng.choice(fields, int(rng.integers(1, 4))):
            array = getattr(proof, str(name)).copy()
            if len(array) == 0:
                continue
            at = int(rng.integers(len(array)))
            if array.dtype.kind == "f":
                array[at] = rng.choice(
                    [0.0, 1e300, float(array[at] * rng.uniform(0, 2)), float(array[at] * (1 - 1e-5))]
                )
            else:
                array[at] = rng.integers(max(int(array.max()) + 2, 3))
            arrays[str(name)] = array
        share = float(rng.choice([1.0, 1.0, 1 - 1e-6, 1 - 1e-3]))
        tampered = edited(claiming(many.certificate, bound=share * many.certificate.bound, value=0.0), **arrays)
        accepted += many.judge(tampered).ok
    assert 5 < accepted < 350


MALFORMED = {
    "level zero": lambda c: edited(c, ks=put(c.proof.ks, 0, 0)),
    "more features than there are": lambda c: edited(c, ks=put(c.proof.ks, 2, 10)),
    "NaN": lambda c: edited(c, bounds=put(c.proof.bounds, 1, np.nan)),
    "a negative bound": lambda c: edited(c, bounds=put(c.proof.bounds, 1, -1.0)),
    "fewer bounds": lambda c: edited(c, bounds=c.proof.bounds[:-1]),
    "a tree too many": lambda c: edited(c, counts=put(c.proof.counts, 0, c.proof.counts[0] + 1)),
    "a root that is not there": lambda c: edited(c, roots=put(c.proof.roots, 0, 9)),
    "whole twice": lambda c: edited(c, whole=put(c.proof.whole, 0, 2)),
    "a node too many": lambda c: edited(c, sizes=put(c.proof.sizes, -1, c.proof.sizes[-1] + 1)),
    "a node too few": lambda c: edited(c, kind=c.proof.kind[:-1]),
    "a feature too few": lambda c: edited(c, feature=c.proof.feature[:-1]),
    "a list too long": lambda c: edited(c, each=np.append(c.proof.each, np.uint32(0))),
    "sizes of another type": lambda c: edited(c, sizes=c.proof.sizes.astype(np.uint8)),
    "a vector that points at nothing": lambda c: edited(c, places=put(c.proof.places, 0, 9)),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_proofs_are_neither_read_nor_accepted(many, name):
    tampered = MALFORMED[name](many.certificate)
    assert not many.judge(tampered).ok
    with pytest.raises(InvalidProblem) as refusal:
        Certificate.from_bytes(tampered.to_bytes())
    sentence(str(refusal.value), "The certificate cannot be read: ")


def test_it_says_nothing_about_other_problems(many):
    X, k = many.problem.X, many.problem.k
    assert not noap.verify(noap.Problem(X, k=k, adversary=noap.SampleWise(0.1)), many.certificate).ok
    from_covariance = noap.Problem.from_covariance(
        X.T @ X / len(X), n_samples=len(X), k=k, adversary=many.problem.adversary
    )
    honest = older.solve(from_covariance, gap=0.5).certificate
    report = noap.verify(from_covariance, dataclasses.replace(honest, proof=many.certificate.proof))
    assert not report.ok
    sentence(report.message, "Rejected: ")


def test_equal_budgets_are_one():
    made = Many(data(5), 3, 0.6)
    d = made.problem.n_features
    several = noap.Problem(made.problem.X, k=3, adversary=noap.FeatureWise(np.full(d, 0.6)))
    report = noap.verify(several, made.certificate)
    assert report.ok, report.message
    assert report.bound == noap.verify(made.problem, made.certificate).bound


def within_a_moment(problem, certificate):
    """A check that ends when it is told to, in the memory that it is given: how long it took."""
    read = Certificate.from_bytes(certificate.to_bytes())
    tracemalloc.start()
    started = time.perf_counter()
    report = noap.verify(problem, read, time_limit=0.5, memory_limit=100)
    seconds = time.perf_counter() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not report.ok
    assert "within" in report.message
    assert peak < 100e6
    assert seconds < 5
    return len(certificate.to_bytes())


def test_millions_of_trees_in_a_small_file_are_looked_at_one_by_one(many):
    proof, more = many.certificate.proof, 4_000_000
    lie = edited(
        many.certificate,
        counts=put(proof.counts, -1, proof.counts[-1] + more),
        roots=np.append(proof.roots, np.zeros(more, dtype=np.uint32)),
        whole=np.append(proof.whole, np.zeros(more, dtype=np.uint8)),
        sizes=np.append(proof.sizes, np.zeros(more, dtype=np.uint32)),
    )
    assert within_a_moment(many.problem, lie) < 100_000


def test_very_many_levels_in_a_small_file_are_looked_at_one_by_one(many):
    proof, more = many.certificate.proof, 60_000
    # Each claims a little less than the one before it, so that all of them are news.
    bounds = 1.5 * many.certificate.bound * (1 - 1e-7 * np.arange(more))
    lie = edited(
        many.certificate,
        ks=np.concatenate([np.full(more, 4, dtype=np.uint32), proof.ks]),
        bounds=np.concatenate([bounds, proof.bounds]),
        counts=np.concatenate([np.zeros(more, dtype=np.uint32), proof.counts]),
    )
    within_a_moment(many.problem, lie)


def test_limits_of_the_check(many, monkeypatch):
    tight = noap.verify(many.problem, many.certificate, memory_limit=0.001)
    assert not tight.ok
    assert "megabytes" in tight.message

    class Late(Allowance):
        def check(self):
            raise OutOfAllowance("it could not be proved within a moment")

    monkeypatch.setattr(sys.modules["noap.checker.verify"], "Allowance", Late)
    assert "within a moment" in noap.verify(many.problem, many.certificate).message


def test_too_many_pairs_are_refused(many, monkeypatch):
    monkeypatch.setattr(pairs_module, "_MOST", 1)
    report = many.judge(many.certificate)
    assert not report.ok
    assert "more pairs" in report.message
