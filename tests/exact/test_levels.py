"""Induction over the number of features, on its own: every bound against brute force, every certificate checked."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap
import older
from cases import SHAPES, budget, small_data
from judge import exact_worth, feature_wise_best, vanilla_best
from levels_only import force_levels
from noap.checker import levels as checker_levels
from noap.exact.feature_wise import attempt as attempt_module
from noap.exact.feature_wise import levels as levels_module
from noap.exact.feature_wise.chain import Chain
from noap.exact.feature_wise.refutation import Refutation
from noap.exact.feature_wise.search import GramSearch
from noap.proofs.certificate import Certificate
from noap.proofs.feature_wise import GramProof
from noap.proofs.levels import LevelsProof
from noap.proofs.relaxation import RelaxationProof
from noap.result import Limit, Status

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


@pytest.fixture
def forced(monkeypatch):
    force_levels(monkeypatch)


def checked(problem, v, **options):
    """Solve, and hold bound and certificate against what the judge's vector is worth: exactly, and no tolerance."""
    result = older.solve(problem, **options)
    truth = Fraction(0) if v is None else exact_worth(problem, v)
    assert Fraction(result.bound) >= truth
    certificate = Certificate.from_bytes(result.certificate.to_bytes())
    report = noap.verify(problem, certificate)
    assert report.ok, report.message
    assert Fraction(report.bound) >= truth
    assert certificate.to_bytes() == result.certificate.to_bytes()
    if isinstance(certificate.proof, LevelsProof):
        assert certificate.nodes == sum(map(len, certificate.proof.trees)) > 0
        assert certificate.proof.ks.max() <= problem.k
    return result


def solved(problem, v, gap, **options):
    """The same, and the gap is met."""
    result = checked(problem, v, gap=gap, **options)
    assert result.status is Status.OPTIMAL, result
    return result


def problems(X, k, rho):
    """The same data for every adversary that the search serves, from samples and from the covariance, with its best."""
    n = len(X)
    S = X.T @ X / n
    vanilla = vanilla_best(S, k)[1] if S.any() else None
    for adversary in (noap.NoAdversary(), noap.SampleWise(0.0), noap.FeatureWise(0.0)):
        yield noap.Problem(X, k=k, adversary=adversary), vanilla
    yield noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=noap.NoAdversary()), vanilla
    best = feature_wise_best(n * S, n, k, rho, grid=60)[1]
    yield noap.Problem(X, k=k, adversary=noap.FeatureWise(rho)), best
    yield noap.Problem.from_covariance(S, n_samples=n, k=k, adversary=noap.FeatureWise(rho)), best


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(SHAPES), st.sampled_from([1e-2, 1e-4, 1e-6]))
def test_bounds_are_true_and_certificates_accepted(seed, shape, gap):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    k = int(rng.integers(1, d + 1))
    X = small_data(rng, shape, d)
    top = float(np.linalg.norm(X, axis=0).max())
    rho = budget(rng, top)
    with pytest.MonkeyPatch.context() as patch:
        force_levels(patch)
        for problem, v in problems(X, min(k, 4), rho):
            result = checked(problem, v, gap=gap)
            # Next to rho_max doubles may not prove the gap.
            assert result.status is Status.OPTIMAL or problem.adversary.rho > 0.999 * top, result


@pytest.mark.parametrize("seed", range(6))
def test_an_indefinite_covariance_is_served(forced, seed):
    """Without a budget by any amount: what is added to the diagonal is added at every level."""
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((7, 7))
    S = S + S.T
    for k in (2, 3, 5, 7):
        problem = noap.Problem.from_covariance(S, n_samples=9, k=k, adversary=noap.NoAdversary())
        solved(problem, vanilla_best(S, k)[1], 1e-6)


