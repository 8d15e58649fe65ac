"""A Gram matrix that was computed is off by rounding, and no bound that is proved on it is too low for all that."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from exact_pairs import misread_pairs, two_supports
from scipy.sparse import csr_array

import noap
from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.feature_wise.refutation import HIGH, LOW, PLAIN, THOROUGH, Refutation, Workspace

NONE = np.empty(0)


def proved(pair, start, manner, k=None, below=NONE):
    """The target that a whole refutation proves, starting from a vector that may be poor."""
    A, d, k = pair.A, len(pair.A), k or pair.k
    features = np.arange(d)
    one = not (pair.terms.rho != pair.terms.rho[0]).any()
    instance = GramInstance(
        A, pair.terms, k, features, pair.norms, pair.scale, 0.0, 0.0, 1.0, one_budget=one, below=below
    )
    refutation = Refutation(instance, Incumbent(instance, start), 0.0, Workspace(instance), manner, None)
    for _ in range(3000):
        if not refutation.stack:
            break
        refutation.advance()
    return refutation.target if refutation.done else math.inf


def test_a_misread_gram_matrix_proves_no_bound_that_is_too_low():
    """With the errors of all entries at their bound, d >> 2k, and the matrix as a whole indefinite."""
    finished = indefinite = 0
    for rng, pair, truth in misread_pairs(6, 60, two_supports):
        assert pair.worth >= truth
        indefinite += np.linalg.eigvalsh(pair.A)[0] < -1e-6
        start = np.eye(len(pair.A))[rng.integers(len(pair.A))]
        manner = [PLAIN, LOW, HIGH][rng.integers(3)] if pair.bent else [PLAIN, THOROUGH][rng.integers(2)]
        bound = proved(pair, start, manner)
        finished += bound < math.inf
        assert bound >= truth
    assert min(finished, indefinite) > 30


def test_levels_on_a_misread_gram_matrix_prove_no_bound_that_is_too_low():
    """Each level with what those before it prove, all on the matrix that was shifted for k features."""
    finished = 0
    for rng, pair, truth in misread_pairs(8, 40, two_supports):
        start = np.eye(len(pair.A))[rng.integers(len(pair.A))]
        below = np.zeros(pair.k + 1)
        for q in range(1, pair.k + 1):
            manner = [PLAIN, LOW, HIGH][rng.integers(3)] if pair.bent else PLAIN
            below[q] = proved(pair, start, manner, q, below[:q].copy() if q > 1 else NONE)
        finished += below[-1] < math.inf and pair.k > 1
        assert below[-1] >= truth
    assert finished > 15


def test_a_shift_for_fewer_features_would():
    # So that the test above could fail: the same errors, and too little added to the diagonal.
    lost = 0
    for _, pair, truth in misread_pairs(6, 40, lambda k: 0.9 * k):
        start = np.zeros(len(pair.A))
        for j, c in pair.c.items():
            start[j] = float(c)
        lost += proved(pair, start, PLAIN) < truth
    assert lost > 5


@pytest.mark.parametrize("form", ["float64", "float32", "sparse"])
def test_what_is_added_covers_the_rounding_of_the_products(form):
    """Every block of two supports dominates the true one, with data whose sums lose what is small: exact products."""
    rng = np.random.default_rng(0)
    n, d, k = 60_000, 7, 2
    X = np.full((n, d), 2.0**-27) * rng.choice([-1.0, 1.0], d)
    X[::256] *= 2.0**27  # often enough that no partial sum is spared
    data = {"float64": X, "float32": X.astype(np.float32), "sparse": csr_array(X)}[form]
    instance = GramInstance.of(noap.Problem(data, k=k, adversary=noap.FeatureWise(0.1)))
    # Multiples of 2^-27: their products are multiples of 2^-54, and integers add up exactly.
    whole = np.round(X * 2.0**27).astype(np.int64)
    true = (whole.T @ whole).tolist()
    missing = np.array([
        [float(Fraction(float(instance.A[i, j])) - Fraction(true[i][j], n * 2**54)) for j in range(d)] for i in range(d)
    ])  # fmt: skip
    assert np.abs(missing - np.diag(np.diag(missing))).max() > 2e-15 * instance.scale  # there was rounding
    for block in combinations(range(d), 2 * k):
        assert np.linalg.eigvalsh(missing[np.ix_(block, block)])[0] > 0
