"""Elimination of included features: the computed complement is exact data for a threshold that is a hair lower."""

from itertools import combinations

import numpy as np
import pytest
from kernel_judge import exact, roots, smallest, sparsely_semidefinite, unit

from noap.kernel.arithmetic import Refused, gamma
from noap.kernel.data import Data, Terms
from noap.kernel.definite import dominance
from noap.kernel.majorant import Complement, Majorant, eliminate
from noap.kernel.samples import SampleData, SampleMajorant
from noap.kernel.witness import PLAIN, Attack, SampleAttack


def drawn(rng, d, costs=True, definite=True, budget=0.0):
    X = rng.standard_normal((d + 1, d))
    A = X.T @ X / (d + 1)
    A = 0.5 * (A + A.T)
    if not definite:
        A -= np.diag(rng.uniform(0, 1.5, d))
    priced = rng.uniform(0, 0.4, d) if costs else None
    return Data(A, Terms(d, 1, np.full(d, budget) if budget else None, priced), 0, definite, 0.0)


def threshold(majorant, I, F, p):  # noqa: E741
    """The smallest T at which the computed complement is exactly semidefinite on every p features."""

    def accepts(T):
        try:
            return sparsely_semidefinite(exact(eliminate(majorant, T, I, F, p)), p)
        except Refused:
            return False

    return smallest(accepts, -64.0, 64.0 * (1 + majorant.gain))


def whole(majorant, T, I, F):  # noqa: E741
    """(1 + kappa)(T + paid_I) I - M + (1 + kappa) diag_F costs, exactly."""
    grown, both = 1 + exact(majorant.gain), np.concatenate([I, F])
    t = grown * (exact(T) + sum(exact(majorant.paid[j]) for j in I))
    made = t * unit(len(both)) - exact(majorant.block(both, included=len(I)))
    for at in range(len(I), len(both)):
        made[at, at] += grown * exact(majorant.costs[both[at]])
    return made


def holds(majorant, T, I, F, p, room=0.0):  # noqa: E741
    """Whether it is semidefinite, less room, on every set of the node."""
    n = len(I)
    made = whole(majorant, T, I, F) - exact(room) * unit(n + len(F))
    return all(
        sparsely_semidefinite(made[np.ix_(S, S)], len(S))
        for Q in combinations(range(n, n + len(F)), min(p, len(F)))
        for S in [[*range(n), *Q]]
    )


@pytest.mark.parametrize("kind", ["plain", "costs", "indefinite", "attack", "gain"])
def test_the_smallest_threshold_is_right_and_tight(kind):
    rng = np.random.default_rng(["plain", "costs", "indefinite", "attack", "gain"].index(kind))
    for _ in range(24):
        d = int(rng.integers(1, 5))
        data = drawn(rng, d, kind != "plain", kind != "indefinite", 0.15 if kind in ("attack", "gain") else 0.0)
        order = rng.permutation(d)
        n = int(rng.integers(0, d + 1))
        I, F = order[:n], order[n:]  # noqa: E741
        p = int(rng.integers(1, len(F) + 1)) if len(F) else int(rng.integers(0, 2))
        attack = PLAIN
        if kind in ("attack", "gain"):
            attack = Attack(np.arange(d), rng.standard_normal(d), 0.08 if kind == "gain" else 0.0)
        majorant = Majorant(data, attack)
        T = threshold(majorant, I, F, p)
        size = n + min(p, len(F))
        if T + float(majorant.paid[I].sum()) > 1e-100:
            assert holds(majorant, T, I, F, p, size * majorant.error)
            room = size * (majorant.error + 9 * gamma(2 * n + 20) * 20 * (1 + majorant.gain))
            assert not holds(majorant, T - 3 * room, I, F, p)


