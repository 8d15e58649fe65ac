"""A fitted model in the hands of its users: what it keeps, what it names, how it goes into pipelines."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline

import noap
from noap.errors import InvalidProblem

RNG = np.random.default_rng(8)
NAMES = [f"gene {j}" for j in range(8)]
X = RNG.standard_normal((4000, 3)) @ RNG.standard_normal((3, 8)) + 0.3 * RNG.standard_normal((4000, 8))
SETTINGS = {"n_components": 2, "k": 3, "noise": 0.2, "scale": True}


@pytest.mark.parametrize("deflation", ["projection", "disjoint", "orthogonal"])
def test_a_model_does_not_carry_the_data(deflation):
    model = noap.RobustSparsePCA(**SETTINGS, deflation=deflation).fit(X)
    kept = noap.RobustSparsePCA(**SETTINGS, deflation=deflation, keep_data=True).fit(X)
    assert len(pickle.dumps(model)) < X.nbytes / 4 < len(pickle.dumps(kept))
    np.testing.assert_array_equal(model.components_, kept.components_)
    for lean, full in zip(model.results_, kept.results_, strict=True):
        assert lean.problem.X is None
        assert (lean.value, lean.bound, lean.claim, lean.features) == (
            full.value,
            full.bound,
            full.claim,
            full.features,
        )
        assert lean.plain_variance == pytest.approx(full.plain_variance, rel=1e-12)
        assert lean.to_dict().keys() == full.to_dict().keys()
        assert str(lean) == str(full)
        with pytest.raises(InvalidProblem, match="keep_data=True"):
            lean.attack()
    with pytest.raises(ValueError, match="read-only"):
        kept.results_[0].problem.X[0, 0] = 1.0
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_whoever_has_the_data_can_attack_and_verify():
    model, Z = noap.RobustSparsePCA(**SETTINGS).fit(X), noap.standardize(X)
    first = model.results_[0]
    E = first.attack(Z)
    left = np.mean(((Z + E) @ first.v) ** 2)
    assert left == pytest.approx(first.value)
    assert noap.verify(noap.Problem(Z, 3, noise=0.2), first.certificate).ok
    assert not noap.verify(noap.Problem(Z + 1e-9, 3, noise=0.2), first.certificate).ok
    with pytest.raises(InvalidProblem, match="X must be the samples"):
        first.attack(Z[:10])


def test_a_model_chosen_against_samples_or_together_is_lean_too():
    small = X[:200]
    for given in ({"adversary": "sample"}, {"joint": True}, {"k_share": 0.9}):
        model = noap.RobustSparsePCA(**SETTINGS | given).fit(small)
        assert len(pickle.dumps(model)) < len(
            pickle.dumps(noap.RobustSparsePCA(**SETTINGS | given, keep_data=True).fit(small))
        )
        assert all(result.problem.X is None for result in model.results_)
        assert all(np.isfinite(result.robust_variance) for result in model.results_)


def test_the_features_by_name_and_as_a_mask():
    model = noap.RobustSparsePCA(**SETTINGS).fit(pd.DataFrame(X, columns=NAMES))
    for names, v, result in zip(model.features_, model.components_, model.results_, strict=True):
        loadings = [abs(v[NAMES.index(name)]) for name in names]
        assert loadings == sorted(loadings, reverse=True)
        assert set(names) == set(result.features)
    mask = model.get_support()
    assert mask.tolist() == model.components_.any(axis=0).tolist()
    assert model.get_support(indices=True).tolist() == np.flatnonzero(mask).tolist()
    nameless = noap.RobustSparsePCA(**SETTINGS).fit(X)
    assert set(nameless.features_[0]) == set(np.flatnonzero(nameless.components_[0]))


def test_in_a_pipeline_it_scores_or_selects():
    frame = pd.DataFrame(X, columns=NAMES)
    selects = SelectFromModel(noap.RobustSparsePCA(**SETTINGS), importance_getter="components_", threshold=1e-12)
    chosen = make_pipeline(selects).set_output(transform="pandas").fit_transform(frame)
    model = noap.RobustSparsePCA(**SETTINGS).fit(frame)
    assert list(chosen.columns) == [name for name, used in zip(NAMES, model.get_support(), strict=True) if used]
    scores = make_pipeline(noap.RobustSparsePCA(**SETTINGS)).set_output(transform="polars").fit_transform(frame)
    np.testing.assert_allclose(scores.to_numpy(), model.transform(frame))
    assert isinstance(model.set_output(transform="pandas").loadings_frame(), pd.DataFrame)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("adversary", ["feature", "none", "spectral", "sample"])
def test_a_weight_of_two_is_a_sample_twice(adversary, center):
    some, weights = X[:300], RNG.integers(0, 4, 300)
    given = SETTINGS | {"adversary": adversary, "center": center}
    weighted = noap.RobustSparsePCA(**given).fit(some, sample_weight=weights)
    repeated = noap.RobustSparsePCA(**given).fit(np.repeat(some, weights, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)
    np.testing.assert_allclose(weighted.robust_variance_, repeated.robust_variance_, rtol=1e-7)
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, atol=1e-12)
    np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-12)


def test_weights_that_make_no_sense_are_one_sentence():
    for weights, terms in (
        (np.full(len(X), -1.0), {}),
        (np.zeros(len(X)), {}),
        (np.ones(3), {}),
        (np.ones(len(X)), {"adversary": "entry"}),
        (np.ones(len(X)), {"missing": "impute"}),
    ):
        holes = np.where(np.eye(len(X), 8) == 1, np.nan, X) if "missing" in terms else X
        with pytest.raises(ValueError, match=r"(?i)sample.weight"):
            noap.RobustSparsePCA(**SETTINGS | terms).fit(holes, sample_weight=weights)


def test_float32_in_float32_out():
    model = noap.RobustSparsePCA(**SETTINGS).fit(X)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    np.testing.assert_allclose(model.transform(X.astype(np.float32)), model.transform(X), atol=1e-4)


@pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_the_noises_that_are_tried_fit_raw_data(make):
    raw = np.abs(X[:300]) * np.array([1e6, 1, 1, 1, 2, 2, 0.5, 3])
    model = noap.RobustSparsePCACV(ks=[2]).fit(make(raw))
    spread = np.median(raw.std(axis=0))
    np.testing.assert_allclose(model.choice_.noises, np.array([0.1, 0.2, 0.4, 0.6]) * spread, rtol=1e-9)
