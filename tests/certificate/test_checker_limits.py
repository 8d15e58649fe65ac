"""Limits hold within a node and before an array is made: a clock that counts looks, and memory that is traced."""

import dataclasses
import itertools
import os
import threading
import time
import tracemalloc
import types

import numpy as np
import pytest
from numba.core import event
from tampering import edited, sentence

import noap
import older
from noap.checker import allowance, bounds
from noap.checker.allowance import Allowance, OutOfAllowance
from noap.checker.feature_wise.data import GramData
from noap.checker.feature_wise.kernels import semidefinite as semidefinite_kernels
from noap.checker.feature_wise.kernels import test as test_kernels
from noap.checker.feature_wise.kernels import tighten as tighten_kernels
from noap.errors import InvalidProblem
from noap.linalg import products
from noap.proofs import container
from noap.proofs.certificate import Certificate
from noap.proofs.feature_wise import AGAIN, CLOSED
from opened import opened

# Python calls kernels; the parts of them are opened for it.
test_kernels = opened(test_kernels)

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")

MEGABYTE = 1_000_000


@pytest.fixture
def looks(monkeypatch, honest):
    """A clock that moves on by a second whenever someone looks at it; what it shows next."""
    # Who compiles looks too: that is over before the clock is replaced.
    assert noap.verify(honest.problem, honest.certificate).ok
    ticks = itertools.count()
    # The allowance's own: Python's belongs to all, and compilers look at it too.
    monkeypatch.setattr(allowance, "time", types.SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    return lambda: next(ticks)


def peak_of(call):
    """The most bytes that were allocated at a time, and what the call returned or why it refused."""
    tracemalloc.start()
    try:
        answer = call()
    except InvalidProblem as refusal:
        answer = refusal
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, answer


# -- time -------------------------------------------------------------------------------------------------------------


def kernels():
    """Kernels that prove something when they have the time: how to call them with a clock, and what they then say."""
    rng = np.random.default_rng(1)
    # Positive definite, and dominant once it is scaled: the first turn does not find that out.
    S = np.eye(8)
    S[0, 1:3] = S[1:3, 0] = 0.6
    yield "dominance", lambda clock: test_kernels.dominates(S, 8, 3, np.ones(8), clock)
    yield "semidefinite", lambda clock: semidefinite_kernels.definite(S, 8, 3, clock)
    data = GramData.of(noap.Problem(rng.standard_normal((30, 6)), k=3, adversary=noap.FeatureWise(1.0)))
    inc, sign, none = np.array([0, 1]), np.array([1, 1]), np.empty(0)
    lo, hi = data.terms.r_lo[:2].copy(), data.norms[:2].copy()
    free, ceil = np.arange(2, 6), data.norms[2:].copy()

    def tighten(clock):
        bounds = lo.copy(), hi.copy()
        tighten_kernels.tighten(
            data.A, data.eps, data.top, data.table, 0.8 * data.scale, 1, none,
            inc, sign.copy(), *bounds, 2, free.copy(), ceil.copy(), 4, clock,
        )  # fmt: skip
        return bool((bounds[0] > lo).any() or (bounds[1] < hi).any())

    yield "tightening", tighten
    yield "Schur test", lambda clock: (
        test_kernels.schur_test(
            data.A, data.eps, data.top, data.table, 9.0 * data.scale, 4, none, 0.0, 0.0, inc, lo, hi, 2,
            free, ceil, 4, 0.0, 0, True, np.ones(2), 0.0, True, np.empty((4, 4)), np.zeros(4, dtype=np.bool_),
            np.ones(6), clock,
        ) != test_kernels.NOTHING
    )  # fmt: skip


@pytest.mark.parametrize(("name", "call"), list(kernels()), ids=lambda x: x if isinstance(x, str) else "")
def test_no_kernel_goes_on_or_proves_anything_when_time_is_up(name, call, looks):
    assert call(Allowance().clock)
    # Someone who looks at the clock after every step, but has all the time there is.
    patient = Allowance(1e9)
    patient.clock[allowance.STRIDE] = 0.0
    before = looks()
    assert call(patient.clock)
    assert looks() - before - 1 >= 1
    hurried = Allowance(1)
    hurried.clock[allowance.STRIDE] = 0.0
    before = looks()
    assert not call(hurried.clock)
    # It returned at the first look, which came too late.
    assert looks() - before - 1 == 1
    with pytest.raises(OutOfAllowance, match="could not be proved within 1 seconds"):
        hurried.check_kernel()


def test_the_clock_is_looked_at_while_the_data_are_read(looks, monkeypatch):
    X = np.random.default_rng(2).standard_normal((20_000, 5))
    problem = noap.Problem(X, k=2, adversary=noap.SampleWise(0.0))
    assert GramData.of(problem) is not None
    monkeypatch.setattr(allowance, "_STRIDE", 1.0)
    with pytest.raises(OutOfAllowance, match="within 2 seconds"):
        GramData.of(problem, Allowance(2))


def test_only_the_asked_look_at_the_clock(looks, honest):
    before = looks()
    assert noap.verify(honest.problem, honest.certificate).ok
    assert looks() - before - 1 == 0


# -- memory -----------------------------------------------------------------------------------------------------------


def long_files(c):
    """Certificates of some 30 MB that make a file of 30 kB: arrays of zeros, each long in its own place."""
    count, u4 = 1_000_000, np.dtype("u4")
    nodes = {name: np.zeros(count, dtype=getattr(c.proof, name).dtype) for name in NODES}
    yield "nodes", edited(c, **{**nodes, "kind": np.full(count, AGAIN, dtype=np.uint8)})
    yield "leaves", edited(c, **{**nodes, "kind": np.full(count, CLOSED, dtype=np.uint8)})
    yield "levels", edited(c, levels=np.zeros(4 * count))
    yield "features", edited(c, each=np.zeros(8 * count, dtype=u4))
    yield "vectors", edited(c, starts=np.zeros(8 * count, dtype=u4), places=np.zeros(0, u4), weights=np.empty(0))
    yield "v", dataclasses.replace(c, places=np.zeros(3 * count, dtype=u4), weights=np.zeros(3 * count))


NODES = ("kind", "test", "vector", "feature", "cut", "nu", "level")


def test_reading_takes_little_more_than_the_arrays(honest):
    for name, long in long_files(honest.certificate):
        data = long.to_bytes()
        assert len(data) < 50_000
        peak, read = peak_of(lambda data=data: Certificate.from_bytes(data, memory_limit=100))
        assert peak < 1.05 * long.nbytes + 3 * MEGABYTE, name
        if isinstance(read, InvalidProblem):
            sentence(str(read), "The certificate cannot be read: ")
            continue
        # Whether it is a tree, and whatever else is found out before the walk.
        peak, report = peak_of(lambda read=read: (read.malformed(), read.proof.broken_tree()))
        assert peak < 3 * MEGABYTE, name
        assert report[0] is None


def test_a_small_file_of_large_arrays_is_not_read_unless_it_is_allowed(honest, monkeypatch):
    _, long = next(long_files(honest.certificate))
    data = long.to_bytes()
    monkeypatch.setattr(container, "_ALLOWED", 20 * MEGABYTE)
    peak, refusal = peak_of(lambda: Certificate.from_bytes(data))
    sentence(str(refusal), "The certificate cannot be read: its arrays take 30 megabytes inflated")
    assert "memory_limit" in str(refusal)
    assert peak < MEGABYTE
    peak, refusal = peak_of(lambda: Certificate.from_bytes(data, memory_limit=29))
    sentence(str(refusal), "The certificate cannot be read: with its arrays inflated it takes 30 megabytes")
    assert peak < MEGABYTE
    assert Certificate.from_bytes(data, memory_limit=31).nodes == long.nodes


def test_files_that_noap_writes_are_far_from_what_is_allowed(honest):
    # Nothing but ties, which compress as well as a proof may.
    X = np.vstack([np.eye(12)] * 200) + 0.3
    problem = noap.Problem(X, k=3, adversary=noap.FeatureWise(0.2))
    for certificate in (honest.certificate, older.solve(problem).certificate):
        assert certificate.nbytes < 32 * len(certificate.to_bytes())


@pytest.mark.parametrize("adversary", [noap.FeatureWise(2.0), noap.SampleWise(0.0)])
def test_a_check_takes_no_more_memory_than_it_is_allowed(adversary):
    X = np.random.default_rng(4).standard_normal((30_000, 12))
    X[:, 0] *= 3
    problem = noap.Problem(X, k=2, adversary=adversary)
    certificate = older.solve(problem, gap=0.1).certificate
    assert noap.verify(problem, certificate).ok
    verdicts = []
    for megabytes in (0.1, 1, 2, 4, 8, 16, 32, 64):
        peak, report = peak_of(lambda: noap.verify(problem, certificate, memory_limit=megabytes))  # noqa: B023
        assert report.ok or report.message == (
            f"Rejected: it cannot be checked within {megabytes:g} megabytes; allow more with memory_limit."
        )
        # Reading the data for their fingerprint takes a block of them whatever is allowed.
        assert peak < megabytes * MEGABYTE + 5 * MEGABYTE
        verdicts.append(report.ok)
    assert verdicts == sorted(verdicts)
    assert verdicts[-1]
    assert not verdicts[0]


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), "much"])
def test_memory_limits_that_make_no_sense(honest, limit):
    data = honest.certificate.to_bytes()
    for call in (
        lambda: noap.verify(honest.problem, honest.certificate, memory_limit=limit),
        lambda: Certificate.from_bytes(data, memory_limit=limit),
        lambda: Certificate.load("nothing.noap", memory_limit=limit),
    ):
        with pytest.raises(InvalidProblem) as refusal:
            call()
        sentence(str(refusal.value), "memory_limit must be a positive number of megabytes")