def test_singular_matrices_to_the_last_digit():
    """At its own largest eigenvalue a matrix is singular: there rounding decides."""
    rng = np.random.default_rng(10)
    for _ in range(300):
        d = int(rng.integers(2, 5))
        b = rng.integers(1, 2**24, d) * rng.choice([-1.0, 1.0], d)
        A = np.outer(b, b) * 2.0**-48  # exactly of rank one, its eigenvalue exactly |b|^2
        data = Data(A, Terms(d, 1), 0, False, 0.0)
        n = int(rng.integers(0, d))
        T = float(exact(b) @ exact(b) / 2**48)
        majorant = Majorant(data, PLAIN)
        I, F = np.arange(n), np.arange(n, d)  # noqa: E741
        for step in (0, 1, 2, 4):
            below = T * (1 - step * 2.0**-53)
            if not holds(majorant, below, I, F, d - n):
                C = eliminate(majorant, below, I, F, d - n)
                assert not sparsely_semidefinite(exact(C), d - n)
        above = T * (1 + 30 * d * gamma(2 * n + 20))
        assert sparsely_semidefinite(exact(eliminate(majorant, above, I, F, d - n)), d - n)


def test_costs_to_the_last_digit():
    """Included features raise the threshold by their costs, free ones their own entry."""
    rng = np.random.default_rng(11)
    for _ in range(30):
        own, costs = rng.uniform(0.5, 2, 2), rng.uniform(0, 0.4, 2)
        data = Data(np.diag(own), Terms(2, 1, None, costs), 0, False, 0.0)
        majorant = Majorant(data, PLAIN)
        none = np.empty(0, np.intp)
        for I, F, p in (([0], [], 0), ([], [0], 1), ([0, 1], [], 0), ([0], [1], 1), ([], [0, 1], 1)):  # noqa: E741
            I, F = none.copy() if not I else np.array(I), none.copy() if not F else np.array(F)  # noqa: E741
            T = threshold(majorant, I, F, p)
            assert holds(majorant, T, I, F, p)
            if T + costs[I].sum() > 1e-100:  # else nothing is left of the threshold
                assert not holds(majorant, T - 2e-13, I, F, p)


def test_costs_that_are_large_beside_the_threshold():
    """The cost of a free feature beside an included one that is nearly closed: it counts as size."""
    rng = np.random.default_rng(14)
    for _ in range(40):
        near, cost = 10.0 ** -rng.uniform(3, 6), rng.uniform(50, 200)
        off = np.sqrt(near * cost) * rng.uniform(0.9, 1.1)
        A = np.array([[1.0 - near, off, 0.0], [off, 1.0, 0.0], [0.0, 0.0, 0.1]])
        data = Data(A, Terms(2, 1, None, np.array([0.0, cost, 0.0])), 0, False, 0.0)
        majorant = Majorant(data, PLAIN)
        I, F = np.array([0]), np.array([1, 2])  # noqa: E741
        T = smallest(lambda T, x=(majorant,), y=(I, F): (c := _complement(*x, T, *y)) is not None and c >= 0, 0.5, 64.0)
        assert holds(majorant, T, I, F, 1)
        assert not holds(majorant, T * (1 - 1e-10), I, F, 1)


def _complement(majorant, T, I, F):  # noqa: E741
    try:
        return eliminate(majorant, T, I, F, 1)[0, 0]
    except Refused:
        return None


def test_what_is_left_of_a_node(capfd):
    data = drawn(np.random.default_rng(12), 3)
    majorant = Majorant(data, PLAIN)
    assert eliminate(majorant, 50.0, np.array([0]), np.array([1, 2]), 0).shape == (0, 0)
    assert eliminate(majorant, 50.0, np.array([0, 1, 2]), np.array([], np.intp), 0).shape == (0, 0)
    none = np.array([], np.intp)
    assert eliminate(majorant, 50.0, none, none, 0).shape == (0, 0)
    C = eliminate(majorant, 50.0, np.array([1]), np.array([2, 0]), 2)
    assert (C == C.T).all()
    C = eliminate(majorant, 50.0, none, np.array([2, 0]), 2)
    assert (C == C.T).all()
    assert capfd.readouterr() == ("", "")  # LAPACK writes its own complaints
    with pytest.raises(Refused, match="included features alone"):
        eliminate(majorant, 1e-3, np.array([0]), np.array([1, 2]), 1)


def test_included_costs_that_nearly_cancel_the_threshold():
    """What is left is 1e-9 of the costs, and the rounding of their sum is much of it."""
    rng = np.random.default_rng(15)
    I, F = np.arange(3), np.empty(0, np.intp)  # noqa: E741
    for _ in range(60):
        costs = rng.uniform(0.5, 1, 3)
        data = Data(np.diag(rng.uniform(1, 2, 3)) * 1e-9, Terms(3, 1, None, costs), 0, True, 0.0)
        majorant = Majorant(data, PLAIN)
        T = threshold(majorant, I, F, 0)
        assert holds(majorant, T, I, F, 0)
        assert not holds(majorant, T - 1e-14, I, F, 0)


