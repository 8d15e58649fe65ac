"""Certificates that the search finds, given to the second checker: what is honest is accepted; lists and their rule."""

import math
from dataclasses import replace

import numpy as np
import pytest
from packing import Case

import noap
from noap.kernel import container
from second_checker import proved, refusal, second_verdict, words


def with_ties(seed):
    """Signs and zeros, and a budget that inner products meet to the last digit."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 7)), int(rng.integers(4, 7))
    X = rng.integers(-1, 2, (n, d)).astype(float)
    X[0] = 1
    rho = float(rng.choice([0.5, 0.8])) * np.linalg.norm(X, axis=0).max()
    return noap.Problem(X, int(rng.integers(2, 4)), noap.FeatureWise(rho))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [33, 75, 81, 105, 115, 120, 251, 283, 495, 688])
def test_columns_whose_product_with_u_is_the_budget(seed):
    """Whether |g_j| is at least r_j decides whether a column grows by the gain: there any smaller budget will do."""
    problem = with_ties(seed)
    assert refusal(problem, noap.solve(problem, gap=1e-6).certificate) is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_lists_of_the_search(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 12)), int(rng.integers(3, 8))
    X = rng.standard_normal((n, d)) if seed % 3 else rng.integers(-1, 2, (n, d)).astype(float)
    X[0] += 1.0
    lengths = np.linalg.norm(X, axis=0)
    costs = 0.1 * rng.random(d) * lengths.max() ** 2 / n if seed % 4 == 1 else None
    rho = lengths * rng.uniform(0, 0.7, d) if seed % 2 else np.zeros(d)
    terms = {"k": min(3, d), "adversary": noap.FeatureWise(rho), "costs": costs}
    problem = noap.Problem(X, **terms)
    if seed % 5 == 2:
        problem = noap.Problem.from_covariance(problem.covariance, n_samples=n, **terms)
    near = noap.near_optimal(problem, float(rng.choice([1e-6, 0.05, 0.5])))
    assert near.complete
    assert refusal(problem, near.certificate) is None
    said = words(near.certificate.to_bytes(), problem.covariance if problem.X is None else problem.X)
    assert f" {len(near.certificate.proof.supports)} supports" in said
    assert "T = " in said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scale", [1e-20, 1e-29, 1e-60])
def test_columns_far_below_the_others(scale):
    """Whether a feature contributes anything is decided exactly, however small it is beside the largest."""
    rng = np.random.default_rng(10)
    n, d = 8, 5
    X = rng.standard_normal((n, d)) + 0.5
    small = np.array([False, True, False, True, True])
    X[:, small] *= scale
    lengths = np.linalg.norm(X, axis=0)
    costs = np.where(small, 2.0, 0.1) * lengths**2 / n
    for adversary in (noap.NoAdversary(), noap.FeatureWise(0.3), noap.FeatureWise(0.2 * lengths), noap.SampleWise(0.3)):
        for terms in ({}, {"costs": costs}, {"include": [1]}, {"exclude": [0, 2], "k": 2}):
            problem = noap.Problem(X, **{"k": 3, "adversary": adversary, **terms})
            assert refusal(problem, noap.solve(problem).certificate) is None


@pytest.mark.filterwarnings("ignore")
def test_a_feature_left_out_that_is_worth_just_what_it_costs():
    """Against samples one may be left out where its column is worth no more than its cost, exactly."""
    X = np.array([[1.0, 2.0**-98], [1.0, 0.0]])
    for cost, accepted in ((2.0**-197, True), (math.nextafter(2.0**-197, 0.0), False)):
        problem = noap.Problem(X, 2, noap.SampleWise(0.1), costs=[0.0, 1.0])
        header, arrays = container.unpack(noap.solve(problem).certificate.to_bytes())
        header.pop("arrays")
        assert arrays["features"].tolist() == [0]
        raw = container.pack(header, arrays | {"costs": np.array([0.0, cost])})
        reason = second_verdict(raw, X)
        assert (reason is None) == accepted
        assert accepted or "leaves out" in reason


def test_a_node_without_features_may_name_a_record():
    case = Case(np.eye(2), 2)
    first, second = case.dominance(case.majorant()), case.dominance(case.majorant())
    tree = [("FEATURE", 0), ("DOMINANCE", first), ("FEATURE", 1), ("DOMINANCE", first), ("DOMINANCE", second)]
    assert case.level(0.6, tree).verdict() is None
    case.arrays["item"][-1] = 2
    assert "no such record" in case.verdict()


DIAGONAL = np.diag([2.0, 1.0, 0.5])


def listing(nodes, *supports, T=1.001, costs=None, **changes):
    """Return why a list of diag(1, 1/2, 1/4), k = 2, in units of 2, is refused."""
    case = Case(DIAGONAL, 2, costs=costs, source="covariance", n=1)
    unit = case.unit
    case.level(9.0 / unit, [("LENGTHS", 0)])
    plain = case.dominance(case.majorant())
    for features, value, beyond in supports:
        case.listed(features, [1.0] * len(features), value / unit, beyond / unit)
    case.level(2 * T / unit, [(rule, plain if rule == "DOMINANCE" else item) for rule, item in nodes])
    return case.verdict(case.file(**({"kind": "list", "bound": 9.0} | changes)))


NODES = [("FEATURE", 2), ("DOMINANCE", 0), ("LISTED", 0)]
BOTH = ([0, 1], 1.49, 1.5)


def test_listed():
    assert listing(NODES, BOTH) is None
    assert "worth less than it says" in listing(NODES, ([0, 1], 1.5 * (1 + 1e-12), 1.6))
    assert listing(NODES, ([0, 1], 1.5 * (1 - 1e-12), 1.6)) is None
    assert "features that the support has not" in listing(NODES, ([0, 2], 1.0, 1.5))
    assert "no such record" in listing([*NODES[:2], ("LISTED", 1)], BOTH)
    assert "claims nothing of them" in listing(NODES, BOTH, kind="single")
    assert "not positive" in listing(NODES, BOTH, T=0.999)
    assert "claims nothing of them" in listing(NODES, BOTH, kind="joint")


def test_listed_with_costs():
    decided = [("FEATURE", 0), ("FEATURE", 1), ("LISTED", 0), ("DOMINANCE", 0), ("DOMINANCE", 0)]
    for costs in ([0.0, 0.1, 0.0], [0.0, 0.0, 1e-300]):
        assert listing(decided, (*BOTH[:1], 1.3, 1.5), T=1.1, costs=costs) is None
        assert "a part may be worth more" in listing(NODES, (*BOTH[:1], 1.3, 1.5), T=1.1, costs=costs)


def test_beyond():
    raised = [("FEATURE", 0), ("BEYOND", 0), ("LENGTHS", 0), ("LENGTHS", 0)]
    assert listing(raised, ([0], 1.9, 3.0 + 1e-6), T=0.76) is None
    assert "more than T" in listing(raised, ([0], 1.9, 3.0 - 1e-6), T=0.76)
    assert "more than T" in listing(raised, ([0], 1.9, 9.0), T=0.74)
    assert "contain the support" in listing(raised, ([1], 0.9, 9.0), T=0.76)
    assert "open" in listing(raised[:-1], ([0], 1.9, 9.0), T=0.76)
    inner = [("FEATURE", 0), ("BEYOND", 0), ("BEYOND", 1), ("LENGTHS", 0), ("LENGTHS", 0)]
    assert "more than T" in listing(inner, ([0], 1.9, 9.0), ([0], 1.9, 1.0), T=0.76)
    assert listing(inner, ([0], 1.9, 1.0), ([0], 1.9, 9.0), T=0.76) is None
    below = [("FEATURE", 0), ("BEYOND", 0), ("FEATURE", 1), ("LENGTHS", 0), ("LENGTHS", 0), ("LENGTHS", 0)]
    assert listing(below, ([0], 1.9, 3.0 + 1e-6), T=0.76) is None
    assert "more than T" in listing(below, ([0], 1.9, 3.0 - 1e-6), T=0.76)


@pytest.mark.parametrize("seed", range(12))
def test_the_spectral_norm(seed):
    """Proofs are about the variance; value and bound are what the budget leaves of both."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 20)), int(rng.integers(3, 7))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4)
    k, rho = int(rng.integers(1, d)), float(np.linalg.norm(X, 2) * rng.choice([0, 0.01, 0.2, 0.3]))
    terms = {"k": k, "adversary": noap.SpectralNorm(rho)}
    data = X if seed % 2 else X.T @ X / n
    problem = noap.Problem(X, **terms) if seed % 2 else noap.Problem.from_covariance(data, n_samples=n, **terms)
    result = noap.solve(problem, gap=0.1)
    certificate = result.certificate
    value, bound = map(float, proved(certificate.to_bytes(), data))
    assert value == pytest.approx(result.value, rel=1e-9)
    assert bound == pytest.approx(result.bound, rel=1e-14)
    for less in (1e-9, 0.1 * result.gap):
        claim = replace(certificate.claim, bound=result.bound * (1 - less))
        false = replace(certificate, claim=claim)
        assert not noap.verify(problem, false).ok
        assert refusal(problem, false) is not None
