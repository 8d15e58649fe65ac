"""The paper's own heuristics: Algorithm 1 (submatrix) and Algorithm 2 (PPM), and the vanilla baseline."""

import numpy as np
import pytest

import noap
from noap.heuristics.ppm import ppm
from noap.heuristics.truncated_power import truncated_leading_eigenvector, truncated_power


def strong_weak(n=500, seed=0):
    return noap.theory.spiked_wishart(n, 100, 5, 3.0, k1=2, c=0.8, random_state=seed)


def printed_ppm(X, k, rho, v, T, tolerance):
    """Algorithm 2 line by line, with the printed gradient and nothing else; v^(1) is the start, v^(T) the output."""
    for _ in range(1, T):
        energy = np.linalg.norm(X @ v)
        gradient = 2 * (energy - rho * np.abs(v).sum()) * (X.T @ (X @ v) / energy - rho * np.sign(v))
        kept = np.argsort(-np.abs(gradient))[:k]
        w = np.zeros_like(v)
        w[kept] = gradient[kept]
        w /= np.linalg.norm(w)
        if min(np.linalg.norm(w - v), np.linalg.norm(w + v)) < tolerance:
            return w
        v = w
    return v


@pytest.mark.parametrize("T", [1, 2, 7, 1000, 1001])
@pytest.mark.parametrize("normalised", [0.0, 0.5, 1.0, 2.0])
def test_ppm_is_algorithm_2_as_printed(normalised, T):
    model = strong_weak(100)
    rho = normalised * np.sqrt(100 / 5)
    problem = noap.Problem(model.X, k=5, adversary=noap.FeatureWise(rho))
    start = noap.solve(problem, method="spca").v
    mine = noap.solve(problem, method="ppm", iterations=T).v
    theirs = printed_ppm(model.X, 5, rho, start, T, 1e-6)
    assert abs(mine @ theirs) == pytest.approx(1.0, abs=1e-6)


def test_a_cycle_is_named_and_the_answer_depends_on_the_parity_of_its_length():
    model = strong_weak(100)
    problem = noap.Problem(model.X, k=5, adversary=noap.FeatureWise(np.sqrt(100 / 5)))
    even, odd, again = (noap.solve(problem, method="ppm", iterations=T) for T in (1000, 1001, 1002))
    words = "PPM did not converge, cycle of length 2: v depends on iterations (here 1000) modulo 2."
    assert even.messages == (words,)
    assert abs(even.v @ odd.v) < 0.99
    assert abs(even.v @ again.v) == pytest.approx(1.0, abs=1e-9)
    assert set(even.support) != set(odd.support)


def test_a_cycle_of_any_length_is_found():
    """An oracle whose gradient walks around p coordinates."""

    class Around:
        def __init__(self, p):
            self.p, self.adversary = p, self

        def loadings(self, batch):
            return np.roll(batch.dense(self.p), 1, axis=1)

        def gradient(self, loadings, dense):
            return -loadings  # v and -v are one iterate

        def distances(self, batch):
            return np.ones(len(batch))

    for p in (2, 3, 7, 50):
        ended = ppm(Around(p), 1, np.eye(p)[0], iterations=200, tolerance=1e-6, iterate="last")
        assert (ended.cycle, ended.settled) == (p, False)
    longer = ppm(Around(51), 1, np.eye(51)[0], iterations=200, tolerance=1e-6, iterate="last")
    assert longer.message(200) == "PPM did not converge within iterations = 200."


def test_ppm_that_converges_has_no_message():
    problem = noap.Problem(strong_weak().X, k=5, adversary=noap.NoAdversary())
    assert noap.solve(problem, method="ppm").messages == ()


