"""The solver-neutral model, its lowerings, and small models with known answers on every backend."""

from itertools import product

import numpy as np
import pytest
from mip_battery import BACKENDS, broken, excess

from noap.mip.backends.base import Settings, Stop
from noap.mip.backends.registry import backend_named
from noap.mip.lowering import Lowered, Square, binaries_for_sets, lower, solve_model, tangents_for_squares
from noap.mip.model import ModelWriter


def disc():
    """max x + y over the unit disc: sqrt(2)."""
    writer = ModelWriter()
    xy = writer.block("xy", 2, -1.0, 1.0, lambda v: v)
    writer.square("disc", xy, 1.0, [], 1.0)
    writer.maximise([(xy, 1.0)])
    return writer.model(), np.sqrt(2)


def knapsack():
    """max 5a + 4b + 3c with 2a + 3b + c <= 3, binary: 8."""
    writer = ModelWriter()
    abc = writer.block("abc", 3, 0.0, 1.0, lambda v: v, integer=True)
    writer.row("weight", [(abc, [2.0, 3.0, 1.0])], upper=3.0)
    writer.maximise([(abc, [5.0, 4.0, 3.0])])
    return writer.model(), 8.0


def chords():
    """max of the chord interpolation of (0, 2, 1, 2.5, 0) with a slope against it: an interior vertex wins."""
    writer = ModelWriter()
    eta = writer.block("eta", 5, 0.0, 1.0, lambda v: v)
    writer.row("sum", [(eta, 1.0)], lower=1.0, upper=1.0)
    writer.row("place", [(eta, [0.0, 1.0, 2.0, 3.0, 4.0])], lower=1.5, upper=2.5)
    writer.sos2("pieces", eta, np.arange(5.0))
    writer.maximise([(eta, [0.0, 2.0, 1.0, 2.5, 0.0])])
    return writer.model(), 1.75  # at 2.5, between 1 and 2.5


def switched():
    """max x - 0.6 z with x^2 <= w z, w <= 1/4, x <= z, z binary: x = 1/2 does not pay for z, so 0."""
    writer = ModelWriter()
    x = writer.block("x", 1, -1.0, 1.0, lambda v: v)
    w = writer.block("w", 1, 0.0, 0.25, lambda v: v)
    z = writer.block("z", 1, 0.0, 1.0, lambda v: v, integer=True)
    writer.cone("perspective", x[0], w[0], z[0])
    writer.row("off", [(x, 1.0), (z, -1.0)], upper=0.0)
    writer.maximise([(x, 1.0), (z, -0.6)])
    return writer.model(), 0.0


KNOWN = {"disc": disc, "knapsack": knapsack, "chords": chords, "switched": switched}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name, backend):
    model, answer = KNOWN[name]()
    solved = solve_model(model, backend_named(backend), Settings(time_limit=20.0, gap=1e-6))
    assert solved.outcome.stop is Stop.OPTIMAL
    assert solved.outcome.bound == pytest.approx(answer, abs=1e-5)
    assert solved.outcome.bound >= answer - 1e-6
    assert solved.outcome.x.shape == (model.width,)
    assert excess(model, solved.outcome.x) < 1e-5


@pytest.mark.parametrize("backend", BACKENDS)
def test_infeasible_is_told_apart(backend):
    writer = ModelWriter()
    x = writer.block("x", 2, 0.0, 1.0, lambda v: v, integer=True)
    writer.row("odd", [(x, 2.0)], lower=1.0, upper=1.0)
    writer.maximise([(x, 1.0)])
    outcome = solve_model(writer.model(), backend_named(backend), Settings()).outcome
    assert outcome.stop is Stop.INFEASIBLE
    assert outcome.bound == -np.inf
    assert outcome.x is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_start_is_taken(backend):
    model, _ = knapsack()
    outcome = backend_named(backend).solve(model.with_start(np.array([1.0, 0.0, 1.0])), Settings())
    assert outcome.objective == pytest.approx(8.0)


def test_sos2_lowering_is_exact():
    model, _ = chords()
    lowered = binaries_for_sets(Lowered(model, model.width, ()))
    assert lowered.steps == (("SOS-II sets to binaries", "exact"),)
    assert lowered.model.sets == ()

    def allowed(eta):
        return any(
            excess(lowered.model, np.array([*eta, *beta])) < 1e-12
            for beta in product((0.0, 1.0), repeat=lowered.model.width - 5)
        )

    for eta in ([0.0, 0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.75, 0.25, 0.0]):
        assert excess(model, np.array(eta)) < 1e-12
        assert allowed(eta)
    for eta in ([0.0, 0.5, 0.0, 0.5, 0.0], [0.1, 0.2, 0.7, 0.0, 0.0], [0.4, 0.0, 0.0, 0.6, 0.0]):
        assert excess(model, np.array(eta)) > 0.05
        assert not allowed(eta)


def test_tangents_enclose_the_square():
    rng = np.random.default_rng(0)
    model, _ = disc()
    lowered = tangents_for_squares(Lowered(model, model.width, ()), 7)
    assert [kind for _, kind in lowered.steps] == ["outer"]
    assert lowered.model.is_linear
    for _ in range(200):
        xy = rng.standard_normal(2)
        xy *= rng.uniform() / np.linalg.norm(xy)
        assert excess(lowered.model, np.array([*xy, *xy**2])) < 1e-12
    for at in rng.standard_normal(20):
        row = Square(0, 1, 2, "perspective").tangent(at, 0)
        x, z = rng.standard_normal(), rng.uniform(0.1, 1)
        assert row.coefficients @ np.array([x, x**2 / z, z])[row.columns] >= row.lower - 1e-12
        assert (row.lower, row.upper) == (0.0, np.inf)


def test_lowering_follows_the_capabilities():
    model, _ = switched()
    assert lower(model, backend_named("scip")).steps == ()
    assert [kind for _, kind in lower(model, backend_named("highs")).steps] == ["outer"]


def test_model_refuses_what_makes_no_sense():
    writer = ModelWriter()
    x = writer.block("x", 2, 0.0, 1.0, lambda v: v)
    writer.square("concave", x, -1.0, [], 1.0)
    with pytest.raises(ValueError, match="not convex"):
        writer.model()
    empty = ModelWriter()
    empty.block("x", 1, 1.0, 0.0, lambda v: v)
    with pytest.raises(ValueError, match="lower bound above"):
        empty.model()
    unordered = ModelWriter()
    y = unordered.block("y", 3, 0.0, 1.0, lambda v: v)
    unordered.sos2("set", y, np.array([0.0, 2.0, 1.0]))
    with pytest.raises(ValueError, match="increasing"):
        unordered.model()
    negative = ModelWriter()
    w = negative.block("w", 3, -1.0, 1.0, lambda v: v)
    negative.cone("cone", w[0], w[1], w[2])
    with pytest.raises(ValueError, match="not negative"):
        negative.model()
    with pytest.raises(ValueError, match="start has shape"):
        knapsack()[0].with_start(np.zeros(2))


def test_worst_names_what_is_broken():
    model, _ = knapsack()
    assert broken(model, np.array([1.0, 1.0, 0.0]))[0][0] == "weight"
    assert broken(model, np.array([0.5, 0.0, 0.0]))[0][0] == "column abc[0]"
    assert excess(model, np.array([1.0, 0.0, 1.0])) == 0.0
