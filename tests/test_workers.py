"""Threads and Dask workers share the pass over pairs of features: the same bits, whoever does it, and in any order."""

import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest

import noap
from noap.errors import InvalidProblem, NoapError
from noap.exact.many import pairs as pairs_module
from noap.exact.many import search as search_module
from noap.exact.many import wide
from noap.exact.many.compatible import Compatible
from noap.exact.many.pairs import scan
from noap.heuristics import pool as pool_module
from noap.heuristics.pool import pooled_features
from noap.heuristics.scaled_terms import ScaledTerms
from noap.linalg import blocked
from noap.linalg.blocked import ScaledColumns
from noap.linalg.products import column_norms
from noap.runtime import cluster as cluster_module
from noap.runtime import workers as workers_module
from noap.runtime.cluster import answers_of_cluster
from noap.runtime.line import Line
from noap.runtime.threads import blas_threads
from noap.runtime.workers import Pass, Workers, block_pairs


def module_data(n, d, size, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for first in range(0, d // 5, size):
        X[:, first : first + size] += np.outer(rng.standard_normal(n), rng.uniform(1, 3, size))
    X = X[:, rng.permutation(d)]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def problem_of(seed=0, d=2300):
    return noap.Problem(module_data(40, d, 10, seed), k=5, adversary=noap.FeatureWise(0.2 * 40**0.5))


@pytest.fixture
def narrow(monkeypatch):
    """Blocks so narrow that there are many."""
    monkeypatch.setattr(blocked, "WIDTH", 128)


@pytest.fixture
def few_blocks(monkeypatch):
    monkeypatch.setattr(blocked, "WIDTH", 400)


def solved(**options):
    result = noap.solve(problem_of(), **options)
    assert result.status is noap.Status.OPTIMAL
    return result.certificate.to_bytes()


# -- threads -----------------------------------------------------------------------------------------------------------


def test_any_number_of_threads_gives_the_same_certificate(narrow, monkeypatch):
    wanted = solved()
    seen, above = set(), pairs_module._above

    def slow(left, right, given):
        # Later pairs are done sooner.
        time.sleep(0.002 * (left.shape[1] % 3) + 0.004 * given[1])
        seen.add(threading.current_thread().name)
        return above(left, right, given)

    monkeypatch.setattr(pairs_module, "_above", slow)
    for n_jobs in (1, 2, 3):
        seen.clear()
        assert solved(n_jobs=n_jobs) == wanted
        assert len(seen) == n_jobs
    result = noap.solve(problem_of(), n_jobs=2)
    for n_jobs in (None, 1, 2, -1):
        report = noap.verify(result.problem, result.certificate, n_jobs=n_jobs)
        assert report.ok
        assert report.bound == noap.verify(result.problem, result.certificate).bound


def test_the_pool_does_not_depend_on_who_looks_for_it(narrow, monkeypatch):
    monkeypatch.setattr(pool_module, "_MOST", 100)
    X = module_data(30, 1000, 10, 3)
    X[:, 500:600] = X[:, 100:200]  # ties
    columns = ScaledColumns(X, column_norms(X))
    # All at once, in NumPy: the last bit of a product may depend on how many there are.
    features = np.argsort(-columns.squares, kind="stable")
    G = np.abs(blocked.single_product(columns.single(features), columns.single(features)))
    for workers in (Workers(1), Workers(3)):
        sizes, places = pool_module._neighbours(columns, features, 6, lambda: None, workers)
        np.testing.assert_allclose(sizes, -np.sort(-G, axis=1)[:, :10], rtol=1e-6)
        np.testing.assert_allclose(np.take_along_axis(G, places.astype(int), axis=1), sizes, rtol=1e-6)
        assert len({tuple(row) for row in map(sorted, places.tolist())}) > 500
    terms = ScaledTerms(np.array([0.1]), None, is_even=True)
    pools = [pooled_features(columns, terms, 6, workers=Workers(jobs)) for jobs in (1, 2, 4)]
    assert all(np.array_equal(pools[0], other) for other in pools[1:])


def test_answers_come_in_order_and_errors_through():
    order = []

    def work(left, right, given):
        time.sleep(0.003 * (left < 2))
        order.append(int(given))
        if given == 7:
            raise ZeroDivisionError
        return given

    pairs = block_pairs(4)
    numbers = {pair: number for number, pair in enumerate(pairs)}
    task = Pass(work, lambda i: np.array(i), lambda i, j: numbers[i, j], pairs)
    answers = Workers(4).answers(task)
    assert [next(answers) for _ in range(7)] == list(range(7))
    with pytest.raises(ZeroDivisionError):
        next(answers)
    assert order != sorted(order)


def test_blas_has_one_thread_in_a_pass_and_what_it_had_afterwards():
    before, seen = blas_threads(), []

    def work(left, right, given):
        seen.append(blas_threads())

    task = Pass(work, lambda i: np.zeros(1), lambda i, j: None, block_pairs(3))
    list(Workers(2).answers(task))
    assert set(seen) == {1}
    unfinished = Workers(2).answers(task)
    next(unfinished)
    unfinished.close()
    assert blas_threads() == before


@pytest.mark.parametrize("wrong", [{"n_jobs": 0}, {"n_jobs": True}, {"n_jobs": 1.5}, {"client": "tcp://here:1"}])
@pytest.mark.parametrize("method", ["exact", "ascent"])
def test_what_is_refused(wrong, method):
    problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary())
    with pytest.raises(InvalidProblem, match=next(iter(wrong))):
        noap.solve(problem, method, **wrong)


# -- progress, limits and interrupts within the pass -------------------------------------------------------------------


def told(monkeypatch):
    said = []
    report = search_module._ManySearch._tell

    def noted(self, features_left):
        said.append((self.doing, features_left, self._bound()))
        report(self, features_left)

    monkeypatch.setattr(search_module._ManySearch, "_tell", noted)
    return said


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_counts_all_pairs_and_places(n_jobs, narrow, monkeypatch):
    said = told(monkeypatch)
    result = noap.solve(problem_of(), n_jobs=n_jobs)
    scanned = [doing.split() for doing, _, _ in said if doing.endswith("pairs scanned")]
    done, total = [int(words[0]) for words in scanned], [int(words[2]) for words in scanned]
    assert len(scanned) > 50
    assert done[-1] == total[-1] == 2300 * 2299 // 2
    assert all(a < b for a, b in itertools.pairwise(done) if a != total[0])
    places = [doing.split() for doing, _, _ in said if doing.endswith("places closed")]
    assert all(int(words[5]) <= int(words[7]) for words in places)
    assert {left for doing, left, _ in said if doing.endswith("places closed")} - {0}
    bounds = [bound for _, _, bound in said]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == result.bound


@pytest.mark.parametrize("method", ["ascent", "exact"])
def test_the_pass_of_ascent_says_how_far_it_is(method, narrow, monkeypatch):
    said = []
    monkeypatch.setattr(Line, "due", lambda self: True)
    monkeypatch.setattr(Line, "show", lambda self, text: said.append(text))
    noap.solve(problem_of(), method, progress=True)
    ours = [text for text in said if text.startswith("looking for good vectors, ")]
    assert len(ours) == len(block_pairs(18))
    assert ours[-1] == f"looking for good vectors, {2300 * 2299 // 2} of {2300 * 2299 // 2} pairs scanned"
    assert len(set(ours)) == len(ours)
    said.clear()
    noap.solve(problem_of(), method)
    assert not said


@pytest.mark.filterwarnings("ignore::noap.errors.GapWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("how", ["interrupt", "time"])
def test_what_stops_the_pass_leaves_the_bound_proved_so_far(how, n_jobs, narrow, monkeypatch):
    parts, scanned = [], search_module._ManySearch._scanned
    # A pass for every level, and the end comes within the second one.
    monkeypatch.setattr(search_module._ManySearch, "_expected", lambda self, k, levels: [])
    monkeypatch.setattr(wide, "MOST_GRAM_FEATURES", 0)

    def stopping(self, done, total):
        scanned(self, done, total)
        parts.append(len(self.proved))
        if len(self.proved) >= 1 and done > total / 3:
            if how == "interrupt":
                raise KeyboardInterrupt
            self.controls.time_limit = 1e-9

    monkeypatch.setattr(search_module._ManySearch, "_scanned", stopping)
    problem = problem_of()
    result = noap.solve(problem, n_jobs=n_jobs, time_limit=1000)
    assert result.limit is (noap.Limit.INTERRUPTED if how == "interrupt" else noap.Limit.TIME)
    assert set(parts) == {0, 1}
    assert 0 < parts.count(1) < 0.5 * parts.count(0)
    assert result.status is noap.Status.FEASIBLE
    # Two features are proved: five are worth at most 5/2 of them.
    assert result.certificate.proof.ks.tolist() == [2]
    pair = noap.solve(problem.with_sparsity(2))
    assert result.bound <= 2.5 * pair.bound * (1 + 1e-4)
    assert noap.verify(problem, result.certificate).ok


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_limit_within_the_pass_of_ascent(n_jobs, narrow, monkeypatch):
    blocks = []

    def counted(self, features):
        blocks.append(len(features))
        if len(blocks) == 20:
            raise KeyboardInterrupt
        return taken(self, features)

    taken = ScaledColumns.single
    monkeypatch.setattr(ScaledColumns, "single", counted)
    result = noap.solve(problem_of(), "ascent", n_jobs=n_jobs)
    assert result.limit is noap.Limit.INTERRUPTED
    assert 20 <= len(blocks) < 30
    assert result.value > 0


# -- a cluster ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    # Ports of its own choosing, so that clusters on the same machine do not meet.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", scheduler_port=0
    ) as found:
        yield found


@pytest.fixture
def client(cluster):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster, set_as_default=False) as found:
        found.wait_for_workers(2, timeout=60)
        yield found


