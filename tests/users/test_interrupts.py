"""Ctrl-C at any time: the best answer so far comes back, with a bound that holds and a warning."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import noap
import noap.cli

ROUNDING = 1e-9


def _data(n, d, seed=4):
    return np.random.default_rng(seed).standard_normal((n, d))


@functools.cache
def _problem(k=6, d=60):
    return noap.Problem(_data(40, d), k=k, adversary=noap.FeatureWise(1.0))


@functools.cache
def _by_samples():
    return noap.Problem(_data(20, 12), k=4, adversary=noap.SampleWise(1.0))


def _path(adversary, d, k):
    return noap.path(_data(40, d), k, adversary, rhos=np.linspace(0.0, 5.0, 7))


# What is called, and the results in what it gives back.
CALLS = {
    "solve": lambda: [noap.solve(_problem())],
    "solve by samples": lambda: [noap.solve(_by_samples())],
    "relaxation": lambda: [noap.solve(_problem(), "relaxation")],
    "path": lambda: _path(noap.FeatureWise, 40, 5).results,
    "path by samples": lambda: _path(noap.SampleWise, 8, 3).results,
    "k_path": lambda: noap.k_path(_problem(6, 45)).results,
    "k_path by samples": lambda: noap.k_path(_by_samples()).results,
}


@contextlib.contextmanager
def _ctrl_c_after(seconds):
    """Send one SIGINT to the main thread, unless the block has ended by then."""
    over = threading.Event()

    def press():
        if not over.wait(max(seconds, 0.005)):  # within the call, and not on the way to it
            os.kill(os.getpid(), signal.SIGINT)

    thread, came_through = threading.Thread(target=press), False
    try:
        thread.start()
        try:
            yield
        except KeyboardInterrupt:
            came_through = True
        over.set()
        thread.join()
    except KeyboardInterrupt:  # one that came too late
        over.set()
        thread.join()
    assert not came_through, "Ctrl-C came through."


@pytest.fixture(scope="module")
def whole():
    """Every call's results without an interrupt, by place, and the seconds it took; computed once, when first asked."""
    known = {}

    def of(call):
        if call not in known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                CALLS[call]()  # what is loaded and compiled counts for nobody
                begun = time.perf_counter()
                results = CALLS[call]()
            known[call] = {_place(one): one for one in results}, time.perf_counter() - begun
        return known[call]

    return of


def _place(result):
    return result.problem.k, float(np.max(result.problem.adversary.rho))


def _is_short(result):
    return result.limit is noap.Limit.INTERRUPTED and result.gap > result.asked_gap


def _interrupted(call, whole, share):
    """Interrupt a call after a share of the time it takes, and look at what comes back."""
    optima, seconds = whole(call)
    with warnings.catch_warnings(record=True) as said, _ctrl_c_after(share * seconds):
        warnings.simplefilter("always")
        results = CALLS[call]()
    assert len(results) >= 1
    for result in results:
        optimum = optima[_place(result)]
        assert result.value <= optimum.bound * (1 + ROUNDING)
        assert result.bound >= optimum.value * (1 - ROUNDING)
        assert np.count_nonzero(result.v) <= result.problem.k
        if result.certificate is not None:
            assert noap.verify(result.problem, result.certificate).ok
    short = len(results) < len(optima) or any(_is_short(one) for one in results)
    if short:
        assert any("nterrupted" in str(one.message) for one in said)
    return short


@pytest.mark.parametrize("share", [0.001, 0.3, 0.8])
@pytest.mark.parametrize("call", CALLS)
def test_the_best_so_far_comes_back_with_its_bound(call, share, whole):
    _interrupted(call, whole, share)


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_the_best_so_far_comes_back_at_fifty_random_times(call, whole):
    shares = np.random.default_rng(len(call)).uniform(0.0, 0.95, 50)
    assert sum(_interrupted(call, whole, share) for share in shares) >= 25


def _near_optimal():
    return noap.near_optimal(_problem(5, 40), within=0.05)


@pytest.mark.parametrize("count", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_a_list_holds_what_was_found(count):
    begun = time.perf_counter()
    full = _near_optimal()
    seconds, all_of = time.perf_counter() - begun, {tuple(support) for support in full.supports}
    assert full.complete
    for share in np.random.default_rng(1).uniform(0.0, 0.9, count):
        with _ctrl_c_after(share * seconds):
            found = _near_optimal()
        assert found.complete == (found.certificate is not None)
        assert found.limit is noap.Limit.INTERRUPTED or found.complete
        if found.values[0] >= full.values[0] * (1 - ROUNDING):
            assert {tuple(support) for support in found.supports} <= all_of


def test_a_feature_that_is_left_open_is_not_called_essential():
    path, settled = _path(noap.FeatureWise, 40, 5), _path(noap.FeatureWise, 40, 5).essential
    with _ctrl_c_after(0.02), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        essential = path.essential
    assert (essential <= settled).all()
    assert (essential == settled).all() or any("was not settled" in str(one.message) for one in said)


def test_several_processes():
    optima = _path(noap.FeatureWise, 30, 4)
    with warnings.catch_warnings(), _ctrl_c_after(0.5):
        warnings.simplefilter("ignore")
        path = noap.path(_data(40, 30), 4, rhos=np.linspace(0.0, 5.0, 7), n_jobs=2)
    places = np.searchsorted(optima.rhos, path.rhos)
    assert (path.bounds >= optima.values[places] * (1 - ROUNDING)).all()


# A command is interrupted this often, at times spread over the run.
COMMANDS = {
    "solve": ["-k", "6", "--noise", "0.1"],
    "path": ["-k", "5", "--points", "9"],
    "k-path": ["-k", "6", "--noise", "0.1"],
    "near-optimal": ["-k", "5", "--noise", "0.1"],
}


@pytest.mark.parametrize("count", [1, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_ends_with_its_answer_or_one_line(command, count, tmp_path):
    file = tmp_path / "data.csv"
    np.savetxt(file, _data(60, 40), delimiter=",", header=",".join(f"x{j}" for j in range(40)), comments="")
    run = [sys.executable, "-m", "noap", command, str(file), *COMMANDS[command], "--json"]
    begun = time.perf_counter()
    assert subprocess.run(run, capture_output=True, check=False).returncode in (0, 3)
    seconds = time.perf_counter() - begun
    for share in np.random.default_rng(count).uniform(0.1, 0.9, count):
        process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(share * seconds)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors, errors
        if process.returncode == 130:
            assert "interrupted before there was an answer" in errors
        elif process.returncode == -signal.SIGINT:
            # Python itself had ended, or not begun; or it was about to say so.
            assert out.startswith("{") or not out
            assert not errors or out or "interrupted before there was an answer" in errors
        else:
            assert process.returncode in (0, 3)
            assert out.startswith("{")


def test_who_calls_the_command_line_keeps_ctrl_c(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["noap", "--version"])
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit):
        noap.cli.main()
    assert signal.getsignal(signal.SIGINT) is before
    assert capsys.readouterr().out.startswith("noap")
