"""Gap, angle, spans and supports: definitions, invariances, and every corner case on purpose."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import noap.metrics
from noap.errors import InvalidProblem
from noap.metrics import angle, cosine, f1, gap, precision, recall, subspace_distance, support_recovery

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


def test_cosine_by_hand():
    truth = np.array([0.6, 0.8, 0.0])
    assert cosine([1.0, 0.0, 0.0], truth) == pytest.approx(0.6)
    assert cosine([0.0, 0.0, 1.0], truth) == 0.0
    assert cosine([0.0, -2.0, 0.0], truth) == pytest.approx(0.8)
    assert cosine([1.0, 1.0, 0.0], [1.0, -1.0, 0.0]) == 0.0


def test_cosine_on_a_part_restricts_both_norms():
    v, truth = np.array([3.0, 4.0, 5.0, 0.0]), np.array([1.0, 1.0, 0.0, 2.0])
    assert cosine(v, truth, part=[0, 1]) == pytest.approx(7 / (5 * math.sqrt(2)))
    assert cosine(v, truth, part=[1]) == pytest.approx(1.0)
    assert cosine(v, truth, part=[3]) == 0.0  # the estimate keeps nothing there


def test_cosine_of_a_zero_estimate_is_zero_and_of_a_zero_truth_an_error():
    assert cosine(np.zeros(3), np.ones(3)) == 0.0
    with pytest.raises(InvalidProblem, match=r"^truth must"):
        cosine(np.ones(3), np.zeros(3))
    with pytest.raises(InvalidProblem, match=r"^truth must"):
        cosine(np.ones(3), np.array([1.0, 0.0, 0.0]), part=[1, 2])
    with pytest.raises(InvalidProblem, match=r"^truth must"):
        cosine(np.ones(3), np.ones(3), part=[])


@given(v=vectors, truth=vectors, scale=st.floats(1e-200, 1e200), seed=st.integers(0, 2**32 - 1))
@quick
def test_cosine_ignores_scale_sign_and_order(v, truth, scale, seed):
    assume(np.abs(v).max() > 1e-3 and np.abs(truth).max() > 1e-3)
    base = cosine(v, truth)
    assert 0.0 <= base <= 1.0
    assert cosine(-scale * v, truth) == pytest.approx(base, abs=1e-9)
    assert cosine(truth, v) == pytest.approx(base, abs=1e-12)
    order = np.random.default_rng(seed).permutation(5)
    assert cosine(v[order], truth[order]) == pytest.approx(base, abs=1e-12)
    assert cosine(v, truth, part=order) == pytest.approx(base, abs=1e-12)
    assert cosine(v, v) == pytest.approx(1.0)


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


@given(v=vectors, truth=vectors)
@quick
def test_the_angle_has_that_cosine(v, truth):
    assume(np.abs(v).max() > 1e-3 and np.abs(truth).max() > 1e-3)
    found = angle(v, truth)
    assert 0.0 <= found <= math.pi / 2
    assert math.cos(found) == pytest.approx(cosine(v, truth), abs=1e-12)
    assert angle(-v, truth) == found
    assert subspace_distance(v, truth) == pytest.approx(math.sin(found), abs=1e-12)


def test_the_angle_of_nearly_equal_directions_is_exact():
    # arccos of the cosine is 0 there.
    assert angle([1.0, 3e-12], [-2.0, 0.0]) == pytest.approx(3e-12, rel=1e-9)
    assert angle([0.0, 0.0, 1.0], [0.0, 0.0, 1.0], part=[2]) == 0.0
    assert angle(np.zeros(3), np.ones(3)) == math.pi / 2


@given(found=st.sets(st.integers(0, 9)), truth=st.sets(st.integers(0, 9), min_size=1))
@quick
def test_precision_recall_and_f1_by_counting(found, truth):
    found, truth = sorted(found), sorted(truth)
    both = len(set(found) & set(truth))
    assert recall(found, truth) == both / len(truth)
    assert precision(found, truth) == (both / len(found) if found else 0.0)
    share = precision(found, truth) + recall(found, truth)
    assert f1(found, truth) == pytest.approx(2 * precision(found, truth) * recall(found, truth) / share if share else 0)


@given(seed=st.integers(0, 2**32 - 1), r=st.integers(1, 3))
@quick
def test_the_distance_of_subspaces_is_that_of_their_projections(seed, r):
    rng = np.random.default_rng(seed)
    A, B, mixed = rng.standard_normal((r, 6)), rng.standard_normal((r, 6)), rng.standard_normal((r, r))
    P, Q = (np.linalg.pinv(one) @ one for one in (A, B))
    assert subspace_distance(A, B) == pytest.approx(np.linalg.norm(P - Q, 2), abs=1e-9)
    assert subspace_distance(mixed @ A, 1e-150 * A) == pytest.approx(0.0, abs=1e-9)
    assert subspace_distance(A, np.vstack([A, A[:1]])) == pytest.approx(0.0, abs=1e-9)
    assert subspace_distance(A, np.vstack([A, B[:1]])) == 1.0


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
        (lambda: cosine([1.0, math.nan], [1.0, 0.0]), "v"),
        (lambda: cosine([1.0], [1.0, 0.0]), "v"),
        (lambda: cosine([[1.0, 0.0]], [1.0, 0.0]), "v"),
        (lambda: cosine([1j, 0.0], [1.0, 0.0]), "v"),
        (lambda: cosine([1.0, 0.0], []), "truth"),
        (lambda: cosine([1.0, 0.0], [math.inf, 0.0]), "truth"),
        (lambda: cosine([1.0, 0.0], [1.0, 0.0], part=[2]), "part"),
        (lambda: cosine([1.0, 0.0], [1.0, 0.0], part=[-1]), "part"),
        (lambda: cosine([1.0, 0.0], [1.0, 0.0], part=[0, 0]), "part"),
        (lambda: cosine([1.0, 0.0], [1.0, 0.0], part=[0.0]), "part"),
        (lambda: cosine([1.0, 0.0], [1.0, 0.0], part=[True, False]), "part"),
        (lambda: support_recovery([0, 0], [0]), "v_or_support"),
        (lambda: support_recovery([-1], [0]), "v_or_support"),
        (lambda: support_recovery([True, False], [0]), "v_or_support"),
        (lambda: support_recovery([math.nan, 0.0], [0]), "v_or_support"),
        (lambda: support_recovery([0], []), "truth_support"),
        (lambda: support_recovery([0.5, 0.0], [2]), "truth_support"),
        (lambda: support_recovery([0], [0.5]), "truth_support"),
        (lambda: support_recovery([0], [0, 1], part=[2]), "part"),
        (lambda: support_recovery([0], [0, 1], part=[]), "part"),
        (lambda: subspace_distance([[0.0, 0.0]], [1.0, 0.0]), "components"),
        (lambda: subspace_distance([1.0, 0.0], [[1.0, 0.0], [math.nan, 0.0]]), "truth"),
        (lambda: subspace_distance([1.0, 0.0, 0.0], [1.0, 0.0]), "components"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(InvalidProblem, match=f"^{name} must"):
        call()


def test_facade_is_sorted():
    assert noap.metrics.__all__ == sorted(noap.metrics.__all__)
