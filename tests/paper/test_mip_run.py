"""The two entry points: scope, options, units, and what the Result says."""

import math

import numpy as np
import pytest
from mip_battery import BACKENDS, FEATURE, controls, optimum_of, problem_of, quietly, tolerance_of

import noap
from noap.mip import Cuts, run_mip, run_mip_r
from noap.theory import spiked_wishart


@pytest.fixture(scope="module")
def paper():
    """The paper's setting at rho-bar 1, small enough for a test: d = 100 is cut to 15 by Algorithm 1."""
    model = spiked_wishart(500, 100, 5, 3.0, k1=2, c=0.8, random_state=0)
    return noap.Problem(model.X, k=5, adversary=noap.FeatureWise(math.sqrt(500 / 5)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_paper_setting_closes_in_seconds(paper, backend):
    result = run_mip(paper, controls(), backend=backend, reduced_dim=15)
    assert result.limit is None
    assert result.solver_gap < 0.01
    assert result.restricted_bound / result.value - 1 < 0.1


def test_a_restricted_bound_is_not_a_bound(paper):
    result = run_mip(paper, controls(), reduced_dim=15)
    assert result.bound == math.inf
    assert result.bound_proof is None
    assert result.status is noap.Status.HEURISTIC
    assert len(result.restricted_to) == 15
    assert set(result.support) <= set(result.restricted_to)
    assert result.value <= result.restricted_bound
    assert "15 chosen features" in result.claim


def test_keeping_every_feature_is_no_restriction():
    problem = problem_of(FEATURE[0])
    for reduced_dim in (problem.n_features, problem.n_features + 3):
        result = run_mip(problem, controls(), reduced_dim=reduced_dim)
        assert result.restricted_to is None
        assert result.restricted_bound is None
        assert result.bound_proof == "solver"


def test_a_covariance_is_enough():
    problem = problem_of(FEATURE[1])
    from_samples = run_mip(problem, controls())
    again = noap.Problem.from_covariance(
        problem.covariance, n_samples=problem.n_samples, k=problem.k, adversary=problem.adversary
    )
    from_covariance = run_mip(again, controls())
    assert from_covariance.bound == pytest.approx(from_samples.bound, rel=1e-4)
    assert from_covariance.value == pytest.approx(from_samples.value, rel=1e-9)


@pytest.mark.parametrize("factor", [1e-4, 1e5])
def test_units_do_not_matter(factor):
    problem = problem_of(FEATURE[1])
    scaled = noap.Problem(problem.X * factor, problem.k, noap.FeatureWise(problem.adversary.rho * factor))
    assert run_mip(scaled, controls()).bound / factor**2 == pytest.approx(run_mip(problem, controls()).bound, rel=1e-4)


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise])
def test_budget_zero_is_vanilla(kind, as_printed):
    problem = problem_of(FEATURE[2])
    vanilla = run_mip(noap.Problem(problem.X, 2, noap.NoAdversary()), controls(), as_printed=as_printed)
    robust = run_mip(noap.Problem(problem.X, 2, kind(0.0)), controls(), as_printed=as_printed)
    assert robust.bound == pytest.approx(vanilla.bound, rel=1e-3)
    assert robust.value == pytest.approx(vanilla.value, rel=1e-9)


@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise])
def test_budget_zero_keeps_its_own_program_without_screening(kind):
    problem = problem_of(FEATURE[2])
    plain = run_mip(noap.Problem(problem.X, 2, kind(0.0)), controls())
    own = run_mip(noap.Problem(problem.X, 2, kind(0.0)), controls(), cuts=Cuts().without("screening"))
    assert own.bound == pytest.approx(plain.bound, rel=1e-3)


def test_a_budget_that_cancels_everything():
    X = np.diag([1.0, 2.0])
    result = run_mip(noap.Problem(X, 1, noap.FeatureWise(5.0)), controls())
    assert (result.value, result.bound) == (0.0, 0.0)


