"""Every backend: same answers, honest limits, Ctrl-C, and no solver imported before it is used."""

import importlib.util
import io
import math
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from mip_battery import ALL, BACKENDS, controls, optimum_of, problem_of, quietly, tolerance_of

import noap
from noap.mip import list_backends, run_mip, run_mip_r
from noap.mip.backends.base import Progress, Settings
from noap.mip.backends.registry import backend_named
from noap.mip.cuts import Cuts
from noap.mip.formulations.assemble import formulate
from noap.mip.instance import instance_of
from noap.mip.lowering import lower, solve_model
from noap.mip.search import progress_line, watching
from noap.runtime.controls import Controls


@pytest.mark.parametrize("run", [run_mip, run_mip_r], ids=["mip", "mip-r"])
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_backends_agree(case, run):
    options = {} if run is run_mip else {"rank": case.rank}
    bounds = [run(problem_of(case), controls(), backend=name, pieces=2, **options).bound for name in BACKENDS]
    # Tangents stop at 1e-6 per square, and there are a few dozen squares.
    assert max(bounds) - min(bounds) <= 5 * tolerance_of(case)
    assert min(bounds) >= optimum_of(case) - tolerance_of(case)


@pytest.mark.parametrize("case", [ALL[2]], ids=lambda case: case.name)
def test_backends_agree_on_the_printed_program(case):
    bounds = [
        quietly(run_mip, problem_of(case), controls(), backend=name, pieces=1, as_printed=True).bound
        for name in BACKENDS
    ]
    assert max(bounds) - min(bounds) <= 5 * tolerance_of(case)


def test_probing_imports_no_solver():
    code = """
        import sys, noap.mip
        infos = noap.mip.list_backends()
        assert len(infos) == 3, infos
        print([name for name in ("pyscipopt", "highspy", "gurobipy") if name in sys.modules])
    """
    shown = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_an_absent_backend_is_named_and_not_replaced(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(noap.errors.BackendNotAvailable, match=r"gurobipy.*pip install 'noap\[gurobi\]'"):
        run_mip(problem_of(ALL[0]), controls(), backend="gurobi")
    assert not any(info.installed or info.capabilities for info in list_backends())
    with pytest.raises(noap.errors.BackendNotAvailable, match="or choose a method that needs none"):
        backend_named("scip")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "highspy" or None)
    with pytest.raises(noap.errors.BackendNotAvailable, match=r"or choose one that is installed \('highs'\)"):
        backend_named("scip")


def test_listing_tells_licences_apart_when_asked():
    licences = {info.name: info.licence for info in list_backends(licences=True)}
    assert licences["scip"] == licences["highs"] == "open"
    if "gurobi" in BACKENDS:
        assert licences["gurobi"] in ("full", "size-limited", "none")


@pytest.mark.skipif("gurobi" not in BACKENDS, reason="gurobipy is an optional extra")
def test_a_model_beyond_the_licence_says_so_in_one_sentence():
    from noap.mip.backends.gurobi import is_size_limited

    if not is_size_limited():
        pytest.skip("a full licence takes every model")
    rng = np.random.default_rng(0)
    problem = noap.Problem(rng.standard_normal((60, 8)), 2, noap.SampleWise(0.3))
    cuts = Cuts()
    instance = instance_of(problem, screen=True, incumbent=noap.solve(problem, "ascent").v)
    gurobi = backend_named("gurobi")
    small = formulate(instance, cuts, pieces=3).model
    assert any(kind == "outer" for _, kind in lower(small, gurobi).steps)  # over 200 variables: linearised
    with pytest.raises(noap.errors.BackendNotAvailable, match="pip licence takes 2000 variables"):
        lower(formulate(instance, cuts, pieces=150).model, gurobi)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_watcher_hears_of_bounds(backend):
    """A longer solve reports; a bound once reported never lies below the final one by more than rounding."""
    problem = noap.Problem(np.random.default_rng(3).standard_normal((30, 10)), 3, noap.FeatureWise(1.0))
    formulation = formulate(instance_of(problem, screen=False), Cuts.none(), pieces=3)
    heard: list[Progress] = []
    settings = Settings(time_limit=1.5, watch=heard.append)
    outcome = solve_model(formulation.model, backend_named(backend), settings).outcome
    assert heard
    bounds = [state.bound for state in heard if state.bound is not None]
    assert min(bounds) >= outcome.bound - 1e-6


def test_progress_line_and_its_silence():
    assert progress_line(Progress(None, None, 3), float, 2.0) == "value 2, no bound yet, 3 nodes"
    assert "unknown" in progress_line(Progress(None, 1.0, 3), float, 0.0)
    with watching(False, float, 1.0, "x") as watch:
        assert watch is None


INTERRUPTED = """
    import signal, sys, numpy as np, noap
    from noap.runtime.controls import Controls
    from noap.mip import run_mip
    from noap.theory import spiked_wishart
    model = spiked_wishart(300, 30, 5, 3.0, k1=2, c=0.8, random_state=0)
    problem = noap.Problem(model.X, 5, noap.FeatureWise(1.5 * np.sqrt(300 / 5)))
    controls = Controls.checked(1e-4, 100, 0, False)
    # A runner that starts this suite in the background may have told its children to ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("ready", flush=True)
    result = run_mip(problem, controls, backend=sys.argv[1], as_printed=True, reduced_dim=14)
    print(result.limit, result.value > 0, result.restricted_bound, flush=True)
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_ctrl_c_returns_the_best_so_far(backend):
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), backend]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().strip() == "ready"
            time.sleep(3.0)  # ascent takes a fraction of a second, the program far more than this
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, err
    limit, positive, bound = out.splitlines()[-1].split()  # the solvers announce Ctrl-C above it
    assert (limit, positive) == ("Limit.INTERRUPTED", "True")
    assert bound != "None"
    assert math.isfinite(float(bound))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    problem = noap.Problem(np.random.default_rng(3).standard_normal((30, 10)), 3, noap.FeatureWise(1.0))
    shown = {}
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        watched = Controls.checked(1e-4, 1.5, 0, True)
        quietly(run_mip, problem, watched, as_printed=True)
        shown[stream.isatty()] = stream.getvalue()
    assert "bound" in shown[True]
    assert "nodes" in shown[True]
    assert shown[False] == ""
