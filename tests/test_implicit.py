"""Sparse samples that are centred when they are looked at: the same doubles as dense ones, and no dense copy."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix

import noap
from noap.data.standardising import centre_and_scale
from noap.errors import InvalidProblem, NoapWarning
from noap.linalg.implicit import ImplicitColumns
from noap.linalg.products import column_norms


def counts(seed=0, shape=(30, 12), density=0.3):
    """Small whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, 5, shape) * (rng.random(shape) < density).astype(float)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("kind", [csr_array, csc_array, csr_matrix])
def test_entries_are_those_of_the_dense_matrix(scale, kind):
    X = counts()
    made = noap.centred(kind(X), scale=scale)
    dense = X - made.mean
    dense = dense / made.scale if scale else dense
    assert np.array_equal(made.toarray(), dense)
    assert np.array_equal(made.mean, X.mean(axis=0))
    assert np.allclose(dense, centre_and_scale(X, center=True, scale=scale)[0], rtol=1e-15, atol=0)
    assert np.array_equal(made[3:9:2].toarray(), dense[3:9:2])
    assert np.array_equal(made[:, [4, 1]].toarray(), dense[:, [4, 1]])
    assert np.array_equal(made.tocsc()[:, [0, 7]].toarray(), dense[:, [0, 7]])
    assert np.allclose(column_norms(made), np.linalg.norm(dense, axis=0))
    rng = np.random.default_rng(1)
    for right in (rng.standard_normal(12), rng.standard_normal((12, 3))):
        assert np.allclose(made @ right, dense @ right)
    for right in (rng.standard_normal(30), rng.standard_normal((30, 3))):
        assert np.allclose(made.T @ right, dense.T @ right)


@pytest.mark.parametrize("adversary", [noap.NoAdversary(), noap.FeatureWise(1.0), noap.SampleWise(0.3)])
def test_a_problem_is_that_of_the_dense_matrix(adversary):
    implicit = noap.centred(csr_array(counts(2)))
    dense = noap.Problem(implicit.toarray(), k=3, adversary=adversary)
    sparse = noap.Problem(implicit, k=3, adversary=adversary)
    ours, theirs = noap.solve(sparse), noap.solve(dense)
    assert ours.value == pytest.approx(theirs.value, rel=1e-12)
    assert np.array_equal(ours.support, theirs.support)
    assert noap.verify(dense, ours.certificate).ok
    assert noap.verify(sparse, theirs.certificate).ok


def test_constant_columns_become_zero():
    X = counts(3)
    X[:, 4] = 2.0
    with pytest.warns(NoapWarning, match="Constant columns become 0: 4\\."):
        made = noap.centred(csr_array(X), scale=True)
    assert not made.toarray()[:, 4].any()
    assert not noap.centred(csr_array(X)).toarray()[:, 4].any()


def test_what_was_changed_afterwards_is_noticed():
    sparse = csr_array(counts(4))
    made = noap.centred(sparse)
    problem = noap.Problem(made, k=2, adversary=noap.NoAdversary())
    before = noap.solve(problem).value
    sparse.data[:] = 9.0
    assert noap.solve(problem).value == before
    assert not problem.X.sparse.data.flags.writeable


@pytest.mark.parametrize("X", [np.ones((3, 2)), csr_array(np.ones((1, 2))), None])
def test_what_cannot_be_centred_is_refused(X):
    with pytest.raises(InvalidProblem):
        noap.centred(X)


def test_columns_can_be_replaced():
    made = noap.centred(csr_array(counts(5)), scale=True)
    entries = np.random.default_rng(0).standard_normal((30, 2))
    entries[0, 0] = 0.0
    changed = made.with_columns(np.array([7, 2]), entries)
    wanted = made.toarray()
    wanted[:, [7, 2]] = entries
    assert np.array_equal(changed.toarray(), wanted)
    assert isinstance(changed, ImplicitColumns)


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
@pytest.mark.parametrize("deflation", ["projection", "disjoint"])
@pytest.mark.parametrize("scale", [False, True])
def test_the_estimator_takes_many_sparse_features(deflation, scale):
    X = counts(6, (40, 2100), 0.3)
    for group, first in enumerate((0, 700, 1400)):
        X[:, first : first + 3] += (4 - group) * counts(7 + group, (40, 1), 0.5)
    settings = {"n_components": 3, "k": 3, "noise": 0.1, "scale": scale, "deflation": deflation, "keep_data": True}
    dense = noap.RobustSparsePCA(**settings).fit(X)
    sparse = noap.RobustSparsePCA(**settings).fit(csr_array(X))
    assert isinstance(sparse.results_[0].problem.X, ImplicitColumns)
    assert np.allclose(sparse.components_, dense.components_, atol=1e-6)
    assert np.allclose(sparse.robust_variance_, dense.robust_variance_)
    assert np.allclose(sparse.explained_variance_ratio_, dense.explained_variance_ratio_)
    assert np.allclose(sparse.transform(X), dense.transform(X), atol=1e-6)
    together = sparse.joint_result_
    for result in sparse.results_ if together is None else [together]:
        assert noap.verify(result.problem, result.certificate).ok