def test_algorithm_1_may_keep_only_what_the_adversary_cancels():
    # Two equal columns have the largest joint variance, each alone is below the budget; the third is not chosen.
    a = np.array([2.0, 0.0, 0.0])
    X = np.column_stack([a, a, [0.0, 2.2, 0.0]])
    result = run_mip(noap.Problem(X, 2, noap.FeatureWise(2.1)), controls(), reduced_dim=2)
    assert list(result.restricted_to) == [0, 1]
    assert result.restricted_bound == 0.0
    assert result.bound == math.inf


def test_one_sample_and_one_feature():
    result = run_mip(noap.Problem([[3.0, 0.0, 4.0]], 2, noap.FeatureWise(1.0)), controls())
    assert result.value <= result.bound <= result.value * 1.001
    result = run_mip(noap.Problem([[3.0], [4.0]], 1, noap.SampleWise(1.0)), controls())
    assert result.bound == pytest.approx(6.5, rel=1e-4)


def test_same_call_same_answer():
    first, second = (run_mip(problem_of(FEATURE[1]), controls()) for _ in range(2))
    assert first.bound == second.bound
    assert (first.v == second.v).all()


def test_result_separates_solver_and_formulation():
    result = run_mip(problem_of(FEATURE[3]), controls(), pieces=1)
    assert result.method == "mip"
    assert 0 <= result.solver_gap < 1e-3
    assert result.formulation_error > 0
    assert result.nodes >= 0
    assert result.seconds > 0
    reduced = run_mip_r(problem_of(FEATURE[3]), controls(), rank=1)
    assert reduced.method == "mip-r"


def test_time_limit_keeps_a_valid_bound(paper):
    result = quietly(run_mip, paper, controls(time_limit=2.0), reduced_dim=15, as_printed=True)
    assert result.limit is noap.Limit.TIME
    assert result.restricted_bound >= result.value
    assert result.solver_gap is None or result.solver_gap > 0.01  # None: the solver has no point of its own yet
    assert result.seconds < 10


def test_no_time_at_all_is_a_heuristic_answer(paper):
    result = run_mip(paper, controls(time_limit=1e-6))
    assert result.bound == math.inf
    assert result.limit is noap.Limit.TIME
    assert result.value > 0


def test_rank_of_all_directions_is_the_full_program():
    problem = problem_of(FEATURE[0])
    full = run_mip(problem, controls())
    ranked = run_mip_r(problem, controls(), rank=99)
    assert ranked.bound == pytest.approx(full.bound, abs=tolerance_of(FEATURE[0]))
    assert ranked.bound >= optimum_of(FEATURE[0]) - tolerance_of(FEATURE[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pieces": 0}, "pieces must be a positive integer"),
        ({"pieces": 2.5}, "pieces must be a positive integer"),
        ({"pieces": True}, "pieces must be a positive integer"),
        ({"threads": 0}, "threads must be a positive integer"),
        ({"reduced_dim": 1}, "reduced_dim must be at least k"),
        ({"reduced_dim": -3}, "reduced_dim must be a positive integer"),
        ({"backend": "cplex"}, "backend must be one of 'scip', 'highs', 'gurobi', got 'cplex'"),
        ({"breakpoints": "random"}, "breakpoints must be 'even' or 'adaptive'"),
        ({"breakpoints": "adaptive", "as_printed": True}, "breakpoints must be 'even' together with as_printed"),
        ({"cuts": Cuts(), "as_printed": True}, "cuts must be None together with as_printed"),
        ({"cuts": "all"}, r"cuts must be a noap.mip.Cuts or None"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(noap.errors.InvalidProblem, match=message):
        run_mip(problem_of(FEATURE[0]), controls(), **options)


@pytest.mark.parametrize("rank", [0, None, 1.5])
def test_bad_ranks_are_named(rank):
    with pytest.raises(noap.errors.InvalidProblem, match="rank must be a positive integer"):
        run_mip_r(problem_of(FEATURE[0]), controls(), rank=rank)
