"""The printed programs: a start that changes no row, a solution of their own, and whose vector the answer is."""

import math

import numpy as np
import pytest
from mip_battery import ALL, BACKENDS, FEATURE, controls, excess, optimal_direction, problem_of, quietly

import noap
from noap.mip import Cuts, run_mip
from noap.mip.formulations.assemble import formulate
from noap.mip.instance import instance_of
from noap.theory import spiked_wishart


@pytest.fixture(scope="module")
def paper():
    """The paper's setting at rho-bar 2, where the printed programs find nothing in a second without a start."""
    model = spiked_wishart(500, 100, 5, 3.0, k1=2, c=0.8, random_state=0)
    return noap.Problem(model.X, k=5, adversary=noap.FeatureWise(2.0 * math.sqrt(500 / 5)))


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
@pytest.mark.parametrize("rank", [None, 1])
def test_the_start_changes_no_row_and_respects_all_of_them(case, rank):
    bare = formulate(instance_of(problem_of(case), screen=False), Cuts.none(), pieces=3, rank=rank).model
    instance = instance_of(problem_of(case), screen=False, incumbent=optimal_direction(case))
    begun = formulate(instance, Cuts.printed(), pieces=3, rank=rank).model
    assert bare.start is None
    assert begun.start is not None
    for name in ("lower", "upper", "integer", "objective"):
        np.testing.assert_array_equal(getattr(bare, name), getattr(begun, name))
    for name in ("rows", "squares", "cones", "sets"):
        for one, other in zip(getattr(bare, name), getattr(begun, name), strict=True):
            assert one.name == other.name
            for entry, same in zip(vars(one).values(), vars(other).values(), strict=True):
                np.testing.assert_array_equal(entry, same)
    assert excess(begun, begun.start) <= 1e-9


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_printed_program_has_a_solution_after_a_second(paper, backend):
    result = run_mip(paper, controls(time_limit=1.0), backend=backend, reduced_dim=15, as_printed=True)
    assert result.limit is noap.Limit.TIME
    assert result.program_v is not None
    assert paper.value(result.program_v) > 0.5 * result.value
    assert set(np.flatnonzero(result.program_v)) <= set(result.restricted_to)
    without = run_mip(paper, controls(time_limit=1.0), backend=backend, reduced_dim=15, cuts=Cuts.none())
    assert without.restricted_bound >= result.value, "a program without a start bounds as well"


def test_a_program_that_kept_its_start_says_so():
    # One feature, so that no solution can beat the start.
    problem = noap.Problem([[3.0], [4.0]], 1, noap.FeatureWise(1.0))
    result = run_mip(problem, controls(), as_printed=True)
    assert result.messages == ("The program's own solution is the start that ascent gave it.",)
    assert result.program_v.tolist() == [1.0]


def test_the_vector_of_ascent_is_announced_and_the_own_one_is_there():
    """With one chord on each side of 0 the printed program is far from the problem, and its solution is worse."""
    found = [quietly(run_mip, problem_of(case), controls(), pieces=1, as_printed=True) for case in FEATURE]
    worse = [result for result in found if abs(result.program_v @ result.v) < 1 - 1e-6]
    assert worse
    for result in worse:
        own = result.problem.value(result.program_v)
        assert own < result.value
        assert np.linalg.norm(result.program_v) == pytest.approx(1.0)
        assert np.count_nonzero(result.program_v) <= result.problem.k
        assert result.messages == (
            f"v is the direction that ascent found (value {result.value:.6g}); the program's own solution, program_v, "
            f"has {own:.6g}.",
        )


def test_a_program_whose_solution_is_no_direction_says_so():
    problem = noap.Problem(np.eye(3), 1, noap.FeatureWise(0.9))
    with pytest.warns(noap.errors.GapWarning, match=r"asked for: the program's own solution is v = 0, .* smaller gap"):
        result = noap.solve(problem, "mip-r", rank=1, as_printed=True)
    assert result.program_v.tolist() == [0.0, 0.0, 0.0]
    assert result.value > 0


def test_without_time_there_is_no_solution_and_a_message(paper):
    result = run_mip(paper, controls(time_limit=1e-6), as_printed=True)
    assert result.program_v is None
    assert result.messages == ("The solver has no solution of its own; v is the direction that ascent found.",)


def test_other_methods_have_no_program(paper):
    assert noap.solve(paper, "ascent").program_v is None
    vector = run_mip(problem_of(FEATURE[0]), controls()).program_v
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1.0
