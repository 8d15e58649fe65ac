"""Every kernel is compiled for one signature, when it is needed, and a person who waits is told how far it is."""

import gc
import io
import json
import os
import subprocess
import sys

import pytest
from numba.core import event

import noap.runtime.line
from noap.runtime.kernels import kernel, reached_from, watched
from noap.runtime.line import Line

# What people do, in an interpreter of its own with nothing compiled yet. Numba tells of every kernel it compiles. The
# optimiser is off: it has no part in what is compiled.
WORK = """
import collections, json, warnings
import numpy as np
from numba.core import dispatcher, event
warnings.simplefilter("ignore")
import noap, noap.exact.feature_wise.attempt

counts = collections.defaultdict(list)
class Listener(event.Listener):
    def on_start(self, event):
        if isinstance(event.data["dispatcher"], dispatcher.LiftedCode):
            return  # the lines of a kernel that are Python's
        function = event.data["dispatcher"].py_func
        counts[function.__module__ + "." + function.__name__].append(str(event.data["args"]))
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())

def solved(X, k, adversary, **options):
    problem = noap.Problem(X, k=k, adversary=adversary)
    result = noap.solve(problem, settings=noap.Settings(most_features=0), **options)
    assert noap.verify(problem, result.certificate).ok
    assert noap.verify(problem, result.certificate, time_limit=600).ok

rng = np.random.default_rng(80)
noise = rng.standard_normal((60, 24))
stages = {}
spike = noise + 1.5 * rng.standard_normal((60, 1)) * (np.arange(24) < 4)
for k, rho in ((4, 1.0), (3, 2.0), (2, 1.0), (1, 1.0)):
    solved(spike, k, noap.FeatureWise(rho))
solved(noise, 4, noap.FeatureWise(1.0), node_limit=200)
stages["feature-wise"] = sorted(counts)
# The semidefinite test joins as soon as plain branching has had its turn.
noap.exact.feature_wise.attempt._PATIENCE = 0.0
solved(rng.standard_normal((80, 40)), 14, noap.NoAdversary(), node_limit=800)
stages["vanilla"] = sorted(counts)
ours = {name: found for name, found in counts.items() if name.startswith("noap.")}
print(json.dumps({"stages": stages, "twice": {name: found for name, found in ours.items() if len(found) > 1}}))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("cache")), "NUMBA_OPT": "0"}
    done = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_kernel_is_compiled_for_two_signatures(compiled):
    assert compiled["twice"] == {}


def test_nothing_is_compiled_before_it_is_needed(compiled):
    feature_wise = compiled["stages"]["feature-wise"]
    assert "noap.exact.feature_wise.kernels.node.examine" in feature_wise
    files = {name.rsplit(".", 1)[0] for name in feature_wise}
    assert not [file for file in files if "semidefinite" in file or "sample" in file or "cones" in file]
    assert "noap.exact.feature_wise.kernels.semidefinite.semidefinite" in compiled["stages"]["vanilla"]


def deeper(x):
    return x + 1


inner = kernel(deeper)


def outer(x):
    return inner(x) * 2


def test_compiling_is_counted():
    entry = kernel(outer)
    assert {one.py_func for one in reached_from((entry,))} == {outer, deeper}
    told = []
    with watched((entry,), lambda *what: told.append(what)):
        pass
    assert told == []


def wrong(x):
    return x + nothing_of_that_name  # noqa: F821


class Collecting(event.Listener):
    """Whether the garbage collector is on, whenever a kernel is begun and done."""

    def __init__(self):
        self.seen = []

    def on_start(self, event):
        self.seen.append(gc.isenabled())

    on_end = on_start


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("function", [outer, wrong])
def test_the_garbage_collector_is_off_while_a_kernel_is_compiled_and_then_as_before(monkeypatch, function, enabled):
    monkeypatch.setattr(function, "__module__", "noap.made_up")
    entry, before = kernel(function, cache=False), gc.isenabled()
    monkeypatch.setitem(outer.__globals__, "inner", kernel(deeper, cache=False))
    (gc.enable if enabled else gc.disable)()
    try:
        with event.install_listener("numba:compile", listener := Collecting()):
            if function is wrong:
                with pytest.raises(Exception, match="nothing_of_that_name"):
                    entry(1)
            else:
                assert entry(1) == 4
        after = gc.isenabled()
    finally:
        (gc.enable if before else gc.disable)()
    # Both are begun and the inner one is done with the collector off; it is on again when the outer one is done.
    assert listener.seen == ([False, enabled] if function is wrong else [False, False, False, enabled])
    assert after == enabled


def test_the_garbage_collector_is_left_alone_by_what_others_compile():
    entry = kernel(deeper, cache=False)
    assert not entry.py_func.__module__.startswith("noap.")
    with event.install_listener("numba:compile", listener := Collecting()):
        assert entry(1.5) == 2.5
    assert listener.seen == [gc.isenabled()] * 2


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_how_far_it_is(monkeypatch, terminal):
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    line = Line()
    line.show("3 of 7 compiled, now look")
    line.close("noap: compiled.")
    assert ("3 of 7 compiled" in stream.getvalue()) == terminal
    assert stream.getvalue() == "" or stream.getvalue().endswith("\r\x1b[K")


def test_a_notebook_shows_it_under_the_cell(monkeypatch):
    shown = []

    class Cell:
        def update(self, what, raw):
            shown.append(what["text/plain"])

    class Display:
        @staticmethod
        def display(what, raw, display_id):
            shown.append(what["text/plain"])
            return Cell()

    monkeypatch.setattr(noap.runtime.line, "_in_notebook", lambda: True)
    monkeypatch.setitem(sys.modules, "IPython.display", Display)
    line = Line()
    line.show("1 of 2 compiled, now a")
    line.show("2 of 2 compiled, now b")
    line.close("noap: compiled.")
    assert shown == ["noap: 1 of 2 compiled, now a", "noap: 2 of 2 compiled, now b", "noap: compiled."]
