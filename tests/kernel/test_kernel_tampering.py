"""Certificates that somebody has tampered with: refused, or still true; and never a crash.

One generator, driven by the schema: every array and every key of the header, by a factor, a sign, an index, a length,
a number that is none, an exchange. What is still accepted is judged by brute force in rational arithmetic.
"""

import hashlib
import json
import struct
import warnings
from fractions import Fraction

import numpy as np
import pytest
from kernel_cases import certificate_of, drawn, every_kind, listed, problem_of, truth_of, untrue

import noap
from noap.errors import InvalidProblem
from noap.kernel import container, schema
from noap.kernel.certificate import Certificate
from noap.kernel.witness import LENGTHS, Level

FACTORS = (0.0, 0.5, 0.9, 1 - 2.0**-52, 1 + 2.0**-52, 1.1, 2.0, 1e30, -1.0)
NO_NUMBERS = (np.nan, np.inf, -np.inf, 1.7e308, 5e-324)
KEYS = {
    "kind": ["single", "joint", "list", "", 1, None],
    "adversary": ["none", "feature-wise", "sample-wise", "entry-wise", "spectral", "", None],
    "source": ["samples", "covariance", "", 7],
    "fingerprint": ["0" * 64, "", "x" * 64, None],
    "device": [True, 0, None, "no"],
    "k": [0, 1, 2, 3, 4, -1, 2**53, 2**60, 1.0, True, None],
    "n_samples": [0, 1, 11, 13, -1, 2**53, None],
    "n_features": [0, 1, 3, 5, 10**6, 2**52, 2**53, None],
    "exponent": [-601, -600, -1, 0, 1, 2, 3, 600, 601, 0.0, None, 10**400],
    "shift": [0, 0.0, -0.0, 1e-9, -1e-300, 1e-3, 1.0, 1e7, None, 10**400, float("nan"), float("inf")],
}


def tampered_arrays(arrays, rng, many):
    """Yield (what was done, arrays): every array of the schema in every way, at a few places or everywhere."""
    for name, array in schema.ARRAYS.items():
        found = arrays.get(name, np.empty(0, "<" + array.dtype))
        n = len(found)
        places = range(n) if n <= many else sorted(rng.choice(n, many, replace=False).tolist())
        real = found.dtype.kind == "f"

        def changed(at, value, found=found, name=name):
            made = found.copy()
            with np.errstate(over="ignore"):
                made[at] = value
            return {**arrays, name: made}

        for at in places:
            if real:
                for factor in FACTORS:
                    with np.errstate(over="ignore"):
                        value = found[at] * found.dtype.type(factor)
                    yield f"{name}[{at}] times {factor}", changed(at, value)
                for value in NO_NUMBERS:
                    yield f"{name}[{at}] = {value}", changed(at, value)
                yield f"{name}[{at}] plus", changed(at, found[at] + found.dtype.type(0.1))
                yield f"{name}[{at}] minus", changed(at, found[at] - found.dtype.type(0.1))
            else:
                info = np.iinfo(found.dtype)
                for value in {0, 1, 2, 3, 4, 5, 6, 7, 9, info.min, info.max, int(found[at]) + 1, int(found[at]) - 1}:
                    if info.min <= value <= info.max and value != found[at]:
                        yield f"{name}[{at}] = {value}", changed(at, value)
        if n:
            yield f"{name} without its last", {**arrays, name: found[:-1]}
            yield f"{name} without its first", {**arrays, name: found[1:]}
            yield f"{name} left out", {key: value for key, value in arrays.items() if key != name}
            yield f"{name} reversed", {**arrays, name: found[::-1].copy()}
            yield f"{name} twice", {**arrays, name: np.concatenate([found, found])}
            i, j = rng.integers(n, size=2)
            swapped = found.copy()
            swapped[[i, j]] = swapped[[j, i]]
            yield f"{name}: {i} and {j} exchanged", {**arrays, name: swapped}
        for value in (0, 1):
            yield f"{name} with {value} more", {**arrays, name: np.append(found, np.asarray(value, found.dtype))}
        other = "f4" if array.dtype != "f4" else "f8"
        with np.errstate(over="ignore"):
            cast = np.append(found, np.asarray(0, found.dtype)).astype("<" + other)
        yield f"{name} as {other}", {**arrays, name: cast}
    yield "an array more", {**arrays, "another": np.zeros(1)}


def tampered_headers(header):
    """Yield (what was done, header)."""
    for key in header:
        if key != "arrays":
            yield f"{key} left out", {name: value for name, value in header.items() if name != key}
    for key, values in KEYS.items():
        for value in values:
            yield f"{key} = {value!r}", header | {key: value}
    for key in ("value", "bound"):
        for factor in FACTORS:
            yield f"{key} times {factor}", header | {key: header[key] * factor}
        for value in (*NO_NUMBERS, 10**400, True, None, "1"):
            yield f"{key} = {value!r}", header | {key: value}
    yield "a lower bound", header | {"bound": header["value"] + 0.5 * (header["bound"] - header["value"])}
    yield "no gap", header | {"bound": header["value"]}
    yield "a negative pair", header | {"value": -2.0, "bound": -1.0}
    yield "exchanged", header | {"value": header["bound"], "bound": header["value"]}
    yield "a key more", header | {"another": 1}