def grouped(seed, n=40, groups=3, each=4):
    """Groups of features that lean on one another: every feature of a good support carries a good part of it."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.standard_normal((n, groups)), each, axis=1) + 0.6 * rng.standard_normal((n, groups * each))
    return X / np.linalg.norm(X, axis=0) * np.sqrt(n)


@pytest.fixture
def clusters():
    X = grouped(1)
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(0.4 * np.sqrt(len(X))))
    return problem, feature_wise_best(X.T @ X, len(X), 4, problem.adversary.rho, grid=60)[1]


def test_a_chain_of_levels_is_the_proof(forced, clusters):
    proof = solved(*clusters, 1e-6).certificate.proof
    assert isinstance(proof, LevelsProof)
    assert proof.ks.tolist() == sorted(proof.ks.tolist())
    assert proof.ks[-1] == 4
    assert (np.diff(proof.bounds) > 0).all()


def test_floors_make_it_short(forced):
    """The clusters of four are told apart by the floors: the last level takes a fraction of the direct attack."""
    X = grouped(2, groups=8)
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(0.5 * np.sqrt(len(X))))
    chain = older.solve(problem, gap=1e-4)
    assert chain.status is Status.OPTIMAL
    assert len(chain.certificate.proof.trees[-1]) < 30
    assert noap.verify(problem, chain.certificate).ok


@pytest.fixture(scope="module")
def noise():
    X = np.random.default_rng(5).standard_normal((30, 9))
    problem = noap.Problem(X, k=5, adversary=noap.FeatureWise(1.0))
    return problem, feature_wise_best(X.T @ X, 30, 5, 1.0, grid=60)[1]


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8, 13, 21, 34, 89])
def test_limits_inside_a_level_leave_what_is_proved(forced, noise, nodes):
    result = checked(*noise, gap=1e-9, node_limit=nodes)
    assert result.limit is Limit.NODES
    assert np.isfinite(result.bound)


def test_no_time_at_all_is_a_limit_like_any_other(forced, clusters):
    assert checked(*clusters, time_limit=1e-9).limit is Limit.TIME


@pytest.mark.parametrize("after", [1, 2, 3, 5, 9, 17, 70])
def test_an_interrupt_inside_a_level_leaves_what_is_proved(forced, noise, monkeypatch, after):
    advance, calls = Refutation.advance, []

    def interrupted(self):
        calls.append(1)
        if len(calls) == after:
            raise KeyboardInterrupt
        return advance(self)

    monkeypatch.setattr(Refutation, "advance", interrupted)
    result = checked(*noise, gap=1e-9)
    assert result.limit is Limit.INTERRUPTED


@pytest.mark.parametrize("stop", ["time", "interrupt"])
def test_a_stop_between_levels_leaves_what_is_proved(forced, clusters, monkeypatch, stop):
    """In the heuristic that starts a level: the time is up in the middle of it, or someone loses patience."""
    start, begun = Chain._started, []

    def stopped(self, k):
        begun.append(k)
        if len(begun) == 2:
            if stop == "interrupt":
                raise KeyboardInterrupt
            searches[-1].controls.time_limit = 0.0
        return start(self, k)

    begin, searches = GramSearch.begin_levels, []
    monkeypatch.setattr(GramSearch, "begin_levels", lambda search: searches.append(search) or begin(search))
    monkeypatch.setattr(Chain, "_started", stopped)
    result = checked(*clusters, gap=1e-9)
    assert result.limit is (Limit.TIME if stop == "time" else Limit.INTERRUPTED)
    assert len(begun) == 2


def test_the_rungs_of_the_last_level_count_when_it_is_stopped(forced, monkeypatch):
    """A level that a limit cuts short keeps its last rung: no bound is lost."""
    X = np.random.default_rng(0).standard_normal((50, 40))
    problem = noap.Problem(X, k=6, adversary=noap.FeatureWise(1.0))
    rungs, proved = [], levels_module.Attempt.proved

    def noted(self, refutation):
        proved(self, refutation)
        if self.instance.k == problem.k:
            rungs.append(self.instance.outward(self.bound))

    monkeypatch.setattr(levels_module.Attempt, "proved", noted)
    monkeypatch.setattr(levels_module.Attempt, "_is_relaxable", lambda self: False)  # whose bound would be the better
    result = older.solve(problem, gap=1e-6, node_limit=700)
    assert result.limit is Limit.NODES
    assert rungs
    assert result.bound == min(rungs)
    assert result.trace[-1].bound == result.bound
    assert noap.verify(problem, result.certificate).ok


def test_levels_that_stay_open_spoil_nothing(forced, clusters, noise, monkeypatch):
    """With next to nothing to spend every level is left open again and again, and the last is proved all the same."""
    monkeypatch.setattr(levels_module, "_ROOTS", 1e-3)
    monkeypatch.setattr(attempt_module, "_HEAD_START", 0)  # so that what is left open has bounds to its name
    solved(*clusters, 1e-6)
    proof = solved(*noise, 1e-6).certificate.proof
    assert len(set(proof.ks.tolist())) < len(proof.ks)  # some took several turns


def test_a_proof_may_end_below_k(forced, clusters, monkeypatch):
    """The optimum of k features is at most k/q times that of q: no tree is about k features at all."""
    at = Chain.at

    def not_the_last(self, k):
        if k == self.instance.k:
            raise KeyboardInterrupt
        return at(self, k)

    monkeypatch.setattr(Chain, "at", not_the_last)
    X = np.random.default_rng(3).standard_normal((20, 7))
    rho = 0.2 * float(np.linalg.norm(X, axis=0).max())
    loose = noap.Problem(X, k=4, adversary=noap.FeatureWise(rho))
    for problem, v in (clusters, (loose, feature_wise_best(X.T @ X, 20, 4, rho, grid=60)[1])):
        result = checked(problem, v, gap=1e-6)
        assert result.limit is Limit.INTERRUPTED
    assert isinstance(result.certificate.proof, LevelsProof)
    assert result.certificate.proof.ks.max() == 3
    assert result.bound == pytest.approx(result.certificate.proof.bounds[-1] * 4 / 3, rel=1e-9)


def test_a_search_that_keeps_no_proof_goes_by_levels_as_well(forced, clusters):
    problem, v = clusters
    with_proof, without = older.solve(problem, gap=1e-6), older.solve(problem, gap=1e-6, certificate=False)
    assert without.status is with_proof.status is Status.OPTIMAL
    assert (without.bound, without.nodes) == (with_proof.bound, with_proof.nodes)
    assert without.proof is None
    assert Fraction(without.bound) >= exact_worth(problem, v)


@pytest.mark.parametrize("short", [1e-3, 0.9999999999, 1.0])
def test_more_places_than_features_that_matter(forced, short):
    """k features are asked for and fewer are longer than rho; others end just below it."""
    X = np.random.default_rng(7).standard_normal((30, 7))
    X /= np.linalg.norm(X, axis=0)
    X[:, 3:] *= 0.5 * short
    for k in (3, 4, 6, 7):
        problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(0.5))
        solved(problem, feature_wise_best(X.T @ X, 30, min(k, 4), 0.5, grid=60)[1], 1e-6)


def test_all_features_may_be_used(forced):
    X = np.random.default_rng(8).standard_normal((12, 6))
    for rho in (0.0, 0.5, 2.0):
        problem = noap.Problem(X, k=6, adversary=noap.FeatureWise(rho))
        v = feature_wise_best(X.T @ X, 12, 6, rho, grid=60)[1]
        solved(problem, v, 1e-6)


def test_a_level_may_be_proved_by_the_relaxation(forced, monkeypatch):
    """Where the trees of a level get nowhere, its bound is that of the relaxation, and so is its proof."""
    from noap.exact.feature_wise import attempt

    monkeypatch.setattr(attempt, "_PATIENCE_FOR_TREES", 0)
    monkeypatch.setattr(attempt, "_RELAXED", 1e9)
    monkeypatch.setattr(attempt, "_PLAIN_WITH_FLOORS", 1)
    X = np.random.default_rng(11).standard_normal((30, 8))
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(1.0))
    v = feature_wise_best(X.T @ X, 30, 4, 1.0, grid=60)[1]
    result = checked(problem, v, gap=1e-4, node_limit=2000)
    kinds = {type(tree) for tree in result.certificate.proof.trees}
    assert kinds == {GramProof, RelaxationProof} or kinds == {RelaxationProof}


def test_both_ways_agree():
    X = grouped(4, n=60, groups=12, each=6)
    problem = noap.Problem(X, k=6, adversary=noap.FeatureWise(0.6 * np.sqrt(60)))
    race = older.solve(problem, gap=1e-4)
    with pytest.MonkeyPatch.context() as patch:
        force_levels(patch)
        chain = older.solve(problem, gap=1e-4)
    assert race.status is chain.status is Status.OPTIMAL
    assert chain.value == pytest.approx(race.value, rel=1e-9)
    assert max(chain.value, race.value) <= min(chain.bound, race.bound)
    assert noap.verify(problem, race.certificate).ok
    assert noap.verify(problem, chain.certificate).ok


def test_memory_of_one_level_is_not_counted_for_the_next(forced, monkeypatch):
    X = grouped(6, groups=10)
    problem = noap.Problem(X, k=5, adversary=noap.FeatureWise(0.3 * np.sqrt(40)))
    certificate = older.solve(problem, gap=1e-4).certificate
    rooms, check_level = [], checker_levels.check_level

    def noted(*arguments):
        rooms.append(arguments[-1].room)
        return check_level(*arguments)

    monkeypatch.setattr(checker_levels, "check_level", noted)
    assert noap.verify(problem, certificate, memory_limit=100.0).ok
    assert len(rooms) >= 4
    assert set(rooms) == {rooms[0]}
