"""Theorems 4 and 5, Propositions 5 and 7: what is printed fails where we say, ours holds against the optimum."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noap.errors import InvalidProblem
from noap.theory import (
    Spike,
    feasible_rho,
    feasible_rho_printed,
    gamma_factor,
    oblivious_condition,
    population_path,
    recovery_condition,
    recovery_condition_printed,
    recovery_epsilon,
    stage_thresholds,
    stage_thresholds_printed,
    strong_weak_truth,
)

seeds = st.integers(0, 2**32 - 1)
quick = settings(deadline=None, max_examples=80, derandomize=True)


def uniform(k):
    return np.full(k, 1 / math.sqrt(k))


def optimum_cosine(spike, rho, n):
    return float(population_path(spike, [rho], n=n).vectors[0] @ spike.truth)


def best_pattern(lam, k, k1, c, r):
    """Dense search over i equal strong and j equal weak features and the angle between them: (value, i, j)."""
    theta = np.linspace(0.0, math.pi / 2, 20_001)
    cos, sin = np.cos(theta), np.sin(theta)
    best = (-math.inf, 0, 0)
    for i in range(k1 + 1):
        for j in range(k - k1 + 1):
            if i + j == 0:
                continue
            a, b = (cos, sin) if i and j else (np.ones(1), np.zeros(1)) if i else (np.zeros(1), np.ones(1))
            signal = a * math.sqrt(c * i / k1) + b * math.sqrt((1 - c) * j / (k - k1))
            values = np.sqrt(1 + lam * signal**2) - r * (a * math.sqrt(i) + b * math.sqrt(j))
            at = int(np.argmax(values))
            used = (i if a[at] > 1e-3 else 0, j if b[at] > 1e-3 else 0)
            best = max(best, (float(values[at]), *used))
    return best


# ---- Theorem 5


def test_exact_stages_at_the_papers_parameters():
    stages = stage_thresholds(3.0, 5, 2, 0.8, n=500)
    assert stages.normalised == pytest.approx((0.840, 1.947, 3.317), abs=5e-4)
    root = math.sqrt(500)
    assert stages.weak_ends / root == pytest.approx(3 * math.sqrt(0.8 * 0.2 / 3) / math.sqrt(3.4), rel=1e-12)
    assert stages.single_from / root == pytest.approx((math.sqrt(3.4) - math.sqrt(2.2)) / (math.sqrt(2) - 1), rel=1e-12)
    assert stages.none_from / root == pytest.approx(math.sqrt(2.2), rel=1e-12)


CASES = {
    "continuous": (3.0, 5, 2, 0.8),
    "jump": (0.25, 5, 2, 0.51),
    "jump, no partial stage": (0.1, 5, 2, 0.51),
    "no partial stage": (0.5, 21, 10, 0.65),
    "one strong feature": (2.0, 4, 1, 0.7),
    "jump, one strong feature": (0.1, 3, 1, 0.51),
}


@pytest.mark.parametrize("case", CASES)
def test_stages_agree_with_a_dense_search_of_all_patterns(case):
    lam, k, k1, c = CASES[case]
    stages = stage_thresholds(lam, k, k1, c, n=1)
    k2 = k - k1
    closed = lam * math.sqrt(c * (1 - c) / k2) / math.sqrt(1 + lam * c)
    if "no partial" in case:
        assert stages.weak_ends == stages.single_from
        # The one jump may come before the weak entries would shrink to 0 by themselves.
        assert (stages.weak_ends < closed) == (case == "no partial stage")
    elif "jump" in case:
        assert stages.weak_ends > closed * 1.01
    else:
        assert stages.weak_ends == pytest.approx(closed, rel=1e-12)
    pattern = {"full": (k1, k2), "partial": (k1, 0), "single": (1, 0)}
    for threshold in (stages.weak_ends, stages.single_from):
        for r in (threshold * 0.998, threshold * 1.002):
            assert best_pattern(lam, k, k1, c, r)[1:] == pattern[stages.stage(r)]
    assert best_pattern(lam, k, k1, c, stages.none_from * 0.9999)[0] > 0
    assert best_pattern(lam, k, k1, c, stages.none_from * 1.0001)[0] < 0


@st.composite
def strong_weak(draw, assumption_3=False):
    """(lam, k, k1, c) with strong features larger than weak ones; under Assumption 3 also c > 1/2 and 1 < k1 < k2."""
    k1 = draw(st.integers(2 if assumption_3 else 1, 8))
    k2 = draw(st.integers(k1 + 1, 40) if assumption_3 else st.integers(1, 12))
    smallest = 0.501 if assumption_3 else 1.001 * k1 / (k1 + k2)
    return draw(st.floats(0.01, 300)), k1 + k2, k1, draw(st.floats(smallest, max(0.99, smallest)))


@given(parameters=strong_weak(), n=st.integers(1, 10**6), share=st.floats(0, 1.2))
@settings(deadline=None, max_examples=200, derandomize=True)
def test_stages_agree_with_the_path_everywhere(parameters, n, share):
    lam, k, k1, c = parameters
    stages = stage_thresholds(lam, k, k1, c, n=n)
    assert 0 < stages.weak_ends <= stages.single_from < stages.none_from
    ends = np.array([stages.weak_ends, stages.single_from, stages.none_from])
    rhos = np.array([share * ends[2], *(ends * (1 - 1e-6)), *(ends * (1 + 1e-6))])
    rhos = rhos[np.all(np.abs(rhos[:, None] - ends) > 1e-7 * ends, axis=1)]
    path = population_path(Spike(strong_weak_truth(k, k1, c), lam), rhos, n=n)
    assert path.stages == tuple(stages.stage(rho) for rho in rhos)


def test_printed_partial_stage_is_empty_at_the_papers_parameters():
    printed = stage_thresholds_printed(3.0, 5, 2, 0.8, n=500)
    assert printed.is_empty
    normalised = np.array([printed.partial_from, printed.partial_to]) * math.sqrt(5 / 500)
    assert normalised == pytest.approx([1.410, 1.334], abs=5e-4)
    # Below `partial_from` the printed theorem promises all of the truth; the weak part is gone long before.
    exact = stage_thresholds(3.0, 5, 2, 0.8, n=500)
    assert exact.weak_ends < 0.6 * printed.partial_from
    assert exact.stage(0.99 * printed.partial_from) == "partial"


@given(parameters=strong_weak(assumption_3=True))
@settings(deadline=None, max_examples=300, derandomize=True)
def test_printed_partial_stage_lies_in_the_exact_one(parameters):
    lam, k, k1, c = parameters
    printed = stage_thresholds_printed(lam, k, k1, c, n=7)
    exact = stage_thresholds(lam, k, k1, c, n=7)
    assert printed.partial_to <= exact.single_from * (1 + 1e-12)
    if not printed.is_empty:
        assert exact.weak_ends <= printed.partial_from * (1 + 1e-12)


def test_printed_partial_stage_can_be_non_empty():
    assert not stage_thresholds_printed(3.0, 50, 2, 0.9, n=100).is_empty


def right_side(lam, k, k1, c):
    """The right side of the proof's step 2.1 before it is bounded, over sqrt(n): what rho must exceed at each theta."""
    theta = np.linspace(1e-9, math.pi / 2, 100_001)
    both = np.sqrt(1 + lam * (math.sqrt(c) * np.cos(theta) + math.sqrt(1 - c) * np.sin(theta)) ** 2)
    strong = np.sqrt(1 + lam * c * np.cos(theta) ** 2)
    gained = lam * (2 * math.sqrt(c * (1 - c)) * np.cos(theta) + (1 - c) * np.sin(theta))
    return gained / (both + strong) / math.sqrt(k - k1)


