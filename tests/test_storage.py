"""However X is stored: the same numbers have the same certificate, and what lies in a file stays there."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, save_npz

import noap
from commands import document
from noap.data.standardising import centre_and_scale
from noap.errors import InvalidProblem
from noap.linalg.mapped import by_columns, empty_file, in_file

pytestmark = pytest.mark.filterwarnings("ignore::noap.errors.NoapWarning")


def module_data(n, d, size, seed):
    """Groups of features that go together, rounded to single precision, with zeros."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for first in range(0, d // 5, size):
        X[:, first : first + size] += np.outer(rng.standard_normal(n), rng.uniform(1, 3, size))
    X = X[:, rng.permutation(d)]
    X[rng.random((n, d)) < 0.1] = 0.0
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32).astype(np.float64)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """288 MB in a file, most of it holes: more than is copied into memory."""
    path = tmp_path_factory.mktemp("large") / "X.npy"
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(600_000, 60))
    X[:60] = 100 * module_data(60, 60, 5, 4)
    X.flush()
    return np.load(path, mmap_mode="r")


def certificate(X, rho=1.0):
    problem = noap.Problem(X, k=4, adversary=noap.FeatureWise(rho) if rho else noap.NoAdversary())
    result = noap.solve(problem)
    assert result.status is noap.Status.OPTIMAL
    assert noap.verify(problem, result.certificate).ok
    return result.certificate.to_bytes()


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_the_same_numbers_have_the_same_certificate(rho):
    X = module_data(50, 2200, 10, 0)
    X[:, 100] = X[:, 7]  # a tie
    wanted = certificate(X, rho)
    for other in (X.astype(np.float32), np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], csr_array(X),
                  csc_array(X.astype(np.float32))):  # fmt: skip
        assert certificate(other, rho) == wanted


def test_a_file_has_the_certificate_of_its_numbers(large):
    assert in_file(noap.Problem(large, k=4, adversary=noap.NoAdversary()).X)
    assert certificate(large) == certificate(np.array(large))


def test_a_dask_array_has_the_certificate_of_its_numbers(large):
    array = pytest.importorskip("dask.array")
    X = module_data(40, 2100, 10, 1)
    for chunks in ((7, 900), (40, 2100), (40, 100)):
        lazy = array.from_array(X, chunks=chunks)
        assert np.array_equal(noap.Problem(lazy, k=4, adversary=noap.NoAdversary()).X, X)
    assert certificate(lazy.astype(np.float32)) == certificate(X)
    whole = noap.Problem((lazy * 8).round().astype(int), k=4, adversary=noap.NoAdversary())
    assert np.array_equal(whole.X, (X * 8).round())
    problem = noap.Problem(array.from_array(large, chunks=(250_000, 50)), k=4, adversary=noap.NoAdversary())
    assert in_file(problem.X)
    assert np.array_equal(problem.X, large)


def test_a_dask_array_is_computed_once_and_by_the_cluster():
    distributed, array = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    X = module_data(20, 30, 5, 2)
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0", scheduler_port=0) as cluster,
        distributed.Client(cluster),
    ):
        problem = noap.Problem(array.from_array(X, chunks=(7, 9)), k=2, adversary=noap.NoAdversary())
    assert np.array_equal(problem.X, X)


def test_dask_arrays_that_are_refused():
    array = pytest.importorskip("dask.array")
    unknown = array.from_array(np.ones((4, 3)), chunks=(2, 3))[array.from_array(np.ones(4, bool), chunks=2)]
    for wrong in (array.ones(5), unknown, array.from_array(np.array([["a", "b"]]))):
        with pytest.raises(InvalidProblem):
            noap.Problem(wrong, k=1, adversary=noap.NoAdversary())


@pytest.mark.parametrize("scale", [False, True])
def test_what_is_made_of_a_file_is_one_with_the_same_bits(scale, large):
    made = centre_and_scale(large, center=True, scale=scale)
    assert in_file(made[0])
    assert made[0].dtype == np.float64
    for ours, wanted in zip(made, centre_and_scale(np.array(large), center=True, scale=scale), strict=True):
        assert np.array_equal(ours, wanted)


def test_standardising_is_what_it_was():
    X = (100 * module_data(50, 30, 5, 3)).astype(np.float32)
    mean = centre_and_scale(X, center=True, scale=False)[1]
    Z, _, scales = centre_and_scale(X, center=True, scale=True)
    moved = np.asarray(X - mean, dtype=np.float32)
    assert np.array_equal(Z, np.asarray(moved / scales, dtype=np.float32))


