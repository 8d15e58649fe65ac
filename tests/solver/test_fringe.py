"""Dominance on a pool of features with bounds for the others: what it closes the kernel closes, and nothing is lost."""

import warnings
from itertools import combinations

import numpy as np
import pytest

import noap
from noap.kernel.arithmetic import Refused
from noap.kernel.data import Data, Terms
from noap.kernel.majorant import Majorant
from noap.kernel.tree import Checked, check_leaf
from noap.kernel.witness import PLAIN, Attack, Dominance, Scaling
from noap.search.fringe import Fringe

FEW = noap.Settings(fringe_features=1, fringe_pool=2, levels_from=10**9)


def drawn(rng, d):
    """Columns that share factors, and budgets and costs of theirs."""
    X = rng.standard_normal((2 * d, 3)) @ rng.standard_normal((3, d)) * rng.uniform(0, 2) + rng.standard_normal(
        (2 * d, d)
    )
    X *= rng.uniform(0.5, 1.5, d)
    rho = rng.uniform(0, 0.5, d) * np.linalg.norm(X, axis=0) if rng.random() < 0.6 else np.zeros(d)
    costs = rng.uniform(0, 0.2, d) if rng.random() < 0.4 else None
    return X, rho, costs


@pytest.mark.parametrize("seed", range(6))
def test_what_it_closes_the_kernel_closes(seed):
    rng = np.random.default_rng(seed)
    closed = open_ = 0
    for _ in range(60):
        d, k = int(rng.integers(5, 14)), int(rng.integers(2, 5))
        X, rho, costs = drawn(rng, d)
        data = Data.from_samples(lambda X=X: [X], d, Terms(k, len(X), rho, costs))
        attack = PLAIN
        if rho.any():
            S = np.argsort(-data.most)[:k]
            attack = Attack(np.sort(S), rng.standard_normal(k), 0.0 if rng.random() < 0.5 else 1e-3)
        try:
            majorant = Majorant(data, attack)
        except Refused:
            continue
        T = float(np.linalg.eigvalsh(data.A)[-1]) * rng.uniform(0.5, 1.2)
        fringe = Fringe(majorant, k, T, FEW)
        order, size = rng.permutation(d), int(rng.integers(0, k))
        I, F = order[:size], order[size:]  # noqa: E741
        z = np.ones(d)
        done, _ratio, feature = fringe.test(I, F, k - size, z)
        assert done or feature == -1 or feature in F
        if done:
            others = np.flatnonzero(z != 1.0)
            scaling = Scaling(others, z[others].astype(np.float32)) if len(others) else None
            check_leaf(Checked(data), T, Dominance(attack, scaling), I, F, k - size)
        closed, open_ = closed + done, open_ + (not done)
    assert closed > 5
    assert open_ > 5


def best_of(A, k):
    """The largest eigenvalue of any k features."""
    return max(float(np.linalg.eigvalsh(A[np.ix_(S, S)])[-1]) for S in combinations(range(len(A)), k))


def test_the_same_answers():
    """With a pool that begins with two features: the optimum by brute force, and what the tree finds without it."""
    rng = np.random.default_rng(10)
    for _ in range(12):
        d, k = int(rng.integers(6, 11)), int(rng.integers(2, 5))
        X, rho, costs = drawn(rng, d)
        for adversary in (noap.NoAdversary(), noap.FeatureWise(rho)):
            problem = noap.Problem(X, k, adversary, costs=costs)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", noap.errors.NoapWarning)
                one, other = noap.solve(problem, settings=FEW), noap.solve(problem)
            assert one.value == pytest.approx(other.value, rel=1e-3, abs=1e-9)
            assert one.status.value == other.status.value
            assert noap.verify(problem, one.certificate).ok
            if costs is None and isinstance(adversary, noap.NoAdversary):
                truth = best_of(X.T @ X / len(X), k)
                assert one.value <= truth * (1 + 1e-9)
                assert one.bound >= truth * (1 - 1e-12)


def test_the_fringe_grows_no_further_than_it_may():
    """Where the pool must not grow, fewer nodes are closed that way, and the answer is the same."""
    rng = np.random.default_rng(11)
    X, _, _ = drawn(rng, 30)
    problem = noap.Problem(X, 3, noap.NoAdversary())
    tight = noap.Settings(fringe_features=1, fringe_pool=1, fringe_most=1, levels_from=10**9)
    one, other = noap.solve(problem, settings=tight), noap.solve(problem)
    assert one.value == pytest.approx(other.value, rel=1e-6)
    assert one.status.value == "optimal"