def test_one_loose_inequality_empties_the_printed_stage():
    needed = right_side(3.0, 5, 2, 0.8).max() * math.sqrt(5)
    printed, exact = stage_thresholds_printed(3.0, 5, 2, 0.8, n=5), stage_thresholds(3.0, 5, 2, 0.8, n=5)
    assert needed == pytest.approx(0.847, abs=5e-4)
    assert exact.weak_ends < needed < printed.partial_to < exact.single_from
    assert printed.partial_from > printed.partial_to


@given(parameters=strong_weak(assumption_3=True))
@settings(deadline=None, max_examples=100, derandomize=True)
def test_the_printed_bound_is_one_and_the_weak_part_ends_before_it_where_a_partial_stage_follows(parameters):
    lam, k, k1, c = parameters
    needed = right_side(lam, k, k1, c).max()
    assert needed <= stage_thresholds_printed(lam, k, k1, c, n=1).partial_from * (1 + 1e-12)
    exact = stage_thresholds(lam, k, k1, c, n=1)
    if exact.weak_ends < exact.single_from:
        assert exact.weak_ends <= needed * (1 + 1e-6)


@given(lam=st.floats(1e-6, 1e6), c=st.floats(0.501, 0.99), k1=st.integers(2, 30), more=st.floats(1.0, 50.0))
@settings(deadline=None, max_examples=300, derandomize=True)
def test_theorem_5_holds_in_its_orders(lam, c, k1, more):
    # "k1 far below k2", made precise: from here on the weak part leaves continuously and a partial stage follows.
    k2 = math.ceil(k1 * more * max(4 * (1 - c) / c, c * (1 - c) / (2 * c - 1) ** 2, 1.0))
    exact, order = stage_thresholds(lam, k1 + k2, k1, c, n=7), min(lam, math.sqrt(lam)) * math.sqrt(7)
    assert exact.weak_ends == pytest.approx(lam * math.sqrt(7 * c * (1 - c) / k2 / (1 + lam * c)), rel=1e-9)
    assert exact.weak_ends < exact.single_from
    weak = exact.weak_ends / (order / math.sqrt(k2)) / math.sqrt(c * (1 - c))
    single = exact.single_from / (order / math.sqrt(k1))
    assert math.sqrt(1 / 2) * (1 - 1e-9) <= weak <= math.sqrt(2) * (1 + 1e-9)
    assert (math.sqrt(2) - 1) * c * (1 - 1e-9) <= single <= math.sqrt(c) * (1 + 1e-9)


