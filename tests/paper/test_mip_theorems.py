"""Theorems 1 and 2 and the three statements about MIP-r, judged by brute force."""

from dataclasses import replace

import numpy as np
import pytest
from mip_battery import (
    ALL,
    BACKENDS,
    FEATURE,
    LARGER,
    SAMPLE,
    VANILLA,
    controls,
    eigenvalues_of,
    optimum_of,
    problem_of,
    quietly,
    tolerance_of,
)

import noap
from noap.mip import Cuts, run_mip, run_mip_r
from noap.mip.backends.base import Settings, Stop
from noap.mip.backends.registry import backend_named
from noap.mip.formulations.assemble import formulate
from noap.mip.formulations.spectrum import interpolated, printed
from noap.mip.instance import instance_of
from noap.mip.lowering import solve_model

RANKED = [case for case in ALL if case.rank < case.d]


@pytest.mark.parametrize("case", ALL + LARGER, ids=lambda case: case.name)
def test_default_bound_lies_between_optimum_and_theorem(case):
    result = run_mip(problem_of(case), controls(), pieces=case.pieces)
    opt, tolerance = optimum_of(case), tolerance_of(case)
    assert opt - tolerance <= result.bound <= opt + result.formulation_error + tolerance
    assert abs(result.value - opt) <= 1e-9 * opt
    assert result.bound_proof == "solver"
    assert result.status is noap.Status.FEASIBLE
    assert result.limit is None
    # The default's own term is never larger than the printed one.
    assert result.formulation_error <= eigenvalues_of(case).sum() / (4 * case.pieces**2) + tolerance


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_printed_bound_lies_between_optimum_and_theorem(case):
    result = quietly(run_mip, problem_of(case), controls(), pieces=case.pieces, as_printed=True)
    opt, tolerance = optimum_of(case), tolerance_of(case)
    term = eigenvalues_of(case).sum() / (4 * case.pieces**2)
    assert result.formulation_error == pytest.approx(term, rel=1e-9)
    assert opt - tolerance <= result.bound <= opt + term + tolerance


@pytest.mark.parametrize("pieces", [1, 3, 10])
def test_equation_4_chords_lie_above_by_a_quarter_of_a_squared_piece(pieces):
    (points,) = printed(pieces, 1)
    assert points == pytest.approx(np.linspace(-1, 1, 2 * pieces + 1))
    excess = [interpolated(points, g) - g**2 for g in np.linspace(-1, 1, 20 * pieces + 1)]
    assert min(excess) >= -1e-15
    assert max(excess) == pytest.approx(1 / (4 * pieces**2))


@pytest.mark.parametrize("case", ALL + LARGER, ids=lambda case: case.name)
def test_adaptive_breakpoints_close_the_gap(case):
    # Sample-wise rounds are slower: a looser gap keeps the suite quick.
    gap = 1e-2 if case.kind == "sample" else 1e-3
    result = run_mip(problem_of(case), controls(gap=gap), pieces=1, breakpoints="adaptive")
    assert optimum_of(case) - tolerance_of(case) <= result.bound
    assert result.bound <= (1 + gap) * optimum_of(case) + tolerance_of(case)


def reduced(case, cuts):
    """ub, gamma-hat and the model units of MIP-r on SCIP with the given rows."""
    instance = instance_of(problem_of(case), screen=cuts.screening)
    formulation = formulate(instance, cuts, pieces=case.pieces, rank=case.rank)
    outcome = solve_model(formulation.model, backend_named("scip"), Settings(time_limit=60.0)).outcome
    assert outcome.stop is Stop.OPTIMAL
    return formulation.value_of(outcome.bound), formulation.rest(outcome.x)


def printed_rank_term(case):
    return eigenvalues_of(case)[: case.rank].sum() / (4 * case.pieces**2)


@pytest.mark.parametrize("case", RANKED, ids=lambda case: case.name)
def test_statement_a_as_printed(case):
    ub, gamma = reduced(case, Cuts.none())
    opt, lam, tolerance = optimum_of(case), eigenvalues_of(case), tolerance_of(case)
    assert opt - tolerance <= ub <= opt + printed_rank_term(case) + gamma * lam[case.rank] + tolerance
    # v = 0, g = 0, gamma = 1 is feasible.
    assert ub >= lam[case.rank] - tolerance


