"""No cut removes every optimum, whatever incumbent it is built from; each switch does something."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mip_battery import ALL, LARGER, broken, controls, excess, optimal_direction, optimum_of, problem_of, tolerance_of

import noap
from judge import feature_wise_optimum
from noap.mip import Cuts, run_mip
from noap.mip.formulations.assemble import formulate
from noap.mip.formulations.boxes import boxes_of
from noap.mip.formulations.spectrum import chord_error, interpolated
from noap.mip.instance import instance_of


def weakest_incumbent(problem):
    """The single feature of largest norm: feasible, seldom good."""
    v = np.zeros(problem.n_features)
    v[np.argmax(problem.column_norms)] = 1.0
    return v


def lifted(formulation, instance, v):
    """All columns at v, with the sign that the symmetry row asks for."""
    part = v[instance.features]
    return formulation.lift(part if instance.eigenvectors[:, 0] @ part >= 0 else -part)


@pytest.mark.parametrize("good", [True, False], ids=["optimal incumbent", "weak incumbent"])
@pytest.mark.parametrize("reduced", [False, True], ids=["mip", "mip-r"])
@pytest.mark.parametrize("case", ALL + LARGER, ids=lambda case: case.name)
def test_an_optimum_satisfies_every_row(case, reduced, good):
    problem, v = problem_of(case), optimal_direction(case)
    for cuts in (Cuts(), Cuts().without("parseval"), Cuts().without("perspective", "screening"), Cuts.none()):
        instance = instance_of(problem, screen=cuts.screening, incumbent=v if good else weakest_incumbent(problem))
        formulation = formulate(instance, cuts, pieces=case.pieces, rank=case.rank if reduced else None)
        x = lifted(formulation, instance, v)
        assert excess(formulation.model, x) < 1e-8, broken(formulation.model, x)[0]
        # Chords and gamma only add to the value.
        assert formulation.value_of(formulation.model.value(x)) >= optimum_of(case) * (1 - 1e-9)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.floats(0.05, 0.95), st.integers(1, 4))
def test_limits_contain_the_optimum(seed, share, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 4)) * rng.uniform(0.2, 2.0, 4)
    problem = noap.Problem(X, k, noap.FeatureWise(share * noap.FeatureWise(0.0).rho_max(X, k)))
    v = noap.solve(problem, "ascent").v
    if problem.value(v) < feature_wise_optimum(X.T @ X, 8, k, problem.adversary.rho) * (1 - 1e-9):
        return  # ascent missed the optimum, so v proves nothing
    for incumbent in (v, weakest_incumbent(problem)):
        instance = instance_of(problem, screen=True, incumbent=incumbent)
        boxes = boxes_of(instance, Cuts())
        part = v[instance.features]
        g = instance.eigenvectors.T @ part
        g = g if g[0] >= 0 else -g
        assert (np.abs(part) <= boxes.cap + 1e-9).all()
        assert (boxes.low - 1e-9 <= g).all()
        assert (g <= boxes.high + 1e-9).all()
        assert boxes.l1_low - 1e-9 <= np.abs(part).sum() <= boxes.l1_high + 1e-9


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(0.05, 0.9))
def test_the_loss_is_at_least_its_share_of_the_energy(seed, share):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 4))
    problem = noap.Problem(X, 2, noap.SampleWise(share * noap.SampleWise(0.0).rho_max(X, 2)))
    instance = instance_of(problem, screen=True, incumbent=noap.solve(problem, "ascent").v)
    clipped = boxes_of(instance, Cuts()).clipped
    cap = boxes_of(instance, Cuts()).cap
    samples = instance.samples
    for _ in range(50):
        v = np.zeros(4)
        v[rng.choice(4, 2, replace=False)] = rng.standard_normal(2)
        v /= np.linalg.norm(v)
        if (np.abs(v[instance.features]) > cap).any():
            continue
        scores = np.abs(samples @ v[instance.features])
        loss = np.where(scores <= instance.rho, scores**2, 2 * instance.rho * scores - instance.rho**2).sum()
        assert loss / instance.n >= clipped * (scores**2).sum() / instance.n - 1e-12


# Which cases feel a switch: norm_pieces is for MIP-r, clipping for samples, xi_sum stands in when Parseval is off.
SWITCHED = [name for name in Cuts.names() if name not in ("norm_pieces", "clipping", "xi_sum", "screening")]


@pytest.mark.parametrize("switch", SWITCHED)
def test_each_switch_tightens_the_feature_wise_model(switch):
    case = LARGER[0]
    problem = problem_of(case)
    instance = instance_of(problem, screen=True, incumbent=optimal_direction(case))
    on = formulate(instance, Cuts(), pieces=3).model
    off = formulate(instance, Cuts().without(switch), pieces=3).model

    def shape(model):
        bounds = tuple(np.round(np.concatenate([model.lower, model.upper]), 12))
        return len(model.rows), len(model.squares), len(model.cones), bounds, model.start is None

    assert shape(on) != shape(off)


def test_the_remaining_switches_do_something_where_they_apply():
    sample = LARGER[1]
    instance = instance_of(problem_of(sample), screen=True, incumbent=optimal_direction(sample))
    full = formulate(instance, Cuts(), pieces=2, rank=2).model
    assert len(formulate(instance, Cuts().without("clipping"), pieces=2, rank=2).model.rows) < len(full.rows)
    assert len(formulate(instance, Cuts().without("norm_pieces"), pieces=2, rank=2).model.sets) < len(full.sets)
    plain = Cuts().without("parseval")
    rows = len(formulate(instance, plain, pieces=2).model.rows)
    assert len(formulate(instance, plain.without("xi_sum"), pieces=2).model.rows) == rows - 1
    X = np.diag([3.0, 2.0, 1.0])
    problem = noap.Problem(X, 2, noap.FeatureWise(1.5))
    assert instance_of(problem, screen=True).d == 2
    assert instance_of(problem, screen=False).d == 3


@pytest.mark.parametrize("switch", Cuts.names())
def test_a_cut_never_worsens_the_bound(switch):
    case = ALL[1]
    without = run_mip(problem_of(case), controls(), pieces=case.pieces, cuts=Cuts().without(switch))
    with_all = run_mip(problem_of(case), controls(), pieces=case.pieces)
    assert optimum_of(case) - tolerance_of(case) <= with_all.bound <= without.bound + tolerance_of(case)


def test_parseval_and_caps_are_worth_it_at_the_root():
    """Without its own rows the program needs a tree; the number is in the benchmark, the direction is here."""
    problem = problem_of(LARGER[0])
    strong = run_mip(problem, controls(), pieces=3)
    weak = run_mip(problem, controls(), pieces=3, cuts=Cuts().without("parseval", "caps", "perspective"))
    assert strong.bound <= weak.bound + tolerance_of(LARGER[0])
    assert strong.nodes <= weak.nodes


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6, unique=True), st.floats(0, 1))
def test_chords_lie_above_the_square_by_at_most_their_error(points, share):
    grid = np.sort(np.round(points, 6))
    if (np.diff(grid) < 1e-5).any():
        return
    value = grid[0] + share * (grid[-1] - grid[0])
    assert -1e-12 <= interpolated(grid, value) - value**2 <= chord_error(grid) + 1e-12