def tampered(certificate, rng, many=6):
    """Yield (what was done, bytes of a file)."""
    header, arrays = container.unpack(certificate.to_bytes())
    header.pop("arrays")
    for what, made in tampered_arrays(arrays, rng, many):
        yield what, container.pack(header, made)
    for what, changed in tampered_headers(header):
        yield what, container.pack(changed, arrays)


def judged(problem, data, best, by_support=None):
    """What becomes of a file: 'unreadable', 'rejected', or 'true'; fails on what is false, and on crashes.

    ``best`` is at least the optimum's value, in rationals; of a list ``by_support`` has the values of all supports.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            certificate = Certificate.from_bytes(data)
        except InvalidProblem as refusal:
            return "unreadable" if str(refusal).startswith("The certificate cannot be read: ") else str(refusal)
        verification = noap.verify(problem, certificate)
    if not verification.ok:
        assert verification.message.startswith("Rejected: ")
        assert verification.bound == np.inf
        return "rejected"
    assert Fraction(verification.bound) >= best
    assert Fraction(verification.value) <= best + abs(best) / 10**12
    assert Fraction(certificate.value) <= best * (1 + Fraction(2, 10**9)) + Fraction(problem.scale) * Fraction(
        2, 10**12
    )
    if verification.supports is not None:
        supports, unit = certificate.proof.supports, 4.0**certificate.proof.exponent
        worth = truth_of(problem).by_support() if by_support is None else by_support
        assert untrue(truth_of(problem), worth, verification.threshold, supports, unit) is None
    return "true"


def counted(problem, certificate, rng, many=6):
    best, by_support = truth_of(problem).best()[0], truth_of(problem).by_support()
    counts = {"unreadable": 0, "rejected": 0, "true": 0}
    for what, data in tampered(certificate, rng, many):
        try:
            counts[judged(problem, data, best, by_support)] += 1
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
    return counts


def test_a_proof_with_every_rule():
    problem, certificate = every_kind()
    counts = counted(problem, certificate, np.random.default_rng(0), 2)
    assert min(counts.values()) > 30


def test_every_array_and_key_is_tampered_with():
    _, certificate = every_kind()
    done = {what.split()[0].split("[")[0].rstrip(":") for what, _ in tampered(certificate, np.random.default_rng(0), 1)}
    assert done >= set(schema.ARRAYS)
    header, _ = container.unpack(certificate.to_bytes())
    assert done >= set(header) - {"arrays"}


@pytest.mark.parametrize("seed", range(6))
def test_tight_proofs(seed):
    """Those of the search: any witness that is a little better than it should be is a false bound."""
    rng = np.random.default_rng(seed)
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                problem = problem_of(**drawn(rng, 5))
            except InvalidProblem:
                continue
            if problem.optimum_is_zero or problem.n_features < 3:
                continue
            certificate = noap.solve(problem).certificate
        break
    assert noap.verify(problem, certificate).ok
    counted(problem, certificate, rng, 3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_lists(seed):
    rng = np.random.default_rng(seed)
    problem, certificate = listed(rng, 4)
    assert min(counted(problem, certificate, rng, 3).values()) > 0


@pytest.mark.slow
def test_tampering_with_many_proofs():
    rng = np.random.default_rng(1)
    total = 0
    for _ in range(60):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                problem = problem_of(**drawn(rng, 5))
                if problem.optimum_is_zero:
                    continue
                certificate = noap.solve(problem).certificate
                many = [certificate]
                if problem.X is not None and problem.n_features - len(problem.exclude) >= 3 and problem.k >= 3:
                    many.append(certificate_of(problem, rng))
            except InvalidProblem:
                continue
        for one in many:
            total += sum(counted(problem, one, rng, 4).values())
    assert total > 20000


def test_bytes_of_the_file():
    """A byte that is flipped, a file that is cut: the checksum says so; with a new checksum nothing crashes."""
    problem, certificate = every_kind()
    data = certificate.to_bytes()
    best = truth_of(problem).best()[0]
    rng = np.random.default_rng(2)
    for at in rng.choice(len(data), 60, replace=False):
        broken = bytearray(data)
        broken[at] ^= 1 << int(rng.integers(8))
        assert judged(problem, bytes(broken), best) == "unreadable"
        body = bytes(broken[:-32])
        judged(problem, body + hashlib.sha256(body).digest(), best)
    for length in (0, 5, 13, 45, 46, 100, len(data) - 1):
        assert judged(problem, data[:length], best) == "unreadable"
        body = data[:length]
        assert judged(problem, body + hashlib.sha256(body).digest(), best) == "unreadable"
    assert judged(problem, data + b"\0", best) == "unreadable"


def test_headers_that_are_no_header():
    problem, certificate = every_kind()
    for text in (b"", b"{", b"[]", b"null", b'{"arrays": 1}', b"[" * 100000, b"\xff", b'{"arrays": []}', b"9" * 5000):
        body = struct.pack("<8sHI", container.MAGIC, container.VERSION, len(text)) + text
        assert judged(problem, body + hashlib.sha256(body).digest(), Fraction(0)) == "unreadable"
    header, _ = container.unpack(certificate.to_bytes())
    for bad in (
        [{"name": "rho", "dtype": "f8", "count": 1}],
        [{"name": "rho", "dtype": "f2", "count": 1, "bytes": 1}],
        [{"name": "rho", "dtype": "f8", "count": -1, "bytes": 1}],
        [{"name": "rho", "dtype": "f8", "count": 2**41, "bytes": 1}],
        [{"name": "rho", "dtype": "f8", "count": 1e3, "bytes": 1}],
        [{"name": 1, "dtype": "f8", "count": 1, "bytes": 1}],
        [1],
    ):
        text = json.dumps(header | {"arrays": bad}).encode()
        body = struct.pack("<8sHI", container.MAGIC, container.VERSION, len(text)) + text
        assert judged(problem, body + hashlib.sha256(body).digest(), Fraction(0)) == "unreadable"


def test_a_bound_below_what_no_feature_is_worth():
    """With costs that no feature is worth, a vector of value -1 and a bound of -1/2 are both below the optimum, 0."""
    problem = noap.Problem([[1.0, 0.0], [0.0, 1.0]], 1, noap.NoAdversary(), costs=[2.0, 3.0])
    loose = noap.Problem([[1.0, 0.0], [0.0, 1.0]], 1, noap.NoAdversary(), costs=[0.2, 3.0])
    certificate = noap.solve(loose).certificate
    empty = Level(1, -1.0, -1.0, np.empty(0, np.intp), (LENGTHS,))
    header, arrays = container.unpack(certificate.to_bytes())
    header.pop("arrays")
    arrays |= schema.written([empty])
    arrays |= {"costs": np.array([2.0, 3.0]), "support": np.zeros(1, "<u4"), "weights": np.ones(1)}
    for bound in (-1.0, -0.5, -1e-300):
        data = container.pack(header | {"value": -1.5, "bound": bound}, arrays)
        assert judged(problem, data, Fraction(0)) == "rejected"


def test_a_matrix_line_with_signs_that_no_node_has():
    """Of form FREE, one-sided by signs: it would say that an indefinite complement is semidefinite."""
    from dataclasses import replace

    from noap.kernel.certificate import Proof
    from noap.kernel.witness import FREE, PLAIN, Line, Matrix

    S = np.array([[1.0, 0.9], [0.9, 1.0]])
    problem = noap.Problem.from_covariance(S, n_samples=5, k=2, adversary=noap.NoAdversary())
    honest = noap.solve(problem).certificate
    features = np.arange(2)
    zero = np.zeros(2, np.float32)
    T = 1.2 / 4.0**honest.proof.exponent
    top = (T - 1.0 / 4.0**honest.proof.exponent) / 4.0**-honest.proof.exponent
    off = np.array([-0.9 / top], np.float32)
    line = Line(features, -0.9, 0.0, 0.0, 0, FREE, zero, zero, off, np.array([-1, 1], np.int8))
    level = Level(2, T, T, features, (Matrix(PLAIN, line),))
    forged = replace(
        honest,
        claim=replace(honest.claim, value=1.0, bound=1.2),
        support=np.array([0]),
        weights=np.ones(1),
        proof=Proof((level,), honest.proof.exponent, honest.proof.shift),
    )
    assert judged(problem, forged.to_bytes(), Fraction(19, 10)) == "rejected"


def test_problems_that_the_kernel_does_not_serve_or_know():
    problem, certificate = every_kind()
    X = np.asarray(problem.X)
    others = [
        noap.Problem(X, 3, noap.SampleWise(0.4)),
        noap.Problem(X, 3, noap.FeatureWise(0.4)),
        noap.Problem(X, 2, problem.adversary, costs=problem.costs, exclude=[3]),
        noap.Problem(X, 3, problem.adversary, exclude=[3]),
        noap.Problem(X, 3, problem.adversary, costs=problem.costs),
        noap.Problem(X, 3, problem.adversary, costs=problem.costs, exclude=[3], include=[0]),
        noap.Problem(X[::-1].copy(), 3, problem.adversary, costs=problem.costs, exclude=[3]),
        noap.Problem(X[:-1], 3, problem.adversary, costs=problem.costs, exclude=[3]),
        noap.Problem(X[:, :3], 3, noap.FeatureWise(problem.adversary.budgets(4)[:3]), costs=problem.costs[:3]),
        noap.Problem.from_covariance(
            X.T @ X / 12, n_samples=12, k=3, adversary=problem.adversary, costs=problem.costs, exclude=[3]
        ),
    ]
    assert noap.verify(problem, certificate).ok
    for other in others:
        verification = noap.verify(other, certificate)
        assert not verification.ok
        assert verification.message.startswith("Rejected: ")
