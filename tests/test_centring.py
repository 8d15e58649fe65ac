"""Raw data are not centred in silence: who centres and scales what, and who is warned."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_wine

import noap
from commands import noap as command_line
from noap.data.centring import share_of_means
from noap.data.streams.summary import Summary
from noap.errors import NoapWarning, UncentredWarning
from noap.report import build_report

RAW = load_breast_cancer().data
CENTRED = RAW - RAW.mean(axis=0)


@pytest.mark.parametrize(
    "make", [np.asarray, scipy.sparse.csr_array, lambda X: X.astype(np.float32), np.asfortranarray]
)
def test_raw_data_are_told_to_the_caller(make):
    with pytest.warns(UncentredWarning, match=r"[5-9]\d % of its squares.*X - X\.mean\(axis=0\)") as told:
        noap.Problem(make(RAW), k=5, adversary=noap.FeatureWise(1.0))
    assert len(told) == 1
    assert told[0].filename == __file__
    with pytest.warns(UncentredWarning) as told:
        noap.path(make(RAW), 2, rhos=[1e5], method="ascent")
    assert len(told) == 1
    assert told[0].filename == __file__
    assert issubclass(UncentredWarning, NoapWarning)


@pytest.mark.parametrize(
    "X",
    [
        CENTRED,
        CENTRED / CENTRED.std(axis=0),
        np.random.default_rng(0).standard_normal((500, 3)),
        np.random.default_rng(0).standard_normal((20, 1)),
        noap.theory.spiked_wishart(100, 50, 5, 3.0, random_state=1).X,
        np.ones((5, 3)),  # too few samples to tell
        scipy.sparse.random(200, 30, density=0.05, random_state=0, format="csr"),
        1e-140 * CENTRED / CENTRED.std(axis=0),
    ],
    ids=["centred", "standardised", "drawn", "few drawn", "model", "five rows", "counts", "tiny"],
)
def test_centred_data_are_taken_without_a_word(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noap.Problem(X, k=1, adversary=noap.NoAdversary())


def test_whoever_says_how_to_prepare_the_data_is_not_warned(tmp_path):
    np.save(tmp_path / "raw.npy", RAW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", noap.errors.ScaleWarning)
        for center in (True, False):
            noap.RobustSparsePCA(k=2, noise=0.0, center=center, method="ascent").fit(RAW)
        noap.RobustSparsePCA(n_components=2, k=2, noise=0.0, center=False, method="ascent").fit(RAW)
        build_report(RAW, k=2, center=False, method="ascent", points=2, n_components=1)
        for option in ("--center", "--no-center"):
            told = command_line("solve", tmp_path / "raw.npy", option, "--method", "ascent", "--json")
            assert (told.returncode, told.stderr) == (0, "")


def test_the_doors_that_prepare_data_centre_them():
    for door in (noap.RobustSparsePCA, build_report, Summary.problem):
        assert inspect.signature(door).parameters["center"].default is True
    # The command line, the report and streams scale too; the estimator does what scikit-learn's PCA does.
    for door in (build_report, Summary.problem):
        assert inspect.signature(door).parameters["scale"].default is True


def test_the_share_of_means_against_the_definition():
    for X in (RAW, load_wine().data, np.random.default_rng(1).uniform(0, 1, (40, 3))):
        rows = X[:: -(-len(X) // 64)]
        expected = len(rows) * (rows.mean(axis=0) ** 2).sum() / (rows**2).sum()
        assert share_of_means(X) == pytest.approx(expected, rel=1e-12)
    assert share_of_means(np.full((30, 2), 1e-170)) == pytest.approx(1.0)
    assert share_of_means(np.full((30, 2), 1e150)) == pytest.approx(1.0)
    assert share_of_means(np.zeros((30, 2))) == 0
