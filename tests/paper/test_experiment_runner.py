"""The runner: killed, interrupted, in parallel, it stores the same table."""

import dataclasses
import functools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from experiment_cases import COUNT, SPEC, measured, run_logged

from noap.errors import InvalidProblem
from noap.experiments import Method, Store, perform, run
from noap.experiments.runner import time_left
from noap.experiments.spec import Trial


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The table of a run that nothing disturbs."""
    with Store(tmp_path_factory.mktemp("judge") / "trials.jsonl") as store:
        run([SPEC], store)
        return measured(store)


@pytest.fixture(scope="module")
def context():
    """Fork children from a server that has everything imported: they get killed at work, not at import."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["experiment_cases", "noap.search.solve", "noap.mip.run"])
    return found


def lines(log):
    return log.read_text().split() if log.exists() else []


def wait_for(log, count, child):
    deadline = time.monotonic() + 60
    while len(lines(log)) < count and child.is_alive() and time.monotonic() < deadline:
        time.sleep(0.005)


def stamps(path):
    """Key and moment of every row; nothing if the store is not there yet."""
    if not path.exists() or not path.stat().st_size:
        return {}
    with Store(path, writing=False) as store:
        return {key: row["finished"] for key, row in store.rows(store.keys()).items()}


def test_killed_ten_times(tmp_path, context, undisturbed):
    path, log = tmp_path / "trials.jsonl", tmp_path / "log"
    moments = random.Random(7)
    kept: dict[str, str] = {}
    for _ in range(10):
        begun = len(lines(log))
        child = context.Process(target=run_logged, args=(path, log, 0.01))
        child.start()
        # A process spends its first moments on versions and kernels; kills fall there, and between and in later trials.
        wait_for(log, begun + moments.choice([1, 2, 4]), child)
        time.sleep(moments.uniform(0.0, 0.05))
        assert child.is_alive(), "the experiment is too small for ten kills"
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        after = stamps(path)
        assert kept.items() <= after.items(), "a finished trial was lost or run twice"
        assert not set(kept) & set(lines(log)[begun:]), "a finished trial was begun again"
        kept = after
    begun = len(lines(log))
    assert 0 < len(kept) < COUNT
    run_logged(path, log, 0.0)
    assert len(lines(log)) - begun == COUNT - len(kept)
    assert len(lines(log)) <= COUNT + 10, "more was lost than the trials in flight"
    final = stamps(path)
    assert kept.items() <= final.items()
    assert len(final) == COUNT
    with Store(path) as store:
        assert measured(store) == undisturbed


def _interrupted(path, log, answer):
    with Store(path) as store:
        ended = run([SPEC], store, work=functools.partial(_slowly, log))
    answer.put((ended.done, ended.interrupted, ended.complete))


def _slowly(log, trial):
    from experiment_cases import logged

    return logged(log, 0.05, trial)


def test_ctrl_c_finishes_the_trial_in_flight(tmp_path, context, undisturbed):
    path, log = tmp_path / "trials.jsonl", tmp_path / "log"
    answer = context.SimpleQueue()
    child = context.Process(target=_interrupted, args=(path, log, answer))
    child.start()
    wait_for(log, 8, child)
    os.kill(child.pid, signal.SIGINT)
    done, interrupted, complete = answer.get()
    child.join()
    assert child.exitcode == 0
    assert interrupted
    assert not complete
    assert done == len(stamps(path)) == len(lines(log)), "the trial in flight was dropped"
    with Store(path) as store:
        assert run([SPEC], store).complete
        assert measured(store) == undisturbed


def test_ctrl_c_inside_a_solver_is_no_result(tmp_path):
    """A method that swallows Ctrl-C and returns what it has must not be stored as finished."""
    seen = []

    def halfway(trial):
        seen.append(trial)
        return None if len(seen) == 3 else perform(trial)

    with Store(tmp_path / "trials.jsonl") as store:
        ended = run([SPEC], store, work=halfway)
        assert (ended.done, ended.interrupted) == (2, True)
        assert len(store) == 2


