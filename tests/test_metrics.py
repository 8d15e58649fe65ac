"""Gap, angle and support recovery: definitions, invariances, and every corner case on purpose."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import noap.metrics
from noap.errors import InvalidProblem
from noap.metrics import angle, gap, support_recovery

quick = settings(deadline=None, max_examples=80, derandomize=True)
vectors = st.lists(st.floats(-10, 10), min_size=5, max_size=5).map(np.array)


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (2.0, 3.0, 0.5),
        (2.0, 2.0, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, 1e-300, math.inf),
        (0.0, math.inf, math.inf),
        (1.0, math.inf, math.inf),
        (4.0, 3.0, -0.25),
        (np.float64(2.0), np.float32(3.0), 0.5),
        (1, 2, 1.0),
    ],
)
def test_gap(value, bound, expected):
    result = gap(value, bound)
    assert result == expected
    assert type(result) is float


def test_angle_by_hand():
    truth = np.array([0.6, 0.8, 0.0])
    assert angle([1.0, 0.0, 0.0], truth) == pytest.approx(0.6)
    assert angle([0.0, 0.0, 1.0], truth) == 0.0
    assert angle([0.0, -2.0, 0.0], truth) == pytest.approx(0.8)
    assert angle([1.0, 1.0, 0.0], [1.0, -1.0, 0.0]) == 0.0


def test_angle_on_a_part_restricts_both_norms():
    v, truth = np.array([3.0, 4.0, 5.0, 0.0]), np.array([1.0, 1.0, 0.0, 2.0])
    assert angle(v, truth, part=[0, 1]) == pytest.approx(7 / (5 * math.sqrt(2)))
    assert angle(v, truth, part=[1]) == pytest.approx(1.0)
    assert angle(v, truth, part=[3]) == 0.0  # the estimate keeps nothing there


def test_angle_of_a_zero_estimate_is_zero_and_of_a_zero_truth_an_error():
    assert angle(np.zeros(3), np.ones(3)) == 0.0
    with pytest.raises(InvalidProblem, match=r"^truth must"):
        angle(np.ones(3), np.zeros(3))
    with pytest.raises(InvalidProblem, match=r"^truth must"):
        angle(np.ones(3), np.array([1.0, 0.0, 0.0]), part=[1, 2])
    with pytest.raises(InvalidProblem, match=r"^truth must"):
        angle(np.ones(3), np.ones(3), part=[])


@given(v=vectors, truth=vectors, scale=st.floats(1e-200, 1e200), seed=st.integers(0, 2**32 - 1))
@quick
def test_angle_ignores_scale_sign_and_order(v, truth, scale, seed):
    assume(np.abs(v).max() > 1e-3 and np.abs(truth).max() > 1e-3)
    base = angle(v, truth)
    assert 0.0 <= base <= 1.0
    assert angle(-scale * v, truth) == pytest.approx(base, abs=1e-9)
    assert angle(truth, v) == pytest.approx(base, abs=1e-12)
    order = np.random.default_rng(seed).permutation(5)
    assert angle(v[order], truth[order]) == pytest.approx(base, abs=1e-12)
    assert angle(v, truth, part=order) == pytest.approx(base, abs=1e-12)
    assert angle(v, v) == pytest.approx(1.0)


def test_support_recovery_by_hand():
    truth = [1, 3, 4]
    v = np.array([0.0, 0.5, 0.5, 0.0, 1e-300])
    assert support_recovery(v, truth) == pytest.approx(2 / 3)
    assert support_recovery([1, 2, 4], truth) == pytest.approx(2 / 3)
    assert support_recovery([4, 3, 1], truth) == 1.0
    assert support_recovery([1], truth) == pytest.approx(1 / 3)  # divided by |S*|, not by the one feature found
    assert support_recovery([], truth) == 0.0
    assert support_recovery(np.zeros(5), truth) == 0.0


def test_support_recovery_of_parts():
    truth, strong, weak = [1, 3, 4, 7], [3, 7], [1, 4]
    assert support_recovery([3, 4, 7], truth, part=strong) == 1.0
    assert support_recovery([3, 4, 7], truth, part=weak) == 0.5
    assert support_recovery([0, 2], truth, part=weak) == 0.0


@given(
    found=st.sets(st.integers(0, 9)),
    truth=st.sets(st.integers(0, 9), min_size=2),
    seed=st.integers(0, 2**32 - 1),
)
@quick
def test_support_recovery_is_the_weighted_mean_of_its_parts(found, truth, seed):
    order = np.random.default_rng(seed).permutation(sorted(truth))
    cut = 1 + seed % (len(truth) - 1)
    vector = np.zeros(10)
    vector[sorted(found)] = -1.5
    rates = [support_recovery(vector, sorted(truth), part=part) for part in (order[:cut], order[cut:])]
    whole = (cut * rates[0] + (len(truth) - cut) * rates[1]) / len(truth)
    assert support_recovery(vector, sorted(truth)) == pytest.approx(whole)
    assert whole == pytest.approx(len(found & truth) / len(truth))
    assert support_recovery(sorted(found), sorted(truth)) == pytest.approx(whole)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gap(-1.0, 1.0), "value"),
        (lambda: gap(math.nan, 1.0), "value"),
        (lambda: gap(math.inf, math.inf), "value"),
        (lambda: gap("one", 1.0), "value"),
        (lambda: gap(1.0, math.nan), "bound"),
        (lambda: gap(0.0, -1.0), "bound"),
        (lambda: gap(1.0, None), "bound"),
        (lambda: angle([1.0, math.nan], [1.0, 0.0]), "v"),
        (lambda: angle([1.0], [1.0, 0.0]), "v"),
        (lambda: angle([[1.0, 0.0]], [1.0, 0.0]), "v"),
        (lambda: angle([1j, 0.0], [1.0, 0.0]), "v"),
        (lambda: angle([1.0, 0.0], []), "truth"),
        (lambda: angle([1.0, 0.0], [math.inf, 0.0]), "truth"),
        (lambda: angle([1.0, 0.0], [1.0, 0.0], part=[2]), "part"),
        (lambda: angle([1.0, 0.0], [1.0, 0.0], part=[-1]), "part"),
        (lambda: angle([1.0, 0.0], [1.0, 0.0], part=[0, 0]), "part"),
        (lambda: angle([1.0, 0.0], [1.0, 0.0], part=[0.0]), "part"),
        (lambda: angle([1.0, 0.0], [1.0, 0.0], part=[True, False]), "part"),
        (lambda: support_recovery([0, 0], [0]), "v_or_support"),
        (lambda: support_recovery([-1], [0]), "v_or_support"),
        (lambda: support_recovery([True, False], [0]), "v_or_support"),
        (lambda: support_recovery([math.nan, 0.0], [0]), "v_or_support"),
        (lambda: support_recovery([0], []), "truth_support"),
        (lambda: support_recovery([0.5, 0.0], [2]), "truth_support"),
        (lambda: support_recovery([0], [0.5]), "truth_support"),
        (lambda: support_recovery([0], [0, 1], part=[2]), "part"),
        (lambda: support_recovery([0], [0, 1], part=[]), "part"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(InvalidProblem, match=f"^{name} must"):
        call()


def test_facade_is_sorted():
    assert noap.metrics.__all__ == sorted(noap.metrics.__all__)
