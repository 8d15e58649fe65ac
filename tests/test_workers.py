"""Threads share a pass over pairs of features: the same bits, whoever does it, and in any order."""

import time

import numpy as np
import pytest

import noap
from noap.errors import InvalidProblem
from noap.runtime.threads import blas_threads, in_order


def module_data(n, d, size, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for first in range(0, d // 5, size):
        X[:, first : first + size] += np.outer(rng.standard_normal(n), rng.uniform(1, 3, size))
    X = X[:, rng.permutation(d)]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_any_number_of_threads_gives_the_same_certificate():
    problem = noap.Problem(module_data(40, 4200, 10, 0), k=5, adversary=noap.FeatureWise(0.2 * 40**0.5))
    results = [noap.solve(problem, n_jobs=n_jobs) for n_jobs in (1, 2, 3)]
    assert results[0].status is noap.Status.OPTIMAL
    assert len({result.certificate.to_bytes() for result in results}) == 1
    for n_jobs in (None, 1, 2, -1):
        report = noap.verify(problem, results[0].certificate, n_jobs=n_jobs)
        assert report.ok
        assert report.bound == results[0].bound
    ascents = [noap.solve(problem, "ascent", n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert np.array_equal(ascents[0].v, ascents[1].v)
    assert ascents[0].value == pytest.approx(results[0].value, rel=1e-9)


def test_equal_products_do_not_depend_on_threads():
    X = module_data(30, 2500, 10, 3)
    X[:, 500:600] = X[:, 100:200]
    problem = noap.Problem(X, k=6, adversary=noap.FeatureWise(0.1 * 30**0.5))
    first, second = (noap.solve(problem, "ascent", n_jobs=jobs).v for jobs in (1, 4))
    assert np.array_equal(first, second)


def test_answers_come_in_order_and_errors_through():
    order = []

    def part(number):
        def work():
            time.sleep(0.003 * (number % 3))
            order.append(number)
            if number == 7:
                raise ZeroDivisionError
            return number

        return work

    answers = in_order(map(part, range(12)), threads=4)
    assert [next(answers) for _ in range(7)] == list(range(7))
    with pytest.raises(ZeroDivisionError):
        next(answers)
    assert order != sorted(order)


def test_blas_has_one_thread_in_a_pass_and_what_it_had_afterwards():
    before = blas_threads()
    answers = in_order([blas_threads] * 5, threads=2)
    assert next(answers) == 1
    answers.close()
    assert blas_threads() == before


@pytest.mark.parametrize("wrong", [0, True, 1.5])
@pytest.mark.parametrize("method", ["exact", "ascent"])
def test_what_is_refused(wrong, method):
    problem = noap.Problem([[3.0, 0.0], [4.0, 1.0]], k=1, adversary=noap.NoAdversary())
    with pytest.raises(InvalidProblem, match="n_jobs"):
        noap.solve(problem, method, n_jobs=wrong)
