"""Tampered proofs of the relaxation with costs: refused in one sentence, or what is proved is true all the same."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rational import root_below
from tampering import Honest, claiming, edited, put, sentence
from test_tampering_files import read

import noap
import older
from noap.checker.relaxation.costs import CostedLine, less_pulls, most_above
from noap.errors import InvalidProblem
from noap.exact.relaxation import relaxation as relaxation_module
from noap.proofs.certificate import Certificate
from noap.proofs.costed_relaxation import CostedRelaxationProof
from noap.proofs.levels import LevelsProof
from noap.proofs.relaxation import LEAF, RelaxationProof
from relaxation_only import force_relaxation

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
COSTS = np.array([0.1, 0.0, 0.3, 0.2, 0.1, 0.2, 0.0, 0.1])


class Tree(Honest):
    """A problem with costs that the relaxation's tree alone has proved."""

    def __init__(self, rho):
        with pytest.MonkeyPatch.context() as patch:
            force_relaxation(patch)
            patch.setattr(relaxation_module, "_INEQUALITIES_AT_ROOT", 2)
            super().__init__(np.random.default_rng(2).standard_normal((12, 8)), 3, rho, gap=1e-4, costs=COSTS)
        assert type(self.certificate.proof) is CostedRelaxationProof


@pytest.fixture(scope="module", params=[0.0, 0.6])
def tree(request):
    made = Tree(request.param)
    proof = made.certificate.proof
    assert len(proof) >= 3
    assert (proof.dues > 0).any()
    assert len(proof.pulls)
    return made


def without_node(c, at):
    """A branch and its second child gone: nobody leaves the feature out."""
    proof = c.proof
    first = int(proof.counts[:at].sum())
    used = np.delete(proof.used, np.arange(first, first + int(proof.counts[at])))
    return edited(c, branches=np.delete(proof.branches, at), counts=np.delete(proof.counts, at), used=used)


def without_pulls(c):
    none = c.proof.pulls[:0], c.proof.pull_places[:0], np.zeros_like(c.proof.pull_counts)
    return edited(c, pulls=none[0], pull_places=none[1], pull_counts=none[2])


FATAL = {
    "the last leaf missing": lambda c: without_node(c, len(c.proof) - 1),
    "dues raised": lambda c: edited(c, dues=c.proof.dues * 1.5 + 0.01),
    "no dues": lambda c: edited(c, dues=np.zeros_like(c.proof.dues)),
    "pulls raised": lambda c: edited(c, pulls=c.proof.pulls * np.float32(2.0)),
    "pulls turned": lambda c: edited(c, pulls=-c.proof.pulls),
    "no pulls": without_pulls,
    "matrices lowered": lambda c: edited(c, entries=c.proof.entries * np.float32(0.99)),
    "a smaller unit": lambda c: edited(c, unit=c.proof.unit * 0.99),
}
HARMLESS = {
    "dues raised by an ulp": lambda c: edited(c, dues=np.nextafter(c.proof.dues, np.inf)),
    "pulls raised by an ulp": lambda c: edited(c, pulls=np.nextafter(c.proof.pulls, np.float32(np.inf))),
    "slopes of nothing": lambda c: edited(c, slopes=np.zeros_like(c.proof.slopes)),
    "lines of other leaves": lambda c: edited(c, used=c.proof.used[::-1].copy()),
    "dues out of this world": lambda c: edited(c, dues=np.full_like(c.proof.dues, 1e308)),
    "dues that vanish": lambda c: edited(c, dues=np.full_like(c.proof.dues, 5e-324)),
    "pulls out of this world": lambda c: edited(c, pulls=np.full_like(c.proof.pulls, 3e38)),
    "both": lambda c: edited(c, pulls=np.full_like(c.proof.pulls, 3e38), dues=np.full_like(c.proof.dues, 1e308)),
}


@pytest.mark.parametrize("name", [*FATAL, *HARMLESS])
def test_a_proof_that_was_changed_proves_nothing_false(tree, name):
    tampered = (FATAL | HARMLESS)[name](tree.certificate)
    report = tree.judge(tampered)
    assert not (report.ok and name in FATAL), name
    for share in (1 - 1e-5, 0.999, 0.9, 0.5, 0.0):
        assert not tree.judge(claiming(tampered, bound=share * tree.optimum, value=0.0)).ok
    tree.judge(claiming(tampered, bound=1e3 * tree.certificate.bound))
    read(tampered.to_bytes())


