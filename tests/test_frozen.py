"""A problem is about the data it was built from, whatever happens to them later."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import noap
from noap.errors import InvalidProblem
from noap.linalg.frozen import changes, fingerprint, frozen

X = np.random.default_rng(0).standard_normal((30, 6))


MAKERS = {
    "array": lambda: X.copy(),
    "fortran": lambda: np.asfortranarray(X),
    "strided": lambda: np.repeat(X, 2, axis=1)[:, ::2],
    "float32": lambda: X.astype(np.float32),
    "csr": lambda: sparse.csr_array(X),
    "csr float32": lambda: sparse.csr_matrix(X.astype(np.float32)),
}
PROPERTIES = ("covariance", "column_norms", "row_top_k_norms")


def spoil(mine):
    """Make the last feature the best by far, in place."""
    if isinstance(mine, np.ndarray):
        mine[:, 5] = 30.0
    elif isinstance(mine, pd.DataFrame):
        mine.iloc[:, 5] = 30.0
    else:
        mine.data[mine.indices == 5] = 30.0


@pytest.mark.filterwarnings("ignore::noap.errors.UncentredWarning")  # a column of thirties is put in
@pytest.mark.parametrize("make", [*MAKERS.values(), lambda: pd.DataFrame(X.copy())], ids=[*MAKERS, "pandas"])
@pytest.mark.parametrize("adversary", [noap.NoAdversary(), noap.FeatureWise(0.5), noap.SampleWise(0.1)])
def test_data_changed_between_a_property_and_the_answer_change_nothing(make, adversary):
    mine = make()
    problem = noap.Problem(mine, k=2, adversary=adversary)
    expected = noap.solve(noap.Problem(make(), k=2, adversary=adversary))
    for name in PROPERTIES[: 1 + 2 * isinstance(adversary, noap.SampleWise)]:
        getattr(problem, name)
    spoil(mine)
    result = noap.solve(problem)
    assert (result.value, result.bound) == (expected.value, expected.bound)
    assert noap.verify(problem, result.certificate).ok
    spoiled = noap.Problem(mine, k=2, adversary=adversary)
    assert noap.solve(spoiled).value > 100
    assert not noap.verify(spoiled, result.certificate).ok


@pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
@pytest.mark.parametrize("read", [None, *PROPERTIES])
def test_large_data_are_not_copied_but_a_change_is_heard(read):
    mine = np.zeros((12_000_000, 6), dtype=np.float32)  # 288 MB
    mine[:30] = X
    problem = noap.Problem(mine, k=2, adversary=noap.FeatureWise(0.5))
    assert np.shares_memory(mine, problem.X)
    assert not problem.X.flags.writeable
    assert mine.flags.writeable
    if read:
        getattr(problem, read)
    before = noap.solve(problem)
    mine[7, 5] = 30.0
    others = [lambda name=name: getattr(problem, name) for name in PROPERTIES if name not in problem.__dict__]
    for late in (
        lambda: noap.solve(problem),
        lambda: noap.solve(problem, method="ascent"),
        lambda: before.certificate,
        lambda: noap.path(problem, k=2, rhos=[0.1]),
        lambda: noap.Result(problem, "mine", before.v),
        lambda: noap.verify(problem, before.certificate),
        *others,
    ):
        with pytest.raises(InvalidProblem, match="X was changed after the Problem was built") as caught:
            late()
        assert "\n" not in str(caught.value)


def test_other_entries_put_into_a_sparse_problem_are_heard():
    problem = noap.Problem(sparse.csr_array(np.diag([1.0, 2.0, 3.0])), k=1, adversary=noap.NoAdversary())
    problem.X.data = 7.0 * problem.X.data
    with pytest.raises(InvalidProblem, match="X was changed"):
        noap.solve(problem)


def test_what_is_private_already_is_not_copied_again():
    problem = noap.Problem(X.copy(), k=2, adversary=noap.NoAdversary())
    assert noap.Problem(problem.X, k=3, adversary=noap.FeatureWise(1.0)).X is not None
    assert np.shares_memory(noap.Problem(problem.X, k=3, adversary=noap.FeatureWise(1.0)).X, problem.X)
    assert copy.copy(problem).X is problem.X
    with pytest.raises(ValueError, match="WRITEABLE"):
        problem.X.flags.writeable = True
    # A read-only view of what somebody else can write to is not private.
    mine = X.copy()
    view = mine.view()
    view.flags.writeable = False
    assert not np.shares_memory(frozen(view), mine)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_problems_travel_between_processes(make):
    problem = noap.Problem(make(), k=2, adversary=noap.FeatureWise(0.5))
    there = pickle.loads(pickle.dumps(problem))
    assert noap.solve(there).value == noap.solve(problem).value


@pytest.mark.parametrize("make", [*MAKERS.values(), lambda: pl.DataFrame(X)], ids=[*MAKERS, "polars"])
def test_layout_and_values_stay(make):
    problem = noap.Problem(make(), k=2, adversary=noap.NoAdversary())
    given = make()
    if isinstance(given, np.ndarray):
        assert problem.X.flags.f_contiguous == given.flags.f_contiguous
    dense = given if isinstance(given, np.ndarray) else given.toarray() if sparse.issparse(given) else X
    np.testing.assert_array_equal(problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray(), dense)
    assert problem.X.dtype == dense.dtype


def test_a_sparse_matrix_in_disorder_is_put_in_order():
    # Twice the same place, and columns out of order: SciPy would sort and add in place when it needs to.
    mine = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3))
    problem = noap.Problem(mine, k=2, adversary=noap.SampleWise(0.1))
    np.testing.assert_array_equal(problem.X.toarray(), [[2.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    assert mine.nnz == 3
    assert noap.solve(problem).value == noap.solve(noap.Problem(mine.toarray(), 2, noap.SampleWise(0.1))).value


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (700, 401), (300_001, 3)])
def test_every_entry_and_every_place_counts(dtype, shape):
    rng = np.random.default_rng(shape[0])
    data = rng.standard_normal(shape).astype(dtype)
    before = fingerprint(data)
    assert fingerprint(data.copy()) == before
    for _ in range(20):
        place = tuple(int(rng.integers(size)) for size in shape)
        kept = data[place]
        data[place] = np.nextafter(kept, dtype(np.inf))
        assert fingerprint(data) != before
        data[place] = kept
    assert fingerprint(data) == before
    if shape[0] > 1:
        assert fingerprint(data[rng.permutation(shape[0])]) != before
        assert fingerprint(np.sort(data, axis=0)) != before
        assert fingerprint(data[1:]) != before
    assert changes(data)
    assert not changes(frozen(data))
