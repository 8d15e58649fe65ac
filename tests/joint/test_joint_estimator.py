"""The estimator with components that are chosen together: its sums against brute force, its words, its limits."""

import os
import pickle
import signal
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from packings import joint_optimum
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import noap
from noap import RobustSparsePCA
from noap.errors import InvalidProblem, NoapWarning
from noap.estimators import together


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def noise():
    """Data without structure: nothing can be proved about ten of forty features in any time that a test has."""
    return np.random.default_rng(5).standard_normal((60, 40))


@pytest.fixture(scope="module")
def model(wine):
    return RobustSparsePCA(n_components=3, k=4, noise=0.3, scale=True, deflation="disjoint").fit(wine)


def small_case(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 8))
    X = rng.standard_normal((12, d)) @ rng.standard_normal((d, d))
    k, r = int(rng.integers(1, 4)), int(rng.integers(2, min(d, 4) + 1))
    costs = rng.uniform(0, 0.2, d) * X.var(axis=0) if rng.random() < 0.4 else None
    noise = rng.uniform(0, 0.4, d) * X.std(axis=0) if rng.random() < 0.4 else float(rng.uniform(0, 0.4))
    return X, {"n_components": r, "k": min(k, d), "noise": noise, "costs": costs, "gap": 1e-6}


@pytest.mark.parametrize("seed", range(25))
def test_the_sum_is_the_best_of_all_packings(seed):
    X, settings = small_case(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)  # where fewer are worth anything
        model = RobustSparsePCA(**settings, joint=True).fit(X)
        apart = RobustSparsePCA(**settings, joint=False, deflation="disjoint", method="ascent")
        apart = None if settings["n_components"] * settings["k"] > X.shape[1] else apart.fit(X)
    joint = model.joint_result_
    best = joint_optimum(joint.problem, (settings["k"],) * settings["n_components"])
    room = 2e-6 * max(best, 1e-3 * joint.problem.scale)
    assert model.objective_.clip(0).sum() == pytest.approx(best, abs=room)
    assert joint.bound >= best - room
    assert model.joint_gap_ == joint.gap
    assert ((model.components_ != 0).sum(axis=0) <= 1).all()
    assert (np.diff(model.objective_) <= 0).all()
    if apart is not None:
        assert apart.objective_.clip(0).sum() <= best + room
    for result, bound in zip(model.results_, model.bound_, strict=True):
        # The problem of a component is what the others leave, and the bound holds for it.
        own = joint_optimum(result.problem, (settings["k"],))
        assert result.value - room <= own <= bound + 1e-9 * max(best, joint.problem.scale)


def test_together_by_default_where_supports_are_disjoint(wine, model):
    settings = {"n_components": 3, "k": 4, "noise": 0.3, "scale": True}
    apart = RobustSparsePCA(**settings, deflation="disjoint", joint=False).fit(wine)
    assert apart.joint_result_ is None
    assert apart.joint_gap_ is None
    assert model.joint_result_.status is noap.Status.OPTIMAL
    assert model.joint_gap_ <= 1e-4
    assert model.robust_variance_.sum() > 1.002 * apart.robust_variance_.sum()
    # Deflation has nothing to do there.
    asked = RobustSparsePCA(**settings, joint=True).fit(wine)
    assert (asked.components_ == model.components_).all()
    assert asked.robust_variance(wine) == pytest.approx(asked.robust_variance_, rel=1e-9)
    assert asked.score(wine) == pytest.approx(asked.joint_result_.value, rel=1e-9)
    assert RobustSparsePCA(**settings).fit(wine).joint_result_ is None


def test_loadings_and_explained_variances_are_as_ever(wine, model):
    scores = model.transform(wine)
    R = np.linalg.qr(scores, mode="r")
    assert model.explained_variance_ == pytest.approx(np.diag(R) ** 2 / len(wine), rel=1e-9)
    assert model.components_ @ model.components_.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.norm(model.components_, axis=1) == pytest.approx(1.0)
    assert (model.components_[np.arange(3), np.abs(model.components_).argmax(axis=1)] > 0).all()
    # Orthogonal components: the pseudo-inverse is the transpose.
    back = (model.inverse_transform(scores) - model.mean_) / model.scale_
    assert back == pytest.approx(scores @ model.components_)
    frame = model.loadings_frame()
    assert set(frame["feature"]) == set(wine.columns[model.components_.any(axis=0)])
    assert all(together.TOGETHER in result.messages for result in model.results_)
    assert model.results_[1].attack(noap.standardize(wine)).shape == wine.shape
    copied = pickle.loads(pickle.dumps(model))
    assert copied.joint_gap_ == model.joint_gap_
    assert clone(model).joint == "auto"


