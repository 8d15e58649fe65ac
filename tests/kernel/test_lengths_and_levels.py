"""Lengths, the features that a level may leave out, and what few features prove about more of them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from kernel_judge import Truth, U, exact, smallest

from noap.kernel.arithmetic import Refused
from noap.kernel.data import Data, Terms
from noap.kernel.tree import Checked, check_leaf, check_levels
from noap.kernel.witness import LENGTHS, PLAIN, Dominance, Feature, Level

EVERY = (LENGTHS,)


def data_with(own, k=None, rho=None, costs=None, include=(), exclude=(), definite=True):
    own = np.asarray(own, dtype=float)
    A = np.diag(own) if own.ndim == 1 else own
    terms = Terms(
        len(A) if k is None else k,
        1,
        None if rho is None else np.asarray(rho, dtype=float),
        None if costs is None else np.asarray(costs, dtype=float),
        np.array(include, np.intp),
        np.array(exclude, np.intp),
    )
    return Data(A, terms, 0, definite, 0.0)


def level(size, bound, features, nodes=(), target=None):
    return Level(size, bound, bound if target is None else target, np.array(features, np.intp), tuple(nodes))


def proves(data, *levels):
    try:
        assert check_levels(data, levels) == levels[-1].bound
    except Refused:
        return False
    return True


def lengths_close(data, T, I, F, p):  # noqa: E741
    try:
        check_leaf(Checked(data), T, LENGTHS, np.array(I, np.intp), np.array(F, np.intp), p)
    except Refused:
        return False
    return True


def test_lengths_to_the_last_digit():
    rng = np.random.default_rng(0)
    for _ in range(200):
        d = int(rng.integers(1, 6))
        own = rng.uniform(0.1, 3, d)
        data = data_with(own, rho=np.sqrt(own) * rng.uniform(0, 1.1, d), costs=rng.uniform(0, 0.3, d))
        order = rng.permutation(d)
        n = int(rng.integers(0, d + 1))
        I, F, p = order[:n], order[n:], int(rng.integers(0, d + 2))  # noqa: E741
        T = smallest(lambda T, data=data, y=(I, F, p): lengths_close(data, T, *y), -3.0, 20.0)
        most = exact(data.most)
        free = sorted((max(x, Fraction(0)) for x in most[F]), reverse=True)[:p]
        true = sum(most[I], Fraction(0)) + sum(free, Fraction(0))
        size = sum(abs(most[I]), Fraction(0)) + sum(free, Fraction(0))
        assert true <= exact(T) <= true + (2 * d + 12) * U * size


def test_lengths_are_those_of_columns():
    assert lengths_close(data_with([1.0, 2.0]), 2.1, [], [0, 1], 1)
    assert not lengths_close(data_with([1.0, 2.0], definite=False), 2.1, [], [0, 1], 1)
    assert not lengths_close(data_with([1.0, 2.0]), np.nan, [], [0, 1], 1)
    # Contributions add up over all features, included ones below 0 too.
    data = data_with([1.0, 2.0], costs=[1.5, 0.0])
    assert lengths_close(data, -0.49, [0], [], 0)
    assert not lengths_close(data, -0.51, [0], [], 0)
    assert lengths_close(data, 1.6, [0], [1], 1)
    assert not lengths_close(data, 1.4, [0], [1], 1)
    assert not lengths_close(data, -0.1, [], [0], 1)


def test_a_level_without_nodes_is_proved_by_what_is_known_of_fewer_features():
    data = data_with([1.0, 0.5, 0.25], k=3)
    assert proves(data, level(3, 1.7501, []))
    assert not proves(data, level(3, 1.7499, []))
    assert proves(data, level(3, 1.7499, [0, 1, 2], [Dominance(PLAIN)]))
    # 3/2 of what two features can do, once that is known.
    two = level(2, 1.01, [0, 1, 2], [Dominance(PLAIN)])
    assert proves(data, two, level(3, 1.516, []))
    assert not proves(data, two, level(3, 1.514, []))
    # One feature, then twice as much for two, 3/2 of that for three, but lengths say 1.75.
    one = level(1, 1.01, [0, 1, 2], [Dominance(PLAIN)])
    assert not proves(data, one, level(3, 1.74, []))
    assert proves(data, one, level(2, 1.5001, []), level(3, 1.7501, []))
    flat = data_with([1.0, 1.0, 1.0, 1.0], k=4)
    assert proves(flat, level(1, 1.0001, [0, 1, 2, 3], [Dominance(PLAIN)]), level(4, 4.001, []))
    together = data_with(0.9 + 0.1 * np.eye(4), k=4)
    low = level(2, 1.91, [0, 1, 2, 3], [Dominance(PLAIN)])
    three = data_with(0.9 + 0.1 * np.eye(4), k=3)
    assert proves(three, low, level(3, 2.8651, []))  # 3/2
    assert not proves(three, low, level(3, 2.8649, []))
    assert proves(together, low, level(4, 3.8201, []))  # 3/2 times 4/3
    assert not proves(together, low, level(4, 3.8199, []))


def test_the_ratio_is_rounded_up():
    rng = np.random.default_rng(1)
    for _ in range(60):
        own = float(rng.uniform(0.5, 2))
        k = int(rng.integers(3, 8))
        data = data_with(np.full(k, own) * 3, k=k)
        first = int(rng.integers(1, k))
        T = float(rng.uniform(3.1, 3.2)) * own
        known = level(first, T * first, list(range(k)), [Dominance(PLAIN)])
        last = smallest(lambda T, x=(data, known), k=k: proves(*x, level(k, T, [])), 0.0, 9.0 * k)
        true = min(exact(T * first) * k / first, sum(exact(data.most)))
        assert true <= exact(last) <= true * (1 + 40 * k * U)


def test_what_may_be_left_out():
    data = data_with([1.0, 0.5, 0.25], k=2)
    # At T = 1.3 another feature beside the best one must bring 0.3.
    assert proves(data, level(2, 1.3, [0, 1], [Dominance(PLAIN)]))
    assert not proves(data, level(2, 1.3, [0, 2], [Dominance(PLAIN)]))
    assert not proves(data, level(2, 1.24, [0, 1], [Dominance(PLAIN)]))
    assert proves(data, level(2, 1.24, [0, 1, 2], [Dominance(PLAIN)]))
    # One is known better: then two need more of the second.
    one = level(1, 1.0001, [0, 1, 2], [Dominance(PLAIN)])
    assert proves(data, one, level(2, 1.2502, [0, 1], [Dominance(PLAIN)]))
    assert not proves(data, one, level(2, 1.2498, [0, 1], [Dominance(PLAIN)]))
    # A level that proves more than is known does not worsen it.
    high = level(1, 1.9, [0, 1, 2], [Dominance(PLAIN)])
    assert proves(data, high, level(2, 1.2502, [0, 1], [Dominance(PLAIN)]))


def test_what_may_be_left_out_to_the_last_digit():
    rng = np.random.default_rng(2)
    for _ in range(200):
        own = np.sort(rng.uniform(0.1, 1, 3))[::-1] * np.array([1.0, 0.9, 0.5])
        data = data_with(own, k=2)
        T = smallest(lambda T, data=data: proves(data, level(2, T, [0, 1], [Dominance(PLAIN)])), 0.0, 4.0)
        assert exact(T) >= exact(own[0]) + exact(own[2])
        assert (own[0] + own[2]) * (1 + 1e-14) >= T


def test_features_without_a_contribution_may_be_left_out_at_any_threshold():
    data = data_with([1.0, 0.5, 0.25, 0.3], k=2, rho=[0.0, 0.8, 0.6, np.inf], include=[1])
    assert proves(data, level(2, 1.01, [0, 1], [Dominance(PLAIN)]))
    assert not proves(data, level(2, 9.0, [0], [Dominance(PLAIN)]))  # demanded
    assert not proves(data, level(2, 9.0, [1], [Dominance(PLAIN)]))  # with demanded features no floor is known
    assert proves(data, level(2, 9.0, [0, 1, 2], [Dominance(PLAIN)]))
    alone = data_with([1.0, 0.5], k=1, rho=[1.1, 0.8])
    assert proves(alone, level(1, 0.0, []))
    assert proves(alone, level(1, 0.0, [], [LENGTHS]))
    # No unit vector is left there to be above a bound, but no features at all have the value 0.
    assert not proves(alone, level(1, -1e-300, [], [LENGTHS]))
    paid = data_with([1.0, 0.5], k=2, rho=[1.1, 0.8], costs=[0.1, 0.2], include=[0, 1])
    total = 0.1 + 0.2  # one ulp above the sum of the two doubles
    assert proves(paid, level(2, -math.nextafter(total, 0.0), [0, 1], EVERY))
    assert not proves(paid, level(2, -total, [0, 1], EVERY))


def test_forbidden_and_doubled_features():
    data = data_with([1.0, 0.5, 0.25], k=2, exclude=[0])
    assert proves(data, level(2, 0.76, [1, 2], EVERY))
    assert not proves(data, level(2, 9.0, [0, 1, 2], EVERY))
    assert not proves(data, level(2, 9.0, [1, 1, 2], EVERY))
    assert proves(data, level(2, 0.76, []))
    assert not proves(data, level(2, 0.74, []))


def test_nothing_is_left_out_of_an_indefinite_matrix():
    data = data_with([[0.0, 1.0], [1.0, -1.0]], k=2, definite=False)
    assert proves(data, level(2, 1.01, [0, 1], [Dominance(PLAIN)]))
    assert not proves(data, level(2, 1.01, [0], [Dominance(PLAIN)]))
    assert not proves(data, level(2, 9.0, []))
    assert not proves(data, level(1, 1.0, [0, 1], [Dominance(PLAIN)]), level(2, 1.01, [0, 1], [Dominance(PLAIN)]))


def test_sizes_rise_to_the_last():
    data = data_with([1.0, 0.5, 0.25], k=2)
    good = level(2, 2.0, [])
    assert proves(data, good)
    assert not proves(data)
    assert not proves(data, level(1, 2.0, []))
    assert not proves(data, level(3, 2.0, []))
    assert not proves(data, level(0, 2.0, []))
    assert not proves(data, level(0, 2.0, []), good)
    assert not proves(data, good, good)
    assert not proves(data, good, level(1, 2.0, []))
    assert proves(data, level(1, 2.0, []), good)
    # No more features are allowed than one.
    few = data_with([1.0, 0.5, 0.25], k=2, exclude=[0, 1])
    assert proves(few, level(1, 0.26, []))
    assert proves(few, level(2, 0.26, []))


def test_several_levels_need_that_no_feature_is_demanded():
    data = data_with([1.0, 0.5, 0.25], k=2, include=[1])
    one = level(1, 0.51, [0, 1, 2], EVERY)
    two = level(2, 1.51, [0, 1, 2], EVERY)
    assert proves(data, two)
    assert not proves(data, one, two)
    assert not proves(data, level(2, 9.0, []))  # a level without nodes neither


def test_a_demanded_feature_uses_a_place():
    data = data_with([1.0, 0.5, 0.25], k=2, include=[1])
    assert proves(data, level(2, 1.5001, [0, 1, 2], EVERY))
    assert not proves(data, level(2, 1.4999, [0, 1, 2], EVERY))
    full = data_with([1.0, 0.5, 0.25], k=1, include=[1])
    assert proves(full, level(1, 0.5001, [0, 1, 2], EVERY))
    assert not proves(full, level(1, 0.4999, [0, 1, 2], EVERY))
    both = data_with([1.0, 0.5, 0.25], k=2, include=[0, 1])
    with pytest.raises(Refused, match="more features are demanded"):
        check_levels(both, [level(1, 9.0, [0, 1, 2], EVERY)])


def test_a_target_is_at_most_the_bound():
    data = data_with([1.0, 0.5], k=1)
    leaf = (Dominance(PLAIN),)
    assert proves(data, level(1, 1.2, [0, 1], leaf, target=1.1))
    assert not proves(data, level(1, 1.1, [0, 1], leaf, target=1.2))
    assert not proves(data, level(1, 1.2, [0, 1], leaf, target=0.9))
    # Lengths show the bound, not the target.
    assert proves(data, level(1, 1.2, [0, 1], EVERY, target=0.9))
    assert not proves(data, level(1, 0.9, [0, 1], EVERY, target=0.5))


def test_random_levels_prove_nothing_false():
    """Thresholds around the truth of each size, features left out at random."""
    rng = np.random.default_rng(3)
    accepted = 0
    for _ in range(400):
        d = int(rng.integers(2, 5))
        B = rng.standard_normal((d, d)) * rng.uniform(0.2, 1, d)
        A = B @ B.T
        A = 0.5 * (A + A.T)
        rho = rng.uniform(0, 0.5, d) if rng.random() < 0.5 else None
        costs = rng.uniform(0, 0.3, d) if rng.random() < 0.5 else None
        data = data_with(A, rho=rho, costs=costs) if np.abs(A).max() < 900 else None
        levels, worth = [], []
        sizes = sorted(set(rng.integers(1, d + 1, 3).tolist()) | {d})
        for q in sizes:
            best = float(Truth(q, S=A, n=1, rho=rho, costs=costs).best()[0])
            bound = max(best, 0.01) * rng.choice([0.9, 1.0, 1.05, 1.3, 2.0])
            worth.append(best)
            kept = np.flatnonzero((data.most > rng.choice([0.0, 0.1, 0.3])) | (rng.random(d) < 0.3))
            nodes = () if rng.random() < 0.4 else (Dominance(PLAIN),) if rng.random() < 0.5 else EVERY
            levels.append(level(q, bound, kept, nodes if len(kept) else EVERY))
        if proves(data, *levels):
            accepted += 1
            assert all(one.bound >= best for one, best in zip(levels, worth, strict=True))
    assert accepted > 30


def test_branching_within_a_level():
    data = data_with([1.0, 0.5, 0.25], k=2)
    nodes = [Feature(0), Feature(1), Dominance(PLAIN), Dominance(PLAIN), Dominance(PLAIN)]
    assert proves(data, level(2, 1.01, [0, 1, 2], nodes))
