"""Samples on a device: the same numbers, optima and certificates as those of a host array with the same values.

NumPy itself is one of the libraries, so that all of this runs anywhere; PyTorch (its CPU backend where there is no GPU)
and array-api-strict take part where they are installed.
"""

import importlib
import warnings
from dataclasses import replace

import numpy as np
import pytest

import noap
from noap.data.device import on_device
from noap.errors import InvalidProblem, NoapError
from noap.heuristics.climb_on_device import climb_on_device
from noap.linalg import frozen
from noap.linalg.blocked import ScaledColumns
from noap.linalg.device.columns import DeviceColumns
from noap.linalg.device.library import Library, is_elsewhere, moved_to
from noap.linalg.device.neighbours import nearest_columns
from noap.proofs.fingerprint import fingerprint

K, NOISE = 4, 0.3


def modules(n, d, seed=0):
    """Columns of noise, and some groups of 12 that share a factor."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for first in range(0, min(96, d - 11), 12):
        X[:, first : first + 12] += np.outer(rng.standard_normal(n), rng.uniform(1, 3, 12))
    return np.ascontiguousarray(X[:, rng.permutation(d)] + 1.0, dtype=np.float32)


@pytest.fixture(params=["numpy", "torch", "array_api_strict"])
def put(request):
    """What puts a host array on the device of a library."""
    if request.param == "numpy":
        return DeviceColumns
    reason = f"{request.param} is not installed: only NumPy stands in for a GPU"
    library = pytest.importorskip(request.param, reason=reason)
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    if request.param == "torch":
        device = "cuda" if library.cuda.is_available() else "cpu"
        return lambda X: DeviceColumns(library.asarray(X.copy(), device=device))
    return lambda X: library.asarray(X, device=library.Device("device1"))


@pytest.fixture(scope="module")
def host():
    """A problem of a host array, solved."""
    X = modules(60, 2100)
    problem = noap.Problem(noap.standardize(X), k=K, adversary=noap.FeatureWise(NOISE * 60**0.5))
    return X, problem, noap.solve(problem)


def test_the_numbers_are_those_of_the_host(put):
    X = modules(37, 300)
    X[:, 5] = 0.7  # constant
    for center in (True, False):
        for scale in (True, False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", noap.errors.NoapWarning)
                Z, T = noap.standardize(X, center, scale), noap.standardize(put(X), center, scale)
            assert isinstance(T, DeviceColumns)
            assert T.dtype == np.float32
            assert np.array_equal(T.toarray(), Z)
            some = np.array([7, 5, 299, 0])
            assert np.array_equal(T[:, some].toarray("F"), Z[:, some])
            assert np.array_equal(T[3:30:4].toarray(), Z[3:30:4])
            assert np.array_equal(T[np.array([4, 1])].toarray(), Z[[4, 1]])
    v = np.arange(300.0)
    assert np.allclose(T @ v, Z.astype(float) @ v)
    assert np.allclose(T.T @ np.arange(37.0), Z.T.astype(float) @ np.arange(37.0))


def test_half_precision_is_taken_as_it_is():
    X = modules(37, 300).astype(np.float16)
    T = noap.standardize(DeviceColumns(X))
    assert T.dtype == np.float64
    assert np.array_equal(T.toarray(), noap.standardize(X.astype(np.float64)))


def test_the_same_optimum_and_one_certificate_for_both(put, host):
    X, problem, result = host
    own = noap.Problem(noap.standardize(put(X)), k=K, adversary=problem.adversary)
    assert fingerprint(own) == fingerprint(problem)
    assert np.allclose(own.column_norms, problem.column_norms, rtol=1e-14)
    found = noap.solve(own)
    assert found.status is noap.Status.OPTIMAL
    assert found.support.tolist() == result.support.tolist()
    assert found.value == pytest.approx(result.value, rel=1e-12)
    assert noap.solve(own, "ascent").value == pytest.approx(result.value, rel=1e-9)
    assert noap.verify(problem, found.certificate).ok
    assert noap.verify(own, result.certificate).ok
    other = noap.Problem(noap.standardize(put(X + np.float32(0.5))), k=K, adversary=problem.adversary)
    assert not noap.verify(other, result.certificate).ok


def test_budgets_and_costs_of_single_features(put, host):
    X, problem, _ = host
    rng = np.random.default_rng(3)
    budgets = rng.uniform(0.1, 0.5, 2100) * 60**0.5
    budgets[rng.random(2100) < 0.1] = np.inf
    terms = {"k": K, "adversary": noap.FeatureWise(budgets), "costs": rng.uniform(0.0, 0.2, 2100)}
    there, here = noap.Problem(noap.standardize(put(X)), **terms), noap.Problem(problem.X, **terms)
    result = noap.solve(there)
    assert result.gap <= 1e-4
    assert result.value == pytest.approx(noap.solve(here).value, rel=1e-4)
    for one in (there, here):
        assert noap.verify(one, result.certificate).ok


def test_a_false_certificate_is_refused_on_a_device(put, host):
    X, problem, result = host
    own = noap.Problem(noap.standardize(put(X)), k=K, adversary=problem.adversary)
    proof = result.certificate.proof
    lower = replace(result.certificate, proof=replace(proof, bounds=proof.bounds * 0.97))
    assert noap.verify(own, result.certificate).ok
    assert not noap.verify(own, lower).ok
    # A level whose trees are all about a feature that is nobody's neighbour.
    alone = int(np.argmin(np.abs(problem.covariance_columns(result.support)).sum(axis=1)))
    elsewhere = replace(result.certificate, proof=replace(proof, roots=np.full_like(proof.roots, alone)))
    assert not noap.verify(own, elsewhere).ok


def test_small_and_other_problems_work_too(put):
    X = modules(30, 100)
    problem = noap.Problem(noap.standardize(X), k=3, adversary=noap.SampleWise(0.2))
    own = noap.Problem(noap.standardize(put(X)), k=3, adversary=noap.SampleWise(0.2))
    assert noap.solve(own, "ascent").value == pytest.approx(noap.solve(problem, "ascent").value, rel=1e-9)
    moved = noap.Problem(noap.standardize(put(X)), k=3, adversary=noap.FeatureWise(0.2))
    assert moved.with_adversary(noap.SampleWise(0.2)).value(np.eye(100)[0]) == problem.value(np.eye(100)[0])
    plain = moved.with_adversary(noap.NoAdversary())
    assert noap.solve(plain).value == pytest.approx(noap.solve(problem.with_adversary(noap.NoAdversary())).value)


def test_what_changes_is_noticed(put, monkeypatch):
    monkeypatch.setattr(frozen, "MOST_COPIED", 0)
    columns = put(modules(10, 50))
    array = getattr(columns, "array", columns)
    problem = noap.Problem(columns, k=2, adversary=noap.NoAdversary())
    problem.check_unchanged()
    array[3, 7] = 5.0
    with pytest.raises(InvalidProblem, match="X was changed"):
        problem.check_unchanged()


def test_what_is_no_number_is_refused(put):
    X = modules(10, 50)
    X[4, 17] = np.nan
    with pytest.raises(InvalidProblem, match="NaN in column 17"):
        noap.Problem(put(X), k=2, adversary=noap.NoAdversary())
    X[4, 17] = np.inf
    with pytest.raises(InvalidProblem, match="infinity in column 17"):
        noap.Problem(put(X), k=2, adversary=noap.NoAdversary())


@pytest.mark.parametrize(("rows", "length"), [(1, 40), (3, 9000), (20, 50_000), (2, 256 * 64)])
def test_the_largest_entries_are_the_largest(put, rows, length):
    entries = np.random.default_rng(length).standard_normal((rows, length)).astype(np.float32)
    given = put(entries)
    array = getattr(given, "array", given)
    library = Library.of(array)
    found = np.array(library.host(library.top_sizes(array, 7)))
    assert np.array_equal(found, np.argsort(-np.abs(entries), axis=1)[:, :7])


def test_a_step_of_ascent_is_that_of_the_host(put):
    X = modules(50, 2000)
    Z = noap.standardize(X).astype(np.float64)
    device = noap.standardize(put(X))
    if not isinstance(device, DeviceColumns):
        device = DeviceColumns(device)
    columns = ScaledColumns(device, np.linalg.norm(Z, axis=0))
    A, rho = Z * columns.share / 50**0.5, 0.2
    rng = np.random.default_rng(0)
    features, weights = rng.choice(2000, (6, K), replace=False), rng.standard_normal((6, K))
    found, loads = climb_on_device(columns, rho, features, weights, steps=1)
    for b in range(6):
        u = A[:, features[b]] @ weights[b]
        s = A.T @ (u / np.linalg.norm(u))
        top = np.argsort(-np.abs(s))[:K]
        assert sorted(found[b].tolist()) == sorted(top.tolist())
        v = np.sign(s[found[b]]) * (np.abs(s[found[b]]) - rho)
        assert np.allclose(loads[b], v / np.linalg.norm(v), atol=2e-3)
    better, _ = climb_on_device(columns, rho, features, weights)
    again, _ = climb_on_device(columns, rho, better, np.ones_like(weights), steps=0)
    assert np.array_equal(again, better)


def test_the_nearest_columns_are_found(put):
    Z = noap.standardize(modules(50, 700))
    given = put(np.ascontiguousarray(Z))
    columns = given if isinstance(given, DeviceColumns) else DeviceColumns(given)
    order = np.random.default_rng(0).permutation(700)
    sizes, places = nearest_columns(columns, order, 50**0.5 * 1.001, 300, 5, lambda done: None)
    G = np.abs(Z[:, order].T.astype(float) @ Z[:, order])
    assert np.allclose(sizes, -np.sort(-G[:300], axis=1)[:, :5], rtol=5e-3)
    assert np.allclose(np.take_along_axis(G[:300], places, axis=1), sizes, rtol=5e-3)


class _Elsewhere:
    """Looks like a tensor on a device."""

    __module__ = "torch"
    device, shape = "cuda:0", (3, 4)


def test_without_the_extra_there_is_one_sentence(monkeypatch):
    real = importlib.import_module

    def absent(name, *rest):
        if name in ("array_api_compat", "torch"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", absent)
    assert is_elsewhere(_Elsewhere())
    with pytest.raises(NoapError, match=r"^X is an array of torch.*pip install 'noap\[gpu\]'\.$"):
        noap.Problem(_Elsewhere(), k=1, adversary=noap.NoAdversary())
    with pytest.raises(NoapError, match=r"^device='cuda' needs PyTorch.*pip install 'noap\[gpu\]'\.$"):
        noap.RobustSparsePCA(device="cuda").fit(np.eye(5))


def test_a_device_takes_dense_samples():
    problem = noap.Problem.from_covariance(np.eye(3), n_samples=5, k=1, adversary=noap.NoAdversary())
    assert on_device(problem, None) is problem
    with pytest.raises(InvalidProblem, match="device takes samples X as a dense array"):
        on_device(problem, "cuda")


@pytest.fixture
def torch():
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    return pytest.importorskip("torch", reason="PyTorch is not installed: its CPU backend stands in for a GPU")


def test_the_estimator_takes_a_device(torch):
    X = modules(60, 2100).astype(np.float64)
    given = {
        "k": K,
        "noise": NOISE,
        "scale": True,
        "n_components": 2,
        "deflation": "disjoint",
        "joint": False,
        "keep_data": True,
    }
    here, there = (noap.RobustSparsePCA(**given, device=device).fit(X) for device in (None, "cpu"))
    assert np.allclose(here.components_, there.components_, atol=1e-9)
    assert np.allclose(here.explained_variance_ratio_, there.explained_variance_ratio_)
    assert np.array_equal(here.mean_, there.mean_)
    assert np.array_equal(here.scale_, there.scale_)
    assert np.allclose(here.transform(X), there.transform(X))
    assert noap.verify(here.results_[0].problem, there.results_[0].certificate).ok
    with pytest.raises(InvalidProblem, match="deflation='disjoint'"):
        noap.RobustSparsePCA(n_components=2, k=K, device="cpu", method="ascent").fit(X)


def test_a_device_that_is_not_there(torch):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(NoapError, match="device='cuda' cannot be used"):
        moved_to("cuda", np.eye(2))


def test_settings_of_the_user_come_back(torch):
    library = Library.of(torch.eye(2))
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision, matmul.allow_fp16_reduced_precision_reduction
    matmul.fp32_precision, matmul.allow_fp16_reduced_precision_reduction = "tf32", True
    try:
        with library.exactly("float32"):
            assert matmul.fp32_precision == "ieee"
            assert not matmul.allow_fp16_reduced_precision_reduction
        assert (matmul.fp32_precision, matmul.allow_fp16_reduced_precision_reduction) == ("tf32", True)
    finally:
        matmul.fp32_precision, matmul.allow_fp16_reduced_precision_reduction = before


def test_the_command_line_takes_a_device(torch, tmp_path):
    from commands import noap as command_line

    np.save(tmp_path / "X.npy", modules(60, 2100))
    data, proof = str(tmp_path / "X.npy"), str(tmp_path / "proof.noap")
    made = command_line("solve", data, "-k", "3", "--device", "cpu", "--certificate", proof)
    assert made.returncode == 0, made.stderr
    for device in ([], ["--device", "cpu"]):
        assert command_line("verify", proof, data, *device).returncode == 0
    refused = command_line("solve", data, "-k", "3", "-c", "2", "--device", "cpu")
    assert refused.returncode == 2
    assert "--device takes one component" in refused.stderr
