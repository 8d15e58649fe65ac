"""The scikit-learn contract, and what the estimator adds to it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import noap
from noap import RobustSparsePCA
from noap.errors import InvalidProblem, NoapWarning


# The settings are those that reach different code.
@parametrize_with_checks(
    [
        RobustSparsePCA(),
        RobustSparsePCA(method="ascent", adversary="sample", scale=False),
        RobustSparsePCA(k_share=0.8),
        RobustSparsePCA(method="ascent", adversary="none", deflation="disjoint", center=False),
        RobustSparsePCA(joint=True),
    ]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        # Some checks fit data of one constant column; that nothing is left of it is worth a warning, not a failure.
        warnings.simplefilter("ignore", NoapWarning)
        check(estimator)


@pytest.mark.parametrize("model", [RobustSparsePCA(method="ascent"), RobustSparsePCA(missing="impute", scale=True)])
def test_no_check_of_scikit_learn_is_skipped(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)
        checks = check_estimator(model, on_skip=None, on_fail=None)
    assert len(checks) > 40
    assert {check["status"] for check in checks} == {"passed"}


@pytest.fixture(scope="module")
def wine():
    bunch = load_wine()
    return pd.DataFrame(bunch.data, columns=bunch.feature_names)


def fitted(X, **changes):
    settings = {"n_components": 2, "k": 4, "noise": 0.3, "scale": True} | changes
    return RobustSparsePCA(**settings).fit(X)


def test_the_first_component_is_what_solve_finds_on_standardised_data(wine):
    Z = (wine.to_numpy() - wine.to_numpy().mean(axis=0)) / wine.to_numpy().std(axis=0)
    budget = noap.FeatureWise(0.3 * np.sqrt(len(Z)))
    result = noap.solve(noap.Problem(Z, k=4, adversary=budget))
    model = fitted(wine)
    assert model.components_[0] == pytest.approx(result.v, abs=1e-9)
    assert model.robust_variance_[0] == pytest.approx(budget.value(Z, model.components_[0]), rel=1e-12)
    assert model.results_[0].status is noap.Status.OPTIMAL
    assert (model.gap_ <= 1e-4).all()
    assert model.rho_ == budget.rho
    assert model.mean_ == pytest.approx(wine.to_numpy().mean(axis=0))
    assert model.scale_ == pytest.approx(wine.to_numpy().std(axis=0))


@pytest.mark.parametrize("adversary", ["feature", "sample", "none"])
def test_noise_and_rho_are_one_dial_in_two_units(wine, adversary):
    factor = np.sqrt(len(wine)) if adversary == "feature" else 1.0
    by_noise = fitted(wine, adversary=adversary, method="ascent")
    by_rho = fitted(wine, adversary=adversary, method="ascent", noise=99.0, rho=0.3 * factor)
    assert by_noise.components_ == pytest.approx(by_rho.components_, abs=1e-9)
    assert by_rho.noise_ == pytest.approx(0.3)
    assert by_rho.score(wine[:50]) == pytest.approx(by_noise.score(wine[:50]))


@pytest.mark.parametrize("deflation", ["projection", "disjoint"])
@pytest.mark.parametrize("adversary", ["feature", "sample"])
def test_score_on_the_data_of_fit_is_what_fit_reports(wine, deflation, adversary):
    method = "exact" if adversary == "feature" else "ascent"
    model = fitted(wine, n_components=3, deflation=deflation, adversary=adversary, method=method)
    assert model.robust_variance(wine) == pytest.approx(model.robust_variance_, rel=1e-9)
    assert model.score(wine) == pytest.approx(model.robust_variance_.sum(), rel=1e-9)


def test_score_scales_the_budget_with_the_samples_scored(wine):
    model = fitted(wine, n_components=1)
    twice = pd.concat([wine, wine])
    # Doubling every sample changes neither the variance nor, at equal noise, the robust one.
    assert model.score(twice) == pytest.approx(model.score(wine), rel=1e-12)
    held = wine[:40]
    Z = (held.to_numpy() - model.mean_) / model.scale_
    assert model.score(held) == pytest.approx(noap.FeatureWise(0.3 * np.sqrt(40)).value(Z, model.components_[0]))
    assert model.robust_variance(held, noise=0.0)[0] == pytest.approx(
        (Z @ model.components_[0]) @ (Z @ model.components_[0]) / 40
    )


def test_later_components_belong_to_the_deflated_problem_and_say_so(wine):
    projected = fitted(wine, n_components=3)
    Z = (wine.to_numpy() - projected.mean_) / projected.scale_
    Q, _ = np.linalg.qr(projected.components_[:2].T)
    left = Z - Z @ Q @ Q.T
    budget = noap.FeatureWise(projected.rho_)
    assert projected.robust_variance_[2] == pytest.approx(budget.value(left, projected.components_[2]), rel=1e-9)
    assert projected.bound_[2] == pytest.approx(noap.solve(noap.Problem(left, k=4, adversary=budget)).value, rel=2e-4)
    assert not any("deflation" in message for message in projected.results_[0].messages)
    assert all(any("deflation" in message for message in result.messages) for result in projected.results_[1:])
    disjoint = fitted(wine, n_components=3, deflation="disjoint")
    assert ((disjoint.components_ != 0).sum(axis=0) <= 1).all()


def test_disjoint_components_can_run_out_of_features(wine):
    with pytest.raises(InvalidProblem, match="leaves no feature after 2 components"):
        fitted(wine.iloc[:, :4], n_components=3, k=2, noise=0.0, deflation="disjoint", joint=False)
    # Chosen together they share what there is.
    assert fitted(wine.iloc[:, :4], n_components=3, k=2, noise=0.0, deflation="disjoint").n_components_ == 3


def test_the_span_explains_what_inverse_transform_gives_back(wine):
    X = wine.to_numpy()
    for deflation in ("projection", "orthogonal", "uncorrelated"):
        shares = fitted(X, n_components=3, noise=0.2, deflation=deflation, method="ascent").span_variance_ratio_
        for c in (1, 2, 3):
            part = fitted(X, n_components=c, noise=0.2, deflation=deflation, method="ascent")
            back = part.inverse_transform(part.transform(X))
            lost = np.square((X - back) / part.scale_).sum() / np.square((X - part.mean_) / part.scale_).sum()
            assert shares[c - 1] == pytest.approx(1 - lost, rel=1e-9)
        assert (np.diff(shares) > 0).all()
    # Adjusted variances count the scores that overlap once; the span gives back more of the data than they say.
    projected = fitted(X, n_components=6, noise=0.2, method="ascent")
    assert projected.span_variance_ratio_[-1] > projected.explained_variance_ratio_.sum()


def test_explained_variance_is_adjusted_by_qr(wine):
    model = fitted(wine, n_components=3)
    scores = model.transform(wine)
    R = np.linalg.qr(scores, mode="r")
    assert model.explained_variance_ == pytest.approx(np.diag(R) ** 2 / len(wine), rel=1e-9)
    assert model.explained_variance_ratio_ == pytest.approx(model.explained_variance_ / wine.shape[1], rel=1e-9)
    # With k = d and no noise the components are the principal ones, and explain everything.
    every = fitted(wine, n_components=13, k=13, noise=0.0, method="ascent")
    assert every.explained_variance_ratio_.sum() == pytest.approx(1.0, rel=1e-9)


def test_inverse_transform_projects_on_the_span(wine):
    model = fitted(wine, n_components=3, adversary="none", method="ascent")
    Z = (wine.to_numpy() - model.mean_) / model.scale_
    P = np.linalg.pinv(model.components_) @ model.components_
    back = model.inverse_transform(model.transform(wine))
    assert (back - model.mean_) / model.scale_ == pytest.approx(Z @ P, abs=1e-9)
    assert model.transform(pd.DataFrame(back, columns=wine.columns)) == pytest.approx(model.transform(wine), abs=1e-9)
    with pytest.raises(InvalidProblem, match="expected 3"):
        model.inverse_transform(np.zeros((2, 2)))


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
@pytest.mark.parametrize(("center", "scale"), [(True, True), (True, False), (False, True)])
def test_streams_and_covariances_give_the_same_components_as_the_samples(wine, center, scale):
    noise = 0.2 if scale else 2.0
    whole = fitted(wine, center=center, scale=scale, noise=noise)
    stream = RobustSparsePCA(n_components=2, k=4, noise=noise, center=center, scale=scale)
    stream.partial_fit(wine[:1], solve=False)
    assert not hasattr(stream, "components_")
    stream.partial_fit(wine[1:70], solve=False).partial_fit(wine[70:])
    Z = wine.to_numpy() - (wine.to_numpy().mean(axis=0) if center else 0.0)
    given = RobustSparsePCA(n_components=2, k=4, noise=noise, scale=scale)
    given.fit_covariance(pd.DataFrame(Z.T @ Z / len(Z), columns=wine.columns), len(Z), mean=whole.mean_)
    for model in (stream, given):
        assert model.components_ == pytest.approx(whole.components_, abs=1e-7)
        assert model.robust_variance_ == pytest.approx(whole.robust_variance_, rel=1e-7)
        assert model.explained_variance_ratio_ == pytest.approx(whole.explained_variance_ratio_, rel=1e-7)
        assert model.transform(wine) == pytest.approx(whole.transform(wine), abs=1e-5)
        assert list(model.feature_names_in_) == list(wine.columns)
        assert model.n_samples_seen_ == len(wine)
    with pytest.raises(InvalidProblem, match="samples X"):
        stream.results_[0].attack()
    with pytest.raises(InvalidProblem, match="keep_data=True"):
        whole.results_[0].attack()


def test_a_stream_with_a_large_mean_keeps_its_digits():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 6)) @ rng.standard_normal((6, 6)) + 1e8
    whole = RobustSparsePCA(k=3).fit(X)
    stream = RobustSparsePCA(k=3)
    for part in np.array_split(X, 7):
        stream.partial_fit(part)
    assert stream.robust_variance_ == pytest.approx(whole.robust_variance_, rel=1e-6)
    # fit ends the stream: the next partial_fit starts another.
    assert stream.fit(X).partial_fit(X[:10]).n_samples_seen_ == 10


def test_sample_wise_needs_the_samples(wine):
    model = RobustSparsePCA(adversary="sample", method="ascent")
    with pytest.raises(InvalidProblem, match="moves samples one by one; use fit"):
        model.partial_fit(wine)
    with pytest.raises(InvalidProblem, match="moves samples one by one; use fit with the samples"):
        model.fit_covariance(np.eye(3), 10)
    # scikit-learn asks for methods before it uses them.
    assert not hasattr(model, "partial_fit")
    assert hasattr(model.set_params(adversary="feature"), "partial_fit")
    assert RobustSparsePCA.partial_fit.__doc__.startswith("Add the samples X")


def test_pipeline_and_grid_search():
    bunch = load_breast_cancer()
    pipeline = make_pipeline(RobustSparsePCA(n_components=2, noise=0.2, scale=True), LogisticRegression())
    assert pipeline.fit(bunch.data, bunch.target).score(bunch.data, bunch.target) > 0.9
    search = GridSearchCV(RobustSparsePCA(noise=0.5, scale=True), {"k": [1, 3, 6]}, cv=3).fit(bunch.data)
    # With k = 1 a scaled feature has (1 - noise)^2 left, on held-out data too up to its sampling error.
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] == pytest.approx(0.25, abs=0.15)
    assert scores[0] < scores[1] < scores[2]


def test_names_and_output_containers(wine):
    model = fitted(wine)
    assert list(model.get_feature_names_out()) == ["robustsparsepca0", "robustsparsepca1"]
    frame = model.set_output(transform="pandas").transform(wine)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(model.get_feature_names_out())
    polars_in = pl.DataFrame({name: wine[name].to_numpy() for name in wine.columns})
    polars_model = fitted(polars_in).set_output(transform="polars")
    assert isinstance(polars_model.transform(polars_in), pl.DataFrame)
    assert polars_model.transform(polars_in).to_numpy() == pytest.approx(frame.to_numpy())


def test_clone_and_pickle(wine):
    model = fitted(wine)
    again = pickle.loads(pickle.dumps(model))
    assert (again.transform(wine) == model.transform(wine)).all()
    assert again.results_[0].claim == model.results_[0].claim
    assert (clone(model).fit(wine).components_ == model.components_).all()


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_ties_keep_the_lowest_index_and_are_reported(wine):
    columns = ["flavanoids", "hue", "proline", "total_phenols"]
    X = wine[[*columns, *columns]].to_numpy() * np.repeat([1.0, -1.0], 4)
    model = fitted(X, n_components=1, k=1, noise=0.1)
    assert np.flatnonzero(model.components_[0]).tolist() == [0]
    # Scaled columns are all alike when one is chosen: every feature ties with the first.
    assert model.ties_[0] == tuple((0, j) for j in range(1, 8))
    assert any("tie" in message for message in model.results_[0].messages)
    unscaled = RobustSparsePCA(k=2, noise=0.0, adversary="none", method="ascent").fit(X)
    chosen = np.flatnonzero(unscaled.components_[0])
    assert chosen.tolist() == [2, 6]  # proline twice has by far the most variance
    plain = fitted(wine, n_components=1)
    assert plain.ties_ == ((),)


def test_nothing_is_zero_in_silence(wine):
    with pytest.warns(NoapWarning, match="cancels every direction for component 1"):
        model = fitted(wine, noise=1.0 + 1e-9, n_components=1)
    assert model.robust_variance_ == pytest.approx([0.0])
    assert model.bound_ == pytest.approx([0.0])
    assert np.linalg.norm(model.components_[0]) == pytest.approx(1.0)
    with pytest.warns(NoapWarning, match="for component 3"):  # rank two: nothing is left for the third
        low = RobustSparsePCA(n_components=3, k=5, noise=0.0, method="ascent").fit(
            np.random.default_rng(0).standard_normal((30, 2)) @ np.eye(2, 5)
        )
    assert (low.robust_variance_ > 0).tolist() == [True, True, False]


def test_k_beyond_the_features_means_all_of_them_and_says_so(wine):
    with pytest.warns(NoapWarning, match="k = 500 is more than the 13 features of X; k = 13 is used"):
        capped = fitted(wine, k=500, noise=0.0)
    assert (capped.components_ == fitted(wine, k=13, noise=0.0).components_).all()
    assert capped.k_.tolist() == [13, 13]


def test_k_share_uses_the_fewest_features_that_keep_it(wine):
    model = fitted(wine, k=9, k_share=0.9)
    for c, path in enumerate(model.k_paths_):
        assert path.ks.tolist() == list(range(1, 10))
        smaller = path.values < 0.9 * path.bounds[-1]
        assert model.k_[c] == path.ks[~smaller][0] == path.choose(0.9)
        assert model.robust_variance_[c] == path.at(model.k_[c]).value
        assert np.count_nonzero(model.components_[c]) <= model.k_[c]
    assert model.k_[0] < 9
    # The first component is that of a model with so many features from the start; the share is of what 9 would keep.
    same = fitted(wine, k=int(model.k_[0]), n_components=1)
    assert model.components_[0] == pytest.approx(same.components_[0], abs=1e-6)
    assert model.robust_variance_[0] >= 0.9 * fitted(wine, k=9, n_components=1).robust_variance_[0]
    assert same.k_.tolist() == [model.k_[0]]
    assert same.k_paths_ == ()
    assert model.ties_[0] == same.ties_[0]
    assert "deflation" in " ".join(model.results_[1].messages)
    assert clone(model).k_share == 0.9
    assert pickle.loads(pickle.dumps(model)).k_.tolist() == model.k_.tolist()


def test_k_share_works_from_a_covariance_and_warns_once_where_nothing_is_left(wine):
    S = np.corrcoef(wine.to_numpy().T)
    settings = {"k": 6, "k_share": 0.8, "noise": 0.3, "scale": True}
    by_samples = RobustSparsePCA(**settings).fit(wine)
    assert RobustSparsePCA(**settings).fit_covariance(S, len(wine)).k_.tolist() == by_samples.k_.tolist()
    with pytest.warns(NoapWarning, match="cancels every direction for component 1") as caught:
        nothing = fitted(wine, noise=2.0, k_share=0.5, n_components=1)
    assert len(caught) == 1
    assert nothing.k_.tolist() == [1]


def test_random_states_of_both_kinds(wine):
    plain = fitted(wine, random_state=0, method="ascent")
    for state in (0, np.random.default_rng(0), np.random.RandomState(0)):
        model = fitted(wine, random_state=state, method="ascent")
        assert np.linalg.norm(model.components_, axis=1) == pytest.approx(1)
        # On data this plain every start climbs to the same vector.
        assert model.robust_variance_ == pytest.approx(plain.robust_variance_, rel=1e-9)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"k": 2.5}, "k must be an integer"),
        ({"n_components": 0}, "n_components must be an integer from 1"),
        ({"n_components": 14}, "number of features, 13"),
        ({"noise": -0.1}, "noise must be a finite number of at least 0"),
        ({"noise": "much"}, "noise must be a finite number"),
        ({"rho": np.inf}, "rho must be a finite number"),
        ({"adversary": "both"}, "adversary must be one of"),
        ({"deflation": "none"}, "deflation must be one of"),
        ({"method": "magic"}, "method must be one of"),
        ({"options": {"depth": 3}}, "depth is not an option"),
        ({"options": {"depth": 3}, "k_share": 0.5}, "depth is not an option"),
        ({"k_share": 0}, "k_share must be a number above 0 and at most 1"),
        ({"k_share": "most"}, "k_share must be a number above 0"),
        ({"k_share": 0.9, "method": "ascent"}, "k_share needs method='exact'"),
    ],
)
def test_what_cannot_be_used_is_named(wine, changes, sentence):
    with pytest.raises(InvalidProblem, match=sentence) as caught:
        fitted(wine, **changes)
    assert "\n" not in str(caught.value)


def test_missing_values_point_to_imputers(wine):
    holes = wine.copy()
    holes.loc[3, "hue"] = np.nan
    with pytest.raises(InvalidProblem, match=r"NaN in column 'hue'; fill it first.*SimpleImputer"):
        fitted(holes)
    with pytest.raises(InvalidProblem, match="NaN in column 'hue'"):
        fitted(wine).transform(holes)


@pytest.mark.parametrize(("n_samples", "mean"), [(0, None), (5.0, None), (5, [1.0]), (5, [np.nan] * 3)])
def test_fit_covariance_checks_its_arguments(n_samples, mean):
    with pytest.raises(InvalidProblem, match=r"n_samples must be|mean must hold"):
        RobustSparsePCA().fit_covariance(np.eye(3), n_samples, mean=mean)


def test_constant_columns_of_a_stream_keep_scale_one():
    X = np.column_stack([np.arange(6.0), np.full(6, 7.0), np.arange(6.0) ** 2])
    with pytest.warns(NoapWarning, match="Constant columns keep scale 1: 1"):
        model = RobustSparsePCA(k=2, scale=True).partial_fit(X)
    assert model.scale_[1] == 1.0
    with pytest.raises(InvalidProblem, match="one sample"):
        RobustSparsePCA().partial_fit(X[:1])


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_loadings_by_name():
    data = load_wine(as_frame=True).data
    model = RobustSparsePCA(n_components=2, k=3, noise=0.2, scale=True, method="ascent").fit(data)
    table = model.loadings_frame()
    assert table.columns == ["feature", "component 1", "component 2"]
    for c, row in enumerate(model.components_, start=1):
        told = {name: loading for name, loading in table.select("feature", f"component {c}").iter_rows() if loading}
        assert told == {data.columns[j]: row[j] for j in np.flatnonzero(row)}
    assert np.abs(table["component 1"][:3]).is_sorted(descending=True)
    nameless = RobustSparsePCA(k=2, method="ascent").fit(data.to_numpy())
    used = np.flatnonzero(nameless.components_[0])
    assert sorted(nameless.loadings_frame()["feature"]) == sorted(f"feature {j}" for j in used)
    with pytest.raises(NotFittedError):
        RobustSparsePCA().loadings_frame()


def test_the_proof_of_a_later_component_is_about_deflated_data():
    data = load_wine(as_frame=True).data
    model = RobustSparsePCA(n_components=2, k=3, noise=0.2, scale=True, keep_data=True).fit(data)
    problem = noap.Problem(noap.standardize(data), k=3, adversary=noap.FeatureWise(model.rho_))
    first, second = (result.certificate for result in model.results_)
    assert noap.verify(problem, first).ok
    assert "or deflated for a later component" in noap.verify(problem, second).message
    assert noap.verify(model.results_[1].problem, second).ok