def test_the_certificate_is_about_the_standardised_data(wine, model, tmp_path):
    model.joint_result_.certificate.save(tmp_path / "proof.noap")
    proof = noap.Certificate.load(tmp_path / "proof.noap")
    problem = noap.Problem(noap.standardize(wine), k=4, adversary=noap.FeatureWise(proof.claim.budget))
    report = noap.verify(problem, proof)
    assert report.ok
    assert report.bound >= model.robust_variance_.sum() * (1 - 1e-12)


def test_sums_and_sparse_data_give_the_same(wine, model):
    stream = RobustSparsePCA(n_components=3, k=4, noise=0.3, scale=True, joint=True)
    stream.partial_fit(wine[:90], solve=False).partial_fit(wine[90:])
    assert stream.components_ == pytest.approx(model.components_, abs=1e-6)
    Z = noap.standardize(wine)
    S = np.corrcoef(Z.T)
    given = RobustSparsePCA(n_components=3, k=4, noise=0.3, joint=True).fit_covariance(S, len(Z))
    assert given.joint_result_.value == pytest.approx(model.joint_result_.value, rel=1e-9)
    # S as it was given: whoever has it can check the proof.
    own = noap.Problem.from_covariance(S, n_samples=len(Z), k=4, adversary=noap.FeatureWise(given.rho_))
    assert noap.verify(own, given.joint_result_.certificate).ok
    thin = RobustSparsePCA(n_components=3, k=4, noise=0.3, joint=True).fit(sparse.csr_array(Z))
    assert thin.joint_result_.value == pytest.approx(model.joint_result_.value, rel=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{"n_components": None}, {"n_components": 0.4}, {"method": "ascent"}, {"k_share": 0.8}, {"adversary": "sample"},
     {"adversary": "spectral", "method": "ascent"}, {"options": {"node_limit": 1000}}, {"n_components": 1}],
)  # fmt: skip
def test_auto_goes_one_by_one_where_it_has_to(wine, settings):
    asked = {"n_components": 2, "k": 2, "noise": 0.5, "scale": True, "deflation": "disjoint"} | settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = RobustSparsePCA(**asked).fit(wine)
    assert fitted.joint_result_ is None
    assert ((fitted.components_ != 0).sum(axis=0) <= 1).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"n_components": None}, "joint=True needs a number of components"),
     ({"method": "ascent"}, "joint=True needs method='exact', got 'ascent'"),
     ({"k_share": 0.8}, "leave out k_share, or joint"),
     ({"adversary": "spectral"}, "joint=True serves the adversaries FeatureWise, .* not SpectralNorm"),
     ({"options": {"node_limit": 9}}, "joint=True does not know the option 'node_limit'"),
     ({"joint": "yes"}, "joint must be 'auto', True or False, got 'yes'"),
     ({"joint": 1}, "joint must be 'auto', True or False, got 1")],
)  # fmt: skip
def test_refuses(wine, settings, said):
    with pytest.raises(InvalidProblem, match=said):
        RobustSparsePCA(**({"n_components": 2, "joint": True} | settings)).fit(wine)