def test_other_costs_are_another_problem(tree):
    """The proof says nothing of lower costs, and a claim about these does not make it."""
    cheaper = tree.problem.with_costs(COSTS / 2)
    claim = dataclasses.replace(older.solve(cheaper).certificate.claim, bound=tree.certificate.bound, value=0.0)
    report = noap.verify(cheaper, dataclasses.replace(tree.certificate, claim=claim))
    assert not report.ok
    sentence(report.message, "Rejected: ")


def test_a_proof_without_its_pulls_is_no_proof_about_costs(tree):
    plain = RelaxationProof(
        **{f.name: getattr(tree.certificate.proof, f.name) for f in dataclasses.fields(RelaxationProof)}
    )
    report = tree.judge(dataclasses.replace(tree.certificate, proof=plain))
    assert not report.ok
    assert "costs" in report.message


def test_it_may_prove_a_level(tree):
    c = tree.certificate
    ks = np.array([tree.problem.k], dtype=np.uint32)
    chain = dataclasses.replace(c, proof=LevelsProof(ks, np.array([c.bound]), (c.proof,)))
    assert tree.judge(Certificate.from_bytes(chain.to_bytes())).ok


MALFORMED = {
    "fewer dues": lambda p: {"dues": p.dues[:-1]},
    "negative dues": lambda p: {"dues": -p.dues - 1.0},
    "NaN": lambda p: {"dues": p.dues * np.nan},
    "fewer counts": lambda p: {"pull_counts": p.pull_counts[:-1]},
    "more counts": lambda p: {"pull_counts": p.pull_counts + np.uint32(1)},
    "fewer pulls": lambda p: {"pulls": p.pulls[:-1]},
    "pulls in double precision": lambda p: {"pulls": p.pulls.astype(np.float64)},
    "places out of order": lambda p: {"pull_places": p.pull_places[::-1].copy()},
    "a place beyond": lambda p: {"pull_places": put(p.pull_places, 0, len(p.features))},
    "a place of its own": lambda p: {
        "pull_places": put(p.pull_places, 0, int(np.flatnonzero(p.pull_counts)[0]) - int(p.starts[0]))
    },
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_pulls_are_neither_read_nor_accepted(tree, name):
    tampered = edited(tree.certificate, **MALFORMED[name](tree.certificate.proof))
    assert not tree.judge(tampered).ok
    with pytest.raises(InvalidProblem) as refusal:
        Certificate.from_bytes(tampered.to_bytes())
    sentence(str(refusal.value), "The certificate cannot be read: ")


def test_no_mutant_proves_a_bound_below_the_optimum(tree):
    rng = np.random.default_rng(1)
    c, accepted = tree.certificate, 0
    names = ["entries", "loads", "lifts", "dues", "pulls", "branches", "used", "unit"]
    for _ in range(200):
        changes = {}
        for name in rng.choice(names, size=int(rng.integers(1, 4))):
            array = getattr(c.proof, name).copy()
            at = int(rng.integers(len(array)))
            if array.dtype.kind == "f":
                array[at] *= rng.choice([0.0, 0.5, 1 - 1e-6, 1 + 1e-6, 2.0, 1e6])
            else:
                array[at] = rng.integers(len(c.proof.kinds) if name == "used" else len(c.proof.features) + 1)
            changes[str(name)] = array
        share = rng.choice([1.0, 1.0, 1.3, 1 - 1e-6, 1 - 1e-4, 0.9])
        accepted += tree.judge(claiming(edited(c, **changes), bound=share * c.bound, value=0.0)).ok
    assert 5 < accepted < 195


def test_the_check_is_stopped_by_its_limits(tree):
    for limit in ({"time_limit": 1e-9}, {"memory_limit": 1e-3}):
        report = noap.verify(tree.problem, tree.certificate, **limit)
        assert not report.ok
        sentence(report.message, "Rejected: ")


# -- the steps in rational arithmetic ----------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 5), st.sampled_from([0.0, 0.2, 0.9]), st.sampled_from([1e-20, 1.0, 1e20]))
def test_lines_with_costs_are_above_every_support(seed, m, r, unit):
    rng = np.random.default_rng(seed)
    included = rng.random(m) < 0.3
    places = int(rng.integers(0, m + 1))
    w = rng.uniform(0.1, 1.0, m) if r else np.ones(m)
    costs = rng.exponential(1.0, m) * (rng.random(m) < 0.7) * unit
    some = [
        CostedLine(
            float(rng.exponential()) * unit,
            float(rng.choice([0.0, rng.exponential()])) * unit,
            rng.exponential(1.0, m) * unit,
            rng.exponential(1.0, m) * unit * (rng.random(m) < 0.7),
            costs,
            included,
            places,
        )
        for _ in range(int(rng.integers(1, 4)))
    ]
    budget = r * float(np.sqrt(unit))
    bound = most_above(some, budget, w)
    sure = set(np.flatnonzero(included).tolist())
    for size in range(places + 1):
        for chosen in itertools.combinations(sorted(set(range(m)) - sure), size):
            S = sorted(sure | set(chosen))
            if not S:
                continue
            spent = sum(Fraction(float(costs[j])) for j in S)
            squares = [Fraction(float(w[j])) ** 2 for j in S]
            for share in (Fraction(0), Fraction(1, 3), Fraction(1)):
                t = min(squares) + share * (sum(squares) - min(squares))
                lowest = min(
                    Fraction(one.c)
                    + Fraction(one.mu) * t
                    + sum(Fraction(float(one.prices[j])) * t + Fraction(float(one.dues[j])) for j in S)
                    for one in some
                )
                if r == 0.0:
                    assert lowest - spent <= Fraction(bound)
                else:
                    distance = root_below(lowest) - Fraction(budget) * (root_below(t) + Fraction(1, 1 << 119))
                    assert distance <= 0 or distance**2 - spent <= Fraction(bound)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 5), st.sampled_from([1e-3, 1.0, 1e3]))