@pytest.mark.parametrize(("lam", "weak", "single"), [(1e-9, 0.4, 0.8 * 1.5 / 2), (1e9, math.sqrt(0.2), math.sqrt(0.8))])
def test_the_constants_of_theorem_5_at_either_end_of_lambda(lam, weak, single):
    exact, order = stage_thresholds(lam, 104, 4, 0.8, n=1), min(lam, math.sqrt(lam))
    assert exact.weak_ends * 10 / order == pytest.approx(weak, rel=1e-4)
    assert exact.single_from * 2 / order == pytest.approx(single, rel=1e-4)


def test_stage_of_a_budget():
    stages = stage_thresholds(3.0, 5, 2, 0.8, n=5)
    assert [stages.stage(rho) for rho in (0.0, 0.5, 1.0, 2.5, 3.4)] == [
        "full",
        "full",
        "partial",
        "single",
        "none",
    ]


# ---- Theorem 4


@given(
    seed=seeds,
    lam=st.floats(0.001, 1000),
    k=st.integers(1, 12),
    delta=st.floats(0.001, 0.999),
    share=st.floats(0, 0.999),
    n=st.integers(1, 10**6),
)
@settings(deadline=None, max_examples=200, derandomize=True)
def test_corrected_theorem_4_holds(seed, lam, k, delta, share, n):
    rng = np.random.default_rng(seed)
    spread = rng.choice([0.0, 0.1, 1.0])  # near-uniform truths are the hardest
    truth = 1.0 + spread * rng.standard_normal(k)
    truth /= np.linalg.norm(truth)
    bound = recovery_condition(lam, k, delta, n=n)
    rho = share * (bound if math.isfinite(bound) else 1e3)
    assert optimum_cosine(Spike(truth, lam), rho, n) >= 1 - delta - 1e-9


@pytest.mark.parametrize(("lam", "k"), [(0.1, 4), (3.0, 5), (400.0, 25)])
def test_corrected_theorem_4_is_attained(lam, k):
    # The uniform truth falls to one feature, cosine 1/sqrt(k), at exactly the bound of delta = 1 - 1/sqrt(k).
    delta, spike = 1 - 1 / math.sqrt(k), Spike(uniform(k), lam)
    bound = recovery_condition(lam, k, delta, n=1)
    assert bound == pytest.approx((math.sqrt(1 + lam) - math.sqrt(1 + lam / k)) / (math.sqrt(k) - 1), rel=1e-12)
    assert optimum_cosine(spike, bound * 0.9999, 1) == pytest.approx(1.0)
    assert optimum_cosine(spike, bound * 1.0001, 1) == pytest.approx(1 / math.sqrt(k))