@pytest.mark.parametrize("T", [0.0, -1.0, 1e-200, 1e100, np.nan])
def test_a_threshold_must_be_positive_and_finite(T):
    majorant = Majorant(Data(np.eye(2), Terms(2, 1), 0, True, 0.0), PLAIN)
    with pytest.raises(Refused, match="threshold"):
        eliminate(majorant, T, np.array([0]), np.array([1]), 1)


def test_costs_out_of_range_leave_no_number():
    data = Data(np.eye(2), Terms(2, 1, None, np.array([0.0, 1.7e308])), 0, False, 0.0)
    none = np.empty(0, np.intp)
    majorant = Majorant(data, PLAIN)
    majorant.gain = 9.0
    for I, F in ((none, np.arange(2)), (np.array([0]), np.array([1]))):  # noqa: E741
        with np.errstate(all="ignore"):
            with pytest.raises(Refused):
                dominance(eliminate(majorant, 50.0, I, F, 1), 1)
            with pytest.raises(Refused):
                dominance(eliminate(majorant, 50.0, I, F, 2), 2)


def test_costs_make_up_for_a_threshold_below_zero():
    data = Data(np.diag([1.0, 1.0]), Terms(2, 1, None, np.array([3.0, 0.0])), 0, True, 0.0)
    C = eliminate(Majorant(data, PLAIN), -1.0, np.array([0]), np.array([1]), 1)
    assert C[0, 0] == pytest.approx(1.0)


def test_more_features_cost_more_room():
    # What is taken off grows with the size of sets, not with the number of free features.
    for n, p in ((0, 1), (0, 4), (3, 1), (3, 4)):
        data = Data(np.eye(8), Terms(8, 1), 0, True, 0.0)
        C = eliminate(Majorant(data, PLAIN), 2.0, np.arange(n), np.arange(n, 8), p)
        taken = 1 - exact(C[0, 0])
        size = n + min(p, 8 - n)
        assert taken >= 0
        assert taken <= size * exact(4 * gamma(2 * n + 20) * 3.1) + exact(4 * 2.0**-52)
        assert taken >= size * exact(4 * gamma(2 * n + 20) * 2.9) - exact(4 * 2.0**-52)


def test_roots_of_the_judge():
    low, high = roots(2)
    assert low**2 < 2 < high**2


@pytest.mark.parametrize("seed", range(6))
def test_in_blocks_the_complement_is_the_same(seed):
    """Of an attack on samples: entries, and the least threshold that dominance takes, with and without scaling."""
    rng = np.random.default_rng(seed)
    d, k = 11, 4
    X, costs = rng.standard_normal((20, d)), rng.uniform(0, 0.1, d) if seed % 2 else None
    data = SampleData(lambda: [X], d, Terms(k, 20, np.full(20, 0.4), costs))
    order = rng.permutation(d)
    v, (I, F) = rng.standard_normal(k), (order[: seed % 3], order[seed % 3 :])  # noqa: E741
    majorant = SampleMajorant(data, SampleAttack(order[:0], order, k, np.sort(order[:k]), v, 0.3, 0.5))
    p, z = k - len(I), np.ones(d) if seed % 2 else rng.uniform(0.5, 2.0, d)

    def accepts(C):
        try:
            dominance(C, p, z[F])
        except Refused:
            return False
        return True

    C = eliminate(majorant, 9.0, I, F, p)
    for size in (1, 2, 4, 100):
        other = Complement(majorant, 9.0, I, F, p, size)
        made = np.diag(other.diagonal())
        for a, b, block in other.blocks():
            made[a, b] += block
            made[b, a] += 0 if a == b else block.T
        assert np.abs(made - C).max() < 1e-13 * np.abs(C).max()
        whole = smallest(lambda T: accepts(eliminate(majorant, T, I, F, p)), 0.1, 64.0)
        blocks = smallest(lambda T, size=size: accepts(Complement(majorant, T, I, F, p, size)), 0.1, 64.0)
        assert blocks == pytest.approx(whole, rel=1e-12)
        assert whole < 64.0
