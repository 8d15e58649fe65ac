"""Products in few bits: their error is bounded, on data made to break the bound, and no pair is lost in a sieve."""

import math
from fractions import Fraction

import numpy as np
import pytest

from noap.checker.many import device as checker
from noap.linalg.device import rounded, sieve
from noap.linalg.device.columns import DeviceColumns
from noap.linalg.device.library import ARITHMETICS, Library
from noap.linalg.device.rounded import LONGEST, Rounded, product_error

BITS = {"float16": 11, "tf32": 11, "float32": 24}


def cut(x, bits):
    """x with so many bits, what is beyond them dropped: as bad as a rounding can be."""
    if x == 0.0:
        return 0.0
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.trunc(math.ldexp(mantissa, bits)), exponent - bits)


def factor(x, arithmetic):
    if arithmetic == "float16":
        return float(np.float16(x))
    return cut(float(np.float32(x)), BITS[arithmetic])  # tf32 may be cut; float32 has all its bits


def device_product(x, y, arithmetic):
    """The product as the worst device that is allowed would have it: every sum is cut, and the result rounded."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total = cut(total + factor(a, arithmetic) * factor(b, arithmetic), 24)
    return float(np.float16(total)) if arithmetic == "float16" else total


def hostile(n, rng):
    """Vectors whose roundings all go the same way, that cancel, that underflow, that are as long as may be."""
    # Just above the middle between two numbers of 10 bits, or just below the next one: rounded or cut alike.
    halfway = (1.0 + (rng.integers(0, 16, n) * 2 + 1) * 2.0**-11 * (1 - 1e-6)) * 2.0 ** rng.integers(-3, 3, n)
    below = (1.0 + (rng.integers(0, 16, n) + 1) * 2.0**-10 - 2.0**-23) * 2.0 ** rng.integers(-3, 3, n)
    signs = rng.choice([-1.0, 1.0], n)
    tiny = np.where(np.arange(n) == 0, 100.0, 2.0**-25 * (1 + rng.random(n)))
    ramp = np.geomspace(1.0, 1e-7, n)
    return [halfway, below, halfway * signs, below * signs, tiny, ramp, rng.standard_normal(n)]


def errors(arithmetic, n, seed):
    """The error of every product over what it may be, by the search and by the checker."""
    rng = np.random.default_rng(seed)
    own = product_error(arithmetic, n)
    constants = checker._HALF if arithmetic == "float16" else checker._TEN_BITS
    theirs = checker._relative(n, *constants[:2]), checker._absolute(n, *constants)
    found = []
    vectors = [np.ldexp(v, math.floor(math.log2(LONGEST / np.linalg.norm(v)))) for v in hostile(n, rng)]
    vectors += [np.ldexp(v, -12) for v in vectors[:2]]
    for x in vectors:
        for y in vectors:
            exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y, strict=True))
            off = abs(float(Fraction(device_product(x, y, arithmetic)) - exact))
            lengths = np.linalg.norm(x) * np.linalg.norm(y)
            found.append([off / (own.relative * lengths + own.absolute), off / (theirs[0] * lengths + theirs[1])])
    return np.array(found)


@pytest.mark.parametrize("n", [1, 7, 200])
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_no_product_is_off_by_more_than_is_said(arithmetic, n):
    found = np.vstack([errors(arithmetic, n, seed) for seed in range(2 if n < 100 else 1)])
    assert found.max() <= 1.0
    if arithmetic != "float32" and n > 1:
        assert found[:, 0].max() > 0.55  # the bound is what such data need: half of it would be wrong


def test_long_sums_are_in_parts():
    short, long = product_error("float32", 16384), product_error("float32", 10**6)
    assert long.relative < 1.1 * short.relative


def near_copies(n, d, rng):
    """Columns of which many are nearly parallel: products lie all around any threshold."""
    X = rng.standard_normal((n, d)) / math.sqrt(n)
    for first in range(0, d - 10, 10):
        X[:, first + 1 : first + 10] = X[:, [first]] + 0.4 * rng.random() * X[:, first + 1 : first + 10]
    return X[:, np.argsort(-np.linalg.norm(X, axis=0), kind="stable")]


@pytest.fixture(params=["numpy", "numpy in halves", "torch", "torch in halves"])
def on_device(request, monkeypatch):
    """What makes columns of an array; sieved in the arithmetic of the library, or as one with tensor cores would."""
    make = DeviceColumns
    if request.param.startswith("torch"):
        torch = pytest.importorskip("torch", reason="PyTorch is not installed: its CPU backend stands in for a GPU")
        pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
        device = "cuda" if torch.cuda.is_available() else "cpu"

        def make(X):
            return DeviceColumns(torch.asarray(X, device=device))

    if request.param.endswith("halves"):
        monkeypatch.setattr(Library, "arithmetic", "float16")
    # Tiles so small that there are many, of several shapes, the last of them not full.
    for module in (sieve, checker):
        monkeypatch.setattr(module, "_LEFT", 512)
        monkeypatch.setattr(module, "_ENTRIES", 512 * 256)
        monkeypatch.setattr(module, "_ENTRIES_ON_HOST", 512 * 256)
    return make


@pytest.mark.parametrize("n", [40, 700])
def test_a_sieve_loses_no_pair(on_device, monkeypatch, request, n):
    monkeypatch.setattr(rounded, "_ROWS", 512)
    monkeypatch.setattr(checker, "_ROWS", 512)
    rng = np.random.default_rng(n)
    slow = "numpy in halves" in request.node.callspec.id  # NumPy multiplies halves one by one
    d = 1400 if not slow else 750 if n == 40 else 150
    X = near_copies(n, d, rng)
    features = np.delete(np.arange(d), rng.choice(d, d // 14, replace=False))
    norms = np.linalg.norm(X[:, features], axis=0) * (1 + 1e-12)
    G = np.abs(np.triu(X[:, features].T @ X[:, features], 1))
    groups = -(-len(features) // sieve.group_size(len(features)))
    limit = float(np.sort(G[G > 0.5])[len(G[G > 0.5]) // 2])  # one of the products: some lie just above it
    least = np.full((groups, groups), limit * (1 - 1e-13))
    wanted = {(int(i), int(j)) for i, j in np.argwhere(limit <= G)}
    done = []
    found = sieve.large_products(on_device(X), features, norms, least, 10**6, done.append)
    pairs = set(zip(found.rows.tolist(), found.columns.tolist(), strict=True))
    assert wanted <= pairs
    assert len(pairs) == len(found.rows)
    assert len(pairs) < 1.2 * len(wanted) + 50
    assert all(i < j < len(features) for i, j in pairs)
    exact = np.einsum("ij,ij->j", X[:, features[found.rows]], X[:, features[found.columns]])
    assert np.abs(found.products - exact).max() <= 1e-14 * norms[0] ** 2
    assert done[-1] == len(features) * (len(features) - 1) // 2
    assert sieve.large_products(on_device(X), features, norms, least, 5, done.append) is None
    rows, columns, products = checker.pairs_on_device(on_device(X), 1.0, features, norms, least, lambda *_: None)
    assert wanted <= set(zip(rows.tolist(), columns.tolist(), strict=True))
    exact = np.einsum("ij,ij->j", X[:, features[rows]], X[:, features[columns]])
    assert np.abs(products - exact).max() <= 1e-14 * norms[0] ** 2


def test_a_rounded_product_keeps_its_bound(on_device):
    rng = np.random.default_rng(3)
    X = np.column_stack([*hostile(257, rng), *(1e-3 * v for v in hostile(257, rng))])
    made = Rounded(on_device(X), np.arange(X.shape[1]), float(np.linalg.norm(X, axis=0).max()) * (1 + 1e-12))
    everything = slice(0, made.rows.shape[0])
    G = np.asarray(made.library.host(made.products(everything, everything)), dtype=np.float64)[: X.shape[1]]
    Y = np.ldexp(X, made.exponent)
    norms = np.linalg.norm(Y, axis=0)
    assert norms.max() <= LONGEST
    allowed = made.error.relative * np.outer(norms, norms) + made.error.absolute
    assert (np.abs(G[:, : X.shape[1]] - Y.T @ Y) <= allowed).all()
    assert not G[:, X.shape[1] :].any()