def test_printed_theorem_4_fails_with_its_own_constant():
    lam, k, delta, n = 400.0, 25, 0.1, 100
    spike = Spike(uniform(k), lam)
    worst = recovery_epsilon(delta, 0.0) / delta  # the smallest constant that the proof allows
    assert worst == pytest.approx(0.19 / math.sqrt(12) / 0.1)
    rho = recovery_condition_printed(lam, k, delta, n=n, constant=worst)
    assert rho / math.sqrt(n) == pytest.approx(4.388, abs=1e-3)
    assert optimum_cosine(spike, rho, n) == pytest.approx(0.2)
    assert recovery_condition(lam, k, delta, n=n) < rho


@pytest.mark.parametrize("constant", [1.0, 0.1, 0.01])
def test_no_constant_saves_printed_theorem_4(constant):
    delta, k = 0.1, 25
    lam = 2.0 / (constant * delta) ** 2
    rho = recovery_condition_printed(lam, k, delta, n=1, constant=constant)
    assert optimum_cosine(Spike(uniform(k), lam), rho, 1) < 1 - delta


@given(seed=seeds, lam=st.floats(0.001, 0.5), k=st.integers(2, 12), delta=st.floats(0.01, 0.99))
@quick
def test_the_proofs_constant_is_right_for_weak_spikes(seed, lam, k, delta):
    truth = np.abs(1 + 0.2 * np.random.default_rng(seed).standard_normal(k))
    truth /= np.linalg.norm(truth)
    rho = recovery_condition_printed(lam, k, delta, n=1, constant=0.999 * recovery_epsilon(delta, 0.0) / delta)
    assert optimum_cosine(Spike(truth, lam), rho, 1) >= 1 - delta - 1e-9


def test_recovery_of_a_single_feature_is_never_lost():
    assert recovery_condition(3.0, 1, 0.1, n=10) == math.inf


def test_recovery_epsilon_as_printed():
    assert recovery_epsilon(0.1, 1.0) == pytest.approx(0.19 / math.sqrt(6))
    assert recovery_epsilon(0.1, 0.5) == pytest.approx(0.19 / math.sqrt(6))
    assert recovery_epsilon(0.1, 0.2) == pytest.approx(0.19 / math.sqrt(6 * 1.6))


# ---- Proposition 7


def printed_epsilon(right):
    """Bisect ``eps sqrt(ln(1/eps)) = right`` on the branch that rises, eps <= exp(-1/2)."""
    low, high = 0.0, math.exp(-0.5)
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle * math.sqrt(-math.log(middle)) <= right else (low, middle)
    return low


@pytest.mark.parametrize("delta", [0.001, 0.03, 0.0999])
@pytest.mark.parametrize("lam", [1e-3, 0.5, 3.0, 1e4])
def test_proposition_7_is_the_largest_budget_as_printed(lam, delta):
    for n, k in ((500, 5), (10, 4000)):
        signal = min(math.sqrt(lam), lam) * math.sqrt(n / k)
        expected = printed_epsilon(delta**6 * min(1.0, signal)) * signal
        assert oblivious_condition(lam, k, delta, n=n) == pytest.approx(expected, rel=1e-9)
    assert oblivious_condition(0.0, 5, delta, n=10) == 0.0


def test_tiny_delta_leaves_a_budget_above_zero():
    assert 0.0 < oblivious_condition(3.0, 5, 1e-40, n=500) < 1e-200  # delta^12 is below the smallest float


@given(lam=st.floats(1e-8, 1e8), k=st.integers(2, 10**4), delta=st.floats(1e-6, 0.099), n=st.integers(1, 10**8))
@settings(deadline=None, max_examples=300, derandomize=True)
def test_theorem_4_and_proposition_7_depend_on_lambda_alike(lam, k, delta, n):
    # Corrected, the advantage "lambda >= min(sqrt(lambda), lambda)" is gone: both are of the order of the minimum.
    order = min(math.sqrt(lam), lam) * math.sqrt(n)
    share = recovery_condition(lam, k, delta, n=n) / (order / (math.sqrt(k) - 1))
    assert (2 * delta - delta**2) / math.sqrt(8) * (1 - 1e-9) <= share <= (2 * delta - delta**2) * (1 + 1e-9)
    epsilon = oblivious_condition(lam, k, delta, n=n) / (order / math.sqrt(k))
    assert epsilon <= delta**6
    assert oblivious_condition(lam, k, delta, n=n) < recovery_condition(lam, k, delta, n=n)


# ---- Proposition 5


