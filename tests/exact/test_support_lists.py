"""Lists of near-optimal supports and their certificates against brute force over all supports."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap
from noap.errors import NoapWarning
from support_lists import judge

BUDGETS = ["none", "one", "of all sizes", "many zero", "some infinite", "tied"]
COSTS = ["none", "of all sizes", "equal", "many zero"]
DATA = ["normal", "integers", "parallel", "one factor", "blocks", "of all sizes"]
WITHIN = [0.0, 1e-6, 0.01, 0.1, 0.3]


def drawn(seed, data, budgets, costs, largest=6):
    """A problem of these kinds; k may be as large as the number of features."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 10)), int(rng.integers(2, largest + 1))
    X = rng.standard_normal((n, d))
    if data == "integers":
        X = np.round(1.2 * X)
        X[0] += not X.any()
    elif data == "parallel":
        X[:, -1] = -X[:, 0]
        X[:, d // 2] = X[:, 0]
    elif data == "one factor":
        X = 0.4 * X + rng.standard_normal((n, 1))
    elif data == "blocks":
        X[: n // 2, : d // 2] = 0.0
        X[n // 2 :, d // 2 :] = 0.0
    elif data == "of all sizes":
        X *= np.exp(rng.normal(0, 1.2, d))
    sizes = np.linalg.norm(X, axis=0)
    rho = {
        "none": np.zeros(d),
        "one": np.full(d, rng.choice([0.1, 0.4, 0.7]) * sizes.max()),
        "of all sizes": rng.uniform(0, 0.9, d) * sizes,
        "many zero": rng.uniform(0, 0.8, d) * sizes * rng.choice([0, 1], d),
        "some infinite": np.where(rng.random(d) < 0.3, np.inf, rng.uniform(0, 0.6, d) * sizes),
        "tied": rng.choice([0.2, 0.4], d) * sizes.mean(),
    }[budgets]
    alone = np.maximum(sizes - rho, 0.0) ** 2 / n
    pi = {
        "none": None,
        "of all sizes": rng.uniform(0, 0.6, d) * alone,
        "equal": np.full(d, rng.uniform(0, 0.3) * alone.max()),
        "many zero": rng.uniform(0, 0.4, d) * alone * rng.choice([0, 1], d),
    }[costs]
    adversary = noap.NoAdversary() if budgets == "none" else noap.FeatureWise(rho[0] if budgets == "one" else rho)
    k = int(rng.integers(1, d + 1))
    if rng.random() < 0.25:
        return noap.Problem.from_covariance(X.T @ X / n, n_samples=n, k=k, adversary=adversary, costs=pi)
    return noap.Problem(X, k=k, adversary=adversary, costs=pi)


def judged(problem, within):
    if problem.optimum_is_zero:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoapWarning)
            near = noap.near_optimal(problem, within)
        assert noap.verify(problem, near.certificate).ok
        return
    judge(problem, noap.near_optimal(problem, within))


@settings(max_examples=50)
@given(
    st.integers(0, 10**6),
    st.sampled_from(DATA),
    st.sampled_from(BUDGETS),
    st.sampled_from(COSTS),
    st.sampled_from(WITHIN),
)
def test_lists_are_those_of_brute_force(seed, data, budgets, costs, within):
    judged(drawn(seed, data, budgets, costs, largest=5), within)


@pytest.mark.slow
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("costs", COSTS)
def test_many_lists_are_those_of_brute_force(data, costs):
    for seed in range(40):
        rng = np.random.default_rng(10_000 + seed)
        judged(drawn(seed, data, BUDGETS[seed % len(BUDGETS)], costs), float(rng.choice(WITHIN)))