def test_the_estimator_takes_a_file(large):
    settings = {"n_components": 2, "k": 3, "noise": 0.1, "deflation": "projection", "scale": True}
    usual = noap.RobustSparsePCA(**settings).fit(np.array(large))
    model = noap.RobustSparsePCA(**settings, keep_data=True).fit(large)
    assert all(in_file(result.problem.X) for result in model.results_)
    assert np.allclose(model.components_, usual.components_, atol=1e-5)
    assert np.allclose(model.explained_variance_, usual.explained_variance_, rtol=1e-5)


def test_columns_of_a_file_lie_together(large, tmp_path):
    turned = by_columns(large)
    assert turned.flags.f_contiguous
    assert in_file(turned)
    assert np.array_equal(turned, large)
    assert by_columns(turned) is turned
    assert not empty_file((3, 4), np.float64).any()


def test_a_problem_in_a_file_travels_to_other_processes(large):
    problem = noap.Problem(large, k=2, adversary=noap.FeatureWise(0.5))
    columns = problem.by_columns
    assert problem.with_sparsity(3).by_columns is columns
    alone = noap.path(large, 2, rhos=[0.5, 1.0])
    shared = noap.path(large, 2, rhos=[0.5, 1.0], n_jobs=2)
    assert np.array_equal(alone.values, shared.values)


# -- the command line --------------------------------------------------------------------------------------------------


def solved(file, tmp_path, *options):
    proof = tmp_path / "proof.noap"
    proof.unlink(missing_ok=True)
    found = document("solve", file, "-k", 3, "--certificate", proof, *options)
    assert document("verify", proof, file)["ok"]
    return proof.read_bytes(), found


def test_the_command_line_leaves_a_large_file_where_it_is(large, tmp_path, monkeypatch):
    loaded = []
    load = np.load
    monkeypatch.setattr(np, "load", lambda *given, **how: loaded.append(how) or load(*given, **how))
    _, found = solved(large.filename, tmp_path)
    assert {how["mmap_mode"] for how in loaded} == {"r"}
    model = noap.RobustSparsePCA(k=3, scale=True).fit(large)
    assert found["objective"] == pytest.approx(model.robust_variance_[0], rel=1e-6)


def test_the_command_line_takes_many_sparse_features_as_the_estimator_does(tmp_path):
    X = module_data(30, 2100, 6, 8) * (np.random.default_rng(0).random((30, 2100)) < 0.3)
    save_npz(tmp_path / "X.npz", csr_array(X))
    _, document = solved(tmp_path / "X.npz", tmp_path)
    model = noap.RobustSparsePCA(k=3, scale=True).fit(csr_array(X))
    assert document["objective"] == pytest.approx(model.robust_variance_[0], rel=1e-12)


# -- memory ------------------------------------------------------------------------------------------------------------

CHILD = """
import json, re, resource, sys
import numpy as np
import noap

tiny = noap.Problem(np.random.default_rng(0).standard_normal((20, 2500)), k=2, adversary=noap.NoAdversary())
noap.verify(tiny, noap.solve(tiny, time_limit=30).certificate)

# What is private to the process, which pages of a file are not: beyond this an array cannot be made at all.
room = int(float(sys.argv[2]) * 2**20)
used = int(re.search(r"VmData:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + room, used + room))
X = np.load(sys.argv[1], mmap_mode="r")
if sys.argv[3] == "copied":
    X = np.array(X)
Z = noap.standardize(X)
problem = noap.Problem(Z, k=3, adversary=noap.FeatureWise(0.3 * len(Z) ** 0.5))
result = noap.solve(problem)
report = noap.verify(problem, result.certificate)
print(json.dumps([result.status.value, report.ok, result.support.tolist()]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits and counts of memory are Linux's")
def test_a_file_of_290_megabytes_in_220(tmp_path):
    n, d = 30_000, 2_500
    rng = np.random.default_rng(9)
    factor = rng.standard_normal((n, 1)).astype(np.float32)
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(n, d))
    for first in range(0, n, 1000):
        X[first : first + 1000] = rng.standard_normal((1000, d), dtype=np.float32)
    X[:, [5, 1700, 2499]] += 3 * factor
    X.flush()
    assert X.nbytes > 280 * 2**20
    del X

    def run(how):
        command = [sys.executable, "-c", CHILD, str(tmp_path / "X.npy"), "220", how]
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # each holds blocks of its own
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **one_thread})

    done = run("mapped")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["optimal", True, [5, 1700, 2499]]
    assert "MemoryError" in run("copied").stderr
