"""Noise from what is known of the measurements: formulas by hand, and errors that the budgets must cover."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noap
from noap.errors import InvalidProblem
from noap.noise import from_missing, from_replicates, from_rounding, from_shuffling, from_variation, with_confidence


def covers(noise, truth, X):
    """Whether the budgets of the noise allow the error."""
    adversary = noap.FeatureWise.with_noise(noise, len(X))
    return adversary.norm(truth - X) <= 1 + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_replicates_are_pooled_as_an_analysis_of_variance_does(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 4, 23)
    Y = rng.standard_normal((23, 3)) + 10.0 * groups[:, None]
    squares, freedom = np.zeros(3), 0
    for g in set(groups.tolist()):
        rows = Y[groups == g]
        squares += rows.var(axis=0, ddof=0) * len(rows)
        freedom += len(rows) - 1
    np.testing.assert_allclose(from_replicates(Y, groups), np.sqrt(squares / freedom))
    np.testing.assert_allclose(from_replicates(Y, groups, averaged=4), np.sqrt(squares / freedom) / 2)
    np.testing.assert_allclose(from_replicates(Y, [f"thing {g}" for g in groups]), from_replicates(Y, groups))


def test_replicates_find_the_precision_of_instruments():
    rng = np.random.default_rng(0)
    precision = np.array([0.1, 1.0, 0.0])
    truth = rng.standard_normal((400, 3))
    Y = np.concatenate([truth, truth]) + precision * rng.standard_normal((800, 3))
    np.testing.assert_allclose(from_replicates(Y, np.tile(np.arange(400), 2)), precision, rtol=0.1, atol=1e-12)


@given(seed=st.integers(0, 10**6), digits=st.lists(st.integers(-2, 3), min_size=4, max_size=4))
def test_rounding_is_covered(seed, digits):
    truth = 100 * np.random.default_rng(seed).standard_normal((9, 4))
    X = np.stack([np.round(truth[:, j], digits[j]) for j in range(4)], axis=1)
    assert covers(from_rounding(digits), truth, X)
    # And no less would do: every entry may be off by half a unit.
    worst = X + from_rounding(digits)
    assert covers(from_rounding(digits), worst, X)
    assert not covers(0.999 * from_rounding(digits), worst, X)


def test_one_number_of_digits_for_all():
    np.testing.assert_array_equal(from_rounding(1, 3), [0.05, 0.05, 0.05])
    with pytest.raises(InvalidProblem, match="n_features must be given"):
        from_rounding(1)
    for bad in (1.5, [0.5], "two", [[1]]):
        with pytest.raises(InvalidProblem, match="digits must be"):
            from_rounding(bad)


@given(seed=st.integers(0, 10**6), by_hand=st.booleans())
def test_missing_values_are_covered_whatever_they_were(seed, by_hand):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((12, 5)) * rng.uniform(0.1, 10, 5)
    absent = rng.random((12, 5)) < 0.3
    absent[:3] = False
    X = np.where(absent, np.nan, truth)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    filled = np.where(absent, rng.uniform(low, high, X.shape) if by_hand else np.nanmean(X, axis=0), truth)
    noise = from_missing(X, filled) if by_hand else from_missing(X)
    inside = np.where(absent, rng.uniform(low, high, X.shape), truth)
    assert covers(noise, inside, filled)
    # And no less would do: all of them at the further end of the range.
    furthest = np.where(absent, np.where(filled - low > high - filled, low, high), truth)
    assert covers(noise, furthest, filled)
    np.testing.assert_allclose(noise * math.sqrt(12), np.linalg.norm(furthest - filled, axis=0), atol=1e-12)
    assert ((noise == 0) == ~absent.any(axis=0)).all()


def test_a_feature_without_values_is_not_to_be_trusted():
    X = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan]])
    np.testing.assert_array_equal(from_missing(X), [0.0, np.inf])
    with pytest.raises(InvalidProblem, match="filled has shape"):
        from_missing(X, np.zeros((2, 2)))
    with pytest.raises(InvalidProblem, match="filled has missing values"):
        from_missing(X, X)


@given(seed=st.integers(0, 10**6))
def test_errors_in_proportion_are_covered(seed):
    rng = np.random.default_rng(seed)
    X, c = 5 + rng.standard_normal((8, 3)), np.array([0.0, 0.02, 0.3])
    truth = X * (1 + c * rng.choice([-1.0, 1.0], X.shape))
    assert covers(from_variation(X, c), truth, X)
    np.testing.assert_allclose(from_variation(X, c) * math.sqrt(8), np.linalg.norm(truth - X, axis=0), atol=1e-12)
    np.testing.assert_allclose(from_variation(X, 0.1), 0.1 * np.sqrt((X**2).mean(axis=0)))


def test_noise_of_rounding_survives_centring_and_scaling():
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((30, 4)) + 7
    X = truth.round(1)
    scale = X.std(axis=0)
    Z, true_Z = (X - X.mean(axis=0)) / scale, (truth - truth.mean(axis=0)) / scale
    assert covers(from_rounding(1, 4) / scale, true_Z, Z)


def falls_apart(X, k):
    """The noise from which on one feature is best, by bisection over exact solutions."""
    n, low, high = len(X), 0.0, 1.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        adversary = noap.FeatureWise(middle * math.sqrt(n))
        more = len(noap.solve(noap.Problem(X, k, adversary), gap=1e-9).support) > 1
        low, high = (middle, high) if more else (low, middle)
    return low


def test_shuffled_data_fall_apart_where_a_bisection_says():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 5))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert from_shuffling(Z, 3, n_permutations=1).lasts == pytest.approx(falls_apart(Z, 3), abs=1e-4)


def test_chance_alone_is_not_significant_and_a_component_is():
    rng = np.random.default_rng(4)
    noise = rng.standard_normal((60, 8))
    signal = noise.copy()
    signal[:, 1:4] += 1.5 * signal[:, :1]
    by_chance = from_shuffling((noise - noise.mean(axis=0)) / noise.std(axis=0), 3, n_permutations=39, random_state=0)
    real = from_shuffling((signal - signal.mean(axis=0)) / signal.std(axis=0), 3, n_permutations=39, random_state=0)
    assert by_chance.p_value > 0.05
    assert real.p_value == 1 / 40
    assert real.lasts > real.noise
    # A share of the copies, at least, has come down to one feature at that noise.
    assert 0 < by_chance.noise < 1
    lower = from_shuffling((signal - signal.mean(axis=0)) / signal.std(axis=0), 3, share=0.5, n_permutations=39)
    assert lower.noise <= real.noise
    assert from_shuffling(signal, 1, n_permutations=2) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: from_replicates([[1.0], [2.0]], ["a", "b"]),
        lambda: from_replicates([[1.0], [2.0]], ["a"]),
        lambda: from_replicates([[1.0], [np.nan]], ["a", "a"]),
        lambda: from_replicates([[1.0], [2.0]], ["a", "a"], averaged=0),
        lambda: from_variation([[1.0, 2.0]], [0.1, 0.1, 0.1]),
        lambda: from_variation([[1.0, 2.0]], -0.1),
        lambda: from_variation([1.0, 2.0], 0.1),
        lambda: from_missing([["a"]]),
        lambda: from_missing([[np.inf]]),
        lambda: from_shuffling(np.eye(3), 2, share=0.0),
        lambda: from_shuffling(np.eye(3), 4),
    ],
)
def test_what_makes_no_sense_is_named(call):
    with pytest.raises(InvalidProblem):
        call()


def test_own_noise_keeps_what_one_noise_for_all_drops():
    # Two precise features that go together, and three coarse ones that go together more. One noise for all must be that
    # of the coarse ones, and they win; with the noise of each the precise pair does.
    rng = np.random.default_rng(5)
    n, precision = 300, np.array([0.05, 0.05, 1.0, 1.0, 1.0, 0.3, 0.3])
    truth = rng.standard_normal((n, 7))
    truth[:, 1] += truth[:, 0]
    truth[:, 2:5] = 2 * truth[:, 2:3]
    repeats = [truth + precision * rng.standard_normal((n, 7)) for _ in range(2)]
    X, own = repeats[0], from_replicates(np.concatenate(repeats), np.tile(np.arange(n), 2))
    scale = X.std(axis=0)
    Z, own = (X - X.mean(axis=0)) / scale, own / scale
    one = noap.solve(noap.Problem(Z, 3, noise=own.max()), "ascent")
    each = noap.solve(noap.Problem(Z, 3, noise=own), "ascent")
    assert set(each.support.tolist()) == {0, 1}
    assert set(one.support.tolist()) == {2, 3, 4}


SIGMA = np.array([0.2, 0.5, 0.0, 1.0, 0.3])


def covered(noise, draws, rng, n=40):
    """The share of draws in which no column of errors is longer than the adversary may make it."""
    lengths = np.sqrt((rng.standard_normal((draws, n, 5)) ** 2).sum(axis=1)) * SIGMA
    return np.mean((lengths <= noise * np.sqrt(n)).all(axis=1))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_the_radius_covers_as_often_as_it_says(level):
    noise = with_confidence(SIGMA, 40, 5, level)
    share = covered(noise, 8000, np.random.default_rng(6))
    error = 4 * np.sqrt(level * (1 - level) / 8000)
    # The union bound costs at most half of the squared share that is missed.
    assert level - error <= share <= level + (1 - level) ** 2 / 2 + error
    assert covered(0.95 * noise, 8000, np.random.default_rng(6)) < level - error


def test_then_no_direction_looks_stronger_than_it_is():
    rng, n, late = np.random.default_rng(7), 40, 0
    truth = rng.standard_normal((n, 5)) @ rng.standard_normal((5, 5))
    noise = with_confidence(SIGMA, n, 5)
    for _ in range(300):
        X = truth + SIGMA * rng.standard_normal((n, 5))
        for centre in (False, True):
            Z, clean = (one - one.mean(axis=0) * centre for one in (X, truth))
            problem = noap.Problem(Z, 2, noise=noise)
            found = noap.solve(problem, "ascent", keep=4, polish=2)
            late += found.value > np.mean((clean @ found.v) ** 2) * (1 + 1e-12)
    assert late <= 2 * 300 * 0.05


def test_confidence_in_one_number_and_without_errors():
    assert with_confidence(0.5, 40, 5) == pytest.approx(with_confidence(np.full(5, 0.5), 40, 5)[0])
    assert with_confidence(0.0, 40, 5) == 0.0
    assert with_confidence(SIGMA, 40, 5)[2] == 0.0
    assert with_confidence(1.0, 10**8, 5) == pytest.approx(1.0, abs=1e-3)  # with many samples, what it is on average
    for wrong in ((-1.0, 40, 5), (1.0, 0, 5), ([1.0, 1.0], 40, 5), (1.0, 40, 5, 1.0), (1.0, 40, 5, 0)):
        with pytest.raises(InvalidProblem):
            with_confidence(*wrong)


def test_replicates_keep_their_names():
    Y, groups, names = np.random.default_rng(8).standard_normal((8, 3)), [0, 0, 1, 1, 2, 2, 3, 3], ["a", "b", "c"]
    plain = from_replicates(Y, groups, averaged=2)
    by_pandas = from_replicates(pd.DataFrame(Y, columns=names), groups, averaged=2)
    by_polars = from_replicates(pl.DataFrame(Y, schema=names), groups, averaged=2)
    assert by_pandas.to_dict() == dict(zip(names, plain, strict=True))
    assert by_polars.row(0, named=True) == by_pandas.to_dict()
    X = pl.DataFrame(Y, schema=names).select("c", "a", "b")
    for noise in (by_pandas, by_polars):
        assert noap.Problem(X, 1, noise=noise).noise == pytest.approx(plain[[2, 0, 1]])
