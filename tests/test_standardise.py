"""One way to standardise, to the last bit: what is proved in one place is about the data of every other."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, save_npz

import noap as library
from commands import noap
from noap.kernel.claim import fingerprint_of as fingerprint

RNG = np.random.default_rng(3)
# Columns of different sizes and means, with all their digits.
X = RNG.standard_normal((97, 7)) * 10.0 ** RNG.integers(-3, 4, 7) + RNG.standard_normal(7)
X[:, 1] += X[:, 0]
NAMES = ["length, cm", *"bcdefg"]
NOISE = 0.3


def problem_of(Z, k=3):
    return library.Problem(Z, k=k, noise=NOISE)


def bits(Z):
    return fingerprint(problem_of(Z))


def write(form, path):
    if form == "csv":
        pl.DataFrame(X, schema=NAMES).write_csv(path / "data.csv")
    elif form == "parquet":
        pd.DataFrame(X, columns=NAMES).to_parquet(path / "data.parquet")
    elif form == "npy":
        np.save(path / "data.npy", np.asfortranarray(X))
    elif form == "float32":
        np.save(path / "data.npy", X.astype(np.float32))
    else:
        save_npz(path / "data.npz", csr_array(X))
    return next(path.glob("data.*"))


def read(form, file):
    if form == "csv":
        return pd.read_csv(file)
    if form == "parquet":
        return pl.read_parquet(file)
    if form == "npy":
        return X.copy()
    return X.astype(np.float32) if form == "float32" else csr_array(X)


@pytest.mark.parametrize("form", ["csv", "parquet", "npy", "float32", "sparse"])
def test_a_proof_of_the_command_line_is_about_the_data_of_python_and_back(form, tmp_path):
    file = write(form, tmp_path)
    done = noap("solve", file, "-k", 3, "--noise", NOISE, "--certificate", tmp_path / "there.noap", "--json")
    assert done.returncode == 0, done.stderr
    problem = problem_of(library.standardize(read(form, file)))
    certificate = library.Certificate.load(tmp_path / "there.noap")
    library.verify(problem, certificate).require()
    library.solve(problem).certificate.save(tmp_path / "back.noap")
    back = noap("verify", tmp_path / "back.noap", file, "--json")
    assert back.returncode == 0, back.stdout
    assert json.loads(back.stdout)["data"] == "standardised"
    if form != "sparse":  # whose components are those of a covariance
        model = library.RobustSparsePCA(k=3, noise=NOISE, scale=True).fit(read(form, file))
        library.verify(problem, model.results_[0].certificate).require()


@pytest.mark.parametrize(("center", "scale"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore::noap.errors.UncentredWarning")
def test_the_bits_do_not_depend_on_how_the_numbers_are_held(center, scale, dtype):
    A = X.astype(dtype)
    Z = library.standardize(A, center=center, scale=scale)
    assert Z.dtype == dtype
    strided = np.repeat(A, 2, axis=1)[:, ::2]
    frame = pd.DataFrame(A, columns=NAMES, index=[f"row {i}" for i in range(len(A))])
    held = [np.asfortranarray(A), strided, csr_array(A), frame, pl.DataFrame(A, schema=NAMES), A.tolist()]
    for other in held[: -1 if dtype is np.float32 else None]:
        assert bits(library.standardize(other, center=center, scale=scale)) == bits(Z)


def test_frames_stay_what_they_are():
    frame = pd.DataFrame(X, columns=NAMES, index=[f"row {i}" for i in range(len(X))])
    Z = library.standardize(frame)
    assert isinstance(Z, pd.DataFrame)
    assert (Z.columns == frame.columns).all()
    assert (Z.index == frame.index).all()
    assert library.standardize(pl.DataFrame(X, schema=NAMES)).columns == NAMES
    assert problem_of(Z).feature_names == tuple(NAMES)
    assert not isinstance(library.standardize(csr_array(X), center=False), np.ndarray)


@pytest.mark.parametrize("rows", [2, 3, 5, 16, 17, 97])
def test_means_and_deviations_are_right_to_rounding(rows):
    A = X[:rows] + 1e6
    Z = library.standardize(A)
    for j in range(A.shape[1]):
        exact = [Fraction(entry) for entry in A[:, j].tolist()]
        mean = sum(exact) / rows
        scale = math.sqrt(sum((entry - mean) ** 2 for entry in exact) / rows)
        expected = [float(entry - mean) / scale for entry in exact]
        assert Z[:, j] == pytest.approx(expected, rel=1e-12, abs=1e-15 * np.abs(A[:, j]).max() / scale)


def test_many_rows_are_added_in_blocks():
    """More rows than a block has, fewer in the last, and columns beyond the width of a block."""
    for n, d in ((40, 2000), (20011, 2)):
        A = RNG.standard_normal((n, d))
        Z = library.standardize(A)
        assert np.abs(Z.mean(axis=0)).max() < 1e-14
        assert np.abs(Z.std(axis=0) - 1).max() < 1e-14
        sparse = np.where(A > 0.5, A, 0.0)
        scaled = library.standardize(csr_array(sparse), center=False)
        assert np.array_equal(scaled.toarray(), library.standardize(sparse, center=False))


def test_a_formula_of_ones_own_is_told_the_name():
    by_hand = (X - X.mean(axis=0)) / X.std(axis=0)
    certificate = library.solve(problem_of(library.standardize(X))).certificate
    report = library.verify(problem_of(np.nextafter(by_hand, np.inf)), certificate)
    assert not report.ok
    assert "noap.standardize" in report.message


def test_a_rejection_knows_nothing_of_value_and_data(tmp_path):
    pl.DataFrame(X, schema=NAMES).write_csv(tmp_path / "data.csv")
    pl.DataFrame(X[:, ::-1].copy(), schema=NAMES).write_csv(tmp_path / "other.csv")
    noap("solve", tmp_path / "data.csv", "-k", 3, "--certificate", tmp_path / "c.noap")
    done = noap("verify", tmp_path / "c.noap", tmp_path / "other.csv", "--json")
    assert done.returncode == 4
    document = json.loads(done.stdout)
    assert document["value"] is None
    assert document["data"] is None
    assert document["features"] is None
    shown = noap("verify", tmp_path / "c.noap", tmp_path / "other.csv").stdout
    assert "tried as it is, centred, scaled, and both" in shown


def test_an_acceptance_names_features_and_noise(tmp_path):
    pl.DataFrame(X, schema=NAMES).write_csv(tmp_path / "data.csv")
    done = noap(
        "solve", tmp_path / "data.csv", "-k", 2, "--noise", NOISE, "--certificate", tmp_path / "c.noap", "--json"
    )
    features = json.loads(done.stdout)["features"]
    shown = noap("verify", tmp_path / "c.noap", tmp_path / "data.csv").stdout
    assert all(name in shown for name in features)
    assert f"noise {NOISE:g} (rho = " in shown
    document = json.loads(noap("verify", tmp_path / "c.noap", tmp_path / "data.csv", "--json").stdout)
    assert sorted(document["features"]) == sorted(features)
    assert document["noise"] == pytest.approx(NOISE, rel=1e-15)


def test_a_rejection_for_another_problem_is_a_sentence():
    problem = problem_of(library.standardize(X))
    certificate = library.solve(problem).certificate
    said = {
        "k = 3, and this problem has k = 2": problem.with_sparsity(2),
        "the adversary 'feature-wise', and this problem has the adversary 'none'": problem.with_adversary(
            library.NoAdversary()
        ),
        "97 samples, and this problem has 96 samples": library.Problem(problem.X[:-1], 3, problem.adversary),
        "7 features, and this problem has 6 features": problem.restricted(range(6)),
    }
    for words, other in said.items():
        assert library.verify(other, certificate).message == f"Rejected: the certificate is about {words}."
