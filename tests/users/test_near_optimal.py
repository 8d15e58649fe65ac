"""Lists of near-optimal supports against brute force over all of them."""

import itertools
import signal

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine

import noap
from judge import feature_wise_best, vanilla_best
from noap.errors import InvalidProblem, NoapWarning


def best_on(A, n, rho, support):
    """The optimum on a support and the features its best direction uses, by code that is not noap's."""
    block = A[np.ix_(support, support)]
    value, v = feature_wise_best(block, n, len(support), rho) if rho else vanilla_best(block / n, len(support))
    return value, () if v is None else tuple(int(support[j]) for j in np.flatnonzero(np.abs(v) > 1e-7))


def judged(X, k, rho):
    """Every set of at most k features that its best direction uses all of, and its value."""
    A, n = X.T @ X, len(X)
    found = {}
    for size in range(1, k + 1):
        for S in itertools.combinations(range(X.shape[1]), size):
            value, used = best_on(A, n, rho, np.array(S))
            if used == S:
                found[S] = value
    return found


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.5, 0.8]), st.sampled_from([1e-6, 0.01, 0.1, 0.4]))
def test_every_support_within_the_share_is_listed_and_no_other(seed, noise, within):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 9)), int(rng.integers(2, 7))
    k = int(rng.integers(1, min(d, 4) + 1))
    X = rng.standard_normal((n, d))
    if seed % 3 == 0:
        X = np.round(X)
    if seed % 4 == 0:
        X[:, 0] = -X[:, 1]
    rho = noise * float(np.linalg.norm(X, axis=0).max())
    problem = noap.Problem(X, k=k, adversary=noap.FeatureWise(rho))
    assume(not problem.optimum_is_zero)
    near = noap.near_optimal(problem, within)
    assert near.complete
    family = judged(X, k, rho)
    best = max(family.values())
    assert near.values[0] == pytest.approx(best, rel=1e-7)
    listed = {tuple(support.tolist()) for support in near.supports}
    assert len(listed) == len(near)
    # A value that lies on the threshold to the last digits may be on either side.
    surely = {S for S, value in family.items() if value > (1 - within) * best * (1 + 1e-7)}
    perhaps = {S for S, value in family.items() if value > (1 - within) * best * (1 - 1e-7)}
    for S in listed:
        assert S in perhaps
        assert not any(set(S) < set(other) for other in listed)
    slack = max(min(within / 10, 1e-4), 1e-6)
    for S in surely:
        parts = [family[part] for part in listed if set(part) < set(S)]
        assert any(set(S) <= set(other) for other in listed) or family[S] <= (1 + 1.01 * slack) * max(parts, default=0)
    assert noap.verify(problem, near.certificate).supports == len(near)


@pytest.fixture(scope="module")
def wine():
    bunch = load_wine()
    Z = (bunch.data - bunch.data.mean(axis=0)) / bunch.data.std(axis=0)
    return pl.DataFrame(Z, schema=bunch.feature_names)


def test_what_the_list_tells(wine):
    problem = noap.Problem(wine, k=8, adversary=noap.NoAdversary())
    near = noap.near_optimal(problem, 0.02)
    assert near.complete
    assert near.limit is None
    assert near.values[0] == pytest.approx(noap.solve(problem).value)
    assert (near.values >= near.threshold * (1 - 1e-8)).all()
    assert (np.diff(near.values) <= 0).all()
    assert near.values == pytest.approx([problem.value(v) for v in near.vectors])
    assert set(near.core) == set.intersection(*(set(support.tolist()) for support in near.supports))
    assert near.counts.sum() == sum(map(len, near.supports))
    table = near.to_frame()
    assert table["share"][0] == 1.0
    assert table["instead_of"].to_list()[0] == []
    for row in table.iter_rows(named=True):
        first = set(table["features"].to_list()[0])
        assert set(row["features"]) == (first - set(row["instead_of"])) | set(row["has"])
    assert f"; {len(near)} supports within 2 % of " in repr(near)
    assert len(noap.near_optimal(problem, 0.0)) == 1