def largest_margin(spike, rho, n, rng):
    """Largest c_n sqrt(v'Sigma v) - rho/sqrt(n)|v|_1 over many vectors: sparse, dense, random, and the truth."""
    k = spike.truth.size
    V = np.vstack([np.eye(k), spike.truth, rng.standard_normal((4000, k)), spike.truth * rng.random((4000, k)) ** 4])
    V /= np.linalg.norm(V, axis=1)[:, None]
    sigma = np.sqrt(1 + spike.lam * (V @ spike.truth) ** 2)
    return float(np.max(gamma_factor(n) * sigma - rho / math.sqrt(n) * np.abs(V).sum(axis=1)))


@pytest.mark.parametrize(
    "truth", [strong_weak_truth(5, 2, 0.8), uniform(5), uniform(1)], ids=["parts", "uniform", "one"]
)
@pytest.mark.parametrize("n", [1, 50, 10**6])
def test_feasible_set_is_non_empty_exactly_up_to_its_threshold(truth, n):
    spike, rng = Spike(truth, 3.0), np.random.default_rng(21)
    rho = feasible_rho(spike, n=n)
    assert largest_margin(spike, rho * (1 - 1e-9), n, rng) > 0
    assert largest_margin(spike, rho * (1 + 1e-9), n, rng) < 0


def test_printed_feasible_budget_is_too_large():
    spike, n = Spike(strong_weak_truth(5, 2, 0.8), 3.0), 500
    printed, exact = feasible_rho_printed(3.0, 5, n=n), feasible_rho(spike, n=n)
    assert exact / math.sqrt(n) == pytest.approx(1.4825, abs=1e-4)
    assert printed / math.sqrt(n) == pytest.approx(1.7880, abs=1e-4)
    assert largest_margin(spike, printed, n, np.random.default_rng(22)) < -0.3


@given(lam=st.floats(0, 30), k=st.integers(1, 200))
@quick
def test_printed_feasible_budget_fails_for_uniform_truths_when_stated(lam, k):
    assume(abs(lam**2 + lam + 1 - k) > 1e-6)
    too_large = feasible_rho_printed(lam, k, n=9) > feasible_rho(Spike(uniform(k), lam), n=9)
    assert too_large == (lam**2 + lam + 1 > k)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: recovery_condition(-1.0, 5, 0.1, n=5), "lam"),
        (lambda: recovery_condition(1.0, 0, 0.1, n=5), "k"),
        (lambda: recovery_condition(1.0, 5, 0.0, n=5), "delta"),
        (lambda: recovery_condition(1.0, 5, 1.0, n=5), "delta"),
        (lambda: recovery_condition(1.0, 5, 0.1, n=0), "n"),
        (lambda: oblivious_condition(-1.0, 5, 0.05, n=5), "lam"),
        (lambda: oblivious_condition(1.0, 0, 0.05, n=5), "k"),
        (lambda: oblivious_condition(1.0, 5, 0.1, n=5), "delta"),
        (lambda: oblivious_condition(1.0, 5, 0.0, n=5), "delta"),
        (lambda: oblivious_condition(1.0, 5, 0.05, n=0), "n"),
        (lambda: recovery_condition_printed(1.0, 5, 0.1, n=5, constant=0.0), "constant"),
        (lambda: recovery_condition_printed(1.0, 5, math.nan, n=5, constant=1.0), "delta"),
        (lambda: recovery_epsilon(0.1, 1.5), "cosine"),
        (lambda: recovery_epsilon(0.1, -0.5), "cosine"),
        (lambda: stage_thresholds(0.0, 5, 2, 0.8, n=5), "lam"),
        (lambda: stage_thresholds(1.0, 5, 5, 0.8, n=5), "k1"),
        (lambda: stage_thresholds(1.0, 5, 2, 1.2, n=5), "c"),
        (lambda: stage_thresholds(1.0, 5, 4, 0.6, n=5), "c"),
        (lambda: stage_thresholds(1.0, 5, 2, 0.8, n=0), "n"),
        (lambda: stage_thresholds(1.0, 5, 2, 0.8, n=5).stage(-1.0), "rho"),
        (lambda: stage_thresholds_printed(1.0, 5, 2, math.nan, n=5), "c"),
        (lambda: feasible_rho(np.eye(2), n=5), "covariance"),
        (lambda: feasible_rho(Spike([1.0], 1.0), n=0), "n"),
        (lambda: feasible_rho_printed(-1.0, 5, n=5), "lam"),
        (lambda: feasible_rho_printed(1.0, 0, n=5), "k"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(InvalidProblem, match=f"^{name} must"):
        call()