@pytest.mark.parametrize("case", [case for case in FEATURE if case.rank < case.d], ids=lambda case: case.name)
def test_statement_b_feature_wise_with_y_at_least_1(case):
    ub, gamma = reduced(case, replace(Cuts.none(), l1=True))
    opt, lam, tolerance = optimum_of(case), eigenvalues_of(case), tolerance_of(case)
    rest = gamma * (lam[case.rank] - lam[-1])
    assert opt - tolerance <= ub <= opt + printed_rank_term(case) + rest + tolerance


@pytest.mark.parametrize("case", SAMPLE + VANILLA, ids=lambda case: case.name)
def test_statement_c_otherwise_with_a_piecewise_linear_norm(case):
    ub, gamma = reduced(case, replace(Cuts.none(), norm_pieces=True))
    opt, lam, tolerance = optimum_of(case), eigenvalues_of(case), tolerance_of(case)
    rest = gamma * (lam[case.rank] - lam[-1]) + case.k * lam[-1] / (4 * case.pieces**2)
    assert opt - tolerance <= ub <= opt + printed_rank_term(case) + rest + tolerance


@pytest.mark.parametrize("case", ALL + LARGER, ids=lambda case: case.name)
def test_default_reduced_bound_lies_between_optimum_and_its_term(case):
    result = run_mip_r(problem_of(case), controls(), pieces=case.pieces, rank=case.rank)
    opt, tolerance = optimum_of(case), tolerance_of(case)
    assert opt - tolerance <= result.bound <= opt + result.formulation_error + tolerance


# S = I/3 and a budget that leaves (1 - 0.9)^2/3 to a single feature (sample): a case to check by hand.
IDENTITY = np.eye(3)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("adversary", [noap.FeatureWise(0.9), noap.SampleWise(0.9)], ids=["feature", "sample"])
def test_printed_reduced_program_breaks_its_printed_guarantee(adversary, backend):
    problem = noap.Problem(IDENTITY, 1, adversary)
    opt = (1 - 0.9) ** 2 / 3
    assert noap.solve(problem, "ascent").value == pytest.approx(opt)
    N, lam = 3, 1 / 3
    result = quietly(run_mip_r, problem, controls(), backend=backend, pieces=N, rank=1, as_printed=True)
    printed = opt + lam / (4 * N**2) + 1.0 * (lam - lam)  # gamma-hat (lambda_2 - lambda_3), whatever gamma-hat is
    # v = 0 is worth lambda_2; against moved samples g = 1/12 on q_1 adds chord and loss g/3 - 2 g^2 = 1/72.
    excess = 1 / 72 if isinstance(adversary, noap.SampleWise) else 0.0
    assert result.bound == pytest.approx(lam * (1 + excess), abs=1e-5)
    assert result.bound > 20 * printed
    corrected = run_mip_r(problem, controls(), backend=backend, pieces=N, rank=1)
    slack = lam / (4 * N**2) if isinstance(adversary, noap.SampleWise) else 0.0
    assert opt - 1e-6 <= corrected.bound <= printed + slack + 1e-5


def test_printed_reduced_program_may_return_no_direction():
    problem = noap.Problem(IDENTITY, 1, noap.FeatureWise(0.9))
    result = run_mip_r(problem, controls(), rank=1, as_printed=True)
    assert "v = 0" in result.messages[0]
    assert np.linalg.norm(result.v) == pytest.approx(1.0)
    assert result.value == pytest.approx((1 - 0.9) ** 2 / 3)
    assert len(result.messages) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_sample_example_of_the_remark(backend):
    """Samples at 0 and 60 degrees: vanilla takes the middle, sample-wise takes one of the two."""
    X = np.array([[1.0, 0.0], [0.5, np.sqrt(3) / 2]])
    rho = np.sqrt(3) / 2 + 1e-2
    problem = noap.Problem(X, 2, noap.SampleWise(rho))
    robust = run_mip(problem, controls(gap=0.2), backend=backend, breakpoints="adaptive")
    vanilla = run_mip(noap.Problem(X, 2, noap.NoAdversary()), controls(), backend=backend)
    assert vanilla.v == pytest.approx([np.sqrt(3) / 2, 0.5], abs=1e-6)
    assert vanilla.bound == pytest.approx(0.75, abs=1e-5)
    assert min(np.abs(robust.v - x).max() for x in X) < 1e-6
    assert robust.value == pytest.approx((1 - rho) ** 2 / 2)
    # At vanilla's answer both samples score sqrt(3)/2 < rho: it is worth nothing here.
    assert problem.value(vanilla.v) == 0.0
    assert robust.value <= robust.bound <= 1.2 * robust.value + 1e-5