def test_two_dask_workers_give_the_same_certificate(client, few_blocks, monkeypatch):
    wanted = solved(n_jobs=1)
    here = []
    monkeypatch.setattr(cluster_module._Handed, "_here", lambda self, number: here.append(number))
    assert solved(client=client) == wanted
    assert not here
    ascent = noap.solve(problem_of(), "ascent", client=client)
    assert np.array_equal(ascent.v, noap.solve(problem_of(), "ascent").v)


def test_a_dask_worker_is_killed_in_the_middle_and_the_certificate_is_the_same(client, few_blocks, monkeypatch):
    wanted = solved(n_jobs=1)
    victim = next(iter(client.run(os.getpid).values()))
    scanned, killed = search_module._ManySearch._scanned, []

    def killing(self, done, total):
        scanned(self, done, total)
        if done > total / 4 and not killed:
            os.kill(victim, signal.SIGKILL)
            killed.append(done)

    monkeypatch.setattr(search_module._ManySearch, "_scanned", killing)
    assert solved(client=client) == wanted
    assert killed


def squared_sum(left, right, given):
    if given == "wrong":
        raise ZeroDivisionError
    return float(left.sum() * right.sum())


def test_all_workers_gone_an_error_of_the_work_and_a_stop(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster_module, "_LOOK_AT_WORKERS", 0.2)
    pairs = block_pairs(5)
    task = Pass(squared_sum, lambda i: np.full(3, float(i)), lambda i, j: None, pairs)
    wanted = [9.0 * i * j for i, j in pairs]
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0", scheduler_port=0) as own,
        distributed.Client(own, set_as_default=False) as client,
    ):
        assert list(answers_of_cluster(client, task, lambda: None)) == wanted
        broken = task._replace(given=lambda i, j: "wrong" if (i, j) == (2, 3) else None)
        with pytest.raises(ZeroDivisionError):
            list(answers_of_cluster(client, broken, lambda: None))

        def stop():
            raise KeyboardInterrupt

        slow = task._replace(work=lambda left, right, given: time.sleep(1.0))
        with pytest.raises(KeyboardInterrupt):
            list(answers_of_cluster(client, slow, stop))
        answers = answers_of_cluster(client, task, lambda: None)
        assert next(answers) == wanted[0]
        own.scale(0)
        deadline = time.monotonic() + 60
        while client.nthreads() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(answers) == wanted[1:]


def test_workers_of_another_version_are_refused(client, monkeypatch):
    monkeypatch.setattr(cluster_module, "__version__", "0.0.0")
    with pytest.raises(NoapError, match="the same version everywhere"):
        solved(client=client)


def test_a_small_problem_needs_no_worker():
    assert workers_module.HERE.n_jobs is None
    problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary())
    assert noap.solve(problem, n_jobs=2).status is noap.Status.OPTIMAL


def test_a_scan_that_finds_too_many_gives_up_early(narrow, monkeypatch):
    X = module_data(25, 1000, 10, 7)
    columns = ScaledColumns(X, column_norms(X))
    test = Compatible.at(3, 2.7, np.array([0.0, 1.0, 1.9]), 0.0)
    counts = [len(scan(columns, [test], lambda: None, lambda *_: None, workers=Workers(jobs)).rows) for jobs in (1, 3)]
    assert counts[0] == counts[1] > 40
    parts = []
    for jobs in (1, 3):
        parts.clear()
        assert scan(columns, [test], lambda: None, lambda *done: parts.append(done), 20, Workers(jobs)) is None
        assert 0 < len(parts) < 36
