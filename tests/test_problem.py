"""Problem: what it accepts, what it refuses, and in which words."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import noap
from noap.errors import InvalidProblem

X = np.random.default_rng(0).standard_normal((12, 4))
ADVERSARY = noap.FeatureWise(0.5)
V = np.array([0.6, 0.0, -0.8, 0.0])


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        np.ndarray.tolist,
        lambda x: np.asfortranarray(x),
        lambda x: pd.DataFrame(x, columns=list("abcd")),
        lambda x: pl.DataFrame(x, schema=list("abcd")),
        sparse.csr_array,
        sparse.csc_matrix,
        sparse.coo_array,
    ],
    ids=["array", "list", "fortran", "pandas", "polars", "csr", "csc", "coo"],
)
@pytest.mark.parametrize("adversary", [ADVERSARY, noap.SampleWise(0.5), noap.NoAdversary()])
def test_every_container_is_the_same_problem(make, adversary):
    problem = noap.Problem(make(X), k=2, adversary=adversary)
    reference = noap.Problem(X, k=2, adversary=adversary)
    assert (problem.n_samples, problem.n_features, problem.k) == (12, 4, 2)
    assert problem.value(V) == pytest.approx(reference.value(V))
    np.testing.assert_allclose(problem.covariance, X.T @ X / 12)
    assert noap.solve(problem, method="ascent").value == pytest.approx(noap.solve(reference, method="ascent").value)


def test_names_travel():
    assert noap.Problem(pl.DataFrame(X, schema=list("abcd")), k=1, adversary=ADVERSARY).feature_names == tuple("abcd")
    assert noap.Problem(pd.DataFrame(X), k=1, adversary=ADVERSARY).feature_names == tuple("0123")
    assert noap.Problem(X, k=1, adversary=ADVERSARY).feature_names is None


def test_integers_booleans_and_float32():
    assert noap.Problem(np.array([[1, 2], [3, 5]]), k=1, adversary=ADVERSARY).X.dtype == np.float64
    assert noap.Problem(np.array([[True, False]]), k=1, adversary=ADVERSARY).X.dtype == np.float64
    problem = noap.Problem(X.astype(np.float32), k=2, adversary=ADVERSARY)
    assert problem.X.dtype == np.float32
    assert problem.covariance.dtype == np.float64
    assert noap.solve(problem, method="ascent").v.dtype == np.float64


def test_data_is_neither_shared_nor_writable_nor_frozen_for_the_caller():
    mine = X.copy()
    problem = noap.Problem(mine, k=2, adversary=ADVERSARY)
    assert not np.shares_memory(problem.X, mine)
    with pytest.raises(ValueError, match="read-only"):
        problem.X[0, 0] = 1
    mine[0, 0] = 1  # the caller's own array stays writable
    with pytest.raises(AttributeError):
        problem.k = 3


@pytest.mark.parametrize("adversary", [ADVERSARY, noap.NoAdversary()])
def test_a_covariance_is_enough(adversary):
    whole = noap.Problem(X, k=2, adversary=adversary)
    short = noap.Problem.from_covariance(X.T @ X / 12, n_samples=12, k=2, adversary=adversary)
    assert short.value(V) == pytest.approx(whole.value(V), rel=1e-12)
    a, b = noap.solve(short, method="ascent"), noap.solve(whole, method="ascent")
    np.testing.assert_allclose(a.v, b.v, atol=1e-9)
    with pytest.raises(InvalidProblem, match=r"attack needs the samples X"):
        a.attack()
    np.testing.assert_allclose(a.attacked_covariance(), b.attacked_covariance(), atol=1e-9)


def test_a_covariance_is_not_enough_sample_wise():
    with pytest.raises(InvalidProblem, match="SampleWise moves samples one by one"):
        noap.Problem.from_covariance(np.eye(3), n_samples=3, k=1, adversary=noap.SampleWise(1.0))


BAD_X = {
    "NaN": ([[1.0, np.nan]], "NaN in column 1"),
    "infinity": ([[np.inf, 1.0]], "infinity in column 0"),
    "complex": (np.array([[1j, 1.0]]), "complex"),
    "text": ([["a", "b"]], "text"),
    "ragged": ([[1.0, 2.0], [3.0]], "X must"),
    "one dimension": ([1.0, 2.0], "two dimensions"),
    "no rows": (np.empty((0, 3)), "empty"),
    "no columns": (np.empty((3, 0)), "empty"),
    "None": (None, "X must"),
    "too large": ([[1e200, 1.0]], "rescale"),
    "too small": ([[1e-200, 0.0]], "rescale"),
    "text column": (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), "column 'b'"),
    "missing in a frame": (pl.DataFrame({"a": [1.0, None]}), "NaN in column 'a'"),
    "sparse NaN": (sparse.csr_array(np.array([[np.nan, 0.0]])), "NaN"),
    "sparse complex": (sparse.csr_array(np.array([[1j, 0.0]])), "complex"),
}


@pytest.mark.parametrize(("bad", "words"), BAD_X.values(), ids=BAD_X.keys())
def test_bad_data_is_named(bad, words):
    with pytest.raises(InvalidProblem, match=words) as caught:
        noap.Problem(bad, k=1, adversary=ADVERSARY)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("k", [0, -1, 5, 2.0, "2", None, True, np.float64(2)])
def test_bad_k_is_named(k):
    with pytest.raises(InvalidProblem, match="k must be"):
        noap.Problem(X, k=k, adversary=ADVERSARY)


def test_numpy_integers_are_integers():
    assert noap.Problem(X, k=np.int64(2), adversary=ADVERSARY).k == 2


@pytest.mark.parametrize("adversary", [2.0, "feature", noap.FeatureWise])
def test_bad_adversary_is_named(adversary):
    with pytest.raises(InvalidProblem, match="adversary must be"):
        noap.Problem(X, k=1, adversary=adversary)


@pytest.mark.parametrize(
    ("S", "words"),
    [
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive semidefinite"),
        (np.ones((2, 3)), "square"),
        ([[np.nan, 0.0], [0.0, 1.0]], "NaN"),
        ([["a", "b"], ["c", "d"]], "S must hold numbers"),
    ],
)
def test_bad_covariance_is_named(S, words):
    with pytest.raises(InvalidProblem, match=words):
        noap.Problem.from_covariance(S, n_samples=5, k=1, adversary=ADVERSARY)


@pytest.mark.parametrize("n", [0, -3, 2.5, "4", True, 10**400])
def test_bad_sample_count_is_named(n):
    with pytest.raises(InvalidProblem, match="n_samples"):
        noap.Problem.from_covariance(np.eye(2), n_samples=n, k=1, adversary=ADVERSARY)


def test_value_wants_a_k_sparse_unit_vector():
    problem = noap.Problem(X, k=2, adversary=ADVERSARY)
    with pytest.raises(InvalidProblem, match="unit length"):
        problem.value(2 * V)
    with pytest.raises(InvalidProblem, match="more than k = 2"):
        problem.value(np.full(4, 0.5))
    with pytest.raises(InvalidProblem, match="shape"):
        problem.value([1.0])
    with pytest.raises(InvalidProblem, match="unit length"):
        problem.value([np.nan, 0, 0, 0])
    for bad in (["a"] * 4, 1j * V):
        with pytest.raises(InvalidProblem, match="real numbers"):
            problem.value(bad)


def test_one_sample_is_a_problem():
    problem = noap.Problem([[3.0, 4.0, 0.0]], k=2, adversary=noap.SampleWise(1.0))
    result = noap.solve(problem, method="ascent")
    assert result.value == pytest.approx(16.0)
    np.testing.assert_allclose(result.v, [0.6, 0.8, 0.0])


def test_names_travel_without_frames():
    names = ("a", "b", "c")
    S = np.diag([3.0, 2.0, 1.0])
    problem = noap.Problem.from_covariance(S, n_samples=4, k=2, adversary=noap.NoAdversary(), feature_names=names)
    assert problem.feature_names == names
    assert problem.restricted([2, 0]).feature_names == ("c", "a")
    assert noap.Problem(np.eye(3), k=1, adversary=noap.NoAdversary(), feature_names=list(names)).feature_names == names
    with pytest.raises(InvalidProblem, match="feature_names must hold 3 names, one for every feature, it holds 2"):
        noap.Problem(np.eye(3), k=1, adversary=noap.NoAdversary(), feature_names=("a", "b"))


def test_changed_problems_share_what_is_known_and_nothing_else():
    X = np.random.default_rng(0).standard_normal((6, 4))
    problem = noap.Problem(X, k=2, adversary=noap.FeatureWise(0.1))
    covariance = problem.covariance
    attacked = problem.with_adversary(noap.SampleWise(0.2))
    assert attacked.covariance is covariance
    assert (problem.adversary, attacked.adversary) == (noap.FeatureWise(0.1), noap.SampleWise(0.2))
    lengths = attacked.row_top_k_norms
    wider = attacked.with_sparsity(4)
    assert wider.k == 4
    np.testing.assert_allclose(wider.row_top_k_norms, np.linalg.norm(X, axis=1))
    assert attacked.row_top_k_norms is lengths
    with pytest.raises(InvalidProblem, match="moves samples one by one"):
        noap.Problem.from_covariance(covariance, n_samples=6, k=2, adversary=noap.NoAdversary()).with_adversary(
            noap.SampleWise(0.1)
        )
    with pytest.raises(InvalidProblem, match="adversary must be"):
        problem.with_adversary("feature")


def test_blocks_of_the_covariance_are_those_of_the_whole():
    X = np.random.default_rng(0).standard_normal((6, 4))
    chosen = np.array([3, 1])
    lazy, eager = (noap.Problem(X, k=2, adversary=noap.NoAdversary()) for _ in range(2))
    whole = eager.covariance
    for problem in (lazy, eager):
        np.testing.assert_allclose(problem.covariance_columns(chosen), whole[:, chosen], rtol=1e-13)
        np.testing.assert_allclose(problem.gram_block(chosen), whole[np.ix_(chosen, chosen)], rtol=1e-13)
    assert "covariance" not in lazy.__dict__