@pytest.mark.parametrize("method", ["ppm", "spca"])
@pytest.mark.parametrize("kind", [noap.FeatureWise, noap.SampleWise])
def test_heuristics_run_as_printed_where_nothing_is_left(method, kind):
    model = strong_weak(100)
    rho = 1.5 * kind(0.0).rho_max(model.X, 5)
    problem = noap.Problem(model.X, k=5, adversary=kind(rho))
    with pytest.warns(noap.errors.NoapWarning, match=f"the optimum is 0, and what method '{method}' returns"):
        result = noap.solve(problem, method=method)
    start = noap.solve(noap.Problem(model.X, k=5, adversary=noap.NoAdversary()), method="spca").v
    assert result.value == 0.0
    # The optimum is 0, so no direction is better: that is a fact about the problem, and has its proof.
    assert (result.bound, result.status) == (0.0, noap.Status.OPTIMAL)
    assert noap.verify(problem, result.certificate).ok
    if method == "spca":
        np.testing.assert_array_equal(result.v, start)
    elif kind is noap.FeatureWise:
        theirs = printed_ppm(model.X, 5, rho, start, 1000, 1e-6)
        assert abs(result.v @ theirs) == pytest.approx(1.0, abs=1e-6)
        assert len(result.support) == 5


@pytest.mark.parametrize("adversary", [noap.FeatureWise([np.inf] * 3), noap.FeatureWise([np.inf, 9.0, 9.0])])
@pytest.mark.parametrize("X", [np.diag([3.0, 2.0, 1.0]), np.zeros((3, 3))])
@pytest.mark.parametrize("method", ["ppm", "spca"])
def test_heuristics_return_a_vector_against_any_budget(method, X, adversary):
    problem = noap.Problem(X, k=2, adversary=adversary)
    with pytest.warns(noap.errors.NoapWarning, match="cancel every direction"):
        result = noap.solve(problem, method=method)
    assert np.linalg.norm(result.v) == pytest.approx(1.0)
    assert result.value == 0.0


def test_ppm_is_not_monotone_and_best_is_at_least_last():
    model = strong_weak()
    problem = noap.Problem(model.X, k=5, adversary=noap.FeatureWise(1.5 * np.sqrt(500 / 5)))
    values = [
        noap.solve(problem, method="ppm", iterations=t, tolerance=0.0, iterate="last").value for t in range(1, 12)
    ]
    assert (np.diff(values) < 0).any()
    best = noap.solve(problem, method="ppm", iterations=11, tolerance=0.0, iterate="best").value
    assert best >= max(values) - 1e-12


def test_ppm_sample_wise_follows_the_gradient_of_the_closed_form():
    model = strong_weak(100)
    problem = noap.Problem(model.X, k=5, adversary=noap.SampleWise(1.0))
    v = noap.solve(problem, method="spca").v
    scores = model.X @ v
    gradient = model.X.T @ (np.sign(scores) * np.maximum(np.abs(scores) - 1.0, 0.0))
    kept = np.argsort(-np.abs(gradient))[:5]
    expected = np.zeros(100)
    expected[kept] = gradient[kept]
    expected /= np.linalg.norm(expected)
    one_step = noap.solve(problem, method="ppm", iterations=2).v
    assert abs(one_step @ expected) == pytest.approx(1.0)


def test_ppm_from_a_given_start_and_bad_options():
    problem = noap.Problem(np.diag([3.0, 2.0, 1.0]), k=1, adversary=noap.NoAdversary())
    assert noap.solve(problem, method="ppm", start=[0, 1, 0]).support.tolist() == [1]  # a fixed point, not the optimum
    for bad in ([0.0, 0.0, 0.0], [np.nan, 0, 0]):
        with pytest.raises(noap.errors.InvalidProblem, match="start"):
            noap.solve(problem, method="ppm", start=bad)
    with pytest.raises(noap.errors.InvalidProblem, match="iterate must be"):
        noap.solve(problem, method="ppm", iterate="worst")


def test_spca_ignores_the_adversary():
    model = strong_weak()
    vectors = [
        noap.solve(noap.Problem(model.X, k=5, adversary=adversary), method="spca").v
        for adversary in (noap.NoAdversary(), noap.FeatureWise(10.0), noap.SampleWise(1.0))
    ]
    np.testing.assert_array_equal(vectors[0], vectors[1])
    np.testing.assert_array_equal(vectors[0], vectors[2])
    assert set(np.flatnonzero(vectors[0])) == set(model.support)


def largest(values, k):
    return sorted(int(j) for j in np.argsort(-values, kind="stable")[:k])


