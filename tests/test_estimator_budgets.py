"""Noise, budgets and costs of single features in the estimators: by position, by name, through clones and deflation."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV

import noap
from noap import FeatureWise, RobustSparsePCA, RobustSparsePCACV
from noap.data.deflation import span_of
from noap.errors import InvalidProblem, NoapWarning


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def noise(wine):
    drawn = np.random.default_rng(3).uniform(0.0, 0.7, wine.shape[1])
    drawn[4], drawn[6] = 0.0, np.inf  # exact; not trusted at all
    return dict(zip(wine.columns, drawn.tolist(), strict=True))


def standardised(X):
    Z = X.to_numpy() - X.to_numpy().mean(axis=0)
    return Z / Z.std(axis=0)


def objective(Z, v, noise, costs=0.0):
    """The closed form, by hand."""
    used = v != 0
    n = len(Z)
    off = np.sqrt(n) * (np.asarray(noise)[used] * np.abs(v[used])).sum()
    return max(np.linalg.norm(Z @ v) - off, 0.0) ** 2 / n - np.broadcast_to(costs, v.shape)[used].sum()


WAYS = {
    "array": lambda noise: np.array(list(noise.values())),
    "list": lambda noise: list(noise.values()),
    "dict": lambda noise: dict(reversed(noise.items())),
    "pandas": lambda noise: pd.Series(noise).iloc[::-1],
    "pandas without names": lambda noise: pd.Series(list(noise.values())),
    "polars": lambda noise: pl.Series(list(noise.values())),
    "polars frame": lambda noise: pl.DataFrame({name: noise[name] for name in reversed(noise)}),
}


@pytest.mark.parametrize("way", WAYS)
def test_noise_of_single_features_comes_in_many_ways(wine, noise, way):
    model = RobustSparsePCA(k=4, noise=WAYS[way](noise), scale=True, method="ascent").fit(wine)
    in_order = np.array(list(noise.values()))
    assert np.array_equal(model.noise_, in_order)
    assert model.rho_ == pytest.approx(np.sqrt(len(wine)) * in_order)
    v = model.components_[0]
    assert v[6] == 0  # not trusted at all
    assert model.robust_variance_[0] == pytest.approx(objective(standardised(wine), v, in_order), rel=1e-12)
    by_rho = RobustSparsePCA(k=4, rho={j: np.sqrt(len(wine)) * x for j, x in noise.items()}, scale=True)
    assert by_rho.set_params(method="ascent").fit(wine).components_ == pytest.approx(model.components_, abs=1e-9)
    by_object = RobustSparsePCA(k=4, adversary=FeatureWise(model.rho_), scale=True, method="ascent").fit(wine)
    assert np.array_equal(by_object.components_, model.components_)
    solved = noap.solve(noap.Problem(standardised(wine), 4, FeatureWise.with_noise(in_order, len(wine))), "ascent")
    assert solved.v == pytest.approx(v, abs=1e-9)
    for measured in (model.robust_variance(wine), model.robust_variance(wine, noise=WAYS[way](noise))):
        assert measured == pytest.approx(model.robust_variance_, rel=1e-9)


def test_exact_with_noises_and_costs_of_features_is_best_of_all_supports(wine):
    few = wine.iloc[:, :7]
    rng = np.random.default_rng(0)
    noise, costs = rng.uniform(0, 0.6, 7), rng.choice([0.0, 0.05, 0.2], 7)
    model = RobustSparsePCA(k=3, noise=noise, costs=costs, scale=True, gap=1e-6).fit(few)
    Z = standardised(few)
    best = 0.0
    for support in itertools.combinations(range(7), 3):
        # A fine grid of directions on the sphere, of any signs: no ascent, no theory.
        for w in np.random.default_rng(1).standard_normal((3000, 3)):
            v = np.zeros(7)
            v[list(support)] = w / np.linalg.norm(w)
            best = max(best, objective(Z, v, noise, costs))
    v = model.components_[0]
    assert model.objective_[0] == pytest.approx(objective(Z, v, noise, costs), rel=1e-12)
    assert best <= model.objective_[0] <= model.bound_[0] <= model.objective_[0] * (1 + 1e-6)
    assert model.robust_variance_[0] == pytest.approx(model.objective_[0] + costs[v != 0].sum(), rel=1e-12)
    assert np.array_equal(model.costs_, costs)


def test_later_components_keep_budgets_and_costs(wine, noise):
    costs = np.linspace(0.0, 0.1, 13)
    for deflation in ("projection", "disjoint"):
        model = RobustSparsePCA(3, 3, noise=noise, costs=costs, scale=True, method="ascent", deflation=deflation)
        model.fit(wine)
        Z, in_order = standardised(wine), np.array(list(noise.values()))
        for c, v in enumerate(model.components_):
            left = Z.copy()
            if c and deflation == "projection":
                Q = span_of(model.components_[:c])
                left = Z - Z @ Q @ Q.T
            assert model.objective_[c] == pytest.approx(objective(left, v, in_order, costs), rel=1e-9)
            assert v[6] == 0
        assert model.robust_variance(wine) == pytest.approx(model.robust_variance_)
        assert model.score(wine) == pytest.approx(model.robust_variance_.sum())


def test_noise_in_the_units_of_the_data_is_divided_by_their_scales(wine, noise):
    in_data = {name: 0.01 * wine[name].mean() for name in wine.columns}
    model = RobustSparsePCA(k=4, noise=in_data, noise_units="data", scale=True, method="ascent").fit(wine)
    expected = 0.01 * wine.mean().to_numpy() / wine.std(ddof=0).to_numpy()
    assert model.noise_ == pytest.approx(expected)
    assert model.robust_variance(wine, noise=in_data) == pytest.approx(model.robust_variance_)
    one = RobustSparsePCA(k=4, noise=0.5, noise_units="data", scale=True, method="ascent").fit(wine)
    assert one.noise_ == pytest.approx(0.5 / wine.std(ddof=0).to_numpy())
    with pytest.raises(InvalidProblem, match="noise_units must be one of"):
        RobustSparsePCA(noise_units="sd").fit(wine)
    with pytest.raises(InvalidProblem, match="noise_units='data' needs adversary='feature'"):
        RobustSparsePCA(noise_units="data", adversary="sample").fit(wine)


def test_budgets_survive_clones_and_searches(wine, noise):
    for given in (noise, pd.Series(noise), np.array(list(noise.values()))):
        model = RobustSparsePCA(k=4, noise=given, scale=True, method="ascent")
        copied = clone(model)
        assert set(copied.get_params()) >= {"noise", "costs", "noise_units"}
        assert np.array_equal(copied.fit(wine).components_, model.fit(wine).components_)
        assert copied.set_params(noise=0.1).fit(wine).noise_ == 0.1
        assert "RobustSparsePCA" in repr(model)
    search = GridSearchCV(RobustSparsePCA(scale=True, method="ascent"), {"noise": [noise, 0.1], "k": [2, 3]}, cv=2)
    search.fit(wine)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_samples_may_have_noises_of_their_own(wine):
    noise = np.linspace(0.0, 1.0, len(wine))
    model = RobustSparsePCA(k=3, adversary="sample", noise=noise, scale=True, method="ascent").fit(wine)
    scores = np.abs(standardised(wine) @ model.components_[0])
    assert model.robust_variance_[0] == pytest.approx(np.mean(np.maximum(scores - noise, 0.0) ** 2), rel=1e-9)
    with pytest.raises(InvalidProblem, match="178 entries, but there are 20 samples"):
        model.robust_variance(wine.iloc[:20])
    with pytest.raises(InvalidProblem, match="one number per sample, for adversary='sample'"):
        RobustSparsePCA(adversary="sample", noise=dict.fromkeys(wine.columns, 0.1)).fit(wine)
    with pytest.raises(InvalidProblem, match="rho has 13 entries, but there are 178 samples"):
        RobustSparsePCA(adversary="sample", noise=[0.1] * 13).fit(wine)
    by_object = RobustSparsePCA(k=3, adversary=noap.SampleWise(noise), scale=True, method="ascent").fit(wine)
    assert by_object.components_ == pytest.approx(model.components_, abs=1e-9)
    assert by_object.robust_variance(wine) == pytest.approx(by_object.robust_variance_)


def test_what_is_wrong_with_noises_and_costs_is_one_sentence(wine, noise):
    def fit(X=wine, **settings):
        return RobustSparsePCA(method="ascent", **settings).fit(X)

    with pytest.raises(InvalidProblem, match=r"^noise has no entry for the feature 'hue' of X; add it, or pass a"):
        fit(noise={name: x for name, x in noise.items() if name != "hue"})
    with pytest.raises(InvalidProblem, match=r"^costs has no entry for the feature 'alcohol'.*missing too: malic_acid"):
        fit(costs={"hue": 0.1})
    with pytest.raises(InvalidProblem, match=r"^noise goes by feature name, but X has no names; pass X as a DataFrame"):
        fit(wine.to_numpy(), noise=noise)
    with pytest.raises(InvalidProblem, match=r"^noise has 2 entries, but X has 13 features; pass one for each"):
        fit(noise=[0.1, 0.2])
    with pytest.raises(InvalidProblem, match=r"^rho must be at least 0, got -1 for the feature 'hue'"):
        fit(rho={**noise, "hue": -1.0})
    with pytest.raises(InvalidProblem, match=r"^noise must be at least 0, got nan for the feature 'hue'"):
        fit(noise={**noise, "hue": np.nan})
    with pytest.raises(InvalidProblem, match=r"^costs must be finite and at least 0, got inf for the feature 'hue'"):
        fit(costs={**dict.fromkeys(wine.columns, 0.0), "hue": np.inf})
    with pytest.raises(InvalidProblem, match=r"^noise must hold numbers"):
        fit(noise={**noise, "hue": "low"})
    with pytest.raises(InvalidProblem, match=r"^costs must hold one number for each feature, got 0.1"):
        fit(costs=0.1)
    with pytest.raises(InvalidProblem, match=r"^noise must have one row, with a column for every feature, it has 2"):
        fit(noise=pl.DataFrame({name: [0.1, 0.2] for name in wine.columns}))
    with pytest.raises(InvalidProblem, match=r"^noise has several entries for the feature 'hue'"):
        fit(noise=pd.Series([0.1, 0.2], index=["hue", "hue"]))
    with pytest.raises(InvalidProblem, match=r"^noise has an entry for 'weight', which X does not have; take it out"):
        fit(noise={**noise, "weight": 0.3})
    with pytest.raises(InvalidProblem, match=r"^noise has shape"):
        fit(noise=[[0.1] * 13])
    with pytest.raises(InvalidProblem, match=r"^noise must be a number for adversary 'entry'"):
        fit(adversary="entry", noise=[0.1] * 13)


def test_tables_and_pictures_of_results_know_costs(wine):
    problem = noap.Problem(noap.standardize(wine), k=3, adversary=FeatureWise(2.0), costs=np.full(13, 0.1))
    result = noap.solve(problem, "ascent")
    shown = result._repr_html_()
    assert f"{result.robust_variance:.6g}" in shown
    assert f"{result.value:.6g}" in shown
    assert "less its costs" in shown
    assert "less its costs" not in noap.solve(problem.with_costs(None), "ascent")._repr_html_()
    assert "less costs" in noap.k_path(problem).plot().axes[0].get_title(loc="left")


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_costs_that_nothing_is_worth_leave_nothing(wine):
    with pytest.warns(NoapWarning, match=r"No feature is worth its cost for component 1.*lower costs"):
        model = RobustSparsePCA(2, 3, costs=np.full(13, 50.0), scale=True).fit(wine)
    assert not model.components_.any()
    assert model.objective_.tolist() == model.robust_variance_.tolist() == model.bound_.tolist() == [0.0, 0.0]
    assert model.transform(wine).shape == (178, 2)
    with pytest.raises(InvalidProblem, match="costs"):
        RobustSparsePCA(adversary="spectral", costs=np.full(13, 0.1)).fit(wine)


@pytest.mark.parametrize("by", ["held-out", "permutation", "k-path"])
def test_choosing_with_noises_of_features_chooses_a_factor(wine, noise, by):
    finite = {name: min(x, 0.5) for name, x in noise.items()}
    factors = [0.5] if by == "k-path" else [0.5, 1.0]
    model = RobustSparsePCACV(
        RobustSparsePCA(noise=finite, costs=dict.fromkeys(wine.columns, 0.02), scale=True),
        ks=[2, 3, 4],
        noises=factors,
        by=by,
        n_permutations=3,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)  # the choice may lie at the edge of so small a grid
        model.fit(wine)
    assert model.best_noise_ in factors
    expected = model.best_noise_ * np.array(list(finite.values()))
    assert model.best_params_["noise"] == pytest.approx(expected)
    assert model.best_estimator_.noise_ == pytest.approx(expected)
    again = RobustSparsePCA(**model.best_params_, costs=np.full(13, 0.02), scale=True).fit(wine)
    assert again.components_ == pytest.approx(model.components_, abs=1e-9)


def test_shares_of_the_factor_that_leaves_nothing_are_tried_by_default(wine, noise):
    finite = {name: min(max(x, 0.1), 0.5) for name, x in noise.items()}
    model = RobustSparsePCACV(RobustSparsePCA(noise=finite, scale=True), ks=[3], by="k-path").fit(wine)
    assert model.choice_.noises == pytest.approx([0.1 / min(finite.values())])
    budgets = RobustSparsePCA(adversary=FeatureWise(np.ones(13)), scale=True)
    assert (
        RobustSparsePCACV(budgets, ks=[2], by="k-path").fit(wine).best_noise_ == 1.0
    )  # a factor on those of the object
    base = RobustSparsePCA(noise=np.full(len(wine), 0.1), adversary="sample", scale=True)
    with pytest.raises(InvalidProblem, match="noise must be a number for all samples, or one for each feature"):
        RobustSparsePCACV(base, ks=[3]).fit(wine)


def test_resamples_keep_budgets_and_costs(wine, noise):
    Z = noap.standardize(wine)
    rho = np.sqrt(len(wine)) * np.array(list(noise.values()))
    costs = np.zeros(13)
    costs[4] = 10.0  # the exact feature, at a price that nothing is worth
    cheap = noap.stability(noap.Problem(Z, k=3, adversary=FeatureWise(rho)), n_boot=10)
    dear = noap.stability(noap.Problem(Z, k=3, adversary=FeatureWise(rho), costs=costs), n_boot=10)
    assert cheap.frequencies[4] >= 0.5
    assert dear.frequencies[4] == dear.frequencies[6] == cheap.frequencies[6] == 0.0
    half = np.where(np.arange(len(wine)) < len(wine) // 2, np.linspace(0.0, 1.0, len(wine)), np.inf)
    by_sample = noap.Problem(Z, k=3, adversary=noap.SampleWise(half))
    assert noap.stability(by_sample, n_boot=3, method="ascent").frequencies.max() > 0
