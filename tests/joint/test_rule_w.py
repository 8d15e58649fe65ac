"""Rule W of the kernel: true bounds are accepted, those that are false by a hair and tampered files are not."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from packings import joint_optimum, small_problem
from test_components import graph_problem, triangles

import noap
from noap.errors import InvalidProblem
from noap.kernel import schema
from noap.kernel.arithmetic import Refused
from noap.kernel.claim import data_of
from noap.kernel.packing import FanBound, check_packing
from noap.kernel.witness import BOX, THRESHOLD, Fan, Line, Owner, Packed, Packing
from noap.settings import JointSettings, Settings
from second_checker import second_verdict

# All components are looked at together before a pricing tree has more than a node.
IMPATIENT = Settings(joint=JointSettings(patience=0, least_looks=0, most_looks=40))


def solved(problem, ks, settings=None):
    return noap.solve_components(problem, len(ks), k=ks, gap=1e-6, settings=settings)


def data_of_file(problem):
    return problem.X if problem.X is not None else problem.covariance


def accepted_by_both(problem, certificate):
    report = noap.verify(problem, certificate)
    assert report.ok, report.message
    assert second_verdict(certificate.to_bytes(), data_of_file(problem)) is None


def with_bound(certificate, bound):
    return replace(certificate, claim=replace(certificate.claim, bound=bound))


def with_packing(certificate, **changes):
    packing = replace(certificate.proof.packing, **changes)
    return replace(certificate, proof=replace(certificate.proof, packing=packing))


def rejected(problem, certificate, why):
    report = noap.verify(problem, certificate)
    assert not report.ok
    assert report.bound == np.inf
    assert why in report.message
    assert second_verdict(certificate.to_bytes(), data_of_file(problem)) is not None


@pytest.fixture(scope="module")
def problem():
    return triangles()


@pytest.fixture(scope="module")
def certificate(problem):
    made = solved(problem, (2, 2, 2)).certificate
    accepted_by_both(problem, made)
    assert len(made.proof.packing.priced) > 1
    assert sum(isinstance(node, Owner) for node in made.proof.packing.nodes) > 0
    return made


@pytest.fixture(scope="module")
def fans():
    """A claim that an inequality for all components proves in part: features are removed."""
    rng = np.random.default_rng(33)
    X = rng.standard_normal((15, 7)) * rng.uniform(0.2, 2.0, 7)
    problem = noap.Problem(X, 3, noap.NoAdversary())
    made = solved(problem, (2, 3), IMPATIENT).certificate
    accepted_by_both(problem, made)
    assert made.proof.packing.fans
    return problem, made


@pytest.mark.parametrize("seed", range(24))
def test_a_bound_below_the_optimum_is_refused_whatever_the_prices(seed):
    problem, ks = graph_problem(seed)
    best = joint_optimum(problem, ks)
    for settings in (None, IMPATIENT):
        made = solved(problem, ks, settings).certificate
        accepted_by_both(problem, made)
        # The vectors are worth the optimum: without them nothing but the prices stands against a smaller bound.
        none = np.empty(0)
        alone = with_packing(made, sizes=(0,) * len(ks))
        alone = replace(alone, support=none.astype(np.intp), weights=none, claim=replace(made.claim, value=0.0))
        assert noap.verify(problem, alone).ok
        rejected(problem, with_bound(alone, best * (1 - 1e-9)), "")


def optima_using(problem, ks):
    """The largest sum over disjoint supports of which one has the feature, for every feature."""
    S, d = np.asarray(problem.covariance), problem.n_features
    costs = np.zeros(d) if problem.costs is None else problem.costs
    worths = {
        c: float(np.linalg.eigvalsh(S[np.ix_(c, c)])[-1]) - costs[list(c)].sum()
        for size in range(1, max(ks) + 1)
        for c in combinations(range(d), size)
    }
    best = {frozenset(): 0.0}
    for k in ks:
        following = dict(best)
        for taken, total in best.items():
            for support, worth in worths.items():
                if len(support) <= k and not taken.intersection(support):
                    key = taken.union(support)
                    following[key] = max(following.get(key, -np.inf), total + worth)
        best = following
    return [max(worth for taken, worth in best.items() if j in taken) for j in range(d)]


@pytest.mark.parametrize("seed", range(30))
def test_an_inequality_for_all_components_holds_for_those_that_use_a_feature(seed):
    rng = np.random.default_rng(seed)
    d, r = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    ks = tuple(int(k) for k in rng.integers(1, min(d, 3) + 1, r))
    X = rng.standard_normal((8, d)) * rng.uniform(0.2, 2.0, d)
    costs = rng.uniform(0.0, 0.5, d) * (rng.random(d) < 0.6) if seed % 2 else None
    problem = noap.Problem(X, max(ks), noap.NoAdversary(), costs=costs)
    data, _ = data_of(problem)
    unit, using = 4.0**data.exponent, np.array(optima_using(problem, ks))
    accepted = 0
    for _ in range(6):
        # Any line, and a factor from the leading eigenvectors of its matrix that is at times too short.
        pairs, m = d * (d - 1) // 2, min(r, d)
        loads = (rng.uniform(0, 0.3, d) * data.top).astype(np.float32)
        lifts = (rng.uniform(0.01, 0.3, d) * data.top).astype(np.float32)
        steps = rng.integers(-32767, 32768, pairs).astype(np.int16)
        plain = float(rng.uniform(0, 0.4)) * data.top
        line = Line(np.arange(d), 0.0, plain, 0.0, 0, BOX, loads, lifts, steps)
        exact, raised = loads.astype(float), lifts.astype(float)
        box = plain + 0.5 * (exact[:, None] + exact[None, :])
        B = np.zeros((d, d))
        B[np.triu_indices(d, 1)] = steps / 32767.0
        B = data.A + box * (B + B.T)
        np.fill_diagonal(B, data.A.diagonal() + raised - plain - exact)
        values, vectors = np.linalg.eigh(B)
        c = max(float(values[-m - 1]), 0.0) if d > m else 0.0
        factor = vectors[:, -m:] * np.sqrt(np.maximum(values[-m:] - c, 0.0))
        short = rng.random() < 0.3
        fan = Fan(replace(line, c=c + 1e-9 * data.top), factor * (0.99 if short else 1.0))
        try:
            said = FanBound(data, fan, ks)
        except Refused:
            assert short
            continue
        accepted += 1
        assert said.bound * unit >= joint_optimum(problem, ks) * (1 - 1e-12)
        assert (said.using * unit >= using - 1e-12 * problem.scale).all()
    assert accepted > 0


def test_the_sum_of_the_largest_eigenvalues_is_tight():
    # A diagonal matrix is its own line: the two largest entries, plus what rounding takes.
    A = np.diag([4.0, 2.0, 1.0, 0.5])
    problem = noap.Problem.from_covariance(A, n_samples=4, k=1, adversary=noap.NoAdversary())
    data, _ = data_of(problem, 0, None)
    zeros = np.zeros(4, np.float32)
    factor = np.zeros((4, 2))
    factor[0, 0], factor[1, 1] = np.sqrt(3.0), 1.0
    line = Line(np.arange(4), 1.0 + 1e-13, 0.0, 0.0, 0, THRESHOLD, zeros, zeros)
    said = FanBound(data, Fan(line, factor), (1, 1))
    assert 6.0 <= said.bound <= 6.0 + 1e-11
    for lower in (replace(line, c=1.0 - 1e-9), replace(line, c=-1e-9)):
        with pytest.raises(Refused):
            FanBound(data, Fan(lower, factor), (1, 1))
    with pytest.raises(Refused, match="below cI"):
        FanBound(data, Fan(line, factor * (1 - 1e-9)), (1, 1))
    small = replace(line, features=np.arange(3), loads=zeros[:3], lifts=zeros[:3])
    with pytest.raises(Refused, match="leaves out a feature"):
        FanBound(data, Fan(small, factor[:3]), (1, 1))
    check_packing(data, Packing((1, 1), (0, 0), fans=(Fan(line, factor),)), Fraction(said.bound))
    unproved = Packing((1, 1), (0, 0), (), (Packed((0, 0)),), (Fan(line, factor),))
    with pytest.raises(Refused):  # no node is there to show what the line does not
        check_packing(data, unproved, Fraction(5))


@pytest.mark.parametrize("seed", range(6))
def test_the_second_checker_agrees_about_samples(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((7, 4)) @ rng.standard_normal((4, 4))
    costs = rng.uniform(0, 0.1, 4) if seed % 2 else None
    problem = noap.Problem(X, 2, noap.SampleWise(0.2 * np.abs(X).max()), costs=costs)
    made = solved(problem, (2, 1)).certificate
    accepted_by_both(problem, made)
    if made.bound > 0:
        rejected(problem, with_bound(made, made.bound * (1 - 1e-5)), "")


def test_no_inequality_against_a_budget(fans):
    problem, made = fans
    noisy = problem.with_adversary(noap.FeatureWise(0.5))
    other = solved(noisy, (2, 3)).certificate
    rejected(noisy, with_packing(other, fans=made.proof.packing.fans), "against an adversary with a budget")


def test_no_theorem_in_a_metric_or_with_demands(problem, certificate):
    S, none = problem.covariance, noap.NoAdversary()
    for terms, why in (
        ({"metric": 0.1 * np.eye(6) + 0.01}, "in a metric"),
        ({"include": [0]}, "demanded"),
        ({"orthogonal_to": np.eye(6)[:1]}, "orthogonal"),
        ({"costs": np.full(6, 0.01)}, "about other costs"),
        ({"exclude": [1]}, "forbidden"),
    ):
        other = noap.Problem.from_covariance(S, n_samples=5, k=2, adversary=none, **terms)
        report = noap.verify(other, certificate)
        assert not report.ok
        assert why in report.message


def test_prices_and_slots_and_trees(problem, certificate):
    packing = certificate.proof.packing
    cheaper = tuple(replace(one, costs=0.5 * one.costs) for one in packing.priced)
    rejected(problem, with_packing(certificate, priced=cheaper), "")
    rejected(problem, with_packing(certificate, priced=packing.priced[::-1]), "")
    rejected(problem, with_packing(certificate, priced=packing.priced[:1]), "no claim of this number")
    rejected(problem, with_packing(certificate, nodes=packing.nodes[:-1]), "nodes are missing")
    rejected(problem, with_packing(certificate, nodes=packing.nodes[1:]), "")
    rejected(problem, with_packing(certificate, nodes=(*packing.nodes, packing.nodes[-1])), "no node is open")
    rejected(problem, with_packing(certificate, nodes=(packing.nodes[0], *packing.nodes)), "")
    rejected(problem, with_packing(certificate, nodes=()), "nodes are missing")
    rejected(problem, with_packing(certificate, slots=(2, 2, 2, 2), sizes=(*packing.sizes, 0)), "claim for each slot")
    rejected(problem, with_packing(certificate, slots=(2, 2, 3)), "slots that do not fit")
    rejected(problem, with_packing(certificate, slots=(1, 1, 1)), "")
    short = tuple(Packed(node.claims[:2]) if isinstance(node, Packed) else node for node in packing.nodes)
    rejected(problem, with_packing(certificate, nodes=short), "a claim for each slot")


def test_a_claim_about_fewer_features_than_its_slot():
    problem = noap.Problem(np.random.default_rng(2).standard_normal((9, 6)), 3, noap.NoAdversary())
    small, large = solved(problem, (1, 1)), solved(problem, (1, 3))
    assert noap.verify(problem, large.certificate).ok
    priced = small.certificate.proof.packing.priced
    nodes = (Packed((0, 0)),)
    rejected(problem, with_packing(large.certificate, priced=priced, nodes=nodes, fans=()), "fewer features")


def test_vectors(problem, certificate):
    packing, support = certificate.proof.packing, certificate.support
    rejected(problem, with_packing(certificate, sizes=(*packing.sizes[:-1], 0)), "vectors without a slot")
    twice = support.copy()
    twice[0] = support[-1]
    rejected(problem, replace(certificate, support=twice), "")
    rejected(
        problem, replace(certificate, weights=certificate.weights * np.r_[-1.0, np.ones(len(support) - 1)]), "less"
    )
    higher = replace(certificate.claim, value=certificate.value * (1 + 1e-6), bound=certificate.bound * 2)
    rejected(problem, replace(certificate, claim=higher), "less than the claimed")


def test_features_are_removed_only_with_a_reason(fans):
    problem, made = fans
    packing = made.proof.packing
    none = replace(packing.fans[0], factor=np.zeros_like(packing.fans[0].factor))
    rejected(problem, with_packing(made, fans=(none,)), "below cI")


@pytest.mark.parametrize("name", ["triangles", "fans", "budgets"])
def test_what_is_accepted_of_tampered_files_is_true(name, problem, certificate, fans):
    if name == "fans":
        problem, certificate = fans
    elif name == "budgets":
        problem = small_problem(np.random.default_rng(3), "plain", 5, 2)
        certificate = solved(problem, (2, 1)).certificate
    ks = certificate.proof.packing.slots
    best, rng = joint_optimum(problem, ks), np.random.default_rng(0)
    refused = 0
    arrays = schema.written((), packing=certificate.proof.packing)
    for which, array in arrays.items():
        for _ in range(4 if len(array) else 0):
            changed = {**arrays, which: array.copy()}
            place = int(rng.integers(0, len(array)))
            if array.dtype.kind == "f":
                changed[which][place] *= rng.choice([0.0, 0.5, 1 - 1e-3, 1 + 1e-3, 2.0, -1.0])
            else:
                changed[which][place] = rng.choice([0, 1, 2, 5, 100])
            if rng.random() < 0.2:
                changed[which] = changed[which][:-1]
            try:
                packing = schema.levels_from(changed, problem.n_features, several=True)[2]
            except Refused:
                refused += 1
                continue
            changed_file = replace(certificate, proof=replace(certificate.proof, packing=packing))
            report = noap.verify(problem, changed_file)
            refused += not report.ok
            second = second_verdict(changed_file.to_bytes(), data_of_file(problem))
            if report.ok or second is None:
                assert changed_file.value <= best * (1 + 1e-9)
                assert changed_file.bound >= best * (1 - 1e-9)
    assert refused > 0


def test_files(fans, tmp_path):
    problem, made = fans
    made.save(tmp_path / "joint.noap")
    read = noap.Certificate.load(tmp_path / "joint.noap")
    assert read.kind == "joint"
    assert read.to_bytes() == made.to_bytes()
    assert noap.verify(problem, read).ok
    data = bytearray(made.to_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(InvalidProblem, match="cannot be read"):
        noap.Certificate.from_bytes(bytes(data))


def test_certificates_of_one_component_and_of_several_are_not_mixed_up(problem, certificate):
    single = noap.solve(problem).certificate
    rejected(problem, replace(certificate, claim=replace(certificate.claim, kind="single")), "")
    with pytest.raises(InvalidProblem):
        noap.Certificate.from_bytes(replace(single, claim=replace(single.claim, kind="joint")).to_bytes())
