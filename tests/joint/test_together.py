"""One inequality about all components together: against enumeration, in the certificate, and tampered with."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from packings import joint_optimum
from test_components import triangles

import noap
import older
from noap.checker.allowance import Allowance
from noap.checker.relaxation.eigenvalues import sum_of_largest
from noap.errors import InvalidProblem
from noap.exact.relaxation.eigenvalue import confirmed_sum
from noap.exact.relaxation.together import on_fantope
from noap.joint import search
from noap.joint.together import TogetherSearch
from noap.runtime.controls import Controls

ARRAYS = ["features", "slopes", "unit", "loads", "lifts", "entries", "dues", "pull_counts", "pull_places", "pulls"]


def random_problem(rng):
    """Some features matter and some do not; costs in half of the cases."""
    d, n, r = int(rng.integers(4, 8)), int(rng.integers(4, 20)), int(rng.integers(1, 4))
    ks = tuple(int(k) for k in rng.integers(1, 4, r))
    X = rng.standard_normal((n, d)) * rng.uniform(0.2, 2.0, d)
    costs = None if rng.random() < 0.5 else rng.uniform(0.0, 0.5, d) * (rng.random(d) < 0.6)
    if rng.random() < 0.5:
        return noap.Problem(X, max(ks), noap.NoAdversary(), costs=costs), ks
    S = X.T @ X / n
    return noap.Problem.from_covariance(S, n_samples=n, k=max(ks), adversary=noap.NoAdversary(), costs=costs), ks


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


def controls():
    return Controls.checked(1e-4, None, None, False)


def judged(seed):
    problem, ks = random_problem(np.random.default_rng(seed))
    if problem.optimum_is_zero:
        return 0
    best, room = joint_optimum(problem, ks), 1e-12 * problem.scale
    found = TogetherSearch(problem, ks)
    found.run(best * (1 + 1e-4), controls(), None)
    if found.best is not None:
        assert found.best.bound >= best - room
        assert (found.best.using >= np.array(optima_using(problem, ks)) - room).all()
    joint = noap.solve_components(problem, len(ks), k=ks, gap=1e-6)
    assert abs(joint.value - best) <= 2e-6 * best + room
    assert joint.bound >= best - room
    report = noap.verify(problem, joint.certificate)
    assert report.ok, report.message
    assert best - room <= report.bound <= joint.bound * (1 + 1e-6) + 1e-8 * problem.scale
    return len(joint.certificate.removed)


@pytest.fixture
def impatient(monkeypatch):
    """All components are looked at together before any exact search is done."""
    monkeypatch.setattr(search, "_PATIENCE", 0)


def test_enumeration_agrees(impatient):
    assert sum(judged(seed) for seed in (8, 31, 33)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(15))
def test_enumeration_agrees_on_many(part, impatient):
    assert sum(judged(100 + 20 * part + seed) for seed in range(20)) > 0


@pytest.mark.parametrize("patience", [0, 1, 2, 4, 8, 30])
def test_whenever_they_are_looked_at(patience, monkeypatch):
    """At the root, or in a tree that has begun: what is removed and what was branched on do not meet."""
    monkeypatch.setattr(search, "_PATIENCE", patience)
    for problem, r in ((triangles(), 3), (random_problem(np.random.default_rng(7))[0], 2)):
        joint = noap.solve_components(problem, r, gap=1e-6)
        best = joint_optimum(problem, (problem.k,) * r)
        assert abs(joint.value - best) <= 2e-6 * best
        report = noap.verify(problem, joint.certificate)
        assert report.ok, report.message
        assert best * (1 - 1e-12) <= report.bound <= best * (1 + 3e-6)


def test_sums_of_largest_eigenvalues_are_from_above():
    """B - cI - LL' was factorised; here the sum is compared with one of exact numbers: diagonal, turned by 3-4-5."""
    turn = [[Fraction(3, 5), Fraction(-4, 5)], [Fraction(4, 5), Fraction(3, 5)]]
    for values in ((4, 1), (2, 2), (3, -1), (-1, -2)):
        B = [[sum(turn[i][k] * values[k] * turn[j][k] for k in range(2)) for j in range(2)] for i in range(2)]
        computed = np.array([[float(x) for x in row] for row in B])
        for r in (1, 2, 3):
            exact = sum(sorted((max(x, 0) for x in values), reverse=True)[:r])
            for found in (confirmed_sum(computed, r), sum_of_largest(computed, r, Allowance())):
                assert exact - Fraction(1, 10**15) <= Fraction(found) <= exact + Fraction(1, 10**9)
    rng = np.random.default_rng(0)
    for m, r in ((1, 1), (5, 2), (30, 4), (30, 30)):
        B = rng.standard_normal((m, m))
        B = B + B.T
        exact = np.maximum(np.linalg.eigvalsh(B)[-r:], 0.0).sum()
        for found in (confirmed_sum(B, r), sum_of_largest(B, r, Allowance())):
            assert exact * (1 - 1e-13) <= found <= exact + 1e-9 * m


def test_the_projection_has_no_eigenvalue_above_its_share():
    rng = np.random.default_rng(1)
    for m, r in ((3, 3), (8, 2), (20, 5)):
        M = rng.standard_normal((m, m))
        W = on_fantope(M + M.T, r)
        values = np.linalg.eigvalsh(W)
        assert values[0] >= -1e-5
        assert values[-1] <= 1 / r + 1e-5
        assert abs(values.sum() - 1) <= 1e-5
        # It is the nearest: no mixture of eigenvectors is nearer.
        for _ in range(20):
            Q = np.linalg.qr(rng.standard_normal((m, m)))[0][:, :r]
            step = Q @ Q.T / r - W
            assert np.sum(step * (M + M.T - W)) <= 1e-4