def test_limits_leave_the_list_incomplete(wine):
    problem = noap.Problem(wine, k=6, adversary=noap.FeatureWise(1.0))
    some = noap.near_optimal(problem, 0.2, limit=3)
    assert not some.complete
    assert 1 <= len(some) <= 4
    late = noap.near_optimal(problem, 0.2, time_limit=1e-9)
    assert not late.complete
    assert late.limit is noap.Limit.TIME
    assert len(late) == 1


def test_ctrl_c_leaves_the_list_so_far(wine):
    problem = noap.Problem(wine, k=7, adversary=noap.FeatureWise(1.0))
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        stopped = noap.near_optimal(problem, 0.4)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert stopped.limit is noap.Limit.INTERRUPTED
    assert not stopped.complete
    assert stopped.certificate is None
    assert len(stopped) >= 1


def test_a_zero_optimum_has_no_supports():
    with pytest.warns(NoapWarning, match="no support is worth anything"):
        near = noap.near_optimal(noap.Problem(np.eye(3), k=2, adversary=noap.FeatureWise(2.0)))
    assert near.complete
    assert len(near) == len(near.core) == near.threshold == 0
    assert near.to_frame().height == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"problem": np.eye(3)}, "problem must be a noap.Problem"),
        ({"within": 1.0}, "within must be a number of at least 0 and below 1"),
        ({"within": -0.1}, "within must be"),
        ({"within": "1%"}, "within must be"),
        ({"limit": 0}, "limit must be a positive integer"),
        ({"limit": 2.5}, "limit must be"),
        ({"limit": True}, "limit must be"),
        ({"problem": noap.Problem(np.eye(3), k=1, adversary=noap.SampleWise(0.1))}, "near_optimal"),
    ],
)
def test_what_cannot_be_used_is_named(arguments, sentence):
    problem = noap.Problem(np.eye(3), k=2, adversary=noap.NoAdversary())
    with pytest.raises(InvalidProblem, match=sentence):
        noap.near_optimal(**({"problem": problem} | arguments))


@pytest.mark.parametrize("seed", [1, 5, 11, 13, 17])
def test_with_costs_no_set_is_listed_that_is_worth_more_without_a_feature(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 6)) + rng.standard_normal((20, 1)) * rng.uniform(0, 1, 6)
    costs = rng.uniform(0, 0.3, 6)
    near = noap.near_optimal(noap.Problem(X, k=3, adversary=noap.FeatureWise(0.3 * 20**0.5), costs=costs), 0.1)
    for S, value in zip(near.supports, near.values, strict=True):
        for j in S:
            rest = np.setdiff1d(S, [j])
            part, _ = feature_wise_best(X[:, rest].T @ X[:, rest], 20, len(rest), 0.3 * 20**0.5, costs=costs[rest])
            assert part <= value * (1 + 1e-7)
    assert noap.verify(near.problem, near.certificate).supports == len(near)


@pytest.mark.parametrize("seed", [2, 4, 6, 26, 29, 32])
def test_nodes_close_although_vectors_outside_them_are_better(seed):
    """And where the support of a node is listed already, by a vector that is not the best one on it."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 10)), 6
    X = rng.standard_normal((n, d))
    lengths = np.linalg.norm(X, axis=0)
    rho = lengths * rng.random(d) * rng.choice([0.0, 0.5, 1.0], d)
    costs = 0.05 * rng.random(d) * lengths.max() ** 2 / n if seed % 2 else None
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(rho), costs=costs)
    near = noap.near_optimal(problem, 0.9)
    assert near.complete
    assert noap.verify(problem, near.certificate).supports == len(near)


def test_a_feature_that_the_adversary_takes_whole():
    """Feature 0 has the length of its budget: (2 - 1)^2/2 is left of feature 1 alone."""
    problem = noap.Problem([[1.0, 0.0], [0.0, -2.0]], k=2, adversary=noap.FeatureWise(1.0))
    near = noap.near_optimal(problem, 0.05)
    assert [one.tolist() for one in near.supports] == [[1]]
    assert near.values == pytest.approx([0.5])
    assert near.complete
    report = noap.verify(problem, near.certificate)
    assert report.ok
    assert report.supports == 1
