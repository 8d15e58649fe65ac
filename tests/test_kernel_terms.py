"""What is taken off a feature is the same in Python and in kernels, and for one budget as for equal ones at no cost."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numba import njit

import noap
from noap.heuristics.kernels import terms


@njit
def compiled(rho, positions, x, j, length):
    return (
        terms.budget(rho, j),
        terms.pays(rho, j, length),
        terms.magnitude(rho, x, j),
        terms.paid(rho, positions, x[positions], length),
        terms.left(rho, positions, x[positions], length),
    )


def all_terms(rho, positions, x, j, length):
    return compiled.py_func(rho, positions, x, j, length)


def drawn(seed, costs=True):
    rng = np.random.default_rng(seed)
    d, k = 6, int(rng.integers(1, 4))
    x = np.where(rng.random(d) < 0.3, 0.0, rng.standard_normal(d))
    rho = np.array([rng.uniform(0, 1, d), rng.choice([0.0, 0.2, 3.0], d) * costs])
    return rho, np.sort(rng.choice(d, k, replace=False)), x, int(rng.integers(d)), float(rng.uniform(0, 3))


@given(seed=st.integers(0, 10**6))
def test_kernels_do_what_python_does(seed):
    rho, *rest = drawn(seed)
    for given_rho in (rho, 0.4):
        assert compiled(given_rho, *rest) == pytest.approx(all_terms(given_rho, *rest), rel=1e-14, abs=1e-14)


@given(seed=st.integers(0, 10**6))
def test_equal_budgets_at_no_cost_are_the_number(seed):
    rho, positions, x, j, length = drawn(seed, costs=False)
    rho[0] = 0.4
    number, array = (all_terms(given_rho, positions, x, j, length) for given_rho in (0.4, rho))
    assert array[0] == number[0] == 0.4
    assert array[1]
    assert number[1]
    assert array[3:] == pytest.approx(number[3:], rel=1e-14, abs=1e-14)
    # The magnitudes order features alike, down to those of which nothing is left.
    sizes, worths = ([terms.magnitude(given_rho, x, i) for i in range(len(x))] for given_rho in (0.4, rho))
    assert worths == pytest.approx([max(size - 0.4, 0.0) ** 2 for size in sizes], rel=1e-14, abs=1e-16)


@given(seed=st.integers(0, 10**6))
def test_what_is_left_is_the_root_of_the_objective(seed):
    rho, positions, x, *_ = drawn(seed)
    x = np.where(np.isin(np.arange(6), positions), x, 0.0)
    assume(x.any())
    v = x / np.linalg.norm(x)
    X = np.random.default_rng(seed).standard_normal((6, 6)) * 3.0
    problem = noap.Problem(noap.data.validation.Samples(X, None), 6, noap.FeatureWise(rho[0] * 6**0.5), costs=rho[1])
    root = terms.left(rho, positions, v[positions], np.linalg.norm(X @ v) / 6**0.5)
    assert root**2 == pytest.approx(max(problem.value(v), 0.0), rel=1e-9, abs=1e-12)