# -- files without end ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no file without end here")
def test_a_file_without_end_is_left():
    peak, refusal = peak_of(lambda: Certificate.load("/dev/zero"))
    sentence(str(refusal), "The certificate cannot be read: it is not a regular file and does not end within 64")
    assert peak < 70 * MEGABYTE
    peak, refusal = peak_of(lambda: Certificate.load("/dev/zero", memory_limit=2))
    sentence(str(refusal), "The certificate cannot be read: it is larger than the 2 megabytes")
    assert peak < 3 * MEGABYTE


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_that_ends_is_read(honest, tmp_path):
    pipe, data = tmp_path / "pipe", honest.certificate.to_bytes()
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(data))
    writer.start()
    assert Certificate.load(pipe).nodes == honest.certificate.nodes
    writer.join()


def test_a_file_beyond_the_limit_is_not_read(honest, tmp_path):
    path = tmp_path / "proof.noap"
    path.write_bytes(honest.certificate.to_bytes())
    with pytest.raises(InvalidProblem, match=r"larger than the 0\.001 megabytes of memory_limit"):
        Certificate.load(path, memory_limit=0.001)
    assert Certificate.load(path, memory_limit=1).nodes == honest.certificate.nodes


# -- what is shared ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adversary", [noap.FeatureWise(1.0), noap.NoAdversary()])
def test_the_checker_computes_nothing_with_the_solvers_code(adversary, monkeypatch):
    X = np.random.default_rng(6).standard_normal((12, 5))
    certificate = older.solve(noap.Problem(X, k=2, adversary=adversary)).certificate
    problem = noap.Problem(X, k=2, adversary=adversary)

    def forbidden(*_, **__):
        raise AssertionError("the checker has its own")

    for name in ("column_norms", "columns", "gram", "row_top_k_norms", "scores"):
        monkeypatch.setattr(products, name, forbidden)
    for name in ("value", "attack", "rho_max", "kept_features", "kept_samples"):
        if hasattr(type(adversary), name):
            monkeypatch.setattr(type(adversary), name, forbidden)
    assert noap.verify(problem, certificate).ok


def test_compiling_the_checker_is_no_part_of_the_check(monkeypatch):
    problem = noap.Problem(np.random.default_rng(0).standard_normal((20, 6)), k=2, adversary=noap.FeatureWise(0.5))
    proof = older.solve(problem).certificate
    real, proved, passed = time.perf_counter, bounds.bound_above, [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: real() + passed[0])

    def compiled_first(*arguments):
        with event.trigger_event("numba:compile", data={"dispatcher": None}):
            passed[0] += 1000.0  # a slow machine
        return proved(*arguments)

    monkeypatch.setattr(bounds, "bound_above", compiled_first)
    report = noap.verify(problem, proof, time_limit=600)
    assert report.ok, report.message
    assert report.seconds < 600

    def slow(*arguments):
        passed[0] += 1000.0
        return proved(*arguments)

    monkeypatch.setattr(bounds, "bound_above", slow)
    assert "could not be proved within 600 seconds" in noap.verify(problem, proof, time_limit=600).message