@pytest.mark.parametrize("seed", range(5))
def test_diagonal_thresholding_is_the_best_direction_on_the_largest_variances(seed):
    model = strong_weak(100, seed)
    result = noap.solve(noap.Problem(model.X, k=5, adversary=noap.FeatureWise(3.0)), method="diagonal-thresholding")
    chosen = largest((model.X**2).sum(axis=0), 5)
    assert result.support.tolist() == chosen
    leading = np.linalg.svd(model.X[:, chosen])[2][0]
    assert abs(result.v[chosen] @ leading) == pytest.approx(1.0)
    assert (result.status, result.bound) == (noap.Status.HEURISTIC, np.inf)


@pytest.mark.parametrize("threshold", [0.0, 1.0, 1.5])
def test_covariance_thresholding_follows_its_definition(threshold):
    model = strong_weak(100, 3)
    S, n = model.X.T @ model.X / 100, 100
    shrunk = np.zeros_like(S)
    for i in range(100):
        for j in range(100):
            if i != j:
                size = threshold * np.sqrt(S[i, i] * S[j, j] / n)
                shrunk[i, j] = np.sign(S[i, j]) * max(abs(S[i, j]) - size, 0.0)
    leading = np.linalg.eigh(shrunk)[1][:, -1]
    problem = noap.Problem(model.X, k=5, adversary=noap.NoAdversary())
    result = noap.solve(problem, method="covariance-thresholding", threshold=threshold)
    assert result.support.tolist() == largest(np.abs(leading), 5)
    assert result.value == pytest.approx(np.linalg.eigvalsh(S[np.ix_(result.support, result.support)])[-1])


def test_covariance_thresholding_finds_what_diagonal_thresholding_misses():
    hits = dict.fromkeys(("diagonal-thresholding", "covariance-thresholding"), 0)
    for seed in range(20):
        model = strong_weak(500, seed)
        problem = noap.Problem(model.X, k=5, adversary=noap.NoAdversary())
        for method in hits:
            hits[method] += noap.solve(problem, method=method).support.tolist() == model.support.tolist()
    assert hits["covariance-thresholding"] == 20
    assert hits["diagonal-thresholding"] < 10


def test_where_no_entry_survives_the_threshold_variances_decide():
    problem = noap.Problem(strong_weak(100).X, k=5, adversary=noap.NoAdversary())
    by_variance = noap.solve(problem, method="diagonal-thresholding")
    nothing = noap.solve(problem, method="covariance-thresholding", threshold=1e6)
    assert nothing.support.tolist() == by_variance.support.tolist()
    for bad in (-1.0, np.nan, np.inf, True, "high"):
        with pytest.raises(noap.errors.InvalidProblem, match="threshold must be a number of at least 0"):
            noap.solve(problem, method="covariance-thresholding", threshold=bad)


def test_truncated_power_never_ends_below_its_start():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.standard_normal((15, 20))
        S = X.T @ X / 15
        start = truncated_leading_eigenvector(S, 3)
        v = truncated_power(S, 3, start, 50)
        assert np.count_nonzero(v) <= 3
        assert v @ S @ v >= start @ S @ start - 1e-12


def test_leading_eigenvector_start_is_the_same_dense_and_by_lanczos():
    X = np.random.default_rng(1).standard_normal((50, 300)) * np.linspace(0.5, 2, 300)
    S = X.T @ X / 50
    by_lanczos = truncated_leading_eigenvector(S, 4)
    leading = np.linalg.eigh(S)[1][:, -1]
    kept = np.argsort(-np.abs(leading))[:4]
    assert set(np.flatnonzero(by_lanczos)) == set(kept)


def test_algorithm_1_keeps_the_power_support_and_the_largest_diagonals():
    model = strong_weak()
    S = model.X.T @ model.X / 500
    chosen = noap.screen_submatrix(S, 5, 15)
    assert len(chosen) == 15
    assert (np.diff(chosen) > 0).all()
    power = np.flatnonzero(truncated_power(S, 5, truncated_leading_eigenvector(S, 5), 100))
    assert set(power) <= set(chosen)
    rest = [j for j in np.argsort(-np.diag(S)) if j not in power][:10]
    assert set(chosen) == set(power) | set(rest)
    assert set(model.support) <= set(chosen)


@pytest.mark.parametrize("bad", [4, 101, 0])
def test_algorithm_1_names_a_bad_size(bad):
    with pytest.raises(noap.errors.InvalidProblem, match="reduced_dim"):
        noap.screen_submatrix(np.eye(100), 5, bad)