def test_two_processes_store_the_same(tmp_path, undisturbed):
    with Store(tmp_path / "trials.jsonl") as store:
        assert run([SPEC], store, jobs=2).done == COUNT
        assert measured(store) == undisturbed


IN_PARALLEL = """
import sys, time
from pathlib import Path
from experiment_cases import SPEC, logged
from noap.experiments import Store, run
import functools
with Store(Path(sys.argv[1])) as store:
    run([SPEC], store, jobs=2, work=functools.partial(logged, sys.argv[2], 0.2))
"""


def test_a_killed_run_leaves_no_worker_behind_and_can_go_on(tmp_path, undisturbed):
    path, log = tmp_path / "trials.jsonl", tmp_path / "log"
    places = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    child = subprocess.Popen(
        [sys.executable, "-c", IN_PARALLEL, str(path), str(log)],
        env=os.environ | {"PYTHONPATH": places},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(lines(log)) < 6 and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    kept = stamps(path)
    with Store(path) as store:
        assert run([SPEC], store).done == COUNT - len(kept)
        assert measured(store) == undisturbed
    while time.monotonic() < deadline:
        try:
            os.killpg(child.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("workers outlive the run")


@pytest.mark.parametrize("jobs", [0, -2, 1.5, True])
def test_jobs_is_checked(tmp_path, jobs):
    with Store(tmp_path / "trials.jsonl") as store, pytest.raises(InvalidProblem, match="jobs"):
        run([SPEC], store, jobs=jobs)


def test_a_bug_in_a_method_keeps_what_is_finished(tmp_path):
    def buggy(trial):
        if trial.budget == 1.5:
            raise RuntimeError("boom")
        return perform(trial)

    with Store(tmp_path / "trials.jsonl") as store:
        with pytest.raises(RuntimeError, match="boom"):
            run([SPEC], store, work=buggy)
        assert len(store) == 2


def test_time_left_knows_slow_methods_from_quick_ones():
    assert time_left({"a": 100, "b": 2}, {"a": 0.01, "b": 10.0}, {}, 1) == pytest.approx(21.0)
    assert time_left({"a": 100, "b": 2}, {"a": 0.01}, {"b": 30.0}, 2) == pytest.approx(30.5)


def trial(method, budget):
    return Trial("feature", SPEC.model, 40, 0, budget, method)


def test_the_printed_program_is_measured_by_its_own_solution():
    """As printed MIP-r prefers v = 0 at large budgets: it then has no direction, whatever ascent knows."""
    printed = Method("MIP-r", "mip-r", {"as_printed": True, "reduced_dim": 6, "rank": 2})
    columns = perform(trial(printed, 2.0)).columns
    exact = perform(trial(Method("exact", "exact"), 2.0)).columns
    assert exact["value"] > 0
    assert columns["size"] == 0
    assert columns["value"] == columns["cosine"] == 0.0
    assert columns["bound"] >= exact["value"]
    assert columns["bound_proof"] == "solver"
    small = perform(trial(printed, 0.5)).columns
    assert 0 < small["value"] <= small["bound"]


def test_where_the_optimum_is_zero_only_blind_methods_have_a_direction():
    rows = {method.label: perform(trial(method, 9.0)).columns for method in SPEC.methods}
    assert {label for label, row in rows.items() if row["size"]} == {"PPM", "vanilla"}
    assert all(row["value"] == 0.0 for row in rows.values())
    assert rows["exact"]["bound"] == 0.0


def test_a_method_can_be_renamed_and_still_finds_its_rows(tmp_path):
    other = dataclasses.replace(SPEC, methods=(dataclasses.replace(SPEC.methods[0], label="power"),))
    with Store(tmp_path / "trials.jsonl") as store:
        run([dataclasses.replace(SPEC, methods=SPEC.methods[:1])], store)
        assert run([other], store).done == 0
