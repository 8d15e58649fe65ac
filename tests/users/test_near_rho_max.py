"""Budgets a few floats below, at and above the one that leaves nothing: every answer there is a normal one."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_wine

import noap
from noap.analysis.sweep import improved
from noap.errors import NoapWarning

KINDS = {"feature": noap.FeatureWise, "sample": noap.SampleWise}


def _standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _drawn(seed):
    """Data on which the last digit matters: standardised, integers, equal columns, one long sample, single features."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 14)), int(rng.integers(1, 7))
    X = rng.standard_normal((n, d))
    match seed % 6:
        case 1:
            X = _standardised(X)
        case 2:
            X = rng.integers(-3, 4, (n, d)).astype(float)
        case 3:
            X[:, -1] = X[:, 0]
        case 4:
            X[0] *= 100
        case 5:
            X = X.astype(np.float32)
    X[0, 0] += 0.5 if not X.any() else 0.0
    return X


def _steps(rho, count):
    """The float so many steps away."""
    for _ in range(abs(count)):
        rho = math.nextafter(rho, math.inf if count > 0 else 0.0)
    return rho


def _check(X, k, kind, rho, rho_max, method):
    problem = noap.Problem(X, k=k, adversary=kind(rho))
    # Below rho_max something is left and from there on nothing is; no rounding decides it.
    assert problem.optimum_is_zero == (rho >= rho_max)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        result = noap.solve(problem, method, **({"node_limit": 50} if method == "exact" else {}))
    assert 0 <= result.value <= result.bound
    assert abs(float(result.v @ result.v) - 1) <= 1e-9
    assert result.support.size <= k
    if rho >= rho_max:
        assert result.value == result.bound == 0
    elif method == "exact":
        assert result.bound > 0
    if not problem.optimum_is_zero:
        start = np.zeros((2, X.shape[1]))
        start[0, 0] = start[1, -1] = 1.0
        assert problem.value(improved(problem, start)) >= 0


@given(
    seed=st.integers(0, 2**32 - 1),
    share=st.floats(0, 1),
    who=st.sampled_from(sorted(KINDS)),
    away=st.one_of(st.integers(-40, 3), st.floats(1e-15, 1e-6)),
    method=st.sampled_from(["ascent", "exact", "ppm", "spca", "diagonal-thresholding", "covariance-thresholding"]),
)
@settings(max_examples=150)
def test_every_method_answers_next_to_rho_max(seed, share, who, away, method):
    X = _drawn(seed)
    k = 1 + round(share * (X.shape[1] - 1))
    rho_max = KINDS[who](0.0).rho_max(X, k)
    rho = _steps(rho_max, away) if isinstance(away, int) else rho_max * (1 - away)
    _check(X, k, KINDS[who], rho, rho_max, method)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@given(
    name=st.sampled_from(["wine", "diabetes"]),
    k=st.integers(1, 10),
    who=st.sampled_from(sorted(KINDS)),
    steps=st.integers(1, 60),
)
@example(name="wine", k=4, who="sample", steps=1)
@example(name="wine", k=3, who="sample", steps=1)
@example(name="diabetes", k=4, who="sample", steps=1)
@settings(max_examples=25)
def test_paths_end_well_on_standardised_tables(name, k, who, steps):
    X = _standardised({"wine": load_wine, "diabetes": load_diabetes}[name]().data)
    rho_max = KINDS[who](0.0).rho_max(X, k)
    rhos = [_steps(rho_max, -steps), _steps(rho_max, -1), rho_max, _steps(rho_max, 1)]
    path = noap.path(X, k, KINDS[who], rhos=[0.999 * rho_max, *rhos], node_limit=20)
    assert path.rho_max == rho_max
    assert (path.values <= path.bounds).all()
    assert (path.values[-2:] == 0).all()
    assert (path.bounds[-2:] == 0).all()
    assert path.values[0] > 0


@pytest.mark.parametrize(("name", "k"), [("wine", 4), ("wine", 3), ("diabetes", 4)])
def test_sample_wise_paths_with_chosen_budgets_are_whole(name, k):
    X = _standardised({"wine": load_wine, "diabetes": load_diabetes}[name]().data)
    path = noap.path(X, k, noap.SampleWise, points=5, tolerance=1e-3, method="ascent")
    assert path.rhos[-1] == path.rho_max
    assert path.stages()[-1].kind == "none"
