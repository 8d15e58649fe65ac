"""The line that says where a long computation stands: on a terminal, in a notebook, in a log; silent anywhere else."""

import io
import logging
import re
import subprocess
import sys
import time
import types

import numpy as np
import polars as pl
import pytest

import noap
from commands import left_on_screen, on_terminal
from noap.experiments import Method, SpikedModel, Store, run
from noap.experiments.spec import Spec
from noap.runtime.progress import CountLine, SearchLine, TracePoint

X = np.random.default_rng(0).standard_normal((40, 8)) + np.random.default_rng(1).standard_normal((40, 1))


@pytest.fixture
def table(tmp_path):
    pl.DataFrame(X, schema=[f"f{j}" for j in range(8)]).write_csv(tmp_path / "data.csv")
    return tmp_path


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_terminal_counts_the_points_of_a_path(table, jobs):
    extra = () if jobs is None else ("--jobs", jobs)
    code, out, seen = on_terminal("path", "data.csv", "-k", 3, "--noise", "0,0.1,0.2,0.3,0.4", *extra, cwd=table)
    assert code == 0, seen
    counts = [int(number) for number in re.findall(r"point (\d+) of 5", seen)]
    assert counts == sorted(counts)
    assert counts[-1] == 5
    assert left_on_screen(seen) == ""
    assert "essential to" in out
    assert "point" not in out.split("\n")[0]


def test_a_terminal_counts_what_refining_adds(table):
    code, _, seen = on_terminal("path", "data.csv", "-k", 3, "--points", 9, cwd=table)
    assert code == 0, seen
    counted = [(int(a), int(b)) for a, b in re.findall(r"point (\d+) of (\d+)", seen)]
    assert all(done <= total for done, total in counted)
    assert counted[-1][0] == counted[-1][1] > 9


def test_a_terminal_counts_the_levels_of_a_k_path(table):
    code, _, seen = on_terminal("k-path", "data.csv", "-k", 4, cwd=table)
    assert code == 0, seen
    assert re.findall(r"level (\d) of 4", seen)[-1] == "4"
    assert left_on_screen(seen) == ""


def test_a_warning_takes_a_line_of_its_own(table):
    (table / "twice.csv").write_text((table / "data.csv").read_text().replace("f0", "a").replace("f1", "a"))
    code, _, seen = on_terminal("path", "twice.csv", "-k", 2, "--noise", "0", cwd=table)
    assert code == 0, seen
    assert left_on_screen(seen).startswith("noap: FILE twice.csv: names of columns repeat")