def test_what_the_pulls_come_to_is_known_to_its_rounding(seed, m, size):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, m))
    A += A.T
    dues, pulls = rng.exponential(1.0, m), size * rng.standard_normal((m, m))
    np.fill_diagonal(pulls, 0.0)
    left, off = less_pulls(A, dues, pulls)
    for i, j in itertools.product(range(m), repeat=2):
        a, b = Fraction(float(dues[i])), Fraction(float(dues[j]))
        exact = Fraction(float(A[i, j])) - a * Fraction(float(pulls[i, j])) - b * Fraction(float(pulls[j, i]))
        if i == j:
            exact = Fraction(float(A[i, i])) - a * (1 - sum(Fraction(float(y)) ** 2 for y in pulls[i]))
        assert abs(Fraction(float(left[i, j])) - exact) <= Fraction(off)


@pytest.mark.parametrize("seed", range(20))
def test_a_due_pays_for_its_pulls(seed):
    """2 v_i y'v + (1 - |y|^2) v_i^2 <= 1 for unit v, whatever y is."""
    rng = np.random.default_rng(seed)
    y, v = rng.standard_normal(6) * rng.choice([0.1, 1.0, 10.0]), rng.standard_normal(6)
    y[0], v = 0.0, v / np.linalg.norm(v)
    assert 2 * v[0] * (y @ v) + (1 - y @ y) * v[0] ** 2 <= 1 + 1e-12


def test_every_support_of_the_tree_is_in_a_leaf(tree):
    proof = tree.certificate.proof
    leaves, stack = [], [(frozenset(), frozenset(range(len(proof.features))))]
    for branch in proof.branches.tolist():
        included, allowed = stack.pop()
        if branch == LEAF:
            leaves.append((included, allowed))
        else:
            stack += [(included, allowed - {branch - 1}), (included | {branch - 1}, allowed)]
    for size in range(1, 4):
        for support in map(frozenset, itertools.combinations(range(len(proof.features)), size)):
            assert any(included <= support <= allowed for included, allowed in leaves)
