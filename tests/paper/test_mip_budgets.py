"""The programs where features or samples have budgets of their own, or features costs: judged by the exact method."""

import itertools

import numpy as np
import pytest
from mip_battery import broken, excess

import noap
from noap import FeatureWise, NoAdversary, Problem, SampleWise
from noap.mip.cuts import Cuts
from noap.mip.formulations.assemble import formulate
from noap.mip.instance import instance_of

BACKENDS = ["scip", "highs"]


def data(seed, n=30, d=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.4 * rng.standard_normal((n, d))
    return X - X.mean(axis=0)


def problem_of(seed, costs, adversary="feature"):
    X, rng = data(seed), np.random.default_rng(100 + seed)
    lengths = np.linalg.norm(X, axis=0)
    budgets = rng.uniform(0.0, 0.5, 6) * lengths
    budgets[rng.integers(6)] = 0.0
    budgets[rng.integers(6)] = np.inf
    prices = rng.choice([0.0, 0.1, 0.4], 6) * lengths.max() ** 2 / len(X) if costs else None
    faced = FeatureWise(budgets) if adversary == "feature" else NoAdversary()
    return Problem(X, k=3, adversary=faced, costs=prices)


def check(problem, result, exact):
    assert result.value <= exact.bound * (1 + 1e-9)
    assert exact.value <= result.bound * (1 + 1e-9)
    assert result.value == pytest.approx(problem.value(result.v), rel=1e-12)
    # What the chords may add, and what the solver left open.
    assert result.bound <= exact.bound + result.formulation_error + 1e-4 * exact.bound + 1e-6 * problem.scale


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_budgets_and_costs_of_features_against_exact(seed, costs, backend):
    problem = problem_of(seed, costs)
    exact = noap.solve(problem, gap=1e-7)
    check(problem, noap.solve(problem, "mip", backend=backend, gap=1e-5), exact)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("seed", [3, 4])
def test_costs_without_an_adversary_against_exact(seed):
    problem = problem_of(seed, True, "none")
    exact = noap.solve(problem, gap=1e-7)
    check(problem, noap.solve(problem, "mip", gap=1e-5), exact)
    adaptive = noap.solve(problem, "mip", gap=1e-3, breakpoints="adaptive")
    assert exact.value <= adaptive.bound * (1 + 1e-9)
    assert adaptive.bound <= exact.value * 1.01


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("options", [{"as_printed": True}, {"cuts": Cuts().without("screening")}])
def test_what_is_not_trusted_keeps_programs_finite_where_nothing_is_screened(options, costs):
    problem = problem_of(5, costs)
    exact = noap.solve(problem, gap=1e-7)
    result = noap.solve(problem, "mip", **options)
    assert np.isfinite(result.bound)
    assert exact.value <= result.bound * (1 + 1e-9)
    assert result.value <= exact.bound * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_the_reduced_program_and_chosen_features_take_budgets():
    problem = problem_of(6, False)
    exact = noap.solve(problem, gap=1e-7)
    assert exact.value <= noap.solve(problem, "mip-r", rank=2).bound * (1 + 1e-9)
    part = noap.solve(problem, "mip", reduced_dim=4)
    on_part = noap.solve(problem.restricted(part.restricted_to), gap=1e-7)
    assert on_part.value <= part.restricted_bound * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("as_printed", [False, True])
def test_samples_with_budgets_of_their_own(seed, as_printed):
    X = data(seed, n=12, d=4)
    rng = np.random.default_rng(seed)
    rho = rng.uniform(0.0, 1.0, 12)
    rho[0], rho[1] = 0.0, np.inf
    problem = Problem(X, k=2, adversary=SampleWise(rho))
    result = noap.solve(problem, "mip", gap=1e-4, as_printed=as_printed)
    # A fine fan of directions on every pair of features: close to the optimum from below.
    angles = np.linspace(0.0, np.pi, 4001)
    best = 0.0
    for pair in itertools.combinations(range(4), 2):
        scores = np.abs(X[:, pair] @ np.array([np.cos(angles), np.sin(angles)]))
        left = np.maximum(scores - rho[:, None], 0.0)
        best = max(best, float((left**2).sum(axis=0).max()) / 12)
    assert best <= result.bound * (1 + 1e-9)
    assert result.value <= best * (1 + 1e-5)
    assert result.bound <= best * (1 + 1e-4) + result.formulation_error + 1e-5 * problem.scale
    if not as_printed:
        assert result.value >= best * (1 - 1e-6)


@pytest.mark.parametrize("costs", [False, True])
def test_the_incumbent_is_a_point_of_the_program(costs):
    """Every row holds at the direction that is known: no cut leaves it out."""
    for seed in range(8):
        problem = problem_of(seed, costs)
        v = noap.solve(problem, "ascent").v
        if problem.value(v) <= 0:
            continue
        for screen, cuts in ((True, Cuts()), (False, Cuts.none())):
            instance = instance_of(problem, screen=screen, incumbent=v)
            formulation = formulate(instance, cuts, pieces=3)
            w = v[instance.features]
            w = w / np.linalg.norm(w)
            w = -w if instance.eigenvectors[:, 0] @ w < 0 else w
            x = formulation.lift(w)
            assert excess(formulation.model, x) <= 1e-7, broken(formulation.model, x)[0]
            # The objective there is no less than the value of the direction.
            assert formulation.value_of(formulation.model.value(x)) >= problem.value(v) * (1 - 1e-9)


def test_equal_budgets_write_the_program_of_the_number():
    X = data(7)
    by_number = noap.solve(Problem(X, k=3, adversary=FeatureWise(1.5)), "mip")
    by_array = noap.solve(Problem(X, k=3, adversary=FeatureWise(np.full(6, 1.5))), "mip")
    assert by_array.bound == pytest.approx(by_number.bound, rel=1e-4)
    assert by_array.value == pytest.approx(by_number.value, rel=1e-9)


@pytest.mark.parametrize("faced", [FeatureWise(np.zeros(4)), SampleWise(np.zeros(12))])
def test_budgets_of_zero_are_no_adversary(faced):
    X = data(1, n=12, d=4)
    plain = noap.solve(Problem(X, k=2, adversary=NoAdversary()), "mip")
    assert noap.solve(Problem(X, k=2, adversary=faced), "mip").bound == pytest.approx(plain.bound, rel=1e-6)