def test_a_pipe_is_left_alone(table):
    command = [sys.executable, "-m", "noap", "path", "data.csv", "-k", "3", "--noise", "0,0.1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=table, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_log_hears_of_it_every_minute(monkeypatch, caplog, capsys):
    caplog.set_level(logging.INFO, logger="noap")
    noap.path(X, k=3, rhos=[0.0, 0.5, 1.0], progress=True)
    assert caplog.records == []  # over in less than a minute
    moment = iter(range(0, 10_000, 25))  # every look at the clock is 25 s later
    monkeypatch.setattr(time, "monotonic", lambda: next(moment))
    noap.path(X, k=3, rhos=np.linspace(0, 2, 12), progress=True)
    said = [record.getMessage() for record in caplog.records]
    assert all(re.match(r"point \d+ of 12", line) for line in said)
    assert 1 <= len(said) <= 12
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert capsys.readouterr().err == ""
    caplog.clear()
    noap.path(X, k=3, rhos=np.linspace(0, 2, 12), progress=False)
    assert caplog.records == []


def test_the_command_line_logs_when_asked(table):
    # Every look at the clock is a minute later.
    clock = "import itertools, time; minutes = itertools.count(0.0, 61.0); time.monotonic = lambda: next(minutes)"
    code = f"{clock}; from noap.cli import main; main()"
    for options, heard in (((), False), (("--log",), True), (("--log", "--json"), True)):
        command = [sys.executable, "-c", code, "path", "data.csv", "-k", "3", "--noise", "0,0.1,0.2", *options]
        done = subprocess.run(command, capture_output=True, text=True, cwd=table, check=False)
        assert done.returncode == 0, done.stderr
        lines = done.stderr.splitlines()
        assert bool(lines) == heard
        pattern = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d noap: (point \d of 3|essential features)"
        assert all(re.match(pattern, line) for line in lines)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_search_stands_behind_the_count(monkeypatch):
    moment = iter(range(10_000))  # every look at the clock is a second later
    monkeypatch.setattr(time, "monotonic", lambda: next(moment))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with CountLine("point", 9, wanted=True) as points:
        points.step(2)
        with SearchLine(True, "k = 4") as search:
            search.report(TracePoint(1.5, 2.0, 2.1, 70), 12)
        points.step()
    first, second, third, last = sys.stderr.getvalue().split("\x1b[K")[:-1]
    assert first == "\rnoap: point 2 of 9"
    assert second == "\rnoap: point 3 of 9: k = 4, 1.5 s, 70 nodes, value 2, bound 2.1, gap 5.1 %, 12 features left"
    assert third == "\rnoap: point 3 of 9"
    assert last == "\r"


def test_a_line_never_wraps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with CountLine("point with a long name", 9, wanted=True) as points:
        points.step()
    assert sys.stderr.getvalue().startswith("\rnoap: point with a \x1b[K")


def test_a_search_that_nobody_watches_says_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with SearchLine(False) as search:
        search.report(TracePoint(1.5, 2.0, 2.1, 70), 12)
    assert sys.stderr.getvalue() == ""


@pytest.fixture
def cell(monkeypatch):
    """A notebook that keeps what its cell shows."""
    shown = []

    class Cell:
        def update(self, what, raw):
            shown.append(what["text/plain"])

    def display(what, raw, display_id):
        shown.append(what["text/plain"])
        return Cell()

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    return shown


def test_a_notebook_shows_it_under_the_cell(cell, capsys):
    noap.path(X, k=3, rhos=[0.0, 0.5, 1.0], progress=True)
    assert "noap: point 3 of 3" in cell
    assert cell[-1] == ""
    cell.clear()
    noap.k_path(noap.Problem(X, 3, noap.FeatureWise(1.0)), progress=True)
    assert "noap: level 3 of 3" in cell
    assert capsys.readouterr().err == ""


def test_experiments_count_their_trials(cell, tmp_path):
    spec = Spec("tiny", "feature", SpikedModel(8, 2, 3.0), (30,), (0.0, 1.0), (0,), (Method("PPM", "ppm"),))
    with Store(tmp_path / "trials.jsonl") as store:
        run([spec], store, progress=True)
    assert cell[-2] == "noap: trial 2 of 2, 0:00:00 left"


@pytest.fixture
def log(monkeypatch, caplog):
    """What a log hears where every look at the clock is 25 s later."""
    caplog.set_level(logging.INFO, logger="noap")
    moment = iter(range(0, 10**9, 25))
    monkeypatch.setattr(time, "monotonic", lambda: next(moment))
    return caplog


def test_a_log_counts_the_supports_that_are_found(log):
    problem = noap.Problem(noap.standardize(X), 3, noise=0.2)
    noap.near_optimal(problem, within=0.05)
    assert log.records == []
    noap.near_optimal(problem, within=0.05, progress=True)
    assert any(record.getMessage().endswith("supports found") for record in log.records)


def test_a_search_says_which_component_it_is_about(log):
    for n_components, names in ((3, {f"component {c} of 3" for c in (1, 2, 3)}), (0.5, {"component 1"})):
        log.clear()
        noap.RobustSparsePCA(n_components, k=3, noise=0.1, scale=True, options={"progress": True}).fit(X)
        said = {record.getMessage().split(":")[0] for record in log.records}
        assert said >= names


def test_a_terminal_names_components_that_are_chosen_together(log, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    noap.RobustSparsePCA(2, k=3, noise=0.1, scale=True, joint=True, options={"progress": True}).fit(X)
    assert "\rnoap: components 1 to 2 together: " in sys.stderr.getvalue()
