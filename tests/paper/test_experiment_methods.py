"""What an experiment takes from a method: its own vector, or an empty cell where there is none."""

import dataclasses
import json
import math

import numpy as np
import polars as pl
import pytest

import noap
from noap.experiments import Method, Spec, SpikedModel, Store, perform, run
from noap.experiments.figures import cosines, measures
from noap.experiments.population import population_of
from noap.experiments.table import AVERAGED, points, trials
from noap.experiments.trial import find
from noap.theory import population_value, spiked_wishart

MODEL = SpikedModel(d=20, k=3, lam=3.0, k1=1, c=0.8)
PRINTED = {"as_printed": True, "reduced_dim": 8}


def spec(*methods, budgets=(1.0,), seeds=(0,), n=60):
    return Spec("figures", "feature", MODEL, (n,), budgets, seeds, methods)


def problem(budget, n=60, seed=0):
    X = spiked_wishart(n, 20, 3, 3.0, k1=1, c=0.8, random_state=seed).X
    return noap.Problem(X, 3, noap.FeatureWise(budget * math.sqrt(n / 3)))


@pytest.mark.parametrize("solver", ["mip", "mip-r"])
def test_a_printed_program_gives_what_solve_calls_its_own(solver):
    method = Method("MIP", solver, PRINTED | {"pieces": 1}, time_limit=20.0)
    found = find(problem(1.0), method, 0)
    with pytest.warns(noap.errors.GapWarning, match="on the 8 features of reduced_dim"):
        result = noap.solve(problem(1.0), solver, pieces=1, time_limit=20.0, **PRINTED)
    np.testing.assert_allclose(np.abs(found.v), np.abs(result.program_v), atol=1e-9)
    assert found.solution in ("own", "zero")
    assert found.bound == pytest.approx(result.restricted_bound)
    assert list(found.scope) == list(result.restricted_to)


def test_without_a_solution_nothing_is_measured_and_nothing_is_drawn_as_0(tmp_path):
    methods = (
        Method("exact", "exact"), Method("PPM", "ppm"), Method("MIP-r", "mip-r", PRINTED, time_limit=10.0),
        Method("MIP", "mip", PRINTED, time_limit=1e-9),
    )  # fmt: skip
    one = spec(*methods)
    with Store(tmp_path / "trials.jsonl") as store:
        assert run([one], store).complete
        table = trials(one, store)
    row = table.filter(pl.col("method") == "MIP").row(0, named=True)
    assert row["solution"] == "none"
    for name in (
        "value",
        "population",
        "size",
        "support",
        "loadings",
        "cosine",
        "cosine_strong",
        "recovery_weak",
        "gap",
    ):
        assert row[name] is None, name
    best = table.filter(pl.col("method") == "best").row(0, named=True)
    others = table.filter(pl.col("method").is_in(["PPM", "MIP-r"]))
    assert best["population"] == others["population"].max()
    means = points(table)
    assert means.filter(pl.col("method") == "MIP")["no_solution"].to_list() == [1]
    population = population_of(MODEL, 2.0)
    for draw, titles in ((cosines, ["MIP"]), (measures, ["objective, 15 features", "support, 15 features"])):
        panels = [axes for axes in draw(means, one, population).axes if axes.get_title() in titles]
        assert len(panels) == len(titles)
        for axes in panels:
            lines = {line.get_label(): line for line in axes.lines}
            crosses = [line for line in axes.lines if line.get_label() == "no solution found"]
            assert all(list(line.get_xdata()) == [1.0] for line in crosses)
            assert crosses
            curves = [lines[name] for name in ("MIP", "strong", "weak") if name in lines]
            assert curves
            assert all(len(line.get_xdata()) == 0 for line in curves), "nothing is drawn for it, 0 least of all"


@pytest.mark.parametrize(("kept", "marked"), [(2, False), (3, True), (4, True)])
def test_a_point_whose_solutions_are_mostly_starts_is_marked(kept, marked):
    rows = [
        {"experiment": "figures", "method": "MIP", "n": 60, "budget": 1.0, "optimum": 1.0, "limit_hit": "time"}
        | {"solution": "start" if seed < kept else "own", "gap": 0.5}
        | dict.fromkeys(("cosine_strong", "cosine_weak"), 0.8)
        for seed in range(4)
    ]
    measured = set(AVERAGED) - {"gap", "cosine_strong", "cosine_weak"}
    table = pl.DataFrame([row | dict.fromkeys(measured, 1.0) for row in rows])
    one = spec(Method("MIP", "mip"))
    panel = next(a for a in cosines(points(table), one, population_of(MODEL, 2.0)).axes if a.get_title() == "MIP")
    white = [line for line in panel.lines if line.get_color() == "white"]
    assert [list(line.get_xydata()[0]) for line in white] == ([[1.0, 0.8], [1.0, 0.8]] if marked else [])


def test_best_follows_the_population_objective_unless_asked_otherwise(tmp_path):
    methods = (Method("PPM", "ppm"), Method("MIP", "exact"), Method("MIP-r", "vanilla"))
    one = spec(*methods, budgets=(0.4, 0.8), seeds=tuple(range(8)), n=20)
    with Store(tmp_path / "trials.jsonl") as store:
        assert run([one], store).complete
        by_population, by_sample = trials(one, store), trials(one, store, best="sample")
    chosen = {}
    for name, table in (("population", by_population), ("value", by_sample)):
        for keys, group in table.group_by("seed", "budget"):
            best = group.filter(pl.col("method") == "best").row(0, named=True)
            assert best[name] == group.filter(pl.col("method") != "best")[name].max()
            chosen.setdefault(keys, []).append(best["support"])
    assert any(first != second for first, second in chosen.values()), "the two objectives choose the same everywhere"


def test_the_population_objective_is_that_of_equation_10():
    trial = next(iter(spec(Method("PPM", "ppm"), n=40).trials()))
    row = perform(trial).columns
    draw = spiked_wishart(40, 20, 3, 3.0, k1=1, c=0.8, random_state=0)
    v = np.zeros(20)
    v[json.loads(row["support"])] = json.loads(row["loadings"])
    covariance = np.eye(20) + 3.0 * np.outer(draw.v, draw.v)
    by_hand = max(math.sqrt(v @ covariance @ v) - trial.rho / math.sqrt(40) * np.abs(v).sum(), 0.0) ** 2
    assert row["population"] == pytest.approx(by_hand)
    assert population_value(v, draw, adversary="feature", rho=trial.rho, n=40) == pytest.approx(by_hand)


def test_ppm_and_vanilla_are_measured_as_they_are_where_nothing_is_left():
    beyond = problem(9.0)
    assert beyond.optimum_is_zero
    for solver in ("ppm", "vanilla"):
        assert find(beyond, Method(solver, solver), 0).v.any()
    assert find(beyond, Method("PPM", "ppm"), 0).bound == math.inf
    for solver in ("exact", "mip"):
        found = find(beyond, Method(solver, solver), 0)
        assert not found.v.any()
        assert (found.bound, found.solution) == (0.0, None)


def test_a_cycle_is_recorded():
    model = SpikedModel(d=100, k=5, lam=3.0, k1=2, c=0.8)
    one = dataclasses.replace(spec(Method("PPM", "ppm"), n=100), model=model)
    assert perform(next(iter(one.trials()))).columns["cycle"] == 2