@pytest.fixture(scope="module")
def small():
    """Seven features, two components, and a gap that the inequality leaves."""
    problem, ks = random_problem(np.random.default_rng(33))
    assert ks == (2, 3)
    return problem


@pytest.fixture(scope="module")
def certificate(small):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_PATIENCE", 0)
        joint = noap.solve_components(small, 2, k=(2, 3), gap=1e-6)
    assert joint.gap <= 1e-6
    assert noap.verify(small, joint.certificate).ok
    return joint.certificate


def rejected(problem, certificate, why):
    report = noap.verify(problem, certificate)
    assert not report.ok
    assert report.bound == np.inf
    assert why in report.message


def test_features_are_removed(small, certificate):
    assert certificate.together is not None
    assert certificate.removed.tolist() == [4]
    # Both inequalities are there: the one with the lowest bound, and the one that tells features to be out.
    assert len(certificate.together.proof.kinds) == 2
    assert not set(certificate.places.tolist()).intersection(certificate.removed.tolist())


def test_supports_that_the_relaxation_points_to_do_not_meet(impatient):
    problem, ks = random_problem(np.random.default_rng(35))
    found = TogetherSearch(problem, ks)
    found.run(0.0, controls(), None)
    supports = [set(places.tolist()) for places, _ in found.packing()]
    assert sum(map(len, supports)) == len(set().union(*supports)) <= problem.n_features < sum(ks)
    assert judged(35) == 0


def test_a_feature_removed_that_is_used(small, certificate):
    used = replace(
        certificate, removed=np.sort(np.append(certificate.removed, certificate.places[0])).astype(np.uint32)
    )
    rejected(small, used, "more than claimed")


def test_features_removed_without_a_reason(small, certificate):
    rejected(small, replace(certificate, together=None), "without a reason")
    twice = np.repeat(certificate.removed, 2)
    rejected(small, replace(certificate, removed=twice), "not in order")
    rejected(small, replace(certificate, removed=np.append(certificate.removed, 7).astype(np.uint32)), "not in order")
    rejected(small, replace(certificate, removed=certificate.removed.astype(np.int64)), "wrong type")
    rejected(small, replace(certificate, together=certificate), "no certificate")


def test_an_inequality_about_something_else(small, certificate):
    other = older.solve(small).certificate
    rejected(small, replace(certificate, together=other), "inequality about all components")
    wrong = replace(certificate.together, claim=replace(certificate.together.claim, k=2))
    rejected(small, replace(certificate, together=wrong), "what is said of all components")
    rejected(small.with_costs(np.full(7, 0.01)), certificate, "about other costs")
    noisy = small.with_adversary(noap.FeatureWise(1.0))
    other = noap.solve_components(noisy, 2, k=(2, 3)).certificate
    about = replace(certificate.together, claim=replace(certificate.together.claim, adversary="FeatureWise", rho=1.0))
    rejected(noisy, replace(other, together=about), "where there is a budget")


def test_removed_features_may_not_be_given_away(small, certificate):
    tree = replace(certificate, branches=np.array([4, 7], dtype=np.uint32), leaves=certificate.leaves[:1])
    rejected(small, tree, "gives feature 4 away twice")


@pytest.mark.parametrize("name", ARRAYS)
def test_what_is_accepted_is_true(small, certificate, name):
    rng = np.random.default_rng(ARRAYS.index(name))
    best = joint_optimum(small, (2, 3))
    proof = certificate.together.proof
    array = getattr(proof, name)
    for _ in range(10):
        changed = array.copy()
        for place in rng.integers(0, len(array), int(rng.integers(1, 4))):
            if array.dtype.kind == "f":
                changed[place] *= rng.choice([0.0, 0.5, 1 - 1e-3, 1 + 1e-3, 2.0, -1.0, 1e30])
            else:
                changed[place] = rng.choice([0, 1, 2, 6, 7, 2**32 - 1])
        lie = replace(certificate.together, proof=replace(proof, **{name: changed}))
        report = noap.verify(small, replace(certificate, together=lie))
        if report.ok:
            assert report.value <= best + 1e-9
            assert report.bound >= best - 1e-9


def test_cheaper_places_cost_eigenvalues(small, certificate):
    """Nobody gets a lower bound for nothing: all dues at 0, or all entries of B."""
    proof = certificate.together.proof
    for name in ("dues", "loads", "entries"):
        lie = replace(proof, **{name: np.zeros_like(getattr(proof, name))})
        lie = replace(certificate.together, proof=lie)
        rejected(small, replace(certificate, together=lie), "more than claimed")


def test_files(small, certificate, tmp_path):
    certificate.save(tmp_path / "joint.noap")
    read = noap.JointCertificate.load(tmp_path / "joint.noap")
    assert noap.verify(small, read).ok
    assert read.to_bytes() == certificate.to_bytes()
    assert read.removed.tolist() == certificate.removed.tolist()
    plain = noap.solve_components(small, 1).certificate
    assert plain.together is None
    assert noap.verify(small, noap.JointCertificate.from_bytes(plain.to_bytes())).ok
    data = bytearray(certificate.to_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(InvalidProblem, match="cannot be read"):
        noap.JointCertificate.from_bytes(bytes(data))


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_the_bound_where_trees_are_weak():
    """Forty features that are nearly alike: the trees alone leave many percent after this time."""
    X = np.random.default_rng(2).standard_normal((60, 40))
    problem = noap.Problem(X, 10, noap.NoAdversary())
    found = TogetherSearch(problem, (10, 10))
    found.run(0.0, controls(), None)
    best = noap.solve_components(problem, 2, time_limit=0.5)
    assert best.value <= found.best.bound <= 1.12 * best.value