def test_many_features():
    X = np.random.default_rng(0).standard_normal((20, 2100))
    settings = {"n_components": 2, "k": 2, "noise": 0.5, "deflation": "disjoint", "time_limit": 0.5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert RobustSparsePCA(**settings).fit(X).joint_result_ is None
        asked = RobustSparsePCA(**settings, joint=True).fit(X)
    assert asked.joint_result_.bound >= asked.robust_variance_.sum()
    too_many = np.random.default_rng(0).standard_normal((20, 10_001))
    with pytest.raises(InvalidProblem, match=r"too large for 10001 features; keep at most 10000, or take components"):
        RobustSparsePCA(**settings, joint=True).fit(too_many)


def test_a_fit_that_hits_its_time_says_so_once_and_keeps_its_bounds(noise):
    with pytest.warns(ConvergenceWarning) as caught:
        model = RobustSparsePCA(n_components=2, k=10, joint=True, time_limit=0.3).fit(noise)
    assert len(caught) == 1
    assert "time limit of 0.3 s for the whole fit left 2 components chosen together with a joint gap" in str(
        caught[0].message
    )
    assert caught[0].filename == __file__
    assert (model.bound_ >= model.robust_variance_).all()
    assert model.joint_gap_ > 1e-4
    assert all(result.limit is noap.Limit.TIME for result in model.results_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_real_ctrl_c_leaves_what_was_found(noise):
    timer = threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.warns(ConvergenceWarning, match="Interrupted: the model holds 3 components chosen together, with"):
            model = RobustSparsePCA(n_components=3, k=10, joint=True, time_limit=120).fit(noise)
    finally:
        timer.cancel()
    assert model.joint_result_.limit is noap.Limit.INTERRUPTED
    assert np.isfinite(model.bound_).all()


@pytest.mark.filterwarnings("ignore::noap.errors.ScaleWarning")
def test_fewer_components_than_asked_for_and_none():
    X = np.diag([3.0, 2.5, 0.2, 0.1])
    with pytest.warns(NoapWarning, match="Of the 3 components asked for 2 are worth anything"):
        model = RobustSparsePCA(n_components=3, k=1, noise=0.2, joint=True).fit(X)
    assert model.n_components_ == len(model.components_) == len(model.results_) == 2
    assert model.transform(X).shape == (4, 2)
    with pytest.warns(NoapWarning, match="The adversary cancels every direction for component 1"):
        model = RobustSparsePCA(n_components=2, k=1, noise=9.0, joint=True).fit(X)
    assert model.robust_variance_.tolist() == model.bound_.tolist() == [0.0]
    assert model.joint_gap_ == 0
    with pytest.warns(NoapWarning, match="No feature is worth its cost for component 1"):
        model = RobustSparsePCA(n_components=2, k=1, noise=0.1, joint=True, costs=np.full(4, 99.0)).fit(X)
    assert not model.components_.any()


def test_ties_go_to_the_lowest_feature_that_no_other_component_uses():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 30))
    X = np.column_stack([a, b, a, b, a])  # 0, 2, 4 and 1, 3 are the same
    X -= X.mean(axis=0)
    problem = noap.Problem(X, k=1, adversary=noap.NoAdversary())
    joint = noap.solve_components(problem, 3)
    assert sorted(one.support[0] for one in joint.components) in ([0, 1, 2], [0, 1, 3])
    model = RobustSparsePCA(n_components=3, k=1, adversary="none", joint=True).fit(X)
    tied = {pair for pairs in model.ties_ for pair in pairs}
    assert tied
    used = set(np.flatnonzero(model.components_.any(axis=0)).tolist())
    assert all(kept in used and other not in used for kept, other in tied)
    assert noap.verify(problem, joint.certificate).ok


def test_verbose_says_what_is_found_with_names(wine, capsys):
    RobustSparsePCA(n_components=2, k=2, noise=0.3, scale=True, joint=True, verbose=1).fit(wine)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1].strip() for line in lines[:2]] == ["component 1 of 2", "component 2 of 2"]
    assert "Features: " in lines[0]
    assert lines[2].startswith("noap: together, optimal: no 2 disjoint components")


def test_a_seed_is_used_and_repeats(noise):
    settings = {"n_components": 2, "k": 3, "joint": True, "noise": 0.3}
    models = [RobustSparsePCA(**settings, random_state=np.random.RandomState(3)).fit(noise) for _ in range(2)]
    assert (models[0].components_ == models[1].components_).all()
    assert RobustSparsePCA(**settings, n_jobs=2).fit(noise).joint_result_ is not None


def test_searches_over_k_and_noise_work(wine):
    base = RobustSparsePCA(n_components=2, noise=0.3, scale=True, joint=True)
    search = GridSearchCV(base, {"k": [1, 2], "joint": [True, False]}, cv=2).fit(wine)
    assert search.best_params_["k"] == 2
    chosen = noap.RobustSparsePCACV(estimator=base, ks=[1, 2, 3], noises=[0.2, 0.4], cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)  # of choices at the edge
        chosen.fit(wine)
    assert chosen.best_estimator_.joint_result_ is not None
    frame = pd.DataFrame(base.set_params(k=2).set_output(transform="pandas").fit_transform(wine))
    assert frame.shape == (178, 2)
