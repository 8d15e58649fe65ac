"""The paper's programs in the hands of an optimiser: files, own solvers, limits, traces and starts."""

import locale
import re

import numpy as np
import pytest

import noap
from noap.errors import GapWarning, InvalidProblem

RNG = np.random.default_rng(11)
X = RNG.standard_normal((20, 5)) @ RNG.standard_normal((5, 5))
NAMES = ["a b", "e12", "10 %", "x^2 + y", "st"]
PROBLEMS = {
    "feature": noap.Problem(X, 2, noise=0.4, feature_names=NAMES),
    "none": noap.Problem(X, 2, feature_names=NAMES),
    "sample": noap.Problem(X, 2, noap.SampleWise(0.4), feature_names=NAMES),
}
scip = pytest.importorskip("pyscipopt")
highspy = pytest.importorskip("highspy")


def read_by_scip(path):
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    assert model.getStatus() == "optimal"
    return model.getObjVal(), {one.name: model.getVal(one) for one in model.getVars()}


def read_by_highs(path):
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.setOptionValue("mip_rel_gap", 1e-7)
    highs.run()
    names = highs.getLp().col_names_
    return highs.getObjectiveValue(), dict(zip(names, highs.getSolution().col_value, strict=True))


def solved(problem, backend, method="mip"):
    return noap.solve(problem, method, backend=backend, gap=1e-5)


def agrees(written, found, problem, result):
    objective, columns = found
    assert written.value_of(objective) == pytest.approx(result.bound, rel=2e-4)
    assert set(written.columns) <= set(columns)
    v = np.zeros(5)
    v[[NAMES.index(name) for name in written.features]] = [columns[name] for name in written.columns]
    assert problem.value(v / np.linalg.norm(v)) == pytest.approx(result.value, rel=1e-3)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("suffix", [".lp", ".mps", ".cip"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_scip_reads_the_program_back_to_the_same_optimum(tmp_path, kind, suffix):
    problem = PROBLEMS[kind]
    written = noap.write_program(problem, tmp_path / f"model{suffix}")
    agrees(written, read_by_scip(written.path), problem, solved(problem, "scip"))


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_highs_and_scip_read_a_linear_program_back_to_the_same_optimum(tmp_path, kind, suffix):
    problem = PROBLEMS[kind]
    written = noap.write_program(problem, tmp_path / f"model{suffix}", backend="highs")
    by_highs, by_scip = (read(written.path)[0] for read in (read_by_highs, read_by_scip))
    assert by_highs == pytest.approx(by_scip, rel=1e-5)
    # Tangents are outside: solve cuts off what breaks a square after branching, too.
    bound = solved(problem, "highs").bound
    assert bound * (1 - 1e-4) <= written.value_of(by_highs) <= 1.1 * bound


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_gurobi_reads_it_where_it_is_installed(tmp_path):
    gurobipy = pytest.importorskip("gurobipy")
    for backend, suffix in (("scip", ".lp"), ("highs", ".mps")):
        written = noap.write_program(PROBLEMS["feature"], tmp_path / f"model{suffix}", backend=backend)
        with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.read(str(written.path), env=env) as model:
            model.optimize()
            found = read_by_scip(written.path)[0]
            assert model.ObjVal == pytest.approx(found, rel=1e-3)


def test_the_reduced_program_of_some_features(tmp_path):
    written = noap.write_program(PROBLEMS["feature"], tmp_path / "m.lp", "mip-r", rank=2, reduced_dim=3)
    assert len(written.columns) == len(written.features) <= 3
    text = written.path.read_text(encoding="utf-8")
    assert all(re.fullmatch(r"[A-Za-z]\w*", name, flags=re.ASCII) for name in written.columns)
    assert "[0]" not in text


def test_a_program_is_written_whatever_the_locale(tmp_path):
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        own = locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")
        noap.write_program(PROBLEMS["feature"], tmp_path / "model.lp")
        assert locale.setlocale(locale.LC_NUMERIC) == own
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


def test_what_cannot_be_written_is_one_sentence(tmp_path):
    for arguments, sentence in (
        ((PROBLEMS["none"], tmp_path / "m.txt"), "must end in .mps, .lp, .cip"),
        ((PROBLEMS["none"], tmp_path / "m.lp", "exact"), "method must be one of"),
        ((noap.Problem(X, 2, noise=100.0), tmp_path / "m.lp"), "no program to write"),
    ):
        with pytest.raises(InvalidProblem, match=sentence):
            noap.write_program(*arguments)
    assert not list(tmp_path.iterdir())


class Counting:
    """A backend of one's own: SCIP, with a count of the calls."""

    name = "mine"

    def __init__(self):
        from noap.mip.backends.scip import Scip

        self.inner, self.calls = Scip(), 0
        self.capabilities = self.inner.capabilities

    def reject(self, model):
        return None

    def solve(self, model, settings):
        self.calls += 1
        return self.inner.solve(model, settings)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
def test_a_backend_may_be_an_object():
    mine = Counting()
    result = solved(PROBLEMS["feature"], mine)
    assert mine.calls > 0
    assert result.bound == solved(PROBLEMS["feature"], "scip").bound
    for wrong in (Counting, 3, object()):
        with pytest.raises(InvalidProblem, match="backend must be a name, or an object"):
            solved(PROBLEMS["feature"], wrong)


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("backend", ["scip", "highs"])
def test_the_trace_of_a_program_falls_to_its_bound(backend):
    result = solved(PROBLEMS["feature"], backend)
    bounds = [point.bound for point in result.trace]
    assert bounds[-1] == result.bound
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize("backend", ["scip", "highs"])
def test_a_program_stops_at_its_node_limit(backend):
    large = noap.Problem(RNG.standard_normal((40, 20)), 6, noise=0.3)
    with pytest.warns(GapWarning, match="node limit"):
        result = noap.solve(large, "mip", backend=backend, node_limit=2, time_limit=60.0)
    assert result.limit is noap.Limit.NODES
    with pytest.raises(InvalidProblem, match="node_limit"):
        noap.solve(large, "mip", node_limit=0)


@pytest.mark.parametrize("method", ["exact", "ascent"])
def test_an_answer_is_never_worse_than_its_start(method):
    problem = noap.Problem(RNG.standard_normal((60, 30)), 5, noise=0.2)
    best = noap.solve(problem).v
    hurried = {"keep": 1, "polish": 1, "max_steps": 1} if method == "ascent" else {}
    assert noap.solve(problem, method, start=7 * best, **hurried).value >= problem.value(best) * (1 - 1e-12)
    dense = noap.solve(problem, method, start=np.ones(30))  # cut to k entries
    assert len(dense.support) <= 5
    for wrong in (np.zeros(30), np.ones(29), np.full(30, np.nan)):
        with pytest.raises(InvalidProblem, match=r"start|v has shape"):
            noap.solve(problem, method, start=wrong)
    with pytest.raises(InvalidProblem, match="start is no option of path"):
        noap.path(problem, 5, start=best)
